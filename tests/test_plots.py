"""Las gráficas: puras, legibles y capaces de contarse con palabras."""

import subprocess
import sys
import warnings
from io import BytesIO
from itertools import combinations

import matplotlib
import numpy as np
import pytest
import torch
from IPython.core.formatters import DisplayFormatter
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from course_lib import palette, plots

SENTENCE = "[CLS] i gave the dog a bone because it was hungry [SEP]"
OTHER = "[CLS] the quick ##est brown fox unbelievable jumps over a lazy dog"
TOKENS = SENTENCE.split()
LONG = OTHER.split() + TOKENS[4:]
ODD = ["$a_1$", "$b", "c_d", r"\frac", "🦮", "👩‍🦰", "שלום", "مرحبا", "中", "", " ", "a" * 80]
X = np.linspace(0.1, 5, 30)


def weights(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).mul(2).softmax(-1)


def scores(n, seed=0):
    values = torch.randn(n, n, generator=torch.Generator().manual_seed(seed)) * 3
    return values.masked_fill(torch.ones(n, n).triu(1).bool(), -torch.inf)


# Un ejemplo de cada función: (función, datos, argumentos).
CASES = {
    "pesos": (plots.plot_heatmap, weights(12, 12), {"row_labels": TOKENS, "title": "Pesos"}),
    "pesos_20": (plots.plot_heatmap, weights(20, 20), {"row_labels": LONG, "highlight_row": "it"}),
    "puntuaciones": (plots.plot_heatmap, scores(6), {"row_labels": TOKENS[:6], "kind": "scores"}),
    "mascara": (plots.plot_heatmap, torch.ones(4, 4).tril().bool(), {"row_labels": list("abcd")}),
    "cabezas": (plots.plot_heads, weights(12, 12, 12), {"tokens": TOKENS, "highlight_row": "it"}),
    "cabezas_20": (plots.plot_heads, weights(5, 20, 20), {"tokens": LONG, "layer": 3}),
    "cabezas_5": (plots.plot_heads, weights(3, 4, 5),
                  {"tokens": ["yo", "veo", "el", "perro"], "col_tokens": list("abcde")}),
    "filas": (plots.plot_rows, {"hungry": weights(12), "old": weights(12, seed=1)},
              {"labels": TOKENS, "highlight": ["dog", "bone"], "title": "¿A quién mira «it»?"}),
    "fila": (plots.plot_rows, {"softmax": [0.7, 0.2, 0.1]}, {"labels": list("abc")}),
    "vectores": (plots.plot_vectors, {"u": [3.0, 0.0], "v": [2.0, 2.0]},
                 {"angle": (0, 1), "project": ("v", "u"), "norms": True}),
    "histogramas": (plots.plot_distributions, {"a": weights(50, 9), "b": weights(50, 4)},
                    {"xlabel": "peso", "log": True}),
    "curvas": (plots.plot_lines, X, {"series": {"1/x": 1 / X, "x": X}, "reference": 1.0,
                                     "xlabel": "T", "logy": True}),
    "tiras": (plots.plot_vector_strips, scores(9).clamp(min=-4), {"labels": TOKENS[:9]}),
}  # fmt: skip

each = pytest.mark.parametrize("name", CASES)


def draw(name):
    function, data, arguments = CASES[name]
    return function(data, **arguments)


@pytest.fixture(scope="module")
def figures():
    return {name: draw(name) for name in CASES}


@pytest.fixture(scope="module")
def images(figures):
    return {name: figure.to_png() for name, figure in figures.items()}


def texts(figure):
    """Los textos que se ven: los de las marcas que caen fuera de los ejes no se dibujan."""
    FigureCanvasAgg(figure).draw()  # coloca los títulos de los ejes
    found = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    outside = set()
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks() + axis.get_minor_ticks():
            if not low - 1e-9 <= tick.get_loc() <= high + 1e-9:
                outside |= {tick.label1, tick.label2}
    assert found
    return [text for text in found if text not in outside]


def written(figure):
    return [text.get_text() for text in texts(figure)]


def cells(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def as_lists(data):
    if isinstance(data, dict):
        return {name: as_lists(values) for name, values in data.items()}
    return data.tolist() if hasattr(data, "tolist") else data


# --- Puras -----------------------------------------------------------------------------------


@each
def test_is_pure(name, monkeypatch, images):
    before = repr(as_lists(CASES[name][1]))
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 31)  # el estilo de un estudiante
    settings = dict(matplotlib.rcParams)
    figure = draw(name)
    assert dict(matplotlib.rcParams) == settings
    assert repr(as_lists(CASES[name][1])) == before
    if not name.endswith("_20"):  # las más lentas
        assert figure.to_png() == images[name]
        assert dict(matplotlib.rcParams) == settings


