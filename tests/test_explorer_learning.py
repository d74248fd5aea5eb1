"""El explorador que aprende: lo grabado es lo que sale al entrenar, y lo que dice de ello es verdad."""

import json

import pytest
import torch
import traitlets
from helpers_explorers import agrees, refuses, says

from course_lib import explorers
from course_lib.explorers.learning import EVERY, SCENES, LearningExplorer, compute
from course_tools import record_learning

passes = lambda curves: [min(values) > 0.95 for values in curves]  # noqa: E731
RUNS = [(scene, key, chosen) for scene in SCENES for key, chosen in record_learning.runs(scene)]
BY_DAY = {("nace", "0"), ("mascara", "01"), ("mascara", "10"), ("cabezas", "10"), ("escala", "1010")}


def ends(scene, **wanted):
    """Los aciertos, momento a momento, de los entrenamientos con esos mandos."""
    found = [key for key, chosen in record_learning.runs(scene) if wanted.items() <= chosen.items()]
    return [SCENES[scene]["runs"][key]["curves"] for key in found]


@pytest.mark.parametrize(("scene", "key", "chosen"), [
    pytest.param(*run, marks=() if run[:2] in BY_DAY else pytest.mark.lenta) for run in RUNS
])  # fmt: skip
def test_what_is_recorded_is_what_comes_out(scene, key, chosen):
    made, kept = record_learning.record(scene, chosen), SCENES[scene]["runs"][key]
    most_saturated = (chosen.get("scaled"), chosen.get("birth")) == (False, "×√128")
    if most_saturated or chosen.get("rate") == 0.01:  # ahí, el último bit de otro procesador cambia el final
        if chosen.get("birth") in (None, "×1"):  # con los demás, también si llega a pasar
            assert any(passes(made["curves"])) == any(passes(kept["curves"]))
        return
    rows = SCENES[scene]["rows"]
    for now in range(len(kept["curves"])):
        mine, theirs = (compute(run | {"met": ()}, rows, now * EVERY) for run in (made, kept))
        torch.testing.assert_close(*(torch.tensor(x["weights"]) for x in (mine, theirs)), atol=0.011, rtol=0)
        assert mine["values"] == pytest.approx(theirs["values"], abs=0.005)


def test_its_texts_are_todays():
    """Si cambian: «python -m course_tools.record_learning --textos»."""
    assert {scene: record_learning.dressed(scene, SCENES[scene]["runs"]) for scene in record_learning.SCENES} == SCENES
    assert all(len(json.dumps(kept)) <= 50_000 for kept in SCENES.values())


