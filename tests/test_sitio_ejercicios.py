"""Los ejercicios en la página: se responden, se corrigen, se guardan y se entregan, de una carpeta y sin red."""

import contextlib
import hashlib
import io
import json
import os
import re
import zipfile

import pytest
from helpers_answers import ALL as ANSWERS
from helpers_answers import EXERCISES, report_of
from helpers_browser import PHONE, ROOT, audit
from helpers_firefox import find_firefox, open_firefox
from helpers_sitio import LAPTOP, OPEN_ALL, reading, serve, small_site
from playwright.sync_api import expect
from test_imitacion import compared
from test_plots import EXAMPLES

from aula.calificar import submissions
from course_tools.cells import answered
from course_tools.opening import library
from sitio import exercises
from sitio.pyodide import vendor

LESSON = "03_softmax_y_escalado"
PIECES = "07_multicabeza_a_mano"
DIVIDES = """# Ejercicio 3.1
import torch
def my_softmax(scores):
    return torch.exp(scores) / torch.exp(scores).sum()
"""
GOOD = """# Ejercicio 3.1
import torch
def my_softmax(scores):
    powers = torch.exp(scores - scores.amax(-1, keepdim=True))
    return powers / powers.sum(-1, keepdim=True)
"""
HANGS = "# Ejercicio 3.1\ndef my_softmax(scores):\n    return 9 ** 9 ** 9\n"
navegador, lenta = pytest.mark.navegador, pytest.mark.lenta


@pytest.fixture(scope="module")
def folder():
    return small_site()[0]


@pytest.fixture(scope="module")
def page(browser, folder):
    """La lección, abierta una vez: Python arranca una vez."""
    with reading(browser, f"{folder.as_uri()}/", f"{LESSON}.html", broken="Content Security") as page:
        yield page


def place(page, number="3.1"):
    return page.locator(f"[id='responde-{number}']")


def drawer(page):  # lo que guarda y trae lo de la lección, que se despliega
    page.locator("details.answers-kept").evaluate("one => one.open = true")
    return page


def write(page, text, number="3.1"):
    """Escribe una respuesta, solo con el teclado."""
    box = place(page, number).get_by_role("textbox", name=f"Tu respuesta al ejercicio {number}")
    box.focus()
    box = place(page, number).locator(".cm-content")
    box.wait_for()
    expect(box).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


def checked(page, text, number="3.1"):
    """Lo que dice la comprobación de una respuesta, cuando acaba."""
    write(page, text, number)
    times = int(place(page, number).get_attribute("data-checked") or 0)
    page.keyboard.press("Control+Enter")
    expect(place(page, number)).to_have_attribute("data-checked", str(times + 1), timeout=90_000)
    said = place(page, number).locator(".exercise-report")
    return said.locator("p:not(:has(> a[href^='#responde'], > a[href$='.html'])), li").all_inner_texts()  # sin lo que viene después


def from_torch(number, text):
    """Lo que dice de esa respuesta la comprobación de siempre, línea a línea."""
    space = {}
    exec(text, space)
    name = text.split("def ")[1].split("(")[0]
    found = EXERCISES[number].check(space[name])
    return [found.head, *map(str, found.findings), *(f"Nota: {note}" for note in found.notes)]


@navegador
def test_an_answer_that_uses_one_to_be_done_says_which(page):
    text = "# Ejercicio 3.2\ndef my_scaling(query, key):\n    return my_softmax(query @ key.mT)\n"
    said = checked(page, text, "3.2")
    assert "«my_softmax» es la respuesta del ejercicio 3.1, que aquí está por hacer" in said[1]


@navegador
def test_an_answer_is_judged_as_always(page):
    for text in (DIVIDES, GOOD):
        assert checked(page, text) == from_torch("3.1", text)


@navegador
def test_every_key_writes(page):
    """También las que en el resto de la página abren el buscador; el tabulador sangra y, tras Escape, sale."""
    write(page, "")
    page.keyboard.type("a / b")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("?")
    assert place(page).locator(".cm-line").all_inner_texts() == ["a / b", "    ?"]
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(place(page).locator("button.go")).to_be_focused()


@navegador
def test_tab_passes_by_an_editor_and_enter_goes_in(page):
    """Con el tabulador no se escribe nada; Intro entra, Escape sale, y «Comprobar» no suelta a quien lo pulsa."""
    write(page, DIVIDES)
    frame, go = place(page).locator(".exercise-editor"), place(page).locator("button.go")
    inside = frame.locator(".cm-content")
    page.keyboard.press("Escape")
    expect(frame).to_be_focused()
    assert "Intro entra en el editor y Escape sale" in page.evaluate(
        "document.getElementById(document.activeElement.getAttribute('aria-describedby')).textContent"
    )
    for keys, there in (("Tab", go), ("Shift+Tab", frame), ("Enter", inside), ("Escape", frame), ("Tab", go)):
        page.keyboard.press(keys)
        expect(there).to_be_focused()
    assert "\n".join(inside.locator(".cm-line").all_inner_texts()).split() == DIVIDES.split()
    times = int(place(page).get_attribute("data-checked") or 0)
    page.keyboard.press("Enter")
    expect(go).to_have_attribute("aria-disabled", "true")
    expect(place(page)).to_have_attribute("data-checked", str(times + 1), timeout=90_000)
    expect(go).to_be_focused()


