"""El traductor del curso: del inglés al español, con las clases del curso y pesos entrenados.

    translation = load_translator().translate("I gave my dog a bone.")
    translation.text  →  'Le di a mi perro un hueso.'

Traduce una frase cada vez, y con ella devuelve adónde ha mirado cada palabra. Su ficha, con los
datos, las notas y los límites, está en ``course_lib/translator_model/README.md``; se entrena con
``course_lib.train_translator``.

Fuente: Vaswani et al., «Attention Is All You Need» (2017); la búsqueda, §6.1.
"""

import json
import re
import unicodedata
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch

from course_lib.decoding import BEAM, beam_search, greedy_search
from course_lib.transformer import Transformer

__all__ = ["Translation", "Translator", "TranslatorError", "TranslatorWarning", "load_translator"]

FOLDER = Path(__file__).parent / "translator_model"
ALIGNMENT_LAYER = -1  # la capa del decoder que mejor alinea, con la media de todas sus cabezas
LONGEST_SEEN = 39  # tokens de la frase más larga del entrenamiento
UNSURE = -1.0  # por debajo, en nats por token, lo normal es que la traducción no sirva


class TranslatorError(ValueError):
    """El traductor no puede con esa frase; el mensaje dice por qué y qué hacer."""


class TranslatorWarning(UserWarning):
    """Hay traducción, pero con algo que conviene saber."""


@dataclass(frozen=True)
class Translation:
    """Una traducción y todo lo que el modelo ha mirado para escribirla.

    La fila i de una matriz del decoder es la del paso que **predice** ``target_tokens[i]``; lo
    que ese paso ve escrito está en ``seen_tokens[: i + 1]``.

    Attributes:
        source: la frase que lee el modelo.
        text: la traducción.
        source_tokens: los m_E tokens del origen, con la marca de fin ``</s>``. Un trozo que
            sigue a otro de la misma palabra lleva delante ``##``.
        target_tokens: los m_D tokens escritos, con su marca de fin.
        cross_attention: ``(capas, h, m_D, m_E)``.
        encoder_attention: ``(capas, h, m_E, m_E)``.
        decoder_attention: ``(capas, h, m_D, m_D)``.
        log_probabilities: las de cada token escrito, en nats, ``(m_D,)``.
    """

    source: str
    text: str
    source_tokens: list
    target_tokens: list
    cross_attention: torch.Tensor
    encoder_attention: torch.Tensor
    decoder_attention: torch.Tensor
    log_probabilities: torch.Tensor

    @property
    def seen_tokens(self):
        """Los m_D tokens que ve el decoder: la marca de inicio y todos menos el último."""
        return ["<s>", *self.target_tokens[:-1]]

    @property
    def source_words(self):
        """Las palabras del origen, sin signos: lista de ``(palabra, índices de sus tokens)``."""
        return words_of(self.source_tokens)

    @property
    def target_words(self):
        """Las palabras escritas, sin signos: lista de ``(palabra, índices de sus tokens)``."""
        return words_of(self.target_tokens)

    def to_words(self, weights):
        """Pasa una matriz cruzada de tokens a palabras: ``(m_D, m_E)`` → ``(escritas, origen)``.

        El peso de una palabra de origen es la suma de los de sus trozos; la fila de una
        palabra escrita, la media de las de los suyos. Lo que va a los signos y a la marca de
        fin no se cuenta: las filas pueden sumar menos de 1.
        """
        columns = [weights[:, index].sum(dim=1) for _, index in self.source_words]
        by_column = torch.stack(columns, dim=1)  # (m_D, palabras de origen)
        rows = [by_column[index].mean(dim=0) for _, index in self.target_words]
        return torch.stack(rows) if rows else by_column[:0]

    @property
    def word_attention(self):
        """Cuánto mira cada palabra escrita a cada palabra del origen, ``(escritas, origen)``.

        Es la media de las cabezas de la última capa del decoder (véase ``to_words``).
        """
        return self.to_words(self.cross_attention[ALIGNMENT_LAYER].mean(dim=0))

    @property
    def alignment(self):
        """De cada palabra escrita, la del origen a la que más mira: lista de ``(escrita, origen)``."""
        best = self.word_attention.argmax(dim=-1).tolist()
        sources = self.source_words
        return [(word, sources[j][0]) for (word, _), j in zip(self.target_words, best)]

    @property
    def confidence(self):
        """Media de las log-probabilidades de los tokens escritos, en nats: 0 es seguridad total."""
        return self.log_probabilities.mean().item()

    def __repr__(self):
        return f"{self.source!r} → {self.text!r}"