@pytest.mark.parametrize(("scene", "key", "chosen"), RUNS)
def test_every_state(scene, key, chosen):
    explorer, kept, known = LearningExplorer(scene, **chosen), SCENES[scene], ends(scene, **chosen)[0]
    for now in range(kept["steps"] // EVERY + 1):
        explorer.step = now * EVERY
        result = compute(kept["runs"][key], kept["rows"], explorer.step)
        rows, tops = sum(result["weights"], []), sum(result["best"], [])
        assert len(rows) == kept["rows"] * chosen.get("heads", 1)
        assert all(abs(sum(row) - 1) < 0.051 and row[j] == max(row) for row, j in zip(rows, tops, strict=True))
        assert result["values"] == known[now]
        learnt, never = passes(known)[now], now == len(known) - 1 and not any(passes(known))
        assert tuple(result["goals"]) == {
            "nace": (learnt, learnt and chosen["seed"] > 0),
            "posiciones": (never, learnt),
            "escala": (never, learnt and not chosen.get("scaled"), learnt and chosen.get("rate") == 0.01),
            "mascara": (known[now][0] > 0.95 and known[now][-1] < 0.5, learnt),
            "entera": (never, learnt and now == 1),
            "cabezas": (chosen.get("heads") == 1 and known[now][0] > 0.95, learnt),
        }[scene]
        told = f"; paso {now * EVERY} de {kept['steps']}; {kept['curves'][0]}: {known[now][0]:.0%}"
        assert told in explorer.describe()
        assert ("cumple el reto" in explorer.describe()) == any(result["goals"])


def test_what_the_goals_say_is_true():
    for kept in SCENES.values():  # cada reto se puede cumplir, y no está cumplido al empezar
        for met in zip(*(run["met"] for run in kept["runs"].values())):
            assert any(met) and 0 not in sum(met, [])
    assert all(any(passes(run)) for run in ends("escala", rate=0.001) + ends("entera", positions=True))
    assert not any(any(passes(run)) for run in ends("escala", rate=0.01, scaled=False, birth="×1"))
    blind = ends("entera", positions=False) + ends("posiciones", positions=False)
    assert all(0.28 < run[-1][0] < 0.36 for run in blind)
    quick = [ends("entera", rate=0.01, positions=True, scaled=scaled) for scaled in (True, False)]
    assert [sum(passes(run)[1] for run in seeds) for seeds in quick] == [3, 1]
    assert all(min(run[-1]) < 0.2 < 0.95 < max(run[-1]) for run in ends("cabezas", heads=1))
    for scene, key, rows, away in [("nace", "", 0, -1), ("mascara", "0", 0, 1), ("mascara", "1", 4, -4)]:
        for seed in range(3):  # adónde acaba mirando cada fila
            count = SCENES[scene]["rows"]
            best = compute(SCENES[scene]["runs"][f"{key}{seed}"], count, 300)["best"][0]
            assert best[rows:] == [(i + away) % 10 for i in range(rows, count)]


def test_its_text_says_its_state():
    said = "sin; nacimiento 0; paso 300 de 300; al aprender: 100%; al escribir: 10%; el peso mayor de cada fila"
    wanted = f"Aprende: máscara causal: {said}, de media, 0.96; cumple el reto 1."
    assert repr(LearningExplorer("mascara", step=300)) == wanted


@pytest.mark.parametrize(("name", "value", "wanted"), [
    ("step", 30, "un entero entre 0 y 300, de 25 en 25"), ("scaled", False, "uno de estos: True"),
    ("rate", 0.01, "uno de estos: 0.001"), ("heads", 2, "uno de estos: 1"), ("mask", True, "uno de estos: False"),
])  # fmt: skip
def test_what_its_scene_does_not_move_is_refused(name, value, wanted):
    refuses(LearningExplorer, name, value, f"{name} = {value}, .* {wanted}")


def test_its_scene_stays_and_has_to_be_known():
    explorer = LearningExplorer()
    with pytest.raises(traitlets.TraitError, match="scene = 'escala', .* uno de estos: 'nace'"):
        explorer.scene = "escala"
    for scene in ("otra", []):
        with pytest.raises(traitlets.TraitError, match="scene = .* 'nace', 'posiciones', 'escala'"):
            LearningExplorer(scene, step=25)


# --- En un navegador ------------------------------------------------------------------------------


def test_javascript_computes_the_same(lab):
    runs = [[SCENES[scene]["runs"][key], SCENES[scene]["rows"]] for scene, key, _ in RUNS]
    agrees(lab, "learning", compute, [[*run, step] for run in runs for step in (0, 25, 200)])


def test_it_answers_to_the_hand_and_to_the_keys(lab, shown):
    explorer, page = shown('LearningExplorer("escala")'), lab.page
    says(page, "Paso 0: aciertos, 15 %. La fila 4 reparte; a la que más, a la")
    explorer.get_by_role("slider", name="paso").press("End")
    says(page, "Paso 200: aciertos, 100 %. La fila 4 mira sobre todo a la 3 (1.00).")
    explorer.get_by_role("slider", name="Fila").press("Home")
    says(page, "La fila 0 mira sobre todo a la 9")
    page.keyboard.press("ArrowDown")
    says(page, "La fila 1 mira sobre todo a la 0")
    explorer.locator("rect").nth(73).hover()
    says(page, "La fila 7 mira sobre todo a la 6")
    goals = explorer.locator("li")
    assert "✓" not in "".join(goals.all_inner_texts())
    for name, goal in {"no": 2, "0.01": 1, "sí": 3}.items():
        explorer.get_by_role("radio", name=name, exact=True).check()
        says(page, f"Reto {goal}, conseguido.")
    assert all("✓ " in text for text in goals.all_inner_texts())
    assert lab.prints("print(explorer.scaled, explorer.rate, explorer.step)", "True 0.01 200")
    lab.ask("explorer.step = 25")
    says(page, "Paso 25:")
    explorer.get_by_role("button", name="Ver cómo aprende").click()
    says(page, "Paso 75:")
    explorer.get_by_role("button", name="Parar").click()
    assert explorer.get_by_role("button", name="Ver cómo aprende").is_visible()


def test_with_no_kernel_in_print_and_with_calm(alone):
    """Sin Jupyter: en papel, cómo acaba; y si se pide calma, va al final de una vez."""
    page = alone(explorers.LearningExplorer("cabezas", heads=2), reduced_motion="reduce")
    says(page, "Paso 0: el de antes, 12 %; el de después, 15 %.")
    page.emulate_media(media="print")
    says(page, "Paso 300: el de antes, 100 %")
    page.emulate_media(media="screen")
    says(page, "Paso 0:")
    page.get_by_role("button").click()
    says(page, "Con la cabeza 1, la fila 4 mira sobre todo a la 3 (0.95). Reto 2, conseguido.")
    page.get_by_role("radio", name="una").check()
    assert not page.get_by_role("slider", name="Fila, en la cabeza 1").is_visible()
