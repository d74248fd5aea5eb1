"""El explorador de vectores: sus cuentas, sus límites y lo que hace en un navegador."""

import math
import random
import re

import pytest
import traitlets
from helpers_browser import write
from nbformat.v4 import new_code_cell

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
        assert result["best"][i] == [j for j, x in enumerate(row) if x > max(row) - 1e-9]
    if result["angle"] is not None:
        turn = abs(math.degrees(math.atan2(b, a) - math.atan2(d, c))) % 360
        assert result["angle"] == pytest.approx(min(turn, 360 - turn), abs=1e-5)
        assert result["projection"] == pytest.approx(result["cosine"] * math.hypot(c, d), abs=1e-9)


def test_a_null_vector_has_no_angle():
    result = compute([[0.0, 0.0], [1.0, 2.0]])
    assert result["cosine"] is result["angle"] is result["projection"] is None
    assert "sin ángulo" in VectorExplorer(vectors=[[0, 0], [1, 2]]).describe()


def test_a_tie_is_not_a_defeat():
    assert compute([[3.0, 1.0], [1.0, 2.0]])["best"] == [[0], [0, 1]]
    assert compute([[1.0, 0.0], [3.0, 1.0]])["best"] == [[1], [1]]


@pytest.mark.parametrize(
    ("vectors", "cosine", "angle"),
    [
        ([[1.1, 0.3], [3.3, 0.9]], 1, "0°"),
        ([[2, 0], [-3, 0]], -1, "180°"),
        ([[1.1, 0.3], [-0.6, 2.2]], 0, "90°"),
        ([[4, 0.1], [-0.1, 3.9]], None, "90.04°"),
        ([[4, 0], [4, 0.01]], None, "0.1°"),
    ],
)
def test_only_an_exact_angle_reads_as_exact(vectors, cosine, angle):
    assert re.search(r"ángulo (\S+°)[.;]", VectorExplorer(vectors).describe())[1] == angle
    if cosine is not None:
        assert compute([[float(z) for z in vector] for vector in vectors])["cosine"] == cosine


def test_norm_1_is_kept_from_python():
    half = math.sqrt(0.5)
    at_birth = VectorExplorer([[2, 0], [1, 1]], unit=True)
    later = VectorExplorer([[2, 0], [1, 1]])
    later.unit = True
    for explorer in at_birth, later:
        assert explorer.vectors == [pytest.approx([1, 0]), pytest.approx([half, half])]
        explorer.vectors = [[0, 0], [0, -3], [3, 4]]
        assert explorer.vectors == [[1, 0], [0, -1], pytest.approx([0.6, 0.8])]
        with pytest.raises(traitlets.TraitError, match="entre −4 y 4"):
            explorer.vectors = [[1, 2], [5, 0]]
    assert [math.hypot(*vector) for vector in VectorExplorer(unit=True).vectors] == pytest.approx(
        [1, 1]
    )
    # La página los manda de norma 1: Python no los retoca ni, al quitar la casilla, los cambia.
    sent = [[math.cos(0.3), math.sin(0.3)], [math.cos(2), math.sin(2)]]
    later.set_state({"unit": True, "vectors": sent})
    assert later.vectors == sent
    later.set_state({"unit": False, "vectors": [[2, 0], [1, 1]]})
    assert (later.unit, later.vectors) == (False, [[2, 0], [1, 1]])


def test_its_text_says_its_state():
    assert repr(VectorExplorer([[-0.0, 1], [1, -0.001]])) == (
        "Vectores: u = (0.0, 1.0), v = (1.0, 0.0); u·v = 0.00; ángulo 90.1°."
    )
    assert repr(VectorExplorer()) == (
        "Vectores: u = (3.0, 1.0), v = (1.0, 2.0); u·v = 5.00; ángulo 45°."
    )
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

IN_JS = """async ([text, code, value]) => {
    const blob = new Blob([text], {type: 'text/javascript'});
    const module = await import(URL.createObjectURL(blob));
    return new Function('module', 'value', 'return ' + code)(module, value);
}"""


def in_js(lab, code, value):
    """Lo que vale una expresión de JavaScript con el `module` del explorador y un `value`."""
    return lab.page.evaluate(IN_JS, [esm("vectors"), code, value])


