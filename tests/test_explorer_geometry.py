"""El explorador de la geometría: sus cuentas, sus retos y lo que hace en un navegador."""

import itertools
import math
import random

import pytest
from helpers_explorers import in_js, near, refuses, says

from course_lib.explorers.geometry import EXAMPLE, LIMITS, PARTS, GeometryExplorer, compute

STARTING = EXAMPLE | {"asks": 1, "scaled": True, "start": EXAMPLE}
Q, K, V = EXAMPLE.values()

# De cada parte y cada reto, lo que lo cumple y lo que casi.
SOLVED = [
    ("producto", 0, {"K": [*K[:2], [1, 1]]}, {"K": [*K[:2], [1, 0.9]]}),
    ("producto", 0, {"K": [*K[:2], [-0.5, -0.5]]}, {"K": [*K[:2], [0, 0]]}),
    ("producto", 0, {"K": [*K[:2], [1, 1]]}, {"K": [[-1, 0.1], K[1], [1, 1]]}),
    ("producto", 1, {"K": [[0.5, -0.5], K[1], [3, 0]]}, {"K": [[0.5, -0.5], K[1], [1, 0]]}),
    ("pesos", 0, {"K": [*K[:2], [-1, 0]]}, {"K": [*K[:2], [-1, 0.1]]}),
    ("pesos", 0, {"K": [*K[:2], [1, 2]]}, {"K": [*K[:2], [1, 2]], "Q": [Q[0], [1, -1.1], Q[2]]}),
    ("pesos", 1, {"Q": [Q[0], [0, 1], Q[2]]}, {"Q": [Q[0], [0, 0.4], Q[2]]}),
    ("softmax", 0, {"Q": [Q[0], [2.3, -2.3], Q[2]]}, {"Q": [Q[0], [2.2, -2.2], Q[2]]}),
    ("softmax", 0, {"Q": [Q[0], [2.3, -2.3], Q[2]]}, {"Q": [Q[0], [2.4, -2.3], Q[2]]}),
    ("softmax", 1, {"Q": [Q[0], [0.7, -0.7], Q[2]], "scaled": False}, {"scaled": False}),
    ("softmax", 1, {"Q": [Q[0], [0.7, -0.7], Q[2]], "scaled": False}, {}),
    ("salida", 0, {"Q": [Q[0], [0, 3], Q[2]]}, {"Q": [Q[0], [0, 1], Q[2]]}),
    ("salida", 0, {"Q": [Q[0], [0, 3], Q[2]]}, {"V": [V[0], [0.8, 0.1], V[2]]}),
    ("salida", 1, {"Q": [Q[0], [0, 0], Q[2]]}, {"Q": [Q[0], [0.1, 0], Q[2]]}),
    ("salida", 1, {"K": [[1, 1]] * 3}, {"K": [[1, 1]] * 3, "asks": 0}),
]  # fmt: skip


def states(count):
    """Estados al azar, siempre los mismos, y los que suelen dar problemas."""
    draw = random.Random(0)

    def some(name):
        return [[round(draw.uniform(*LIMITS[name]), draw.choice((1, 9))) for _ in "xy"] for _ in K]

    for part in PARTS:
        yield STARTING | {"part": part}
        yield STARTING | {"part": part, "K": [[0.0, 0.0]] * 3}
        yield STARTING | {"part": part, "Q": [[0.0, 0.0]] * 3, "scaled": False}
        yield STARTING | {"part": part, "K": [[1.0, -1.0], [-2.0, 2.0], [0.3, 0.3]]}
    for part, _, *changes in SOLVED:
        yield from (STARTING | {"part": part} | change for change in changes)
    for part, _ in itertools.product(PARTS, range(count)):
        more = {"asks": draw.choice((0, 1, 2)), "scaled": draw.choice((True, False))}
        yield STARTING | {"part": part} | {name: some(name) for name in "QKV"} | more


