"""El explorador de máscaras: sus cuentas, sus límites y lo que hace en un navegador."""

import math
import random
import re

import numpy as np
import pytest
import torch
from helpers_explorers import agrees, in_js, refuses, says

from course_lib import causal_mask, convert_mask, scaled_dot_product_attention
from course_lib.explorers.mask import PRESETS, SCORES, MaskExplorer, compute, name_of, preset
from course_lib.masks import CONVENTIONS

WORDS = ["el", "perro", "come", "pan"]
V = [[1.0, 0.0], [0.0, 1.0], [2.0, 2.0], [-1.0, 3.0]]


def states(count):
    """Estados al azar, siempre los mismos, y los que suelen dar problemas."""
    draw = random.Random(0)
    for name in PRESETS:
        for padding in (1, 2):
            mask = preset(name, 4, padding)
            yield [SCORES, V, mask]
            yield [SCORES, V, [[not keep for keep in row] for row in mask]]
    yield [[[1000.0, -1000.0, 0.0, 0.0]] * 4, V, preset("causal", 4)]
    for _ in range(count):
        L, d_v = draw.randint(4, 6), draw.randint(1, 4)
        scale, some = draw.choice((0.1, 3, 50)), draw.choice((0.1, 0.5, 0.9))
        yield [
            [[draw.gauss(0, scale) for _ in range(L)] for _ in range(L)],
            [[draw.gauss(0, 2) for _ in range(d_v)] for _ in range(L)],
            [[draw.random() < some for _ in range(L)] for _ in range(L)],
        ]


def test_the_numbers_of_the_lesson():
    Q = torch.tensor([[2.0, 0, 1, 1], [0, 2, 1, 1], [1, 1, 2, 0], [1, 0, 0, 3]])
    K = torch.tensor([[1.0, 1, 0, 2], [2, 0, 2, 0], [0, 3, 1, 0], [1, 1, 1, 3]])
    assert (Q @ K.T / math.sqrt(4)).tolist() == SCORES
    output, weights = scaled_dot_product_attention(Q, K, torch.tensor(V), causal_mask(4))
    explorer = MaskExplorer()
    assert (explorer.words, explorer.values) == (WORDS, V)
    result = compute(explorer.scores, explorer.values, explorer.mask)
    torch.testing.assert_close(torch.tensor(result["weights"]), weights)
    torch.testing.assert_close(torch.tensor(result["output"]), output)


@pytest.mark.parametrize("state", list(states(40)))
def test_compute(state):
    scores, values, mask = state
    result = compute(scores, values, mask)
    L = len(scores)
    assert result["empty"] == [i for i in range(L) if not any(mask[i])]
    for i in range(L):
        allowed = [j for j in range(L) if mask[i][j]]
        assert result["masked"][i] == [scores[i][j] if mask[i][j] else None for j in range(L)]
        powers = {j: math.exp(scores[i][j] - max(scores[i][k] for k in allowed)) for j in allowed}
        weights = [powers.get(j, 0) / sum(powers.values()) if powers else 0 for j in range(L)]
        assert result["weights"][i] == pytest.approx(weights, abs=1e-9)
        output = [sum(w * row[d] for w, row in zip(weights, values)) for d in range(len(values[0]))]
        assert result["output"][i] == pytest.approx(output, abs=1e-9)
    assert result["block"] == [[not keep for keep in row] for row in mask]
    assert result["additive"] == [[0.0 if keep else None for keep in row] for row in mask]
    additive = torch.tensor([[-math.inf if x is None else x for x in r] for r in result["additive"]])
    assert convert_mask(additive, "additive", "keep").tolist() == mask


@pytest.mark.parametrize("length", [4, 5, 6])
def test_presets_and_their_names(length):
    for padding in range(1, length - 1):
        for name in PRESETS:
            mask = preset(name, length, padding)
            for i, row in enumerate(mask):
                past, real = name in ("causal", "las dos"), name in ("relleno", "las dos")
                assert row == [
                    (j <= i or not past) and (j < length - padding or not real) for j in range(length)
                ]
            assert name_of(mask, padding) == name
            assert name_of([[not keep for keep in row] for row in mask], padding) == (f"{name}, invertida")
    odd = preset("causal", length)
    odd[0][-1] = True
    assert name_of(odd) == "hecha a mano"