def test_no_pyplot():
    code = (
        "import sys, course_lib.plots as p; p.plot_heatmap([[1.0]]).to_png(); print(*sys.modules)"
    )
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert modules.returncode == 0, modules.stderr
    assert "matplotlib.figure" in modules.stdout.split()
    assert not {"matplotlib.pyplot", "torch", "IPython"} & set(modules.stdout.split())


def with_gradient(x):
    return x.clone().requires_grad_() if x.is_floating_point() else x


@pytest.mark.parametrize("name", [name for name in CASES if not name.endswith("_20")])
@pytest.mark.parametrize("convert", [with_gradient, torch.Tensor.tolist, list])
def test_accepts_any_kind_of_numbers(name, convert, figures):
    function, data, arguments = CASES[name]
    if isinstance(data, dict):
        data = {k: convert(torch.as_tensor(v)) for k, v in data.items()}
    else:
        data = convert(torch.as_tensor(data))
    assert function(data, **arguments).description == figures[name].description


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int64])
def test_accepts_any_dtype(dtype):
    figure = plots.plot_heatmap(torch.eye(3, dtype=dtype))
    assert cells(figure) == ["1.00", "0.00", "0.00", "0.00", "1.00", "0.00", "0.00", "0.00", "1.00"]


# --- La descripción --------------------------------------------------------------------------


def test_describes_a_heatmap():
    figure = plots.plot_heatmap(
        [[0.125, 0.5, 0.375], [1.0, 0.0, 0.0]], ["it", "was"], ["a", "dog", "a"], title="¿Quién?"
    )
    assert figure.description == (
        "Mapa de calor 2 × 3 (filas: query; columnas: key). Título: ¿Quién? El mayor peso de cada "
        "fila: «it» → «dog» (0.50); «was» → «a» [0] (1.00)."
    )


def test_describes_a_highlighted_row():
    row = plots.plot_heatmap(weights(3, 3), list("abc"), highlight_row="b", title="Uno.")
    order = weights(3, 3)[1].argsort(descending=True)
    said = ", ".join(f"«{'abc'[i]}» ({weights(3, 3)[1, i]:.2f})" for i in order)
    assert row.description.endswith(f"Título: Uno. En la fila «b», de mayor a menor: {said}.")
    assert plots.plot_heatmap(weights(3, 3), highlight_row=-2).description != row.description


def test_describes_masks():
    causal = plots.plot_heatmap(torch.ones(3, 3).tril().bool(), list("abc"))
    assert "«b» puede atender a «a», «b». «c» puede atender a todos." in causal.description
    assert "«0» puede atender a nadie" in plots.plot_heatmap([[False]]).description
    masked = plots.plot_heatmap(scores(4), kind="scores").description
    assert "Celdas enmascaradas (−∞): 6." in masked
    nothing = plots.plot_heatmap([[-torch.inf, -torch.inf]], kind="scores").description
    assert "toda la fila está enmascarada" in nothing


def test_describes_each_head():
    matrix = torch.zeros(2, 2, 3)
    matrix[0, :, 2], matrix[1] = 1, 1 / 3
    one = plots.plot_heads(matrix, ["x", "y"], col_tokens=list("abc"), highlight_row="y", layer=3)
    assert "Título: Capa 3. Cabeza 0: «y» mira a «c» (1.00)." in one.description
    assert "Cabeza 1: «y» mira a todos por igual (0.33)." in one.description
    mean = plots.plot_heads(matrix, ["x", "y"], col_tokens=list("abc"), heads=[1, 0])
    assert "Cabeza 0: la key más atendida es «c» (1.00), de media." in mean.description
    assert mean.description.index("Cabeza 1") < mean.description.index("Cabeza 0")


