"""Las gráficas: puras, legibles y capaces de contarse con palabras."""

import base64
import functools
import io
import re
import warnings
from html.parser import HTMLParser
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch
from helpers import contrast
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from PIL import Image

from course_lib.plots import (
    describe, palette, plot_distributions, plot_heads, plot_heatmap, plot_lines, plot_rows,
    plot_stacks, plot_vectors,
)  # fmt: skip
from course_lib.plots.heatmaps import _text_color

TOKENS = ["[CLS]", "i", "gave", "the", "dog", "a", "bone", "because", "it", "was", "old", "[SEP]"]


def weights(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).softmax(dim=-1)


EXAMPLES = {
    "mapa": lambda: plot_heatmap(weights(12, 12), TOKENS, highlight_row=8, title="Pesos"),
    "mapa rectangular": lambda: plot_heatmap(weights(3, 7), list("abc"), list("ABCDEFG")),
    "mapa de 1 × 1": lambda: plot_heatmap([[1.0]], ["a"]),
    "mapa de 60 × 60": lambda: plot_heatmap(weights(60, 60)),
    "puntuaciones": lambda: plot_heatmap(torch.randn(12, 12), TOKENS, kind="scores"),
    "cabezas": lambda: plot_heads(weights(5, 12, 12), TOKENS, layer=3, highlight_row=8),
    "cabezas cruzadas": lambda: plot_heads(weights(2, 3, 5), list("abc"), list("ABCDE")),
    "filas": lambda: plot_rows({"una": weights(12), "otra": weights(12, seed=1)}, TOKENS, title="Fila"),
    "vectores": lambda: plot_vectors([[3.0, 1.0], [-1.0, 2.0]], ["u", "v"], angle=(0, 1), project=(1, 0)),
    "distribuciones": lambda: plot_distributions({"d = 4": torch.randn(500), "d = 9": 3 * torch.randn(500)}),
    "curvas": lambda: plot_lines([0.1, 1, 10], {"a": [1, 2, 3], "b": [3, 2, 1]}, logx=True, reference=2),
    "partes": lambda: plot_stacks({"una": {"a": 3, "b": 1}, "otra": {"b": 2}}, title="Partes", xlabel="MB"),
}  # fmt: skip


each_example = pytest.mark.parametrize("name", EXAMPLES, ids=lambda name: name.replace(" ", "_"))


some_examples = pytest.mark.parametrize("name", [
    pytest.param(name, marks=() if name in ("filas", "vectores") else pytest.mark.lenta)
    for name in EXAMPLES
], ids=lambda name: name.replace(" ", "_"))  # fmt: skip


def draw(name):
    torch.manual_seed(0)
    return EXAMPLES[name]()


def picture(figure):
    data, metadata = figure._repr_mimebundle_()
    return data, metadata["image/png"]


@functools.cache
def drawn(name):
    """Un ejemplo y su imagen. Se dibuja una vez: es lo que tarda."""
    figure = draw(name)
    return figure, *picture(figure)


def images(page):
    """Los atributos de cada imagen de una página."""
    found = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, fields: tag == "img" and found.append(dict(fields))
    parser.feed(page)
    return found


def test_short_log_axis_names_a_few_round_marks():
    figure = plot_lines([256, 1024, 8192], {"a": [1, 4, 9]}, logx=True)
    FigureCanvasAgg(figure).draw()
    axis = figure.axes[0].xaxis
    assert not any(label.get_text() for label in axis.get_minorticklabels())
    low, high = axis.get_view_interval()
    shown = [x for x in axis.get_majorticklocs() if low <= x <= high]
    assert shown == [500, 1000, 2000, 5000]


@some_examples
def test_a_figure_is_an_image_with_its_description(name):
    figure, data, metadata = drawn(name)
    image = Image.open(io.BytesIO(data["image/png"]))
    assert isinstance(figure, Figure)
    assert data["text/plain"] == metadata["alt"] == repr(figure) == str(figure) == describe(figure)
    assert len(describe(figure).split()) > 8
    assert image.size == pytest.approx((2 * metadata["width"], 2 * metadata["height"]), abs=1)
    assert metadata["width"] < 1000, "no cabe en una página"
    assert len(data["image/png"]) < 100_000
    (shown,) = images(data["text/html"])
    assert shown["alt"] == figure.description
    assert [int(shown["width"]), int(shown["height"])] == [metadata["width"], metadata["height"]]
    assert shown["style"] == "max-width: 100%; height: auto", "se encoge en una página estrecha"
    kind, _, pixels = shown["src"].partition(",")
    assert kind == "data:image/png;base64"
    assert base64.b64decode(pixels) == data["image/png"]


