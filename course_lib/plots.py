"""Gráficas: funciones puras que reciben tensores y devuelven una figura.

No usan ``pyplot``: no hay estado global y nada se muestra dos veces. Valen
tensores de torch (también con gradiente), arrays de NumPy y listas. Cada figura
lleva su descripción en palabras, calculada con los datos: es su texto
alternativo y lo que queda donde no hay imágenes.

El texto se dibuja tal cual: ``$`` y ``_`` no son LaTeX. En los mapas de calor
las filas son queries y las columnas, keys. Todas lanzan ``ValueError`` si las
formas, las etiquetas o los valores no encajan.
"""

import sys
import unicodedata
from functools import cache, wraps
from io import BytesIO
from math import atan2, ceil, degrees, hypot

import numpy as np
from matplotlib import colormaps, style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.font_manager import findfont, get_font
from matplotlib.patches import Arc, Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator, NullLocator
from PIL import Image

from . import palette as c

DPI = 160  # la imagen se muestra a la mitad: nítida en pantallas de doble densidad
TEXT, SMALL, TITLE = 13, 11, 15  # tamaños de letra en puntos; ninguno baja de SMALL
LINE = 1.17 / 72  # altura de una línea, en pulgadas por punto de letra
WIDTH = 10.2  # anchura máxima en pulgadas: unos 816 píxeles en pantalla
MAX_VALUES = 20  # con más tokens no caben los números en las celdas
MAX_LABEL, MAX_DESCRIPTION = 16, 900  # caracteres

HALO = withStroke(linewidth=3, foreground=c.PAPER)
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++")
DASHES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 2)))
STYLE = {
    "font.family": c.FONT, "font.size": TEXT, "text.parse_math": False, "text.color": c.INK,
    "axes.labelcolor": c.INK, "axes.edgecolor": c.GREY, "axes.labelpad": 8,
    "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
    "axes.formatter.useoffset": False, "axes.titlelocation": "left", "axes.titlesize": TEXT,
    "axes.titleweight": "bold", "axes.titlepad": 6, "figure.facecolor": c.PAPER,
    "xtick.color": c.INK, "ytick.color": c.INK, "grid.color": c.MIST, "grid.linewidth": 1,
    "legend.frameon": False, "legend.handlelength": 2.4, "legend.borderpad": 0.2,
    "legend.borderaxespad": 0.3, "legend.labelspacing": 0.3,
    "hatch.linewidth": 1.2, "lines.linewidth": 2.4,
}  # fmt: skip


class CourseFigure(Figure):
    """Una figura que sabe contarse: ``description`` dice con palabras lo que muestra."""

    description = ""

    def __repr__(self):
        return self.description

    __str__ = __repr__

    def to_png(self):
        """Bytes de la imagen: los mismos cada vez, y pocos."""
        with style.context(["default", STYLE]):
            canvas = FigureCanvasAgg(self)
            canvas.draw()
        image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
        image = image.quantize(256, dither=Image.Dither.NONE)
        image.save(buffer := BytesIO(), "png", optimize=True)
        return buffer.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None):
        width, height = (round(inches * DPI / 2) for inches in self.get_size_inches())
        meta = {"alt": self.description, "width": width, "height": height}
        return {"image/png": self.to_png(), "text/plain": self.description}, {"image/png": meta}


# El modo «inline» de matplotlib registra su manera de mostrar toda Figure, y esa gana a
# _repr_mimebundle_. Un registro más concreto, que no devuelve nada, deja pasar la nuestra.
if "IPython" in sys.modules and (shell := sys.modules["IPython"].get_ipython()):
    for kind in ("png", "svg+xml", "jpeg"):
        shell.display_formatter.formatters[f"image/{kind}"].for_type(CourseFigure, lambda _: None)


def _styled(function):
    @wraps(function)
    def wrapper(*args, **kwargs):
        with style.context(["default", STYLE]):
            return function(*args, **kwargs)

    return wrapper


# --- Lo que se puede dibujar -----------------------------------------------------------------


