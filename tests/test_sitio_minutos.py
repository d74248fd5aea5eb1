"""La portada y «En seis minutos»: contestan al dedo y al teclado, y dicen lo que dice la biblioteca."""

import html
import json
import re

import pytest
from helpers_browser import PHONE, ROOT, audit
from helpers_sitio import LAPTOP, NOTEBOOKS, reading, small_site
from playwright.sync_api import expect

from course_lib.explorers import AttentionExplorer
from sitio import minutes

MINUTES, HOME = "en_seis_minutos.html", "index.html"
OWN_BYTES = 250_000
STEP = re.compile(r'<div class="paso" data-pieza="(\w+)" data-traits="(.*?)"></div>')
STATE = "name => document.querySelector(`#${name} > div`).model?.state"


@pytest.fixture(scope="module")
def folder():
    return small_site()[0]


def steps(folder):
    text = (folder / MINUTES).read_text(encoding="utf-8")
    return [(name, json.loads(html.unescape(traits))) for name, traits in STEP.findall(text)]


def test_there_are_six_scenes_and_it_is_light(folder):
    text = (folder / MINUTES).read_text(encoding="utf-8")
    assert re.findall(r"<h2>(\d)\. ", text) == list("123456")
    assert {name for name, _ in steps(folder)} == set(minutes.SHOWN)
    # El código de los exploradores es el de las lecciones: lo comparten las páginas.
    own = re.sub(r'"_(?:esm|css)":"(?:[^"\\]|\\.)*"', "", text)
    own += "".join(path.read_text("utf-8") for path in (ROOT / "sitio/web").glob("minutos.*"))
    assert len(own.encode()) <= OWN_BYTES, len(own.encode())


def test_what_the_library_does_not_give_is_not_published():
    for wrong in ('<!-- paso frase {"query": 99} -->', "<!-- dice «cat» \\(([\\d.]+) -->"):
        page = ['<!-- explorador frase -->\n<!-- paso frase {"query": 8} -->\n' + wrong]
        with pytest.raises(Exception, match=r"query = 99|subscriptable"):
            minutes.place(None, "x", page)


def test_no_weight_is_written_by_hand():
    source = (NOTEBOOKS / "en_seis_minutos.md").read_text(encoding="utf-8")
    outside = re.sub(r"<!--.*?-->", "", source)
    assert not re.search(r"\d[.,]\d", outside)
    assert f"de {minutes.WIDE} números" in outside
    assert rf"\sqrt{{{minutes.WIDE}}} = {minutes.WIDE**0.5:g}$" in outside


def told(**traits):
    """Lo que de una frase cuenta la biblioteca, como lo dice la página."""
    one = AttentionExplorer(view="arcos", **traits)
    said = re.split("; en la primera, |; en la segunda, ", one.describe().rstrip("."))
    return f"{said[1 + one.shown]}."


@pytest.mark.parametrize("options", [{"viewport": LAPTOP}, {"viewport": PHONE, "has_touch": True}])
def test_the_home_answers_to_the_finger_and_to_the_keys(browser, folder, options):
    with reading(browser, f"{folder.as_uri()}/", HOME, **options) as page:
        said = page.locator(".exp-say")
        expect(said).to_have_text(told())
        expect(said).to_be_in_viewport()
        page.get_by_role("button", name="old").click()
        expect(said).to_have_text(told(shown=1))
        word = page.get_by_role("radio", name="bone, posición 6")
        word.tap() if "has_touch" in options else word.hover()
        expect(said).to_have_text(told(shown=1, query=6))
        word.click()
        page.keyboard.press("ArrowLeft")
        page.mouse.move(0, 0)
        expect(said).to_have_text(told(shown=1, query=5))
        page.keyboard.press("End")
        expect(said).to_have_text(told(shown=1, query=11))
        assert page.locator(".a-words path").count() > 0
        asked = page.evaluate("performance.getEntriesByType('resource').map(({name}) => name)")
        assert not [name for name in asked if "modelos" in name]  # hasta que alguien escribe


def test_the_scenes_advance_and_say_what_the_library_says(browser, folder):
    wanted = steps(folder)
    with reading(browser, f"{folder.as_uri()}/", MINUTES, reduced_motion="reduce") as page:
        now, known = page.locator(".rotulo.ahora"), {}
        for n, (name, traits) in enumerate(wanted):
            known.setdefault(name, minutes.SHOWN[name][1]())
            if n:
                page.keyboard.press("ArrowRight")
            assert now.evaluate("n => [...document.querySelectorAll('.rotulo')].indexOf(n)") == n
            expect(now).to_be_in_viewport()
            page.wait_for_function(f"name => ({STATE})(name)", arg=name)
            page.wait_for_timeout(60)
            state = page.evaluate(STATE, name)
            for trait, value in traits.items():
                setattr(known[name], trait, value)
                assert state[trait] == value  # sin movimiento, de una vez
            if name == "frase":
                one = known[name]
                look = {k: getattr(one, k) for k in ("query", "shown", "layer", "head")}
                expect(page.locator("#frase .exp-say")).to_have_text(told(**look))
        expect(page.locator(".cuenta")).to_have_text("Escena 6 de 6")
        page.keyboard.press("ArrowLeft")
        assert now.evaluate("n => [...document.querySelectorAll('.rotulo')].indexOf(n)") == n - 1


