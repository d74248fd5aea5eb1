"""Dibujar tensores: entra un tensor, sale una figura que sabe describirse con palabras.

Las funciones son puras: no cambian lo que reciben ni tocan el estado global de matplotlib.
Aceptan tensores (con gradiente o sin él), arrays y listas. Cada una devuelve una
``CourseFigure``: en un cuaderno se ve como imagen, con su descripción como texto alternativo.
"""

import base64
import html
import io
import math
import warnings

import numpy as np
from matplotlib import colormaps, rc_context
from matplotlib.colors import Normalize, to_hex
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Rectangle
from matplotlib.ticker import LogLocator, MaxNLocator
from PIL import Image

from course_lib import palette

DPI = 160  # el doble de lo que se muestra: nítido en un proyector
STYLE = {
    "font.family": palette.FONT,
    "font.size": 11,
    "text.color": palette.INK,
    "text.parse_math": False,  # un token con «$» es texto, no una fórmula
    "axes.edgecolor": palette.GREY,
    "axes.labelcolor": palette.INK,
    "axes.titlesize": 13,
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": palette.INK,
    "ytick.color": palette.INK,
    "hatch.linewidth": 0.8,
}
HATCHES = ("", "///", "...", "xx")


class CourseFigure(Figure):
    """Una figura de matplotlib con su descripción en ``description``."""

    description = ""

    def __repr__(self):
        return self.description or super().__repr__()

    __str__ = __repr__

    def _repr_mimebundle_(self, include=None, exclude=None):
        """PNG nítido y ligero, con la descripción como texto alternativo y como texto llano.

        Va dos veces: JupyterLab y ``nbconvert`` eligen el HTML, porque al PNG no le ponen el texto
        alternativo de los metadatos; un PDF y los visores que no aceptan el HTML, el PNG.
        """
        raw, small = io.BytesIO(), io.BytesIO()
        with rc_context(STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing")  # un emoji se ve como un recuadro
            self.savefig(raw, format="png", dpi=DPI, bbox_inches="tight", pad_inches=0.12)
        picture = Image.open(raw).convert("RGB").quantize(256, dither=Image.Dither.NONE)
        picture.save(small, format="png", optimize=True)
        png = small.getvalue()
        width, height = (round(side / 2) for side in picture.size)
        element = (
            f'<img alt="{html.escape(self.description)}" style="max-width: 100%; height: auto" '
            f'src="data:image/png;base64,{base64.b64encode(png).decode()}" '
            f'width="{width}" height="{height}">'
        )
        data = {"text/html": element, "image/png": png, "text/plain": self.description}
        return data, {"image/png": {"alt": self.description, "width": width, "height": height}}

    def _ipython_display_(self):
        """Sin este método, el modo «inline» de matplotlib la dibujaría a su manera."""
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        display(data, metadata=metadata, raw=True)


def describe(figure):
    """Cuenta con palabras lo que muestra una figura.

    Args:
        figure: una figura de este módulo, o cualquiera de matplotlib.

    Returns:
        Una descripción en español: la suya o, si no la tiene, sus títulos y ejes.
    """
    if getattr(figure, "description", ""):
        return figure.description
    parts = []
    for ax in figure.axes:
        names = (ax.get_title(), ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel())
        parts.append(", ".join(name for name in names if name) or "ejes sin título")
    return f"Figura con {len(parts)} gráfica(s): " + "; ".join(parts) + "."


def plot_heatmap(
    matrix,
    row_labels=None,
    col_labels=None,
    *,
    title=None,
    kind="weights",
    decimals=2,
    highlight_row=None,
    row_title="query",
    col_title="key",
    values=None,
):
    """Mapa de calor token × token. Las filas son queries y las columnas, keys.

    Args:
        matrix: ``(L_q, L_k)``. Un −∞ se dibuja rayado: está bloqueado.
        row_labels: L_q etiquetas.
        col_labels: L_k etiquetas; si faltan y la matriz es cuadrada, las de las filas.
        title: título.
        kind: ``"weights"`` (de 0 a 1) o ``"scores"`` (con signo, centrado en 0).
        decimals: decimales de los valores.
        highlight_row: índice de la fila que se recuadra.
        row_title, col_title: qué son las filas y las columnas.
        values: si se escriben los valores; por defecto, hasta 20 tokens.

    Raises:
        ValueError: si la matriz o las etiquetas no encajan, o hay NaN.
    """
    matrix = _array(matrix, "matrix", 2)
    if kind not in ("weights", "scores"):
        raise ValueError(f'plot_heatmap: kind = {kind!r}. Elige "weights" o "scores".')
    if kind == "weights":
        _check_weights(matrix, "matrix")
    L_q, L_k = matrix.shape
    rows = _labels(row_labels, L_q, "row_labels")
    if col_labels is None and row_labels is not None and L_q == L_k:
        col_labels = row_labels
    cols = _labels(col_labels, L_k, "col_labels")
    values = max(L_q, L_k) <= 20 if values is None else values
    cell = 0.2 + 0.095 * (decimals + 2) if values else max(0.2, 7.5 / max(L_q, L_k, 20))
    with rc_context(STYLE):
        figure = CourseFigure(figsize=(L_k * cell + 1.6, L_q * cell + 1.6))
        ax = figure.subplots()
        image = _heatmap(ax, matrix, rows, cols, kind, decimals if values else None, highlight_row)
        ax.set_xlabel(f"{col_title} →", loc="left")
        ax.set_ylabel(f"← {row_title}", loc="top")
        if title:
            ax.set_title(title)
        if not values:
            figure.colorbar(image, ax=ax, shrink=0.8)
    named = f"Título: {title}. " if title else ""
    figure.description = (
        f"Mapa de calor de {L_q} × {L_k}. {named}Filas: {row_title}; columnas: {col_title}. "
        + _describe_matrix(matrix, rows, cols, decimals, highlight_row)
    )
    return figure


def plot_heads(
    weights,
    tokens,
    col_tokens=None,
    *,
    heads=None,
    titles=None,
    highlight_row=None,
    layer=None,
    max_columns=4,
):
    """Los pesos de varias cabezas, una al lado de otra.

    Args:
        weights: ``(h, L_q, L_k)``.
        tokens: los L_q tokens que preguntan.
        col_tokens: los L_k que responden; por defecto, los mismos.
        heads: qué cabezas se dibujan; por defecto, todas.
        titles: un título por cabeza dibujada; por defecto, su número.
        highlight_row: índice de la fila que se recuadra.
        layer: número de capa, para el título.
        max_columns: cabezas por fila.

    Raises:
        ValueError: si las formas no encajan o hay NaN.
    """
    weights = _array(weights, "weights", 3)
    _check_weights(weights, "weights")
    heads = list(range(len(weights))) if heads is None else list(heads)
    if not heads or max(heads) >= len(weights):
        raise ValueError(f"plot_heads: heads = {heads} y hay {len(weights)} cabezas, desde la 0.")
    tokens = _labels(tokens, weights.shape[1], "tokens")
    col_tokens = _labels(
        tokens if col_tokens is None else col_tokens, weights.shape[2], "col_tokens"
    )
    titles = _labels(titles or [f"cabeza {head}" for head in heads], len(heads), "titles")
    n_cols = min(max_columns, len(heads))
    n_rows = math.ceil(len(heads) / n_cols)
    side = max(2.0, 0.2 * len(tokens), 0.2 * len(col_tokens))
    with rc_context(STYLE):
        figure = CourseFigure(figsize=(n_cols * (side + 0.2) + 0.9, n_rows * (side + 0.4) + 0.9))
        axes = figure.subplots(
            n_rows, n_cols, squeeze=False, gridspec_kw={"wspace": 0.08, "hspace": 0.2}
        )
        for i, ax in enumerate(axes.flat):
            if i >= len(heads):
                ax.set_axis_off()
                continue
            _heatmap(
                ax, weights[heads[i]], tokens, col_tokens, "weights", None, highlight_row, size=10
            )
            ax.set_title(titles[i], fontsize=11, pad=4 if i >= n_cols else 8)
            if i % n_cols:
                ax.set_yticklabels([])
            if i >= n_cols:
                ax.set_xticklabels([])
        if layer is not None:
            figure.draw_without_rendering()  # para saber hasta dónde llegan las etiquetas
            top = max(ax.get_tightbbox().y1 for ax in axes[0]) / figure.bbox.height
            figure.suptitle(
                f"Las cabezas de la capa {layer}", x=0.125, y=top + 0.02, ha="left", va="bottom",
                fontsize=13,
            )  # fmt: skip
    where = "" if layer is None else f" de la capa {layer}"
    focus = [] if highlight_row is None else [highlight_row]
    # La primera fila de una máscara causal solo ve un token: su 1.00 no dice nada de la cabeza.
    alone = (weights[heads] != 0).sum(axis=-1) == 1  # (cabezas, L_q)
    skip = alone.any() and not alone.all(axis=1).any() and not focus
    lines = []
    for k, (head, name) in enumerate(zip(heads, titles)):
        matrix = np.where(alone[k][:, None], -1, weights[head]) if skip else weights[head]
        i, j = (
            (focus[0], matrix[focus[0]].argmax())
            if focus
            else np.unravel_index(matrix.argmax(), matrix.shape)
        )
        lines.append(f"{name}: «{tokens[i]}» → «{col_tokens[j]}» {_number(matrix[i, j], 2)}")
    what = "el mayor peso de la fila recuadrada" if focus else "el mayor peso"
    what += " de las filas que ven más de un token" if skip else ""
    figure.description = (
        f"{len(heads)} mapas de calor de {len(tokens)} × {len(col_tokens)}, uno por cabeza{where}; de cada uno, {what}. "
        + "; ".join(lines)
        + "."
    )
    return figure


def plot_rows(rows, labels, *, title=None, highlight=None, ylabel="peso"):
    """Una o varias distribuciones sobre los mismos tokens, en barras agrupadas.

    Args:
        rows: diccionario de nombre → vector ``(L,)``.
        labels: L etiquetas.
        title: título.
        highlight: índices de las etiquetas que se marcan en negrita.
        ylabel: qué miden las barras.

    Raises:
        ValueError: si algún vector no mide lo que ``labels`` o hay NaN.
    """
    rows = {name: _array(row, name, 1) for name, row in rows.items()}
    labels = _labels(labels, len(next(iter(rows.values()))), "labels")
    for name, row in rows.items():
        _labels(labels, len(row), f"labels para «{name}»")
    highlight = np.atleast_1d([] if highlight is None else highlight).astype(int).tolist()
    positions, width = np.arange(len(labels)), 0.8 / len(rows)
    with rc_context(STYLE):
        figure = CourseFigure(figsize=(max(5.0, len(labels) * (0.22 + 0.42 * len(rows))), 3.6))
        ax = figure.subplots()
        for i, (name, row) in enumerate(rows.items()):
            bars = ax.bar(
                positions + (i - (len(rows) - 1) / 2) * width, row, width * 0.94, label=name,
                color=palette.CYCLE[i], hatch=HATCHES[i % 4], edgecolor=palette.PAPER, linewidth=0,
            )  # fmt: skip
            ax.bar_label(bars, [_number(x, 2) for x in row], fontsize=9.5, padding=2)
        ax.set_xticks(positions, map(_short, labels))
        ax.tick_params(axis="x", length=0)
        ax.set_ylabel(ylabel)
        ax.margins(x=0.01, y=0.12)
        ax.axhline(0, color=palette.GREY, linewidth=0.8)
        for i in highlight:
            ax.get_xticklabels()[i].set_fontweight("bold")
        if len(rows) > 1:  # debajo: dentro puede tapar una barra
            ax.legend(frameon=False, ncols=len(rows), loc="upper left", bbox_to_anchor=(0, -0.1))
        if title:
            ax.set_title(title)
    sentences = [f"{name}: {_top(row, labels)}" for name, row in rows.items()]
    named = f"Título: {title}. " if title else ""
    figure.description = (
        f"Barras para {len(labels)} etiquetas. {named}" + ". ".join(sentences) + "."
    )
    return figure


def plot_vectors(vectors, labels=None, *, title=None, angle=None, project=None, limits=None):
    """Vectores del plano, dibujados desde el origen.

    Args:
        vectors: ``(n, 2)``.
        labels: n nombres.
        title: título.
        angle: par ``(i, j)`` de vectores cuyo ángulo se marca.
        project: par ``(i, j)``: dibuja la proyección del vector i sobre el j.
        limits: ``(x_min, x_max, y_min, y_max)``; por defecto, los que hagan falta.

    Raises:
        ValueError: si los vectores no son del plano o las etiquetas no encajan.
    """
    vectors = np.stack([_array(vector, "vectors", 1) for vector in vectors])
    if vectors.shape[1] != 2:
        raise ValueError(
            f"plot_vectors: los vectores miden {vectors.shape[1]}, y en el plano miden 2."
        )
    labels = _labels(labels, len(vectors), "labels")
    if limits is None:
        low, high = np.minimum(vectors.min(0), 0), np.maximum(vectors.max(0), 0)
        margin = 0.12 * (high - low).max()
        left = 7 * margin if low[0] < 0 else margin  # a la izquierda hay que dejar sitio al nombre
        limits = (low[0] - left, high[0] + margin, low[1] - margin, high[1] + margin)
    x_min, x_max, y_min, y_max = limits
    scale = 5.2 / max(x_max - x_min, y_max - y_min)
    with rc_context(STYLE):
        figure = CourseFigure(
            figsize=((x_max - x_min) * scale + 0.6, (y_max - y_min) * scale + 0.6)
        )
        ax = figure.subplots()
        ax.set(xlim=(x_min, x_max), ylim=(y_min, y_max), aspect="equal", axisbelow=True)
        ax.grid(color=palette.MIST)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True))
        ax.axhline(0, color=palette.GREY, linewidth=0.8)
        ax.axvline(0, color=palette.GREY, linewidth=0.8)
        for i, (vector, label) in enumerate(zip(vectors, labels)):
            color = palette.CYCLE[i % len(palette.CYCLE)]
            arrow = {
                "arrowstyle": "-|>,head_width=0.35,head_length=0.7",
                "color": color,
                "linewidth": 2.6,
            }
            ax.annotate("", vector, (0, 0), arrowprops={**arrow, "shrinkA": 0, "shrinkB": 0})
            away = vector / (np.linalg.norm(vector) or 1) * 13
            ax.annotate(
                f"{label} ({_number(vector[0], 1)}, {_number(vector[1], 1)})", vector, away,
                textcoords="offset points", ha="left" if away[0] > 4 else "right" if away[0] < -4 else "center",
                va="center", fontweight="bold", annotation_clip=False,
                bbox={"facecolor": palette.PAPER, "edgecolor": "none", "pad": 1.5, "alpha": 0.8},
            )  # fmt: skip
        if angle is not None:
            _draw_angle(ax, vectors[angle[0]], vectors[angle[1]])
        if project is not None:
            i, j = project
            foot = vectors[j] * (vectors[i] @ vectors[j]) / (vectors[j] @ vectors[j])
            ax.plot(*zip(vectors[i], foot), color=palette.GREY, linestyle=":", linewidth=1.6)
            ax.plot(*zip((0, 0), foot), color=palette.INK, linewidth=5, alpha=0.35)
        if title:
            ax.set_title(title)
    listed = "; ".join(
        f"{label} = ({', '.join(_number(x, 2) for x in vector)}), norma {_number(np.linalg.norm(vector), 2)}"
        for label, vector in zip(labels, vectors)
    )
    named = f"Título: {title}. " if title else ""
    between = ""
    if angle is not None:
        i, j = angle
        between = (
            f" Ángulo entre {labels[i]} y {labels[j]}: {_degrees(vectors[i], vectors[j]):.0f}°."
        )
    figure.description = (
        f"{len(vectors)} vectores del plano desde el origen. {named}{listed}.{between}"
    )
    return figure


