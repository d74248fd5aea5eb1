"""Una pregunta sobre las cabezas de BERT: cuántas miran más hacia atrás que hacia delante."""

import functools

import torch

from course_lib.checkers.engine.questions import Question, Wrong


@functools.cache
def maps():
    """Los pesos de las frases variadas, (capas, h, L, L) cada una, sin relleno."""
    from course_lib import extract_embeddings
    from course_lib.probes import load_probes

    read = extract_embeddings(list(load_probes().varied))
    weights = torch.stack(read.attentions).transpose(0, 1)  # (n, capas, h, L, L)
    lengths = read.attention_mask.sum(-1).tolist()
    return [w[..., :length, :length] for w, length in zip(weights, lengths)]


def backwards(cut=lambda weights: weights, turned=False, pooled=False):
    """Cuántas cabezas dan de media más al anterior que al siguiente, en lo que deja ``cut``.

    Con ``pooled``, la media es de los tokens de todas las frases, y no primero de cada frase.
    """
    shares = []
    for offset in (-1, 1):
        found = [cut(weights).diagonal(offset, -2, -1) for weights in maps()]
        means = [x.mean(-1, keepdim=True) for x in found]
        shares.append(torch.cat(found if pooled else means, -1).mean(-1))
    before, after = shares
    return int((before < after if turned else before > after).sum())


def words(weights):
    """La tabla sin las filas ni las columnas de las marcas."""
    return weights[..., 1:-1, 1:-1]


BACKWARDS = Question(
    "11.4",
    "¿mira BERT hacia atrás?",
    lambda: (backwards(), backwards(words)),
    (
        Wrong(
            lambda: (backwards(), backwards()),
            "no-quita-nada",
            "El segundo número es entre palabras: quita de cada tabla las filas y las columnas de las dos marcas.",
        ),
        Wrong(
            lambda: (backwards(words), backwards(words)),
            "siempre-sin-marcas",
            "El primer número es con la tabla entera, también con las marcas.",
        ),
        Wrong(
            lambda: (backwards(words), backwards()),
            "al-revés",
            "Están cambiados: primero, con la tabla entera; después, entre palabras.",
        ),
        Wrong(
            lambda: (backwards(turned=True), backwards(words, turned=True)),
            "hacia-delante",
            "Has contado las que miran más al siguiente: la diagonal del anterior es la −1.",
            "11 §2",
        ),
        Wrong(
            lambda: (backwards(), backwards(words, turned=True)),
            "hacia-delante-en-una",
            "En el segundo número has contado las que miran más al siguiente.",
        ),
        Wrong(
            lambda: (backwards(), backwards(lambda w: w[..., 1:, 1:])),
            "queda-[SEP]",
            "Has quitado [CLS] y queda [SEP], la última fila y la última columna.",
        ),
        Wrong(
            lambda: (backwards(), backwards(lambda w: w[..., 1:-1, :])),
            "solo-las-filas",
            "Has quitado filas y no columnas: la diagonal −1 ya no es el token anterior.",
        ),
        Wrong(
            lambda: (backwards(), backwards(lambda w: w[..., :, 1:-1])),
            "solo-las-columnas",
            "Has quitado columnas y no filas: la diagonal −1 ya no es el token anterior.",
        ),
        Wrong(
            lambda: (backwards(pooled=True), backwards(words, pooled=True)),
            "tokens-de-todas-juntos",
            "Has hecho una sola media con los tokens de todas las frases: primero es la de cada frase.",
        ),
        Wrong(
            lambda: (72 // 2,) * 2,
            "la-mitad",
            "Eso es lo que se espera si da igual mirar a un lado o al otro. Cuéntalas.",
        ),
    ),
    kind="una pareja de números, como (1, 2)",
    tolerance=1e-6,
    read="11 §2",
    points=2,
)

QUESTIONS = (BACKWARDS,)