@navegador
def test_what_is_wrong_before_the_check_is_said(page):
    said = checked(page, "# Ejercicio 3.1\ndef my_softmax(scores)\n    return 1\n")
    assert said[1] == "Python no entiende la línea 2, «def my_softmax(scores)»: le faltan los dos puntos."
    said = checked(page, "# Ejercicio 3.1\nimport torch\nmy_softmax = torch.special.softmax\n")
    assert said == ["En la página no está «torch.special». Escríbelo de otra forma, o ábrelo en JupyterLab."]
    said = checked(page, "# Ejercicio 3.1\nimport torch\ntorch.exp = None\n" + DIVIDES)
    assert "TypeError" in said[1]
    assert checked(page, GOOD)[0].endswith("está bien.")  # y torch vuelve a ser el de antes
    said = checked(page, "# Ejercicio 3.1\nprint('<b>' * 10**6)\n" + GOOD)
    assert said[0].endswith("está bien.")
    assert place(page).locator(".exercise-report b").count() == 0
    said = checked(page, "# Ejercicio 3.1\ndef my_softmax(scores):\n    while True: pass\n")
    assert "tarda más de 6 s con" in said[1]


@navegador
def test_the_answer_reaches_nothing_outside(page):
    for line in ("import js", "from pyodide.code import run_js", "import pyodide_js"):
        said = checked(page, f"# Ejercicio 3.1\n{line}\nrun_js('fetch(\"/\")')\n{GOOD}")
        assert not said[0].endswith("está bien."), said
    # Quien quite lo que tapa a la página no la encuentra; y lo que aún alcance no ejecuta texto.
    ways = "sys.modules.pop('js', 0) or __import__('js')", "sys.modules.pop('pyodide_js._api', 0).config.jsglobals"
    ways += "sys.meta_path[-1].jsproxies['js']", "pyodide.webloop.scheduleCallback.constructor('return this')()"
    attack = "".join(f"try: js = {way}\nexcept Exception: pass\n" for way in ways)
    said = checked(page, f"# Ejercicio 3.1\nimport sys, pyodide.webloop\njs = 0\n{attack}assert not js\n{GOOD}")
    assert said[0].endswith("está bien."), said


REPORT = {"head": "✓ falso", "findings": [], "notes": [], "printed": "", "refused": [], "ok": True, "unsolved": False}
# Con todo el JavaScript del hilo en la mano: lo que queda que llegue fuera, y lo que se cambia para llegar al canal.
SEIZE = """report => {
    const names = 'fetch XMLHttpRequest WebSocket WebTransport EventSource Worker importScripts indexedDB caches'
        + ' navigator BroadcastChannel MessageChannel FontFace Request Notification postMessage close';
    const { apply } = Reflect, { get } = Object.getOwnPropertyDescriptor(MessageEvent.prototype, 'data');
    const seize = one => one?.ports && one.target.postMessage({ id: apply(get, one, []).id, report });
    Object.defineProperty(MessageEvent.prototype, 'data', { get() { seize(this); return apply(get, this, []); } });
    for (const [place, name, real] of [[Function.prototype, 'call', Function.prototype.call], [Reflect, 'apply', apply]])
        place[name] = function (...given) { given.forEach(seize); return apply(real, this, given); };
    return names.split(' ').filter(name => globalThis[name]);
}"""


@navegador
def test_not_even_from_inside_its_thread_is_a_report_forged(page):
    checked(page, DIVIDES)
    assert page.workers[0].evaluate(SEIZE, json.dumps(REPORT)) == []
    assert "todavía no" in checked(page, DIVIDES)[0]
    page.evaluate("course.python.stop()")


@navegador
@pytest.mark.lenta
def test_a_forged_report_changes_nothing_else(page):
    """Dentro de Python, quien comprueba se puede cambiar: el ✓ es de quien lee. Lo guardado, no."""
    kept = json.dumps([["1.1", "my_dot", "# --- 1.1 · my_dot · lo mío", "\n\ndef my_dot(): pass\n"]])
    page.evaluate("text => localStorage.setItem('atencion/mi_biblioteca', text)", kept)
    stub = "ask: async ({ answer }) => JSON.parse(decodeURIComponent(answer.slice(1))), stop() {}"
    page.evaluate(f"course.real = {{ ...course.python }}; Object.assign(course.python, {{ {stub} }})")
    mark, code = "# --- 3.1 · torch · x", "\n\nimport torch"
    pieces = [["1.1", "torch", mark, code], ["3.1", "my_scaling", mark, code], ["3.1", "torch", f"{mark}\nx()", code], 7]
    for piece in (*pieces, ["3.1", "torch", mark, "\n\nevil()"]):
        text = "".join(f"%{byte:02x}" for byte in json.dumps(REPORT | {"piece": piece}).encode())
        assert "no se guarda en tu biblioteca" in checked(page, f"#{text}")[-1]
    assert page.evaluate("localStorage.getItem('atencion/mi_biblioteca')") == kept
    page.evaluate("Object.assign(course.python, course.real)")
    checked(page, "import page\npage.Page.judged = lambda *_: {'need': ['../../../otra']}")
    checked(page, GOOD)
    expect(place(page).locator(".exercise-report")).to_contain_text("Tu código cambia lo que lo comprueba")
    assert checked(page, GOOD)[0].endswith("está bien.")  # en otro Python


