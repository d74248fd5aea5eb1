"""Las figuras son las que dibuja su código, y se leen bien."""

import re
import sys
from io import BytesIO
from itertools import combinations, takewhile
from pathlib import Path
from platform import machine
from xml.etree import ElementTree

import numpy as np
import pytest
from helpers import contrast
from matplotlib.colors import to_hex, to_rgb
from matplotlib.font_manager import findfont
from PIL import Image, ImageFont, ImageSequence

from course_lib.plots import palette
from imagenes import animations, draw, scenes, serving
from tools import notebooks

ROOT = Path(__file__).resolve().parent.parent
SVGS = [name for name in draw.FIGURES if name.endswith(".svg")]
GIFS = [name for name in draw.FIGURES if name.endswith(".gif")]
PALETTE = {value for value in vars(palette).values() if isinstance(value, str) and value.startswith("#")}
MINIMUM_SIZE = 14  # píxeles con 800 de ancho
MINIMUM_CONTRAST = 4.5  # WCAG 2.2, 1.4.3
OTHER_FONT = 1.08  # cuánto más ancha puede ser la letra de otra máquina
MAXIMUM_GIF = 600_000  # bytes
SPANISH = set(re.findall(r"\w+", "de la el los las en con por una un cada abajo arriba"))

SVG_TAGS = {"svg", "defs", "title", "desc", "rect", "path", "circle", "text", "tspan"}

each_svg = pytest.mark.parametrize("name", SVGS)
each_gif = pytest.mark.parametrize("name", GIFS)


def load(name):
    return ElementTree.fromstring((draw.HERE / name).read_bytes())


def tag(element):
    return element.tag.rsplit("}", 1)[-1]


def all_of(root, kind):
    found = root.findall(f".//{{*}}{kind}")
    assert found, f"no hay ningún «{kind}»"
    return found


def number(element, key):
    return float(element.get(key, 0))


# --- Los archivos son los del código ---------------------------------------------------------


def frames(content):
    image = Image.open(BytesIO(content))
    return [
        (frame.info.get("duration"), np.asarray(frame.convert("RGB"), dtype=int))
        for frame in ImageSequence.Iterator(image)
    ]


def alike(first, second):
    """Los mismos fotogramas, salvo el suavizado de los bordes."""
    first, second = frames(first), frames(second)
    return len(first) == len(second) and all(
        a[0] == b[0] and np.abs(a[1] - b[1]).mean() < 1 for a, b in zip(first, second, strict=True)
    )


def test_the_map_has_every_lesson():
    """La figura del mapa se escribe a mano: una lección nueva tiene que entrar en ella."""
    lessons = sorted(path.name for path in ROOT.glob("notebooks/[0-9][0-9]_*.ipynb"))
    assert len(scenes.LESSONS) == len(lessons)
    alt = draw.FIGURES["mapa-del-curso.svg"][1]
    assert f"de la lección 00 a la {lessons[-1][:2]}" in alt


@pytest.mark.parametrize("name", [
    pytest.param(x, marks=() if x in SVGS and k % 3 == 0 else pytest.mark.lenta)
    for k, x in enumerate([*SVGS, *GIFS])
])  # fmt: skip
def test_drawing_again_gives_the_same_file(name):
    stored, drawn = draw.stored(name), draw.render(name)
    if name.endswith(".gif") and (sys.platform, machine()) != ("linux", "x86_64"):
        assert alike(stored, drawn), f"{name} no se parece a lo que dibuja su código"
    else:
        assert stored == drawn, f"{name} no coincide: ejecuta «python -m imagenes.draw»"


# --- Los textos alternativos -----------------------------------------------------------------


def test_alt_texts_file_is_up_to_date_and_they_are_all_different():
    assert draw.stored("textos_alternativos.md") == draw.alt_texts()
    assert len({alt for _, alt in draw.FIGURES.values()}) == len(draw.FIGURES)


@pytest.mark.parametrize("name", draw.FIGURES)
def test_alt_text_says_in_spanish_what_the_figure_shows(name):
    words = draw.FIGURES[name][1].lower().split()
    assert len(words) >= 8
    assert len(SPANISH & set(words)) >= 3


@each_svg
def test_svg_introduces_itself(name):
    root = load(name)
    parts = {tag(child): child.text for child in root if tag(child) in ("title", "desc")}
    assert root.get("role") == "img"
    assert len(parts["title"].split()) >= 3
    assert parts["desc"] == draw.FIGURES[name][1]


# --- El dibujo -------------------------------------------------------------------------------