@pytest.mark.navegador
def test_javascript_computes_the_same(lab):
    cases = list(states(300))
    for vectors, theirs in zip(cases, in_js(lab, "value.map(module.compute)", cases), strict=True):
        mine = compute(vectors)
        assert theirs.keys() == mine.keys()
        for key in mine:
            if key == "products":
                for row, other in zip(mine[key], theirs[key], strict=True):
                    assert row == pytest.approx(other, abs=1e-12)
            elif key == "best" or mine[key] is None:
                assert theirs[key] == mine[key]
            else:
                assert mine[key] == pytest.approx(theirs[key], abs=1e-5 if key == "angle" else 1e-9)


@pytest.mark.navegador
def test_it_answers_to_the_hand_and_to_the_keys(lab):
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
    assert explorer.get_by_role("row").count() == 7 + 4
    assert lab.prints("print(explorer.unit, len(explorer.vectors))", "True 3")
    assert lab.messages == []
    lab.close()


@pytest.mark.navegador
@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        ([[3, 0], [2, 0]], "0°, misma dirección y sentido: el producto es positivo (6.00)."),
        ([[2, 0], [-3, 0]], "180°, sentidos opuestos: el producto es negativo (−6.00)."),
        ([[1.1, 0.3], [-0.6, 2.2]], "90°, ángulo recto: el producto es 0 (0.00)."),
        ([[4, 0.1], [-0.1, 3.9]], "90.04°, ángulo obtuso: el producto es negativo (−0.01)."),
        ([[1, 0], [-0.001, 1]], "90.1°, ángulo obtuso: el producto es negativo (−0.001)."),
        ([[0, 0], [0, 0]], "Los dos son nulos: no hay ángulo."),
        ([[0, 0], [1, 0]], "u es nulo: no hay ángulo."),
        ([[1, 0], [0, 0], [0, 1]], "v es nulo: no hay ángulo entre u y v."),
        ([[2, 0], [1.5, 2], [1, -1]], "53° entre u y v, ángulo agudo: el producto es positivo (3.00)."),
        ([[2, 0], [0.5, 2], [2, -2]], "En la fila de u empatan u y w."),
        ([[1, 0], [0, 1], [2, 2]], "en la fila de u gana w y en la fila de v gana w."),
        ([[1, 0], [0, 1], [0, 1]], "En la fila de v empatan v y w; en la de w, v y w."),
        ([[1, 0], [2, 0], [2, 2]], "en la fila de u ganan v y w."),
    ],
)  # fmt: skip
def test_what_it_says(lab, vectors, said):
    assert said in in_js(lab, "module.sentence(module.compute(value))", vectors)


@pytest.mark.lenta
@pytest.mark.navegador
def test_a_new_w_falls_on_nobody_and_ties_with_nobody(lab):
    assert in_js(lab, "module.newcomer(value)", [[2, 0], [1, 1]]) == [1.4, -1.4]  # la lección 01
    draw = random.Random(1)
    pairs = [[[0, 0], [1, 1]], [[2, 0], [1, -1]], [[0, 0], [0, 0]], [[4, 4], [4, 0]]]
    pairs += [[[round(draw.uniform(-4, 4), 1) for _ in "xy"] for _ in "uv"] for _ in range(300)]
    for pair, w in zip(pairs, in_js(lab, "value.map(module.newcomer)", pairs), strict=True):
        assert VectorExplorer([*pair, w])
        for index, vector in enumerate(pair):
            norm = math.hypot(*vector)
            if norm >= 0.5:  # más cortos, redondear a décimas los tuerce mucho
                result = compute([[float(z) for z in vector], [float(z) for z in w]])
                assert result["angle"] > 35
            if norm and index == 0:
                assert len(compute([vector, w])["best"][0]) == 1


@pytest.mark.navegador
def test_names_keep_clear_of_each_other(lab):
    draw = random.Random(2)
    cases = [[[70, 70], [70, 70]], [[50, 0], [50, 0], [50, 0]], [[200, 0], [200, 5]], [[0, 0]] * 3]
    for _ in range(300):
        x, y = draw.uniform(-200, 200), draw.uniform(-200, 200)
        near = [[x + draw.uniform(-40, 40), y + draw.uniform(-40, 40)] for _ in "uvw"]
        cases.append([[max(-200, min(200, z)) for z in tip] for tip in near])
    for tips, spots in zip(
        cases, in_js(lab, "value.map(tips => module.labelSpots(tips, 230))", cases), strict=True
    ):
        for i, spot in enumerate(spots):
            assert max(map(abs, spot)) <= 221
            assert all(math.dist(spot, other) > 20 for other in spots[:i])
            assert all(math.dist(spot, tip) > 14 for tip in tips)


