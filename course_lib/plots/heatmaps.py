"""Mapas de calor: una matriz de atención, las de varias cabezas, una fotografía o un sonido."""

import math

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import Normalize, to_rgb
from matplotlib.patches import Rectangle

from course_lib.plots import inputs, palette
from course_lib.plots.figure import CourseFigure, canvas, drawing, titled

PANEL = 1.9  # pulgadas de lado de una fotografía


def plot_heatmap(
    matrix, row_labels=None, col_labels=None, *, title=None, kind="weights", decimals=2,
    highlight_row=None, row_title="query", col_title="key", values=None,
):  # fmt: skip
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
    """
    matrix = inputs.as_array(matrix, "matrix", 2)
    row_title, col_title = inputs.visible(row_title), inputs.visible(col_title)
    if kind not in ("weights", "scores"):
        raise ValueError(f'plot_heatmap: kind = {kind!r}. Elige "weights" o "scores".')
    if kind == "weights":
        inputs.check_weights(matrix, "matrix")
    L_q, L_k = matrix.shape
    rows = inputs.check_labels(row_labels, L_q, "row_labels")
    if col_labels is None and row_labels is not None and L_q == L_k:
        col_labels = rows
    cols = inputs.check_labels(col_labels, L_k, "col_labels")
    highlight_row = inputs.index_in(highlight_row, L_q, "highlight_row")
    values = max(L_q, L_k) <= 20 if values is None else values
    cell = 0.2 + 0.095 * (decimals + 2) if values else max(0.2, 7.5 / max(L_q, L_k, 20))
    with canvas(L_k * cell + 1.6, L_q * cell + 1.6) as (figure, ax):
        image = _heatmap(ax, matrix, rows, cols, kind, decimals if values else None, highlight_row)
        ax.set_xlabel(f"{col_title} →", loc="left")
        ax.set_ylabel(f"← {row_title}", loc="top")
        named = titled(ax, title)
        if not values:
            figure.colorbar(image, ax=ax, shrink=0.8)
    figure.description = (
        f"Mapa de calor de {L_q} × {L_k}. {named}Filas: {row_title}; columnas: {col_title}. "
        + _describe_matrix(matrix, rows, cols, decimals, highlight_row)
    )
    return figure


def plot_heads(
    weights, tokens, col_tokens=None, *, heads=None, titles=None, highlight_row=None, layer=None,
):  # fmt: skip
    """Los pesos de varias cabezas, una al lado de otra.

    Args:
        weights: ``(h, L_q, L_k)``.
        tokens: los L_q tokens que preguntan.
        col_tokens: los L_k que responden; por defecto, los mismos.
        heads: qué cabezas se dibujan; por defecto, todas.
        titles: un título por cabeza dibujada; por defecto, su número.
        highlight_row: índice de la fila que se recuadra.
        layer: número de capa, para el título.
    """
    weights = inputs.as_array(weights, "weights", 3)
    inputs.check_weights(weights, "weights")
    heads = list(range(len(weights))) if heads is None else list(heads)
    if not heads or max(heads) >= len(weights):
        raise ValueError(f"plot_heads: heads = {heads} y hay {len(weights)} cabezas, desde la 0.")
    tokens = inputs.check_labels(tokens, weights.shape[1], "tokens")
    col_tokens = inputs.check_labels(
        tokens if col_tokens is None else col_tokens, weights.shape[2], "col_tokens"
    )
    highlight_row = inputs.index_in(highlight_row, len(tokens), "highlight_row")
    each = ", uno por cabeza" if titles is None else ""
    titles = [f"cabeza {i}" for i in heads] if titles is None else titles
    titles = inputs.check_labels(titles, len(heads), "titles")
    n_cols = min(4, len(heads))
    n_rows = math.ceil(len(heads) / n_cols)
    side = max(2.0, 0.2 * len(tokens), 0.2 * len(col_tokens))
    with drawing():
        figure = CourseFigure(figsize=(n_cols * (side + 0.2) + 0.9, n_rows * (side + 0.4) + 0.9))
        axes = figure.subplots(n_rows, n_cols, squeeze=False, gridspec_kw={"wspace": 0.08, "hspace": 0.2})
        for i, ax in enumerate(axes.flat):
            if i >= len(heads):
                ax.set_axis_off()
                continue
            _heatmap(ax, weights[heads[i]], tokens, col_tokens, "weights", None, highlight_row, 10)
            ax.set_title(inputs.fitted(titles[i], 40), fontsize=11, pad=4 if i >= n_cols else 8)
            if i % n_cols:
                ax.set_yticklabels([])
            if i >= n_cols:
                ax.set_xticklabels([])
        if layer is not None:
            figure.draw_without_rendering()  # para saber hasta dónde llegan las etiquetas
            top = max(ax.get_tightbbox().y1 for ax in axes[0]) / figure.bbox.height
            figure.suptitle(
                f"Las cabezas de la capa {inputs.visible(layer)}", x=0.125, y=top + 0.02, ha="left", va="bottom",
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
        i, j = np.unravel_index(matrix.argmax(), matrix.shape)
        if focus:
            i, j = focus[0], matrix[focus[0]].argmax()
        lines.append(f"{name}: «{tokens[i]}» → «{col_tokens[j]}» {inputs.number_text(matrix[i, j], 2)}")
    what = "el mayor peso de la fila recuadrada" if focus else "el mayor peso"
    what += " de las filas que ven más de un token" if skip else ""
    maps = f"{len(heads)} mapas" if len(heads) > 1 else "Un mapa"
    size = f"{len(tokens)} × {len(col_tokens)}{each}{where}"
    figure.description = f"{maps} de calor de {size}; de cada uno, {what}. {'; '.join(lines)}."
    return figure


def plot_patches(picture, weights, *, patch=None, title=None):
    """Una fotografía, ``(3, H, W)``, y a su lado, de cada fila de pesos, a qué trozos mira.

    Args:
        picture: de 0 a 1.
        weights: diccionario de nombre → ``(L,)``, los pesos de los trozos, por filas; vacío, se dibujan los cortes.
        patch: el número del trozo que mira, que se recuadra.
        title: título.
    """
    picture = inputs.as_array(picture, "picture", 3).clip(0, 1).transpose(1, 2, 0)
    names, rows = inputs.as_series(weights, "weights", 1) if weights else ([], [])
    side = round(len(rows[0]) ** 0.5) if rows else 16
    grey = 0.45 + (picture.mean(-1, keepdims=True) * 12).round().repeat(3, -1) / 30  # con pocos grises ocupa menos
    box, told = (0, side, side, 0), []
    with drawing():
        figure = CourseFigure(figsize=(PANEL * (1 + len(rows)) + 0.2, PANEL + 0.35))
        axes = figure.subplots(1, 1 + len(rows), squeeze=False, gridspec_kw={"wspace": 0.06})[0]
        for ax, name, row in zip(axes, [title or "", *names], [None, *rows]):
            ax.imshow(picture if row is None else grey, extent=box, interpolation="nearest")
            if row is not None:
                (y, x), most = divmod(int(row.argmax()), side), inputs.number_text(row.max(), 2)
                told.append(f"{name}: a la fila {y}, columna {x}, {most}")
                ink = np.full((side, side, 3), to_rgb(palette.VERMILION))
                ax.imshow(np.dstack([ink, row.reshape(side, side) / row.max()]), extent=box, interpolation="nearest")
            if not rows:
                ax.hlines(range(1, side), 0, side, "white", linewidth=0.6)
                ax.vlines(range(1, side), 0, side, "white", linewidth=0.6)
            if patch is not None:
                y, x = divmod(patch, side)
                ax.add_patch(Rectangle((x, y), 1, 1, fill=False, edgecolor=palette.BLUE, linewidth=1.8))
            ax.set_title(inputs.fitted(name, 30), fontsize=10, pad=4)
            ax.set_axis_off()
    who = "" if patch is None else f" Mira el trozo de la fila {patch // side}, columna {patch % side}."
    looks = f" A quién mira más, {'; '.join(told)}." if told else ""
    figure.description = f"Una fotografía en {side} × {side} trozos. {inputs.visible(title or '')}.{who}{looks}"
    return figure


def plot_seconds(matrix, row_labels=None, *, seconds, title=None, row_title="banda"):
    """Lo que pasa en cada momento de un sonido, ``(filas, columnas)``: el tiempo, de izquierda a derecha.

    Args:
        matrix: bandas de un espectrograma, o pesos de cada token.
        row_labels: las etiquetas de las filas; sin ellas, la primera va abajo, como en un espectrograma.
        seconds: cuánto dura lo dibujado.
        title, row_title: título, y qué son las filas.
    """
    matrix = inputs.as_array(matrix, "matrix", 2, finite=True)
    tall, wide = matrix.shape
    rows = [] if row_labels is None else inputs.check_labels(row_labels, tall, "row_labels")
    ends = (tall - 0.5, -0.5) if rows else (-0.5, tall - 0.5)
    with canvas(7.6, 0.19 * tall + 1.1 if rows else 2.6) as (figure, ax):
        ax.imshow(matrix[:: 1 if rows else -1], cmap=palette.SEQUENTIAL, aspect="auto", extent=(0, seconds, *ends),
                  interpolation="nearest")  # fmt: skip
        if rows:
            ax.set_yticks(range(tall), rows, fontsize=9)
        ax.set(xlabel="segundos", ylabel=row_title)
        named = titled(ax, title)
    tops = (matrix.argmax(axis=1) + 0.5) * seconds / wide
    where = "; ".join(f"«{name}», {inputs.number_text(at, 1)} s" for name, at in zip(rows, tops))
    figure.description = f"De izquierda a derecha, {seconds} segundos. {named}Filas: {row_title}."
    figure.description += f" Dónde está lo más oscuro: {where}." if rows else ""
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
        box = {"facecolor": palette.MIST, "edgecolor": palette.GREY, "hatch": "////"}
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, linewidth=0, **box))
    if decimals is not None:
        for (i, j), value in np.ndenumerate(matrix):
            blocked = np.isneginf(value)
            color = palette.INK if blocked else _text_color(cmap(norm(value)))
            back = {"facecolor": palette.PAPER, "edgecolor": "none", "pad": 1} if blocked else None
            text = "−∞" if blocked else inputs.number_text(value, decimals)
            ax.text(j, i, text, ha="center", va="center", color=color, fontsize=size - 1, bbox=back)
    turn = {"rotation": 90}
    if decimals:
        turn = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}
    ax.set_xticks(range(len(cols)), map(inputs.short_label, cols), fontsize=size, **turn)
    ax.set_yticks(range(len(rows)), map(inputs.short_label, rows), fontsize=size)
    ax.tick_params(length=0, top=False, labeltop=True, labelbottom=False)
    for edges, line in ((range(len(cols) - 1), ax.axvline), (range(len(rows) - 1), ax.axhline)):
        for edge in edges if small else ():
            line(edge + 0.5, color=palette.PAPER, linewidth=1, zorder=0.9)  # separa las casillas
    ax.xaxis.set_label_position("top")
    ax.spines[:].set_visible(False)
    if highlight_row is not None:
        frame = {"fill": False, "edgecolor": palette.VERMILION, "linewidth": 2.4, "zorder": 3}
        place = (-0.5, highlight_row - 0.5)
        ax.add_patch(Rectangle(place, len(cols), 1, clip_on=False, **frame))
        ax.get_yticklabels()[highlight_row].set_fontweight("bold")
    return image


def _text_color(background):
    """Negro o blanco: el que más contraste con el fondo (WCAG 2.2, §1.4.3: al menos 4.5)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in background[:3]]
    luminance = np.dot((0.2126, 0.7152, 0.0722), linear)
    return "#000000" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else palette.PAPER  # a medio camino de los dos


