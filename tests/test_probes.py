"""Lo que se prueba de más a quien lo acierta todo: ni quien guarda algo, ni quien solo acierta en unos
tamaños, unos números o una memoria, pasa. Las respuestas buenas las mira ``test_answers``."""

import numpy as np
import pytest
import torch
from helpers_answers import ALL, EXERCISES

from course_checkers.engine import probes
from course_checkers.engine.case import Case

GOOD = {}
for answer in ALL:
    if answer.kind == "buena" and answer.exercise not in ("6.2", "7.1"):
        GOOD.setdefault(answer.exercise, answer.code)

# --- Quien guarda algo de una llamada a otra -------------------------------------------------------


def size(x):
    return tuple(x.shape) if isinstance(x, torch.Tensor) else repr(x)


def measured(measure):
    """De un tensor, lo que mide y algo de sus números."""
    alone = lambda x: x.double().nan_to_num(0, 9, -9).flatten() if x.numel() else torch.zeros(1)  # noqa: E731
    return lambda x: (size(x), measure(alone(x)) if isinstance(x, torch.Tensor) else None)


KEYS = {  # qué mira de cada argumento quien quiere saber si ya lo ha visto
    "nada": lambda x: None,
    "la-clase": type,
    "la-forma": size,
    "la-identidad": lambda x: id(x) if isinstance(x, torch.Tensor) else repr(x),
    "la-memoria": lambda x: x.data_ptr() if isinstance(x, torch.Tensor) else repr(x),
    "el-primero": measured(lambda x: float(x[0])),
    "la-suma": measured(lambda x: round(float(x.sum()), 3)),
    "media-y-desviación": measured(lambda x: tuple(round(float(y), 3) for y in (x.mean(), x.std()))),
    "extremos": measured(lambda x: (float(x.min()), float(x.max()))),
    "redondeados": measured(lambda x: tuple((10 * x).round().tolist())),
}
WHOLE = {"0.1", "4.2", "4.3", "8.1", "11.1", "16.2"}  # entran o salen enteros: redondear no se nota
NO_TENSORS = {"2.1", "4.1", "10.2"}
VIEWS = {"6.1"}  # lo que devuelve es lo mismo que recibe, puesto de otra forma


def keeper(function, key, forgotten=None):
    """Guarda lo que da por la clave de cada argumento, menos uno."""
    kept = {}

    def answer(*arguments):
        known = tuple(key(x) for place, x in enumerate(arguments) if place != forgotten)
        if (len(arguments), known) not in kept:
            kept[len(arguments), known] = function(*arguments)
        return kept[len(arguments), known]

    return answer


def some(*pairs):
    """Cada día, una de cada doce; cada noche, todas."""
    marks = [() if i % 12 == 0 else pytest.mark.lenta for i in range(len(pairs))]
    return [pytest.param(*pair, marks=mark) for pair, mark in zip(pairs, marks)]


@pytest.mark.parametrize(("number", "name"), some(*(
    (number, name)
    for number in GOOD
    for name in KEYS
    if not (number in NO_TENSORS and name not in ("nada", "la-clase"))
    and not (number in WHOLE and name == "redondeados")
    and not (number in VIEWS and name in ("la-identidad", "la-memoria"))
)))  # fmt: skip
def test_what_is_kept_is_seen(number, name):
    assert not EXERCISES[number].check(keeper(GOOD[number], KEYS[name])).ok


@pytest.mark.parametrize(("number", "place"), some(*(
    (number, place)
    for number in GOOD
    for place in range(len(EXERCISES[number].names))
    if len(EXERCISES[number].names) > 1 and number != "10.2"  # el modelo ya dice cuáles son las marcas
)))  # fmt: skip
def test_forgetting_one_argument_is_seen(number, place):
    exact = measured(lambda x: tuple(x.tolist()))
    assert not EXERCISES[number].check(keeper(GOOD[number], exact, place)).ok


