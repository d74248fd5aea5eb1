"""La página se acuerda: lo que se acierta, se predice y se lee se queda, se enseña, se lleva y se trae."""

import json

import pytest
from helpers_browser import PHONE
from helpers_sitio import LAPTOP, reading, small_site
from playwright.sync_api import expect

LESSON, SECTION = "03_softmax_y_escalado", "celda-03-se-atasca"
DONE = {
    "exercises": {"3.1": {"tries": 2, "date": "2026-03-01"}},
    "predictions": {f"03.{n}": {"said": "x", "right": True, "date": "2026-03-01"} for n in range(1, 6)},
    "lines": {f"3.{one}": {"tries": 1, "date": "2026-03-01"} for one in "abc"},
}
pytestmark = pytest.mark.navegador
KEPT = "name => JSON.parse(localStorage.getItem(`atencion/${name}`))"


@pytest.fixture
def page(browser):
    address = f"{small_site()[0].as_uri()}/"
    with reading(browser, address, f"{LESSON}.html") as page:
        page.address = address
        yield page


def kept(page, name, what):
    page.evaluate("([name, what]) => localStorage.setItem(`atencion/${name}`, what)", [name, what])


def ready(page, name):
    page.goto(f"{page.address}{name}.html")
    page.wait_for_load_state()


def mark(page):
    return page.locator(".bd-docs-nav a", has_text="03 · Softmax").locator(".hecho")


def test_a_prediction_stays_said_and_is_judged(page):
    asked = page.locator("[data-explorer=Prediction]").first
    for say, hit in ("0.50", "no"), ("0.67", "sí"):
        asked.scroll_into_view_if_needed()
        asked.get_by_label(say).check()
        asked.get_by_role("button", name="Lo digo").click()
        expect(asked.locator(f"[data-hit={hit}]")).to_contain_text(f"Dijiste «{say}»" if hit == "no" else "Lo dijiste")
        expect(page.locator("details.answer").first).to_have_attribute("open", "")
        page.reload()
        asked.scroll_into_view_if_needed()
        expect(asked.get_by_label("0.50")).to_be_checked()  # cuenta lo primero
        asked.get_by_role("button", name="Contestar otra vez").click()
    noted = page.evaluate(KEPT, "progreso")["predictions"]
    assert {name: (one["said"], one["right"]) for name, one in noted.items()} == {"03.1": ("0.50", False)}
    expect(page.locator(".llevas")).to_contain_text("1 de 5 predicciones")


def test_where_one_was_is_one_touch_away(page):
    page.locator(f"#{SECTION} > h2").evaluate("node => node.scrollIntoView()")
    expect(page.locator(".llevas")).to_have_count(1, timeout=10_000)
    ready(page, "index")
    page.get_by_role("link", name="Sigue en 03 §4", exact=True).click()
    page.wait_for_url(f"**/{LESSON}.html#{SECTION}")
    with page.context.expect_page() as opened:
        page.evaluate("() => open('glosario.html')")
    expect(mark(opened.value)).to_contain_text("0/12")
    kept(page, "progreso", json.dumps(DONE))  # y la otra pestaña lo enseña
    expect(mark(opened.value)).to_contain_text("9/12. Te faltan 3 ejercicios")


def test_to_look_back_does_not_move_where_one_was(page):
    last = {"lesson": "05_atencion", "id": "x", "title": "5. Una"}
    for seen, where in ([SECTION], "05 §5"), ([], "03 §4"):
        kept(page, "leido", json.dumps({LESSON: seen, "last": last}))
        ready(page, LESSON)
        page.locator(f"#{SECTION} > h2").evaluate("node => node.scrollIntoView()")
        page.wait_for_timeout(3000)
        ready(page, "index")
        expect(page.get_by_role("link", name=f"Sigue en {where}", exact=True)).to_be_visible()


def test_it_says_what_is_left_and_what_comes_next(page):
    kept(page, "progreso", json.dumps(DONE))
    page.reload()
    expect(page.locator(".llevas")).to_have_text("Llevas 3 de 3 líneas, 5 de 5 predicciones y 1 de 4 ejercicios.")
    expect(page.locator(".exercise-done")).to_have_text("✓ Lo tienes bien desde el 2026-03-01.")  # y en los otros, nada
    after = "number => course.progress.after(number)"
    assert page.evaluate(after, "3.4") == ["#responde-3.2", "Sigue con el ejercicio 3.2"]
    whole = DONE | {"exercises": {f"3.{n}": {"tries": 1, "date": "2026-03-01"} for n in range(1, 5)}}
    kept(page, "progreso", json.dumps(whole))
    page.reload()
    expect(mark(page)).to_have_text("✓. Hecha")
    assert page.evaluate(after, "3.4") == ["04_mascaras.html", "Sigue con la lección 04 · Las máscaras"]


BROKEN = [
    "", "[", "[]", "3", '"x"', '{"exercises": 3, "predictions": [1], "lines": {"3.a": 4}, "asked": null}', '{"last": 3}',
    '{"last": {"lesson": "__proto__", "id": 1}}', '{"03_softmax_y_escalado": 4, "last": {"lesson": "99"}}',
]  # fmt: skip


def test_what_another_version_left_breaks_nothing(page):
    for broken in BROKEN:
        for name in ("progreso", "leido", "preguntas"):
            kept(page, name, broken)
        page.reload()
        page.evaluate("course.progress.predicted('03.1', '0.67', true)")
        assert "03.1" in page.evaluate(KEPT, "progreso")["predictions"], broken
    ready(page, "index")
    expect(page.get_by_role("link", name="Sigue en")).to_have_count(0)


