"""El explorador de la multicabeza: sus cuentas, sus límites y lo que hace en un navegador."""

import math
import random
import re

import pytest
import torch
import traitlets
from helpers_explorers import agrees, ask, in_js, refuses, says
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.explorers import heads as library
from course_lib.explorers.heads import NAMES, STATIONS, MultiHeadExplorer, compute, pack


def block(heads, width, seed=0, scale=1.0, bias=True):
    """Un bloque con números al azar, siempre los mismos."""
    generator = torch.Generator().manual_seed(seed)
    attention = MultiHeadAttention(heads, width, bias=bias)
    for parameter in attention.parameters():
        parameter.data = (2 * torch.rand(parameter.shape, generator=generator) - 1) * scale
    return attention


def states(count):
    """Estados al azar, siempre los mismos, y los extremos: ``(data, query, muted)``."""
    draw = random.Random(0)
    sizes = [(2, 1, 1), (8, 6, 4), (8, 1, 24), (2, 6, 1), (5, 3, 4)]
    for n in range(count + len(sizes)):
        length, heads = draw.randint(2, 8), draw.randint(1, 6)
        size = draw.randint(1, 24 // heads)
        if n < len(sizes):
            length, heads, size = sizes[n]
        generator = torch.Generator().manual_seed(n)
        width, spread = heads * size, draw.choice((0.1, 1.0, 3.0))
        x = (torch.randn(length, width, generator=generator) * spread).clamp(-10, 10)
        attention = block(heads, width, n, draw.choice((0.0, 0.3, 1.0)), draw.random() < 0.7)
        muted = sorted(draw.sample(range(heads), draw.randint(0, heads)))
        tokens = [draw.choice(("the", "dog", "ate")) for _ in range(length)]
        yield pack(tokens, x, attention), draw.randrange(length), muted


def torch_block(data, muted=()):
    """Lo mismo, con el bloque de torch: una cabeza apagada es un trozo de W_O a cero."""
    width, heads = len(data["x"][0]), data["heads"]
    theirs = nn.MultiheadAttention(width, heads, batch_first=True, dtype=torch.float64)
    matrices = [torch.tensor(matrix, dtype=torch.float64).T for matrix in data["matrices"]]
    biases = [torch.tensor(bias, dtype=torch.float64) for bias in data["biases"]]
    for head in muted:
        matrices[3][:, head * (width // heads) : (head + 1) * (width // heads)] = 0.0
    theirs.in_proj_weight.data = torch.cat(matrices[:3])
    theirs.in_proj_bias.data = torch.cat(biases[:3])
    theirs.out_proj.weight.data, theirs.out_proj.bias.data = matrices[3], biases[3]
    x = torch.tensor([data["x"]], dtype=torch.float64)
    output, weights = theirs.requires_grad_(False)(x, x, x, average_attn_weights=False)
    return output[0], weights[0]


@pytest.mark.parametrize("state", list(states(80)))
def test_compute(state):
    data, query, muted = state
    result = compute(data, query, muted)
    output, weights = torch_block(data, muted)
    full, _ = torch_block(data)
    close = {"rel": 1e-9, "abs": 1e-9}
    assert result["output"] == pytest.approx(output[query].tolist(), **close)
    assert result["full"] == pytest.approx(full[query].tolist(), **close)
    for mine, theirs in zip(result["weights"], weights[:, query].tolist(), strict=True):
        assert mine == pytest.approx(theirs, **close)
    moved = (output - full)[query]
    assert result["norm"] == pytest.approx(math.sqrt(moved.square().sum().item()), **close)
    assert result["changed"][1] == (moved.abs() > 1e-6).sum()

    # A mano: cada trozo sale de su sitio.
    heads, width = data["heads"], len(data["x"][0])
    size = width // heads
    for head in range(heads):
        place = slice(head * size, (head + 1) * size)
        q = result["Q"][query][place]
        products = [sum(a * b for a, b in zip(q, key[place])) for key in result["K"]]
        assert result["products"][head] == pytest.approx(products, **close)
        scores = [product / math.sqrt(size) for product in products]
        assert result["scores"][head] == pytest.approx(scores, **close)
        assert sum(result["weights"][head]) == pytest.approx(1)
        mixed = [
            sum(w * value[d] for w, value in zip(result["weights"][head], result["V"]))
            for d in range(width)
        ]
        assert result["outputs"][head] == pytest.approx(mixed[place], **close)
        arrives = [0.0] * size if head in muted else result["outputs"][head]
        assert result["concat"][place] == arrives
    total = [sum(column) for column in zip(*result["contributions"], data["biases"][3])]
    assert result["output"] == pytest.approx(total, **close)
    lost = [abs(x) for head in muted for x in result["outputs"][head]]
    assert result["changed"][0] == sum(x > 1e-6 for x in lost)


def test_one_head_reaches_every_number_of_the_output():
    explorer = MultiHeadExplorer()
    for head in range(3):
        assert compute(explorer.data, 1, [head])["changed"] == [4, 12]
    assert compute(explorer.data, 1, [0, 1, 2])["output"] == [0.0] * 12  # sin sesgos, nada


def test_two_heads_can_cancel_out():
    """La pregunta de la lección: apagar dos puede cambiar menos que apagar una cualquiera."""
    data = MultiHeadExplorer().data
    one, other, both = (compute(data, 1, muted)["norm"] for muted in ([0], [2], [0, 2]))
    assert [round(norm, 2) for norm in (one, other, both)] == [2.64, 2.29, 1.87]


def test_its_text_says_its_state():
    explorer = MultiHeadExplorer()
    assert repr(explorer) == (
        "Multicabeza: 5 tokens, d_model = 12, h = 3; estación 1 de 6, X; con la cabeza 0, «dog» "
        "mira sobre todo a «the» (0.30); ninguna apagada."
    )
    explorer.query, explorer.head, explorer.station, explorer.muted = 4, 2, 6, [2, 0]
    assert repr(explorer) == (
        "Multicabeza: 5 tokens, d_model = 12, h = 3; estación 6 de 6, mezclar; con la cabeza 2, "
        "«bone» mira sobre todo a «the» (0.45); apagadas: 0, 2; cambian 8 de 12 números en Concat "
        "y 12 de 12 en la salida, y el cambio mide 1.80."
    )


def test_its_example_is_what_it_says():
    from course_lib.bert import extract_embeddings

    explorer = MultiHeadExplorer()
    bert = extract_embeddings("the dog found a bone")
    assert explorer.data["tokens"] == bert.tokens[0][1:-1] == ["the", "dog", "found", "a", "bone"]
    x = torch.tensor(explorer.data["x"])
    torch.testing.assert_close(x, bert.encoder_input[0, 1:-1, :12], atol=0.00501, rtol=0)
    # Nada está cerca de un redondeo: en otra máquina salen los mismos números.
    hundredths = bert.encoder_input[0, 1:-1, :12].double() * 100
    assert (hundredths - hundredths.floor() - 0.5).abs().min() > 1e-3
    numbers = torch.tensor(explorer.data["matrices"])
    assert numbers.shape == (4, 12, 12)
    assert -1 <= numbers.min() < -0.9
    assert 0.9 < numbers.max() <= 1
    assert "BERT" in explorer.note
    assert "sin entrenar" in explorer.note
    assert MultiHeadExplorer(["a", "b"], torch.zeros(2, 8), block(2, 8)).note == ""


def test_what_it_takes():
    explorer = MultiHeadExplorer()
    for name, values in (
        ("query", range(5)), ("head", range(3)), ("station", range(1, 1 + len(STATIONS))),
    ):  # fmt: skip
        for value in values:
            setattr(explorer, name, value)
            assert getattr(explorer, name) == value
            assert STATIONS[explorer.station - 1] in explorer.describe()
    for value, kept in (([], []), ((2, 0, 2), [0, 2]), ({1}, [1]), ([0, 1, 2], [0, 1, 2])):
        explorer.muted = value
        assert explorer.muted == kept
    explorer.muted.append(0)
    assert MultiHeadExplorer().muted == []
    for length, heads, width in ((2, 1, 1), (8, 6, 24), (8, 1, 24)):
        x = torch.full((1, length, width), 10.0, requires_grad=True)
        big = MultiHeadExplorer(["dog"] * length, x, block(heads, width), head=heads - 1)
        assert big.data["x"] == [[10.0] * width] * length
        assert big.describe()
    assert len(str(big.get_state()).encode()) < 140_000


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_another_sentence_brings_its_own_numbers():
    from course_lib.bert import extract_embeddings

    explorer = MultiHeadExplorer(query=4)
    assert explorer.sentence == "the dog found a bone"
    before = explorer.data
    ask(explorer, sentence="The unbelievable café 😀")
    bert = extract_embeddings("The unbelievable cafe 😀")
    data = explorer.data
    assert data["tokens"] == ["the", "unbelievable", "cafe", "[UNK]"] == bert.tokens[0][1:-1]
    x = torch.tensor(data["x"])
    torch.testing.assert_close(x, bert.encoder_input[0, 1:-1, :12], atol=0.00501, rtol=0)
    torch.testing.assert_close(x * 100, (x * 100).round(), atol=1e-4, rtol=0)
    rest = ("heads", "matrices", "biases")
    assert [data[name] for name in rest] == [before[name] for name in rest]
    assert (explorer.error, explorer.query) == ("", 3)  # la 4 ya no existe
    assert ["[UNK]" in note for note in explorer.notes] == [True, False]
    assert explorer.describe().startswith("Multicabeza: 4 tokens")
    assert MultiHeadExplorer(sentence="The unbelievable café 😀").data == data
    ask(explorer, sentence="the dog found a bone")
    assert (explorer.data, explorer.notes) == (before, [])


@pytest.mark.parametrize(("sentence", "message"), [
    ("", "la frase está vacía. Escribe alguna palabra."),
    (" \n", "la frase está vacía. Escribe alguna palabra."),
    ("\u200f", "no tiene ningún carácter visible"),
    ("dog", "la frase tiene 1 token, y aquí caben de 2 a 8. Escribe otra."),
    ("dog " * 9, "la frase tiene 9 tokens, y aquí caben de 2 a 8. Escribe otra."),
    ("dog " * 5000, "la frase tiene 5000 tokens"),
    ("a\ud83d", "la frase tiene un carácter roto (medio emoji). Vuelve a escribirla."),
    (3, "sentence = 3, y tiene que ser un texto"),
])  # fmt: skip
def test_a_wrong_sentence_is_refused(sentence, message):
    explorer = MultiHeadExplorer()
    before = explorer.data
    ask(explorer, sentence=sentence)
    assert message in explorer.error
    assert not explorer.error.startswith("MultiHeadExplorer")
    for attempt in (
        lambda: MultiHeadExplorer(sentence=sentence),
        lambda: setattr(explorer, "sentence", sentence),
    ):
        with pytest.raises(traitlets.TraitError) as error:
            attempt()
        assert message in str(error.value)
    assert (explorer.sentence, explorer.data) == ("the dog found a bone", before)
    ask(explorer, sentence="the dog " * 4)
    assert (explorer.error, len(explorer.data["tokens"])) == ("", 8)
    ask(explorer)
    assert explorer.error.startswith("algo ha fallado")


def test_numbers_given_by_hand_have_no_sentence():
    assert MultiHeadExplorer(["a", "b"], torch.zeros(2, 8), block(2, 8)).sentence == ""


def test_it_spends_nobody_s_random_numbers():
    state = torch.get_rng_state()
    MultiHeadExplorer().describe()
    assert torch.equal(torch.get_rng_state(), state)


def test_it_keeps_four_decimals():
    x = [[0.123456, -0.00001]] * 2
    data = MultiHeadExplorer(["a", "b"], x, block(1, 2)).data
    assert data["x"] == [[0.1235, 0.0]] * 2
    assert data == MultiHeadExplorer(["a", "b"], data["x"], library.build(
        1, data["matrices"], data["biases"])).data  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [(name, value, message)
     for name, message, wrong in (
         ("query", "un entero entre 0 y 4", [-1, 5, 1.0, "1", None, True]),
         ("head", "un entero entre 0 y 2", [-1, 3, 0.5, "0", None, False]),
         ("station", "un entero entre 1 y 6", [0, 7, 2.0, "X", None, True]),
         ("muted", "una lista de cabezas: enteros entre 0 y 2",
          [1, None, "0", [3], [-1], [0, "1"], [True], {0: 1}]))
     for value in wrong],
)  # fmt: skip
def test_wrong_values_are_refused(name, value, message):
    shown = re.escape(f"{name} = {value!r}")
    refuses(MultiHeadExplorer, name, value, f"{shown}.*{re.escape(message)}")


ZEROS = torch.zeros(2, 12)


@pytest.mark.parametrize(("arguments", "message"), [
    ({"tokens": ["a"], "x": ZEROS[:1]}, "tokens = ['a'], y tiene que ser una lista de 2 a 8"),
    ({"tokens": ["a"] * 9, "x": torch.zeros(9, 12)}, "una lista de 2 a 8 textos"),
    ({"tokens": "ab", "x": ZEROS}, "tokens = 'ab'"),
    ({"tokens": ["a", 2], "x": ZEROS}, "tokens = ['a', 2]"),
    ({"tokens": ["a", "b" * 25], "x": ZEROS}, "hasta 24 letras"),
    ({"x": ZEROS}, "tokens = None"),
    ({"tokens": ["a", "b"]}, "x = None, y tiene que ser un tensor"),
    ({"tokens": ["a", "b"], "x": "hola"}, "x = 'hola'"),
    ({"tokens": ["a", "b"], "x": [[1], [1, 2]]}, "x = [[1], [1, 2]]"),
    ({"tokens": ["a", "b"], "x": torch.zeros(2, 11)}, "y es de forma (2, 11)"),
    ({"tokens": ["a", "b"], "x": torch.zeros(3, 12)}, "y es de forma (3, 12)"),
    ({"tokens": ["a", "b"], "x": ZEROS + 11}, "de números entre −10 y 10"),
    ({"tokens": ["a", "b"], "x": ZEROS + math.nan}, "de números entre −10 y 10"),
    ({"tokens": ["a", "b"], "x": ZEROS - math.inf}, "de números entre −10 y 10"),
    ({"attention": 3}, "attention = 3, y tiene que ser un MultiHeadAttention"),
    ({"attention": nn.MultiheadAttention(12, 3)}, "un MultiHeadAttention de course_lib"),
    ({"attention": MultiHeadAttention(3, 12, kdim=8)}, "de una sola anchura"),
    ({"attention": MultiHeadAttention(8, 24)}, "hasta 24 dimensiones y 6 cabezas"),
    ({"attention": MultiHeadAttention(5, 25)}, "hasta 24 dimensiones y 6 cabezas"),
    ({"attention": MultiHeadAttention(2, 8)}, "de forma (5, 8), y es de forma (5, 12)"),
    ({"attention": block(3, 12, scale=20.0)}, "attention = tensor"),
    ({"query": 5}, "query = 5"),
])  # fmt: skip
def test_what_cannot_be_drawn_is_refused(arguments, message):
    with pytest.raises(traitlets.TraitError) as error:
        MultiHeadExplorer(**arguments)
    assert message in str(error.value)
    assert len(str(error.value)) < 240


def test_its_numbers_are_not_changed_by_halves():
    explorer = MultiHeadExplorer()
    with pytest.raises(traitlets.TraitError):
        explorer.data = {}
    assert len(NAMES) == len(explorer.data["matrices"]) == len(explorer.data["biases"])


# --- En un navegador ------------------------------------------------------------------------------

SENTENCE = """module.sentence(
    module.compute(value.data, value.query, value.muted), value.data, value)"""


def test_javascript_computes_the_same(lab):
    agrees(lab, "heads", compute, states(60))


@pytest.mark.parametrize(("view", "expected"), [
    ({}, "«dog» entra con su fila de X: 12 números."),
    ({"station": 2}, "De «dog» salen una query, una key y un value, de 12 números cada uno."),
    ({"station": 3, "query": 4}, "Los 12 números de «bone» se reparten en 3 trozos de 4: no"),
    ({"station": 4, "head": 1}, "Con la cabeza 1, «dog» mira sobre todo a «a» (0.39)."),
    ({"station": 5}, "vuelven a estar uno tras otro, 12 números: no se calcula nada."),
    ({"station": 6}, "12 números, y cada uno combina los de todas las cabezas."),
    ({"station": 6, "muted": [1]}, "los de las cabezas encendidas. Con la cabeza 1 apagada "
     "cambian 4 de 12 números en Concat y 12 de 12 en la salida; el cambio mide 1.43."),
    ({"station": 6, "muted": [0, 1, 2]}, "no le llega nada de la frase. Con las cabezas 0, 1 y "
     "2 apagadas cambian 12 de 12 números en Concat y 12 de 12"),
])  # fmt: skip
def test_its_sentence(lab, view, expected):
    first = {"data": MultiHeadExplorer().data, "query": 1, "head": 0, "station": 1, "muted": []}
    assert expected in in_js(lab, "heads", SENTENCE, first | view)


def test_it_answers_to_the_hand_and_to_the_keys(lab, shown):
    explorer, page = shown("MultiHeadExplorer()"), lab.page
    data = MultiHeadExplorer().data
    back = explorer.get_by_role("button", name="anterior")
    forward = explorer.get_by_role("button", name="siguiente")

    def current():
        return explorer.locator("[aria-current=step]").inner_text().split("\n")[0]

    def row(name):
        return explorer.get_by_role("row", name=name).locator("th ~ td").all_inner_texts()

    def strip(name):
        group = explorer.get_by_role("group", name=name, exact=True)
        return group.locator(".h-cells span").all_inner_texts()

    def texts(numbers):
        return [f"{round(x, 9):z.2f}".replace("-", "−") for x in numbers]

    def state_is(text):
        names = "query", "head", "station", "muted"
        return lab.prints(f"print({', '.join(f'explorer.{name}' for name in names)})", text)

    result = compute(data, 1)
    assert current() == "1 · X"
    assert row("▶ dog") == texts(data["x"][1])
    assert explorer.bounding_box()["height"] <= 600

    # El teclado, de estación en estación; en las puntas no hace nada, y el foco no se pierde.
    active = page.evaluate("lesson.content.activeCellIndex")
    back.focus()
    page.keyboard.press("Enter")
    assert current() == "1 · X"
    forward.focus()
    page.keyboard.press("Enter")
    assert current() == "2 · proyectar"
    for name, rows in zip("qkv", (result["Q"], result["K"], result["V"])):
        assert strip(f"{name} = x · W_{name.upper()}: (12,)") == texts(rows[1])
    assert row("suma") == texts([result["Q"][1][0]])
    page.keyboard.press("Space")
    assert current() == "3 · repartir"
    assert strip("q: (12,)") == strip("q, repartida: (3, 4)") == texts(result["Q"][1])
    says(page, "se reparten en 3 trozos de 4")

    # La cabeza y el token, con las flechas.
    explorer.get_by_label("mira de cerca la").focus()
    page.keyboard.press("ArrowDown")
    assert explorer.locator(".h-picked .h-name").all_inner_texts() == ["cabeza 1: (4,)"] * 3
    explorer.get_by_role("button", name="4 · atender").click()
    assert row("cabeza 1") == texts(result["weights"][1])
    assert row("suma de peso") == texts(result["outputs"][1])
    place = slice(4, 8)
    numbers = [*result["K"][2][place], result["products"][1][2], result["scores"][1][2],
               result["weights"][1][2], *result["V"][2][place]]  # fmt: skip
    assert row("found") == texts(numbers)
    explorer.get_by_label("sigue a").focus()
    page.keyboard.press("ArrowDown")
    assert row("cabeza 1") == texts(compute(data, 2)["weights"][1])
    page.keyboard.press("ArrowUp")
    assert page.evaluate("lesson.content.activeCellIndex") == active
    assert state_is("1 1 4 []")

    # Apagar: con el ratón y con el teclado.
    explorer.get_by_label("apaga la cabeza 0").click()
    explorer.get_by_label("apaga la cabeza 2").press("Space")
    off = compute(data, 1, [0, 2])
    forward.click()
    given = [x for head in off["outputs"] for x in head]
    assert strip("lo que da cada cabeza: (3, 4)") == texts(given)
    for name in ("lo que llega de cada cabeza: (3, 4)", "Concat: (12,)"):
        assert strip(name) == texts(off["concat"])
    forward.click()
    assert row("suma: la salida") == texts([*off["output"], math.hypot(*off["output"])])
    assert row("sin apagar nada") == texts([*off["full"], math.hypot(*off["full"])])
    assert row("el cambio")[-1] == texts([off["norm"]])[0]
    assert row("cabeza 0, apagada") == ["0.00"] * 13
    part = off["contributions"][1]
    assert row("cabeza 1") == texts([*part, math.hypot(*part)])
    says(page, "Con las cabezas 0 y 2 apagadas cambian 8 de 12 números en Concat y 12 de 12")
    forward.press("Enter")
    assert current() == "6 · mezclar"
    assert page.evaluate("document.activeElement.textContent") == "siguiente →"
    assert explorer.bounding_box()["height"] <= 600
    assert state_is("1 1 6 [0, 2]")

    # Y lo que se cambia en Python se ve; lo que está mal, no.
    lab.ask("explorer.muted, explorer.station, explorer.query = [], 1, 4")
    says(page, "«bone» entra")
    assert not explorer.get_by_label("apaga la cabeza 0").is_checked()


def test_another_sentence_is_written(lab, shown):
    """Lo que no es la frase sigue como estaba. La caja y sus avisos los prueba la atención cruzada."""
    explorer, page = shown("MultiHeadExplorer(query=4, station=6, muted=[0])"), lab.page
    box = explorer.get_by_label("Frase")
    assert box.input_value() == "the dog found a bone"

    def write(sentence, *tokens):
        box.fill(sentence)
        box.press("Enter")
        page.wait_for_function(
            """tokens => [...document.querySelectorAll('.exp-heads select')[0].options]
                .map(option => option.text).join(' ') === tokens""",
            arg=" ".join(tokens),
        )

    write("<img src=x>", "<", "im", "##g", "sr", "##c", "=", "x", ">")
    assert explorer.locator("img").count() == 0
    assert explorer.locator("[aria-current=step]").inner_text().startswith("6")
    assert explorer.get_by_label("apaga la cabeza 0").is_checked()
    result = compute(MultiHeadExplorer(sentence="<img src=x>").data, 4, [0])
    row = explorer.get_by_role("row", name="suma: la salida").locator("td").all_inner_texts()
    assert row[:-1] == [f"{round(x, 9):z.2f}".replace("-", "−") for x in result["output"]]
    assert lab.prints("print(explorer.query, explorer.sentence)", "4 <img src=x>")

    # El token que se seguía ya no está: el último. Y con el teclado se sigue moviendo.
    write("bone bone", "bone (0)", "bone (1)")
    says(page, "bone (1)")
    explorer.get_by_label("sigue a").focus()
    page.keyboard.press("ArrowUp")
    says(page, "bone (0)")
    assert explorer.locator(".exp-heads .exp-heads, .exp .exp").count() == 0


@pytest.mark.lenta
def test_every_state_is_drawn(lab, shown):
    """Con sesgos, tokens repetidos y lo más grande: cada estación, sin desbordar lo estrecho."""
    explorer = shown(
        "MultiHeadExplorer(['a', '<b>'] * 4, [[i - j / 9 for j in range(24)] for i in range(8)],"
        "__import__('course_lib').MultiHeadAttention(6, 24))"
    )
    lab.page.evaluate("document.querySelector('.exp-heads').parentElement.style.width = '360px'")
    for station in range(1, 7):
        explorer.get_by_role("button", name=f"{station} ·").click()
        box, inside = explorer.evaluate("node => [node.clientWidth, node.scrollWidth]")
        assert inside <= box
        assert explorer.locator(".h-detail").inner_text().strip()
    assert explorer.get_by_label("sigue a").locator("option").all_inner_texts()[:2] == [
        "a (0)", "<b> (1)",
    ]  # fmt: skip
    assert explorer.get_by_role("row", name="sesgo b_O").count() == 1
