"""Que los exploradores los pueda usar cualquiera: axe, el foco, el tamaño, el móvil y el 200 %.

En un JupyterLab de verdad, con todos a la vez, en un tema claro y en uno oscuro.
"""

import io

import pytest
from helpers_browser import PHONE, SWEEP, VIEWPORT, audit, write
from helpers_explorers import CUT
from nbformat.v4 import new_code_cell
from PIL import Image

from course_lib import explorers

THEMES = "JupyterLab Light", "JupyterLab Dark"
LAPTOP_AT_200 = {"width": 640, "height": 360}  # 1280 × 720, ampliado al 200 %
SMALLEST_TARGET = 24  # píxeles: WCAG 2.5.8
LEAST_CONTRAST = 3  # de lo que no es texto: WCAG 1.4.11
SEEN = 90  # píxeles de alto que tienen que verse de lo que cambia, o la mitad si mide menos de 180

SOURCE = ["the", "very", "small", "dog", "buried", "its", "old", "bone", "in", "the", "garden"]
CROSS = {
    "source_tokens": SOURCE,
    "seen": ["<inicio>", *SOURCE[:5]],
    "predicted": [*SOURCE[:5], "<fin>"],
    "weights": [[[1 / 11] * 11] * 6] * 2,
    "sentence": "The very small dog buried its old bone in the garden",
}
ARGUMENTS = dict.fromkeys(explorers.__all__, {}) | {"CrossAttentionExplorer": CROSS}
PLOT = """import torch
from course_lib.plots import plot_heatmap
plot_heatmap(torch.eye(3), list("abc"), title="Tres pesos")"""

# Qué cambia cada control, de cada explorador: los controles que no están cambian lo de «*».
EFFECTS = {
    "AttentionExplorer": {"*": "[role=radiogroup]"},
    "BlocksExplorer": {"*": ".exp-row"},
    "CrossAttentionExplorer": {"*": ".c-pair"},
    "GeometryExplorer": {"*": ".exp-plane"},
    "InfluenceExplorer": {"*": "svg[role=group]"},
    "LearningExplorer": {"*": "svg[role=slider]"},
    "LlmExplorer": {".exp-sentence *, .l-read *": ".l-read", "*": ".l-tokens"},
    "MaskExplorer": {".m-cell": "table[aria-label^=pesos]", "*": ".m-grid"},
    "MultiHeadExplorer": {"*": ".h-detail > *"},
    "QKVExplorer": {"*": "table"},
    "SeeExplorer": {"*": ".s-stage"},
    "SoftmaxExplorer": {"*": "svg[aria-hidden=true]"},
}

# Lo que se maneja. No están los cuadritos de los mapas, que un ratón puede pulsar: lo que hacen lo
# hacen otros controles de 24 píxeles.
TARGETS = "input, button, select, [role=button], [role=radio], [role=slider]"

# El contraste del anillo del foco con el fondo de la página, en cada cosa que recibe el foco.
RINGS = """() => {
    const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
    const luminance = color => {
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map(x => x / 255)
            .map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const page = node => {
        for (let up = node; up; up = up.parentElement) {
            const color = getComputedStyle(up).backgroundColor;
            if (!/, 0\\)$/.test(color)) return color;
        }
    };
    return [...document.querySelectorAll('.exp')].flatMap(root => {
        const nodes = root.querySelectorAll('input, button, select, [tabindex]:not([tabindex="-1"])');
        return [...nodes].filter(node => node.checkVisibility()).map(node => {
            node.focus({preventScroll: true, focusVisible: true});
            const {outlineColor, outlineStyle, outlineWidth} = getComputedStyle(node);
            const [low, high] = [outlineColor, page(root)].map(luminance).sort((a, b) => a - b);
            const seen = outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2;
            return [`${root.className}: ${node.outerHTML.slice(0, 80)}`, seen ? (high + 0.05) / (low + 0.05) : 0];
        });
    });
}"""

SIZES = """targets => [...document.querySelectorAll('.exp')].flatMap(root =>
    [...root.querySelectorAll(targets)].filter(node => node.checkVisibility({visibilityProperty: true})).map(node => {
        node.scrollIntoView({block: 'center'});
        const {left, top, width, height} = node.getBoundingClientRect();
        const reach = (dx, dy) => {  // el trazo, que no cuenta en la caja, también se pulsa
            const hits = far => document.elementFromPoint(
                left + width / 2 + far * dx, top + height / 2 + far * dy) === node;
            let far = 0;
            while (node.matches('circle') && hits(far + 0.5)) far += 0.5;
            return far;
        };
        const size = Math.min(Math.max(width, reach(1, 0) + reach(-1, 0)), Math.max(height, reach(0, 1) + reach(0, -1)));
        return [`${root.className}: ${node.outerHTML.slice(0, 90)}`, size];
    }))"""

