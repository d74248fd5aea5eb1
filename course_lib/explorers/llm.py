"""Qué token sigue, según un LLM: en cada capa, y cómo se sortea, con temperatura y cortes."""

import os
from functools import lru_cache, partial

import torch
import traitlets

from course_lib.cache import DecoderCache
from course_lib.checks import is_whole
from course_lib.explorers.base import AskingExplorer, esm
from course_lib.explorers.declared import SHARED, TEXT, Declared, Real, Whole, last, refusal
from course_lib.explorers.typed import with_warnings
from course_lib.llama import ENVIRONMENT_VARIABLE, encode, load_llama
from course_lib.masks import causal_mask
from course_lib.model_files.sentences import TokenizationWarning
from course_lib.sampling import next_token_probabilities

BEST, SHOWN = 8, 40  # los tokens que viajan a la página: de cada capa, y de la última
STEP = 0.02  # de los demás viaja un histograma de sus puntuaciones, con columnas de esta anchura
LONGEST, MORE = 200, 100  # tokens del principio, y los que se escriben detrás
MARKS = {" ": "␣", "\n": "↵"}  # lo demás que no se ve, con su código


def pack(scores, name):
    """Lo que se dibuja de las puntuaciones de cada capa, (Nx, vocab_size).

    ``ranks`` y ``finals`` son el puesto y la probabilidad que da cada capa al mejor de la última.
    """
    rounded = lambda x: x.double().round(decimals=4).tolist()  # noqa: E731
    chances, (last, best) = scores.softmax(-1), scores[-1].double().sort(descending=True)
    (top, ids), last, words = chances.topk(BEST), last - last[0], best[:SHOWN].tolist()
    return {
        "ids": ids.tolist(), "chances": rounded(top), "finals": rounded(chances[:, best[0]]),
        "ranks": ((scores > scores[:, best[:1]]).sum(-1) + 1).tolist(),
        "words": words, "logits": rounded(last[: SHOWN + 1]),
        "rest": torch.bincount(((last[SHOWN] - last[SHOWN:]) / STEP).int()).tolist(),
        "names": {str(i): name(i) for i in sorted({*words, *ids.flatten().tolist()})},
    }  # fmt: skip


class Reader:
    """Un LLM que recuerda lo último que ha leído: un token más cuesta solo ese token."""

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer, self.ids, self.cache = model, tokenizer, (), None

    def name(self, token):
        text = self.tokenizer.decode([token], skip_special_tokens=False)
        return "".join(MARKS.get(c, c if c.isprintable() else ascii(c)[1:-1]) for c in text)

    @lru_cache(maxsize=16)  # noqa: B019
    @torch.no_grad()
    def read(self, ids):
        """Las puntuaciones de lo que sigue a unos ids, y lo que viaja a la página."""
        same = len(os.path.commonprefix([ids[:-1], self.ids]))
        cache = self.cache if same else DecoderCache(len(self.model.layers))
        for own in cache.own if same else ():
            own.keys, own.values = own.keys[..., :same, :], own.values[..., :same, :]
        self.ids = ()  # si algo falla a medias, lo guardado no sirve
        x, states = self.model.embedding(torch.tensor([ids[same:]])), []
        for layer, own in zip(self.model.layers, cache.own):
            x, _ = layer(x, causal_mask(len(ids))[same:], cache=own)
            states.append(x[0, -1])
        # La lente de logits: el final del modelo, tras cada capa.
        scores = self.model.output_projection(self.model.normalization(torch.stack(states)))
        self.ids, self.cache = ids, cache
        return scores[-1].double(), {"tokens": list(map(self.name, ids))} | pack(scores, self.name)


_reader = lru_cache(maxsize=1)(lambda _model_name: Reader(*load_llama()))


def _readable(explorer, name, value):
    explorer._read(**{"text": explorer.text, "written": explorer.written} | {name: value})
    return value if isinstance(value, str) else type(value)(map(int, value))


class LlmExplorer(AskingExplorer):
    """Escribe con un LLM, token a token: cuáles pueden seguir, en cada capa, y cómo se sortea uno.

    Args:
        text, written: el principio, de hasta 200 tokens, y los ids de lo escrito detrás.
        layer: la capa que se mira, desde 0; con ``None``, la última.
        temperature, top_k, top_p: de 0 a 2, de 1 a 40 y de 0.01 a 1; ``None`` es sin cortar.
    """

    _esm = esm("llm")
    text = Declared(TEXT, "", check=_readable)
    written = Declared(None, (), check=_readable)
    layer = Whole(0, last("data.ids"), optional=True, key="capa")
    temperature = Real(0, 2, 1.0, key="temperatura")
    top_k = Whole(1, SHOWN, optional=True, key="k")
    top_p = Real(0.01, 1, optional=True, key="p")
    data = traitlets.Dict().tag(**SHARED)  # lo que da `pack`, y los tokens leídos
    _failed, _luck = "No he podido leerlo", torch.Generator()

    def __init__(self, text="The capital of France is", **state):
        data = self._read(text, state.get("written", ()))[1]
        super().__init__(text=text, data=data, **state)

    def _read(self, text, written):
        reader = _reader(os.environ.get(ENVIRONMENT_VARIABLE))
        try:
            # Lo que no se ve, aquí se ve: cada token, con su código.
            read = partial(encode, reader.tokenizer, limit=LONGEST)
            start = with_warnings(read, text, TokenizationWarning)[0][0].tolist()
        except (TypeError, ValueError) as error:
            reason = str(error).removeprefix("encode: ").partition(", o cambia")[0]
            raise refusal("LlmExplorer", f"{reason.rstrip('.')}.") from None
        size = reader.tokenizer.get_vocab_size()
        if len(written) > MORE or not all(is_whole(i) and i < size for i in written):
            told = f"detrás caben {MORE} tokens del vocabulario. Deshaz alguno, o empieza otro."
            raise refusal("LlmExplorer", told)
        return reader.read((*start, *written))

    def _now(self):
        return self._read(self.text, self.written)

    @traitlets.observe("text", "written")
    def _fill(self, change):
        if change["name"] == "text" and change["old"]:
            self.written = []  # otro principio: se empieza de nuevo
        self.data, self.error = self._now()[1], ""

    def _take(self, asked):
        self.text, self.written = asked["text"], asked.get("written", [])
        if asked.get("draw"):
            scores, _ = self._now()
            chances = next_token_probabilities(scores, self.temperature, self.top_k, self.top_p)
            drawn = torch.multinomial(chances, 1, generator=self._luck).item()
            self.written = [*self.written, drawn]

    def describe(self):
        scores, data = self._now()
        last = len(data["ids"]) - 1
        layer = last if self.layer is None else self.layer
        after = next_token_probabilities(scores, self.temperature, self.top_k, self.top_p)
        ids, chances = data["words"], after[data["words"]].tolist()
        if layer < last:
            ids, chances = data["ids"][layer], data["chances"][layer]
        best = [f"«{data['names'][str(i)]}» ({p:.2f})" for i, p in zip(ids, chances) if p >= 0.005]
        return (
            f"LLM: tras «{''.join(data['tokens'])[-60:]}», en la capa {layer} de 0 a {last}: "
            f"{', '.join(best[:3])}; en la última, T = {self.temperature:g}, top-k = "
            f"{self.top_k or 'no'} y top-p = {self.top_p or 'no'}: quedan {(after > 0).sum()}."
        )