# --- Quien solo acierta en unos tamaños, unos números o una memoria --------------------------------


def but(where, function):
    """Una respuesta buena, con otra cosa si se cumple ``where`` con lo primero que recibe."""

    def answer(*arguments):
        given = function(*arguments)
        output = given[0] if isinstance(given, tuple) else given
        return output + 0.1 if where(arguments[0]) else given

    return answer


def repeated(x):
    """Si en todas las filas de una tabla hay los mismos números, y no son todos iguales."""
    rows = x.sort(-1).values
    return x.shape[-2] > 1 and bool((rows == rows[..., :1, :]).all()) and len(x.unique()) > 1


ONLY = {
    "un eje que mide 1": (lambda x: x.dim() > 1 and x.shape[-2] == 1, "1"),
    "más de lo que hay en las pruebas": (lambda x: x.dim() > 1 and 60 < x.shape[-2] < 70, "= 65"),
    "muchos más": (lambda x: x.dim() > 1 and x.shape[-2] > 200, "= 300"),
    "filas con los mismos números": (lambda x: x.dim() > 1 and repeated(x), "fila, corrida"),
    "números enormes": (lambda x: x.abs().max() > 200 and x.numel() < 500, ""),
    "todos iguales": (lambda x: x.numel() > 4 and len(x.unique()) == 1, ""),
    "con huecos en la memoria": (lambda x: x.stride()[-1] == 2, "lee la memoria seguida"),
}


@pytest.mark.parametrize(
    "number",
    ["3.2", "8.2", *(pytest.param(n, marks=pytest.mark.lenta) for n in ("13.3", "2.2", "14.2"))],
)
@pytest.mark.parametrize("name", ONLY)
def test_who_is_right_only_sometimes_is_seen(number, name):
    where, said = ONLY[name]
    report = EXERCISES[number].check(but(where, GOOD[number]))
    assert not report.ok
    assert said in str(report)


def found_in_the_table(weights, tokens, position):
    """El peso más alto de la fila, buscado en toda la tabla."""
    return tokens[int((weights == weights[position].max()).nonzero()[0, 1])]


def hides_with(fill):
    return lambda scores: scores.masked_fill(scores == -torch.inf, fill).softmax(-1)


def at_most(most, number):
    """Una respuesta buena, con una tabla hecha de antemano."""
    return lambda *given: GOOD[number](most, *given[1:])[: given[0]]


def attention(query, key, value, mask):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    weights = (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1)
    return weights @ value, weights


def mask_of_sentences(query, key, value, mask=None):
    """Toma los tres ejes de una máscara por (B, L_q, L_k)."""
    four = mask is not None and mask.dim() == 3 and query.dim() == 4
    return attention(query, key, value, mask[:, None] if four else mask)


def mask_of_the_first(query, key, value, mask=None):
    """Si la máscara no va por cabezas, usa la de la primera frase."""
    alone = mask is not None and mask.dim() == 4 and mask.shape[1] == 1 < mask.shape[2]
    return attention(query, key, value, mask[:1] if alone else mask)


def three_shapes(query, key, value, mask=None):
    assert query.dim() < 5
    return attention(query, key, value, mask)


def shifted_already(target_ids, bos_id):
    """La frase que ya empieza por la marca, como está."""
    return torch.where(target_ids[:, :1] == bos_id, target_ids, GOOD["8.1"](target_ids, bos_id))


def own_cache():
    """Guarda la caché por su cuenta, y la usa si mide lo mismo que la que recibe."""
    store = {}

    def answer(query, key, value, *kept):
        if kept[0].shape == store.get("shape"):
            kept = store["kept"]
        output, *kept = GOOD["13.2"](query, key, value, *kept)
        store.update(kept=kept, shape=kept[0].shape)
        return output, *kept

    return answer


def least(number):
    """Un eps que no baja de 1e-8: es el último argumento."""
    return lambda *given: GOOD[number](*given[:-1], max(given[-1], 1e-8))