def _describe_matrix(matrix, rows, cols, decimals, highlight_row):
    blocked = int(np.isneginf(matrix).sum())
    note = f" Bloqueadas: {blocked} de {matrix.size} casillas." if blocked else ""
    if highlight_row is not None:
        return f"Fila «{rows[highlight_row]}»: {inputs.top_values(matrix[highlight_row], cols, decimals)}.{note}"
    if np.isin(matrix, (0, 1)).all() and (matrix.sum(axis=1) > 1).any():
        ones = "; ".join(f"«{row}», {int(n)}" for row, n in zip(rows, matrix.sum(axis=1)))
        return f"Casillas que valen 1, de {len(cols)} en cada fila: {ones}."
    rounded = np.round(matrix, decimals)
    if len(rows) > 20:
        tied = np.argwhere(rounded == rounded.max())
        i, j = tied[0]
        where = f"«{rows[i]}» → «{cols[j]}»" if len(tied) == 1 else f"{len(tied)} casillas"
        return f"El mayor valor, {inputs.number_text(matrix[i, j], decimals)}, en {where}.{note}"
    if matrix.size <= 36 and ((rounded == rounded.max(axis=1, keepdims=True)).sum(axis=1) > 1).all():
        every = (f"«{a}»: {inputs.every_value(x, cols, decimals)}" for a, x in zip(rows, matrix))
        return f"{'; '.join(every)}.{note}"  # el mayor de cada fila, siempre empatado, no dice nada
    tops = [f"«{a}» → {inputs.top_values(x, cols, decimals, 1)}" for a, x in zip(rows, matrix)]
    return f"El mayor de cada fila: {'; '.join(tops)}.{note}"