@_styled
def plot_heatmap(
    matrix, row_labels=None, col_labels=None, *, title=None, kind="weights", decimals=2,
    highlight_row=None, row_title="query", col_title="key", values=True, limit=None,
):  # fmt: skip
    """Mapa de calor token × token, con el valor escrito en cada celda.

    Args:
        matrix: ``(L_q, L_k)``. Si es booleana se dibuja como máscara: True = puede atender.
        row_labels, col_labels: los tokens de las filas y de las columnas. Sin ``col_labels`` una
            matriz cuadrada usa los mismos; sin ninguno, se numeran desde 0.
        kind: ``"weights"``, de 0 a 1, o ``"scores"``, centrado en 0. Las puntuaciones −∞
            (enmascaradas) salen rayadas.
        highlight_row: fila que se enmarca: su número o su token.
        values: escribe los números, si caben: hasta 20 tokens.
        limit: valor del color más intenso; por defecto 1 en los pesos y el mayor valor absoluto
            en las puntuaciones.
    """
    me = "plot_heatmap"
    matrix = _array(me, "matrix", matrix, 2, infinite=kind == "scores")
    kind = "mask" if matrix.dtype == bool else kind
    _check_kind(me, kind, matrix, limit)
    rows = _labels(me, "row_labels", row_labels, matrix.shape[0])
    square = col_labels is None and len(set(matrix.shape)) == 1
    cols = _labels(me, "col_labels", row_labels if square else col_labels, matrix.shape[1])
    row = _index(me, "highlight_row", highlight_row, rows)
    texts = _cells(matrix, kind, decimals) if values and max(matrix.shape) <= MAX_VALUES else None
    if texts is not None:
        side = max(_width(text, SMALL) for text in texts.flat) + 0.1
        side = max(side, 0.46, min(0.75, 7 / max(matrix.shape)))
        texts = texts if side * len(cols) <= WIDTH else None
    size = [min(0.46, 8.8 / n) if texts is None else side for n in (len(cols), len(rows))]
    figure, ax = _new(size[0] * len(cols), size[1] * len(rows))
    mesh = _draw_matrix(ax, matrix, rows, cols, size, kind, texts, row, limit)
    ax.set_ylabel(row_title, weight="bold")
    ax.set_xlabel(col_title, weight="bold")
    if kind != "mask" and texts is None:
        _colour_bar(ax, mesh, "peso" if kind == "weights" else "puntuación")
    head = "Máscara" if kind == "mask" else "Mapa de calor"
    head += f" {len(rows)} × {len(cols)} (filas: {row_title}; columnas: {col_title})."
    return _finish(figure, title, head, _tell_matrix(matrix, rows, cols, kind, decimals, row))


@_styled
def plot_heads(
    weights, tokens, *, heads=None, titles=None, highlight_row=None, layer=None, max_columns=4,
    col_tokens=None, title=None,
):  # fmt: skip
    """Los pesos de varias cabezas, una al lado de otra.

    Args:
        weights: ``(h, L_q, L_k)``, los pesos de una frase.
        tokens: los L_q tokens de las filas; también los de las columnas si no hay ``col_tokens``.
        heads: números de las cabezas que se dibujan; por defecto, todas.
        titles: un título por cabeza dibujada; por defecto «Cabeza 0», «Cabeza 1»…
        highlight_row: fila que se enmarca: su número o su token.
        layer: número de capa, para el título.
        col_tokens: los L_k tokens de las columnas, si son otros.
    """
    me = "plot_heads"
    weights = _array(me, "weights", weights, 3)
    _check_kind(me, "weights", weights)
    heads = list(range(len(weights)) if heads is None else heads)
    if not heads or not all(0 <= head < len(weights) for head in heads):
        raise ValueError(
            f"{me}: heads = {heads}, y weights tiene {len(weights)} cabezas: elige números de 0 a "
            f"{len(weights) - 1}."
        )
    names = _labels(me, "titles", titles or [f"Cabeza {head}" for head in heads], len(heads))
    rows = _labels(me, "tokens", tokens, weights.shape[1])
    col_tokens = tokens if col_tokens is None else col_tokens
    cols = _labels(me, "col_tokens", col_tokens, weights.shape[2])
    row = _index(me, "highlight_row", highlight_row, rows)

    gap, room = 0.2, WIDTH - max(_width(_shown(name), SMALL) for name in rows)
    fit = max(2, int((room + gap) / (len(cols) * SMALL * LINE + gap)))
    columns = max(1, min(max_columns, len(heads), fit))
    cell = min(0.58, ((room + gap) / columns - gap) / len(cols), 4.5 / len(rows))
    width, height = cell * len(cols), cell * len(rows)
    figure, told = CourseFigure(figsize=(WIDTH, WIDTH), dpi=DPI), []
    for i, (head, name) in enumerate(zip(heads, names, strict=True)):
        line, column = divmod(i, columns)
        box = [column * (width + gap), -line * (height + 0.5), width, height]
        ax = figure.add_axes([inches / WIDTH for inches in box])
        texts = _cells(weights[head], "weights", 2) if cell >= 0.46 else None
        _draw_matrix(ax, weights[head], rows, cols, (cell, cell), "weights", texts, row, below=True)
        ax.set_title(_shown(name))
        last = i + columns >= len(heads)
        ax.tick_params(labelleft=column == 0, labelbottom=last)
        ax.set_ylabel("" if column else "query", weight="bold")
        ax.set_xlabel("key" if last else "", weight="bold")
        if row is None:
            most = _top(weights[head].mean(0), cols, count=1)
            told.append(f"{name}: la key más atendida es {most}, de media.")
        else:
            most = _top(weights[head, row], cols, count=1)
            told.append(f"{name}: {_quote(rows, row)} mira a {most}.")
    title = title or (None if layer is None else f"Capa {layer}")
    head = (
        f"{len(heads)} cabezas con pesos {len(rows)} × {len(cols)} (filas: query; columnas: key)."
    )
    return _finish(figure, title, head, told)


