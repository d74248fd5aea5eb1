"""Qué token sigue, según un LLM: en cada capa, y cómo se sortea, con temperatura y cortes."""

import os
from functools import lru_cache

import torch
import traitlets

from course_lib.cache import DecoderCache
from course_lib.explorers.base import SHARED, AskingExplorer, esm, refusal
from course_lib.llama import ENVIRONMENT_VARIABLE, encode, load_llama
from course_lib.masks import causal_mask
from course_lib.sampling import next_token_probabilities

BEST, SHOWN = 8, 40  # los tokens que viajan a la página: de cada capa, y de la última
LONGEST, MORE = 200, 100  # tokens del principio, y los que se escriben detrás
STEP = 0.02  # de los demás viaja un histograma de sus puntuaciones, con columnas de esta anchura
MARKS = {" ": "␣", "\n": "↵"}  # lo demás que no se ve, con su código


def compute(scores, temperature=1.0, top_k=None, top_p=None):
    """De los mejores tokens, sus probabilidades sin los cortes, ``before``, y con ellos, ``after``.

    Además, ``kept``, cuántos quedan de todo el vocabulario, y ``lost``, lo que sumaban los demás.
    """
    best = scores.topk(SHOWN).indices
    before = next_token_probabilities(scores, temperature or 1.0)
    after = next_token_probabilities(scores, temperature, top_k, top_p)
    result = {"before": before[best], "after": after[best], "lost": before[after == 0].sum()}
    return {name: x.tolist() for name, x in result.items()} | {"kept": int((after > 0).sum())}


def pack(scores, name):
    """Lo que viaja de las puntuaciones de cada capa, (Nx, vocab_size), redondeado.

    De cada capa, sus mejores tokens (``ids``, ``chances``), y el lugar y la probabilidad que da al
    mejor de la última (``ranks``, ``finals``). De la última, ``words`` y ``logits``, y ``rest``.
    """
    rounded = lambda x: x.double().round(decimals=4).tolist()  # noqa: E731
    chances, (last, best) = scores.softmax(-1), scores[-1].double().sort(descending=True)
    (top, ids), last, words = chances.topk(BEST), last - last[0], best[:SHOWN].tolist()
    rest = torch.bincount(((last[SHOWN] - last[SHOWN:]) / STEP).int()).tolist()
    return {
        "ids": ids.tolist(), "chances": rounded(top), "finals": rounded(chances[:, best[0]]),
        "ranks": ((scores > scores[:, best[:1]]).sum(-1) + 1).tolist(), "words": words,
        "logits": rounded(last[: SHOWN + 1]), "rest": rest,
        "names": {str(i): name(i) for i in sorted({*words, *ids.flatten().tolist()})},
    }  # fmt: skip


class Reader:
    """Un LLM que recuerda lo último que ha leído: un token más cuesta solo ese token."""

    def __init__(self, model, tokenizer):
        self.model, self.tokenizer, self.ids, self.cache = model, tokenizer, (), None
        self.read = lru_cache(maxsize=16)(self._read)

    def name(self, *ids):
        text = self.tokenizer.decode(ids, skip_special_tokens=False)
        return "".join(MARKS.get(c, c if c.isprintable() else ascii(c)[1:-1]) for c in text)

    @torch.no_grad()
    def _read(self, ids):
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


