"""El explorador de la softmax: sus cuentas, sus límites y lo que hace en un navegador."""

import math
import random
import re

import pytest
import torch
from helpers_explorers import agrees, in_js, refuses, says

from course_lib.explorers.softmax import LIMIT, SoftmaxExplorer, compute


def states(count):
    """Estados al azar, siempre los mismos, y los que suelen dar problemas."""
    draw = random.Random(0)
    yield [1.0, 2.0, 3.0], 1.0, 0.0
    yield [-1.0, 0.0, 1.0], 1.0, 0.0  # suman 0
    yield [0.1, 0.2, -0.3], 1.0, 0.0  # suman 0, pero no en coma flotante
    yield [1.0, 2.0, 3.0], 1.0, -2.0  # suman 0 por la constante
    yield [0.0, 0.0], 1.0, 0.0
    yield [2.0] * 8, 0.1, -20.0
    yield [-LIMIT, LIMIT], 0.1, 20.0
    yield [-LIMIT, LIMIT, LIMIT], 10.0, -20.0  # empatan dos
    for n in range(count):
        grid = n % 2  # la mitad, con los decimales que deja la mano
        logits = [draw.uniform(-LIMIT, LIMIT) for _ in range(draw.randint(2, 8))]
        shift = draw.uniform(-20, 20)
        yield (
            [round(x, 1) for x in logits] if grid else logits,
            10 ** draw.uniform(-1, 1),
            round(2 * shift) / 2 if grid else shift,
        )


@pytest.mark.parametrize("state", list(states(60)))
def test_compute(state):
    logits, temperature, shift = state
    result = compute(*state)
    # Sin exponenciales de números grandes: cada peso, por las diferencias con los demás.
    weights = [1 / sum(math.exp((y - x) / temperature) for y in logits) for x in logits]
    assert result["weights"] == pytest.approx(weights, rel=1e-9)
    assert sum(result["weights"]) == pytest.approx(1)
    expected = [math.exp((x - max(logits)) / temperature) for x in logits]
    assert result["exponentials"] == pytest.approx(expected, rel=1e-9)
    assert result["best"] == [i for i, x in enumerate(logits) if x == max(logits)]
    assert result["winner"] == (result["best"][0] if len(result["best"]) == 1 else None)
    total = math.fsum(x + shift for x in logits)
    assert (result["percentages"] is None) == (abs(total) < 1e-9)
    if result["percentages"] is not None:
        expected = [(x + shift) / total for x in logits]
        assert result["percentages"] == pytest.approx(expected, rel=1e-9)


def test_its_text_says_its_state():
    assert repr(SoftmaxExplorer()) == (
        "Puntuaciones: 1, 2, 3; c = 0; T = 1.00; pesos: 0.09, 0.24, 0.67; gana la 3.ª; "
        "porcentajes: 0.17, 0.33, 0.50."
    )
    assert repr(SoftmaxExplorer(logits=[-1, 0, 3], temperature=0.5, shift=-1)).endswith(
        "porcentajes: 2.00, 1.00, -2.00 (no son pesos: hay negativos)."
    )
    assert repr(SoftmaxExplorer(shift=-2)).endswith("; el porcentaje no existe.")
    assert "empatan 2;" in repr(SoftmaxExplorer(logits=[2, 2, 1]))


def test_its_text_does_not_hang_on_the_last_bit():
    """0.125 es justo la mitad: ocho puntuaciones iguales dicen siempre lo mismo."""
    said = {SoftmaxExplorer(logits=[x / 10] * 8).describe().split("pesos")[1] for x in range(1, 99)}
    assert len(said) == 1


def test_what_it_takes():
    explorer = SoftmaxExplorer(logits=torch.tensor([1.0, 2.0]), temperature=1, shift=-3)
    assert (explorer.logits, explorer.temperature, explorer.shift) == ([1.0, 2.0], 1.0, -3.0)
    explorer.logits.append(5.0)
    assert SoftmaxExplorer().logits == [1.0, 2.0, 3.0]
    for n in range(2, 9):
        explorer.logits = range(n)
        assert len(explorer.logits) == n


@pytest.mark.parametrize("logits", [
    [], [1], [0] * 9, [1, 11], [1, "2"], "123", None, 3, [1, math.nan], [1, math.inf], [1, True],
    [[1, 2], [3, 4]], [1, 10**400], torch.zeros(3, 2),
])  # fmt: skip
def test_wrong_scores_are_refused(logits):
    shown = "tensor (3, 2)" if isinstance(logits, torch.Tensor) else f"{logits!r:.80}"
    wanted = "una lista de 2 a 8 números entre −10 y 10. Por ejemplo, [1, 2, 3]."
    refuses(SoftmaxExplorer, "logits", logits, f"(?s){re.escape(f'logits = {shown}')}.*{re.escape(wanted)}")


# --- En un navegador ------------------------------------------------------------------------------


def test_javascript_computes_the_same(lab):
    agrees(lab, "softmax", compute, states(300), abs=1e-12)