@pytest.mark.navegador
def test_an_arrow_turns_towards_its_side(lab):
    sides = [[1, 0], [-1, 0], [0, 1], [0, -1]]
    starts = [[math.cos(k), math.sin(k)] for k in range(60)] + sides
    cases = [[start, side] for start in starts for side in sides]
    for (start, side), end in zip(
        cases, in_js(lab, "value.map(([a, b]) => module.turn(a, b, 0.1))", cases), strict=True
    ):
        before, after = (vector[0] * side[0] + vector[1] * side[1] for vector in (start, end))
        assert math.hypot(*end) == pytest.approx(1)
        assert after > before or end == side


@pytest.mark.lenta
@pytest.mark.navegador
def test_the_keys_and_norm_1_on_the_page(lab):
    fill = [new_code_cell("print('línea\\n' * 80)") for _ in range(2)]
    path = write(
        lab,
        fill[0],
        new_code_cell(
            "from course_lib.explorers import VectorExplorer\n"
            "explorer = VectorExplorer([[2, 0], [1, 1]])\nexplorer"
        ),
        fill[1],
    )
    assert lab.faults(path) == []
    page = lab.page
    explorer = page.locator(".exp")
    handles = explorer.locator(".exp-handle")
    norm = explorer.get_by_label("todos de norma 1")
    third = explorer.get_by_label("un tercer vector, w")

    def row(name):
        return explorer.get_by_role("row", name=name).get_by_role("cell").inner_text()

    def tips():
        return [
            (float(handles.nth(k).get_attribute("cx")), -float(handles.nth(k).get_attribute("cy")))
            for k in range(3 if third.is_checked() else 2)
        ]

    # Con el foco en una punta, las teclas que mueven la página no la mueven ni cambian nada.
    handles.nth(1).focus()
    explorer.scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    top, start = explorer.bounding_box()["y"], tips()
    for key in ("Space", "Shift+Space", "Home", "End", "PageUp", "PageDown", "Enter"):
        page.keyboard.press(key)
        page.wait_for_timeout(150)
        assert explorer.bounding_box()["y"] == pytest.approx(top, abs=1), key
        assert tips() == start
        assert handles.nth(1).evaluate("node => node === document.activeElement")

    # La norma de w se lee solo cuando hay w, y la frase dice de qué ángulo habla.
    assert explorer.get_by_role("row", name="‖w‖").count() == 0
    third.check()
    assert row("‖w‖") == "1.98"
    page.wait_for_function("document.querySelector('.exp-say').textContent.includes('entre u y v')")

    # El camino de la lección: con norma 1, w no tapa a nadie; sin ella, cada uno vuelve a ser él.
    free = tips()
    norm.check()
    assert [row(f"‖{name}‖") for name in "uvw"] == ["1.00"] * 3
    assert min(math.dist(tips()[i], tips()[j]) for i, j in ((0, 1), (0, 2), (1, 2))) > 30
    assert "gira" in handles.nth(1).get_attribute("aria-label")
    norm.uncheck()
    assert tips() == free
    assert lab.prints(
        "print(explorer.unit, explorer.vectors)", "False [[2.0, 0.0], [1.0, 1.0], [1.4, -1.4]]"
    )

    # Uno que se ha girado conserva el giro, y lo que medía; los demás, todo.
    norm.check()
    handles.nth(0).focus()
    for _ in range(9):
        page.keyboard.press("Shift+ArrowUp")
    norm.uncheck()
    assert tips() == [pytest.approx((0, 100)), free[1], free[2]]

    # Desde (−1, 0), la flecha de subir sube.
    lab.ask("explorer.vectors = [[-3, 0], [1, 1]]; explorer.unit = True")
    page.wait_for_function("document.querySelector('.exp-handle').getAttribute('cx') < 0")
    assert norm.is_checked()
    assert tips()[0] == pytest.approx((-50, 0))
    handles.nth(0).focus()
    page.keyboard.press("ArrowUp")
    assert tips()[0][1] > 0

    # Python la ha puesto y la página la quita: cada uno vuelve a medir lo suyo.
    norm.uncheck()
    assert row("‖u‖") == "3.00"
    assert lab.prints("print(explorer.vectors[1])", "[1.0, 1.0]")
    assert lab.messages == []
    lab.close()