@_styled
def plot_rows(rows, labels, *, title=None, highlight=None, decimals=2, ylabel="peso"):
    """Una o varias distribuciones sobre los mismos tokens, en barras agrupadas.

    Args:
        rows: diccionario nombre → vector ``(L_k,)``; por ejemplo, la fila «it» en dos frases.
        labels: los L_k tokens. Uno que cambia de frase a frase: ``"hungry\\nold"``.
        highlight: token o tokens (texto o número) que se resaltan.
    """
    me = "plot_rows"
    rows = _named(me, "rows", rows)
    n = len(next(iter(rows.values())))
    labels = _labels(me, "labels", labels, n)
    _check_lengths(me, rows, n, "labels")
    several = highlight if isinstance(highlight, (list, tuple, set)) else [highlight]
    marked = {_index(me, "highlight", one, labels) for one in several} - {None}
    texts = {name: [_fixed(x, decimals) for x in row] for name, row in rows.items()}
    bar = max(_width(text, SMALL) for row in texts.values() for text in row) + 0.08
    slot = max(bar * len(rows) + 0.16, min(1.1, 6 / n))
    upright = slot * n <= WIDTH - 1
    if upright:
        figure, ax = _new(slot * n, 3)
        draw, across, along, band = ax.bar, ax.xaxis, ax.yaxis, ax.axvspan
        ax.set_xlim(-0.5, n - 0.5)
    else:  # no caben de pie: tumbadas, una debajo de otra
        bar, slot = 0.2, 0.2 * len(rows) + 0.13
        figure, ax = _new(6.5, slot * n)
        draw, across, along, band = ax.barh, ax.yaxis, ax.xaxis, ax.axhspan
        ax.set_ylim(n - 0.5, -0.5)
    for k, (name, row) in enumerate(rows.items()):
        look = {"color": c.CYCLE[k], "hatch": HATCHES[k], "edgecolor": c.PAPER, "linewidth": 0}
        at = np.arange(n) + (k - (len(rows) - 1) / 2) * bar / slot
        bars = draw(at, row, bar / slot * 0.92, label=_shown(name, 60), zorder=2, **look)
        ax.bar_label(bars, texts[name], padding=2, fontsize=SMALL, zorder=3)
    low, high = (pick([pick(row) for row in rows.values()]) for pick in (min, max))
    (ax.set_ylim if upright else ax.set_xlim)(min(0, low * 1.15), max(high, 1e-9) * 1.13)
    turned = upright and max(_width(_shown(name)) for name in labels) > slot - 0.05
    turn = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    across.set_ticks(range(n), [_shown(name) for name in labels], **turn)
    for i in marked:
        band(i - 0.5, i + 0.5, color=c.MIST, zorder=0)
        across.get_ticklabels()[i].set_weight("bold")
    along.set_label_text(_shown(ylabel, 60))
    along.set_major_locator(_ticks(5))
    along.grid()
    ax.tick_params(length=0)
    _legend(ax)
    head = f"Barras: {ylabel} de {n} tokens en {_count(rows, 'serie')}."
    told = [f"«{name}»: {_top(row, labels, decimals)}." for name, row in rows.items()]
    return _finish(figure, title, head, told)


