"""Barras, histogramas y curvas."""

import numpy as np
from matplotlib import rc_context
from matplotlib.ticker import LogLocator, NullFormatter

from course_lib.plots import palette
from course_lib.plots.figure import STYLE, CourseFigure
from course_lib.plots.inputs import (
    as_array,
    check_labels,
    every_value,
    number_text,
    short_label,
    top_values,
)

HATCHES = ("", "///", "...", "xx")


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
    rows = {name: as_array(row, name, 1) for name, row in rows.items()}
    labels = check_labels(labels, len(next(iter(rows.values()))), "labels")
    for name, row in rows.items():
        check_labels(labels, len(row), f"labels para «{name}»")
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
            ax.bar_label(bars, [number_text(x, 2) for x in row], fontsize=9.5, padding=2)
        ax.set_xticks(positions, map(short_label, labels))
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
    few = len(labels) <= 8  # se dicen todas; si no, las mayores
    sentences = [
        f"{name}: " + (every_value(row, labels) if few else top_values(row, labels))
        for name, row in rows.items()
    ]
    named = f"Título: {title}. " if title else ""
    figure.description = (
        f"Barras para {len(labels)} etiquetas. {named}" + ". ".join(sentences) + "."
    )
    return figure


def plot_distributions(samples, *, bins=60, title=None, xlabel=None, log=False):
    """Histogramas superpuestos, con media y desviación típica en la leyenda.

    Args:
        samples: diccionario de nombre → muestras, de cualquier forma.
        bins: número de intervalos, comunes a todos.
        title, xlabel: título y nombre del eje.
        log: si el eje vertical es logarítmico.
    """
    samples = {name: as_array(x, name, None).ravel() for name, x in samples.items()}
    edges = np.linspace(
        min(x.min() for x in samples.values()), max(x.max() for x in samples.values()), bins + 1
    )
    facts = {
        name: f"media {number_text(x.mean(), 2)}, desviación típica {number_text(x.std(), 2)}"
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
    x = as_array(x, "x", 1)
    series = {name: as_array(y, name, 1) for name, y in series.items()}
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
                low, high = axis.get_view_interval()
                subs = (1, 2, 5) if high < 100 * low else (1,)  # con poco recorrido, más marcas
                axis.set_major_locator(LogLocator(subs=subs, numticks=8))
                axis.set_major_formatter(lambda value, _: f"{value:g}")  # 0.1, 1, 10…
                axis.set_minor_formatter(NullFormatter())
        ax.grid(color=palette.MIST)
        ax.legend(frameon=False)
        if title:
            ax.set_title(title)
    named = f"Título: {title}. " if title else ""
    listed = "; ".join(
        f"{name}: de {number_text(y[0], 2)} a {number_text(y[-1], 2)}" for name, y in series.items()
    )
    axis = f"{xlabel or 'x'} va de {number_text(x[0], 2)} a {number_text(x[-1], 2)}"
    figure.description = f"Curvas. {named}{axis}. {listed}."
    return figure


def plot_stacks(rows, *, title=None, xlabel=None, decimals=0):
    """Barras tumbadas, cada una hecha de partes, y detrás de cada una lo que le falta para la mayor.

    Args:
        rows: diccionario de nombre → diccionario de parte → cuánto mide. Las partes de la primera
            dan el orden y el color de las de todas.
        title, xlabel: título y nombre del eje.
        decimals: decimales de los totales.

    Raises:
        ValueError: si alguna parte es negativa o NaN.
    """
    names = list(dict.fromkeys(part for row in rows.values() for part in row))
    table = np.array([[float(row.get(part, 0)) for part in names] for row in rows.values()])
    if not (table >= 0).all():
        raise ValueError(f"plot_stacks: las partes son {table.tolist()} y tienen que ser 0 o más.")
    totals, places = table.sum(axis=1), np.arange(len(rows))
    with rc_context(STYLE):
        figure = CourseFigure(figsize=(8.2, 0.95 + 0.5 * len(rows)))
        ax = figure.subplots()
        ax.barh(places, totals.max(), 0.62, color="none", edgecolor=palette.GREY, linestyle=":")
        start = np.zeros(len(rows))
        for i, (part, wide) in enumerate(zip(names, table.T)):
            ax.barh(places, wide, 0.62, left=start, label=part, color=palette.CYCLE[i],
                    hatch=HATCHES[i % 4], edgecolor=palette.PAPER, linewidth=0)  # fmt: skip
            start += wide
        for y, total in enumerate(totals):
            ax.text(totals.max() * 1.015, y, number_text(total, decimals), va="center", fontsize=11)
        ax.set_yticks(places, list(rows))
        ax.tick_params(axis="y", length=0)
        ax.invert_yaxis()
        ax.set(xlabel=xlabel or "", xlim=(0, totals.max() * 1.1))
        ax.spines["left"].set_visible(False)
        ax.legend(frameon=False, ncols=len(names), loc="lower left", bbox_to_anchor=(0, 1))
        if title:
            ax.set_title(title, pad=34)
    named = f"Título: {title}. " if title else ""
    told = [
        f"{name}: {number_text(total, decimals)} ("
        + ", ".join(f"{part} {number_text(x, decimals)}" for part, x in zip(names, row) if x)
        + ")"
        for name, row, total in zip(rows, table, totals)
    ]
    figure.description = f"Barras apiladas. {named}{xlabel or ''}. {'; '.join(told)}."
    return figure
