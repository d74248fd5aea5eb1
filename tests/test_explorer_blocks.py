"""El explorador de bloques: sus cuentas, sus límites y lo que hace en un navegador."""

import math
import random

import pytest
import torch
from helpers_explorers import agrees, says

from course_lib.attention import scaled_dot_product_attention
from course_lib.explorers.blocks import BlocksExplorer, compute
from course_lib.masks import causal_mask


def states(count):
    """Estados al azar, siempre los mismos: un solo token, bloques que no caben justos, enormes."""
    draw = random.Random(0)
    for n in range(count):
        length, size = draw.choice((1, 2, 5, 7, 12, 13)), draw.choice((1, 3, 32))
        generator = torch.Generator().manual_seed(n)
        scores = torch.randn(length, length, generator=generator) * draw.choice((0.0, 1.0, 400.0))
        values = torch.randn(length, size, generator=generator)
        block = draw.randint(1, length + 2)
        state = draw.randrange(length), block, draw.random() < 0.5, draw.randint(0, length)
        yield scores.double().tolist(), values.double().tolist(), *state


@pytest.mark.parametrize("state", list(states(60)))
def test_compute(state):
    """Contra la atención del curso, con las keys que se han visto y con todas."""
    scores, values, query, block, causal, step = state
    result, length = compute(*state), len(scores)
    keys = [range(*pair) for pair in result["keys"]]
    assert query in range(*result["queries"])
    assert all(0 < len(pair) <= block for pair in keys)
    seen = sorted({j for pair in keys for j in pair})
    assert seen == list(range(result["queries"][1] if causal else length))

    def attend(mask):
        query = torch.tensor(scores, dtype=torch.float64) * math.sqrt(length)
        key, value = torch.eye(length).double(), torch.tensor(values, dtype=torch.float64)
        return scaled_dot_product_attention(query, key, value, mask)[0]

    mask = causal_mask(length) if causal else torch.ones(length, length, dtype=torch.bool)
    whole = attend(mask)[query]
    torch.testing.assert_close(torch.tensor(result["whole"]).double(), whole)
    before = torch.zeros(length, dtype=torch.bool)
    before[[j for pair in keys[:step] for j in pair]] = True
    so_far = attend(mask & before)[query]
    torch.testing.assert_close(torch.tensor(result["output"]).double(), so_far)
    assert result["difference"] == pytest.approx((so_far - whole).abs().max().item(), abs=1e-9)
    if step >= len(keys):
        assert result["difference"] < 1e-9


def test_the_running_maximum_and_sum():
    """A mano: puntuaciones 0, ln 2, ln 8 y ln 4, de dos en dos; y los values, 0, 10, 20 y 30."""
    scores = [[0, math.log(2), math.log(8), math.log(4)]] * 4
    result = compute(scores, [[0.0], [10.0], [20.0], [30.0]], 0, 2, False, 2)
    one, two = result["steps"]
    expected = {"m": math.log(2), "factor": 0, "added": 1.5, "total": 1.5}
    assert one == pytest.approx(expected)
    # El máximo se multiplica por 4: lo que había pesa la cuarta parte.
    expected = {"m": math.log(8), "factor": 0.25, "added": 1.5, "total": 1.5 * 0.25 + 1.5}
    assert two == pytest.approx(expected)
    assert result["output"] == pytest.approx([(2 * 10 + 8 * 20 + 4 * 30) / 15])


@pytest.mark.parametrize(("length", "query", "block", "causal", "step", "alive", "done", "count"), [
    (12, 8, 4, False, 1, 4 * 4 + 4 * 2, 7, 9),
    (12, 8, 4, True, 3, 4 * 4 + 4 * 2, 6, 6),
    (12, 8, 5, True, 0, 5 * 2, 1, 6),
    (12, 11, 5, False, 3, 2 * 2 + 2 * 2, 9, 9),  # el último, más pequeño
    (1, 0, 3, True, 1, 1 + 2, 1, 1),
    (7, 6, 7, False, 1, 7 * 7 + 7 * 2, 1, 1),
])  # fmt: skip
def test_what_is_counted(length, query, block, causal, step, alive, done, count):
    result = compute([[0.0] * length] * length, [[1.0]] * length, query, block, causal, step)
    assert [result[name] for name in ("alive", "done", "count")] == [alive, done, count]
    assert result["table"] == length**2