@_styled
def plot_vectors(
    vectors, labels=None, *, title=None, angle=None, project=None, limits=None, norms=False
):
    """Vectores del plano, dibujados desde el origen y con la misma escala en los dos ejes.

    Args:
        vectors: ``(n, 2)``, o un diccionario nombre → vector ``(2,)``.
        labels: un nombre por vector; por defecto «u», «v», «w»…
        angle: pareja ``(i, j)`` de vectores cuyo ángulo se marca.
        project: pareja ``(i, j)``: dibuja la proyección de i sobre j.
        limits: número L (los ejes van de −L a L) o ``(xmin, xmax, ymin, ymax)``.
        norms: añade la norma de cada vector a su nombre.
    """
    me = "plot_vectors"
    if isinstance(vectors, dict):
        labels, vectors = list(vectors) if labels is None else labels, list(vectors.values())
    vectors = _array(me, "vectors", vectors, 2)
    if vectors.shape[1] != 2:
        raise ValueError(
            f"{me}: vectors tiene forma {vectors.shape} y los vectores del plano tienen 2 "
            "componentes: elige dos, por ejemplo vectors[:, :2]."
        )
    names = _labels(me, "labels", labels or list("uvwxyzabcdefghijklmnopqrst"), len(vectors), True)
    if limits is None:
        low, high = np.minimum(vectors.min(0), 0), np.maximum(vectors.max(0), 0)
        half, middle = max(*(high - low), 1e-9) * 0.62, (low + high) / 2
        limits = np.stack([middle - half, middle + half], 1).ravel()
    x0, x1, y0, y1 = limits if np.ndim(limits) else (-limits, limits, -limits, limits)
    span = max(x1 - x0, y1 - y0)
    figure, ax = _new(5.4 * (x1 - x0) / span, 5.4 * (y1 - y0) / span)
    ax.set(xlim=(x0, x1), ylim=(y0, y1), xlabel="componente 0", ylabel="componente 1")
    ax.xaxis.set_major_locator(_ticks(6))
    ax.yaxis.set_major_locator(_ticks(6))
    ax.grid()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.axhline(0, color=c.GREY, lw=1)
    ax.axvline(0, color=c.GREY, lw=1)
    told = [
        f"{name} = ({_fixed(x)}, {_fixed(y)}), norma {_fixed(hypot(x, y))}."
        for name, (x, y) in zip(names, vectors, strict=True)
    ]
    if project is not None:
        i, j = _pair(me, "project", project, names, vectors)
        axis = vectors[j] / np.linalg.norm(vectors[j])
        length = vectors[i] @ axis
        foot = length * axis
        ax.plot(*np.stack([0 * foot, foot], 1), color=c.YELLOW, lw=9, solid_capstyle="butt")
        ax.plot(*np.stack([vectors[i], foot], 1), color=c.GREY, lw=1.6, ls="--")
        away = foot - vectors[i] if hypot(*(foot - vectors[i])) > 1e-9 * span else (0, -1)
        _beside(ax, foot / 2, away, f"proyección {_fixed(length)}", fontsize=SMALL)
        told.append(f"La proyección de {names[i]} sobre {names[j]} mide {_fixed(length)}.")
    if angle is not None:
        i, j = _pair(me, "angle", angle, names, vectors)
        start, end = (degrees(atan2(y, x)) for x, y in vectors[[i, j]])
        turn = (end - start + 180) % 360 - 180
        ends = {"theta1": min(start, start + turn), "theta2": max(start, start + turn)}
        ax.add_patch(Arc((0, 0), 0.3 * span, 0.3 * span, lw=1.8, color=c.INK, **ends))
        middle = np.radians(start + turn / 2)
        way, said = np.array([np.cos(middle), np.sin(middle)]), f"{_fixed(abs(turn), 1)}°"
        _beside(ax, 0.15 * span * way, way, said)
        cosine = _fixed(np.cos(np.radians(turn)))
        told.append(f"El ángulo entre {names[i]} y {names[j]} es de {said} (coseno {cosine}).")
    for k, (name, vector) in enumerate(zip(names, vectors, strict=True)):
        look = {"color": c.CYCLE[k % len(c.CYCLE)], "lw": 2.8, "mutation_scale": 20}
        arrow = {"arrowstyle": "-|>", "shrinkA": 0, "shrinkB": 0, **look}
        ax.annotate("", vector, (0, 0), arrowprops=arrow, annotation_clip=False)
        if not vector.any():
            ax.plot(0, 0, "o", color=look["color"], ms=9)
        name = _shown(name)
        norm = f"\n‖{name}‖ = {_fixed(hypot(*vector))}" if norms else ""
        _beside(ax, vector, vector, name + norm, weight="bold")
    return _finish(figure, title, f"{_count(names, 'vector')} en el plano.", told)


@_styled
def plot_distributions(samples, *, bins=60, title=None, xlabel=None, log=False):
    """Histogramas superpuestos, con la media y la desviación típica de cada muestra.

    El eje vertical es la densidad: cada histograma encierra área 1.

    Args:
        samples: diccionario nombre → muestra, de cualquier forma: se aplana.
        bins: número de intervalos, los mismos para todas las muestras.
        log: eje vertical logarítmico.
    """
    samples = _named("plot_distributions", "samples", samples, None)
    edges = np.histogram_bin_edges(np.concatenate(list(samples.values())), bins)
    figure, ax = _new(8.6, 3.9)
    told = []
    for k, (name, sample) in enumerate(samples.items()):
        tiny = np.abs(sample).max() < 0.01
        mean, std = _number(sample.mean(), tiny), _number(sample.std(), tiny)
        density = np.histogram(sample, edges, density=True)[0]
        label = f"{_shown(name, 60)}:  media {mean},  desviación típica {std}"
        ax.stairs(density, edges, fill=True, color=c.CYCLE[k], alpha=0.12)
        ax.stairs(density, edges, color=c.CYCLE[k], ls=DASHES[k], lw=2.2, label=label)
        told.append(f"«{name}»: media {mean} y desviación típica {std}, de {sample.size} valores.")
    ax.set(xlim=edges[[0, -1]], xlabel=_shown(xlabel or "valor", 60), ylabel="densidad")
    ax.grid(axis="y")
    if log:
        _log_axis(ax, "y")
    else:
        ax.set_ylim(0)
    _legend(ax, columns=1)
    return _finish(figure, title, f"Histogramas de {_count(samples, 'muestra')}.", told)


