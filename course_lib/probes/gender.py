"""Preguntas al traductor: ¿adónde mira?, ¿a qué nombre atribuye *it*?, ¿qué pasa si le quito una cabeza?

Las frases son del curso, escritas y alineadas a mano; ninguna está entre las de su entrenamiento.
"""

import re
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import torch

from course_lib.translator import words_of

FOLDER = Path(__file__).parent / "translator_model"


class Aligned(NamedTuple):
    """Una pareja de frases alineada a mano.

    ``gold[i]`` es el conjunto de palabras inglesas admisibles para la palabra española i
    (números de orden, desde 0).
    """

    english: str
    spanish: str
    gold: list


class Gendered(NamedTuple):
    """Una frase con *it*, y el adjetivo que en español lleva el género del nombre al que remite.

    ``gender`` es «m» o «f»; ``masculine`` y ``feminine``, las dos formas del adjetivo.
    """

    english: str
    noun: str
    gender: str
    masculine: str
    feminine: str


def aligned_pairs():
    """Las 72 parejas alineadas a mano: la primera mitad, para elegir; la segunda, para la nota."""
    pairs = []
    for english, spanish, links in _rows("aligned.tsv"):
        gold = [set(map(int, link.split(":")[1].split(","))) for link in links.split()]
        pairs.append(Aligned(english, spanish, gold))
    return pairs


def gender_pairs():
    """Parejas de frases iguales salvo el adjetivo, que decide a cuál de dos nombres remite *it*.

    Los dos nombres tienen en español distinto género: el del adjetivo enseña la elección.

    Returns:
        Lista de pares de ``Gendered``: en la primera *it* es el nombre más lejano.
    """
    rows = [Gendered(*row) for row in _rows("gender_pairs.tsv")]
    return list(zip(rows[0::2], rows[1::2]))


def gender_controls():
    """Parejas de frases iguales salvo el nombre al que remite *it*: masculino y femenino."""
    rows = [Gendered(*row) for row in _rows("gender_controls.tsv")]
    return list(zip(rows[0::2], rows[1::2]))


def _rows(name):
    lines = (FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines]


def alignment_hits(translation, gold, weights):
    """De cuántas palabras es admisible la palabra de origen más mirada.

    Args:
        translation: una ``Translation``.
        gold: las admisibles de cada palabra escrita.
        weights: una matriz cruzada ``(m_D, m_E)`` suya: una cabeza, o una media.

    Returns:
        ``(aciertos, palabras)``. Los signos y la marca de fin no cuentan.

    Raises:
        ValueError: si no hay tantas palabras como dice el alineamiento.
    """
    table = translation.to_words(weights)
    if len(table) != len(gold):
        raise ValueError(
            f"alignment_hits: la traducción tiene {len(table)} palabras y el alineamiento, {len(gold)}: "
            f"{translation.text!r}."
        )
    best = table.argmax(dim=-1).tolist()
    return sum(j in admissible for j, admissible in zip(best, gold)), len(gold)


def alignment_accuracy(translator, pairs):
    """Fracción de palabras bien alineadas, en cada capa y cada cabeza del decoder y en su media.

    El decoder lee la traducción de referencia (teacher forcing).

    Args:
        translator: un ``Translator``.
        pairs: lista de ``Aligned``.

    Returns:
        ``(capas, h + 1)``: la última columna es la media de las cabezas de la capa.
    """
    right, total = 0, 0
    for pair in pairs:
        found = translator.align(pair.english, pair.spanish)
        cross = found.cross_attention  # (capas, h, m_D, m_E)
        tables = torch.cat([cross, cross.mean(dim=1, keepdim=True)], dim=1)
        hits = [[alignment_hits(found, pair.gold, table)[0] for table in layer] for layer in tables]
        right = right + torch.tensor(hits)
        total += len(pair.gold)
    return right / total


def chosen_gender(translation, example):
    """Qué género lleva el adjetivo en una traducción: «m», «f» o, si no está, ``None``."""
    words = [word.lower() for word, _ in translation.target_words]
    found = {"m": example.masculine in words, "f": example.feminine in words}
    chosen = [gender for gender, present in found.items() if present]
    return chosen[0] if len(chosen) == 1 else None


CUTS = ("encoder", "cruzada", "decoder")