def kept(page, box, text):
    """Espera lo guardado. Chromium, si está muy ocupado, cambia de proceso y lo lee a la siguiente."""
    for _ in range(2):
        if box.count() and text in box.input_value():
            return
        page.reload()
    expect(box).to_have_value(re.compile(re.escape(text)))


def reload_until(page, box, text):
    """Recarga la página, y lo escrito sigue, tal cual."""
    page.reload()
    kept(page, box, text)
    expect(box).to_have_value(text)


@navegador
def test_each_name_keeps_its_own_and_takes_it_away(browser, folder):
    with reading(browser, f"{folder.as_uri()}/", f"{LESSON}.html") as page:
        page.on("dialog", lambda dialog: dialog.accept())
        who, box = drawer(page).get_by_role("textbox", name="¿Quién eres?"), place(page).get_by_role("textbox")
        write(page, "# sin nombre")
        for name, there in ((" Ana  Pérez/", "pesos"), ("", "# sin nombre"), ("ana pérez/", "# de Ana")):
            with page.expect_event("load"):
                who.fill(name)
                who.press("Enter")
            kept(page, box, there)
            if there == "pesos":  # lo que hay en el hueco: nada de nadie
                write(page, "# de Ana")
        with page.expect_event("load"):
            page.get_by_role("button", name="Borrar lo mío de este ordenador").press("Enter")
        expect(who).to_be_focused()
        kept(page, box, "# sin nombre")
        assert page.evaluate("Object.keys(localStorage).filter(key => /@|borrado/.test(key))") == []


@navegador
def test_what_never_ends_is_stopped_and_the_page_goes_on(page):
    write(page, HANGS)
    page.keyboard.press("Control+Enter")
    page.wait_for_timeout(700)
    place(page).get_by_role("button", name="Parar el ejercicio 3.1").click()
    assert place(page).locator(".exercise-report").inner_text().startswith("Parado")
    assert checked(page, GOOD)[0].endswith("está bien.")


@navegador
def test_what_is_written_stays_and_is_handed_in(page, tmp_path):
    write(page, DIVIDES)
    write(page, "# Ejercicio 3.3\nmy_deviation = 24\n", "3.3")
    reload_until(page, place(page).get_by_role("textbox"), DIVIDES)
    with page.expect_download() as waiting:
        drawer(page).get_by_role("button", name="Guardar mis respuestas").click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    assert path.name == f"{LESSON}.ipynb"
    book = submissions.read_notebook(path)
    found = json.loads(path.read_text("utf-8"))
    whole = json.loads((ROOT / f"notebooks/{LESSON}.ipynb").read_text("utf-8"))
    assert [cell["id"] for cell in found["cells"]] == [cell["id"] for cell in whole["cells"]]
    mine = {answered(cell): cell["source"] for cell in found["cells"]}
    assert mine["3.1"] == DIVIDES
    assert mine["3.3"] == "# Ejercicio 3.3\nmy_deviation = 24\n"
    assert book.lesson == "03"
    assert book.own["3.1"] == DIVIDES.strip()
    page.on("dialog", lambda dialog: dialog.accept())
    place(page).get_by_role("button", name="Empezar de nuevo el ejercicio 3.1").click()
    expect(place(page).get_by_role("textbox")).not_to_have_text(DIVIDES)
    page.locator("input[type=file]").set_input_files(path)
    expect(page.locator(".answers-kept [role=status]")).to_have_text("Traídas las respuestas de 3.1.")
    assert place(page).locator(".cm-content").inner_text().strip() == DIVIDES.strip()


TYPED = """node => {
    for (const letter of 'abc') {node.value += letter; node.dispatchEvent(new Event('input'));}
}"""


@navegador
def test_what_is_written_is_read_in_another_tab_that_takes_nothing_back(page):
    """Aunque la otra lo sepa tarde: cuando aún va por la primera letra."""
    here = page.locator(".exercise textarea").last  # el editor, que llega después, cuenta lo mismo
    start = here.input_value()
    with contextlib.closing(page.context.new_page()) as other:
        other.goto(page.url)
        here.evaluate(TYPED)
        expect(other.locator(".exercise textarea").last).to_have_value(f"{start}abc")
        other.wait_for_timeout(200)
        assert here.input_value() == f"{start}abc"
        reload_until(page, here, f"{start}abc")


# --- Las celdas de la lección, y la biblioteca ----------------------------------------------------


def hand(page, cell):
    """Lo de una celda que se puede ejecutar, abierta."""
    page.evaluate(OPEN_ALL)
    host = page.locator(f"[data-cell='{cell}']")
    if host.locator(".open").count():
        host.locator(".open").focus()
        page.keyboard.press("Enter")
    else:
        host.locator("textarea, .cm-content").focus()
    return host


def ran(page, cell, change=()):
    """Lo que sale de una celda, después de cambiar en ella un texto por otro, con el teclado."""
    host = hand(page, cell)
    code = host.locator(".cm-content")
    code.wait_for()
    expect(code).to_be_focused()
    if change:
        source = "\n".join(host.locator(".cm-line").all_inner_texts())
        assert change[0] in source
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(source.replace(*change))
    times = int(host.get_attribute("data-checked") or 0)
    page.keyboard.press("Control+Enter")
    expect(host).to_have_attribute("data-checked", str(times + 1), timeout=90_000)
    return host.locator(".exercise-report").inner_text()


