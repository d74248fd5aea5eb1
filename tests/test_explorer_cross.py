"""El explorador de atención cruzada: sus cuentas, sus límites y lo que hace en un navegador."""

import pytest
import torch
import traitlets
from nbformat.v4 import new_code_cell
from test_browser import lab, write  # noqa: F401

from course_lib.explorers.base import esm
from course_lib.explorers.cross import CrossAttentionExplorer, compute

ORIGIN, SEEN, PREDICTED = list("abcde"), ["<inicio>", "x", "y"], ["x", "y", "<fin>"]


def random_weights(heads=2, target=3, origin=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.softmax(2 * torch.randn(heads, target, origin, generator=generator), dim=-1)


def explorer(weights=None, **state):
    weights = random_weights() if weights is None else weights
    return CrossAttentionExplorer(ORIGIN, SEEN, PREDICTED, weights, **state)


@pytest.mark.parametrize("head", [-1, 0, 1])
@pytest.mark.parametrize("step", [0, 1, 2])
def test_compute(head, step):
    weights = random_weights()
    rows = weights[:, step] if head < 0 else weights[head : head + 1, step]
    expected = [sum(row[j].item() for row in rows) / len(rows) for j in range(5)]
    result = compute(weights, head, step)
    assert result["row"] == pytest.approx(expected)
    assert expected[result["best"]] == max(expected)
    assert result["even"] == 1 / 5


def test_a_batch_of_one_sentence_is_accepted():
    assert explorer(random_weights()[None]).describe() == explorer().describe()


def test_its_text_says_its_state():
    weights = torch.tensor([[[0.7, 0.3]], [[0.1, 0.9]]])
    built = CrossAttentionExplorer(["dog", "bone"], ["<inicio>"], ["perro"], weights, note="Ojo.")
    assert repr(built) == (
        "Atención cruzada, paso 1 de 1, media de las cabezas: para predecir «perro» mira sobre "
        "todo a «bone» (0.60; a partes iguales, 0.50). Ojo."
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (torch.ones(2, 3, 4) / 4, r"forma \(2, 3, 4\)"),
        (torch.ones(2, 2, 3, 5) / 5, r"forma \(2, 2, 3, 5\)"),
        (torch.ones(3, 5) / 5, r"forma \(3, 5\)"),
        (torch.randn(2, 3, 5), "sumar 1"),
        (torch.zeros(2, 3, 5), "sumar 1"),
        (torch.full((2, 3, 5), torch.nan), "sumar 1"),
        (torch.ones(0, 3, 5), "sumar 1"),
        (torch.ones(1000, 3, 5) / 5, "como mucho"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(traitlets.TraitError, match=message):
        explorer(weights)


@pytest.mark.parametrize(("name", "value"), [("step", -1), ("step", 3), ("head", -2), ("head", 2)])
def test_wrong_values_are_refused(name, value):
    built = explorer()
    with pytest.raises(traitlets.TraitError, match=f"{name} = {value}"):
        setattr(built, name, value)


# --- En un navegador ------------------------------------------------------------------------------

COMPUTE_IN_JS = """async ([text, weights, states]) => {
    const blob = new Blob([text], {type: 'text/javascript'});
    const module = await import(URL.createObjectURL(blob));
    return states.map(state => module.compute(weights, ...state));
}"""


@pytest.mark.navegador
def test_javascript_computes_the_same(lab):  # noqa: F811
    weights = random_weights(7, 11, 9).double().tolist()
    states = [[head, step] for head in range(-1, 7) for step in range(11)]
    theirs = lab.page.evaluate(COMPUTE_IN_JS, [esm("cross"), weights, states])
    for state, result in zip(states, theirs, strict=True):
        mine = compute(weights, *state)
        assert result["row"] == pytest.approx(mine["row"], abs=1e-12)
        assert (result["best"], result["even"]) == (mine["best"], mine["even"])


@pytest.mark.navegador
def test_it_answers_to_the_hand_and_to_the_keys(lab):  # noqa: F811
    path = write(
        lab,
        new_code_cell(
            "from course_lib.explorers import CrossAttentionExplorer\n"
            "weights = [[[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]], [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]]\n"
            "CrossAttentionExplorer(['<img src=x onerror=alert(1)>', 'dog', '🦴'], ['<inicio>', 'el'],\n"
            "                       ['el', 'perro'], weights, head=0)"
        ),
    )
    assert lab.faults(path) == []
    page, box = lab.page, lab.page.locator(".exp")

    def says(text):
        page.wait_for_function(
            "text => document.querySelector('.exp-say').textContent.includes(text)", arg=text
        )

    says("Paso 1: para predecir «el» mira sobre todo a «<img src=x onerror=alert(1)>» (0.70")
    assert box.locator("img").count() == 0
    box.get_by_role("button", name="siguiente →").click()
    says("Paso 2: para predecir «perro» mira sobre todo a «dog» (0.80")
    assert box.get_by_role("button", name="siguiente →").is_disabled()
    box.get_by_role("slider", name="paso").focus()
    page.keyboard.press("ArrowLeft")
    says("Paso 1")
    box.get_by_role("combobox", name="pesos de").select_option("cabeza 1")
    says("a «🦴» (0.70")
    box.get_by_role("combobox", name="pesos de").select_option("media")
    says("(0.40")
    assert lab.messages == []
    lab.close()