def plot_distributions(samples, *, bins=60, title=None, xlabel=None, log=False):
    """Histogramas superpuestos, con media y desviación en la leyenda.

    Args:
        samples: diccionario de nombre → muestras, de cualquier forma.
        bins: número de intervalos, comunes a todos.
        title, xlabel: título y nombre del eje.
        log: si el eje vertical es logarítmico.
    """
    samples = {name: _array(x, name, None).ravel() for name, x in samples.items()}
    edges = np.linspace(
        min(x.min() for x in samples.values()), max(x.max() for x in samples.values()), bins + 1
    )
    facts = {
        name: f"media {_number(x.mean(), 2)}, desviación {_number(x.std(), 2)}"
        for name, x in samples.items()
    }
    with rc_context(STYLE):
        figure = CourseFigure(figsize=(7.6, 3.8))
        ax = figure.subplots()
        for i, (name, x) in enumerate(samples.items()):
            ax.hist(x, edges, density=True, histtype="step", linewidth=2.2, log=log,
                    color=palette.CYCLE[i % len(palette.CYCLE)], linestyle=("-", "--", ":", "-.")[i % 4],
                    label=f"{name}: {facts[name]}")  # fmt: skip
        ax.set(xlabel=xlabel or "", ylabel="densidad")
        ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, -0.15))  # debajo
        if title:
            ax.set_title(title)
    named = f"Título: {title}. " if title else ""
    listed = "; ".join(f"{name}: {fact}" for name, fact in facts.items())
    figure.description = f"Histogramas de {len(samples)} conjuntos. {named}{listed}."
    return figure