@each_svg
def test_svg_needs_nothing_from_outside_uses_the_palette_and_has_large_letters(name):
    root = load(name)
    for element in root.iter():
        assert tag(element) in SVG_TAGS
        assert not re.search(r"href|://|url\(", str(element.attrib))
        assert {element.get("fill"), element.get("stroke")} <= PALETTE | {None, "none"}
    smallest = min(number(element, "font-size") for element in root.iter() if element.get("font-size"))
    assert smallest * min(1, 800 / number(root, "width")) >= MINIMUM_SIZE


def extent(text):
    """(izquierda, arriba, derecha, abajo) de un texto, con holgura para otra letra."""
    path = findfont(f"{palette.FONT}:{text.get('font-weight', 'normal')}")
    base = number(text, "font-size")
    width = sum(
        ImageFont.truetype(path, 100).getlength(span.text) / 100 * float(span.get("font-size", base))
        for span in text
    )
    width *= OTHER_FONT
    left = number(text, "x") - width * {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor")]
    baseline = number(text, "y")
    return left, baseline - 0.74 * base, left + width, baseline + 0.02 * base


def words(text):
    return "".join(text.itertext())


def shape(element):
    """(izquierda, arriba, derecha, abajo) de un rectángulo o de un círculo."""
    if tag(element) == "circle":
        x, y, r = (number(element, key) for key in ("cx", "cy", "r"))
        return x - r, y - r, x + r, y + r
    x, y = number(element, "x"), number(element, "y")
    return x, y, x + number(element, "width"), y + number(element, "height")


def under(root, text):
    """Las formas rellenas pintadas antes que el texto y que pasan por debajo de su centro."""
    left, top, right, bottom = extent(text)
    x, y = (left + right) / 2, (top + bottom) / 2
    found = []
    for element in takewhile(lambda element: element is not text, root.iter()):
        if tag(element) in ("rect", "circle") and element.get("fill") != "none":
            x0, y0, x1, y1 = shape(element)
            if x0 <= x <= x1 and y0 <= y <= y1:
                found.append(element)
    return found


@each_svg
def test_text_stands_out_from_its_background(name):
    root = load(name)
    for text in all_of(root, "text"):
        background = np.zeros(3)
        for element in under(root, text):
            opacity = float(element.get("fill-opacity", 1))
            background = opacity * np.array(to_rgb(element.get("fill"))) + (1 - opacity) * background
        assert contrast(to_hex(background), to_hex(text.get("fill"))) >= MINIMUM_CONTRAST, words(text)


@each_svg
def test_text_fits_in_its_box(name):
    root = load(name)
    for text in all_of(root, "text"):
        left, _, right, _ = extent(text)
        box_left, _, box_right, _ = min(
            (shape(element) for element in under(root, text)), key=lambda s: s[2] - s[0]
        )
        assert box_left + 3 <= left, words(text)
        assert right <= box_right - 3, words(text)


@each_svg
def test_texts_do_not_overlap(name):
    texts = [(words(text), extent(text)) for text in all_of(load(name), "text")]
    for (first, a), (second, b) in combinations(texts, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (first, second)


@pytest.mark.parametrize(
    "name", [name for name in SVGS if name not in ("producto-escalar.svg", "sombra.svg")]
)  # allí son vectores
def test_arrows_touch_what_they_point_at(name):
    root = load(name)
    edges = [shape(element) for element in root.iter() if tag(element) in ("rect", "circle")]
    for path in root.findall(".//{*}path"):
        if not path.get("d").endswith("Z"):
            continue
        x, y = map(float, re.match(r"M(\S+?),(\S+)", path.get("d")).groups())
        near = (
            min(abs(x - x0), abs(x - x1)) <= 3 and y0 - 3 <= y <= y1 + 3
            or min(abs(y - y0), abs(y - y1)) <= 3 and x0 - 3 <= x <= x1 + 3
            for x0, y0, x1, y1 in edges
        )
        assert any(near), f"flecha suelta en ({x}, {y})"


# --- Lo que dicen ----------------------------------------------------------------------------

MARKED = {  # lo que tiene que estar en negrita dentro de lo amarillo
    "sdpa-matmul-1.svg": "Q·KT",
    "sdpa-escala.svg": "÷ √dk",
    "sdpa-mascara.svg": "+ máscara",
    "sdpa-softmax.svg": "softmax por filas",
    "sdpa-matmul-2.svg": "pesos · V",
    "multicabeza-proyeccion.svg": "h proyecciones",
    "multicabeza-concat.svg": "Concat",
    "multicabeza-lineal.svg": "· WO",
    "atencion-qkv.svg": "Q, K y V",
    "atencion-puntuaciones.svg": "Puntuaciones",
    "atencion-mascara.svg": "Máscara",
    "atencion-pesos.svg": "Pesos",
    "atencion-mezcla.svg": "Mezcla",
    "atencion-suma.svg": "Suma",
    "transformer-decoder-enmascarada.svg": "enmascarada",
    "transformer-encoder-decoder.svg": "encoder–decoder",
}


@each_svg
def test_the_highlight_is_over_its_block(name):
    """Lo señalado es lo que dice el nombre; las demás de su familia no señalan nada."""
    root = load(name)
    yellow = [shape(rect) for rect in all_of(root, "rect") if rect.get("fill") == palette.YELLOW]
    bold = {
        words(text)
        for text in all_of(root, "text")
        if text.get("font-weight") == "bold"
        and any(
            left <= number(text, "x") <= right and top <= number(text, "y") <= bottom
            for left, top, right, bottom in yellow
        )
    }
    if name in MARKED:
        assert MARKED[name] in bold
        family = [marked for other, marked in MARKED.items() if other[:4] == name[:4]]
        others = set(family) - {MARKED[name], "Multicabeza"}
        assert not bold & others
    elif name.startswith(("sdpa", "multicabeza", "transformer", "atencion")):
        assert not yellow


def texts_of(name):
    return {words(text) for text in all_of(load(name), "text")}


def test_the_blocks_say_what_the_course_says():
    """Las frases que, cambiadas, harían falsa la figura."""
    assert {"−∞ donde no se atiende", "pesos: cada fila suma 1", "÷ √dk"} <= texts_of("sdpa.svg")
    assert {"(B, Lq, Lk)", "(B, Lq, dk)", "(B, Lk, dk)", "(B, Lk, dv)"} <= texts_of("sdpa.svg")
    assert {"(B, h, Lq, dv)", "(B, Lq, h·dv)"} <= texts_of("multicabeza.svg")
    assert {"Q del decoder; K y V del encoder", "ningún token ve a los siguientes"} <= texts_of(
        "transformer.svg"
    )


def test_the_batch_that_does_not_wait_writes_the_same():
    for continuous, trips in ((False, 11), (True, 8)):
        rows, counted = serving.served(continuous)
        assert counted == trips and len({(place, trip) for place, trip, *_ in rows}) == len(rows)
        written = [name for *_, name, _ in rows]
        assert {name: written.count(name) for name in serving.ANSWERS} == serving.ANSWERS
    assert [serving.empty(False), serving.empty(True)] == [11, 2]
    assert [serving.read(False), serving.read(True)] == [6 * 46, 40 + 6 * 6]


def test_the_figure_of_the_draft_is_what_the_lesson_writes():
    """Lo propuesto, lo aceptado y lo que escribe el modelo, como en la celda de 13 §8."""
    [cell] = [c for c in notebooks.read(ROOT / "notebooks/13_atencion_barata.ipynb").cells if c.id == "13a80002"]
    draft, own = (" ".join(said).replace(" .", ".") for said in (serving.DRAFT[:-1], serving.OWN_ANSWER))
    agreed = len(serving.OWN_ANSWER) - 1
    assert cell.outputs[0].text == f"{draft!r}: acepta {agreed} y escribe el siguiente él: {own!r}\n"


@each_gif
def test_animation_is_smooth_and_light(name):
    content = (draw.HERE / name).read_bytes()
    image = Image.open(BytesIO(content))
    assert len(content) < MAXIMUM_GIF
    assert image.n_frames >= 36
    assert image.info["loop"] == 0  # sin fin


def test_animation_turns_from_0_to_180_degrees():
    """El ángulo entre dos vectores no pasa de 180°, y el de 90° se ve."""
    assert (min(animations.ANGLES), max(animations.ANGLES)) == (0, 180)
    assert 90 in animations.ANGLES


@pytest.mark.parametrize("norms", [(1, 1), (3, 2)])
def test_animation_numbers_agree(norms):
    """El u·v que se lee es el que sale del cos θ que se lee, y su signo es el anunciado."""
    for degrees in animations.ANGLES:
        cosine, product = (text.replace("−", "-") for text in animations.reading(norms, degrees))
        decimals = len(product.split(".")[1])
        assert f"{norms[0] * norms[1] * float(cosine):.{decimals}f}" == product
        assert np.sign(float(product)) == animations.sign_at(degrees)