@pytest.mark.parametrize("state", list(states(5)))
def test_compute(state):
    result = compute(**state)
    q, divisor = state["Q"][state["asks"]], math.sqrt(2) if state["scaled"] else 1
    products = [q[0] * a + q[1] * b for a, b in state["K"]]
    powers = [math.exp(x / divisor) for x in products]
    weights = [x / sum(powers) for x in powers]
    assert result["products"] == pytest.approx(products)
    assert result["scores"] == pytest.approx([x / divisor for x in products])
    assert result["weights"] == pytest.approx(weights)
    assert result["norms"] == pytest.approx([math.hypot(*k) for k in state["K"]])
    output = [sum(p * v[axis] for p, v in zip(weights, state["V"])) for axis in (0, 1)]
    assert result["output"] == pytest.approx(output)
    for k, angle in zip(state["K"], result["angles"]):
        if not math.hypot(*k) * math.hypot(*q):
            assert angle is None
        else:
            turn = abs(math.degrees(math.atan2(*k) - math.atan2(*q))) % 360
            assert angle == pytest.approx(min(turn, 360 - turn), abs=1e-5)


@pytest.mark.parametrize(("part", "goal", "right", "almost"), SOLVED)
def test_each_goal_is_reached_and_almost_is_not_enough(part, goal, right, almost):
    assert compute(**STARTING | {"part": part})["goals"] == [False, False]
    assert compute(**STARTING | {"part": part} | right)["goals"][goal]
    assert not compute(**STARTING | {"part": part} | almost)["goals"][goal]
    explorer = GeometryExplorer(part)
    for name, value in right.items():
        setattr(explorer, name, value)
    assert f"cumple el reto {goal + 1}" in explorer.describe()


def test_its_text_says_its_state():
    assert repr(GeometryExplorer()) == (
        "Pregunta «hungry», q = (1.0, -1.0); k: the (-1.0, 0.0), hungry (0.0, 2.0), "
        "dog (1.0, 0.0); q·k: -1.00, -2.00, 1.00; pesos: 0.18, 0.09, 0.73; salida (0.73, 0.09)."
    )
    assert "ángulos 135°, 135°, 45°; q·k: -1.00" in repr(GeometryExplorer("producto"))
    assert "ángulos —, —, 90°; " in repr(GeometryExplorer("producto", K=[[0, 0], [0, 0], [1, 1]]))
    assert "pesos sin dividir: 0.11, 0.04, 0.84." in repr(GeometryExplorer("softmax", scaled=False))


@pytest.mark.parametrize(("name", "value", "said"), [
    ("K", [[1, 2]], "tres pares de números entre −3 y 3"),
    ("Q", [[1, 2], [1, 2], [1, 4]], "tres pares de números entre −3 y 3"),
    ("V", [[1, 2], [1, 2], [1, -2]], "tres pares de números entre −1 y 2"),
    ("K", [[1, 2], [1, 2], [1, math.nan]], "tres pares"),
    ("K", [[1, 2], [1, 2], [1, "a"]], "tres pares"),
    ("K", 7, "tres pares"),
])  # fmt: skip
def test_what_is_wrong_is_refused(name, value, said):
    refuses(GeometryExplorer, name, value, said)


def test_moving_one_leaves_the_example_alone():
    explorer = GeometryExplorer(K=[[1, 0], [0, 1], [1, 1]])
    explorer.K[0][0] = 5
    assert explorer.start["Q"] == EXAMPLE["Q"]
    assert GeometryExplorer().K == EXAMPLE["K"] == [[-1, 0], [0, 2], [1, 0]]


# --- En un navegador ------------------------------------------------------------------------------


def test_javascript_computes_the_same(lab):
    cases = list(states(100))
    found = in_js(lab, "geometry", "value.map(module.compute)", cases)
    for state, theirs in zip(cases, found, strict=True):
        mine = compute(**state)
        assert theirs == near(mine) | {"angles": near(mine["angles"], abs=1e-5)}, state