def plot_lines(
    x, series, *, title=None, xlabel=None, ylabel=None, logx=False, logy=False, reference=None
):
    """Curvas sobre un mismo eje.

    Args:
        x: ``(n,)``.
        series: diccionario de nombre → ``(n,)``.
        title, xlabel, ylabel: título y ejes.
        logx, logy: si un eje es logarítmico.
        reference: altura de una línea horizontal de referencia.

    Raises:
        ValueError: si alguna curva no tiene n puntos o hay NaN.
    """
    x = _array(x, "x", 1)
    series = {name: _array(y, name, 1) for name, y in series.items()}
    for name, y in series.items():
        if len(y) != len(x):
            raise ValueError(f"plot_lines: x tiene {len(x)} puntos y «{name}» tiene {len(y)}.")
    with rc_context(STYLE):
        figure = CourseFigure(figsize=(7.6, 3.8))
        ax = figure.subplots()
        for i, (name, y) in enumerate(series.items()):
            color, style = palette.CYCLE[i % len(palette.CYCLE)], ("-", "--", "-.", ":")[i % 4]
            ax.plot(x, y, color=color, linestyle=style, linewidth=2.4, label=name)
        if reference is not None:
            ax.axhline(reference, color=palette.GREY, linewidth=1, linestyle=(0, (6, 4)))
        ax.set(xlabel=xlabel or "", ylabel=ylabel or "")
        ax.set(xscale="log" if logx else "linear", yscale="log" if logy else "linear")
        for axis, log in ((ax.xaxis, logx), (ax.yaxis, logy)):
            if log:
                axis.set_major_locator(LogLocator(numticks=8))
                axis.set_major_formatter(lambda value, _: f"{value:g}")  # 0.1, 1, 10…
        ax.grid(color=palette.MIST)
        ax.legend(frameon=False)
        if title:
            ax.set_title(title)
    named = f"Título: {title}. " if title else ""
    listed = "; ".join(
        f"{name}: de {_number(y[0], 2)} a {_number(y[-1], 2)}" for name, y in series.items()
    )
    axis = f"{xlabel or 'x'} va de {_number(x[0], 2)} a {_number(x[-1], 2)}"
    figure.description = f"Curvas. {named}{axis}. {listed}."
    return figure