@navegador
def test_a_cell_of_the_lesson_is_changed_and_run(page):
    cell = "8464e5df"
    host = page.locator(f"[data-cell='{cell}']")
    output = host.locator("xpath=ancestor::*[contains(concat(@class, ' '), 'cell ')][1]/preceding-sibling::*[1]")
    saved = output.locator(".cell_output").inner_text()
    assert ran(page, cell) == f"Sale:\n{saved}"
    said = ran(page, cell, ("print(", "print('<b>hola</b>', "))
    assert said.startswith("Sale:\n<b>hola</b>")
    assert "Python no entiende la línea" in ran(page, cell, ("print(", "print(("))
    host.get_by_role("button", name="Dejarla como estaba la celda").click()
    expect(host.locator(".open")).to_be_focused()
    expect(output.locator(".cell_output")).to_be_visible()
    assert ran(page, cell) == f"Sale:\n{saved}"


@navegador
def test_a_line_is_written_in_the_page_and_the_lesson_goes_on_with_it(page):
    cell, right = "tuya-share", "numbers / numbers.sum(dim=-1, keepdim=True)"
    host = page.locator(f"[data-cell='{cell}']")
    expect(host.locator(".open")).to_have_text("Escribir tu línea")
    said = ran(page, cell, ("...", right.replace("sum", "amax")))
    assert "Tu línea «share»: todavía no. Lo que sigue usa la del curso." in said
    assert "Divides por el máximo, y es por la suma." in said
    assert page.evaluate("course.library().filter(([number]) => number === '3.a')") == []
    mine = f"[{right}, print('la mía')][0]"
    assert "está bien. Lo que sigue usa la tuya." in ran(page, cell, (right.replace("sum", "amax"), mine))
    text = "\n".join(host.locator(".cm-line").all_inner_texts())
    assert mine in text
    reload_until(page, host.get_by_role("textbox"), text)
    expect(page.get_by_text("○ Tu línea «share»: sin escribir")).to_be_hidden()
    assert "la mía" in ran(page, "softmax-tuya")
    ((_, name, _, code),) = page.evaluate("course.library().filter(([number]) => number === '3.a')")
    assert (name, mine in code) == ("share", True)
    host.get_by_role("button", name="Dejarla como estaba la celda").click()
    expect(host.locator(".open")).to_be_focused()
    assert "la mía" not in ran(page, "softmax-tuya")


FIGURES = [  # una celda, cuántas figuras se ven y lo que se dice
    ("from IPython.display import display\nfor i in range(50): display(plot_rows({'a': [i]}, 'x'))", 6,
     "Nota: tu celda dibuja 50 figuras. Aquí están las 6 primeras."),
    ("plot_lines(range(10_000), {'a': torch.rand(10_000)})", 1, "Sale:"),
    ("import matplotlib.pyplot as plt\nplt.figure(figsize=(900, 900))\nplt.show()", 0, "es demasiado grande para la página"),
    ("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('$x^2$')\nprint('a')", 1, "Sale:\na"),
]  # fmt: skip
ASK = "source => course.python.ask({ lesson: [], source, library: [] }, () => {}, new AbortController().signal)"
# Un informe con una figura que no lo es no llega a la página.
FORGED = """async ([report, figure]) => {
    const ask = source => course.python.ask({ lesson: [], source, library: [] }, () => {}, new AbortController().signal);
    const told = JSON.stringify(JSON.stringify({ ...JSON.parse(report), figures: [figure] }));
    await ask(`import page, json\npage.Page.ran = lambda *_: json.loads(${told})`);
    return ask('1').then(JSON.stringify, error => error.message);
}"""
HEAD = "iVBORw0KGgoAAAANSUhEUgAA"
PICTURES = [7, {"png": "<svg onload=x>", "alt": ""}, {"png": f"{HEAD}f///AAAACggGAAAA", "alt": ""}, {"png": f"{HEAD}AAoAAAAK", "alt": []}]
# Lo que hay en una figura: medidas, textos, líneas, barras y mapas, con sus colores.
SEEN = "import torch\nfrom course_lib.plots import *\nTOKENS =" + re.search(
    r"\nTOKENS =(.*?)\n\n\neach_example", (ROOT / "tests/test_plots.py").read_text("utf-8"), re.DOTALL
)[1] + """
import hashlib, json
import numpy as np
from matplotlib.colors import to_hex
torch.manual_seed(0)

def seen(figure):
    figure.draw_without_rendering()
    plain = lambda one: (np.ma.filled(np.ma.asarray(one, float), -9) + 0.001).round(1).tolist()
    text = lambda many: [one.get_text() for one in many if one.get_text()]
    found = [figure.get_size_inches().round(2).tolist(), text(figure.texts)]
    for ax in figure.axes:
        legend = ax.get_legend()
        names = [ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label, *ax.texts, *(legend.get_texts() if legend else ())]
        found.append(text(names))  # y de los ejes, lo que se ve
        for axis, (low, high) in ((ax.xaxis, sorted(ax.get_xlim())), (ax.yaxis, sorted(ax.get_ylim()))):
            found.append(text([mark.label1 if mark.label1.get_visible() else mark.label2 for mark in axis.get_major_ticks() if low <= mark.get_loc() <= high]))
        found.append([[to_hex(one.get_color()), one.get_linestyle(), plain(one.get_xydata())] for one in ax.lines])
        shapes = [one.get_bbox().get_points() if hasattr(one, "get_bbox") else one.get_path().vertices for one in ax.patches]
        found.append([[to_hex(one.get_facecolor()), one.get_hatch(), plain(at)] for one, at in zip(ax.patches, shapes)])
        found.append([[one.get_cmap().name, plain(one.get_array())] for one in ax.images])
    said = json.dumps(found, ensure_ascii=False)
    return said if len(said) < 3900 else said[:1500] + hashlib.sha256(said.encode()).hexdigest()
"""