def test_describes_the_rest(figures):
    assert "«softmax»: «a» (0.70), «b» (0.20), «c» (0.10)." in figures["fila"].description
    vectors = figures["vectores"].description
    assert "u = (3.00, 0.00), norma 3.00" in vectors
    assert "La proyección de v sobre u mide 2.00." in vectors
    assert "El ángulo entre u y v es de 45.0° (coseno 0.71)." in vectors
    lines = plots.plot_lines([0, 1, 2], {"pico": [0, 5, 0], "mínima": [3e-7, 2e-7, 1e-7]})
    assert "«pico» va de 0 a 0, con máximo 5 en 1." in lines.description
    assert "«mínima» va de 3.0·10⁻⁷ a 1.0·10⁻⁷." in lines.description
    parts = plots.plot_distributions({"a": [1.0, 2.0, 3.5], "b": [[0.0], [2.0]]}).description
    assert "«a»: media 2.17 y desviación típica 1.03, de 3 valores." in parts
    assert "«b»: media 1 y desviación típica 1, de 2 valores." in parts
    assert "9 vectores de 9 dimensiones" in figures["tiras"].description


@each
def test_description_is_short_and_ignores_noise(name, figures):
    function, data, arguments = CASES[name]
    description = figures[name].description
    assert 40 <= len(description) <= 900
    assert "nan" not in description
    assert "-0" not in description
    assert repr(figures[name]) == str(figures[name]) == plots.describe(figures[name]) == description
    if name in ("mascara", "curvas"):
        return  # sin números que mover, o con un dict aparte (abajo)
    for sign in (1e-6, -1e-6):
        if isinstance(data, dict):
            moved = {k: torch.as_tensor(v).double() + sign for k, v in data.items()}
        else:
            moved = data.double() + sign
        assert function(moved, **arguments).description == description


@pytest.mark.parametrize("noise", [-1e-6, 0, 1e-6])
def test_ties_and_halves_do_not_flip(noise):
    # 0.125 y 0.375 están a medio camino entre dos decimales; las dos «a» empatan.
    row = torch.tensor([[0.125 + noise, 0.375 - noise, 0.375 + noise, 0.125]], dtype=torch.double)
    figure = plots.plot_heatmap(row, ["q"], list("abcd"), highlight_row=0)
    assert "«b» (0.38), «c» (0.38), «a» (0.12)" in figure.description
    assert cells(figure) == ["0.12", "0.38", "0.38", "0.12"]
    zero = plots.plot_heatmap([[noise, -noise]], ["q"], list("ab"), kind="scores")
    assert "todos por igual (0.00)" in zero.description
    lines = plots.plot_lines([0, 1, 2], {"y": [0.5, 0.125 + noise, 0.5 + noise]}).description
    assert "«y» va de 0.50 a 0.50, con mínimo 0.12 en 1." in lines


def test_long_descriptions_are_cut():
    names = [f"una palabra larga {i}" for i in range(20)]
    text = plots.plot_heatmap(weights(20, 20), names).description
    assert len(text) <= 900
    assert text.endswith("más.")
    assert len(plots.plot_heatmap(weights(60, 60)).description) < 400


def test_describes_other_figures():
    figure = Figure()
    assert plots.describe(figure) == "Figura sin títulos."
    figure.subplots().set(title="Pérdida", xlabel="pasos", ylabel="nats")
    assert plots.describe(figure) == "Pérdida; eje x: pasos; eje y: nats"


# --- Lo que se ve ----------------------------------------------------------------------------


@each
def test_text_is_large_enough(name, figures):
    assert min(text.get_fontsize() for text in texts(figures[name])) >= 11
    assert plots.DPI / 2 / 72 >= 1  # un punto no se muestra con menos de un píxel


def corners(text, renderer):
    """Las cuatro esquinas de un texto, también girado."""
    angle, text_at = text.get_rotation(), text.get_window_extent(renderer)
    text.set_rotation(0)
    flat = text.get_window_extent(renderer)
    text.set_rotation(angle)
    width, height = flat.width, flat.height
    turn = np.radians(angle)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    box = np.array([[-width, -height], [width, -height], [width, height], [-width, height]]) / 2
    middle = [(text_at.x0 + text_at.x1) / 2, (text_at.y0 + text_at.y1) / 2]
    return box @ rotation.T + middle


def apart(one, other, slack=1.0):
    """Dos rectángulos girados se separan si algún eje los separa."""
    for box in (one, other):
        for edge in (box[1] - box[0], box[3] - box[0]):
            a, b = one @ edge / np.hypot(*edge), other @ edge / np.hypot(*edge)
            if a.max() < b.min() + slack or b.max() < a.min() + slack:
                return True
    return False