def _heatmap(ax, matrix, rows, cols, kind, decimals, highlight_row, size=11):
    """Dibuja una matriz en ``ax``; con ``decimals`` escribe además los valores."""
    small = max(matrix.shape) <= 20
    finite = matrix[np.isfinite(matrix)]
    limit = np.abs(finite).max() if finite.size and finite.any() else 1.0
    norm = Normalize(0, 1) if kind == "weights" else Normalize(-limit, limit)
    cmap = colormaps[palette.SEQUENTIAL if kind == "weights" else palette.DIVERGING]
    cmap = cmap.with_extremes(bad=palette.GREY)
    image = ax.imshow(np.ma.masked_invalid(matrix), cmap=cmap, norm=norm)
    for i, j in zip(*np.nonzero(np.isneginf(matrix))) if small else ():
        box = {
            "facecolor": palette.MIST,
            "edgecolor": palette.GREY,
            "hatch": "////",
            "linewidth": 0,
        }
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, **box))
    if decimals is not None:
        for (i, j), value in np.ndenumerate(matrix):
            blocked = np.isneginf(value)
            color = palette.INK if blocked else _text_color(cmap(norm(value)))
            back = {"facecolor": palette.PAPER, "edgecolor": "none", "pad": 1} if blocked else None
            text = "−∞" if blocked else _number(value, decimals)
            ax.text(j, i, text, ha="center", va="center", color=color, fontsize=size - 1, bbox=back)
    turn = (
        {"rotation": 45, "ha": "left", "rotation_mode": "anchor"} if decimals else {"rotation": 90}
    )
    ax.set_xticks(range(len(cols)), map(_short, cols), fontsize=size, **turn)
    ax.set_yticks(range(len(rows)), map(_short, rows), fontsize=size)
    ax.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    for edges, line in ((range(len(cols) - 1), ax.axvline), (range(len(rows) - 1), ax.axhline)):
        for edge in edges if small else ():
            line(edge + 0.5, color=palette.PAPER, linewidth=1, zorder=0.9)  # separa las casillas
    ax.xaxis.set_label_position("top")
    ax.spines[:].set_visible(False)
    if highlight_row is not None:
        frame = {
            "fill": False,
            "edgecolor": palette.VERMILION,
            "linewidth": 2.4,
            "clip_on": False,
            "zorder": 3,
        }
        ax.add_patch(Rectangle((-0.5, highlight_row - 0.5), len(cols), 1, **frame))
        ax.get_yticklabels()[highlight_row].set_fontweight("bold")
    return image