@torch.inference_mode()
def gender_preference(translator, example, found, cut=None):
    """Cuánto prefiere el modelo que el adjetivo lleve el género que toca.

    Compara la traducción con la misma, cambiado solo el género del adjetivo. Y puede
    cortar uno de los caminos por los que el nombre llega hasta él, con una máscara:

    - ``"encoder"``: en el encoder, ningún otro token mira al nombre;
    - ``"cruzada"``: en la atención cruzada, los pasos del adjetivo no miran al nombre;
    - ``"decoder"``: desde *porque*, nadie mira lo que ya está escrito antes de *porque*.

    Args:
        translator: un ``Translator``.
        example: un ``Gendered``.
        found: su ``Translation``, con el adjetivo y con *porque*.
        cut: ``None`` o uno de ``CUTS``.

    Returns:
        Log-probabilidad del género bueno menos la del otro, en nats.

    Raises:
        ValueError: si el corte no existe o en la traducción faltan el adjetivo o *porque*.
    """
    if cut is not None and cut not in CUTS:
        raise ValueError(f"gender_preference: cut = {cut!r}. Elige None o uno de {CUTS}.")
    forms = {"m": example.masculine, "f": example.feminine}
    any_form = re.compile(rf"\b({'|'.join(forms.values())})\b")
    if not any_form.search(found.text) or "porque" not in found.text:
        raise ValueError(
            f"gender_preference: en {found.text!r} tienen que estar «porque» y una de "
            f"{tuple(forms.values())}."
        )
    total = {}
    for gender, form in forms.items():
        text = any_form.sub(form, found.text)
        total[gender] = _score(translator, found.source, text, example.noun, form, cut)
    other = "f" if example.gender == "m" else "m"
    return total[example.gender] - total[other]


def _score(translator, source, text, noun, form, cut):
    """Log-probabilidad de una traducción entera, con un camino cortado."""
    model, tokenizer = translator.model, translator.tokenizer
    source_ids = [*tokenizer.encode(source).ids, translator.eos]
    target_ids = [*tokenizer.encode(text).ids, translator.eos]
    columns = dict(words_of(translator.tokens_of(source_ids)))[noun]
    words = dict(words_of(translator.tokens_of(target_ids)))
    because = words["porque"][0]
    m_E, m_D = len(source_ids), len(target_ids)
    own = torch.ones(m_E, m_E, dtype=torch.bool)
    cross = torch.ones(m_D, m_E, dtype=torch.bool)
    written = torch.ones(m_D, m_D, dtype=torch.bool)
    if cut == "encoder":
        others = [i for i in range(m_E) if i not in columns]
        own[torch.tensor(others)[:, None], torch.tensor(columns)] = False
    elif cut == "cruzada":
        cross[torch.tensor(words[form])[:, None], torch.tensor(columns)] = False
    elif cut == "decoder":
        written[because + 1 :, 1 : because + 1] = False  # la columna 0 es la marca de inicio
    encoded = model.encoder(torch.tensor([source_ids]), own)
    seen = torch.tensor([[translator.bos, *target_ids[:-1]]])
    logits = model.output_projection(model.decoder(seen, encoded, written, cross))[0]
    chosen = torch.tensor(target_ids)[:, None]
    return logits.log_softmax(dim=-1).gather(-1, chosen).sum().item()


@contextmanager
def without_heads(*silenced):
    """Apaga unas cabezas mientras dura el bloque ``with``: lo que aportan pasa a ser 0.

    Args:
        silenced: pares ``(atención, cabeza)``: un ``MultiHeadAttention`` y un número desde 0.

    Raises:
        ValueError: si esa atención no tiene esa cabeza.
    """
    for attention, head in silenced:
        if head not in range(attention.heads):
            raise ValueError(
                f"without_heads: no hay cabeza {head!r}: esta atención tiene {attention.heads}, de la "
                f"0 a la {attention.heads - 1}."
            )
    saved = [
        (attention, attention.output_projection.weight.detach().clone())
        for attention, _ in silenced
    ]
    try:
        with torch.no_grad():
            for attention, head in silenced:
                # W_O junta las cabezas: estas columnas son las que leen la que se apaga.
                columns = slice(head * attention.dim_key, (head + 1) * attention.dim_key)
                attention.output_projection.weight[:, columns] = 0.0
        yield
    finally:
        with torch.no_grad():
            for attention, weight in reversed(saved):
                attention.output_projection.weight.copy_(weight)