@each
def test_text_fits_and_does_not_overlap(name, figures):
    figure = figures[name]
    shown, renderer = texts(figure), FigureCanvasAgg(figure).get_renderer()
    width, height = figure.get_size_inches() * plots.DPI
    boxes = {text: corners(text, renderer) for text in shown}
    for text, box in boxes.items():
        assert box.min() >= 0, text
        assert box[:, 0].max() <= width, text
        assert box[:, 1].max() <= height, text
    for (one, first), (other, second) in combinations(boxes.items(), 2):
        assert apart(first, second), f"{one.get_text()!r} pisa {other.get_text()!r}"


@each
def test_image_fits_a_notebook(name, figures, images):
    width, height = (figures[name].get_size_inches() * plots.DPI / 2).round()
    image = Image.open(BytesIO(images[name]))
    assert image.size == (2 * width, 2 * height)
    assert 100 <= width <= 960
    assert height <= 1400
    assert len(images[name]) <= (180_000 if name.endswith("_20") else 80_000)
    assert not image.info.keys() & {"Software", "Creation Time", "transparency"}
    corners = {image.convert("RGBA").getpixel(at) for at in ((0, 0), (image.width - 1, 0))}
    assert corners == {(255, 255, 255, 255)}


@pytest.mark.parametrize("name", [palette.SEQUENTIAL, palette.DIVERGING])
def test_cell_text_contrast(name):
    def luminance(colour):
        linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in colour[:3]]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for step in range(256):
        back = colormaps[name](step)
        ink = matplotlib.colors.to_rgb(plots._ink_on(back))
        low, high = sorted((luminance(back), luminance(ink)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, step


def test_cells_use_the_readable_ink():
    figure = plots.plot_heatmap([[0.0, 1.0]])
    assert [text.get_color() for text in figure.axes[0].texts] == [palette.INK, palette.PAPER]


def test_scales_are_fixed():
    mesh = plots.plot_heatmap([[0.1, 0.2]]).axes[0].collections[0]
    assert (mesh.norm.vmin, mesh.norm.vmax, mesh.cmap.name) == (0, 1, palette.SEQUENTIAL)
    mesh = plots.plot_heatmap([[1, -5]], kind="scores").axes[0].collections[0]
    assert (mesh.norm.vmin, mesh.norm.vmax, mesh.cmap.name) == (-5, 5, palette.DIVERGING)
    mesh = plots.plot_heatmap([[1, -5]], kind="scores", limit=9).axes[0].collections[0]
    assert mesh.norm.vmax == 9


def test_masked_cells_are_hatched_and_labelled():
    figure = plots.plot_heatmap([[1.0, -torch.inf]], kind="scores")
    assert cells(figure) == ["1.00", "−∞"]
    assert figure.axes[0].patch.get_hatch()
    assert figure.axes[0].collections[0].get_array().mask.tolist() == [[False, True]]
    assert cells(plots.plot_heatmap(torch.tensor([[True, False]]))) == ["sí", "no"]


def test_rows_are_queries_and_columns_keys():
    figure = plots.plot_heatmap([[0.1, 0.9]], ["fila"], ["uno", "dos"])
    ax = figure.axes[0]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "key")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["uno", "dos"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["fila"]
    assert ax.yaxis_inverted()  # la primera query, arriba
    at = {text.get_text(): text.get_position() for text in ax.texts}
    assert at == {"0.10": (0.5, 0.5), "0.90": (1.5, 0.5)}
    heads = plots.plot_heads(weights(2, 3, 3), list("abc"))
    assert all(ax.yaxis_inverted() for ax in heads.axes)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (7, 1), (60, 60), (4, 9), (30, 3)])
@pytest.mark.parametrize("kind", ["weights", "scores"])
def test_any_size(shape, kind):
    matrix = weights(*shape) if kind == "weights" else weights(*shape).log()
    figure = plots.plot_heatmap(matrix, kind=kind, title="Un título larguísimo " * 6)
    width, height = figure.get_size_inches() * 80
    assert 80 <= width <= 960
    assert height <= 1000
    assert len(cells(figure)) == (0 if max(shape) > 20 else matrix.numel())
    assert len(figure.axes) == (2 if max(shape) > 20 else 1)  # sin números, barra de color
    if kind == "weights":
        plots.plot_heads(weights(2, *shape), range(shape[0]), col_tokens=range(shape[1]))
        plots.plot_rows({"a": weights(shape[1]), "b": weights(shape[1])}, range(shape[1]))
        plots.plot_vector_strips(matrix)


def test_numbers_that_do_not_fit_give_way_to_a_colour_bar():
    figure = plots.plot_heatmap(torch.full((20, 20), -12345.678), kind="scores")
    assert not cells(figure)
    assert len(figure.axes) == 2
    assert not cells(plots.plot_heatmap([[1.0]], values=False))