@some_examples
def test_same_figure_same_bytes_and_nothing_global_changes(name):
    _, first, _ = drawn(name)
    settings = dict(matplotlib.rcParams)
    assert picture(draw(name))[0] == first
    assert dict(matplotlib.rcParams) == settings


def test_labels_are_read_once_and_inputs_stay():
    matrix = weights(4, 5)
    before = matrix.clone()
    drawn = [plot_heatmap(matrix, iter("abcd"), "ABCDE", highlight_row=row) for row in (1, -3)]
    assert drawn[0].description == drawn[1].description
    assert [figure.axes[0].patches[-1].get_y() for figure in drawn] == [0.5, 0.5]
    assert torch.equal(matrix, before)


def test_words_say_what_is_seen():
    row = [0.08, 0.0, 0.01, 0.05, 0.53, 0.0, 0.22, 0.0, 0.05, 0.0, 0.03, 0.03]
    matrix = torch.full((12, 12), 1 / 12)
    matrix[8] = torch.tensor(row)
    text = plot_heatmap(matrix, TOKENS, highlight_row=8, title="Capa 3").description
    assert text == (
        "Mapa de calor de 12 × 12. Título: Capa 3. Filas: query; columnas: key. "
        "Fila «it»: «dog» 0.53, «bone» 0.22."
    )
    assert "«it» → «dog» 0.53" in plot_heads(matrix[None], TOKENS, highlight_row=8).description
    causal = torch.tensor([[[1.0, 0, 0], [0.3, 0.7, 0], [0.1, 0.6, 0.3]]])
    told = plot_heads(causal, list("abc")).description
    assert told.endswith("de las filas que ven más de un token. cabeza 0: «b» → «b» 0.70.")
    only = plot_heads(torch.cat([causal, torch.eye(3)[None]]), list("abc")).description
    assert only.endswith("cabeza 0: «a» → «a» 1.00; cabeza 1: «a» → «a» 1.00.")
    table = plot_heatmap([[1, 1, 0.2], [0.999, 1, 0.4]], ["sí", "no"], list("abc")).description
    assert table.endswith("«sí»: «a» 1.00, «b» 1.00, «c» 0.20; «no»: «a» 1.00, «b» 1.00, «c» 0.40.")
    assert "hambre: «dog» 0.53, «bone» 0.22" in plot_rows({"hambre": row}, TOKENS).description
    assert "pocas: «a» 0.10, «b» 0.70, «c» 0.20." in plot_rows({"pocas": [0.1, 0.7, 0.2]}, "abc").description
    stacks = plot_stacks({"una": {"a": 3, "b": 1}, "otra": {"b": 2.4}}, xlabel="MB")
    assert stacks.description.endswith("MB. una: 4 (a 3, b 1); otra: 2 (b 2).")
    groups = stacks.axes[0].containers
    drawn = [[(round(bar.get_x(), 2), round(bar.get_width(), 2)) for bar in bars] for bars in groups]
    assert drawn == [[(0, 4), (0, 4)], [(0, 3), (0, 0)], [(3, 1), (0, 2.4)]]  # detrás, la mayor
    vectors = plot_vectors([[3, 0], [0, 4]], ["u", "v"], angle=(0, 1)).description
    assert "u = (3.00, 0.00), norma 3.00" in vectors
    assert "Ángulo entre u y v: 90°" in vectors


@pytest.mark.lenta
def test_float_noise_does_not_change_the_words():
    """Lo que se escribe igual es un empate: ni el ruido lo deshace ni se da uno por mayor."""
    matrix = weights(12, 12).round(decimals=2) + 0.001
    matrix[3, 4] = matrix[3, 9] = 0.7  # un empate
    noisy = matrix + 1e-6 * torch.randn(12, 12)
    assert plot_heatmap(matrix, TOKENS).description == plot_heatmap(noisy, TOKENS).description
    tied = f"«the» → «{TOKENS[4]}» y «{TOKENS[9]}», 0.70; "
    assert tied in plot_heatmap(noisy, TOKENS).description
    even = plot_heatmap(torch.full((12, 12), 1 / 12) + 1e-4 * torch.eye(12), TOKENS).description
    assert even.count("→ 12 con 0.08") == 12
    many = [str(i) for i in range(40)]
    row = torch.full((40,), 1 / 40)
    assert "a: 40 con 0.03." in plot_rows({"a": row}, many).description
    row[[3, 5]] += 0.2
    assert "a: «3» 0.23, «5» 0.23." in plot_rows({"a": row}, many).description
    wide = torch.full((21, 21), 1 / 21)
    assert "El mayor valor, 0.05, en 441 casillas." in plot_heatmap(wide).description
    figure = plot_heatmap([[-1e-9, 1.0]], ["a"], ["b", "c"], kind="scores")
    assert [text.get_text() for text in figure.axes[0].texts] == ["0.00", "1.00"]


