"""Preguntas al traductor: ¿a qué nombre atribuye *it*, y por dónde lo sabe?

Las frases, en ``gender_pairs.tsv`` y ``gender_controls.tsv``, son del curso; ninguna está entre las
de su entrenamiento.
"""

import re
from typing import NamedTuple

import torch

from course_lib.probes.alignment import read_table
from course_lib.translator import words_of


class Gendered(NamedTuple):
    """Una frase con *it*, y el adjetivo que en español lleva el género del nombre al que remite.

    ``gender`` es «m» o «f»; ``masculine`` y ``feminine``, las dos formas del adjetivo.
    """

    english: str
    noun: str
    gender: str
    masculine: str
    feminine: str


def gender_pairs():
    """Parejas de frases iguales salvo el adjetivo, que decide a cuál de dos nombres remite *it*.

    Los dos nombres tienen en español distinto género: el del adjetivo enseña la elección.

    Returns:
        Lista de pares de ``Gendered``: en la primera *it* es el nombre más lejano.
    """
    rows = [Gendered(*row) for row in read_table("gender_pairs.tsv")]
    return list(zip(rows[0::2], rows[1::2]))


def gender_controls():
    """Parejas de frases iguales salvo el nombre al que remite *it*: masculino y femenino."""
    rows = [Gendered(*row) for row in read_table("gender_controls.tsv")]
    return list(zip(rows[0::2], rows[1::2]))


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
    encoded, _ = model.encoder(torch.tensor([source_ids]), own)
    seen = torch.tensor([[translator.bos, *target_ids[:-1]]])
    decoded, _ = model.decoder(seen, encoded, written, cross)
    logits = model.output_projection(decoded)[0]
    chosen = torch.tensor(target_ids)[:, None]
    return logits.log_softmax(dim=-1).gather(-1, chosen).sum().item()
