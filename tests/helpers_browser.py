"""Un JupyterLab de verdad, en Chromium, y lo que en él ve mal un estudiante: así se mira cada lección."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
from helpers_server import serve_lab
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_notebook
from playwright.sync_api import TimeoutError, expect, sync_playwright
from tools import notebooks

from course_tools.opening.server import EDITED, READ_ONLY

ROOT = Path(__file__).resolve().parents[1]

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
FLAGS += ["--disable-background-networking", "--disable-component-update"]
SCRATCH = Path("notebooks/de_prueba.ipynb")  # el cuaderno que escribe una prueba
VIEWPORT = {"width": 1200, "height": 1600}
PHONE = {"width": 390, "height": 800}
AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
TIMEOUT_S = 180  # lo que puede tardar una lección entera
DRAWING_S = 30  # lo que puede tardar en dibujarse todo cuando ya se ha ejecutado
WAITING_MS = 180_000  # lo que se espera a lo que, con el ordenador libre, llega enseguida
SAVING_MS = 200  # un explorador avisa al kernel cuando la mano para: 120 ms después

# JupyterLab pide una vez cada imagen de un texto con la ruta tal como está escrita y, al no
# encontrarla, con la buena. Si al final una imagen no se ve, lo dice `faults`.
# Y lo que dice JupyterLab si le toca guardar un cuaderno, o darle el foco, justo cuando se cierra.
CONSOLE_ALLOWED = re.compile(
    r"status of 404 .*/imagenes/[^/]+$|Error in Auto-Save Disposed|Could not restore the debugger state"
    r"|Cannot read properties of null \(reading 'footer'\)[^)]*_ensureFocus"
)

expect.set_options(timeout=30_000)  # los 5 segundos de siempre no bastan a un ordenador ocupado

# Qué celdas de código hay, qué número llevan y qué ha fallado, según JupyterLab.
READ_CELLS = """() => lesson.content.widgets
    .filter(cell => cell.model.type === 'code')
    .map(cell => ({
        count: cell.model.executionCount,
        busy: cell.model.executionState === 'running',
        raises: (cell.model.getMetadata('tags') || []).includes('raises-exception'),
        outputs: cell.model.outputs.toJSON(),
    }))"""

# Ejecuta todo. Nada más arrancar el kernel, la orden se puede perder: entonces, se repite.
RUN_ALL = """() => {
    const panel = lesson;
    const begun = () => panel.isDisposed || panel.content.widgets.some(cell =>
        cell.model.executionCount || cell.model.executionState === 'running');
    (async () => {
        for (let attempt = 0; attempt < 15; attempt++) {
            const run = jupyterapp.commands.execute('notebook:run-all-cells');
            await Promise.race([run, new Promise(done => setTimeout(done, 10000))]);
            if (begun()) return;
            await new Promise(done => setTimeout(done, 500));
        }
    })();
}"""

# Dice si ya se ha ejecutado todo, o si una celda ha fallado y las siguientes no se ejecutarán.
HAS_RUN = """() => {
    const cells = lesson.content.widgets.map(cell => cell.model).filter(({type}) => type === 'code');
    const outputs = ({outputs}) => Array.from({length: outputs.length}, (_, k) => outputs.get(k));
    return cells.every(cell => cell.executionCount && cell.executionState !== 'running')
        || cells.some(cell => !(cell.getMetadata('tags') || []).includes('raises-exception')
            && outputs(cell).some(output => output.type === 'error'));
}"""

# Baja por el cuaderno de pantalla en pantalla: JupyterLab dibuja una celda cuando se ve.
SWEEP = """async () => {
    const outer = lesson.node.querySelector('.jp-WindowedPanel-outer');
    const frame = () => new Promise(done => setTimeout(() => requestAnimationFrame(done), 30));
    for (let top = 0; ; top += outer.clientHeight) {
        outer.scrollTop = top;
        await frame();
        await frame();
        const last = outer.querySelector('.jp-Cell:last-of-type').getBoundingClientRect().bottom;
        if (top + outer.clientHeight >= last - outer.getBoundingClientRect().top + outer.scrollTop)
            return;
    }
}"""

# Lo que se ve en la página: cada imagen, con su tamaño real, y lo que no ha salido bien.
READ_PAGE = r"""() => {
    const find = selector => [...lesson.content.node.querySelectorAll(selector)];
    const texts = selector => find(selector).map(node => node.textContent);
    const raw = node => {
        const copy = node.cloneNode(true);
        copy.querySelectorAll('code, mjx-container').forEach(part => part.remove());
        return copy.textContent.match(/.{0,20}[$\\].{0,20}/g) || [];
    };
    return {
        images: find('img').map(image => ({
            name: image.alt || image.src.slice(0, 60),
            described: !['', 'Image'].includes(image.alt.trim()),  // JupyterLab pone «Image»
            width: image.complete && image.naturalWidth,
        })),
        formulas: [
            ...texts('merror, mtext[mathcolor=red]'),
            ...find('.jp-RenderedMarkdown').flatMap(raw),
        ],
        widgets: [
            ...texts('.jupyter-widgets-error-widget'),
            ...texts('.jp-OutputArea-output').filter(
                text => /^(Loading widget\.\.\.|Error displaying widget.*)$/.test(text)),
        ],
        waiting: lesson.content.widgets.filter(cell => cell.isPlaceholder()).length,
    };
}"""

# Lo que está al lado del camino se abre plegado: se despliega, para mirarlo también.
OPEN = """async ([path, saved]) => {
    const late = new Promise((_, reject) => setTimeout(
        () => reject(new Error('El cuaderno no se abre: ¿JupyterLab pregunta algo?')), 180000));
    const open = async () => {
        await jupyterapp.restored;
        const { contents } = jupyterapp.serviceManager, save = (window.saves ??= contents.save.bind(contents));
        contents.save = (...given) => (window.last = save(...given));
        const options = {path, factory: 'Notebook'};
        const panel = await jupyterapp.commands.execute('docmanager:open', options);
        await panel.context.ready;
        await panel.sessionContext.ready;
        if (!saved) await panel.sessionContext.session.kernel.info;
        jupyterapp.shell.activateById(panel.id);
        window.lesson = panel;
        await jupyterapp.commands.execute('notebook:expand-all-headings');
    };
    await Promise.race([open(), late]);
}"""

# Lo que se ve en las celdas con controles, que se ponen antes a la vista.
PLACES = """async () => {
    const frame = () => new Promise(done => setTimeout(() => requestAnimationFrame(done), 30));
    const places = [];
    for (const cell of lesson.content.widgets) {
        const outputs = cell.model.type === 'code' ? cell.model.outputs.toJSON() : [];
        const kind = 'application/vnd.jupyter.widget-view+json';
        if (!outputs.some(output => output.data?.[kind])) continue;
        cell.node.scrollIntoView();
        for (let turn = 0; turn < 20 && cell.isPlaceholder(); turn++) await frame();
        const texts = [...cell.node.querySelectorAll('.jp-OutputArea-output')].map(
            node => node.querySelector('.exp') ? 'explorador' : node.textContent.trim());
        places.push(...texts);
    }
    return places;
}"""


# Lo que Jupyter deja en el sitio de un control cuyo estado no encuentra.
LOADING, LOST = "Loading widget...", "Error displaying widget: model not found"

# Lo que deja un kernel como recién arrancado, salvo lo que ya ha importado.
BLANK = """import sys
if "ipywidgets" in sys.modules:
    sys.modules["ipywidgets"].Widget.close_all()
