"""Barras, histogramas y curvas."""

import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter

from course_lib.plots import inputs, palette
from course_lib.plots.figure import add_legend, canvas, titled

HATCHES = ("", "///", "...", "xx")
WIDEST, COLUMNS = 14, 6  # de unas barras, en pulgadas, y de su leyenda


def plot_rows(rows, labels, *, title=None, highlight=None, ylabel="peso"):
    """Una o varias distribuciones sobre los mismos tokens, en barras agrupadas.

    Args:
        rows: diccionario de nombre → vector ``(L,)``.
        labels: L etiquetas.
        title: título.
        highlight: índices de las etiquetas que se marcan en negrita.
        ylabel: qué miden las barras.
    """
    names, rows = inputs.as_series(rows, "rows", 1)
    labels = inputs.check_labels(labels, len(rows[0]), "labels")
    for name, row in zip(names, rows):
        inputs.check_labels(labels, len(row), f"labels para «{name}»")
    highlight = np.atleast_1d([] if highlight is None else highlight)
    highlight = [inputs.index_in(i, len(labels), "highlight") for i in highlight]
    positions, width = np.arange(len(labels)), 0.8 / len(rows)
    wide = len(labels) * (0.22 + 0.42 * len(rows))
    with canvas(min(max(5.0, wide), WIDEST), 3.6) as (figure, ax):
        for i, row in enumerate(rows):
            color, hatch = palette.series(i, HATCHES)
            bars = ax.bar(
                positions + (i - (len(rows) - 1) / 2) * width, np.nan_to_num(row, neginf=0), width * 0.94,
                color=color, hatch=hatch, edgecolor=palette.PAPER, linewidth=0,
            )  # fmt: skip
            if wide <= WIDEST:  # si no, se pisan
                ax.bar_label(bars, [inputs.number_text(x, 2) for x in row], fontsize=9.5, padding=2)
        ax.set_xticks(positions, map(inputs.short_label, labels))
        ax.tick_params(axis="x", length=0)
        ax.set_ylabel(inputs.visible(ylabel))
        ax.margins(x=0.01, y=0.12)
        ax.axhline(0, color=palette.GREY, linewidth=0.8)
        for i in highlight:
            ax.get_xticklabels()[i].set_fontweight("bold")
        if len(rows) > 1:  # debajo: dentro puede tapar una barra
            add_legend(ax, ax.containers, names, "upper left", (0, -0.1), min(len(rows), COLUMNS))
        named = titled(ax, title)
    few = len(labels) <= 8  # se dicen todas; si no, las mayores
    told = inputs.every_value if few else inputs.top_values
    sentences = [f"{name}: {told(row, labels)}" for name, row in zip(names, rows)]
    figure.description = f"Barras para {len(labels)} etiquetas. {named}{'. '.join(sentences)}."
    return figure


def plot_distributions(samples, *, bins=60, title=None, xlabel=None):
    """Histogramas superpuestos, con media y desviación típica en la leyenda.

    Args:
        samples: diccionario de nombre → muestras, de cualquier forma.
        bins: número de intervalos, comunes a todos.
        title, xlabel: título y nombre del eje.
    """
    names, samples = inputs.as_series(samples, "samples", None, finite=True)
    samples = [x.ravel() for x in samples]
    edges = np.histogram_bin_edges(np.concatenate(samples), bins)
    moments = [(inputs.number_text(x.mean(), 2), inputs.number_text(x.std(), 2)) for x in samples]
    facts = [f"{n}: media {a}, desviación típica {b}" for n, (a, b) in zip(names, moments)]
    with canvas(7.6, 3.8) as (figure, ax):
        for i, x in enumerate(samples):
            color, style = palette.series(i, ("-", "--", ":", "-."))
            ax.hist(x, edges, density=True, histtype="step", linewidth=2.2, color=color,
                    linestyle=style)  # fmt: skip
        ax.set(xlabel=inputs.visible(xlabel or ""), ylabel="densidad")
        add_legend(ax, ax.patches, facts, "upper left", (0, -0.15))  # debajo
        named = titled(ax, title)
    figure.description = f"Histogramas de {len(samples)} conjuntos. {named}{'; '.join(facts)}."
    return figure