@pytest.mark.parametrize(("part", "change", "said"), [
    ("producto", {}, "«hungry» y la key de «dog»: 45°, ángulo agudo; producto 1.00."),
    ("producto", {"K": [*K[:2], [1, 1]]}, "90°, ángulo recto; producto 0.00. Reto 1, conseguido."),
    ("producto", {"K": [*K[:2], [0, 0]]}, "sin ángulo, porque una de las dos es nula."),
    ("producto", {"K": [*K[:2], [2, -2]]}, "0°, misma dirección y sentido; producto 4.00."),
    ("producto", {"K": [*K[:2], [2.9, 3]]}, "91°, ángulo obtuso; producto −0.10."),
    ("pesos", {}, "«hungry» mira sobre todo a «dog»: 0.73."),
    ("pesos", {"K": [*K[:2], [0, 1]]}, "mira sobre todo a «the» y «dog»: 0.40. Reto 1, conseguido."),
    ("pesos", {"asks": 2}, "«dog» mira sobre todo a «hungry»: 0.62."),
    ("salida", {}, "mira sobre todo a «dog»: 0.73. Su salida es (0.73, 0.09)."),
    ("salida", {"K": [[1, 1]] * 3}, "«hungry» mira a las tres por igual. Su salida es (0.33, 0.33)."),
])  # fmt: skip
def test_what_it_says(lab, part, change, said):
    state = STARTING | {"part": part, "words": ["the", "hungry", "dog"]} | change
    assert said in in_js(lab, "geometry", "module.sentence(value, module.compute(value), 2)", state)


def test_names_keep_clear_of_each_other(lab):
    draw = random.Random(2)
    cases = [[[50, 0]] * 4, [[0, 0]] * 4, [[170, 0], [170, 5], [-170, 0], [0, 170]]]
    for _ in range(300):
        x, y = draw.uniform(-150, 150), draw.uniform(-150, 150)
        near = [[x + draw.uniform(-40, 40), y + draw.uniform(-40, 40)] for _ in range(4)]
        cases.append([[max(-150, min(150, z)) for z in tip] for tip in near])
    found = in_js(lab, "geometry", "value.map(tips => module.labelSpots(tips, [0, 0]))", cases)
    for tips, spots in zip(cases, found, strict=True):
        for i, (x, y) in enumerate(spots):
            assert abs(x) <= 136
            assert abs(y) <= 160
            assert all(math.hypot((x - a) / 2.4, y - b) > 12 for a, b in spots[:i]), tips


def drag(lab, plane, start, *route, limits=LIMITS["K"]):
    """Arrastra con el ratón de un punto de un plano a otros."""
    box = plane.bounding_box()
    low, high = limits
    unit, middle = box["width"] / (high - low + 0.8), (low + high) / 2
    centre = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    places = [(centre[0] + unit * (x - middle), centre[1] - unit * (y - middle))
              for x, y in (start, *route)]  # fmt: skip
    lab.page.mouse.move(*places[0])
    lab.page.mouse.down()
    for place in places[1:]:
        lab.page.mouse.move(*place, steps=4)
    lab.page.mouse.up()