def test_its_traits():
    six = [*WORDS, "y", "pan"]
    explorer = MaskExplorer(
        words=six, scores=torch.zeros(6, 6), values=np.ones((6, 3)), padding=4, convention="block"
    )
    assert explorer.mask == causal_mask(6).tolist()
    for padding in range(1, 5):
        explorer.padding = padding
        explorer.mask = preset("relleno", 6, padding)
        assert "Máscara de relleno, escrita como block" in explorer.describe()
    for convention in CONVENTIONS:
        explorer.convention = convention
        assert f"como {convention}:" in explorer.describe()
    explorer.mask = torch.zeros(6, 6).bool()
    assert "0 permisos de 36; sin ningún permiso: el, perro, come, pan, y, pan" in repr(explorer)


@pytest.mark.parametrize(("name", "wrong", "message"), [
    ("words", WORDS[:3], "de 4 a 6 tokens"),
    ("words", [*WORDS, "y"], "números .* de 5 filas"),
    ("words", [*WORDS[:3], ""], "de 1 a 12 letras"),
    ("words", "pan y", "una lista de 4 a 6 tokens"),
    ("words", [1, 2, 3, 4], "una lista de 4 a 6 tokens"),
    ("words", None, "una lista de 4 a 6 tokens"),
    ("scores", [[1, 2], [3, 4]], "4 filas .* y 4 columnas"),
    ("scores", [[1, 2, 3, 4]] * 3 + [[1]], "4 filas .* y 4 columnas"),
    ("scores", [[math.nan] * 4] * 4, "números entre −1000 y 1000"),
    ("scores", torch.full((4, 4), -math.inf), "números entre −1000 y 1000"),
    ("scores", [["1"] * 4] * 4, "números entre −1000 y 1000"),
    ("scores", 7, "una tabla de números"),
    ("values", [[]] * 4, "de 1 a 4 columnas"),
    ("values", [[1] * 5] * 4, "de 1 a 4 columnas"),
    ("values", [1, 2, 3, 4], "de 1 a 4 columnas"),
    ("mask", causal_mask(5), r"tensor \(5, 5\), .* de 4 filas"),
    ("mask", [[1] * 4] * 4, "booleanos"),
    ("mask", convert_mask(causal_mask(4), "keep", "additive"), "booleanos"),
    ("mask", None, "booleanos"),
])  # fmt: skip
def test_what_is_wrong_is_refused(name, wrong, message):
    refuses(MaskExplorer, name, wrong, message)


# --- En un navegador ------------------------------------------------------------------------------

SAID = """value.map(([scores, values, mask]) => {
    const name = module.nameOf(mask, 1), words = mask.map((_, i) => 't' + i);
    const state = {...module.compute(scores, values, mask), words, row: 0, name};
    return [name, module.sentence(state)];
})"""


def test_javascript_computes_the_same(lab):
    cases = list(states(250))
    agrees(lab, "mask", compute, cases)
    found = in_js(lab, "mask", SAID, cases)
    for (scores, values, mask), (name, said) in zip(cases, found, strict=True):
        assert name == name_of(mask)
        assert ("NaN" in said) == bool(compute(scores, values, mask)["empty"])
    cases = [[name, L, pad] for name in PRESETS for L in (4, 5, 6) for pad in range(1, L - 1)]
    theirs = in_js(lab, "mask", "value.map(one => module.preset(...one))", cases)
    assert theirs == [preset(*case) for case in cases]