def plot_lines(x, series, *, title=None, xlabel=None, ylabel=None, logx=False, logy=False, reference=None):
    """Curvas sobre un mismo eje.

    Args:
        x: ``(n,)``.
        series: diccionario de nombre → ``(n,)``.
        title, xlabel, ylabel: título y ejes.
        logx, logy: si un eje es logarítmico.
        reference: altura de una línea horizontal de referencia.
    """
    x = inputs.as_array(x, "x", 1, finite=True)
    names, series = inputs.as_series(series, "series", 1)
    for name, y in zip(names, series):
        if len(y) != len(x):
            raise ValueError(f"plot_lines: x tiene {len(x)} puntos y «{name}» tiene {len(y)}.")
    with canvas(7.6, 3.8) as (figure, ax):
        for i, y in enumerate(series):
            color, style = palette.series(i, ("-", "--", "-.", ":"))
            point = "o" if len(x) == 1 else None  # una curva de un punto no se ve
            ax.plot(x, y, color=color, linestyle=style, linewidth=2.4, marker=point)
        lines = list(ax.lines)
        if reference is not None:
            ax.axhline(inputs.as_array(reference, "reference", 0), color=palette.GREY, linewidth=1, linestyle=(0, (6, 4)))
        ax.set(xlabel=inputs.visible(xlabel or ""), ylabel=inputs.visible(ylabel or ""))
        ax.set(xscale="log" if logx else "linear", yscale="log" if logy else "linear")
        for axis, log in ((ax.xaxis, logx), (ax.yaxis, logy)):
            if log:
                low, high = axis.get_view_interval()
                subs = (1, 2, 5) if high < 100 * low else (1,)  # con poco recorrido, más marcas
                axis.set_major_locator(LogLocator(subs=subs, numticks=8))
                axis.set_major_formatter(lambda value, _: f"{value:g}")  # 0.1, 1, 10…
                axis.set_minor_formatter(NullFormatter())
        ax.grid(color=palette.MIST)
        outside = ("upper left", (1, 1)) if len(lines) > 6 else ()  # dentro, tapa las curvas
        add_legend(ax, lines, names, *outside)
        named = titled(ax, title)
    listed = "; ".join(f"{name}: {inputs.ends_text(y)}" for name, y in zip(names, series))
    axis = f"{inputs.visible(xlabel or 'x')} va {inputs.ends_text(x)}"
    figure.description = f"Curvas. {named}{axis}. {listed}."
    return figure


def plot_stacks(rows, *, title=None, xlabel=None, decimals=0):
    """Barras tumbadas, cada una hecha de partes, y detrás de cada una lo que le falta para la mayor.

    Args:
        rows: diccionario de nombre → diccionario de parte → cuánto mide. Las partes de la primera
            dan el orden y el color de las de todas.
        title, xlabel: título y nombre del eje.
        decimals: decimales de los totales.
    """
    inputs.check_named(rows, "rows")
    parts = list(dict.fromkeys(part for row in rows.values() for part in row))
    table = inputs.as_numbers([[row.get(part, 0) for part in parts] for row in rows.values()], "rows")
    if not table.size or not ((table >= 0) & (table < np.inf)).all():
        raise ValueError(f"plot_stacks: las partes son {table.tolist()}; haz que haya alguna y sean 0 o más.")
    names, bars = list(map(inputs.visible, parts)), list(map(inputs.visible, rows))
    totals, places = table.sum(axis=1), np.arange(len(rows))
    with canvas(8.2, 0.95 + 0.5 * len(rows)) as (figure, ax):
        most = totals.max() or 1
        ax.barh(places, most, 0.62, color="none", edgecolor=palette.GREY, linestyle=":")
        start = np.zeros(len(rows))
        for i, wide in enumerate(table.T):
            color, hatch = palette.series(i, HATCHES)
            ax.barh(places, wide, 0.62, left=start, color=color, hatch=hatch, edgecolor=palette.PAPER,
                    linewidth=0)  # fmt: skip
            start += wide
        for y, total in enumerate(totals):
            ax.text(most * 1.015, y, inputs.number_text(total, decimals), va="center", fontsize=11)
        ax.set_yticks(places, [inputs.fitted(name, 40) for name in bars])
        ax.tick_params(axis="y", length=0)
        ax.invert_yaxis()
        ax.set(xlabel=inputs.visible(xlabel or ""), xlim=(0, most * 1.1))
        ax.spines["left"].set_visible(False)
        columns = min(len(names), COLUMNS)
        add_legend(ax, ax.containers[1:], names, "lower left", (0, 1), columns)
        named = titled(ax, title, pad=34 + 20 * ((len(names) - 1) // COLUMNS))
    told = []
    for name, row, total in zip(bars, table, totals):
        shown = [f"{part} {inputs.number_text(x, decimals)}" for part, x in zip(names, row) if x]
        told.append(f"{name}: {inputs.number_text(total, decimals)} ({', '.join(shown)})")
    figure.description = f"Barras apiladas. {named}{inputs.visible(xlabel or '')}. {'; '.join(told)}."
    return figure
