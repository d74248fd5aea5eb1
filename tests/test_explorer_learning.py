"""El explorador que aprende: lo grabado es lo que sale al entrenar, y lo que dice de ello es verdad."""

import base64
import json
import math

import pytest
import traitlets
from helpers_explorers import SHOW, agrees, says

from course_lib import explorers
from course_lib.explorers.learning import EVERY, SCENES, LearningExplorer, compute
from course_tools import record_learning

RUNS = [(scene, key, chosen) for scene in SCENES for key, chosen in record_learning.runs(scene)]
BY_DAY = {("nace", "0"), ("mascara", "01"), ("mascara", "10"), ("cabezas", "10"), ("escala", "1010")}


def ends(scene, **wanted):
    """Los aciertos, momento a momento, de los entrenamientos con esos mandos."""
    found = [key for name, key, chosen in RUNS if name == scene and wanted.items() <= chosen.items()]
    return [SCENES[scene]["runs"][key]["curves"] for key in found]


def passes(curves):
    return [min(values) > 0.95 for values in curves]


@pytest.mark.parametrize(("scene", "key", "chosen"), [
    pytest.param(*run, id="-".join(run[:2]), marks=() if run[:2] in BY_DAY else pytest.mark.lenta)
    for run in RUNS
])  # fmt: skip
def test_what_is_recorded_is_what_comes_out(scene, key, chosen):
    made, kept = record_learning.record(scene, chosen), SCENES[scene]["runs"][key]
    if chosen.get("rate") == 0.01:  # a pasos grandes, el último bit de otro procesador cambia el final
        if chosen.get("birth") in (None, "×1"):  # con los demás, también si llega a pasar
            assert any(passes(made["curves"])) == any(passes(kept["curves"]))
        return
    weights, theirs = (base64.b64decode(run["weights"]) for run in (made, kept))
    assert max(abs(a - b) for a, b in zip(weights, theirs, strict=True)) <= 1
    for values, others in zip(made["curves"], kept["curves"], strict=True):
        assert values == pytest.approx(others, abs=0.005)


def test_its_texts_are_todays():
    """Si cambian: «python -m course_tools.record_learning --textos»."""
    assert list(SCENES) == list(record_learning.SCENES)
    for scene, kept in SCENES.items():
        assert record_learning.dressed(scene, kept["runs"]) == kept
        assert len(json.dumps(kept).encode()) <= 50_000
    assert record_learning.FILE.stat().st_size <= 250_000


