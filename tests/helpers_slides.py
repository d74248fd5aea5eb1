"""Las clases, presentadas en JupyterLab: qué se ve en cada diapositiva y qué no cabe.

También es una orden, para mirar las diapositivas de una clase: una imagen de cada una en los dos
tamaños de proyector, y una hoja con todas juntas.

    python tests/helpers_slides.py notebooks/clases/05_atencion.ipynb CARPETA [--oscuro]
"""

import argparse
import contextlib
import sys
from pathlib import Path

from helpers_browser import VIEWPORT, open_lab
from PIL import Image

SCREENS = {"1280": (1280, 720), "1920": (1920, 1080)}  # un proyector modesto y uno corriente
SMALLEST_TEXT = 20 / 720  # de alto, en partes de la pantalla
SMALLEST_FIGURE = 0.3  # de alto, en partes de la pantalla
EMPTIEST = 0.45  # de la pantalla: menos que esto, y sin figura, está medio vacía

# Lo que se ve de la diapositiva: qué se corta, qué es pequeño y cuánto llena.
READ_SLIDE = r"""([smallestText, smallestFigure, emptiest]) => {
    const place = document.querySelector('.pr-place');
    const cells = [...place.querySelectorAll(':scope > .pr-on')];
    const faults = [];
    const over = place.scrollHeight - place.clientHeight;
    if (over > 1) faults.push(`no cabe: faltan ${over} píxeles a lo alto`);
    const leaves = 'p, li, h1, h2, h3, td, th, pre, img, svg, mjx-container, .cm-line, .exp';
    const seen = cells.flatMap(cell => [...cell.querySelectorAll(leaves)])
        .map(node => [node, node.getBoundingClientRect()])
        .filter(([node, box]) => box.width && box.height && !node.closest('mjx-assistive-mml'));
    const wide = Math.round(Math.max(0, ...seen.map(([, box]) => box.right - innerWidth)));
    if (wide > 1) faults.push(`se sale ${wide} píxeles a lo ancho`);
    const boxes = 'pre, .cm-scroller, table, .jp-RenderedMarkdown';
    for (const part of cells.flatMap(cell => [...cell.querySelectorAll(boxes)])) {
        const cut = part.scrollWidth - part.clientWidth;
        if (part.clientWidth && cut > 2 && !part.closest('.exp'))
            faults.push(`se cortan ${cut} píxeles a lo ancho: ${part.textContent.slice(0, 40)}`);
    }
    let bottom = 0;
    let figures = 0;
    for (const [node, box] of seen) {
        bottom = Math.max(bottom, box.bottom);
        if (node.matches('img')) {
            figures++;
            const scale = Math.min(box.width / node.naturalWidth, box.height / node.naturalHeight);
            const [tall, long] = [scale * node.naturalHeight, scale * node.naturalWidth];
            if (tall < smallestFigure * innerHeight && long < 0.33 * innerWidth)
                faults.push(`la figura queda pequeña: ${Math.round(long)} × ${Math.round(tall)}`);
        } else if (node.matches('.exp')) figures++;
        else if (!node.closest('.exp, svg, mjx-container')) {
            const size = parseFloat(getComputedStyle(node).fontSize);
            if (size < smallestText * innerHeight)
                faults.push(`letra de ${size.toFixed(0)} píxeles: ${node.textContent.slice(0, 30)}`);
        }
    }
    const fill = bottom / place.clientHeight;
    if (!figures && fill < emptiest) faults.push(`medio vacía: llena el ${Math.round(100 * fill)} %`);
    return [...new Set(faults)];
}"""