@navegador
def test_a_cell_that_draws_shows_its_figure(page):
    """La misma que está guardada; y cambiada, la suya. Si son demasiadas, o enormes, se dice."""
    cell = "54af94ee"
    saved = page.locator(f"xpath=(//*[@data-cell='{cell}']/following::img)[1]")  # espera detrás de su predicción
    figures = page.locator(f"[data-cell='{cell}'] .exercise-report img")
    assert ran(page, cell) == "Sale:"
    expect(figures).to_have_attribute("alt", saved.get_attribute("alt"))
    sizes = [[int(one.get_attribute(side)) for side in ("width", "height")] for one in (saved, figures)]
    assert all(abs(a - b) <= 0.03 * a for a, b in zip(*sizes)), sizes
    assert ran(page, cell, ('"porcentaje"', '"<b>otro</b>"')) == "Sale:"
    expect(figures).to_have_attribute("alt", re.compile("<b>otro</b>: «1» 0.17"))
    for text, count, note in FIGURES:
        page.keyboard.press("Control+a")
        page.keyboard.insert_text(text)
        assert note in ran(page, cell)
        expect(figures).to_have_count(count)
    page.locator(f"[data-cell='{cell}']").get_by_role("button", name="Dejarla como estaba la celda").click()


@lenta
@navegador
def test_what_is_not_a_picture_is_not_shown(page):
    """Aunque lo diga quien ha cambiado lo que lo comprueba; y lo que no acaba de dibujarse se para."""
    for figure in PICTURES:
        assert page.evaluate(FORGED, [json.dumps(REPORT), figure]).startswith("Tu código cambia lo que lo comprueba")
    many = page.evaluate(ASK, "from course_lib.plots import plot_rows\nplot_rows({'a': range(30_000)}, range(30_000))")
    assert "tarda más de 30 s" in many["findings"][0] and not many["figures"]


@lenta
@navegador
@pytest.mark.parametrize("name", EXAMPLES, ids=lambda name: name.replace(" ", "_"))
def test_what_is_drawn_is_drawn_here_too(page, name):
    """Cada clase de gráfica, con el matplotlib de la página y con el del curso: los mismos ejes, textos, colores y datos."""
    program = f"{SEEN}\nprint(seen(EXAMPLES[{name!r}]()))"
    with contextlib.redirect_stdout(io.StringIO()) as wanted:
        exec(program, {})
    found = page.evaluate(ASK, program)
    assert found["printed"] == wanted.getvalue(), found["findings"]


@lenta
@navegador
def test_what_is_right_goes_to_the_library_and_holds_the_weights_of_bert(browser, folder, tmp_path, monkeypatch):
    """De la página sale el mi_biblioteca.py que lee el curso; y en la 07, las piezas, con BERT."""
    with reading(browser, f"{folder.as_uri()}/", f"{LESSON}.html") as page:
        assert checked(page, GOOD)[0].endswith("está bien.")
        with page.expect_download() as waiting:
            drawer(page).get_by_role("button", name="Guardar mi biblioteca").click()
        (tmp_path / "mis_cuadernos").mkdir()
        waiting.value.save_as(tmp_path / "mis_cuadernos" / waiting.value.suggested_filename)
        monkeypatch.setattr(library, "place", lambda: tmp_path / "mis_cuadernos/mi_biblioteca.py")
        (piece,) = library.read()[1]
        assert (piece.number, piece.name, piece.edited) == ("3.1", "my_softmax", False)
        assert "powers.sum(-1" in piece.code
        whole = json.dumps([["5.1", "my_attention", "# --- 5.1 · my_attention", f"\n\n{OWN}\n"]])
        page.evaluate("text => localStorage.setItem('atencion/mi_biblioteca', text)", whole)
        page.goto(f"{folder.as_uri()}/{PIECES}.html")
        said = ran(page, "07c00002")
        assert "1 de 3 piezas son tuyas; de course_lib, my_projections, my_split_heads." in said
        whole = whole.replace("-1) @ value", "-2) @ value")
        page.evaluate("text => localStorage.setItem('atencion/mi_biblioteca', text)", whole)
        assert "Tensor-likes are not close" in ran(page, "07c00002")


OWN = """import torch
def my_attention(query, key, value, mask=None):
    weights = torch.softmax(query @ key.mT / key.shape[-1] ** 0.5, -1)
    return torch.softmax(query @ key.mT / key.shape[-1] ** 0.5, -1) @ value, weights"""


# --- Lo que guarda el navegador ---------------------------------------------------------------------

FORBIDDEN = """for (const name of ["localStorage", "sessionStorage", "indexedDB"])
    Object.defineProperty(window, name, {configurable: true, get() { throw new DOMException("", "SecurityError"); }});"""
PRIVATE = "Storage.prototype.setItem = () => { throw new DOMException('', 'QuotaExceededError'); };"
MISSING = "for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, {value: null});"
UNKEPT = "no deja guardar nada aquí, o no le queda sitio"


@pytest.fixture(scope="module")
def address(folder):
    with serve(folder) as address:
        yield address