def _draw_angle(ax, u, v):
    first, second = (np.degrees(np.arctan2(w[1], w[0])) for w in (u, v))
    start, end = (first, second) if (second - first) % 360 <= 180 else (second, first)
    radius = 0.45 * min(np.linalg.norm(u), np.linalg.norm(v))
    arc = Arc(
        (0, 0), 2 * radius, 2 * radius, theta1=start, theta2=end, color=palette.INK, linewidth=1.4
    )
    ax.add_patch(arc)
    middle = np.radians(start + ((end - start) % 360) / 2)
    position = 1.35 * radius * np.array([np.cos(middle), np.sin(middle)])
    ax.text(*position, f"{_degrees(u, v):.0f}°", ha="center", va="center")


def _degrees(u, v):
    cosine = u @ v / (np.linalg.norm(u) * np.linalg.norm(v))
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


def _text_color(background):
    """Negro o blanco: el que más contraste con el fondo (WCAG 2.2, §1.4.3: al menos 4.5)."""
    return max(("#000000", palette.PAPER), key=lambda color: _contrast(color, to_hex(background)))


def _contrast(a, b):
    def luminance(color):
        channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _describe_matrix(matrix, rows, cols, decimals, highlight_row):
    blocked = int(np.isneginf(matrix).sum())
    note = f" Bloqueadas: {blocked} de {matrix.size} casillas." if blocked else ""
    if highlight_row is not None:
        return f"Fila «{rows[highlight_row]}»: {_top(matrix[highlight_row], cols, decimals)}.{note}"
    if np.isin(matrix, (0, 1)).all() and (matrix.sum(axis=1) > 1).any():
        ones = "; ".join(f"«{row}», {int(n)}" for row, n in zip(rows, matrix.sum(axis=1)))
        return f"Casillas que valen 1, de {len(cols)} en cada fila: {ones}."
    if len(rows) > 20:
        i, j = np.unravel_index(np.round(matrix, decimals).argmax(), matrix.shape)
        return f"El mayor valor, {_number(matrix[i, j], decimals)}, en «{rows[i]}» → «{cols[j]}».{note}"
    return (
        "El mayor de cada fila: "
        + "; ".join(
            f"«{row}» → {_top(values, cols, decimals, 1)}" for row, values in zip(rows, matrix)
        )
        + f".{note}"
    )