@_styled
def plot_lines(
    x, series, *, title=None, xlabel=None, ylabel=None, logx=False, logy=False, reference=None
):
    """Curvas sobre el mismo eje: la softmax según la temperatura, la varianza según d_k…

    Args:
        x: ``(n,)``.
        series: diccionario nombre → vector ``(n,)``.
        logx, logy: escala logarítmica.
        reference: lo esperado, en gris: un número, un vector ``(n,)`` o un diccionario
            nombre → número o vector.
    """
    me = "plot_lines"
    x = _array(me, "x", x, 1)
    series = _named(me, "series", series)
    expected = reference if isinstance(reference, dict) else {"referencia": reference}
    expected = {} if reference is None else _named(me, "reference", expected, None)
    expected = {name: np.repeat(y, len(x) if y.size == 1 else 1) for name, y in expected.items()}
    _check_lengths(me, {**series, **expected}, len(x), "x")
    for log, values in (("logx", {"x": x}), ("logy", {**series, **expected})):
        for name, y in values.items():
            if {"logx": logx, "logy": logy}[log] and y.min() <= 0:
                raise ValueError(
                    f"{me}: «{name}» llega a {y.min():g} y en escala logarítmica todo tiene que "
                    f"ser positivo: quita {log}=True."
                )
    few = len(x) <= 12
    figure, ax = _new(8.6, 4.1)
    for k, (name, y) in enumerate(series.items()):
        look = {"color": c.CYCLE[k], "ls": DASHES[k], "marker": "osD^vX"[k] if few else None}
        ax.plot(x, y, label=_shown(name, 60), ms=8, **look)
    for name, y in expected.items():
        ax.plot(x, y, color=c.GREY, lw=8, alpha=0.35, label=_shown(name, 60), zorder=1)
    ax.set(xlabel=_shown(xlabel or "x", 60), ylabel=_shown(ylabel, 60) if ylabel else "")
    if logx:
        _log_axis(ax, "x", x if few else None)
    if logy:
        _log_axis(ax, "y")
    ax.grid()
    _legend(ax)
    ends = [_number(v, logx) for v in x[[0, -1]]]
    head = f"Curvas de {ylabel or _count(series, 'serie')} según {xlabel or 'x'}"
    logs = " y ".join(name for log, name in ((logx, "horizontal"), (logy, "vertical")) if log)
    head += f", de {ends[0]} a {ends[1]}" + (f" (escala logarítmica: {logs})." if logs else ".")
    told = []
    for name, y in series.items():
        text = [_number(v, logy or np.abs(y).max() < 0.01) for v in y]
        told.append(f"«{name}» va de {text[0]} a {text[-1]}")
        for word, where in (("máximo", y.argmax()), ("mínimo", y.argmin())):
            if (best := text[where]) not in (text[0], text[-1]):
                told[-1] += f", con {word} {best} en {_number(x[text.index(best)], logx)}"
        told[-1] += "."
    return _finish(figure, title, head, told)


@_styled
def plot_vector_strips(vectors, labels=None, *, title=None, dims=16, limit=None):
    """Cada vector, una tira de colores: morado lo positivo, naranja lo negativo.

    Args:
        vectors: ``(L, d_model)``, un vector por token.
        labels: los L tokens.
        dims: cuántas dimensiones se dibujan, desde la primera.
        limit: valor del color más intenso; por defecto, el mayor valor absoluto dibujado.
    """
    me = "plot_vector_strips"
    vectors = _array(me, "vectors", vectors, 2)
    names = _labels(me, "labels", labels, len(vectors))
    shown = vectors[:, :dims]
    size = (min(0.46, 8.4 / shown.shape[1]), min(0.36, 8.8 / len(names)))
    figure, ax = _new(size[0] * shown.shape[1], size[1] * len(names))
    numbers = [str(i) for i in range(shown.shape[1])]
    mesh = _draw_matrix(ax, shown, names, numbers, size, "scores", limit=limit)
    ax.set_xlabel("dimensión", weight="bold")
    _colour_bar(ax, mesh, "valor")
    head = (
        f"Tiras de color: {_count(names, 'vector')} de {vectors.shape[1]} dimensiones, de las que "
        f"se ven {len(numbers)}. Los valores van de {_fixed(shown.min())} a {_fixed(shown.max())}."
    )
    return _finish(figure, title, head, [f"Vectores: {', '.join(f'«{n}»' for n in names)}."])


def describe(figure):
    """La descripción en palabras de una figura, también de las que no son del curso."""
    if getattr(figure, "description", ""):
        return figure.description
    pieces = [figure.get_suptitle()]
    for ax in figure.axes:
        pieces += [ax.get_title(loc) for loc in ("left", "center", "right")]
        pieces += [f"eje x: {ax.get_xlabel()}"] if ax.get_xlabel() else []
        pieces += [f"eje y: {ax.get_ylabel()}"] if ax.get_ylabel() else []
    return "; ".join(filter(None, pieces)) or "Figura sin títulos."


# --- Leer y comprobar lo que llega -----------------------------------------------------------


def _plain(value):
    if hasattr(value, "detach"):  # torch: sin gradiente y en un tipo que NumPy conozca
        value = value.detach().cpu()
        return (value if str(value.dtype) == "torch.bool" else value.double()).numpy()
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def _array(me, name, value, ndim, infinite=False):
    try:
        array = np.array(_plain(value))
        array = array if array.dtype == bool else array.astype(float)
    except (TypeError, ValueError):
        raise ValueError(
            f"{me}: {name} = {value!r:.60} no es una tabla de números. Pasa un tensor, un array o "
            "listas del mismo largo."
        ) from None
    if ndim is not None and array.ndim != ndim:
        axes = {1: "un eje, (n,)", 2: "dos ejes, (filas, columnas)", 3: "tres ejes, (h, L_q, L_k)"}
        first = f"{name}{'[0]' * (array.ndim - ndim)}"
        advice = f" ¿Te sobra el lote o la cabeza? Prueba {first}." if array.ndim > ndim else ""
        raise ValueError(f"{me}: {name} tiene forma {array.shape} y necesita {axes[ndim]}.{advice}")
    if array.size == 0:
        raise ValueError(f"{me}: {name} tiene forma {array.shape}: está vacío, no hay qué dibujar.")
    if np.isnan(array).any():
        where = ", ".join(map(str, np.argwhere(np.isnan(array))[0]))
        advice = "¿Una softmax de una fila enmascarada entera?"
        raise ValueError(f"{me}: {name} tiene NaN (el primero, en [{where}]). {advice}")
    if np.isposinf(array).any() or not infinite and np.isinf(array).any():
        advice = ' Si son puntuaciones con máscara, usa kind="scores".' if "heat" in me else ""
        raise ValueError(f"{me}: {name} tiene infinitos y no se pueden dibujar.{advice}")
    return array