@pytest.mark.parametrize(("scene", "key", "chosen"), RUNS)
def test_every_state(scene, key, chosen):
    explorer, kept = LearningExplorer(scene, **chosen), SCENES[scene]
    known = kept["runs"][key]["curves"]
    for now in range(kept["steps"] // EVERY + 1):
        explorer.step = now * EVERY
        result = compute(kept["runs"][key], kept["rows"], explorer.step)
        assert len(result["weights"]) == chosen.get("heads", 1)
        for head, best in zip(result["weights"], result["best"]):
            assert [len(row) for row in head] == [10] * kept["rows"]
            assert all(math.isclose(sum(row), 1, abs_tol=0.051) for row in head)
            assert all(row[j] == max(row) for row, j in zip(head, best))
        assert result["values"] == known[now]
        first, second = result["goals"]
        learnt = min(known[now]) > 0.95
        never = now == len(known) - 1 and not any(passes(known))
        assert (first, second) == {
            "nace": (learnt, learnt and chosen["seed"] > 0),
            "posiciones": (never, learnt),
            "escala": (never, learnt and not chosen.get("scaled")),
            "mascara": (known[now][0] > 0.95 and known[now][-1] < 0.5, learnt),
            "entera": (never, learnt and now == 1),
            "cabezas": (chosen.get("heads") == 1 and known[now][0] > 0.95, learnt),
        }[scene]
        told = f"; paso {now * EVERY} de {kept['steps']}; {kept['curves'][0]}: {known[now][0]:.0%}"
        assert told in explorer.describe()
        assert ("cumple el reto" in explorer.describe()) == (first or second)


def test_what_the_goals_say_is_true():
    for kept in SCENES.values():  # cada reto se puede cumplir, y no está cumplido al empezar
        first, second = zip(*(run["met"] for run in kept["runs"].values()))
        assert any(first) and any(second)
        assert not any(0 in moments for moments in first + second)
    assert all(any(passes(run)) for run in ends("escala", rate=0.001))
    assert not any(any(passes(run)) for run in ends("escala", rate=0.01, scaled=False, birth="×1"))
    assert all(any(passes(run)) for run in ends("entera", positions=True))
    blind = ends("entera", positions=False) + ends("posiciones", positions=False)
    assert all(0.28 < run[-1][0] < 0.36 for run in blind)
    quick = [ends("entera", rate=0.01, positions=True, scaled=scaled) for scaled in (True, False)]
    assert [sum(passes(run)[1] for run in seeds) for seeds in quick] == [3, 1]
    for run in ends("cabezas", heads=1):
        assert min(run[-1]) < 0.2 < 0.95 < max(run[-1])
    assert all(run[-1][0] > 0.99 and run[-1][1] < 0.2 for run in ends("mascara", mask=False))
    assert all(min(run[-1]) > 0.99 for run in ends("mascara", mask=True))


@pytest.mark.parametrize(("scene", "key", "rows", "away"), [
    ("nace", "", range(10), -1), ("mascara", "0", range(4, 9), 1), ("mascara", "1", range(4, 9), -4),
])  # fmt: skip
def test_where_it_ends_looking(scene, key, rows, away):
    """La raya del corro; al siguiente, sin máscara; y con ella, al de cuatro antes."""
    for seed in range(3):
        kept = SCENES[scene]
        best = compute(kept["runs"][f"{key}{seed}"], kept["rows"], kept["steps"])["best"][0]
        assert [best[i] for i in rows] == [(i + away) % 10 for i in rows]


def test_its_text_says_its_state():
    assert repr(LearningExplorer("mascara", step=300)) == (
        "Aprende: máscara causal: sin; nacimiento 0; paso 300 de 300; al aprender: 100%; al escribir: "
        "10%; el peso mayor de cada fila, de media, 0.96; cumple el reto 1."
    )


@pytest.mark.parametrize(("name", "value", "wanted"), [
    ("scene", "posiciones", "'nace'"), ("seed", 3, "0, 1, 2"), ("step", 30, "0, 25, 50"),
    ("scaled", False, "True"), ("rate", 0.01, "0.001"), ("heads", 2, "1"), ("mask", 1, "False"),
])  # fmt: skip
def test_wrong_values_are_refused(name, value, wanted):
    explorer = LearningExplorer()
    with pytest.raises(traitlets.TraitError, match=f"uno de estos: {wanted}"):
        setattr(explorer, name, value)
    assert repr(explorer) == repr(LearningExplorer())
    with pytest.raises(traitlets.TraitError, match="scene = 'otra', .* 'nace', 'posiciones', 'escala'"):
        LearningExplorer("otra", step=25)


# --- En un navegador ------------------------------------------------------------------------------


def test_javascript_computes_the_same(lab):
    agrees(lab, "learning", compute, [
        [SCENES[scene]["runs"][key], SCENES[scene]["rows"], step]
        for scene, key, _ in RUNS for step in (0, 25, SCENES[scene]["steps"])
    ])  # fmt: skip


def test_it_answers_to_the_hand_and_to_the_keys(lab, shown):
    explorer, page = shown('LearningExplorer("escala")'), lab.page
    says(page, "Paso 0: aciertos, 15 %. La fila 4 reparte; a la que más, a la")
    step = explorer.get_by_role("slider", name="paso")
    step.press("End")
    says(page, "Paso 200: aciertos, 100 %. La fila 4 mira sobre todo a la 3 (1.00).")
    rows = explorer.get_by_role("slider", name="Fila")
    rows.press("ArrowDown")
    says(page, "La fila 5 mira sobre todo a la 4")
    rows.press("Home")
    says(page, "La fila 0 mira sobre todo a la 9")
    explorer.locator("rect").nth(73).hover()
    says(page, "La fila 7 mira sobre todo a la 6")
    goals = explorer.locator("li")
    assert "✓" not in "".join(goals.all_inner_texts())
    explorer.get_by_role("radio", name="no").check()
    says(page, "Reto 2, conseguido.")
    explorer.get_by_role("radio", name="0.01", exact=True).check()
    says(page, "Reto 1, conseguido.")
    assert all("✓ Conseguido. " in text for text in goals.all_inner_texts())
    assert lab.prints("print(explorer.scaled, explorer.rate, explorer.step)", "False 0.01 200")
    lab.ask("explorer.step = 25")
    says(page, "Paso 25:")
    explorer.get_by_role("button", name="Ver cómo aprende").click()
    says(page, "Paso 75:")
    explorer.get_by_role("button", name="Parar").click()
    assert explorer.get_by_role("button", name="Ver cómo aprende").is_visible()


def test_with_no_kernel_in_print_and_with_calm(browser):
    """Sin Jupyter: en papel, cómo acaba; y si se pide calma, va al final de una vez."""
    page = browser.new_page(reduced_motion="reduce")
    page.evaluate(SHOW, [explorers.LearningExplorer("cabezas", heads=2).get_state()])
    says(page, "Paso 0: el de antes, 12 %; el de después, 15 %.")
    page.emulate_media(media="print")
    says(page, "Paso 300: el de antes, 100 %")
    page.emulate_media(media="screen")
    says(page, "Paso 0:")
    page.get_by_role("button").click()
    says(page, "Con la cabeza 1, la fila 4 mira sobre todo a la")
    says(page, "Reto 2, conseguido.")
    assert page.get_by_role("slider", name="Fila, en la cabeza 1").is_visible()
    page.get_by_role("radio", name="una").check()
    assert not page.get_by_role("slider", name="Fila, en la cabeza 1").is_visible()
    page.close()