class LlmExplorer(AskingExplorer):
    """Escribe con un LLM, token a token: cuáles pueden seguir, en cada capa, y cómo se sortea uno.

    Args:
        text: el principio, de hasta 200 tokens. ``written``: los ids de lo escrito detrás.
        layer: la capa que se mira, desde 0; con ``None``, la última.
        temperature, top_k, top_p: de 0 a 2, de 1 a 40 y de 0.01 a 1; ``None`` es sin cortar.

    Raises:
        traitlets.TraitError: si el texto no sirve, o algo se sale de su margen.
        ModelUnavailableError: como ``load_llama``.
    """

    _esm = esm("llm")
    # `TraitType`, y no `Unicode` o `Int`: así lo que está mal se dice siempre en español.
    text, written, layer, temperature, top_k, top_p = (
        traitlets.TraitType(first, allow_none=True).tag(**SHARED)
        for first in ("", (), None, 1, None, None)
    )
    data = traitlets.Dict().tag(**SHARED)  # lo que da `pack`, y los tokens leídos
    _failed, _luck = "No he podido leerlo", torch.Generator()

    def __init__(self, text="The capital of France is", **state):
        super().__init__(text=text, **state)

    def _read(self, text, written):
        reader = _reader(os.environ.get(ENVIRONMENT_VARIABLE))
        try:
            start = encode(reader.tokenizer, text, LONGEST)[0].tolist()
        except (TypeError, ValueError) as error:
            reason = str(error).removeprefix("encode: ").partition(", o cambia limit")[0]
            raise refusal("LlmExplorer", f"{reason.rstrip('.')}.") from None
        size = reader.tokenizer.get_vocab_size()
        if len(written) > MORE or not all(type(i) is int and 0 <= i < size for i in written):
            told = f"lo escrito detrás son hasta {MORE} tokens del vocabulario. Deshaz alguno."
            raise refusal("LlmExplorer", told)
        return reader.read((*start, *written))

    @traitlets.validate("text", "written")
    def _check_text(self, proposal):
        now = {"text": self.text, "written": self.written, proposal["trait"].name: proposal["value"]}
        return self._read(**now) and proposal["value"]

    @traitlets.validate("layer", "temperature", "top_k", "top_p")
    def _check_number(self, proposal):
        name, value = proposal["trait"].name, proposal["value"]
        layers = len(self._read(self.text, self.written)[1]["ids"])
        low, high, kinds = {
            "layer": (0, layers - 1, (int,)), "top_k": (1, SHOWN, (int,)),
            "temperature": (0, 2, (int, float)), "top_p": (0.01, 1, (int, float)),
        }[name]  # fmt: skip
        if value is None and name != "temperature":
            return value
        if type(value) not in kinds or not low <= value <= high:
            wanted = f"un {'número' if float in kinds else 'entero'} entre {low} y {high}"
            raise refusal("LlmExplorer", f"{name} = {value!r:.40}, y tiene que ser {wanted}.")
        return value

    @traitlets.observe("text", "written")
    def _fill(self, change):
        if change["name"] == "text" and self.data:
            self.written = []  # otro principio: se empieza de nuevo
        self.data, self.error = self._read(self.text, self.written)[1], ""

    def _take(self, asked):
        self.text, written = asked["text"], asked.get("written", [])
        self.written = written
        if asked.get("draw"):
            scores, _ = self._read(self.text, written)
            chances = next_token_probabilities(scores, self.temperature, self.top_k, self.top_p)
            self.written = [*written, torch.multinomial(chances, 1, generator=self._luck).item()]

    def describe(self):
        scores, data = self._read(self.text, self.written)
        last = len(data["ids"]) - 1
        layer, text = last if self.layer is None else self.layer, "".join(data["tokens"])
        result = compute(scores, self.temperature, self.top_k, self.top_p)
        inside = zip(data["ids"][layer], data["chances"][layer])
        best = inside if layer < last else zip(data["words"], result["after"])
        named = [f"«{data['names'][str(i)]}» ({p:.2f})" for i, p in list(best)[:3] if p >= 0.005]
        cuts = f"T = {self.temperature:g}, top-k = {self.top_k}, top-p = {self.top_p}"
        kept = f"{cuts}: quedan {result['kept']} tokens" if layer == last else "sin sortear"
        return (
            f"LLM: tras «{text if len(text) <= 60 else '…' + text[-59:]}» ({len(data['tokens'])} "
            f"tokens), en la capa {layer} de 0 a {last}: {', '.join(named)}; {kept}."
        )
