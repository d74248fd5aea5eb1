"""Las diapositivas: con jupyterlab-slideshow, en una pantalla pequeña, qué se ve y qué no cabe.

tests/test_lessons.py mira así cada lección. También es una orden, para mirar las diapositivas de
una, una imagen cada una:

    python tests/helpers_slides.py notebooks/01_producto_escalar.ipynb CARPETA [--oscuro]
"""

import contextlib
import sys
from pathlib import Path

from helpers_browser import OPEN, VIEWPORT, asked, open_lab
from playwright.sync_api import TimeoutError

SCREEN = {"width": 1280, "height": 720}  # la de un proyector modesto
SMALLEST_FIGURE = 0.7  # de su tamaño en el cuaderno: más pequeña no se lee

ACTIVE = "lesson.content.activeCellIndex"
STARTED = f"{ACTIVE} === 0 && document.querySelector('.jp-Deck .jp-deck-mod-visible')"

# Las barras laterales y el mando dejan de moverse: tres veces seguidas, todo está donde estaba.
STILL = """() => {
    const boxes = ['.jp-Notebook', '.jp-Deck-Remote', '.jp-deck-mod-visible']
        .map(selector => document.querySelector('.jp-Deck ' + selector)
            ?? document.querySelector(selector))
        .map(node => node ? Object.values(node.getBoundingClientRect().toJSON()) : []);
    const now = JSON.stringify(boxes);
    window.still = now === window.place && boxes[1][2] > 0 ? (window.still ?? 0) + 1 : 0;
    window.place = now;
    return window.still >= 3;
}"""

# Las celdas ya no están una debajo de otra: solo queda la primera diapositiva.
DEALT = """[...lesson.node.querySelectorAll('.jp-Notebook, .jp-WindowedPanel-outer')]
    .every(part => part.scrollHeight < 2 * innerHeight)"""

# Lo que se ve de las celdas de la diapositiva, y qué parte se sale de su sitio.
READ_SLIDE = r"""smallest => {
    const cells = lesson.content.widgets.map((cell, index) => [cell.node, index + 1])
        .filter(([node]) => node.matches('.jp-deck-mod-onscreen.jp-deck-mod-visible'));
    const remote = document.querySelector('.jp-Deck-Remote').getBoundingClientRect();
    const leaves = 'p, li, h1, h2, h3, h4, pre, table, img, svg, mjx-container, .cm-line';
    const painted = leaf => {  // una imagen puede no llenar su caja
        const box = leaf.getBoundingClientRect();
        if (!leaf.naturalHeight) return box;
        const scale = Math.min(box.width / leaf.naturalWidth, box.height / leaf.naturalHeight);
        return new DOMRect(
            box.x, box.y, scale * leaf.naturalWidth, scale * leaf.naturalHeight);
    };
    const faults = [];
    for (const [node, number] of cells) {
        const say = text => faults.push(`celda ${number}: ${text}`);
        const seen = [...node.querySelectorAll(leaves + ', .jp-OutputArea-output')]
            .map(leaf => [leaf, painted(leaf)])
            .filter(([leaf, box]) => box.width && box.height && !leaf.closest('mjx-assistive-mml'));
        const over = Math.round(Math.max(
            ...seen.map(([, box]) => Math.max(-box.top, box.bottom - innerHeight))));
        const wide = Math.round(Math.max(
            ...seen.map(([, box]) => Math.max(-box.left, box.right - innerWidth))));
        if (over > 1) say(`se sale ${over} píxeles a lo alto`);
        if (wide > 1) say(`se sale ${wide} píxeles a lo ancho`);
        for (const part of [node, ...node.querySelectorAll('div, pre')]) {
            const style = getComputedStyle(part);
            const clips = axis => ['auto', 'scroll', 'hidden'].includes(style[axis]);
            if (!part.clientHeight || part.matches('.cm-cursorLayer')) continue;
            if (clips('overflowX') && part.scrollWidth > part.clientWidth + 2)
                say(`se corta ${part.scrollWidth - part.clientWidth} píxeles a lo ancho`);
            if (clips('overflowY') && part.scrollHeight > part.clientHeight + 2)
                say(`se corta ${part.scrollHeight - part.clientHeight} píxeles a lo alto`);
        }
        for (const [leaf, box] of seen.filter(([leaf]) => !leaf.matches('.jp-OutputArea-output'))) {
            if (leaf.matches('img')) {
                const scale = box.height / (leaf.getAttribute('height') || leaf.naturalHeight);
                if (scale < smallest) say(`la figura queda al ${Math.round(100 * scale)} %`);
            }
            const range = document.createRange();
            range.selectNodeContents(leaf);
            const inks = leaf.matches('img, svg, mjx-container') ? [box] : [...range.getClientRects()];
            if (inks.some(ink => ink.right > remote.left + 2 && ink.bottom > remote.top + 2))
                say('queda bajo el mando');
        }
    }
    for (const part of lesson.node.querySelectorAll('.jp-Notebook, .jp-WindowedPanel-outer')) {
        const hidden = part.scrollHeight - part.clientHeight;
        if (hidden > 2) faults.push(`celda ${cells.at(-1)[1]}: no cabe, faltan ${hidden} píxeles`);
    }
    return {cells: cells.map(([, number]) => number), faults: [...new Set(faults)]};
}"""


