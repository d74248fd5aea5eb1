"""El explorador de Q, K y V: sus cuentas, sus límites y lo que hace en un navegador."""

import math
import random

import pytest
import torch
from helpers_explorers import agrees, ask, in_js, says

from course_lib.bert import extract_embeddings, load_bert
from course_lib.explorers.qkv import DEFAULT, QKVExplorer, compute, pack, unpack


def states(count):
    """Queries y keys al azar, siempre las mismas, y los empates: ``(q, keys)``."""
    draw = random.Random(0)
    for n in range(count):
        length, size = draw.randint(1, 24), draw.choice((1, 2, 32))
        generator = torch.Generator().manual_seed(n)
        keys = torch.randn(length, size, generator=generator).round(decimals=2)
        q = torch.randn(size, generator=generator) * draw.choice((0.0, 1.0, 5.0))
        yield q.double().tolist(), keys.double().tolist()


@pytest.mark.parametrize("state", list(states(40)))
def test_compute(state):
    q, keys = state
    result = compute(q, keys)
    for key, parts, product, score in zip(
        keys, result["parts"], result["products"], result["scores"], strict=True
    ):
        assert parts == pytest.approx([a * b for a, b in zip(q, key)])
        assert product == pytest.approx(math.fsum(parts), abs=1e-9)
        assert score == pytest.approx(product / math.sqrt(len(q)), abs=1e-9)
    ordered = [result["products"][j] for j in result["top"]]
    assert ordered == sorted(ordered, reverse=True)
    assert sorted(result["top"]) == list(range(len(keys)))


@pytest.mark.parametrize("layer", [0, 3, 5])
def test_its_numbers_are_those_of_bert(layer):
    """Contra las capas lineales de transformers; y de las puntuaciones salen los pesos de BERT."""
    tokens = extract_embeddings(DEFAULT)
    data = pack(DEFAULT, layer)
    model = load_bert().model
    theirs = model.encoder.layer[layer].attention.self
    X = tokens.hidden_states[layer][0]
    for name, linear in zip("qkv", (theirs.query, theirs.key, theirs.value)):
        with torch.no_grad():
            expected = linear(X).reshape(12, 12, 32).transpose(0, 1).double()
        torch.testing.assert_close(unpack(data[name]), expected, atol=2e-3, rtol=0)
    for head in (0, 1, 2, 11):
        q, k = (unpack(data[name])[head] for name in "qk")
        scores = torch.tensor([compute(row, k)["scores"] for row in q])
        weights = tokens.attentions[layer][0, head].double()
        torch.testing.assert_close(scores.softmax(dim=-1).double(), weights, atol=2e-3, rtol=0)


def test_its_text_says_its_state():
    explorer = QKVExplorer()
    assert repr(explorer) == (
        "Q, K y V de «I gave the dog a bone because it was hungry»; capa 0, cabeza 2; «bone» "
        "(posición 6) puntúa más a «a» (posición 5): q · k = 136, y entre √32, 24."
    )
    explorer.layer, explorer.head, explorer.query = 3, 1, 8
    assert "capa 3, cabeza 1; «it» (posición 8) puntúa más a «dog»" in repr(explorer)
    assert explorer.data["layer"] == 3
    ask(explorer, sentence="The dog slept", layer=2)
    assert explorer.data["tokens"] == ["[CLS]", "the", "dog", "slept", "[SEP]"]
    assert explorer.data["layer"] == explorer.layer == 2
    assert explorer.query == 4  # la 8 ya no existe


# --- En un navegador ------------------------------------------------------------------------------


def test_javascript_computes_the_same(lab):
    agrees(lab, "qkv", compute, states(120))
    packed = pack("The dog slept", 1)["k"]
    theirs = torch.tensor(in_js(lab, "qkv", "module.unpack(value)", packed), dtype=torch.float64)
    torch.testing.assert_close(theirs, unpack(packed))


def test_it_answers_to_the_hand_and_to_the_keys(lab, shown):
    explorer, page = shown("QKVExplorer()"), lab.page

    def row(name):
        return explorer.get_by_role("row", name=name).locator("td").all_inner_texts()

    says(page, "Capa 0, cabeza 2: «bone (6)» puntúa más a «a (5)»")
    Q, K = (unpack(pack(DEFAULT, 0)[name])[2] for name in "qk")
    result = compute(Q[6], K)
    for j, name in ((4, "dog (4)"), (5, "▶ a (5)")):
        numbers = [result["products"][j], result["scores"][j]]
        assert row(name)[2:4] == [f"{x:.1f}".replace("-", "−") for x in numbers]
    assert explorer.locator("svg[role=img]").count() == 1 + 3 * 12
    bars = explorer.locator("svg[role=img]").first
    paths = bars.locator("path").evaluate_all("nodes => nodes.map(node => node.getAttribute('d'))")
    assert [path.count("M") for path in paths] == [(Q[6] > 0).sum(), (Q[6] < 0).sum()]
    bars.hover(position={"x": 82, "y": 13})  # cinco píxeles por barra: la 16
    assert bars.locator("title").text_content() == f"16: {Q[6][16]:.2f}".replace("-", "−")

    # Otra cabeza y otro token, con las flechas; ninguna pide nada al kernel.
    active = page.evaluate("lesson.content.activeCellIndex")
    explorer.get_by_label("Cabeza").focus()
    page.keyboard.press("ArrowDown")
    says(page, "cabeza 3")
    explorer.get_by_label("Pregunta").focus()
    page.keyboard.press("ArrowDown")
    says(page, "«because (7)»")
    assert page.evaluate("lesson.content.activeCellIndex") == active
    assert lab.prints("print(explorer.head, explorer.query)", "3 7")

    # Otra capa y otra frase, por el kernel; lo escrito es texto, y lo que no sirve se dice.
    explorer.get_by_label("Capa").select_option("3")
    says(page, "Capa 3, cabeza 3")
    box = explorer.get_by_label("Frase", exact=True)
    box.fill("The <b>cat</b> slept")
    box.press("Enter")
    explorer.get_by_role("row", name="slept").wait_for()
    assert explorer.locator("td b, th b").count() == 0
    assert explorer.get_by_label("Capa").input_value() == "3"
    box.fill("")
    explorer.get_by_role("button", name="Calcular").press("Enter")
    explorer.get_by_role("alert").wait_for()
    assert "vacía" in explorer.get_by_role("alert").inner_text()
    assert explorer.get_by_role("row", name="slept").count() == 1
    assert explorer.bounding_box()["height"] <= 800