class Translator:
    """Un ``Transformer`` del curso, su tokenizador y la manera de escribir con ellos.

    Args:
        model: el ``Transformer``, ya entrenado.
        tokenizer: un ``tokenizers.Tokenizer`` con ``<pad>``, ``<unk>``, ``<s>`` y ``</s>``.
    """

    def __init__(self, model, tokenizer):
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.unknown, self.bos, self.eos = (
            tokenizer.token_to_id(mark) for mark in ("<unk>", "<s>", "</s>")
        )
        self.max_sequence_len = model.encoder.positional_encoding.max_sequence_len

    @torch.inference_mode()
    def translate(self, sentence, beam=1, cache=True):
        """Traduce una frase.

        Args:
            sentence: una frase en inglés.
            beam: cuántas traducciones a medias se llevan a la vez; con 1, en cada paso se
                escribe el token más probable (*greedy*).
            cache: si las keys y los values ya calculados se guardan. Cambia el tiempo, no
                lo que sale.

        Returns:
            Una ``Translation``.

        Raises:
            TranslatorError: si no hay nada que traducir o no cabe.
            TypeError: si no es un texto.
        """
        if not isinstance(beam, int) or isinstance(beam, bool) or not 1 <= beam <= BEAM:
            raise ValueError(f"translate: beam = {beam!r} y tiene que ser un entero de 1 a {BEAM}.")
        source, source_ids = self._prepare(sentence)
        encoded = self.model.encoder(torch.tensor([source_ids]))
        longest = min(self.max_sequence_len - 1, 2 * len(source_ids) + 10)
        forbidden = [0, self.unknown, self.bos]
        marks = self.bos, self.eos, forbidden
        if beam == 1:
            target_ids = greedy_search(self.model, encoded, longest, marks, cache)
        else:
            target_ids = beam_search(self.model, encoded, longest, marks, cache, beam)
        translation = self._look(source, source_ids, target_ids)
        if target_ids[-1] != self.eos:
            _warn(f"el modelo no ha sabido acabar: se ha parado en {longest} tokens.")
        elif translation.confidence < UNSURE:
            _warn(
                f"el modelo está muy poco seguro ({translation.confidence:.1f} nats por token): "
                "no te fíes de esta traducción. ¿Es una frase normal, en inglés?"
            )
        elif changed := changed_words(translation):
            _warn(f"comprueba {', '.join(changed)}: no está igual en la traducción.")
        return translation

    @torch.inference_mode()
    def align(self, sentence, translation):
        """Mira cómo lee el modelo una frase mientras escribe una traducción **dada**.

        Es teacher forcing: en cada paso el decoder ve la traducción que le das.

        Args:
            sentence: la frase en inglés.
            translation: su traducción al español.

        Returns:
            Una ``Translation``; sus log-probabilidades dicen cuánto le sorprende.
        """
        source, source_ids = self._prepare(sentence)
        _, target_ids = self._prepare(translation, "la traducción", spanish=True)
        return self._look(source, source_ids, target_ids)

    def _look(self, source, source_ids, target_ids):
        """Un solo paso por todo el modelo da los pesos y las probabilidades de lo ya escrito."""
        seen = torch.tensor([[self.bos, *target_ids[:-1]]])
        logits, weights = self.model(torch.tensor([source_ids]), seen, return_weights=True)
        chosen = torch.tensor(target_ids)[:, None]
        stacked = {name: torch.stack(layers)[:, 0] for name, layers in weights.items()}
        return Translation(
            source=source,
            text=self.tokenizer.decode(target_ids),
            source_tokens=self.tokens_of(source_ids),
            target_tokens=self.tokens_of(target_ids),
            cross_attention=stacked["cross"],
            encoder_attention=stacked["encoder"],
            decoder_attention=stacked["decoder"],
            log_probabilities=logits[0].log_softmax(-1).gather(-1, chosen)[:, 0],
        )

    def _prepare(self, sentence, what="la frase", spanish=False):
        """Limpia un texto y lo convierte en ids con su marca de fin, o dice qué tiene de malo."""
        if not isinstance(sentence, str):
            raise TypeError(
                f"translate: {what} es {type(sentence).__name__} ({sentence!r:.40}) y tiene que ser "
                "un texto."
            )
        text = " ".join(unicodedata.normalize("NFC", sentence).split())
        if not text:
            language = "español" if spanish else "inglés"
            raise TranslatorError(f"translate: {what} está vacía. Escribe una frase en {language}.")
        text, lost = self._known(text)
        if not any(map(str.isalnum, text)):
            raise TranslatorError(
                f"translate: en {sentence[:40]!r} no hay ninguna palabra que el modelo pueda leer. "
                "Conoce las letras del inglés y del español."
            )
        if lost:
            _warn(f"el modelo no conoce {', '.join(lost)}: no lo ha leído.")
        words = text.split()
        if len(words) > 1 and text.isupper() and any(len(word) > 2 for word in words):
            text = text.capitalize()
            _warn("la frase está toda en mayúsculas: se ha leído en minúsculas.")
        if not spanish:  # todas las frases que ha visto empiezan por mayúscula, y «I» lo es siempre
            capital = text[0].upper()
            text = (capital if self._reads(capital) else text[0]) + text[1:]
            text = re.sub(r"\bi\b", "I", text)
        ids = [*self.tokenizer.encode(text).ids, self.eos]
        if len(ids) > self.max_sequence_len - 1:
            raise TranslatorError(
                f"translate: {what} tiene {len(ids)} tokens y caben {self.max_sequence_len - 1}. "
                "Traduce una frase cada vez."
            )
        if not spanish:
            if looks_spanish(text):
                _warn("esta frase parece española, y el modelo traduce del inglés al español.")
            if len(ids) > LONGEST_SEEN:
                _warn(
                    f"la frase tiene {len(ids)} tokens y el modelo aprendió con frases de "
                    f"{LONGEST_SEEN} como mucho: en las más largas se pierde. Pártela."
                )
        return text, ids

    def _known(self, text):
        """Cambia una letra que el modelo no conoce por la misma sin tilde, o la quita."""
        lost, kept = {}, []
        for character in text:
            if character.isspace() or self._reads(character):
                kept.append(character)
                continue
            plain = unicodedata.normalize("NFKD", character)[0]
            if plain != character and self._reads(plain):
                kept.append(plain)
            else:
                lost[f"«{character}»"] = None
        text = re.sub(r"\s+([.,;:!?])", r"\1", " ".join("".join(kept).split()))
        return text, list(lost)[:5]

    def _reads(self, character):
        return self.unknown not in self.tokenizer.encode(character).ids

    def tokens_of(self, ids):
        """Los tokens para enseñarlos: sin la marca de espacio, y ``##`` en los que siguen."""
        shown, previous = [], " "
        for token in map(self.tokenizer.id_to_token, ids):
            joined = not token.startswith(("▁", "<")) and _in_word(token) and _in_word(previous)
            shown.append(f"##{token}" if joined else token.removeprefix("▁") or "▁")
            previous = token
        return shown