def test_its_text_says_its_state():
    explorer = BlocksExplorer()
    assert repr(explorer) == (
        "Atención por bloques de 4, sin máscara: «it» (posición 8) ha visto 1 de 3 bloques de "
        "keys; m = 2.23 y l = 1.87; de la atención entera se separa 1.19. En memoria, 24 números; "
        "la tabla tiene 144."
    )
    explorer.block, explorer.causal, explorer.step = 5, True, 12
    assert "bloques de 5, causal: «it» (posición 8) ha visto 2 de 2 bloques" in repr(explorer)
    assert "se separa 0.00. En memoria, 35 números" in repr(explorer)
    assert "sin empezar" in BlocksExplorer(step=0).describe()


# --- En un navegador ------------------------------------------------------------------------------


def test_javascript_computes_the_same(lab):
    agrees(lab, "blocks", compute, states(200))


def test_it_answers_to_the_hand_and_to_the_keys(lab, shown):
    explorer, page = shown("BlocksExplorer()"), lab.page

    def marks():
        texts = explorer.locator("svg").first.locator("text").all_text_contents()
        return "".join(texts[13:])  # detrás de «keys» y de los doce tokens

    says(page, "«it», bloque de keys 1 de 3: m = 2.23; l = 1.87. La salida aún no es")
    assert marks() == "✓✓✓✓✓✓▶"
    held, lived = (explorer.locator("table").nth(n) for n in range(2))
    assert held.locator("td").count() == 16
    state = BlocksExplorer()
    row = [f"{x:.2f}".replace("-", "−") for x in state.scores[8][:4]]
    assert held.locator("tr").nth(1).locator("td").all_inner_texts() == row

    # Adelante y atrás, con las flechas y con el botón; ninguno mueve el cuaderno.
    active = page.evaluate("lesson.content.activeCellIndex")
    forward = explorer.get_by_role("button", name="adelante")
    forward.focus()
    page.keyboard.press("ArrowRight")
    says(page, "bloque de keys 2 de 3")
    page.keyboard.press("Enter")
    says(page, "Es el último, y la salida es la de la atención entera: se separan 0.000000.")
    assert marks() == "✓✓✓✓✓✓✓✓▶"
    numbers = compute(state.scores, state.values, 8, 4, False, 3)["steps"][2]
    cells = [f"{numbers[name]:.2f}" for name in ("m", "factor", "added", "total")]
    assert lived.locator("tr").nth(3).locator("td").all_inner_texts() == cells
    assert forward.get_attribute("aria-disabled") == "true"
    page.keyboard.press("ArrowRight")  # no hay más: ni se mueve ni falla
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    says(page, "«because», bloque de keys 3 de 3")  # el bloque de queries de antes
    assert lab.prints("print(explorer.query, explorer.step)", "7 12")
    page.keyboard.press("ArrowRight")
    says(page, "«it», bloque de keys 1 de 3")

    # Con máscara causal, el futuro no se calcula; y otro tamaño y otra fila.
    explorer.get_by_label("máscara causal").check()
    assert marks() == "✓××✓✓×▶"
    explorer.get_by_role("slider", name="bloque").focus()
    page.keyboard.press("ArrowRight")
    says(page, "«it», bloque de keys 1 de 2")
    assert marks() == "✓××▶×"
    explorer.get_by_label("fila").select_option("0")
    says(page, "«[CLS]», bloque de keys 1 de 1")
    assert held.locator("td").all_inner_texts().count("−∞") == 10
    explorer.get_by_role("button", name="atrás").press("Enter")
    says(page, "no ha visto ninguna key")
    assert held.locator("td").count() == 0
    assert page.evaluate("lesson.content.activeCellIndex") == active
    assert lab.prints("print(explorer.query, explorer.block, explorer.causal)", "0 5 True")
    assert explorer.bounding_box()["height"] <= 800