def opened(page, address, caged):
    """Una página; si se pide, dentro de otra que no la deja guardar nada."""
    if not caged:
        page.goto(address)
        return page
    style = "position: fixed; inset: 0; width: 100%; height: 100%"
    cage = f'<iframe sandbox="allow-scripts" src="{address}" style="{style}"></iframe>'
    page.route("**/jaula.html", lambda route: route.fulfill(body=cage, content_type="text/html"))
    page.goto(address.rpartition("/")[0] + "/jaula.html")
    return page.frames[-1]


@navegador
@pytest.mark.parametrize(("script", "caged"), [
    pytest.param("", True, id="encerrada"), *(
        pytest.param(script, False, id=name, marks=lenta)
        for name, script in (("prohibido", FORBIDDEN), ("privado", PRIVATE), ("sin nada", MISSING)))
])  # fmt: skip
def test_where_nothing_is_kept_everything_goes_on_and_it_is_said_once(browser, address, script, caged):
    with reading(browser, address, "index.html", "woff2|ERR_FAILED|Ignored call", script=script) as page:
        found = opened(page, f"{address}search.html?q=softmax", caged)
        expect(found.locator("#search-results li").first).to_be_visible()
        lesson = opened(page, f"{address}{LESSON}.html", caged)
        lesson.get_by_role("button", name="Tema").click()
        lesson.get_by_role("button", name="Oscuro").click()
        expect(lesson.locator("html")).to_have_attribute("data-theme", "dark")
        lesson.evaluate(OPEN_ALL)
        expect(lesson.locator(".exercise-unkept")).to_contain_text(UNKEPT)
        place(lesson).get_by_role("textbox").focus()
        place(lesson).locator(".cm-content").wait_for()
        page.keyboard.type("# mío")
        expect(place(lesson).locator(".cm-content")).to_contain_text("# mío")
        expect(lesson.locator(".exercise-unkept")).to_have_count(1)
        assert lesson.evaluate("localStorage.getItem('atencion/03_softmax_y_escalado/3.1')").endswith("# mío")
        for _ in range(2 * caged):  # ahí no se puede preguntar: se pide otra vez
            place(lesson).get_by_role("button", name="Empezar de nuevo el").click()
        expect(place(lesson).locator(".cm-content", has_text="# mío")).to_have_count(int(not caged))


@navegador
def test_what_does_not_fit_is_said_and_stays_on_the_screen(browser, address):
    with reading(browser, address, f"{LESSON}.html") as page:
        page.evaluate(OPEN_ALL)
        write(page, "# corto")
        expect(page.locator(".exercise-unkept")).to_have_count(0)
        page.evaluate("""() => { for (let size = 2 ** 23; size >= 8; size /= 2)
            try { localStorage.setItem('otro' + size, '-'.repeat(size)); } catch {} }""")
        write(page, f"# {'largo ' * 50}")
        expect(page.locator(".exercise-unkept")).to_contain_text(UNKEPT)
        expect(place(page).locator(".cm-content")).to_contain_text("largo largo")
        page.evaluate("for (const key of Object.keys(localStorage)) if (key.startsWith('otro')) localStorage.removeItem(key)")
        write(page, f"# {'cabe ' * 50}")
        expect(page.locator(".exercise-unkept")).to_have_count(0)
        page.reload()
        expect(place(page).get_by_role("textbox")).to_have_value(f"# {'cabe ' * 50}")


@navegador
@pytest.mark.parametrize("chosen", ["Quedarme con esta", "Poner la otra"])
def test_two_tabs_keep_both_answers_and_the_reader_chooses(browser, address, chosen):
    with reading(browser, address, f"{LESSON}.html") as one:
        other = one.context.new_page()
        other.goto(one.url)
        for page in (one, other):
            page.evaluate(OPEN_ALL)
        write(one, "# de la primera")
        expect(place(other).get_by_role("textbox")).to_have_value("# de la primera")  # allí no se había escrito
        write(other, "# de la segunda")
        expect(place(one).locator(".exercise-other pre")).to_have_text("# de la segunda")
        expect(place(one).locator(".cm-content")).to_have_text("# de la primera")
        expect(place(other).locator(".exercise-other pre")).to_have_text("# de la primera")
        one.close()
        other.reload()  # y las dos siguen ahí
        other.evaluate(OPEN_ALL)
        expect(place(other).get_by_role("textbox").first).to_have_value("# de la segunda")
        expect(place(other).locator(".exercise-other pre")).to_have_text("# de la primera")
        place(other).get_by_role("button", name=chosen).click()
        expect(other.locator(".exercise-other")).to_have_count(0)
        other.reload()
        expect(other.locator(".exercise-other")).to_have_count(0)
        left = "# de la segunda" if chosen == "Quedarme con esta" else "# de la primera"
        expect(place(other).get_by_role("textbox")).to_have_value(left)