def _check_kind(me, kind, array, limit=None):
    if kind not in ("weights", "scores", "mask"):
        raise ValueError(f'{me}: kind = {kind!r}, y tiene que ser "weights" o "scores".')
    low, high = array.min(), array.max()
    if kind == "weights" and limit is None and not -1e-4 <= low <= high <= 1 + 1e-4:
        raise ValueError(
            f"{me}: los pesos van de 0 a 1 y estos van de {low:.2f} a {high:.2f}. Si son "
            'puntuaciones o productos, usa plot_heatmap con kind="scores".'
        )


def _check_lengths(me, named, length, other):
    for name, values in named.items():
        if len(values) != length:
            raise ValueError(
                f"{me}: «{name}» mide {len(values)} y {other} mide {length}: tienen que medir lo "
                "mismo."
            )


def _labels(me, name, labels, count, spare=False):
    if isinstance(labels, str):
        raise ValueError(
            f"{me}: {name} = {labels!r:.40} es un solo texto: pasa una lista de tokens, por "
            "ejemplo frase.split()."
        )
    labels = [str(label) for label in (range(count) if labels is None else labels)]
    if len(labels) != count and not (spare and len(labels) > count):
        raise ValueError(
            f"{me}: {name} tiene {len(labels)} etiquetas y hacen falta {count}: una para cada uno."
        )
    return labels[:count]


def _named(me, name, groups, ndim=1):
    most, found = len(HATCHES), type(groups).__name__
    if not isinstance(groups, dict) or not 1 <= len(groups) <= most:
        found = f"{len(groups)} entradas" if isinstance(groups, dict) else found
        raise ValueError(
            f"{me}: {name} tiene que ser un diccionario nombre → números, con entre 1 y {most} "
            f"entradas, y es: {found}."
        )
    return {str(k): _array(me, f"{name}[{k!r}]", v, ndim).ravel() for k, v in groups.items()}


def _index(me, name, wanted, labels):
    if wanted is None:
        return None
    if isinstance(wanted, str) and wanted in labels:
        return labels.index(wanted)
    if not isinstance(wanted, str) and -len(labels) <= int(wanted) < len(labels):
        return int(wanted) % len(labels)
    raise ValueError(
        f"{me}: {name} = {wanted!r} no está: usa un número de 0 a {len(labels) - 1} o uno de estos "
        f"tokens: {', '.join(labels):.200}."
    )


def _pair(me, name, pair, names, vectors):
    try:
        i, j = (_index(me, name, one, names) for one in pair)
    except TypeError:
        raise ValueError(f"{me}: {name} = {pair!r}, y tiene que ser una pareja (i, j).") from None
    for k in (i, j):
        if not vectors[k].any():
            raise ValueError(
                f"{me}: {name} = {pair!r}, pero «{names[k]}» es el vector nulo: no tiene dirección."
            )
    return i, j


# --- Contar lo que se ve ---------------------------------------------------------------------


def _fixed(x, decimals=2):
    # Primero a cinco decimales: así un ruido de 1e-6 no cambia 0.12 por 0.13 en 0.125.
    text = f"{round(float(x), max(5, decimals + 2)):.{decimals}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def _number(x, relative=False):
    """Tres cifras; con ``relative``, también las de los números muy pequeños: 3.1·10⁻⁷."""
    x = float(x) if relative else round(float(x), 5)
    if x == round(x) and abs(x) < 1e5:
        return f"{x:.0f}".replace("-", "−")
    if abs(x) >= 1e5 or relative and abs(x) < 0.01:
        digits, power = f"{x:.1e}".split("e")
        return f"{digits}·{_power(int(power))}".replace("-", "−")
    return _fixed(x, max(0, 3 - len(str(int(abs(x))))))


def _power(exponent):
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _count(things, noun):
    plural = "" if len(things) == 1 else "es" if noun.endswith("r") else "s"
    return f"{len(things)} {noun}{plural}"


def _quote(names, i):
    again = f" [{i}]" if names.count(names[i]) > 1 else ""
    name = names[i].replace("\n", " / ")
    return f"«{name}»{again}"