def _top(values, labels, decimals=2, count=2):
    """Los mayores valores con su etiqueta; los empates, en el orden de la frase."""
    rounded = np.round(values, decimals)
    order = np.argsort(-rounded, kind="stable")[:count]
    return ", ".join(f"«{labels[i]}» {_number(rounded[i], decimals)}" for i in order)


def _short(label):
    """Una etiqueta que cabe; entera está en la descripción."""
    return label if len(label) <= 16 else label[:15] + "…"


def _number(value, decimals):
    """Un número redondeado, con el signo menos de verdad y sin «−0.00»."""
    if not np.isfinite(value):
        return "∞" if value > 0 else "−∞"
    return f"{round(float(value), decimals) + 0.0:.{decimals}f}".replace("-", "−")


def _array(x, name, ndim):
    """Copia en numpy de un tensor, un array o una lista, comprobada."""
    if hasattr(x, "detach"):
        x = x.detach().cpu().double().numpy()
    array = np.array(x, dtype=float)
    if array.size == 0:
        raise ValueError(f"plots: {name} está vacío: su forma es {array.shape}.")
    if ndim is not None and array.ndim != ndim:
        advice = f" Elige uno del lote, por ejemplo {name}[0]." if array.ndim == ndim + 1 else ""
        raise ValueError(
            f"plots: {name} tiene forma {array.shape} y tiene que tener {ndim} eje(s).{advice}"
        )
    bad = np.isnan(array) | np.isposinf(array)
    if bad.any():
        raise ValueError(f"plots: {name} contiene {bad.sum()} NaN o +∞. Busca de dónde salen.")
    return array


def _check_weights(array, name):
    if array.min() < -1e-6 or array.max() > 1 + 1e-6:
        raise ValueError(
            f"plots: {name} va de {array.min():.2f} a {array.max():.2f}, y los pesos van de 0 a 1. "
            'Si son puntuaciones, usa plot_heatmap(…, kind="scores").'
        )


def _labels(labels, count, name):
    labels = [str(i) for i in range(count)] if labels is None else [str(label) for label in labels]
    if len(labels) != count:
        raise ValueError(f"plots: {name} tiene {len(labels)} etiquetas y hacen falta {count}.")
    return labels