def test_it_answers_to_the_hand_and_to_the_keys(lab, shown):
    explorer, page = shown("MaskExplorer(mask=[[True] * 4] * 4)"), lab.page

    def cell(query, key):
        return explorer.get_by_role("button", name=f"{query} puede mirar a {key}", exact=True)

    def pressed():
        return [[cell(q, k).get_attribute("aria-pressed") == "true" for k in WORDS] for q in WORDS]

    def row(table, query):
        found = explorer.get_by_role("table", name=table).get_by_role(
            "row", name=re.compile(rf"^{query} [−\d]")
        )
        return found.get_by_role("cell").all_inner_texts()

    def choose(name):
        explorer.get_by_role("button", name=name, exact=True).click()

    says(page, "Sin máscara.")

    # El ratón: una pulsación tapa una casilla; otra la deja como estaba.
    cell("el", "pan").click()
    assert pressed() == [[True, True, True, False]] + [[True] * 4] * 3
    assert row("enmascaradas (−∞)", "el") == ["2.00", "3.00", "0.50", "−∞"]
    assert row("pesos: softmax por filas", "el")[3] == "0.00"
    cell("el", "pan").click()
    assert pressed() == [[True] * 4] * 4

    # Con el botón apretado, de punta a punta y deprisa: la fila entera, sin saltarse ninguna.
    first, last = cell("come", "el").bounding_box(), cell("come", "pan").bounding_box()
    page.mouse.move(first["x"] + 9, first["y"] + 9)
    page.mouse.down()
    page.mouse.move(last["x"] + 9, last["y"] + 9, steps=1)
    page.mouse.up()
    page.mouse.move(first["x"] + 9, first["y"] - 20)  # suelto ya no escribe
    assert pressed() == [[True] * 4] * 2 + [[False] * 4] + [[True] * 4]
    assert row("salida", "come") == ["0.00", "0.00"]
    says(page, "«come» no tiene a nadie a quien mirar: en el curso, sus pesos y su salida valen 0")
    says(page, "NaN")
    assert lab.prints("print(explorer.mask[2])", str([False] * 4))

    # El teclado: flechas, espacio y Mayús con flecha. El cuaderno no se mueve de celda.
    active = page.evaluate("lesson.content.activeCellIndex")
    choose("causal")
    assert pressed() == causal_mask(4).tolist()
    cell("perro", "come").focus()
    for key in ("ArrowLeft", "ArrowLeft", "Space", "Shift+ArrowRight", "ArrowDown", "End", "Space"):
        page.keyboard.press(key)
    assert pressed() == [
        [True, False, False, False], [False] * 4, [True, True, True, True], [True] * 4,
    ]  # fmt: skip
    assert explorer.locator(".m-grid [tabindex='0']").count() == 1
    assert page.evaluate("document.activeElement.ariaLabel") == "come puede mirar a pan"
    assert page.evaluate("lesson.content.activeCellIndex") == active
    says(page, "«come» reparte su peso")

    # Los tres convenios: otra escritura, los mismos permisos.
    choose("causal")
    for name, texts in (
        ("block", ["False", "True"]), ("aditiva", ["0", "−∞"]), ("keep", ["True", "False"])
    ):  # fmt: skip
        explorer.get_by_role("radio", name=name).check()
        assert [cell("el", k).inner_text() for k in ("el", "pan")] == texts
        assert pressed() == causal_mask(4).tolist()
    explorer.get_by_role("radio", name="block").check()
    assert lab.prints("print(explorer.convention)", "block")

    # Las máscaras conocidas.
    choose("las dos")
    explorer.get_by_label("tokens de relleno, al final").press("ArrowRight")
    assert pressed() == preset("las dos", 4, 2)
    choose("invertida")
    says(page, "Máscara causal y de relleno, invertida")
    text = "Máscara causal y de relleno, invertida, escrita como block: 9 permisos"
    assert lab.prints(f"print(explorer.padding, str(explorer)[:{len(text)}])", f"2 {text}")

    # Y de Python a la página.
    lab.ask("explorer.mask = [[True] * 4] * 4; explorer.padding = 1")
    says(page, "Sin máscara.")
    assert pressed() == [[True] * 4] * 4