@pytest.mark.parametrize(("number", "code"), [
    ("0.1", found_in_the_table), ("2.1", at_most(512, "2.1")), ("2.2", least("2.2")),
    ("3.1", hides_with(-200.0)), ("4.1", lambda length: GOOD["4.1"](512)[:length, :length]),
    ("5.1", mask_of_sentences), ("5.1", mask_of_the_first), ("5.1", three_shapes),
    *(("7.1", f"bqhd,{text}bhqk") for text in ("bkhd→", "bkhd- >", "\nbkhd->")),
    ("8.1", shifted_already), ("13.2", own_cache()), ("14.2", least("14.2")),
    ("14.1", lambda x, positions, base: GOOD["14.1"](x, positions % 2048, base)),
    ("14.1", lambda x, positions, base: GOOD["14.1"](x, positions, min(base, 20_000.0))),
])  # fmt: skip
def test_what_the_statement_promises_is_tried(number, code):
    assert not EXERCISES[number].check(code).ok


class SixHeads(next(a.code for a in ALL if (a.exercise, a.name) == ("6.2", "TheReference"))):
    """Nunca más de cuatro cabezas."""

    def __init__(self, heads, dim_embedding):
        super().__init__(min(heads, 4), dim_embedding)


def test_other_numbers_of_heads_are_tried():
    assert not EXERCISES["6.2"].check(SixHeads).ok


def with_numpy(x, sublayer_output, weight, bias, eps=1e-5):
    """Con un eps de NumPy: ``None`` sería NaN, y no se le da nunca."""
    total = (x + sublayer_output).numpy()
    spread = np.sqrt(total.var(-1, keepdims=True) + np.float32(eps))
    return torch.tensor((total - total.mean(-1, keepdims=True)) / spread) * weight + bias


def test_ids_with_decimals_are_not_shown_as_equal():
    report = EXERCISES["10.2"].check(lambda *given: [float(i) for i in GOOD["10.2"](*given)])
    assert [finding.id for finding in report.findings] == ["tipo"]


@pytest.mark.parametrize(("number", "code"), [
    ("9.2", with_numpy),
    ("12.1", lambda weights: GOOD["12.1"](weights / weights.sum(-1, keepdim=True))),
])  # fmt: skip
def test_what_the_statement_excludes_is_not(number, code):
    assert EXERCISES[number].check(code).ok


def test_one_instance_is_called_twice():
    """La que se guarda una máscara, o lo de antes, en ``self``."""
    base = next(a.code for a in ALL if (a.exercise, a.name) == ("6.2", "TheReference"))

    class Keeps(base):
        def forward(self, query, key, value, mask=None):
            if getattr(self, "kept", None) is None or self.kept.shape != query.shape:
                self.kept = super().forward(query, key, value, mask)
                self.kept = self.kept[0] if isinstance(self.kept, tuple) else self.kept
            return self.kept

    assert EXERCISES["6.2"].check(base).ok
    assert not EXERCISES["6.2"].check(Keeps).ok


def test_what_fails_is_said_with_the_names_of_the_statement():
    seen = {
        Case("", (torch.zeros(b, q, 4), torch.zeros(b, k, 4))): 0
        for b, q, k in ((1, 3, 3), (2, 3, 3), (2, 3, 4), (3, 5, 4))
    }
    cases = list(seen)
    tell = lambda failing: probes.where(EXERCISES["3.2"], seen, failing)  # noqa: E731
    assert tell(cases[2:]).endswith("tienen L_k = 4.")
    assert tell(cases[:2]).endswith("tienen L_k = 3.")
    assert tell(cases[1:3]) == "De las pruebas, fallan justo las que tienen 1.º eje = 2."
    assert tell([cases[0], cases[3]]) == tell(cases) == ""
    assert probes.how_many(seen, cases[:2]) == "Falla en 2 de 4."
