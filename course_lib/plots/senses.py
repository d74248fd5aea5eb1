"""Una fotografía, con lo que mira un trozo; y lo que pasa en cada segundo de un sonido."""

import math

import numpy as np
from matplotlib.patches import Rectangle

from course_lib.plots import inputs, palette
from course_lib.plots.figure import CourseFigure, canvas, drawing, titled

PANEL = 1.9  # pulgadas de lado de una fotografía


def plot_patches(picture, weights, *, patch=None, title=None):
    """Una fotografía, cortada en trozos, y al lado, de cada fila de pesos, a qué trozos mira.

    Args:
        picture: ``(3, H, W)``, de 0 a 1.
        weights: diccionario de nombre → ``(L,)``, los pesos para cada trozo, por filas; vacío, solo la
            fotografía.
        patch: el número del trozo que mira, que se recuadra.
        title: título.

    Raises:
        ValueError: si las formas no encajan o los pesos no son los de un cuadrado de trozos.
    """
    picture = inputs.as_array(picture, "picture", 3).clip(0, 1).transpose(1, 2, 0)
    names, rows = inputs.as_series(weights, "weights", 1) if weights else ([], [])
    side = round(len(rows[0]) ** 0.5) if rows else 16
    if any(len(row) != side**2 for row in rows):
        raise ValueError(f"plot_patches: hay {len(rows[0])} pesos, y no son los de un cuadrado. Quita el del principio.")
    patch = inputs.index_in(patch, side**2, "patch")
    grey = (picture.mean(-1, keepdims=True) * 12).round().repeat(3, -1) / 12  # con pocos grises ocupa mucho menos
    mark, told = np.array([int(palette.VERMILION[i : i + 2], 16) / 255 for i in (1, 3, 5)]), []
    with drawing():
        many = 1 + len(rows)
        tall, wide = math.ceil(many / 5), min(5, many)
        figure = CourseFigure(figsize=(PANEL * wide + 0.2, (PANEL + 0.35) * tall))
        axes = figure.subplots(tall, wide, squeeze=False, gridspec_kw={"wspace": 0.06}).flat
        for k, ax in enumerate(axes):
            ax.set_axis_off()
            if k >= many:
                continue
            shown = picture
            if k:
                share = (rows[k - 1] / rows[k - 1].max()).reshape(side, side)
                high, long = (-(-n // side) for n in picture.shape[:2])
                share = share.repeat(high, 0).repeat(long, 1)[: picture.shape[0], : picture.shape[1], None]
                shown = (0.45 + 0.4 * grey) * (1 - share) + share * mark
                place = divmod(int(rows[k - 1].argmax()), side)
                told.append(f"{names[k - 1]}: a la fila {place[0]}, columna {place[1]}, {inputs.number_text(rows[k - 1].max(), 2)}")
            ax.imshow(shown, extent=(-0.5, side - 0.5, side - 0.5, -0.5), interpolation="nearest")
            ax.set_title(inputs.fitted(names[k - 1], 26) if k else inputs.fitted(title or "", 40), fontsize=10, pad=4)
            if not rows:
                ax.set(xlim=(-0.5, side - 0.5), ylim=(side - 0.5, -0.5))
                ax.vlines(np.arange(0.5, side - 1), -0.5, side - 0.5, "white", linewidth=0.6)
                ax.hlines(np.arange(0.5, side - 1), -0.5, side - 0.5, "white", linewidth=0.6)
            if patch is not None:
                row, column = divmod(patch, side)
                box = {"fill": False, "edgecolor": palette.BLUE, "linewidth": 1.8}
                ax.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, **box))
    who = "" if patch is None else f" Mira el trozo de la fila {patch // side}, columna {patch % side}."
    named = f" Título: {inputs.visible(title)}." if title else ""
    looks = f" A quién mira más, {'; '.join(told)}." if told else ""
    figure.description = f"Una fotografía en {side} × {side} trozos.{named}{who}{looks}"
    return figure


def plot_seconds(matrix, row_labels=None, *, seconds=None, title=None, row_title="banda"):
    """Lo que pasa en cada momento de un sonido: el tiempo, de izquierda a derecha.

    Args:
        matrix: ``(filas, columnas)``: bandas de un espectrograma, o pesos de cada token.
        row_labels: las etiquetas de las filas; sin ellas, la primera va abajo, como en un espectrograma.
        seconds: cuánto dura lo dibujado.
        title: título.
        row_title: qué son las filas.

    Raises:
        ValueError: si las etiquetas no encajan, o hay NaN.
    """
    matrix = inputs.as_array(matrix, "matrix", 2, finite=True)
    tall, wide = matrix.shape
    seconds = float(seconds or wide / 50)
    rows = inputs.check_labels(row_labels, tall, "row_labels") if row_labels is not None else None
    with canvas(7.6, 2.6 if rows is None else 0.19 * tall + 1.1) as (figure, ax):
        shape = (0, seconds, tall - 0.5, -0.5) if rows else (0, seconds, -0.5, tall - 0.5)
        ax.imshow(matrix, cmap=palette.SEQUENTIAL, aspect="auto", extent=shape, origin="upper" if rows else "lower",
                  interpolation="nearest")  # fmt: skip
        if rows:
            ax.set_yticks(range(tall), rows, fontsize=9)
        ax.set(xlabel="segundos", ylabel=inputs.visible(row_title))
        named = titled(ax, title)
    figure.description = f"De izquierda a derecha, {inputs.number_text(seconds, 1)} segundos. {named}Filas: {inputs.visible(row_title)}."
    if rows:
        tops = (matrix.argmax(axis=1) + 0.5) * seconds / wide
        figure.description += " Dónde está lo más oscuro: " + "; ".join(
            f"«{name}», {inputs.number_text(at, 1)} s" for name, at in zip(rows, tops)
        ) + "."
    return figure