get_ipython().reset()"""

CLOSE = """async ([scratch, blank]) => {
    if (!window.lesson || lesson.isDisposed) return;
    const context = lesson.sessionContext, kernel = context.session?.kernel;
    if (kernel && lesson.context.path === scratch) {
        context.kernelPreference = {...context.kernelPreference, shutdownOnDispose: false};
        await kernel.requestExecute({code: blank, silent: true, store_history: false}).done;
    } else if (kernel) await context.shutdown();
    lesson.content.model.dirty = false;
    await Promise.allSettled([window.last]); // lo que se está guardando no llega después de lo que se escriba
    lesson.dispose();
}"""

# El reloj es el de la página: lo que un explorador tenía que mandar antes ya lo ha mandado.
ASK = """async ([code, wait, silent]) => {
    await new Promise(done => setTimeout(done, wait));
    const options = {code, silent, store_history: !silent};
    const future = lesson.sessionContext.session.kernel.requestExecute(options);
    let text = '';
    future.onIOPub = message => { text += message.content.text ?? ''; };
    await future.done;
    return text.trim();
}"""


# Lo que axe-core encuentra mal en una parte de la página o, si no se dice, en toda, cuando nada se mueve.
AUDIT = """async part => {
    const moving = (part ? [] : document.getAnimations())  // el cursor no acaba
        .filter(one => Number.isFinite(one.effect.getComputedTiming().endTime));
    await Promise.allSettled(moving.map(one => one.finished));
    return (await axe.run(part ?? document, {preload: false})).violations.flatMap(({id, nodes}) =>
        nodes.map(node => `${id}: ${node.target} ${node.html.slice(0, 120)}`));
}"""


def audit(page, part=None):
    """Lo que axe-core encuentra mal en una página, o en una parte de ella."""
    page.evaluate(f"() => {{ {AXE} }}")
    return page.evaluate(AUDIT, part)


def find_chromium():
    """Devuelve la ruta de un Chromium de este ordenador, o None: mejor, el que no sabe abrir ventanas."""
    names = "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"
    places = (shutil.which(name) for name in (os.environ.get("CHROMIUM"), *names) if name)
    return next(filter(None, places), None)


class Lab:
    """Un JupyterLab sobre una copia del curso, y una página de Chromium que lo maneja."""

    def __init__(self, folder, page, url):
        self.folder, self.page, self.url = folder, page, url
        self.messages, self.outside, self.cells = [], [], []
        page.on("console", self._keep_message)
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.context.route(lambda url: not is_local(url), self._refuse)
        page.on("websocket", lambda ws: is_local(ws.url) or self.outside.append(ws.url))

    def _keep_message(self, message):
        text = f"{message.text} {message.location['url']}"
        if message.type == "error" and not CONSOLE_ALLOWED.search(text):
            self.messages.append(text)

    def _refuse(self, route):
        self.outside.append(route.request.url)
        route.abort()

    def restore(self, path):
        """Deja el cuaderno de la copia como está en el curso: JupyterLab guarda solo."""
        shutil.copyfile(ROOT / path, self.folder / path)

    def blank(self, path):
        """Deja el cuaderno de la copia como en el curso, pero sin salidas, como lo abre quien estudia."""
        nb = notebooks.read(ROOT / path)
        nb.metadata.pop("widgets", None)
        for cell in nb.cells:
            if cell.cell_type == "code":
                cell.outputs, cell.execution_count = [], None
        nbformat.write(nb, self.folder / path)

    def read(self, path):
        """Lee el cuaderno de la copia; si JupyterLab lo está guardando, espera a que acabe."""
        deadline = time.monotonic() + DRAWING_S
        while True:
            try:
                return notebooks.read(self.folder / path)
            except notebooks.NotebookError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def show(self, path, saved=False):
        """Cierra lo que haya y abre el cuaderno `path`; si es para verlo guardado, no espera al kernel."""
        self.close()
        self.messages.clear()
        self.outside.clear()
        self.page.evaluate(OPEN, [Path(path).as_posix(), saved])

    def open(self, path):
        """Abre el cuaderno `path` (relativo a la copia) y espera a que su kernel esté listo.

        Si una prueba que ha fallado ha dejado otro abierto, lo cierra.
        """
        self.show(path)
        self.page.evaluate("jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")

    @contextlib.contextmanager
    def trusted(self, path):
        """Mientras dure, JupyterLab se fía del cuaderno `path`: enseña sus controles guardados."""
        notary = NotebookNotary(data_dir=str(self.folder.parent / "jupyter" / "data"))
        notebook = notebooks.read(self.folder / path)
        notary.sign(notebook)
        try:
            yield
        finally:
            notary.unsign(notebook)
            notary.store.close()

    def open_saved(self, path, total):
        """Abre un cuaderno como está guardado y espera a sus `total` exploradores.

        Devuelve lo que se ve en el sitio de cada control. Jupyter pregunta por ellos al kernel y
        solo después lee los guardados. Si una celda se dibuja entre una cosa y otra, o si la
        pregunta se queda sin respuesta, no los enseña nunca, y hay que cerrar el cuaderno y abrirlo
        otra vez. Los que de verdad no están no salen ninguna vez.
        """
        for _ in range(4):
            self.show(path, saved=True)
            for _ in range(60):  # 15 segundos, por lo menos
                places = self.page.evaluate(PLACES)
                if places.count("explorador") == total or LOST in places:
                    break
                self.page.wait_for_timeout(250)
            if not {LOADING, LOST} & set(places):
                break
        return places

    def stop_kernel(self):
        """Apaga el kernel del cuaderno abierto, que sigue abierto."""
        self.page.wait_for_function("lesson.sessionContext.session?.kernel")
        self.page.evaluate("lesson.sessionContext.shutdown()")
        self.page.wait_for_function("!lesson.sessionContext.session?.kernel")

    def run_all(self):
        """Ejecuta todas las celdas, espera a la última y devuelve lo que hay en cada una."""
        self.page.evaluate(RUN_ALL)
        with contextlib.suppress(TimeoutError):
            self.page.wait_for_function(HAS_RUN, polling=100, timeout=TIMEOUT_S * 1000)
        return self.page.evaluate(READ_CELLS)

    def faults(self, path, first=""):
        """Abre y ejecuta el cuaderno `path`. Devuelve todo lo que un estudiante vería mal.

        Antes de la primera celda, y sin que cuente, el kernel ejecuta `first`.
        """
        self.open(path)
        if first:
            self.page.evaluate(ASK, [first, 0, True])
        cells = self.cells = self.run_all()
        found = [
            f"La celda de código {n} falla: {e}" for n, cell in enumerate(cells, 1) for e in errors(cell)
        ]
        counts = [cell["count"] for cell in cells]
        if counts != list(range(1, len(cells) + 1)):
            found.append(f"No se han ejecutado todas las celdas, en orden: {counts}")
        return found + self.page_faults()

    def saved_faults(self, path, explorers):
        """Abre el cuaderno `path` como está guardado. Devuelve todo lo que un estudiante vería mal."""
        places = self.open_saved(path, explorers)
        found = [] if places.count("explorador") == explorers else [f"No están todos: {places}"]
        return found + self.page_faults()

    def page_faults(self):
        """Devuelve lo que se ve mal en el cuaderno abierto."""
        page = self.look()
        images = page["images"]
        found = [f"La imagen no se ve: {one['name']}" for one in images if not one["width"]]
        found += [f"La imagen no se describe: {one['name']}" for one in images if not one["described"]]
        found += [f"La fórmula no se entiende: {text}" for text in page["formulas"]]
        found += [f"El control no se ve: {text}" for text in page["widgets"]]
        found += [f"Pide algo de fuera: {url}" for url in self.outside]
        found += [f"La consola dice: {text}" for text in self.messages]
        return found

    def ask(self, code):
        """Ejecuta `code` en el kernel del cuaderno abierto y devuelve lo que imprime."""
        return self.page.evaluate(ASK, [code, SAVING_MS, False])

    def prints(self, code, text):
        """Dice si el kernel, que puede tardar en saber lo que ha hecho la mano, imprime `text`."""
        deadline = time.monotonic() + DRAWING_S
        while (said := self.ask(code)) != text and time.monotonic() < deadline:
            pass
        assert said == text
        return True

    def look(self):
        """Recorre el cuaderno, espera a que todo se dibuje y devuelve lo que se ve."""
        self.page.evaluate(SWEEP)
        deadline = time.monotonic() + DRAWING_S
        while True:
            page = self.page.evaluate(READ_PAGE)
            pending = page["formulas"] or page["widgets"] or page["waiting"]
            # Una imagen pedida con la ruta tal como está escrita ha acabado, y no se ve: falta la buena.
            done = not pending and all(image["width"] for image in page["images"])
            if done or time.monotonic() > deadline:
                return page
            self.page.wait_for_timeout(100)

    def start(self):
        """Carga la página de JupyterLab, como recién abierto, y espera a que esté lista."""
        self.page.goto(self.url)
        self.page.wait_for_function("window.jupyterapp !== undefined", timeout=WAITING_MS)
        self.page.evaluate("jupyterapp.restored")
        self.page.evaluate("jupyterapp.shell.collapseLeft()")

    def close(self):
        """Cierra el cuaderno abierto y su kernel.

        El del cuaderno de prueba se queda, en blanco, para la prueba siguiente: arrancar uno e
        importar el curso es lo que más tarda.
        """
        self.page.evaluate(CLOSE, [SCRATCH.as_posix(), BLANK])


def is_local(url):
    """Dice si `url` se queda en este ordenador."""
    parts = urlsplit(url)
    return parts.scheme in ("data", "blob") or parts.hostname in ("localhost", "127.0.0.1")


def errors(cell):
    """Devuelve los errores y los avisos que muestra una celda que no los esperaba."""
    failed = [f"{o['ename']}: {o['evalue']}" for o in cell["outputs"] if o["output_type"] == "error"]
    warned = ["".join(o["text"]) for o in cell["outputs"] if o.get("name") == "stderr"]
    return ([] if cell["raises"] else failed) + warned


@contextlib.contextmanager
def open_browser():
    """Abre Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        yield browser
        browser.close()


