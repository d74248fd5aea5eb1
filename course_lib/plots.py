"""Gráficas: funciones puras que reciben tensores y devuelven una figura.

No usan ``pyplot``: no hay estado global y nada se muestra dos veces. Valen
tensores de torch (también con gradiente), arrays de NumPy y listas. Cada figura
lleva su descripción en palabras, calculada con los datos: es su texto
alternativo y lo que se ve donde no hay imágenes.

El texto se dibuja tal cual: ``$`` y ``_`` no son LaTeX. En los mapas de calor
las filas son queries y las columnas, keys.
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
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator
from PIL import Image

from . import palette as c

DPI = 160  # la imagen se muestra a la mitad: nítida en pantallas de doble densidad
TEXT, SMALL, TITLE = 13, 11, 15  # tamaños de letra en puntos; ninguno baja de SMALL
WIDTH = 10.2  # anchura máxima en pulgadas: unos 816 píxeles en pantalla
LINE, SMALL_LINE = TEXT * 1.2 / 72, SMALL * 1.2 / 72  # lo que ocupa una línea, en pulgadas
MAX_VALUES = 20  # con más tokens no caben los números en las celdas
MAX_LABEL, MAX_DESCRIPTION = 16, 900  # caracteres

HALO = withStroke(linewidth=3, foreground=c.PAPER)
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++")
DASHES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (1, 2)))
STYLE = {
    "font.family": c.FONT, "font.size": TEXT, "text.parse_math": False, "text.color": c.INK,
    "axes.labelcolor": c.INK, "axes.edgecolor": c.GREY, "axes.spines.top": False,
    "axes.spines.right": False, "axes.axisbelow": True, "axes.formatter.useoffset": False,
    "axes.labelpad": 8, "axes.titlelocation": "left", "axes.titlesize": TEXT,
    "xtick.color": c.INK, "ytick.color": c.INK, "grid.color": c.MIST, "grid.linewidth": 1,
    "hatch.linewidth": 1.2, "lines.linewidth": 2.4, "figure.facecolor": c.PAPER,
}  # fmt: skip


class CourseFigure(Figure):
    """Una figura que sabe contarse: ``description`` dice con palabras lo que muestra."""

    description = ""

    def __repr__(self):
        return self.description

    __str__ = __repr__

    def to_png(self):
        """Bytes de la imagen, los mismos cada vez."""
        with style.context(["default", STYLE]):
            canvas = FigureCanvasAgg(self)
            canvas.draw()
        image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
        image.quantize(256, dither=Image.Dither.NONE).save(buffer := BytesIO(), "png")
        return buffer.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None):
        width, height = (round(inches * DPI / 2) for inches in self.get_size_inches())
        meta = {"alt": self.description, "width": width, "height": height}
        return {"image/png": self.to_png(), "text/plain": self.description}, {"image/png": meta}


def _prefer_our_png():
    # El modo «inline» de matplotlib registra su propia forma de mostrar toda Figure, y esa gana a
    # _repr_mimebundle_. Un registro más concreto que no devuelve nada deja pasar la nuestra.
    if "IPython" in sys.modules:
        shell = sys.modules["IPython"].get_ipython()
        for kind in ("png", "svg+xml", "jpeg") if shell else ():
            formatter = shell.display_formatter.formatters[f"image/{kind}"]
            formatter.for_type(CourseFigure, lambda figure: None)


_prefer_our_png()


def _styled(function):
    @wraps(function)
    def wrapper(*args, **kwargs):
        with style.context(["default", STYLE]):
            return function(*args, **kwargs)

    return wrapper


# --- Lo que se puede dibujar -----------------------------------------------------------------


@_styled
def plot_heatmap(matrix, row_labels=None, col_labels=None, *, title=None, kind="weights",
                 decimals=2, highlight_row=None, row_title="query", col_title="key",
                 values=True, limit=None):  # fmt: skip
    """Mapa de calor token × token, con el valor escrito en cada celda.

    Args:
        matrix: ``(L_q, L_k)``. Si es booleana se dibuja como máscara: True = puede atender.
        row_labels, col_labels: los tokens de las filas y de las columnas. Sin ``col_labels`` una
            matriz cuadrada usa los mismos; sin ninguno, se numeran desde 0.
        kind: ``"weights"``, de 0 a 1, o ``"scores"``, centrado en 0. Las puntuaciones −∞
            (enmascaradas) salen rayadas.
        highlight_row: fila que se enmarca: su número o su token.
        values: escribe los números, si hay 20 tokens o menos.
        limit: valor del color más intenso; por defecto 1 en los pesos y el mayor valor absoluto
            en las puntuaciones.

    Returns:
        La figura.

    Raises:
        ValueError: si la forma, las etiquetas o los valores no encajan.
    """
    me = "plot_heatmap"
    matrix = _array(me, "matrix", matrix, 2, infinite=kind == "scores")
    kind = "mask" if matrix.dtype == bool else kind
    _check_kind(me, kind, matrix, limit)
    rows = _labels(me, "row_labels", row_labels, matrix.shape[0], "filas")
    if col_labels is None and matrix.shape[0] == matrix.shape[1]:
        col_labels = row_labels
    cols = _labels(me, "col_labels", col_labels, matrix.shape[1], "columnas")
    row = _index(me, "highlight_row", highlight_row, rows)
    most = max(matrix.shape)
    cell = min(0.75, max(0.46, 7 / most)) if most <= MAX_VALUES else min(0.46, 8.8 / most)
    if values and most <= MAX_VALUES and matrix.size:
        widest = max(_width(text, SMALL) for text in _cells(matrix, kind, decimals).flat)
        cell = max(cell, widest + 0.1)
    figure, ax = _new(cell * len(cols), cell * len(rows))
    mesh = _draw_matrix(ax, matrix, rows, cols, cell, kind, limit, row,
                        decimals if values else None)  # fmt: skip
    ax.set_ylabel(row_title, weight="bold")
    ax.set_xlabel(col_title, weight="bold")
    if kind != "mask" and not (values and most <= MAX_VALUES):
        _colour_bar(figure, ax, mesh, {"weights": "peso"}.get(kind, "puntuación"))
    what = {"mask": "Máscara", "weights": "Mapa de calor", "scores": "Mapa de calor"}[kind]
    size = f"{what} {len(rows)} × {len(cols)} (filas: {row_title}; columnas: {col_title})."
    return _finish(figure, title, size, _tell_rows(matrix, rows, cols, kind, decimals, row))


@_styled
def plot_heads(weights, tokens, *, heads=None, titles=None, highlight_row=None, layer=None,
               max_columns=4, col_tokens=None, title=None):  # fmt: skip
    """Los pesos de varias cabezas, una al lado de otra.

    Args:
        weights: ``(h, L_q, L_k)``, los pesos de una frase.
        tokens: los L_q tokens de las filas; también los de las columnas si no hay ``col_tokens``.
        heads: números de las cabezas que se dibujan; por defecto, todas.
        titles: un título por cabeza dibujada; por defecto «cabeza 0», «cabeza 1»…
        highlight_row: fila que se enmarca: su número o su token.
        layer: número de capa, para el título.
        col_tokens: los L_k tokens de las columnas, si son otros.

    Returns:
        La figura.

    Raises:
        ValueError: si la forma, las etiquetas o los valores no encajan.
    """
    me = "plot_heads"
    weights = _array(me, "weights", weights, 3)
    _check_kind(me, "weights", weights)
    heads = list(range(len(weights)) if heads is None else heads)
    if not heads or not all(0 <= head < len(weights) for head in heads):
        raise ValueError(f"{me}: heads = {heads}, y weights tiene {len(weights)} cabezas: elige "
                         f"números de 0 a {len(weights) - 1}.")  # fmt: skip
    names = _labels(me, "titles", titles or [f"cabeza {head}" for head in heads], len(heads),
                    "cabezas")  # fmt: skip
    rows = _labels(me, "tokens", tokens, weights.shape[1], "filas")
    cols = _labels(me, "col_tokens", tokens if col_tokens is None else col_tokens,
                   weights.shape[2], "columnas")  # fmt: skip
    row = _index(me, "highlight_row", highlight_row, rows)
    gap, left, n = 0.25, max(_width(_shown(name), SMALL) for name in rows), len(cols)
    fit = max(2, int((WIDTH - left + gap) / (n * SMALL_LINE + gap)))
    columns = max(1, min(max_columns, len(heads), fit))
    cell = min(0.58, ((WIDTH - left + gap) / columns - gap) / n, 4.5 / len(rows))
    width, height = cell * n, cell * len(rows)
    lines = ceil(len(heads) / columns)
    figure = CourseFigure(figsize=(WIDTH, WIDTH), dpi=DPI)
    for i, (head, name) in enumerate(zip(heads, names, strict=True)):
        line, column = divmod(i, columns)
        x, y = 1 + column * (width + gap), 1 + (lines - 1 - line) * (height + 0.5)
        ax = figure.add_axes([x / WIDTH, y / WIDTH, width / WIDTH, height / WIDTH])
        show = 2 if cell >= 0.46 else None
        last = i + columns >= len(heads)
        _draw_matrix(ax, weights[head], rows, cols, cell, "weights", None, row, show, below=True)
        ax.set_title(_shown(name), weight="bold", pad=6)
        ax.tick_params(labelleft=column == 0, labelbottom=last)
        ax.set_ylabel("" if column else "query", weight="bold")
        ax.set_xlabel("key" if last else "", weight="bold")
    title = title or (None if layer is None else f"Capa {layer}")
    told = []
    for head, name in zip(heads, names, strict=True):
        if row is None:
            mean = weights[head].mean(0)
            told.append(f"{name}: la key más atendida es {_top(mean, cols, 2, 1)}, de media.")
        else:
            told.append(f"{name}: «{rows[row]}» mira a {_top(weights[head, row], cols, 2, 1)}.")
    size = f"{len(heads)} cabezas con pesos {len(rows)} × {len(cols)} (filas: query; columnas: key)."
    return _finish(figure, title, size, told)


@_styled
def plot_rows(rows, labels, *, title=None, highlight=None, decimals=2, ylabel="peso"):
    """Una o varias distribuciones sobre los mismos tokens, en barras agrupadas.

    Args:
        rows: diccionario nombre → vector ``(L_k,)``; por ejemplo, la fila «it» en dos frases.
        labels: los L_k tokens. Uno que cambia de frase a frase: ``"hungry\\nold"``.
        highlight: token o tokens (texto o número) que se resaltan.

    Returns:
        La figura.

    Raises:
        ValueError: si la forma, las etiquetas o los valores no encajan.
    """
    me = "plot_rows"
    rows = _named(me, "rows", rows, len(HATCHES))
    labels = _labels(me, "labels", labels, None, "")
    for name, row in rows.items():
        if len(row) != len(labels):
            raise ValueError(f"{me}: rows[{name!r}] mide {len(row)} y hay {len(labels)} labels: "
                             "cada barra necesita su token.")  # fmt: skip
    several = highlight if isinstance(highlight, (list, tuple, set)) else [highlight]
    marked = {_index(me, "highlight", one, labels) for one in several} - {None}
    texts = {name: [_fixed(x, decimals) for x in row] for name, row in rows.items()}
    bar = max(_width(text, SMALL) for row in texts.values() for text in row) + 0.08
    slot, n = bar * len(rows) + 0.16, len(labels)
    upright = slot * n <= WIDTH - 1
    if upright:
        slot = max(slot, min(1.1, 6 / n))
        figure, ax = _new(slot * n, 3)
        draw, ticks, end = ax.bar, ax.set_xticks, ax.set_ylim
    else:
        slot, bar = 0.2 * len(rows) + 0.13, 0.2
        figure, ax = _new(6.5, slot * n)
        draw, ticks, end = ax.barh, ax.set_yticks, ax.set_xlim
        ax.set_ylim(n - 0.5, -0.5)
    for i in marked:
        (ax.axvspan if upright else ax.axhspan)(i - 0.5, i + 0.5, color=c.MIST, zorder=0)
    for k, (name, row) in enumerate(rows.items()):
        at = np.arange(n) + (k - (len(rows) - 1) / 2) * bar / slot
        bars = draw(at, row, bar / slot * 0.92, color=c.CYCLE[k], hatch=HATCHES[k],
                    edgecolor=c.PAPER, linewidth=0, label=_shown(name, 60), zorder=2)  # fmt: skip
        ax.bar_label(bars, texts[name], padding=2, fontsize=SMALL, zorder=3)
    low, high = (f(f(row) for row in rows.values()) for f in (min, max))
    end(min(0, low * 1.15), max(high, 1e-9) * (1.12 if upright else 1.14))
    turn = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    flat = not upright or max(_width(_shown(name)) for name in labels) <= slot - 0.05
    ticks(range(n), [_shown(name) for name in labels], **({} if flat else turn))
    for i in marked:
        (ax.get_xticklabels() if upright else ax.get_yticklabels())[i].set_weight("bold")
    (ax.set_ylabel if upright else ax.set_xlabel)(ylabel)
    (ax.yaxis if upright else ax.xaxis).set_major_locator(_ticks(5))
    ax.grid(axis="y" if upright else "x")
    ax.tick_params(length=0)
    _legend(ax, always=True)
    told = [f"«{name}»: {_top(row, labels, decimals)}." for name, row in rows.items()]
    return _finish(figure, title, f"Barras: {ylabel} de {n} tokens en {_count(rows)}.", told)


@_styled
def plot_vectors(vectors, labels=None, *, title=None, angle=None, project=None, limits=None,
                 norms=False):  # fmt: skip
    """Vectores del plano, dibujados desde el origen y con la misma escala en los dos ejes.

    Args:
        vectors: ``(n, 2)``, o un diccionario nombre → vector ``(2,)``.
        labels: un nombre por vector; por defecto «u», «v», «w»…
        angle: pareja ``(i, j)`` de vectores cuyo ángulo se marca.
        project: pareja ``(i, j)``: dibuja la proyección de i sobre j.
        limits: número L (los ejes van de −L a L) o ``(xmin, xmax, ymin, ymax)``.
        norms: añade la norma de cada vector a su nombre.

    Returns:
        La figura.

    Raises:
        ValueError: si no son vectores del plano, si un vector nulo no tiene ángulo o si las
            etiquetas no encajan.
    """
    me = "plot_vectors"
    if isinstance(vectors, dict):
        labels, vectors = list(vectors) if labels is None else labels, list(vectors.values())
    vectors = _array(me, "vectors", vectors, 2)
    if vectors.shape[1] != 2:
        raise ValueError(f"{me}: vectors tiene forma {vectors.shape} y los vectores del plano "
                         "tienen 2 componentes: elige dos, por ejemplo vectors[:, :2].")  # fmt: skip
    names = _labels(me, "labels", labels or list("uvwxyzabcdefghijklmnopqrst")[: len(vectors)],
                    len(vectors), "vectores")  # fmt: skip
    if limits is None:
        low, high = np.minimum(vectors.min(0), 0), np.maximum(vectors.max(0), 0)
        half, middle = max(*(high - low), 1e-9) * 0.62, (low + high) / 2
        limits = [middle[0] - half, middle[0] + half, middle[1] - half, middle[1] + half]
    elif np.ndim(limits) == 0:
        limits = [-limits, limits, -limits, limits]
    x0, x1, y0, y1 = map(float, limits)
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
    told = [", ".join(f"{name} = ({_fixed(x)}, {_fixed(y)}), norma {_fixed(hypot(x, y))}"
                      for name, (x, y) in zip(names, vectors, strict=True)) + "."]  # fmt: skip
    if project is not None:
        i, j = _pair(me, "project", project, names, vectors)
        length = vectors[i] @ vectors[j] / np.linalg.norm(vectors[j])
        foot = length * vectors[j] / np.linalg.norm(vectors[j])
        ax.plot(*zip((0, 0), foot, strict=True), color=c.YELLOW, lw=9, solid_capstyle="butt")
        ax.plot(*zip(vectors[i], foot, strict=True), color=c.GREY, lw=1.6, ls="--")
        told.append(f"La proyección de {names[i]} sobre {names[j]} mide {_fixed(length)}.")
        away = foot - vectors[i] if np.abs(foot - vectors[i]).max() > 1e-9 * span else (0, -1)
        _beside(ax, foot / 2, away, f"proyección {_fixed(length)}", SMALL)
    if angle is not None:
        i, j = _pair(me, "angle", angle, names, vectors)
        start, turn = degrees(atan2(*vectors[i][::-1])), degrees(atan2(*vectors[j][::-1]))
        turn = (turn - start + 180) % 360 - 180
        ends = sorted((start, start + turn))
        ax.add_patch(Arc((0, 0), 0.3 * span, 0.3 * span, theta1=ends[0], theta2=ends[1], lw=1.8,
                         color=c.INK))  # fmt: skip
        middle = np.radians(start + turn / 2)
        way = np.array([np.cos(middle), np.sin(middle)])
        _beside(ax, 0.15 * span * way, way, f"{_fixed(abs(turn), 1)}°")
        told.append(f"El ángulo entre {names[i]} y {names[j]} es de {_fixed(abs(turn), 1)}° "
                    f"(coseno {_fixed(np.cos(np.radians(turn)))}).")  # fmt: skip
    for k, (name, vector) in enumerate(zip(names, vectors, strict=True)):
        colour = c.CYCLE[k % len(c.CYCLE)]
        if np.abs(vector).max() <= 1e-9 * span:
            ax.plot(0, 0, "o", color=colour, ms=9)
        arrow = {"arrowstyle": "-|>", "color": colour, "lw": 2.8, "mutation_scale": 20,
                 "shrinkA": 0, "shrinkB": 0}  # fmt: skip
        ax.annotate("", vector, (0, 0), arrowprops=arrow, annotation_clip=False)
        norm = f"\n‖{_shown(name)}‖ = {_fixed(hypot(*vector))}" if norms else ""
        _beside(ax, vector, vector, _shown(name) + norm, weight="bold")
    return _finish(figure, title, f"{len(names)} vectores en el plano.", told)


@_styled
def plot_distributions(samples, *, bins=60, title=None, xlabel=None, log=False):
    """Histogramas superpuestos, con la media y la desviación típica de cada muestra.

    Args:
        samples: diccionario nombre → muestra, de cualquier forma: se aplana.
        bins: número de intervalos, los mismos para todas las muestras.
        log: eje vertical logarítmico.

    Returns:
        La figura. El eje vertical es la densidad: cada histograma encierra área 1.

    Raises:
        ValueError: si falta alguna muestra o tiene NaN o infinitos.
    """
    samples = _named("plot_distributions", "samples", samples, len(DASHES), flat=True)
    edges = np.histogram_bin_edges(np.concatenate(list(samples.values())), bins)
    figure, ax = _new(8.6, 3.9)
    told = []
    for k, (name, sample) in enumerate(samples.items()):
        tiny = np.abs(sample).max() < 0.01
        mean, std = _number(sample.mean(), tiny), _number(sample.std(), tiny)
        density = np.histogram(sample, edges, density=True)[0]
        ax.stairs(density, edges, fill=True, color=c.CYCLE[k], alpha=0.12)
        ax.stairs(density, edges, color=c.CYCLE[k], ls=DASHES[k], lw=2.2,
                  label=f"{_shown(name, 60)}:  media {mean},  desviación típica {std}")  # fmt: skip
        told.append(f"«{name}»: media {mean} y desviación típica {std}, de {sample.size} valores.")
    ax.set(xlim=(edges[0], edges[-1]), xlabel=xlabel or "valor", ylabel="densidad")
    if log:
        _log_axis(ax.yaxis)
    else:
        ax.set_ylim(0)
    ax.grid(axis="y")
    _legend(ax, always=True, columns=1)
    return _finish(figure, title, f"Histogramas de {_count(samples, 'muestra')}.", told)


@_styled
def plot_lines(x, series, *, title=None, xlabel=None, ylabel=None, logx=False, logy=False,
               reference=None):  # fmt: skip
    """Curvas sobre el mismo eje: la softmax según la temperatura, la varianza según d_k…

    Args:
        x: ``(n,)``.
        series: diccionario nombre → vector ``(n,)``.
        logx, logy: escala logarítmica.
        reference: lo esperado, en gris: un número, un vector ``(n,)`` o un diccionario
            nombre → número o vector.

    Returns:
        La figura.

    Raises:
        ValueError: si las longitudes no coinciden, o si hay valores no positivos en un eje
            logarítmico.
    """
    me = "plot_lines"
    x = _array(me, "x", x, 1)
    series = _named(me, "series", series, len(DASHES))
    if reference is not None and not isinstance(reference, dict):
        reference = {"referencia": reference}
    reference = {name: np.broadcast_to(_array(me, "reference", y, None), x.shape)
                 if np.size(y) == 1 else _array(me, "reference", y, 1)
                 for name, y in (reference or {}).items()}  # fmt: skip
    for name, y in {**series, **reference}.items():
        if len(y) != len(x):
            raise ValueError(f"{me}: «{name}» mide {len(y)} y x mide {len(x)}: cada punto de x "
                             "necesita su valor.")  # fmt: skip
        for log, what, axis in ((logx, x, "x"), (logy, y, f"«{name}»")):
            if log and what.min() <= 0:
                raise ValueError(f"{me}: {axis} llega a {what.min():g} y en escala logarítmica "
                                 "todo tiene que ser positivo: quita log"
                                 f"{'x' if axis == 'x' else 'y'}=True.")  # fmt: skip
    figure, ax = _new(8.6, 4.1)
    few = len(x) <= 12
    for k, (name, y) in enumerate(series.items()):
        ax.plot(x, y, color=c.CYCLE[k], ls=DASHES[k], label=_shown(name, 60),
                marker="osD^vX"[k] if few else None, ms=8)  # fmt: skip
    for name, y in reference.items():
        ax.plot(x, y, color=c.GREY, lw=8, alpha=0.35, label=_shown(name, 60), zorder=1)
    ax.set(xlabel=xlabel or "x", ylabel=ylabel or "")
    if logx:
        _log_axis(ax.xaxis, x if few else None)
    if logy:
        _log_axis(ax.yaxis)
    ax.grid()
    _legend(ax, always=len(series) + len(reference) > 1)
    told = []
    for name, y in series.items():
        tiny = logy or np.abs(y).max() < 0.01
        text = [_number(v, tiny) for v in y]
        told.append(f"«{name}» va de {text[0]} a {text[-1]}")
        inside = [(w, i) for i, w in enumerate(text) if w not in (text[0], text[-1])]
        for word, pick in (("máximo", np.max), ("mínimo", np.min)):
            best = _number(pick(y), tiny)
            where = next((i for w, i in inside if w == best), None)
            told[-1] += "" if where is None else f", con {word} {best} en {_number(x[where], logx)}"
        told[-1] += "."
    scale = [f"eje {a} logarítmico" for a, log in (("x", logx), ("y", logy)) if log]
    head = (f"Curvas de {ylabel or _count(series)} según {xlabel or 'x'}, de {_number(x[0], logx)} "
            f"a {_number(x[-1], logx)}{' (' + ', '.join(scale) + ')' if scale else ''}.")  # fmt: skip
    return _finish(figure, title, head, told)


@_styled
def plot_vector_strips(vectors, labels=None, *, title=None, dims=16, limit=None, values=False):
    """Cada vector, una tira de colores: morado lo positivo, naranja lo negativo.

    Args:
        vectors: ``(L, d_model)``, un vector por token.
        labels: los L tokens.
        dims: cuántas dimensiones se dibujan, desde la primera.
        limit: valor del color más intenso; por defecto, el mayor valor absoluto dibujado.
        values: escribe los números.

    Returns:
        La figura.

    Raises:
        ValueError: si la forma o las etiquetas no encajan.
    """
    me = "plot_vector_strips"
    vectors = _array(me, "vectors", vectors, 2)
    names = _labels(me, "labels", labels, len(vectors), "vectores")
    shown = vectors[:, :dims]
    cell = min(0.46, 8.4 / shown.shape[1])
    figure, ax = _new(cell * shown.shape[1], 0.36 * len(names))
    numbers = [str(i) for i in range(shown.shape[1])]
    mesh = _draw_matrix(ax, shown, names, numbers, cell, "scores", limit, None,
                        1 if values and cell >= 0.4 else None, height=0.36)  # fmt: skip
    ax.set_xlabel("dimensión", weight="bold")
    _colour_bar(figure, ax, mesh, "valor")
    low, high = _fixed(shown.min()), _fixed(shown.max())
    head = (f"Tiras de color: {len(names)} vectores de {vectors.shape[1]} dimensiones, de las que "
            f"se ven {shown.shape[1]}. Los valores van de {low} a {high}.")  # fmt: skip
    return _finish(figure, title, head, [f"Vectores: {', '.join(f'«{n}»' for n in names)}."])


def describe(figure):
    """La descripción en palabras de una figura, también de las que no son del curso."""
    if getattr(figure, "description", ""):
        return figure.description
    pieces = [figure.get_suptitle()]
    for ax in figure.axes:
        names = (("", ax.get_title), ("", lambda ax=ax: ax.get_title("left")),
                 ("eje x: ", ax.get_xlabel), ("eje y: ", ax.get_ylabel))  # fmt: skip
        pieces += [prefix + get() for prefix, get in names if get()]
    return "; ".join(filter(None, pieces)) or "Figura sin títulos."


# --- Leer lo que llega -----------------------------------------------------------------------


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
        raise ValueError(f"{me}: {name} = {value!r:.60} no es una tabla de números. Pasa un tensor, "
                         "un array o listas del mismo largo.") from None  # fmt: skip
    if ndim is not None and array.ndim != ndim:
        axes = {1: "un eje, (n,)", 2: "dos ejes, (filas, columnas)", 3: "tres ejes, (h, L_q, L_k)"}
        first = "[0]" * (array.ndim - ndim)
        advice = f" ¿Te sobra el lote o la cabeza? Prueba {name}{first}." if first else ""
        raise ValueError(f"{me}: {name} tiene forma {array.shape} y necesita {axes[ndim]}.{advice}")
    if array.size == 0:
        raise ValueError(f"{me}: {name} tiene forma {array.shape}: está vacío, no hay qué dibujar.")
    if np.isnan(array).any():
        where = ", ".join(map(str, np.argwhere(np.isnan(array))[0]))
        raise ValueError(f"{me}: {name} tiene NaN (el primero, en [{where}]). ¿Una softmax de una "
                         "fila enmascarada entera?")  # fmt: skip
    if np.isposinf(array).any() or not infinite and np.isinf(array).any():
        advice = " Si son puntuaciones con máscara, kind=\"scores\"." if me == "plot_heatmap" else ""
        raise ValueError(f"{me}: {name} tiene infinitos y no se pueden dibujar.{advice}")
    return array


def _check_kind(me, kind, array, limit=None):
    if kind not in ("weights", "scores", "mask"):
        raise ValueError(f'{me}: kind = {kind!r}, y tiene que ser "weights" o "scores".')
    low, high = array.min(), array.max()
    if kind == "weights" and (low < -1e-4 or high > 1 + 1e-4) and limit is None:
        raise ValueError(f"{me}: los pesos van de 0 a 1 y estos van de {low:.2f} a {high:.2f}. Si "
                         'son puntuaciones o productos, usa plot_heatmap con kind="scores".'
                         )  # fmt: skip


def _labels(me, name, labels, count, what):
    if labels is None:
        labels = range(count or 0)
    if isinstance(labels, str):
        raise ValueError(f"{me}: {name} = {labels!r:.40} es un solo texto: pasa una lista de "
                         "tokens, por ejemplo frase.split().")  # fmt: skip
    labels = [str(label) for label in labels]
    if count is not None and len(labels) != count:
        raise ValueError(f"{me}: {name} tiene {len(labels)} etiquetas y hay {count} {what}: tiene "
                         "que haber una para cada una.")  # fmt: skip
    return labels


def _named(me, name, groups, most, flat=False):
    if not isinstance(groups, dict) or not 1 <= len(groups) <= most:
        found = f"{len(groups)} entradas" if isinstance(groups, dict) else type(groups).__name__
        raise ValueError(f"{me}: {name} tiene que ser un diccionario nombre → números, con entre "
                         f"1 y {most} entradas, y es: {found}.")  # fmt: skip
    arrays = {str(k): _array(me, f"{name}[{k!r}]", v, None if flat else 1)
              for k, v in groups.items()}  # fmt: skip
    return {k: v.ravel() for k, v in arrays.items()} if flat else arrays


def _index(me, name, wanted, labels):
    if wanted is None:
        return None
    if isinstance(wanted, str) and wanted in labels:
        return labels.index(wanted)
    if not isinstance(wanted, str) and -len(labels) <= int(wanted) < len(labels):
        return int(wanted) % len(labels)
    raise ValueError(f"{me}: {name} = {wanted!r} no está: usa un número de 0 a {len(labels) - 1} o "
                     f"uno de estos tokens: {', '.join(labels):.200}.")  # fmt: skip


def _pair(me, name, pair, names, vectors):
    try:
        i, j = (_index(me, name, one, names) for one in pair)
    except TypeError:
        raise ValueError(f"{me}: {name} = {pair!r}, y tiene que ser una pareja (i, j).") from None
    for k in (i, j):
        if not vectors[k].any():
            raise ValueError(f"{me}: {name} = {pair!r}, pero «{names[k]}» es el vector nulo: no "
                             "tiene dirección.")  # fmt: skip
    return i, j


# --- Contar lo que se ve ---------------------------------------------------------------------


def _fixed(x, decimals=2):
    # Primero a cinco decimales: así un ruido de 1e-6 no cambia 0.125 de 0.12 a 0.13.
    text = f"{round(float(x), max(5, decimals + 2)):.{decimals}f}"
    return (text[1:] if float(text) == 0 else text).replace("-", "−") if text[0] == "-" else text


def _number(x, relative=False):
    """Tres cifras, y con ``relative`` también los muy pequeños: 3.1·10⁻⁷."""
    x = float(x) if relative else round(float(x), 5)
    if x == round(x) and abs(x) < 1e5:
        return f"{x:.0f}".replace("-", "−")
    if abs(x) >= 1e5 or relative and abs(x) < 0.01:
        digits, power = f"{x:.1e}".split("e")
        return f"{digits}·{_power(int(power))}".replace("-", "−")
    return _fixed(x, max(0, 3 - len(str(int(abs(x))))))


def _power(exponent):
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _count(groups, what="serie"):
    return f"{len(groups)} {what}{'s' if len(groups) > 1 else ''}"


def _top(row, names, decimals, count=3):
    """Los mayores de una fila; los que empatan al redondear, en el orden de los tokens."""
    texts = [_fixed(x, decimals) if np.isfinite(x) else None for x in row]
    order = [i for i, text in enumerate(texts) if text is not None]
    if not order:
        return "nada: toda la fila está enmascarada"
    if len(order) > 1 and len({texts[i] for i in order}) == 1:
        return f"todos por igual ({texts[order[0]]})"
    order.sort(key=lambda i: -float(texts[i].replace("−", "-")))
    return ", ".join(f"{_quote(names, i)} ({texts[i]})" for i in order[:count])


def _quote(names, i):
    again = f" [{i}]" if names.count(names[i]) > 1 else ""
    return f"«{' / '.join(names[i].split(chr(10)))}»{again}"


def _tell_rows(matrix, rows, cols, kind, decimals, highlight):
    if kind == "mask":
        return [f"{_quote(rows, i)} puede atender a "
                + ("todos" if row.all() else ", ".join(_quote(cols, j) for j in np.flatnonzero(row))
                   or "nadie") + "." for i, row in enumerate(matrix)]  # fmt: skip
    masked = int(np.isneginf(matrix).sum())
    told = [f"{masked} celdas enmascaradas (−∞)."] if masked else []
    if highlight is not None:
        return [f"En la fila {_quote(rows, highlight)}, de mayor a menor: "
                f"{_top(matrix[highlight], cols, decimals)}.", *told]  # fmt: skip
    if len(rows) > MAX_VALUES:
        pairs = [f"{_quote(rows, i)} → {_quote(cols, j)}" for i, j in np.ndindex(matrix.shape)]
        pairs = _top(matrix.ravel(), pairs, decimals).replace("««", "«").replace("»»", "»")
        return [*told, f"Lo más alto de la tabla: {pairs}."]
    noun = "el mayor peso" if kind == "weights" else "la mayor puntuación"
    told.append(f"{noun.capitalize()} de cada fila:")
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
    if len(text) > most:
        text = text[: most - 1] + "…"
    font, shown = _font(), ""
    for sign in text:
        if sign == "\n" or font.get_char_index(ord(sign)):
            shown += sign
        elif unicodedata.category(sign) not in ("Mn", "Cf"):
            shown += f"U+{ord(sign):04X}"
    return shown


def _new(width, height):
    """Figura con unos ejes de ese tamaño en pulgadas; _finish le ajusta los márgenes."""
    figure = CourseFigure(figsize=(WIDTH, WIDTH), dpi=DPI)
    return figure, figure.add_axes([0.2, 0.2, width / WIDTH, height / WIDTH])


def _cells(matrix, kind, decimals):
    if kind == "mask":
        return np.where(matrix, "sí", "no")
    texts = [_fixed(x, decimals) if np.isfinite(x) else "−∞" for x in matrix.flat]
    return np.array(texts).reshape(matrix.shape)


def _luminance(colour):
    rgb = np.array(to_rgb(colour))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ (
        0.2126, 0.7152, 0.0722)  # fmt: skip


def _ink_on(colour):
    """Tinta, blanco o negro: el primero con contraste de 4.5 (WCAG 2.2, 1.4.3)."""
    for ink in (c.INK, c.PAPER, "#000000"):
        low, high = sorted((_luminance(ink), _luminance(colour)))
        if (high + 0.05) / (low + 0.05) >= 4.5:
            return ink
    return ink


def _draw_matrix(ax, matrix, rows, cols, cell, kind, limit, highlight, decimals, height=None,
                 below=False):  # fmt: skip
    """Celdas, tokens, números y marco. ``cell`` y ``height``: pulgadas; ``decimals=None``: mudo."""
    hidden = ~matrix if kind == "mask" else np.isneginf(matrix)
    number = np.where(hidden, 0, matrix).astype(float) * (0.35 if kind == "mask" else 1)
    limit = limit or (1 if kind != "scores" else max(np.abs(number).max(), 1e-9))
    norm = Normalize(-limit if kind == "scores" else 0, limit)
    cmap = colormaps[c.DIVERGING if kind == "scores" else c.SEQUENTIAL]
    many = max(matrix.shape) > 30
    ax.patch.set(facecolor=c.PAPER, hatch="//////", edgecolor=c.MIST, linewidth=0)
    mesh = ax.pcolormesh(np.ma.array(number, mask=hidden), norm=norm, cmap=cmap, snap=True,
                         edgecolors="none" if many else c.PAPER, linewidth=0 if many else 1.2)
    ax.set(xlim=(0, len(cols)), ylim=(len(rows), 0))
    ax.spines[:].set_visible(False)
    size = TEXT if cell >= LINE else SMALL
    ax.tick_params(length=0, pad=4, labelsize=size, top=not below, labeltop=not below,
                   bottom=below, labelbottom=below)  # fmt: skip
    ax.xaxis.set_label_position("bottom" if below else "top")
    labels, line = [_shown(name) for name in cols], size * 1.2 / 72
    turn, step = {}, 1
    if max(_width(label, size) for label in labels) > cell - 0.05:
        flat = cell * 0.7 >= line
        step = 1 if flat else ceil(line / cell)
        turn = {"rotation": 45 if flat else 90, "va": "baseline" if flat else "center",
                "ha": "right" if below else "left", "rotation_mode": "anchor"}  # fmt: skip
    ax.set_xticks(np.arange(0, len(cols), step) + 0.5, labels[::step], **turn)
    step = ceil(line / (height or cell))
    ax.set_yticks(np.arange(0, len(rows), step) + 0.5, [_shown(name) for name in rows[::step]])
    if decimals is not None and max(matrix.shape) <= MAX_VALUES:
        for (i, j), text in np.ndenumerate(_cells(matrix, kind, decimals)):
            ink = c.INK if hidden[i, j] else _ink_on(cmap(norm(number[i, j])))
            ax.text(j + 0.5, i + 0.5, text, ha="center", va="center", fontsize=SMALL, color=ink)
    if highlight is not None:
        ax.add_patch(Rectangle((0, highlight), len(cols), 1, fill=False, lw=2.6, edgecolor=c.INK,
                               clip_on=False, zorder=5))  # fmt: skip
        if highlight % step == 0:
            ax.get_yticklabels()[highlight // step].set_weight("bold")
    return mesh


def _colour_bar(figure, ax, mesh, label):
    x, y, width, height = ax.get_position().bounds
    bar = figure.add_axes([x + width + 0.2 / WIDTH, y, 0.16 / WIDTH, height])
    figure.colorbar(mesh, cax=bar, label=label, ticks=_ticks(5 if height * WIDTH > 1.5 else 2))
    bar.spines[:].set_visible(False)
    bar.tick_params(length=0)


def _beside(ax, at, way, text, size=TEXT, **style):
    """Escribe junto a un punto, hacia fuera."""
    way = np.asarray(way, float)
    dx, dy = way / (hypot(*way) or 1)
    ax.annotate(text, at, (dx * 9, dy * 9), textcoords="offset points", fontsize=size,
                ha="left" if dx > 0.35 else "right" if dx < -0.35 else "center",
                va="bottom" if dy > 0.35 else "top" if dy < -0.35 else "center",
                annotation_clip=False, zorder=6, path_effects=[HALO], **style)  # fmt: skip


def _legend(ax, always, columns=4):
    """Leyenda encima de los ejes, donde no tapa ningún dato."""
    if always:
        labels = ax.get_legend_handles_labels()[1]
        room = ax.get_position().width * WIDTH
        fit = int(room / (max(map(_width, labels)) + 0.75))
        ax.legend(loc="lower left", bbox_to_anchor=(-0.01, 1), frameon=False, borderpad=0.2,
                  ncols=max(1, min(columns, fit, len(labels))), handlelength=2.4,
                  borderaxespad=0.3, labelspacing=0.3)  # fmt: skip


def _ticks(most):
    return MaxNLocator(most, steps=[1, 2, 5, 10])


def _log_axis(axis, at=None):
    axis._set_axes_scale("log")
    if at is not None:
        axis.set_ticks(at)
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(
        lambda x, _: f"{x:g}" if 1e-3 <= x < 1e5 else _power(round(np.log10(x)))
    ))


def _finish(figure, title, head, told):
    """Ajusta la figura a lo dibujado, pone el título a la izquierda y la describe."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    box, margin = figure.get_tightbbox(renderer), 0.12
    lines = _wrap(title, max(box.width, 5)) if title else []
    top = (len(lines) * TITLE * 1.25 / 72 + 0.12) if lines else 0
    width = max([box.width, *(_width(line, TITLE) * 1.12 for line in lines)])
    size = [ceil(inches * DPI / 2) * 2 / DPI
            for inches in (width + 2 * margin, box.height + 2 * margin + top)]  # fmt: skip
    places = [ax.get_position().bounds for ax in figure.axes]
    dx, dy = (round((margin - low) * DPI) / DPI for low in (box.x0, box.y0))
    figure.set_size_inches(size)
    for ax, (x, y, w, h) in zip(figure.axes, places, strict=True):
        ax.set_position([(x * WIDTH + dx) / size[0], (y * WIDTH + dy) / size[1],
                         w * WIDTH / size[0], h * WIDTH / size[1]])  # fmt: skip
    figure.text(margin / size[0], 1 - margin / size[1], "\n".join(lines), va="top",
                fontsize=TITLE, weight="bold", linespacing=1.25)  # fmt: skip
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


def _wrap(text, width):
    lines = [""]
    for word in _shown(text, 200).split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and _width(longer, TITLE) * 1.12 > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