def test_the_questions_of_before_are_still_known(page):
    item = {"name": "01.x", "question": "¿?", "answers": [{"say": "sí", "told": "Sí.", "right": True}]}
    kept(page, "preguntas", json.dumps({"01.x": {"item": item, "said": "no", "right": False, "lesson": "02"}}))
    page.reload()
    box = page.locator("[data-explorer=Questions]").first
    box.scroll_into_view_if_needed()
    expect(box.get_by_role("group", name="¿?")).to_have_count(1)
    box.get_by_label("sí", exact=True).check()
    noted = page.evaluate(KEPT, "progreso")
    noted["asked"]["01.x"] |= {"said": "no", "lesson": "04"}  # y en otra lección, otra cosa
    kept(page, "progreso", json.dumps(noted))
    page.reload()
    box.scroll_into_view_if_needed()
    expect(box.get_by_label("sí", exact=True)).to_be_checked()


def carried(page):
    """El archivo con lo de una página."""
    ready(page, "index")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Llevarme lo mío").click()
    return saved.value.path()


def bring(page, file):
    with page.expect_file_chooser() as chosen:
        page.get_by_role("button", name="Traer lo mío").click()
    chosen.value.set_files(file)


def test_it_goes_to_another_browser_in_one_file(browser, page):
    written = {f"{LESSON}/3.1": "# Ejercicio 3.1\nx", f"{LESSON}/tuya-share": "@your_line"}
    for name, text in {"progreso": json.dumps(DONE), **written}.items():
        kept(page, name, text)
    file = carried(page)
    with reading(browser, page.address, "index.html", viewport=LAPTOP) as other:
        kept(other, f"{LESSON}/3.1", "# Ejercicio 3.1\notra")
        bring(other, file)
        expect(other.locator("#quien-dice")).to_contain_text("Ejercicios resueltos: 1. En 3.1 habías escrito otra cosa")
        assert other.evaluate(KEPT, "progreso")["lines"] == DONE["lines"]
        texts = other.evaluate("Object.entries(localStorage).filter(([key]) => key.includes('3.1'))")
        assert sorted(text for _, text in texts) == ["# Ejercicio 3.1\notra", "# Ejercicio 3.1\nx"]
        expect(mark(other)).to_contain_text("9/12")
        other.on("dialog", lambda asks: asks.accept())
        other.get_by_role("button", name="Borrar lo mío").click()
        expect(other.locator("#quien-dice")).to_contain_text("Borrado")
        expect(mark(other)).to_have_count(0)


def test_another_file_changes_nothing(page, tmp_path):
    ready(page, "index")
    before = page.evaluate("({...localStorage})")
    for n, found in enumerate(["", "{}", "[1]", '{"course": "otro"}', '{"course": {}}']):
        file = tmp_path / f"notas-{n}.json"
        file.write_text(found, "utf-8")
        bring(page, file)
        told = f"«{file.name}» no es un mi_progreso.json de este curso. No ha cambiado nada."
        expect(page.locator(".answers-kept [role=status]")).to_have_text(told)
    assert page.evaluate("({...localStorage})") == before


def test_what_does_not_fit_leaves_all_as_it_was(page, tmp_path):
    ready(page, "index")
    kept(page, "progreso", json.dumps(DONE))
    big = {f"{LESSON}/c{n}": "x" * 199_999 for n in range(40)}
    file = tmp_path / "mi_progreso.json"
    file.write_text(json.dumps({"course": "atencion-paso-a-paso", "written": big, "exercises": {}}), "utf-8")
    before = page.evaluate("({...localStorage})")
    bring(page, file)
    expect(page.locator(".answers-kept [role=status]")).to_contain_text("No cabe")
    assert page.evaluate("({...localStorage})") == before


@pytest.mark.parametrize(("lesson", "name", "said"), [
    ("05_atencion", "GeometryExplorer", "aria-label"), ("03_softmax_y_escalado", "SoftmaxExplorer", "aria-valuenow"),
])  # fmt: skip
def test_a_finger_drags_and_the_page_stays(browser, lesson, name, said):
    """Con toques de verdad: lo que dice ``touch-action`` de un círculo, Chromium no lo cumple."""
    with reading(browser, f"{small_site()[0].as_uri()}/", f"{lesson}.html", viewport=PHONE, has_touch=True) as page:
        explorer = page.locator(f"[data-explorer={name}]").first
        explorer.scroll_into_view_if_needed()
        handle = explorer.locator(".exp-handle").first
        handle.wait_for()
        handle.evaluate("node => node.scrollIntoView({block: 'center'})")
        box, before = handle.bounding_box(), handle.get_attribute(said)
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        top, finger = page.evaluate("scrollY"), page.context.new_cdp_session(page)
        moves = [["touchStart", 0], *(["touchMove", by] for by in range(6, 61, 6)), ["touchEnd"]]
        for kind, *points in moves:
            spots = [{"x": x, "y": y + by} for by in points]
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": spots})
        expect(handle).not_to_have_attribute(said, before)
        assert page.evaluate("scrollY") == top
        if name == "GeometryExplorer":
            assert handle.bounding_box()["y"] - box["y"] == pytest.approx(60, abs=6)