def words_of(tokens):
    """Junta los trozos de cada palabra y deja fuera los signos y las marcas.

    Args:
        tokens: como los de ``Translation``: ``["un", "perr", "##ito", ".", "</s>"]``.

    Returns:
        Lista de ``(palabra, índices)``: ``[("un", [0]), ("perrito", [1, 2])]``.
    """
    words = []
    for i, token in enumerate(tokens):
        if token.startswith("##"):
            words[-1] = (words[-1][0] + token[2:], [*words[-1][1], i])
        elif token not in ("<s>", "</s>") and _in_word(token):
            words.append((token, [i]))
    return words


def _in_word(token):
    return token == "'" or any(map(str.isalnum, token))


CALENDAR = re.compile(r"\w+days?|January|February|August|September|October|November|December")
NUMBER = re.compile(r"(?<![\d:])\d[\d.,]*\d(?![\d:])")  # de dos cifras o más, y no una hora


def changed_words(translation):
    """Los números y los nombres raros del origen que no están igual en la traducción.

    Un nombre es raro si el tokenizador lo parte en tres trozos o más: el modelo tiene que
    copiarlos uno a uno, y ahí falla. La primera palabra, los días y los meses no cuentan: su
    mayúscula no dice nada.
    """
    written = {_plain(word) for word, _ in translation.target_words}
    figures = {re.sub(r"\D", "", number) for number in NUMBER.findall(translation.text)}
    numbers = [n for n in NUMBER.findall(translation.source) if re.sub(r"\D", "", n) not in figures]
    rare = [word for word, pieces in translation.source_words[1:] if len(pieces) >= 3]
    names = [word.partition("'")[0] for word in rare if word[0].isupper()]
    names = [n for n in names if _plain(n) not in written and not CALENDAR.fullmatch(n)]
    return [f"«{word}»" for word in [*numbers, *names]]