# Lo que hace que se deslice de lado el cuaderno, y no una caja del explorador.
SIDEWAYS = """() => [...document.querySelectorAll('.exp')].flatMap(root => {
    const found = [];
    for (let up = root; up !== lesson.content.node; up = up.parentElement)
        if (up.scrollWidth > up.clientWidth + 1)
            found.push(`${root.className}: ${up.className}, ${up.scrollWidth - up.clientWidth} píxeles`);
    return found;
})"""

# Lo que se desliza sin que se pueda llegar con el teclado, o sin nombre.
STUCK = """() => [...document.querySelectorAll('.exp, .exp *')]
    .filter(node => ['auto', 'scroll'].includes(getComputedStyle(node).overflowX))
    .filter(node => node.scrollWidth > node.clientWidth && !(node.tabIndex === 0 && node.ariaLabel))
    .map(node => node.outerHTML.slice(0, 120))"""

# Pone el foco en cada control, con el explorador arriba, y dice los que no se ven junto a lo que
# cambian: el control y la frase, enteros y sin nada encima; y de lo demás, lo bastante.
APART = """async ([index, targets, effects, seen]) => {
    const frame = () => new Promise(done => setTimeout(done, 10));
    const outer = lesson.node.querySelector('.jp-WindowedPanel-outer').getBoundingClientRect();
    const root = lesson.content.widgets[index].node.querySelector('.exp');
    const say = root.querySelector('.exp-say');
    const inside = (box, low = outer.top, high = outer.bottom) =>
        Math.min(box.bottom, high) - Math.max(box.top, low);
    const faults = [];
    root.scrollIntoView();
    for (const node of root.querySelectorAll(targets)) {
        if (node.tabIndex < 0 || !node.checkVisibility({visibilityProperty: true})) continue;
        node.focus({focusVisible: true});
        await frame();
        const known = Object.keys(effects).find(selector => selector !== '*' && node.matches(selector));
        const kind = effects[known ?? '*'];
        const effect = node.closest(kind) ?? root.querySelector(kind);
        const told = say.getBoundingClientRect();
        const shown = () => inside(effect.getBoundingClientRect(), outer.top, told.top);
        const enough = Math.min(seen, effect.getBoundingClientRect().height / 2);
        if (shown() < enough) effect.scrollIntoView({block: 'nearest'});
        await frame();
        const box = node.getBoundingClientRect();
        const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
        const what = `${root.className}: ${node.outerHTML.slice(0, 80)}`;
        const hit = document.elementFromPoint(x, y);
        if (!(node.contains(hit) || hit?.contains(node)))
            faults.push(`${what} no se ve: ${hit?.outerHTML.slice(0, 60)}`);
        const whole = say.getBoundingClientRect();
        if (inside(whole) < whole.height - 1) faults.push(`${what}: no se ve la frase`);
        if (shown() < enough) faults.push(`${what}: de lo que cambia se ven ${Math.round(shown())} píxeles`);
    }
    return faults;
}"""

# JupyterLab lo esconde todo mientras cambia de tema.
IN_THEME = """name => document.body.dataset.jpThemeName === name
    && document.querySelector('.exp').checkVisibility({visibilityProperty: true})"""

pytestmark = pytest.mark.lenta  # ejecuta todos los exploradores


@pytest.fixture(scope="module")
def page(lab):
    """Un cuaderno abierto y ejecutado con todos los exploradores y una gráfica del curso."""
    calls = [f"{name}(**{ARGUMENTS[name]})" for name in EFFECTS]
    cells = [new_code_cell(f"from course_lib.explorers import *\n{call}") for call in calls]
    assert lab.faults(write(lab, *cells, new_code_cell(PLOT))) == []
    yield lab.page
    lab.close()


@pytest.fixture(params=THEMES)
def theme(page, request):
    """La página, en un tema; al acabar, en el claro."""

    def change(name):
        page.evaluate("name => jupyterapp.commands.execute('apputils:change-theme', {theme: name})", name)
        page.wait_for_function(IN_THEME, arg=name)

    change(request.param)
    yield page
    change(THEMES[0])


@pytest.fixture
def resize(page):
    """Cambia el tamaño de la ventana; al acabar, lo deja como estaba."""

    def change(size):
        page.set_viewport_size(size)
        page.wait_for_function("width => innerWidth === width", arg=size["width"])
        page.wait_for_timeout(200)  # JupyterLab recoloca sus paneles
        page.evaluate(SWEEP)  # y no mide lo que no se ve

    yield change
    page.set_viewport_size(VIEWPORT)


def test_all_are_here():
    assert sorted(EFFECTS) == explorers.__all__


def test_axe_finds_nothing(theme, resize):
    """También en una pantalla estrecha, donde hay cajas que se deslizan."""
    assert audit(theme, ".jp-OutputArea-output") == []
    resize(PHONE)
    assert audit(theme, ".jp-OutputArea-output") == []


