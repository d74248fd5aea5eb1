"""El explorador de vectores: sus cuentas, sus límites y lo que hace en un navegador."""

import math
import random

import pytest
import traitlets
from nbformat.v4 import new_code_cell
from test_browser import lab, write  # noqa: F401

from course_lib.explorers.base import esm
from course_lib.explorers.vectors import LIMIT, VectorExplorer, compute


def states(count):
    """Estados al azar, siempre los mismos, y los que suelen dar problemas."""
    draw = random.Random(0)
    yield [[0.0, 0.0], [1.0, 2.0]]
    yield [[3.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    yield [[2.0, 2.0], [2.0, 2.0]]
    yield [[2.0, 0.0], [-3.0, 0.0]]
    yield [[3.0, 1.0], [1.0, 2.0]]  # empate en la fila de v
    for _ in range(count):
        yield [[draw.uniform(-LIMIT, LIMIT) for _ in "xy"] for _ in range(draw.choice((2, 3)))]


@pytest.mark.parametrize("vectors", list(states(30)))
def test_compute(vectors):
    result = compute(vectors)
    (a, b), (c, d) = vectors[:2]
    assert result["dot"] == pytest.approx(a * c + b * d)
    assert result["norms"] == pytest.approx([math.hypot(*vector) for vector in vectors])
    for i, u in enumerate(vectors):
        row = [u[0] * v[0] + u[1] * v[1] for v in vectors]
        assert result["products"][i] == pytest.approx(row)
        assert row[result["winners"][i]] == pytest.approx(max(row))
    if result["angle"] is not None:
        turn = abs(math.degrees(math.atan2(b, a) - math.atan2(d, c))) % 360
        assert result["angle"] == pytest.approx(min(turn, 360 - turn), abs=1e-5)
        assert result["projection"] == pytest.approx(result["cosine"] * math.hypot(c, d), abs=1e-9)


def test_a_null_vector_has_no_angle():
    result = compute([[0.0, 0.0], [1.0, 2.0]])
    assert result["cosine"] is result["angle"] is result["projection"] is None
    assert "sin ángulo" in VectorExplorer(vectors=[[0, 0], [1, 2]]).describe()


def test_a_tie_is_not_a_defeat():
    assert compute([[3.0, 1.0], [1.0, 2.0]])["winners"] == [0, 1]
    assert compute([[1.0, 0.0], [3.0, 1.0]])["winners"] == [1, 1]


def test_its_text_says_its_state():
    assert repr(VectorExplorer(vectors=[[1, 0], [3, 1]])) == (
        "Vectores: u = (1.0, 0.0), v = (3.0, 1.0); u·v = 3.00; ángulo 18°; en la fila de u gana v."
    )


@pytest.mark.parametrize(
    "vectors",
    [[], [[1, 2]], [[1, 2]] * 4, [[1, 2], [3]], [[1, 2], [5, 0]], [[1, 2], ["a", 0]], ["ab", "cd"],
     [[1, 2], [math.nan, 0]], [[1, 2], [math.inf, 0]]],
)  # fmt: skip
def test_wrong_vectors_are_refused(vectors):
    explorer = VectorExplorer()
    with pytest.raises(traitlets.TraitError, match="dos o tres pares de números entre −4 y 4"):
        explorer.vectors = vectors
    assert explorer.vectors == [[3.0, 1.0], [1.0, 2.0]]


# --- En un navegador ------------------------------------------------------------------------------

COMPUTE_IN_JS = """async ([text, states]) => {
    const blob = new Blob([text], {type: 'text/javascript'});
    const module = await import(URL.createObjectURL(blob));
    return states.map(state => module.compute(state));
}"""


@pytest.mark.navegador
def test_javascript_computes_the_same(lab):  # noqa: F811
    cases = list(states(300))
    for vectors, theirs in zip(
        cases, lab.page.evaluate(COMPUTE_IN_JS, [esm("vectors"), cases]), strict=True
    ):
        mine = compute(vectors)
        assert theirs.keys() == mine.keys()
        for key in mine:
            if key == "products":
                for row, other in zip(mine[key], theirs[key], strict=True):
                    assert row == pytest.approx(other, abs=1e-12)
            elif mine[key] is None:
                assert theirs[key] is None
            else:
                assert mine[key] == pytest.approx(theirs[key], abs=1e-5 if key == "angle" else 1e-9)


@pytest.mark.navegador
def test_it_answers_to_the_hand_and_to_the_keys(lab):  # noqa: F811
    path = write(
        lab,
        new_code_cell(
            "from course_lib.explorers import VectorExplorer\n"
            "explorer = VectorExplorer(vectors=[[2, 0], [1, 1]])\nexplorer"
        ),
    )
    assert lab.faults(path) == []
    page = lab.page
    explorer = page.locator(".exp")
    said = explorer.get_by_role("status")
    value = explorer.get_by_role("row", name="u · v").get_by_role("cell")

    # El ratón: arrastra v hasta (0, 2), en ángulo recto con u.
    plane = explorer.locator("svg").bounding_box()
    unit = plane["width"] / 9.2
    middle = plane["x"] + plane["width"] / 2, plane["y"] + plane["height"] / 2
    page.mouse.move(middle[0] + unit, middle[1] - unit)
    page.mouse.down()
    page.mouse.move(middle[0], middle[1] - 2 * unit, steps=5)
    page.mouse.up()
    assert value.inner_text() == "0.00"
    page.wait_for_function("document.querySelector('.exp-say').textContent.includes('recto')")

    # El teclado: v sigue con el foco; diez pasos a la izquierda y el ángulo es obtuso.
    active = page.evaluate("lesson.content.activeCellIndex")
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    assert value.inner_text() == "−2.00"
    page.wait_for_function("document.querySelector('.exp-say').textContent.includes('obtuso')")
    assert page.evaluate("lesson.content.activeCellIndex") == active
    assert "117°" in said.inner_text()

    # Las casillas, y el estado que llega a Python.
    explorer.get_by_label("todos de norma 1").check()
    assert explorer.get_by_role("row", name="‖v‖").get_by_role("cell").inner_text() == "1.00"
    explorer.get_by_label("un tercer vector, w").check()
    assert explorer.get_by_role("row").count() == 6 + 4
    page.wait_for_timeout(400)
    state = page.evaluate(
        """async () => {
            const kernel = lesson.sessionContext.session.kernel;
            const future = kernel.requestExecute({code: 'print(explorer.unit, len(explorer.vectors))'});
            let text = '';
            future.onIOPub = message => { text += message.content.text ?? ''; };
            await future.done;
            return text;
        }"""
    )
    assert state.split() == ["True", "3"]
    assert lab.messages == []
    lab.close()