def _top(row, names, decimals=2, count=3):
    """Los mayores de una fila; los que empatan al redondear, en el orden de los tokens."""
    texts = {i: _fixed(x, decimals) for i, x in enumerate(row) if np.isfinite(x)}
    if not texts:
        return "nadie: toda la fila está enmascarada"
    if len(texts) > 1 and len(set(texts.values())) == 1:
        return f"todos por igual ({texts.popitem()[1]})"
    order = sorted(texts, key=lambda i: -float(texts[i].replace("−", "-")))
    return ", ".join(f"{_quote(names, i)} ({texts[i]})" for i in order[:count])


def _tell_matrix(matrix, rows, cols, kind, decimals, highlight):
    if kind == "mask":
        told = []
        for i, row in enumerate(matrix):
            seen = ", ".join(_quote(cols, j) for j in np.flatnonzero(row)) or "nadie"
            told.append(f"{_quote(rows, i)} puede atender a {'todos' if row.all() else seen}.")
        return told
    masked = int(np.isneginf(matrix).sum())
    told = [f"Celdas enmascaradas (−∞): {masked}."] if masked else []
    if highlight is not None:
        best = _top(matrix[highlight], cols, decimals)
        return [f"En la fila {_quote(rows, highlight)}, de mayor a menor: {best}.", *told]
    if len(rows) > MAX_VALUES:
        row, col = np.unravel_index(matrix.argmax(), matrix.shape)
        best = _top(matrix[row], cols, decimals, 1)
        return [*told, f"Lo más alto de la tabla: {_quote(rows, row)} → {best}."]
    told.append(f"{'El mayor peso' if kind == 'weights' else 'La mayor puntuación'} de cada fila:")
    lines = [f"{_quote(rows, i)} → {_top(row, cols, decimals, 1)}" for i, row in enumerate(matrix)]
    return told + [line + ";" for line in lines[:-1]] + [lines[-1] + "."]


# --- Dibujar ---------------------------------------------------------------------------------


@cache
def _font():
    return get_font(findfont(c.FONT))


def _width(text, size=TEXT):
    """Anchura de un texto, en pulgadas."""
    font, widest = _font(), 0
    font.set_size(size, 72)
    for line in text.split("\n"):
        font.set_text(line)
        widest = max(widest, font.get_width_height()[0] / 64 / 72)
    return widest


def _shown(text, most=MAX_LABEL):
    """El texto, como se dibuja: recortado, y con U+… donde la letra no tiene el signo."""
    if not text.strip():
        return repr(text)
    shown = ""
    for sign in text if len(text) <= most else text[: most - 1] + "…":
        if sign == "\n" or _font().get_char_index(ord(sign)):
            shown += sign
        elif unicodedata.category(sign) not in ("Mn", "Cf"):
            shown += f"U+{ord(sign):04X}"
    return shown


def _new(width, height):
    """Figura con unos ejes de ese tamaño en pulgadas; _finish le ajusta los márgenes."""
    figure = CourseFigure(figsize=(WIDTH, WIDTH), dpi=DPI)
    return figure, figure.add_axes([0, 0, width / WIDTH, height / WIDTH])


def _cells(matrix, kind, decimals):
    if kind == "mask":
        return np.where(matrix, "sí", "no")
    texts = [_fixed(x, decimals) if np.isfinite(x) else "−∞" for x in matrix.flat]
    return np.array(texts).reshape(matrix.shape)


def _luminance(colour):
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ (0.2126, 0.7152, 0.0722)


def _ink_on(colour):
    """Tinta, blanco o negro: el primero que contraste 4.5 o más (WCAG 2.2, 1.4.3)."""
    for ink in (c.INK, c.PAPER, "#000000"):
        low, high = sorted((_luminance(ink), _luminance(colour)))
        if (high + 0.05) / (low + 0.05) >= 4.5:
            break
    return ink