SETTLED = """async () => {
    const place = document.querySelector('.pr-place');
    const state = () => [...place.querySelectorAll('.pr-on')]
        .map(cell => JSON.stringify(cell.getBoundingClientRect())).join() + place.scrollHeight;
    const view = 'application/vnd.jupyter.widget-view+json';
    const waits = cell => cell.node.matches('.pr-on') && !cell.node.querySelector('.exp')
        && cell.model.outputs?.toJSON().some(output => output.data?.[view]);
    const ready = () => !lesson.content.widgets.some(waits)
        && [...place.querySelectorAll('.pr-on img')].every(image => image.complete);
    for (let before = '', same = 0, turn = 0; same < 4 && turn < 200; turn++) {
        await new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)));
        same = before === state() && ready() ? same + 1 : 0;
        before = state();
    }
}"""


def where(page):
    """Lo que dice la barra: ``(diapositiva, cuántas hay)``."""
    number, total = page.locator(".pr-bar span").first.text_content().split(" / ")
    return int(number), int(total.split()[0])


@contextlib.contextmanager
def presented(lab):
    """Presenta el cuaderno abierto."""
    lab.page.evaluate("jupyterapp.commands.execute('presentar:empezar')")
    lab.page.wait_for_selector(".pr-place")
    try:
        yield lab.page
    finally:
        for _ in range(4):  # la lista, la pantalla tapada, un control… y la clase
            if lab.page.locator(".pr-bar").count():
                lab.page.keyboard.press("Escape")


def open_deck(lab, path, run=True):
    """Abre la clase `path`, sin sus salidas, y, si se pide, la ejecuta."""
    lab.open(path)
    if run:
        lab.run_all()


def slides(page):
    """Da el número de cada diapositiva y lo que en ella se ve mal, con todos sus pasos a la vista."""
    page.keyboard.press("Home")
    while True:
        number, total = where(page)
        while page.locator(".pr-on.pr-later").count():
            page.keyboard.press("PageDown")
        page.evaluate(SETTLED)
        yield number, page.evaluate(READ_SLIDE, [SMALLEST_TEXT, SMALLEST_FIGURE, EMPTIEST])
        if number == total:
            return
        page.keyboard.press("PageDown")


# --- La orden -------------------------------------------------------------------------------------


def contact(paths, path):
    """Junta las imágenes en una, de tres en tres."""
    width, height = 640, 360
    rows = -(-len(paths) // 3)
    sheet = Image.new("RGB", (3 * width, rows * height), "white")
    for k, one in enumerate(paths):
        with Image.open(one) as image:
            sheet.paste(image.resize((width - 4, height - 4)), (k % 3 * width, k // 3 * height))
    sheet.save(path)


def asked(description):
    """Lo que se pide en una orden: el cuaderno, la carpeta del curso, la de las imágenes y el tema."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("cuaderno", type=Path)
    parser.add_argument("carpeta", type=Path, help="donde se guardan las imágenes")
    parser.add_argument("--oscuro", action="store_true", help="con el tema oscuro de JupyterLab")
    arguments = parser.parse_args()
    notebook = arguments.cuaderno.resolve()
    course = next(folder for folder in notebook.parents if (folder / ".jupyter").exists())
    theme = "JupyterLab Dark" if arguments.oscuro else "JupyterLab Light"
    return notebook, course, arguments.carpeta, theme


def main():
    """Guarda cómo se ve cada diapositiva de una clase."""
    notebook, course, folder, theme = asked(main.__doc__)
    folder.mkdir(parents=True, exist_ok=True)
    faults = []
    with open_lab(course, theme) as lab:
        open_deck(lab, notebook.relative_to(course))
        for size, (width, height) in SCREENS.items():
            lab.page.set_viewport_size({"width": width, "height": height})
            paths = []
            with presented(lab) as page:
                for number, found in slides(page):
                    paths.append(folder / f"{notebook.stem[:2]}-{size}-{number:02}.png")
                    page.screenshot(path=paths[-1])
                    faults += [f"{size}, diapositiva {number}: {fault}" for fault in found]
            contact(paths, folder / f"{notebook.stem[:2]}-{size}-todas.png")
        lab.page.set_viewport_size(VIEWPORT)
        lab.close()
    print(*faults, f"{2 * len(paths)} imágenes en {folder}", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