@contextlib.contextmanager
def open_lab(course=ROOT, theme="JupyterLab Light", browser=None, studying=False, editing=False):
    """Copia el curso, abre JupyterLab sobre la copia y da un `Lab` listo para usar.

    Con `studying`, como lo abre quien estudia: con `mis_cuadernos` y lo que apunta el curso; con `editing`,
    como lo abre quien lo cambia.
    """
    with contextlib.ExitStack() as stack:
        temporary = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        copy, home = temporary / "curso", temporary / "jupyter"
        more = ("course_tools", "course_checkers") if studying else ()
        for name in ("notebooks", "imagenes", "course_lib", ".jupyter", *more):
            if (course / name).exists():
                shutil.copytree(
                    course / name,
                    copy / name,
                    ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"),
                )
        chosen = home / "settings/@jupyterlab/apputils-extension/themes.jupyterlab-settings"
        chosen.parent.mkdir(parents=True)
        chosen.write_text(json.dumps({"theme": theme}), encoding="utf-8")
        arguments, variables = (), {}
        if studying or editing:
            arguments = (f"--ServerApp.contents_manager_class={READ_ONLY if studying else EDITED}",)
        if studying:
            variables = {"CURSO_CUADERNOS": str(copy), "CURSO_PROGRESO": ""}
            make = [sys.executable, "-m", "course_tools.opening.copies"]
            subprocess.run(make, cwd=copy, env=os.environ | variables, check=True)
        url = stack.enter_context(serve_lab(copy, home, *arguments, **variables))
        browser = browser or stack.enter_context(open_browser())
        page = stack.enter_context(browser.new_context(viewport=VIEWPORT)).new_page()
        lab = Lab(copy, page, url)
        lab.start()
        yield lab


def write(lab, *cells):
    """Escribe en la copia del curso un cuaderno con estas celdas y devuelve su ruta."""
    lab.close()
    about = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(new_notebook(cells=cells, metadata=about), lab.folder / SCRATCH)
    return SCRATCH


def show(lab, *lines):
    """Ejecuta un cuaderno con un explorador, que es la última línea, y devuelve su sitio en la página."""
    *before, call = lines
    code = "\n".join(["from course_lib.explorers import *", *before, f"explorer = {call}", "explorer"])
    assert lab.faults(write(lab, new_code_cell(code))) == []
    return lab.page.locator(".exp")