def test_a_screen_reader_is_told_each_step_and_the_others_are_dimmed(browser, folder):
    colour = "node => getComputedStyle(node).color"
    with reading(browser, f"{folder.as_uri()}/", MINUTES, reduced_motion="reduce") as page:
        said, texts = page.locator(".mandos [role=status]"), page.locator(".rotulo")
        assert page.locator(".bd-sidebar-primary nav").count() == 0
        for n in range(1, 4):
            page.get_by_role("button", name="Paso siguiente").click()
            title = "2. Puntuaciones, pesos y mezcla. " if n == 3 else ""
            expect(said).to_have_text(title + texts.nth(n).inner_text().replace("\n", " "))
            colours = [texts.nth(k).evaluate(colour) for k in (n - 1, n, n + 1)]
            assert colours[0] == colours[2] != colours[1]


# Los trozos de arco que pasan por dentro de una palabra que no es la suya.
CROSSED = """() => [...document.querySelectorAll('.a-words path')].flatMap(path => {
    const box = document.querySelector('.a-words').getBoundingClientRect();
    const words = [...document.querySelectorAll('.a-words button')].map(node => [node.innerText, node.getBoundingClientRect()]);
    const long = path.getTotalLength();
    return Array.from({length: 60}, (_, k) => path.getPointAtLength(long * k / 59)).flatMap(({x, y}) => words
        .filter(([, {left, right, top, bottom}]) => x + box.x > left + 1 && x + box.x < right - 1
            && y + box.y > top + 2 && y + box.y < bottom - 2)
        .map(([word]) => word));
})"""


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_no_arc_crosses_a_word(browser, folder, width):
    with reading(browser, f"{folder.as_uri()}/", HOME, viewport={"width": width, "height": 800}) as page:
        words = page.get_by_role("radio")
        for n in range(words.count()):
            words.nth(n).click()
            page.mouse.move(0, 0)
            assert page.evaluate(CROSSED) == []


def test_the_home_says_what_it_is_for_and_where_to_begin(browser, folder):
    with reading(browser, f"{folder.as_uri()}/", HOME) as page:
        expect(page.locator(".lema")).to_be_in_viewport()
        door = page.locator("a.empezar").first
        expect(door).to_have_text("En seis minutos")
        expect(door).to_be_in_viewport()
        glosses = page.locator(".a-words .a-gloss")
        assert " ".join(glosses.all_inner_texts()[9:11]) == "tenía hambre"
        page.get_by_role("button", name="old").click()
        assert " ".join(glosses.all_inner_texts()[9:11]) == "era viejo"
        english = page.locator("[lang=en]").all_inner_texts()
        assert {"it", "dog", "hungry", "old"} <= set(english)


OUT = """() => [document.querySelector('.marco'), ...document.querySelectorAll('.marco :is(.exp-scroll, table)')]
    .filter(one => one.offsetParent && one.scrollWidth > one.clientWidth + 2).map(one => one.className)"""
TALL = "() => { const m = document.querySelector('.marco'); return m.scrollHeight - m.clientHeight; }"


@pytest.mark.parametrize("size", [LAPTOP, pytest.param({"width": 1024, "height": 768}, marks=pytest.mark.lenta)])
def test_what_the_text_tells_is_seen(browser, folder, size):
    """La figura de cada escena cabe entera a su lado: también las puntuaciones, los pesos y la máscara."""
    with reading(browser, f"{folder.as_uri()}/", MINUTES, viewport=size) as page:
        for n in range(len(steps(folder))):
            page.wait_for_function("n => document.querySelectorAll('.rotulo')[n].classList.contains('ahora')", arg=n)
            page.locator(".marco .exp:visible").wait_for()
            assert page.evaluate(OUT) == []
            assert page.evaluate(TALL) <= 2
            page.keyboard.press("ArrowRight")


def test_it_plays_and_stops(browser, folder):
    with reading(browser, f"{folder.as_uri()}/", MINUTES, reduced_motion="reduce") as page:
        first = page.locator(".rotulo.ahora").inner_text()
        page.clock.install()
        page.get_by_role("button", name="Reproducir").click()
        page.clock.run_for(30_000)
        assert page.locator(".rotulo.ahora").inner_text() != first
        page.get_by_role("button", name="Pausa").click()
        stopped = page.locator(".rotulo.ahora").inner_text()
        page.clock.run_for(60_000)
        assert page.locator(".rotulo.ahora").inner_text() == stopped


@pytest.mark.parametrize(("size", "scheme"), [
    pytest.param(LAPTOP, "dark", id="1280, de noche"),
    pytest.param(PHONE, "light", id="390"),
    pytest.param(LAPTOP, "light", id="1280", marks=pytest.mark.lenta),
    pytest.param(PHONE, "dark", id="390, de noche", marks=pytest.mark.lenta),
])  # fmt: skip
@pytest.mark.parametrize("name", [HOME, MINUTES])
def test_axe_finds_nothing(browser, folder, name, size, scheme):
    options = {"viewport": size, "color_scheme": scheme}
    with reading(browser, f"{folder.as_uri()}/", name, **options) as page:
        page.locator(".exp-say").first.wait_for()
        assert audit(page) == []
        assert page.evaluate("document.scrollingElement.scrollWidth") <= size["width"]