@navegador
@pytest.mark.parametrize("old", [False, pytest.param(True, marks=lenta)])
def test_a_notebook_that_is_brought_keeps_its_own_cells(browser, folder, tmp_path, old):
    """La respuesta usa lo que hacen otras celdas, de antes y de después; y no se pierden al guardarla."""
    uses = "# Ejercicio 3.1\ndef my_softmax(scores):\n    return rest(scores) / some[0](rest(scores))\n"
    lesson = json.loads((ROOT / f"notebooks/{LESSON}.ipynb").read_text("utf-8"))["cells"]
    at = next(k for k, cell in enumerate(lesson) if answered(cell) == "3.1")
    own = ["import torch", "some = []", "%time some.append(lambda x: x.sum(-1, keepdim=True))", "1 + 1?"]
    after = "def rest(x):\n    return torch.exp(x - x.amax(-1, keepdim=True))"
    cells = [*lesson[:at], *map(own_cell, own), lesson[at] | {"source": uses}, own_cell(after), *lesson[at + 1 :]]
    book = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    if old:
        cells = [{**cell, "input": cell["source"]} for cell in cells]
        book = {"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}
    (tmp_path / "mío.ipynb").write_text(json.dumps(book), encoding="utf-8")
    with reading(browser, f"{folder.as_uri()}/", f"{LESSON}.html") as page:
        page.locator("input[type=file]").set_input_files(tmp_path / "mío.ipynb")
        said = "Traídas las respuestas de 3.1. Con 5 celdas tuyas, que se ejecutan en su sitio."
        expect(page.locator(".answers-kept [role=status]")).to_have_text(said)
        place(page).get_by_role("button", name="Comprobar").click()
        expect(place(page)).to_have_attribute("data-checked", "1", timeout=90_000)
        expect(place(page).locator(".exercise-report")).to_contain_text("está bien")
        with page.expect_download() as waiting:
            drawer(page).get_by_role("button", name="Guardar mis respuestas").click()
        waiting.value.save_as(tmp_path / "guardado.ipynb")
    saved = [source for _, source in submissions.read_notebook(tmp_path / "guardado.ipynb").cells]
    assert [source for source in saved if source in (*own, after, uses)] == [*own, uses, after]


def own_cell(source):
    return {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source}


@navegador
def test_a_file_that_is_not_a_notebook_changes_nothing(page, tmp_path):
    for text in ("", "{", '{"cells": 3}', '{"cells": []}', '{"cells": [{"cell_type": "code", "source": "x"}]}'):
        (tmp_path / "otro.ipynb").write_text(text)
        page.locator("input[type=file]").set_input_files(tmp_path / "otro.ipynb")
        expect(page.locator(".answers-kept [role=status]")).to_contain_text("No ha cambiado nada")


@lenta
@navegador
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["1280", "390"])
def test_axe_finds_nothing(browser, folder, size, scheme):
    options = {"viewport": size, "color_scheme": scheme}
    with reading(browser, f"{folder.as_uri()}/", f"{LESSON}.html", **options) as page:
        hand(page, "8464e5df")
        write(page, GOOD)
        assert audit(page) == []
        assert page.evaluate("document.scrollingElement.scrollWidth") <= size["width"]


TREE = """
- paragraph: /Intro entra en el editor y Escape sale/
- group /Editor. Tu respuesta al ejercicio 3.1/:
  - textbox "Tu respuesta al ejercicio 3.1"
- button "Comprobar el ejercicio 3.1"
- button "Empezar de nuevo el ejercicio 3.1"
- status:
  - paragraph: /todavía no/
  - list:
    - listitem: /suma de todo/
    - listitem: /desborda/
"""


@navegador
def test_what_a_screen_reader_hears(page):
    """Cada cosa, con su nombre y por su orden: dónde se escribe, qué se puede hacer, y lo que se dice, en cuanto se dice."""
    checked(page, DIVIDES)
    expect(place(page)).to_match_aria_snapshot(TREE)
    assert "Selection" not in place(page).aria_snapshot()  # lo que dice el editor, en español
    ran(page, "8464e5df")
    expect(page.locator("[data-cell='8464e5df']")).to_match_aria_snapshot("""
- group /Editor. El código de la celda/:
  - textbox "El código de la celda"
- button "Ejecutar la celda"
- button "Dejarla como estaba la celda"
- status: /Sale:/
""")


# --- En Firefox, de la carpeta y con el teclado ---------------------------------------------------


@lenta
def test_in_firefox(folder):
    if find_firefox() is None:
        stop = pytest.fail if os.environ.get("CI") else pytest.skip
        stop("Falta Firefox: instálalo.")
    with open_firefox() as page:

        def done(place, text=None):
            """Lo que se dice, después de escribir y pulsar Ctrl + Intro."""
            if page.evaluate(f'!!document.querySelector("{place} textarea")'):
                page.focus(f"{place} textarea")
            page.until(f'!!document.querySelector("{place} .cm-content")')
            if text:
                page.press("Control", "a")
                page.press("Delete")
                page.write(text)
            times = page.evaluate(f'Number(document.querySelector("{place}").dataset.checked ?? 0)')
            page.press("Control", "Enter")
            page.until(f'document.querySelector("{place}").dataset.checked > {times}')
            return page.evaluate(f'document.querySelector("{place} .exercise-report").innerText')

        page.goto(f"{folder.as_uri()}/{LESSON}.html")
        answer = "[id='responde-3.1']"
        start = "# Ejercicio 3.1\nimport torch\ndef my_softmax(scores):\n"  # el editor sangra lo que sigue
        assert "suma de todo" in done(answer, f"{start}e = torch.exp(scores)\nreturn e / e.sum()")
        good = f"{start}e = torch.exp(scores - scores.amax(-1, keepdim=True))\nreturn e / e.sum(-1, keepdim=True)"
        assert "está bien" in done(answer, good)
        page.goto(f"{folder.as_uri()}/{LESSON}.html")
        kept = page.evaluate(f"document.querySelector({json.dumps(answer + ' textarea')}).value")
        assert "e.sum(-1" in kept
        page.goto(f"{folder.as_uri()}/05_atencion.html")
        tip = "document.querySelector('[data-explorer=GeometryExplorer] .exp-handle')"
        page.evaluate("document.querySelector('[data-explorer=GeometryExplorer]').scrollIntoView()")
        page.until(f"!!{tip}")
        page.evaluate(f"{tip}.scrollIntoView({{block: 'center'}})")
        spot = f"(box => JSON.stringify([box.x + box.width / 2, box.y + box.height / 2, scrollY]))({tip}.getBoundingClientRect())"
        x, y, top = map(round, json.loads(page.evaluate(spot)))
        page.drag(x, y, 60)  # la punta va con el dedo, y la página se queda
        assert list(map(round, json.loads(page.evaluate(spot)))) == pytest.approx([x, y + 60, top], abs=6)
        page.goto(f"{folder.as_uri()}/{PIECES}.html")
        page.evaluate("document.querySelectorAll('details').forEach(fold => (fold.open = true))")  # va en «Para profundizar»
        page.evaluate("document.querySelector(\"[data-cell='07c00002'] .open\").click()")
        assert "0 de 3 piezas son tuyas" in done("[data-cell='07c00002']")