def test_it_answers_to_the_hand_and_to_the_keys(lab, shown):
    explorer = shown("GeometryExplorer('producto')")
    page, questions = lab.page, explorer.locator("ol")
    product = explorer.get_by_role("row", name="dog").get_by_role("cell").last
    place = "(css) => document.querySelector('.exp ' + css).getBoundingClientRect().top"
    assert page.evaluate(place, "ol") < page.evaluate(place, "ol + p")  # las instrucciones, encima
    assert page.evaluate(place, "ol + p") < page.evaluate(place, "svg")

    # El ratón: la key de «dog», de (1, 0) a (1, 1), en ángulo recto con la query.
    assert product.inner_text() == "1.00"
    assert "✓" not in questions.inner_text()
    drag(lab, explorer.locator("svg").first, (1, 0), (2, 1), (1, 1))
    assert product.inner_text() == "0.00"
    assert questions.inner_text().count("✓") == 1
    assert "Un producto 0 es un ángulo recto" in questions.inner_text()
    says(page, "recto")

    # El teclado: sigue con el foco; diez pasos a la izquierda y el ángulo es obtuso. Lo conseguido, queda.
    active = page.evaluate("lesson.content.activeCellIndex")
    for _ in range(10):
        page.keyboard.press("ArrowLeft")
    assert product.inner_text() == "−1.00"
    says(page, "obtuso")
    assert page.evaluate("lesson.content.activeCellIndex") == active
    assert questions.inner_text().count("✓") == 1
    assert lab.prints("print(explorer.K[2])", "[0.0, 1.0]")
    page.keyboard.press("Shift+ArrowUp")
    assert lab.prints("print(explorer.K[2])", "[0.0, 1.5]")

    # De Python a la página, otra que pregunta, y como al principio.
    lab.ask("explorer.K = [[-1, 0], [0, 2], [2, -2]]")
    says(page, "misma dirección")
    explorer.get_by_role("button", name="the", exact=True).click()
    assert "q the" in explorer.locator("svg").first.text_content()
    explorer.get_by_role("button", name="Como al principio").click()
    assert product.inner_text() == "1.00"
    assert lab.prints("print(explorer.asks, explorer.K[2])", "1 [1.0, 0.0]")


def test_everything_moves_together(lab, shown):
    """Con la query mueve los pesos y la salida; con un value, solo la salida."""
    explorer = shown("GeometryExplorer('salida')")
    total = explorer.get_by_role("row", name="suma").get_by_role("cell").last
    weights = lambda: [  # noqa: E731
        explorer.get_by_role("row", name=word).first.get_by_role("cell").nth(1).inner_text()
        for word in ("the", "hungry", "dog")
    ]
    assert (weights(), total.inner_text()) == (["0.18", "0.09", "0.73"], "(0.73, 0.09)")
    planes = explorer.locator("svg")
    drag(lab, planes.nth(1), (1, 0), (1, 2), limits=LIMITS["V"])
    assert (weights(), total.inner_text()) == (["0.18", "0.09", "0.73"], "(0.73, 1.56)")
    explorer.get_by_role("button", name="Como al principio").click()
    drag(lab, planes.first, (1, -1), (0, 0), (0, 3))
    assert (weights(), total.inner_text()) == (["0.01", "0.97", "0.01"], "(0.01, 0.97)")
    assert "✓ Del triángulo no sale" in explorer.locator("ol").inner_text()


@pytest.mark.lenta
def test_the_keys_that_move_the_page_do_not_move_it(lab, shown):
    explorer = shown("GeometryExplorer('softmax')")
    page, handles = lab.page, explorer.locator(".exp-handle")
    assert handles.count() == 4
    handles.last.focus()  # la query
    page.wait_for_timeout(300)
    top, start = explorer.bounding_box()["y"], handles.last.get_attribute("aria-label")
    assert start == "query de «hungry»: 1.0, −1.0. Flechas para mover"
    for key in ("Space", "Shift+Space", "Home", "End", "PageUp", "PageDown", "Enter"):
        page.keyboard.press(key)
        page.wait_for_timeout(150)
        assert explorer.bounding_box()["y"] == pytest.approx(top, abs=1), key
        assert handles.last.get_attribute("aria-label") == start
        assert handles.last.evaluate("node => node === document.activeElement")

    # El reto de la escala, entero con el teclado.
    explorer.get_by_label("÷ √2").uncheck()
    handles.last.focus()
    for key in ["ArrowLeft", "ArrowUp"] * 3:
        page.keyboard.press(key)
    assert "acortar √2 veces la query" in explorer.locator("ol").inner_text()
    assert lab.prints("print(explorer.scaled, explorer.Q[1])", "False [0.7, -0.7]")


@pytest.mark.lenta
@pytest.mark.parametrize(("scaled", "told"), [(True, "peso (÷ √2)"), (False, "peso")])
def test_the_weights_say_what_divides(shown, scaled, told):
    explorer = shown(f"GeometryExplorer('pesos', scaled={scaled})")
    assert told in explorer.locator("tr").first.locator("th").all_inner_texts()