@pytest.mark.parametrize(("state", "expected"), [
    ([[1, 2, 3]], ["La mayor, x₃, se lleva un peso de 0.67.", "daría 0.50."]),
    ([[2, 2, 2, 2]], ["Empatan todas: peso 0.25 cada una.", "da lo mismo"]),
    ([[2, 1, 2]], ["Empatan x₁ y x₃: peso 0.42 cada una.", "daría 0.40 a cada una."]),
    ([[1, 2, 3, 10]], ["x₄, se lleva un peso de casi 1."]),
    ([[1, 2, 3], 1, -2], ["El porcentaje no existe: las puntuaciones suman 0."]),
    ([[-1, 0, 3]], ["Los porcentajes no son pesos: hay negativos."]),
    ([[-1, -2, -3]], ["x₁, se lleva un peso de 0.67.", "El porcentaje sale al revés"]),
])  # fmt: skip
def test_its_sentence(lab, state, expected):
    said = in_js(lab, "softmax", "module.sentence(module.compute(...value))", state)
    for part in expected:
        assert part in said


def test_it_answers_to_the_hand_and_to_the_keys(lab, shown):
    explorer, page = shown("SoftmaxExplorer()"), lab.page
    second = explorer.get_by_role("slider", name="Puntuación 2", exact=True)

    def column(number):
        return explorer.locator(f"th ~ td:nth-of-type({number})").all_inner_texts()[:-1]

    def state_is(text):
        return lab.prints("print(explorer.logits, explorer.temperature, explorer.shift)", text)

    assert column(4) == ["0.0900", "0.2447", "0.6652"]

    # El ratón: arrastra x₂ hasta 5. En el dibujo, 20 puntos de puntuación son 190 unidades de 430.
    chart = explorer.locator("svg").first.bounding_box()
    scale = chart["width"] / 430

    def point(x):
        return chart["x"] + scale * 235, chart["y"] + scale * (30 + (10 - x) * 9.5)

    page.mouse.move(*point(2))
    page.mouse.down()
    page.mouse.move(*point(5), steps=5)
    page.mouse.up()
    assert column(1) == ["1.0", "5.0", "3.0"]
    says(page, "x₂")

    # El teclado: x₂ sigue con el foco.
    active = page.evaluate("lesson.content.activeCellIndex")
    for key in ("ArrowDown", "ArrowLeft", "Shift+ArrowDown"):
        page.keyboard.press(key)
    assert column(1) == ["1.0", "3.8", "3.0"]
    assert second.get_attribute("aria-valuetext") == "3.8, peso 0.66"
    page.keyboard.press("End")
    assert column(1)[1] == "10.0"
    page.keyboard.press("ArrowUp")  # no pasa del límite
    assert column(1)[1] == "10.0"
    assert page.evaluate("lesson.content.activeCellIndex") == active
    assert state_is("[1.0, 10.0, 3.0] 1.0 0.0")

    # Los botones, con el teclado: en el límite no hacen nada.
    for _ in range(2):
        explorer.get_by_role("button", name="Quitar la última").press("Enter")
    assert len(column(1)) == 2
    for _ in range(8):
        explorer.get_by_role("button", name="Añadir una").press("Enter")
    assert len(column(1)) == 8
    explorer.get_by_role("button", name="1, 2, 3").click()

    # La constante cambia los porcentajes, hasta que no existen, y no los pesos.
    percentages = column(5)
    explorer.get_by_label("c, sumada a todas").focus()
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    assert column(2) == ["−1.0", "0.0", "1.0"]
    assert column(4) == ["0.0900", "0.2447", "0.6652"]
    assert percentages == ["0.1667", "0.3333", "0.5000"]
    assert column(5) == ["no existe"] * 3
    says(page, "no existe")

    # La temperatura cambia los pesos; y de un extremo al otro no se atasca.
    explorer.get_by_label("temperatura T").focus()
    page.keyboard.press("Home")
    assert column(4) == ["2.1e−9", "4.5e−5", "casi 1"]
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    assert state_is("[1.0, 2.0, 3.0] 10.0 -2.0")
    assert column(4) == ["0.3006", "0.3322", "0.3672"]

    # Y lo que se cambia en Python se ve.
    lab.ask("explorer.logits = [2, 2, 2, 2]")
    says(page, "Empatan todas")
    assert column(4) == ["0.2500"] * 4


def test_a_late_kernel_does_not_undo_what_the_hand_does(lab, shown):
    shown("SoftmaxExplorer()")
    page = lab.page
    busy = "lesson.sessionContext.session.kernel.requestExecute({code: 'import time; time.sleep(1)'})"
    page.evaluate(f"void {busy}")
    first = page.get_by_role("slider", name="Puntuación 1", exact=True)
    first.press("ArrowUp")
    page.wait_for_timeout(300)  # se envía, y el kernel, ocupado, no contesta todavía
    for _ in range(30):  # contesta en mitad de esto
        page.keyboard.press("ArrowUp")
        page.wait_for_timeout(40)
    assert first.get_attribute("aria-valuenow") == "4.1"
    assert lab.prints("print(explorer.logits)", "[4.1, 2.0, 3.0]")
