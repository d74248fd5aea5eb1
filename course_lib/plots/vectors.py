"""Vectores del plano, con su ángulo y su proyección."""

import numpy as np
from matplotlib.patches import Arc
from matplotlib.ticker import MaxNLocator

from course_lib.plots import palette
from course_lib.plots.figure import canvas, titled
from course_lib.plots.inputs import as_array, check_labels, fitted, index_in, number_text


def plot_vectors(vectors, labels=None, *, title=None, angle=None, project=None, limits=None):
    """Vectores del plano, dibujados desde el origen.

    Args:
        vectors: ``(n, 2)``.
        labels: n nombres.
        title: título.
        angle: par ``(i, j)`` de vectores cuyo ángulo se marca.
        project: par ``(i, j)``: dibuja la proyección del vector i sobre el j.
        limits: ``(x_min, x_max, y_min, y_max)``; por defecto, los que hagan falta.
    """
    vectors = as_array(vectors, "vectors", 2, finite=True)
    if vectors.shape[1] != 2:
        raise ValueError(f"plot_vectors: los vectores miden {vectors.shape[1]}, y en el plano, 2.")
    labels = check_labels(labels, len(vectors), "labels")
    if limits is None:
        low, high = np.minimum(vectors.min(0), 0), np.maximum(vectors.max(0), 0)
        margin = 0.12 * ((high - low).max() or 1)
        left = 7 * margin if low[0] < 0 else margin  # a la izquierda hay que dejar sitio al nombre
        limits = (low[0] - left, high[0] + margin, low[1] - margin, high[1] + margin)
    x_min, x_max, y_min, y_max = limits
    scale = 5.2 / max(x_max - x_min, y_max - y_min)
    size = (x_max - x_min) * scale + 0.6, (y_max - y_min) * scale + 0.6
    with canvas(*size) as (figure, ax):
        ax.set(xlim=(x_min, x_max), ylim=(y_min, y_max), aspect="equal", axisbelow=True)
        ax.grid(color=palette.MIST)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(integer=True))
        ax.axhline(0, color=palette.GREY, linewidth=0.8)
        ax.axvline(0, color=palette.GREY, linewidth=0.8)
        for i, (vector, label) in enumerate(zip(vectors, labels)):
            color, style = palette.CYCLE[i % 6], ("-", "--", ":", "-.")[i // 6 % 4]
            arrow = {"arrowstyle": "-|>,head_width=0.35,head_length=0.7", "shrinkA": 0}
            arrow |= {"shrinkB": 0, "color": color, "linewidth": 2.6, "linestyle": style}
            ax.annotate("", vector, (0, 0), arrowprops=arrow)
            away = vector / (np.linalg.norm(vector) or 1) * 13
            ax.annotate(
                f"{fitted(label, 40)} ({number_text(vector[0], 1)}, {number_text(vector[1], 1)})", vector, away,
                textcoords="offset points", ha="left" if away[0] > 4 else "right" if away[0] < -4 else "center",
                va="center", fontweight="bold", annotation_clip=False,
                bbox={"facecolor": palette.PAPER, "edgecolor": "none", "pad": 1.5, "alpha": 0.8},
            )  # fmt: skip
        if angle is not None:
            i, j = angle = [index_in(k, len(vectors), "angle") for k in angle]
            _draw_angle(ax, vectors[i], vectors[j])
        if project is not None:
            i, j = (index_in(k, len(vectors), "project") for k in project)
            foot = vectors[j] * (vectors[i] @ vectors[j]) / (vectors[j] @ vectors[j])
            ax.plot(*zip(vectors[i], foot), color=palette.GREY, linestyle=":", linewidth=1.6)
            ax.plot(*zip((0, 0), foot), color=palette.INK, linewidth=5, alpha=0.35)
        named = titled(ax, title)
    told = []
    for label, vector in zip(labels, vectors):
        x, y, norm = (number_text(value, 2) for value in (*vector, np.linalg.norm(vector)))
        told.append(f"{label} = ({x}, {y}), norma {norm}")
    between = ""
    if angle is not None:
        i, j = angle
        wide = f"{_degrees(vectors[i], vectors[j]):.0f}°"
        between = f" Ángulo entre {labels[i]} y {labels[j]}: {wide}."
    start = f"{len(vectors)} vectores del plano desde el origen."
    figure.description = f"{start} {named}{'; '.join(told)}.{between}"
    return figure


def _draw_angle(ax, u, v):
    first, second = (np.degrees(np.arctan2(w[1], w[0])) for w in (u, v))
    start, end = (first, second) if (second - first) % 360 <= 180 else (second, first)
    radius = 0.45 * min(np.linalg.norm(u), np.linalg.norm(v))
    arc = Arc((0, 0), 2 * radius, 2 * radius, theta1=start, theta2=end, color=palette.INK, linewidth=1.4)
    ax.add_patch(arc)
    middle = np.radians(start + ((end - start) % 360) / 2)
    position = 1.35 * radius * np.array([np.cos(middle), np.sin(middle)])
    ax.text(*position, f"{_degrees(u, v):.0f}°", ha="center", va="center")


def _degrees(u, v):
    cosine = u @ v / (np.linalg.norm(u) * np.linalg.norm(v))
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))