def test_odd_labels_are_drawn_literally():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # matplotlib avisa si le falta un signo
        figure = plots.plot_heatmap(weights(12, 12), ODD, title="Vale $5 y $6 y x_1 🦮")
        plots.plot_heads(weights(2, 12, 12), ODD, titles=["$x$", "🦮"]).to_png()
        plots.plot_rows({"$x$ 🦮": weights(12), "b_1": weights(12)}, ODD).to_png()
        plots.plot_vectors([[1, 2], [2, 1]], ["$x$", "🦮"], norms=True).to_png()
        plots.plot_distributions({"$x$ 🦮": [1, 2]}, xlabel="$x_1").to_png()
        plots.plot_lines([1, 2], {"$x$ 🦮": [1, 2]}, xlabel="$x$", ylabel="a_b 🦮").to_png()
        plots.plot_vector_strips(weights(12, 4), ODD).to_png()
        figure.to_png()
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert labels[:5] == ["$a_1$", "$b", "c_d", r"\frac", "U+1F9AE"]
    assert labels[6:9] == ["שלום", "مرحبا", "U+4E2D"]
    assert labels[9:11] == ["''", "' '"]
    assert labels[11] == "a" * 15 + "…"
    assert not any(text.get_parse_math() for text in texts(figure))
    assert "«🦮»" in plots.plot_heatmap([[1.0]], ["🦮"]).description


def test_highlights_are_visible_without_colour(figures):
    labels = {label.get_text(): label for label in figures["pesos_20"].axes[0].get_yticklabels()}
    assert [name for name, label in labels.items() if label.get_weight() == "bold"] == ["it"]
    frame = figures["pesos_20"].axes[0].patches[0]
    assert (frame.get_xy(), frame.get_width(), frame.get_height()) == ((0, LONG.index("it")), 20, 1)
    bars = figures["filas"].axes[0].containers
    assert len({bar[0].get_hatch() for bar in bars}) == len(bars) == 2
    expected = [weights(12)[4].item(), weights(12, seed=1)[4].item()]
    assert [bar[4].get_width() for bar in bars] == pytest.approx(expected)
    lines = figures["curvas"].axes[0].get_lines()
    assert lines[0].get_linestyle() != lines[1].get_linestyle()


def test_newline_in_a_label_joins_two_words():
    figure = plots.plot_rows({"a": [0.9, 0.1]}, ["hungry\nold", "it"])
    assert "«hungry / old» (0.90)" in figure.description


def test_vectors_share_the_scale():
    figure = plots.plot_vectors([[3, 1], [-1, -4]], limits=(-2, 4, -5, 2))
    ax = figure.axes[0]
    box = ax.get_window_extent()
    assert box.width / 6 == pytest.approx(box.height / 7)
    assert ax.get_xlim() == (-2, 4)
    assert plots.plot_vectors([[1, 2]], limits=3).axes[0].get_ylim() == (-3, 3)
    tips = [note.xy for note in ax.texts if note.arrow_patch]
    assert np.allclose(tips, [[3, 1], [-1, -4]])


def test_histograms_are_densities(figures):
    for patch in figures["histogramas"].axes[0].patches[1::2]:
        values, edges, _ = patch.get_data()
        assert (values * np.diff(edges)).sum() == pytest.approx(1)


def test_log_ticks_are_the_points_given():
    figure = plots.plot_lines(
        [1, 4, 16, 64], {"v": [1e-9, 1e-6, 1e-3, 1]}, logx=True, logy=True, reference={"r": 1}
    )
    figure.to_png()
    assert {"1", "4", "16", "64", "10⁻⁶", "r", "v"} <= set(written(figure))


# --- En el cuaderno --------------------------------------------------------------------------


def test_shows_png_with_alternative_text(figures):
    data, metadata = DisplayFormatter().format(figures["pesos"])
    assert set(data) == {"image/png", "text/plain"}
    assert data["text/plain"] == metadata["image/png"]["alt"] == figures["pesos"].description
    image = Image.open(BytesIO(data["image/png"]))
    assert image.size == tuple(2 * metadata["image/png"][side] for side in ("width", "height"))