def test_blocked_cells_are_drawn_and_told():
    scores = torch.zeros(3, 3).masked_fill(~torch.ones(3, 3).tril().bool(), -torch.inf)
    figure = plot_heatmap(scores, list("abc"), kind="scores")
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts.count("−∞") == 3
    assert sum(patch.get_hatch() is not None for patch in figure.axes[0].patches) == 3
    assert "Bloqueadas: 3 de 9 casillas" in figure.description


@pytest.mark.parametrize(
    "label", ["$x_1$", "snake_case", "🐶", "שלום", "a^b", "\\alpha", "<b>", "\"&quot;'>", "x" * 60]
)
def test_any_token_is_plain_text(label):
    figure = plot_heatmap(weights(2, 2), [label, "b"])
    (first, _) = figure.axes[0].get_xticklabels()
    shown = first.get_text()
    assert not first.get_parse_math()
    assert shown == label or len(shown) == 16 and label.startswith(shown[:-1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # tampoco molesta con un carácter que no sabe dibujar
        data, _ = picture(figure)
    assert [image["alt"] for image in images(data["text/html"])] == [figure.description]
    assert f"«{label}»" in figure.description


@pytest.mark.parametrize("length", [1, 2, 12, 20])
def test_labels_do_not_overlap(length):
    figure = plot_heatmap(weights(length, length), ["because"] * length)
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in figure.axes[0].texts]
    assert len(boxes) == length**2
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


@each_example
def test_letters_are_big_enough(name):
    figure, *_ = drawn(name)
    sizes = [
        text.get_fontsize()
        for text in figure.findobj(matplotlib.text.Text)
        if text.get_text() and text.get_visible()
    ]
    assert min(sizes) >= 9


@pytest.mark.parametrize("name", [palette.SEQUENTIAL, palette.DIVERGING])
def test_cell_text_contrasts_with_any_cell(name):
    for value in np.linspace(0, 1, 101):
        background = colormaps[name](value)
        assert contrast(_text_color(background), to_hex(background)) >= 4.5


@pytest.mark.parametrize(("call", "words"), [
    (lambda: plot_heatmap(torch.ones(2, 3, 4)), ["(2, 3, 4)", "2 eje", "matrix[0]"]),
    (lambda: plot_heatmap(torch.ones(2, 2), ["a"]), ["row_labels", "1 etiquetas", "hacen falta 2"]),
    (lambda: plot_heatmap([[float("nan")]]), ["matrix", "1 NaN"]),
    (lambda: plot_heatmap([[float("inf")]], kind="scores"), ["matrix", "+∞"]),
    (lambda: plot_heatmap([[-0.5]]), ["-0.50", "de 0 a 1"]),
    (lambda: plot_heatmap([[5.0, -9.0]]), ["-9.00", "5.00", 'kind="scores"']),
    (lambda: plot_heatmap(torch.ones(0, 3)), ["vacío", "(0, 3)"]),
    (lambda: plot_heatmap([[1.0]], kind="otro"), ["'otro'", "weights", "scores"]),
    (lambda: plot_heads(weights(3, 2, 2), ["a", "b"], heads=[0, 3]), ["[0, 3]", "3 cabezas"]),
    (lambda: plot_rows({"a": [1.0, 2.0]}, ["x"]), ["1 etiquetas", "2"]),
    (lambda: plot_vectors([[1.0, 2.0, 3.0]]), ["miden 3", "en el plano, 2"]),
    (lambda: plot_vectors([[1, 2]], angle=(0, 1)), ["angle = 1", "de 0 a 0"]),
    (lambda: plot_heatmap(torch.eye(3), highlight_row=3), ["highlight_row = 3", "de 0 a 2"]),
    (lambda: plot_heads(torch.eye(3)[None], "abc", highlight_row="b"), ["highlight_row = 'b'", "un entero"]),
    (lambda: plot_rows({"a": [1.0, 0]}, "xy", highlight=[True, False]), ["highlight = True", "un entero"]),
    (lambda: plot_lines([1, 2, 3], {"y": [1, 2]}), ["3 puntos", "«y»", "2"]),
    (lambda: plot_stacks({"una": {"a": -1}}), ["-1.0", "0 o más"]),
    (lambda: plot_stacks({"una": {"a": float("nan")}}), ["nan", "0 o más"]),
    (lambda: plot_stacks({}), ["rows = {}", "un diccionario con alguna serie"]),
    (lambda: plot_lines([1], [[1]]), ["series = [[1]]", "un diccionario con alguna serie"]),
    (lambda: plot_distributions({}), ["samples = {}", "un diccionario con alguna serie"]),
    (lambda: plot_rows({"a": ["x"]}, "a"), ["a es list", "números reales"]),
    (lambda: plot_lines([1], {"a": [1j]}), ["a es list", "números reales"]),
    (lambda: plot_lines([1], {"a": torch.ones(1, device="meta")}), ["a es Tensor", "números"]),
    (lambda: plot_heatmap([[1], [1, 2]]), ["matrix es list", "filas iguales"]),
    (lambda: plot_heatmap([[10**400]]), ["matrix es list", "números reales"]),
    (lambda: plot_distributions({"a": [-np.inf, 1]}), ["a contiene 1 NaN o ∞"]),
    (lambda: plot_vectors([[-np.inf, 1]]), ["vectors contiene 1 NaN o ∞"]),
])  # fmt: skip
def test_bad_input_says_what_and_why(call, words):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        call()
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.lenta
def test_the_notebook_shows_our_image():
    """También con el modo «inline» de matplotlib, que las muestra a su manera; sin él, lo hacen las lecciones."""
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter
    from nbformat.v4 import new_code_cell, new_notebook

    code = "from course_lib.plots import plot_rows\nplot_rows({'a': [0.2, 0.8]}, ['x', 'y'])"
    nb = new_notebook(cells=[new_code_cell("import matplotlib.pyplot as plt; plt.plot([1])"), new_code_cell(code)])
    NotebookClient(nb, kernel_name="python3", timeout=180).execute()
    (output,) = nb.cells[1].outputs
    figure = plot_rows({"a": [0.2, 0.8]}, ["x", "y"])
    expected, metadata = picture(figure)
    assert output.data["text/plain"] == figure.description
    assert output.metadata["image/png"] == metadata
    assert base64.b64decode(output.data["image/png"]) == expected["image/png"]
    assert output.data["text/html"] == expected["text/html"]
    del nb.cells[0]  # la figura de pyplot no tiene descripción
    page, _ = HTMLExporter().from_notebook_node(nb)
    assert [image["alt"] for image in images(page)] == [figure.description]
    assert page.count(figure.description) == 1, "un lector de pantalla la dice una sola vez"


# --- Lo que llega de fuera --------------------------------------------------------------------------

NAMED = {
    "filas": lambda series, **more: plot_rows(series, [1, 2], **more),
    "curvas": lambda series, **more: plot_lines([1, 2], series, xlabel=more.get("title"), **more),
    "distribuciones": lambda series, **more: plot_distributions(series, **more),
    "partes": lambda series, **more: plot_stacks({"una": {k: sum(x) for k, x in series.items()}}, **more),
    "barras": lambda series, **more: plot_stacks({k: {"a": 1, "b": x[0]} for k, x in series.items()}, **more),
}  # fmt: skip
each_named = pytest.mark.parametrize("draw", NAMED.values(), ids=NAMED)


def shown(figure):
    """Los nombres de la leyenda, o del eje si la leyenda es otra cosa, una vez dibujada sin avisos."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.savefig(io.BytesIO(), dpi=20, bbox_inches="tight")
    (ax,) = figure.axes
    figure.description.encode()
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    return [text.get_text() for text in ax.get_yticklabels()] if legend == ["a", "b"] else legend


@each_named
@pytest.mark.parametrize("count", [7, pytest.param(24, marks=pytest.mark.lenta)])
def test_any_number_of_series(draw, count):
    figure = draw({f"_serie {i}": [1 + i, 2] for i in range(count)})
    names = shown(figure)
    assert [name.partition(":")[0] for name in names] == [f"_serie {i}" for i in range(count)]
    (ax,) = figure.axes
    bars = [(one[0].get_facecolor(), one[0].get_hatch()) for one in ax.containers]
    lines = [(one.get_color(), one.get_linestyle()) for one in ax.lines if not bars]
    steps = [(one.get_edgecolor(), one.get_linestyle()) for one in ax.patches if not bars]
    assert len({*bars, *lines, *steps}) == len(bars + lines + steps), "dos series se dibujan igual"


@each_named
@pytest.mark.parametrize("name", [
    "_a", *(pytest.param(name, marks=pytest.mark.lenta) for name in (
        "", None, 3, ("a", 1), b"x", "$x_1$", "a^b", "\\alpha", "50 %", "a\nb", "\t", "\0", "\ud83d",
        "שלום 🐶 日本", "x" * 200)),
], ids=ascii)  # fmt: skip
def test_any_name(draw, name):
    figure = draw({name: [1, 2], "otra": [2, 1]}, title=name)
    first, second = (one.partition(": media")[0] for one in shown(figure))
    plain = str(name).replace("\t", "\\t").replace("\0", "\\x00").replace("\ud83d", "\\ud83d")
    assert first.replace("\n", "") == (plain.replace("\n", "") or second and "«»") or not name
    assert second == "otra"
    assert max(map(len, figure.axes[0].get_title("left").split("\n"))) <= 90


def test_names_that_are_written_the_same_are_two():
    assert shown(plot_rows({1: [1, 2], "1": [2, 1]}, ["a", "a"])) == ["1", "1"]


@pytest.mark.parametrize("given", [
    torch.tensor([1, 0]), torch.tensor([True, False]), torch.tensor([1.0, 0]).bfloat16(), np.array([1, 0]),
    torch.tensor([1.0, 0], requires_grad=True), torch.tensor([1.0, 0]).to_sparse(), [True, False], (1, 0),
    [torch.tensor(1.0, requires_grad=True), torch.tensor(0)], range(1, -1, -1), {"a": 1, "b": 0.0}.values(),
    np.array([1, 0], dtype=object), torch.tensor([1.0, 0]).to(torch.float8_e4m3fn),
], ids=lambda x: f"{type(x).__name__} {getattr(x, 'dtype', '')}")  # fmt: skip
def test_any_numbers(given):
    told = {
        plot_rows({"a": given}, list("xy")): "«x» 1.00, «y» 0.00",
        plot_lines([1, 2], {"a": given}): "a: de 1.00 a 0.00",
        plot_distributions({"a": given}): "a: media 0.50, desviación típica 0.50",
        plot_vectors([given, [1, 1]]): "0 = (1.00, 0.00)",
        plot_heatmap([given]): "«0» → «0» 1.00",
        plot_stacks({"f": dict(zip("xy", given))}): "f: 1 (x 1)",
    }
    assert [words for figure, words in told.items() if words not in figure.description] == []


def test_one_point_and_one_value_are_seen():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert plot_lines([3], {"a": [1]}).axes[0].lines[0].get_marker() == "o"
        assert "media 2.00" in plot_distributions({"a": [2, 2, 2]}).description
        assert "x 0" not in plot_stacks({"a": {"x": 0}}).description


def test_what_is_blocked_is_a_bar_that_says_it():
    figure = plot_rows({"a": [1.0, -np.inf]}, ["x", "y"])
    assert [bar.get_height() for bar in figure.axes[0].patches] == [1, 0]
    assert [text.get_text() for text in figure.axes[0].texts] == ["1.00", "−∞"]


def test_describe_a_plain_figure():
    figure = Figure()
    ax = figure.subplots()
    ax.set(title="Título", xlabel="x", ylabel="y")
    assert describe(figure) == "Figura con 1 gráfica(s): Título, x, y."


# --- La paleta, una vez -----------------------------------------------------------------------------

ROOT = Path(__file__).parents[1]
STYLES = [
    *ROOT.glob("sitio/plantillas/*.html"),
    *ROOT.glob("course_lib/**/*.css"),
    *ROOT.glob("sitio/web/*.css"),
    *ROOT.glob("aula/**/*.css"),
    *ROOT.glob(".jupyter/labextensions/*/static/*.css"),
]
PLAIN = {"#fff", "#000", "#0006"}  # el papel, la pantalla apagada y una sombra


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.name)
def test_a_style_sheet_takes_its_values_from_the_palette(path):
    """Ninguna escribe un color: los pide por su nombre."""
    text = re.sub(r"url\(.*?\)", "", path.read_text(encoding="utf-8"))
    assert set(re.findall(r"#[0-9a-fA-F]{3,8}\b(?!.*\{)", text)) <= PLAIN


def test_the_values_come_first_day_and_night(tmp_path):
    (tmp_path / "a.css").write_text("p { color: var(--q); }\n", encoding="utf-8")
    told = palette.sheet(tmp_path / "a.css", ("q", "round"), night="@media screen { html")
    day = f":root {{\n  --q: {palette.QUERY};\n  --round: {palette.FORM['round']};\n}}\n"
    night = f"@media screen {{ html {{\n  --q: {palette.SKY};\n}}}}\n"
    assert told == f"{day}{night}p {{ color: var(--q); }}\n"