def _plain(word):
    """La palabra sin tildes y en minúsculas."""
    return unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode().casefold()


# Palabras de las más corrientes de cada lengua que la otra no tiene.
SPANISH = """el la los las un una de del que y en es está están por con para se su mi tu yo él ella al
lo le te nos hay pero como más muy qué cómo dónde soy eres tengo tiene quiero puedo puede estoy estaba
eso esto este esta aquí cuando nada todo ya si era fue ha voy va vamos buenos buenas gracias hola"""
ENGLISH = """the an of that and in is are by with for not his her my your i he she it to there but as
more very what how where am was were have has do does did you we they this on at be their our can will
would if all so up good who when from like want know go"""


def looks_spanish(text):
    """Dice si un texto parece español y no inglés, por sus signos y sus palabras más corrientes."""
    words = re.findall(r"\w+", text.lower())
    spanish, english = (
        sum(word in known.split() for word in words) for known in (SPANISH, ENGLISH)
    )
    signs = any(sign in text for sign in "¿¡ñáéíóú")
    return (signs or spanish > 0) and spanish >= 2 * english


def _warn(message):
    warnings.warn(f"traductor: {message}", TranslatorWarning, stacklevel=4)


@lru_cache(maxsize=1)
def load_translator():
    """Carga el traductor del curso, una sola vez por proceso. No usa la red.

    Returns:
        Un ``Translator``.

    Raises:
        TranslatorError: si sus archivos faltan o están dañados.
    """
    return read_translator(FOLDER)


def read_translator(folder):
    """Lee un traductor de una carpeta como la que deja ``course_lib.train_translator``."""
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    folder = Path(folder)
    try:
        options = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        vocab_size = options.pop("vocab_size")
        model = Transformer(vocab_size, vocab_size, share_embeddings=True, **options)
        weights = {name: w.float() for name, w in load_file(folder / "model.safetensors").items()}
        missing, unexpected = model.load_state_dict(weights, strict=False)
        shared = {"decoder.output_embedding.table.weight", "output_projection.weight"}
        if unexpected or set(missing) != shared:  # las tres tablas son una, y se guarda una
            raise OSError(f"no encajan los pesos {sorted({*unexpected, *missing} - shared)[:3]}")
        for module in model.modules():
            if isinstance(module, torch.nn.Linear):
                # Los mismos números, por columnas en la memoria: con un solo token cada vez, el
                # procesador los lee mucho más deprisa.
                module.weight.data = module.weight.data.T.contiguous().T
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # safetensors y tokenizers lanzan los suyos
        raise TranslatorError(
            f"Los archivos del traductor, en {folder.name}, faltan o están dañados "
            f"({str(error).splitlines()[0][:120]}). Vuelve a descargar el curso."
        ) from None
    return Translator(model, tokenizer)