def test_in_the_dark_a_plot_is_drawn_for_the_dark(theme):
    """El blanco de la gráfica, tal como se ve, es casi el del fondo de la página."""
    plot = theme.locator(".jp-OutputArea-output img").last
    plot.scroll_into_view_if_needed()
    with Image.open(io.BytesIO(plot.screenshot())) as image:
        corner = image.convert("L").getpixel((3, 3))
    light = theme.evaluate("document.body.dataset.jpThemeLight") == "true"
    assert corner > 240 if light else corner < 30


def test_the_focus_ring_stands_out(theme):
    rings = theme.evaluate(RINGS)
    assert len(rings) > 60
    assert [ring for ring in rings if ring[1] < LEAST_CONTRAST] == []


@pytest.mark.parametrize("size", [VIEWPORT, PHONE, LAPTOP_AT_200], ids=str)
def test_targets_are_big_enough(page, resize, size):
    resize(size)
    sizes = page.evaluate(SIZES, TARGETS)
    assert len(sizes) > 100
    assert [target for target in sizes if target[1] < SMALLEST_TARGET - 0.01] == []


def test_a_phone_does_not_slide_sideways(page, resize):
    resize(PHONE)
    assert page.evaluate(SIDEWAYS) == []
    assert page.evaluate(CUT) == []
    assert page.evaluate(STUCK) == []


def test_nor_does_a_page_without_jupyter(alone):
    page = alone(*(getattr(explorers, name)(**ARGUMENTS[name]) for name in EFFECTS), viewport=PHONE)
    assert page.locator(".exp").count() == len(EFFECTS)
    assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
    assert page.evaluate(CUT) == []
    assert page.evaluate(STUCK) == []


def test_a_control_and_what_it_changes_are_seen_together_at_200_percent(page, resize):
    resize(LAPTOP_AT_200)
    faults = []
    for index, effects in enumerate(EFFECTS.values()):
        page.evaluate("index => lesson.content.scrollToItem(index, 'start')", index)
        faults += page.evaluate(APART, [index, TARGETS, effects, SEEN])
    assert faults == []
    assert page.evaluate(SIDEWAYS) == []


# --- Lo que se lee donde un explorador no se puede dibujar ---------------------------------------

# Uno cuyo estado no se ha guardado, como al reabrir una lección ejecutada, y uno que falla.
LOST = """view = {"model_id": "nadie", "version_major": 2, "version_minor": 0}
display({"application/vnd.jupyter.widget-view+json": view}, raw=True)"""
BROKEN = """import ipywidgets, traitlets
class Broken(ipywidgets.DOMWidget):
    _model_module = _view_module = _model_name = _view_name = traitlets.Unicode("x").tag(sync=True)
Broken()"""
SENTENCE = "Aquí va un explorador. Si no sale enseguida, ejecuta esta celda."

# De cada salida, la frase que se añade; y si se ve algo más: el icono roto, o el texto de JupyterLab.
READ = """() => [...lesson.content.node.querySelectorAll('.jp-OutputArea-output')].map(node => {
    const icon = node.querySelector('.jupyter-widgets-error-widget');
    const text = !node.firstElementChild && getComputedStyle(node).fontSize !== '0px';
    return [getComputedStyle(node, '::after').content.replaceAll('"', ''), text || !!icon?.checkVisibility()];
})"""


def test_an_explorer_whose_cell_has_not_run_says_so_and_shows_no_icon(page):
    content, font, color, expected, question = page.evaluate("""() => {
        const box = document.createElement('div');
        box.className = 'jupyter-widgets jupyter-widgets-disconnected';  // así lo marca ipywidgets
        box.append(document.querySelector('.exp').cloneNode());
        document.querySelector('.exp').parentNode.append(box);
        const before = getComputedStyle(box, '::before');
        const seen = [before.content, before.fontFamily, before.color, getComputedStyle(box).color];
        box.firstChild.classList.add('exp-prediction');
        seen.push(before.display);  // una pregunta se contesta igual
        box.remove();
        return seen;
    }""")
    assert "Esta celda no se ha ejecutado" in content
    assert ("Awesome" in font, color, question) == (False, expected, "none")


def test_an_explorer_that_is_not_there_leaves_a_sentence(lab):
    codes = LOST, BROKEN, "print('hola')", "ipywidgets.IntSlider()"
    lab.open(write(lab, *map(new_code_cell, codes)))
    lab.run_all()
    page = lab.page
    page.locator(".jupyter-widgets-error-widget").wait_for(state="attached")
    assert page.evaluate(READ)[0] == [SENTENCE, False]  # mientras lo busca
    page.get_by_text("Error displaying widget").wait_for()
    assert page.evaluate(READ) == [[SENTENCE, False]] * 2 + [["none", False]] * 2
    lab.close()