def test_wins_over_the_inline_backend():
    code = """
import warnings; warnings.simplefilter("ignore")
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
from course_lib.plots import plot_heatmap
from IPython.core.pylabtools import select_figure_formats
select_figure_formats(shell, {"png", "svg"})
figure = plot_heatmap([[1.0]])
data, metadata = shell.display_formatter.format(figure)
assert set(data) == {"image/png", "text/plain"}, set(data)
assert data["image/png"] == figure.to_png()
assert metadata["image/png"]["alt"] == data["text/plain"] == figure.description
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


# --- Los errores -----------------------------------------------------------------------------

NAN = torch.tensor([[0.5, torch.nan]])
ERRORS = {
    "lote": (lambda: plots.plot_heatmap(weights(1, 2, 4, 4)),
             ["plot_heatmap", "(1, 2, 4, 4)", "matrix[0][0]"]),
    "vector": (lambda: plots.plot_heatmap([1, 2]), ["(2,)", "dos ejes"]),
    "texto": (lambda: plots.plot_heatmap("hola"), ["matrix = 'hola'", "tensor"]),
    "desigual": (lambda: plots.plot_heatmap([[1, 2], [3]]), ["mismo largo"]),
    "vacío": (lambda: plots.plot_heatmap(torch.zeros(0, 3)), ["(0, 3)", "vacío"]),
    "nan": (lambda: plots.plot_heatmap(NAN), ["NaN", "[0, 1]"]),
    "menos infinito": (lambda: plots.plot_heatmap(scores(3)), ["infinitos", 'kind="scores"']),
    "más infinito": (lambda: plots.plot_heatmap([[torch.inf]], kind="scores"), ["infinitos"]),
    "no son pesos": (lambda: plots.plot_heatmap([[-1.5, 9]]), ["-1.50 a 9.00", 'kind="scores"']),
    "kind": (lambda: plots.plot_heatmap([[1]], kind="otro"), ["'otro'", '"weights"']),
    "etiquetas": (lambda: plots.plot_heatmap([[1, 0]], ["a"], ["b"]), ["col_labels", "1", "2"]),
    "una frase": (lambda: plots.plot_heatmap([[1]], "it"), ["'it'", "split()"]),
    "fila ausente": (lambda: plots.plot_heatmap([[1]], ["it"], highlight_row="dog"),
                     ["highlight_row = 'dog'", "it"]),
    "fila fuera": (lambda: plots.plot_heatmap([[1]], highlight_row=3), ["= 3", "0 a 0"]),
    "cabezas": (lambda: plots.plot_heads(weights(2, 3, 3), ["abc"]), ["tokens", "1", "3"]),
    "cabeza fuera": (lambda: plots.plot_heads(weights(2, 1, 1), ["a"], heads=[2]),
                     ["[2]", "2 cabezas", "0 a 1"]),
    "sin lote": (lambda: plots.plot_heads(weights(1, 2, 3, 3), list("abc")), ["weights[0]"]),
    "filas": (lambda: plots.plot_rows({"a": [1, 2]}, ["x"]), ["labels", "1", "2"]),
    "filas desiguales": (lambda: plots.plot_rows({"a": [1], "b": [1, 2]}, ["x"]),
                         ["«b» mide 2", "1"]),
    "no dict": (lambda: plots.plot_rows([1, 2], ["x", "y"]), ["diccionario", "list"]),
    "demasiadas": (lambda: plots.plot_rows({i: [1] for i in range(7)}, ["x"]), ["7", "1 y 6"]),
    "no es el plano": (lambda: plots.plot_vectors([[1, 2, 3]]), ["(1, 3)", "vectors[:, :2]"]),
    "vector nulo": (lambda: plots.plot_vectors([[0, 0], [1, 1]], angle=(0, 1)), ["«u»", "nulo"]),
    "no es pareja": (lambda: plots.plot_vectors([[1, 1]], angle=True), ["True", "(i, j)"]),
    "infinitos": (lambda: plots.plot_distributions({"a": [1, torch.inf]}), ["samples['a']"]),
    "longitudes": (lambda: plots.plot_lines([1, 2], {"a": [1]}), ["«a» mide 1", "x mide 2"]),
    "log": (lambda: plots.plot_lines([0, 1], {"a": [1, 1]}, logx=True), ["«x» llega a 0", "logx"]),
    "tiras": (lambda: plots.plot_vector_strips([1, 2]), ["(2,)", "vectors"]),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_errors_say_what_to_do(name):
    wrong, pieces = ERRORS[name]
    with pytest.raises(ValueError, match=r"^plot_\w+: ") as error:
        wrong()
    for piece in pieces:
        assert piece in str(error.value)