def _draw_matrix(ax, matrix, rows, cols, size, kind, texts=None, row=None, limit=None, below=False):
    """Celdas de ``size`` pulgadas, tokens, textos y marco. ``below``: las keys, debajo."""
    hidden = ~matrix if kind == "mask" else np.isneginf(matrix)
    number = np.where(hidden, 0, matrix).astype(float) * (0.35 if kind == "mask" else 1)
    limit = limit or (max(np.abs(number).max(), 1e-9) if kind == "scores" else 1)
    norm = Normalize(-limit if kind == "scores" else 0, limit)
    cmap = colormaps[c.DIVERGING if kind == "scores" else c.SEQUENTIAL]
    lines = {"edgecolors": c.PAPER, "linewidth": 1.2} if max(matrix.shape) <= 30 else {}
    mesh = ax.pcolormesh(np.ma.array(number, mask=hidden), norm=norm, cmap=cmap, snap=True, **lines)
    ax.patch.set(hatch="//////", edgecolor=c.MIST, linewidth=0)  # se ve donde no hay celda
    ax.set(xlim=(0, len(cols)), ylim=(len(rows), 0))
    ax.spines[:].set_visible(False)

    letter = TEXT if min(size) >= TEXT * LINE else SMALL
    side, other = ("bottom", "top") if below else ("top", "bottom")
    ticks = {side: True, f"label{side}": True, other: False, f"label{other}": False}
    ax.tick_params(length=0, pad=4, labelsize=letter, **ticks)
    ax.xaxis.set_label_position(side)
    labels, step, turn = [_shown(name) for name in cols], 1, {}
    if max(_width(label, letter) for label in labels) > size[0] - 0.05:
        turn = {"rotation": 45, "va": "baseline"}
        if size[0] * 0.7 < letter * LINE:  # ni en diagonal: de pie, y si hace falta uno de cada dos
            turn, step = {"rotation": 90, "va": "center"}, ceil(letter * LINE / size[0])
        turn |= {"ha": "right" if below else "left", "rotation_mode": "anchor"}
    ax.set_xticks(np.arange(0, len(cols), step) + 0.5, labels[::step], **turn)
    step = ceil(letter * LINE / size[1])
    ax.set_yticks(np.arange(0, len(rows), step) + 0.5, [_shown(name) for name in rows[::step]])

    for (i, j), text in np.ndenumerate(texts if texts is not None else np.empty((0, 0))):
        ink = c.INK if hidden[i, j] else _ink_on(cmap(norm(number[i, j])))
        ax.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=SMALL, color=ink)
    if row is not None:
        frame = {"fill": False, "lw": 2.4, "edgecolor": c.INK, "clip_on": False, "zorder": 5}
        ax.add_patch(Rectangle((0, row), len(cols), 1, **frame))
        if row % step == 0:
            ax.get_yticklabels()[row // step].set_weight("bold")
    return mesh


def _colour_bar(ax, mesh, label):
    x, y, width, height = ax.get_position().bounds
    bar = ax.figure.add_axes([x + width + 0.2 / WIDTH, y, 0.16 / WIDTH, height])
    ticks = _ticks(5 if height * WIDTH > 1.5 else 2)
    ax.figure.colorbar(mesh, cax=bar, label=label, ticks=ticks)
    bar.spines[:].set_visible(False)
    bar.tick_params(length=0)


def _beside(ax, at, way, text, **look):
    """Escribe junto a un punto, hacia fuera."""
    dx, dy = np.asarray(way, float) / (hypot(*way) or 1)
    look["ha"] = "left" if dx > 0.35 else "right" if dx < -0.35 else "center"
    look["va"] = "bottom" if dy > 0.35 else "top" if dy < -0.35 else "center"
    place = {"xytext": (dx * 9, dy * 9), "textcoords": "offset points", "annotation_clip": False}
    ax.annotate(text, at, zorder=6, path_effects=[HALO], **place, **look)


def _legend(ax, columns=4):
    """Leyenda encima de los ejes, donde no tapa ningún dato."""
    labels = ax.get_legend_handles_labels()[1]
    fit = int(ax.get_position().width * WIDTH / (max(map(_width, labels)) + 0.75))
    ax.legend(ncols=max(1, min(columns, fit)), loc="lower left", bbox_to_anchor=(-0.01, 1))


def _ticks(most):
    return MaxNLocator(most, steps=[1, 2, 5, 10])


def _log_axis(ax, name, at=None):
    ax.set(**{f"{name}scale": "log"})
    axis = getattr(ax, f"{name}axis")
    if at is not None:
        axis.set_ticks(at)
    axis.set_minor_locator(NullLocator())
    plain = lambda x, _: f"{x:g}" if 1e-3 <= x < 1e5 else _power(round(np.log10(x)))  # noqa: E731
    axis.set_major_formatter(plain)


def _finish(figure, title, head, told):
    """Ajusta la figura a lo dibujado, pone el título a la izquierda y la describe."""
    box, margin = figure.get_tightbbox(FigureCanvasAgg(figure).get_renderer()), 0.12
    lines = [""] if title else []
    for word in _shown(title, 200).split() if title else ():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and _width(longer, TITLE) * 1.12 > max(box.width, 5):  # la negrita ocupa más
            lines.append(word)
        else:
            lines[-1] = longer
    width = max([box.width, *(_width(line, TITLE) * 1.12 for line in lines)])
    height = box.height + (len(lines) * TITLE * 1.25 / 72 + 0.12 if lines else 0)
    size = [ceil((inches + 2 * margin) * DPI / 2) * 2 / DPI for inches in (width, height)]
    places = [ax.get_position().bounds for ax in figure.axes]
    dx, dy = (round((margin - low) * DPI) / DPI for low in (box.x0, box.y0))
    figure.set_size_inches(size)
    for ax, (x, y, w, h) in zip(figure.axes, places, strict=True):
        place = [x * WIDTH + dx, y * WIDTH + dy, w * WIDTH, h * WIDTH]
        ax.set_position([inches / size[i % 2] for i, inches in enumerate(place)])
    corner = (margin / size[0], 1 - margin / size[1])
    look = {"va": "top", "fontsize": TITLE, "weight": "bold", "linespacing": 1.25}
    figure.text(*corner, "\n".join(lines), **look)

    text = head
    if title:
        text += f" Título: {title}" + ("" if title[-1] in ".?!…" else ".")
    for i, sentence in enumerate(told):
        if len(text) + len(sentence) > MAX_DESCRIPTION - 20:
            text += f" … y {len(told) - i} más."
            break
        text += " " + sentence
    figure.description = text
    return figure
