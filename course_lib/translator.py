"""El traductor del curso: del inglés al español, con las clases del curso y pesos entrenados.

    translation = load_translator().translate("I gave my dog a bone.")
    translation.text  →  'Le di a mi perro un hueso.'

Traduce una frase cada vez, y con ella devuelve adónde ha mirado cada palabra. Su ficha, con los
datos, las notas y los límites, está en ``course_lib/translator_model/README.md``. Al lado están los
pesos y lo que comprueba de cada frase; cómo se entrenó, en ``course_tools/training``.

Fuente: Vaswani et al., «Attention Is All You Need» (2017); la búsqueda, §6.1.
"""

import sys
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch

from course_lib.checks import is_whole
from course_lib.decoding import BEAM, beam_search, greedy_search
from course_lib.translator_model.checks import (
    TranslatorError, TranslatorWarning, doubtful_words, read_sentence,
)  # fmt: skip
from course_lib.translator_model.marks import BOS, BOS_TOKEN, EOS, PAD, UNKNOWN
from course_lib.translator_model.pieces import shown_tokens, whole_words, words_of
from course_lib.translator_model.weights import read_model, read_words

__all__ = ["Translation", "Translator", "TranslatorError", "TranslatorWarning", "load_translator"]

FOLDER = Path(__file__).parent / "translator_model"
ALIGNMENT_LAYER = -1  # la capa del decoder que mejor alinea, con la media de todas sus cabezas
# Cada vez que se traduce, y no solo la primera; quien quiera callarlos, puede.
warnings.filterwarnings("always", category=TranslatorWarning, append=True)
UNSURE = -1.0  # por debajo, en nats por token, lo normal es que la traducción no sirva


@dataclass(frozen=True)
class Translation:
    """Una traducción y todo lo que el modelo ha mirado para escribirla.

    La fila i de una matriz del decoder es la del paso i: entra ``seen_tokens[i]`` y **predice**
    ``target_tokens[i]``. Ese paso ve escrito ``seen_tokens[: i + 1]``.

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
        return [BOS_TOKEN, *self.target_tokens[:-1]]

    @property
    def steps(self):
        """Un rótulo por fila de una matriz cruzada, «entra → predice»: «el → perro»."""
        return [f"{a} → {b}" for a, b in zip(self.seen_tokens, self.target_tokens)]

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
        wanted, shape = (len(self.target_tokens), len(self.source_tokens)), getattr(weights, "shape", None)
        if shape != wanted:
            raise ValueError(f"to_words: la matriz tiene forma {shape} y hace falta {wanted}: de una cabeza.")
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
        tokenizer: un ``tokenizers.Tokenizer`` con las marcas de ``translator_model.marks``.
        words: las palabras inglesas que ha visto al entrenar y el tokenizador parte; de las demás
            avisa, si no las copia.
    """

    def __init__(self, model, tokenizer, words):
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.known = whole_words(tokenizer) | words
        self.unknown, self.bos, self.eos = UNKNOWN, BOS, EOS
        self.max_sequence_len = model.encoder.positional_encoding.max_sequence_len

    @torch.no_grad()
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
        if not is_whole(beam, 1) or beam > BEAM:
            raise ValueError(f"translate: beam = {beam!r} y tiene que ser un entero de 1 a {BEAM}.")
        source, source_ids = self._prepare(sentence)
        longest = min(self.max_sequence_len - 1, 2 * len(source_ids) + 10)
        marks = self.bos, self.eos, [PAD, self.unknown, self.bos]
        search, width = (greedy_search, ()) if beam == 1 else (beam_search, (beam,))
        with torch.inference_mode():  # más rápido; de aquí solo salen ids
            encoded, _ = self.model.encoder(torch.tensor([source_ids]))
            target_ids = search(self.model, encoded, longest, marks, cache, *width)
        translation = self._look(source, source_ids, target_ids)
        if target_ids[-1] != self.eos:
            _warn(f"el modelo no ha sabido acabar: se ha parado en {longest} tokens.")
        elif translation.confidence < UNSURE:
            _warn(
                f"el modelo está muy poco seguro ({translation.confidence:.1f} nats por token): "
                "no te fíes de esta traducción. ¿Es una frase normal, en inglés?"
            )
        else:
            changed, unknown = doubtful_words(translation, self.known)
            if changed:
                _warn(f"comprueba {', '.join(changed)}: no está igual en la traducción.")
            if unknown:
                _warn(f"el modelo no conoce {', '.join(unknown)}: puede habérselo inventado.")
        return translation

    @torch.no_grad()
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
        logits, weights = self.model(torch.tensor([source_ids]), seen, need_weights=True)
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
        """El texto que se lee y sus ids."""
        room = self.max_sequence_len - 1
        text, ids, notes = read_sentence(self.tokenizer, sentence, room, what, spanish)
        for note in notes:
            _warn(note)
        return text, ids

    def tokens_of(self, ids):
        """Los tokens para enseñarlos: sin la marca de espacio, y ``##`` en los que siguen."""
        return shown_tokens(map(self.tokenizer.id_to_token, ids))


def _warn(note):
    """Avisa, y señala la línea de quien ha llamado a la biblioteca: ni esta ni PyTorch."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").startswith(("course_lib.", "torch.")):
        level, frame = level + 1, frame.f_back
    warnings.warn(TranslatorWarning(note), stacklevel=level)


@lru_cache(maxsize=1)
def load_translator():
    """Carga el traductor del curso, una sola vez por proceso. No usa la red.

    Returns:
        Un ``Translator``.

    Raises:
        TranslatorError: si sus archivos faltan o están dañados.
    """
    return read_translator(FOLDER)


@torch.inference_mode(False)  # lo que se carga se queda, y se tiene que poder entrenar
def read_translator(folder):
    """Lee un traductor de una carpeta como la que deja ``train_translator``; falla como ``load_translator``."""
    return Translator(*read_model(folder), read_words(folder))