# --- Dentro del navegador, una muestra del corpus -------------------------------------------------

PLACE = "http://localhost/pyodide/"
INSIDE = """async ({names}) => {
    const bytes = async name => new Uint8Array(await (await fetch(name)).arrayBuffer());
    const python = await loadPyodide({indexURL: '%s'});
    python.unpackArchive(await bytes('numpy.whl'), 'wheel');
    const site = python.runPython('import site; site.getsitepackages()[0]');
    python.unpackArchive(await bytes('curso.zip'), 'zip', {extractDir: site});
    for (const [name, text] of Object.entries(JSON.parse(new TextDecoder().decode(await bytes('corpus'))))) {
        python.FS.mkdirTree('/corpus/answers');
        python.FS.writeFile(`/corpus/${name}`, text);
    }
    python.globals.set('asked', JSON.stringify(names));
    return python.runPython(`
import sys, json
sys.path.insert(0, '/corpus')
import page
kept = page.prepare()
import judge
json.dumps(judge.judged(names=json.loads(asked)))`);
}""" % PLACE  # fmt: skip


def judged_inside(browser, names):
    """Lo que se dice de unas respuestas con la imitación, dentro de Chromium."""
    tests = ROOT / "tests"
    corpus = {f"answers/{path.name}": path.read_text("utf-8") for path in (tests / "answers").glob("*.py")}
    for path in (tests / "tools/judge.py", tests / "helpers_answers.py"):
        corpus[path.name] = path.read_text("utf-8")
    given = {"curso.zip": exercises.course_zip(), "corpus": json.dumps(corpus), "": "<!doctype html>"}
    given["numpy.whl"] = next(exercises.PYODIDE.glob("*.whl")).read_bytes()

    def answer(route):
        name = route.request.url.removeprefix(PLACE)
        body = given.get(name) if name in given else (exercises.PYODIDE / name).read_bytes()
        kind = {"wasm": "application/wasm", "js": "text/javascript", "": "text/html"}.get(name.rpartition(".")[2])
        route.fulfill(body=body, content_type=kind or "application/octet-stream")

    page = browser.new_page()
    page.set_default_timeout(600_000)
    page.route(f"{PLACE}**", answer)
    page.goto(PLACE)
    page.add_script_tag(url=f"{PLACE}pyodide.js")
    found = json.loads(page.evaluate(INSIDE, {"names": names}))
    page.close()
    return found


def inside(browser, step):
    chosen = {f"{a.exercise} · {a.name}": a for a in ANSWERS if a.exercise != "2.2"}
    names = list(chosen)[::step]
    found = judged_inside(browser, names)
    return compared(found, {name: report_of(chosen[name]) for name in names})


@navegador
def test_part_of_the_corpus_inside_the_browser(browser, pytestconfig):
    """Cada día, una de cada 400; cada noche, una de cada 75."""
    step = 75 if pytestconfig.getoption("todo") else 400
    other, told, refused = inside(browser, step)
    assert other == []
    assert len(told) + len(refused) <= 0.04 * len(ANSWERS) / step + 1.5, told + refused


def test_what_python_needs_is_what_is_published():
    """Lo guardado es lo que dice su huella, y la de NumPy, la que pide Pyodide; lo que dibuja, lo recortado y sus licencias."""
    wanted = vendor.recorded()
    for name, digest in wanted.items():
        assert hashlib.sha256((exercises.PYODIDE / name).read_bytes()).hexdigest() == digest
    numpy = vendor.lock((exercises.PYODIDE / "pyodide-lock.json").read_text("utf-8"))["numpy"]
    assert wanted[numpy["file_name"]] == numpy["sha256"]
    with zipfile.ZipFile(exercises.PYODIDE / vendor.DRAWING) as zipped:
        assert all(map(vendor.needed, zipped.namelist()))
    told = (exercises.PYODIDE / vendor.LICENSES).read_text("utf-8")
    assert [name for name in vendor.DRAWS if f"=== {name}: " not in told] == []
    pieces = exercises.python_pieces()
    assert len(pieces.pop(f"python/{vendor.DRAWING}")) <= 4e6  # con la primera celda que dibuja
    assert sum(map(len, pieces.values())) <= 10e6
