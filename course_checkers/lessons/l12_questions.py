"""12.3 · El efecto de una pareja. 12.4 · Cuántas cabezas de BERT miran más hacia atrás que hacia delante."""

import functools

import torch

import course_lib
from course_checkers.engine import question


@functools.cache
def maps():
    """Los pesos de las frases variadas, (capas, h, L, L) cada una, sin relleno."""
    from course_lib.probes import load_probes

    read = course_lib.extract_embeddings(list(load_probes().varied))
    weights = torch.stack(read.attentions).transpose(0, 1)  # (n, capas, h, L, L)
    lengths = read.attention_mask.sum(-1).tolist()
    return [w[..., :length, :length] for w, length in zip(weights, lengths)]


def backwards(cut=lambda weights: weights, turned=False, pooled=False):
    """Cuántas cabezas dan de media más al anterior que al siguiente, en lo que deja ``cut``.

    Con ``pooled``, la media es de los tokens de todas las frases, y no primero de cada frase.
    """

    def share(offset):
        found = [cut(weights).diagonal(offset, -2, -1) for weights in maps()]
        means = [x.mean(-1, keepdim=True) for x in found]
        return torch.cat(found if pooled else means, -1).mean(-1)

    return int((share(-1) < share(1) if turned else share(-1) > share(1)).sum())


def words(weights):
    """La tabla sin las filas ni las columnas de las marcas."""
    return weights[..., 1:-1, 1:-1]


# Con el adjetivo del primer nombre y con el del segundo, lo que da una cabeza a los dos.
(A, B), (C, D) = (0.62, 0.08), (0.30, 0.22)
QUESTIONS = (
    question(__file__, "12.3", "el efecto de una pareja", lambda: (A - C + D - B) / 2, {
        "solo-el-primero": lambda: A - C,
        "solo-el-segundo": lambda: D - B,
        "suma-los-dos": lambda: A - C + D - B,
        "una-sola-frase": lambda: A - B,
        "cuenta-ganadores": lambda: 0,
        "frases-cambiadas": lambda: (C - A + B - D) / 2,
    }, read="12 §3.2"),
    question(__file__, "12.4", "¿mira BERT hacia atrás?", lambda: (backwards(), backwards(words)), {
        "no-quita-nada": lambda: (backwards(), backwards()),
        "siempre-sin-marcas": lambda: (backwards(words), backwards(words)),
        "al-revés": lambda: (backwards(words), backwards()),
        "hacia-delante": lambda: (backwards(turned=True), backwards(words, turned=True)),
        "hacia-delante-en-una": lambda: (backwards(), backwards(words, turned=True)),
        "queda-[SEP]": lambda: (backwards(), backwards(lambda w: w[..., 1:, 1:])),
        "solo-las-filas": lambda: (backwards(), backwards(lambda w: w[..., 1:-1, :])),
        "solo-las-columnas": lambda: (backwards(), backwards(lambda w: w[..., :, 1:-1])),
        "tokens-de-todas-juntos": lambda: (backwards(pooled=True), backwards(words, pooled=True)),
        "la-mitad": lambda: (72 // 2,) * 2,
    }, kind="una pareja de números, como (1, 2)", read="12 §2", points=2),
)  # fmt: skip