@contextlib.contextmanager
def deck(lab):
    """Proyecta el cuaderno abierto, desde el principio."""
    page = lab.page
    page.set_viewport_size(SCREEN)
    page.evaluate(f"{ACTIVE} = 0")
    page.evaluate("jupyterapp.commands.execute('deck:start')")
    try:
        page.wait_for_function(STARTED)
        page.wait_for_function(
            "[...lesson.content.node.querySelectorAll('img')].every(i => i.complete)"
        )
        for _ in range(3):
            with contextlib.suppress(TimeoutError):
                page.wait_for_function(DEALT, timeout=10_000)
                break
            page.evaluate(f"{ACTIVE} = 1; {ACTIVE} = 0")  # reparte otra vez
        page.wait_for_function(DEALT)
        page.wait_for_function(STILL, polling=100)
        yield page
    finally:
        page.evaluate("jupyterapp.commands.execute('deck:stop')")
        page.set_viewport_size(VIEWPORT)


@contextlib.contextmanager
def open_deck(lab, path):
    """Abre el cuaderno `path` tal como está guardado y lo proyecta."""
    lab.close()
    lab.page.set_viewport_size(SCREEN)
    lab.page.evaluate(OPEN, Path(path).as_posix())
    if "widgets" in lab.read(path).metadata:
        lab.run_all()  # un control solo se ve si su kernel lo ha creado
    with deck(lab) as page:
        yield page
    lab.close()


def ends(nb):
    """Dice con qué celda acaba cada diapositiva: la última que aparece en ella."""
    kinds = [cell.metadata.get("slideshow", {}).get("slide_type") for cell in nb.cells]
    shown = [k for k, kind in enumerate(kinds) if kind != "skip"]
    following = [kinds[k] for k in shown[1:]] + ["slide"]
    return [k for k, kind in zip(shown, following) if kind in ("slide", "subslide")]


def slides(page, lab, path):
    """Da lo que se ve en cada diapositiva, con todas sus celdas a la vista."""
    for last in ends(lab.read(path)):
        page.evaluate(f"{ACTIVE} = {last}")
        yield page.evaluate(READ_SLIDE, SMALLEST_FIGURE)


# --- La orden -------------------------------------------------------------------------------------


def main():
    """Guarda cómo se ve cada diapositiva de una lección."""
    notebook, course, images_folder, theme = asked(main.__doc__)
    images_folder.mkdir(parents=True, exist_ok=True)
    faults = []
    with open_lab(course, theme) as lab, open_deck(lab, notebook.relative_to(course)) as page:
        for number, slide in enumerate(slides(page, lab, notebook.relative_to(course)), 1):
            page.wait_for_timeout(150)  # lo que aparece, aparece poco a poco
            page.screenshot(path=images_folder / f"{notebook.stem}-{number:03}.png")
            faults += [f"Diapositiva {number}, {fault}" for fault in slide["faults"]]
    print(*faults, f"{number} imágenes en {images_folder}", sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
