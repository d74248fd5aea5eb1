"""El explorador de la multicabeza: sus cuentas, sus límites y lo que hace en un navegador."""

import random
import re

import pytest
import torch
import traitlets
from helpers_explorers import agrees, ask, in_js, refuses, says

from course_lib.bert import encoder_from_bert, extract_embeddings, load_bert
from course_lib.explorers import qkv
from course_lib.explorers.heads import LAYER, MultiHeadExplorer, compute, pack

SENTENCES = (qkv.DEFAULT, "the dog", "one two three four five six seven eight nine ten", "It barks; it bites")


def states(count):
    """Estados al azar, siempre los mismos, y los extremos: ``(data, query, muted)``."""
    draw, data = random.Random(0), [pack(sentence)[0] for sentence in SENTENCES]
    for n in range(count):
        muted = sorted(draw.sample(range(12), (0, 1, 2, 12)[n] if n < 4 else draw.randint(0, 12)))
        one = data[n % len(data)]
        yield one, draw.randrange(len(one["tokens"])), muted


@pytest.fixture(scope="module")
def layer():
    """La multicabeza de esa capa de BERT, en doble precisión."""
    encoder = encoder_from_bert(load_bert()).encoder
    return encoder.encoder_layers[LAYER].multi_head_attention.double().requires_grad_(False)


@pytest.mark.parametrize("sentence", SENTENCES)
def test_compute(sentence, layer):
    """Cada número, contra el bloque de la biblioteca: apagar es poner a cero un trozo de W_O."""
    bert, data = extract_embeddings(sentence), pack(sentence)[0]
    X = bert.hidden_states[LAYER].double()
    full, weights = layer(X, X, X)
    queries, values = (layer.split_heads(p(X))[0] for p in (layer.query_projection, layer.value_projection))
    outputs = weights[0] @ values
    for name, tensor in {"x": X[0], "q": queries, "outputs": outputs}.items():
        step = tensor.abs().max().item() / 127  # lo que se dibuja va en 8 bits
        torch.testing.assert_close(qkv.unpack(data[name]), tensor, atol=step, rtol=0)
    pieces = layer.output_projection.weight.T.reshape(12, 32, 384)
    close = {"atol": 5e-3, "rtol": 0}
    cases = ((0, []), (1, [3]), (2, [3, 4]), (len(X[0]) - 1, [0, 5, 11]), (1, list(range(12))))
    for query, muted in cases:
        found = compute(data, query, muted)
        result = {name: torch.tensor(value, dtype=torch.float64) for name, value in found.items()}
        torch.testing.assert_close(result["weights"], weights[0, :, query], atol=2e-3, rtol=0)
        torch.testing.assert_close(result["scores"] * 32**0.5, result["products"])
        torch.testing.assert_close(result["scores"].softmax(-1), result["weights"])
        brought = (weights[0, :, query, :, None] * (values @ pieces)).norm(dim=-1)
        torch.testing.assert_close(result["brought"], brought, **close)
        written = (outputs[:, query, None] @ pieces)[:, 0]
        torch.testing.assert_close(result["written"], written.norm(dim=-1), **close)
        off = torch.tensor([head in muted for head in range(12)])
        change = written[off].sum(dim=0)
        left = full[0, query] - layer.output_projection.bias - change
        torch.testing.assert_close(result["norm"], change.norm(), **close)
        torch.testing.assert_close(result["total"], left.norm(), atol=0.01, rtol=0)
        if muted:
            cosines = torch.cosine_similarity(written, change[None], dim=-1)
            torch.testing.assert_close(result["turned"], cosines, **close)
        smallest = written[off].norm(dim=-1).min() if muted else 0
        assert found["met"] == (len(muted) == 2 and bool(change.norm() < smallest))


def test_its_text_says_its_state():
    explorer = MultiHeadExplorer()
    start = "Multicabeza de BERT, capa 3: 12 tokens, h = 12; "
    assert repr(explorer) == start + (
        "estación 1 de 6, X; con la cabeza 1, «it» mira sobre todo a «dog» (0.53); ninguna apagada."
    )
    explorer.query, explorer.head, explorer.station, explorer.muted = 4, 2, 6, [4, 3]
    assert repr(explorer).startswith(f"{start}estación 6 de 6, mezclar; con la cabeza 2, «dog» mira")
    assert re.search(r"; apagadas: 3, 4; el cambio mide \d\.\d\d\.$", repr(explorer))
    explorer.query = 8
    assert repr(explorer).endswith("; apagadas: 3, 4; el cambio mide 1.09; cumple el reto.")


def test_what_it_takes():
    explorer = MultiHeadExplorer()
    for value, kept in (([], []), ((2, 0, 2), [0, 2]), ({1}, [1]), (list(range(12)), list(range(12)))):
        explorer.muted = value
        assert explorer.muted == kept
    explorer.muted.append(0)
    assert MultiHeadExplorer().muted == []


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_another_sentence_brings_its_own_numbers():
    explorer = MultiHeadExplorer(query=11)
    before = explorer.data
    ask(explorer, sentence="The unbelievable café 😀")
    assert explorer.data["tokens"] == ["[CLS]", "the", "unbelievable", "cafe", "[UNK]", "[SEP]"]
    assert (explorer.error, explorer.query) == ("", 5)  # la 11 ya no existe
    assert ["[UNK]" in note for note in explorer.notes] == [True, False]
    assert explorer.describe().startswith("Multicabeza de BERT, capa 3: 6 tokens")
    assert MultiHeadExplorer(sentence="The unbelievable café 😀").data == explorer.data
    ask(explorer, sentence=qkv.DEFAULT)
    assert (explorer.data, explorer.notes) == (before, [])


ROOM = {MultiHeadExplorer: (12, 200), qkv.QKVExplorer: (24, 400)}  # los tokens y las letras que caben
WRONG = {
    "": "la frase está vacía. Escribe alguna palabra.", " \n": "la frase está vacía. Escribe alguna palabra.",
    "\u200f": "no tiene ningún carácter visible", "a" * 401: "tokens y 401 caracteres",
    "dog " * 23: "tiene 25 tokens y 92 caracteres, y aquí caben {} tokens y {} caracteres. Escribe una más",
    "a\ud83d": "la frase tiene un carácter roto (medio emoji). Vuelve a escribirla.",
    3: "sentence = 3, y tiene que ser un texto", ("a",): "sentence = ('a',), y tiene que ser un texto",
}  # fmt: skip


@pytest.mark.parametrize("kind", ROOM)
@pytest.mark.parametrize("sentence", WRONG)
def test_a_wrong_sentence_is_refused(kind, sentence):
    """En los dos que leen una: al pedirla, al crearlo y después; y la mayor que cabe, pesa poco."""
    explorer, (tokens, letters) = kind(), ROOM[kind]
    before, message = explorer.data, WRONG[sentence].format(tokens, letters)
    ask(explorer, sentence=sentence, layer=0)
    assert message in explorer.error
    assert not explorer.error.startswith(kind.__name__)
    for attempt in (lambda: kind(sentence=sentence), lambda: setattr(explorer, "sentence", sentence)):
        with pytest.raises(traitlets.TraitError) as error:
            attempt()
        assert message in str(error.value)
    assert (explorer.sentence, explorer.data) == (qkv.DEFAULT, before)
    ask(explorer, sentence="dog " * (tokens - 2), layer=0)
    assert (explorer.error, len(explorer.data["tokens"])) == ("", tokens)
    assert len(str(explorer.get_state()).encode()) < 140_000
    ask(explorer)
    assert explorer.error.startswith("algo ha fallado")


@pytest.mark.parametrize("muted", [1, None, "0", [12], [-1], [0, "1"], [True], {0: 1}])
def test_what_is_not_a_list_of_heads_is_refused(muted):
    shown = re.escape(f"muted = {muted!r}")
    refuses(MultiHeadExplorer, "muted", muted, f"{shown}.*una lista de cabezas: enteros entre 0 y 11")


# --- En un navegador ------------------------------------------------------------------------------

SENTENCE = """module.sentence(
    module.compute(value.data, value.query, value.muted), value.data, value)"""


def test_javascript_computes_the_same(lab):
    agrees(lab, "heads", compute, states(60))


@pytest.mark.parametrize(("view", "expected"), [
    ({}, "«it» entra con su fila de X: 384 números"),
    ({"station": 2}, "De «it» salen una query, una key y un value, de 384 números cada uno."),
    ({"station": 3, "query": 6}, "Los 384 números de «bone» se reparten en 12 trozos de 32: no"),
    ({"station": 4, "head": 8}, "Con la cabeza 8, «it» mira sobre todo a «hungry» (0.29)."),
    ({"station": 5}, "vuelven a estar uno tras otro, 384 números: no se calcula nada."),
    ({"station": 6, "head": 3}, "escribe en «it» un vector que mide 1.22; de quien más trae es de «dog»."),
    ({"station": 6, "muted": [1]}, "Con la cabeza 1 apagada cambian 32 de 384 números en Concat; en la "
     "salida, el cambio mide 2.67."),
    ({"station": 6, "muted": [3, 4]}, "Con las cabezas 3 y 4 apagadas cambian 64 de 384 números en Concat; "
     "en la salida, el cambio mide 1.09. Reto 1, conseguido."),
])  # fmt: skip
def test_its_sentence(lab, view, expected):
    first = {"data": MultiHeadExplorer().data, "query": 8, "head": 1, "station": 1, "muted": []}
    assert expected in in_js(lab, "heads", SENTENCE, first | view)


def texts(numbers):
    return [f"{round(x, 9):z.2f}".replace("-", "−") for x in numbers]


def test_it_answers_to_the_hand_and_to_the_keys(lab, shown):
    explorer, page = shown("MultiHeadExplorer()"), lab.page
    data = MultiHeadExplorer().data
    back = explorer.get_by_role("button", name="anterior")
    forward = explorer.get_by_role("button", name="siguiente")

    def current():
        return explorer.locator("[aria-current=step]").inner_text().split("\n")[0]

    def row(name):
        return explorer.get_by_role("row", name=name).locator("th ~ td").all_inner_texts()

    def state_is(text):
        names = "query", "head", "station", "muted"
        return lab.prints(f"print({', '.join(f'explorer.{name}' for name in names)})", text)

    assert current() == "1 · X"
    assert explorer.bounding_box()["height"] <= 640

    # El teclado, de estación en estación; en las puntas no hace nada, y el foco no se pierde.
    active = page.evaluate("lesson.content.activeCellIndex")
    back.focus()
    page.keyboard.press("Enter")
    assert current() == "1 · X"
    forward.focus()
    page.keyboard.press("Enter")
    assert current() == "2 · proyectar"
    assert explorer.locator("figcaption").all_inner_texts() == ["q = x · W_Q + b_Q: (384,)"]
    page.keyboard.press("Space")
    assert current() == "3 · repartir"
    says(page, "se reparten en 12 trozos de 32")
    assert explorer.locator(".h-picked figcaption").all_inner_texts() == ["cabeza 1"]

    # La cabeza y el token, con las flechas.
    explorer.get_by_label("mira de cerca la").focus()
    page.keyboard.press("ArrowDown")
    assert explorer.locator(".h-picked figcaption").all_inner_texts() == ["cabeza 2"]
    explorer.get_by_role("button", name="4 · atender").click()
    result = compute(data, 8)
    assert row("cabeza 2") == texts(result["weights"][2])
    numbers = [result[name][2][4] for name in ("products", "scores", "weights")]
    assert row("dog") == texts(numbers)
    explorer.get_by_label("sigue a").focus()
    page.keyboard.press("ArrowDown")
    assert row("cabeza 2") == texts(compute(data, 9)["weights"][2])
    page.keyboard.press("ArrowUp")
    assert page.evaluate("lesson.content.activeCellIndex") == active
    assert state_is("8 2 4 []")

    # Apagar: con el ratón y con el teclado. El coseno dice cuál hay que apagar después.
    goal = explorer.locator(".exp-goals")
    explorer.get_by_label("apaga la cabeza 3", exact=True).click()
    explorer.get_by_role("button", name="6 · mezclar").click()
    assert row("cabeza 4")[-1] == "−0.57"
    assert "✓" not in goal.inner_text()
    explorer.get_by_label("apaga la cabeza 4", exact=True).press("Space")
    off = compute(data, 8, [3, 4])
    assert row("lo apagado")[0] == texts([off["norm"]])[0] == "1.09"
    assert row("la suma de las encendidas")[0] == texts([off["total"]])[0]
    size, who, brought, turned = row("cabeza 3, apagada")
    assert [size, brought, turned] == texts([off["written"][3], off["brought"][3][4], off["turned"][3]])
    assert who == "dog"
    says(page, "Reto 1, conseguido.")
    assert "✓ Una escribe" in goal.inner_text()
    forward.press("Enter")
    assert current() == "6 · mezclar"
    assert page.evaluate("document.activeElement.textContent") == "siguiente →"
    assert explorer.bounding_box()["height"] <= 640
    assert state_is("8 2 6 [3, 4]")
    explorer.get_by_role("button", name="5 · concat").click()
    assert explorer.locator("figcaption", has_text="apagada").all_inner_texts() == [
        "cabeza 3, apagada", "cabeza 4, apagada",
    ]  # fmt: skip

    # Y lo que se cambia en Python se ve; lo que está mal, no. Lo conseguido se queda.
    lab.ask("explorer.muted, explorer.station, explorer.query = [], 1, 6")
    says(page, "«bone» entra")
    assert not explorer.get_by_label("apaga la cabeza 3", exact=True).is_checked()
    assert "✓" in goal.inner_text()


def test_another_sentence_is_written(lab, shown):
    """Lo que no es la frase sigue como estaba. La caja y sus avisos los prueba la atención cruzada."""
    explorer, page = shown("MultiHeadExplorer(query=11, station=6, muted=[0])"), lab.page
    box = explorer.get_by_label("Frase")
    assert box.input_value() == qkv.DEFAULT

    def write(sentence, *tokens):
        box.fill(sentence)
        box.press("Enter")
        page.wait_for_function(
            """tokens => [...document.querySelectorAll('.exp-heads select')[0].options]
                .map(option => option.text).join(' ') === tokens""",
            arg=" ".join(tokens),
        )

    write("<img src=x>", "[CLS]", "<", "im", "##g", "sr", "##c", "=", "x", ">", "[SEP]")
    assert explorer.locator("img").count() == 0
    assert explorer.locator("[aria-current=step]").inner_text().startswith("6")
    assert explorer.get_by_label("apaga la cabeza 0", exact=True).is_checked()
    result = compute(MultiHeadExplorer(sentence="<img src=x>").data, 9, [0])
    row = explorer.get_by_role("row", name="la suma de las encendidas").locator("td").all_inner_texts()
    assert row[0] == texts([result["total"]])[0]
    assert lab.prints("print(explorer.query, explorer.sentence)", "9 <img src=x>")

    # El token que se seguía ya no está: el último. Y con el teclado se sigue moviendo.
    write("bone bone", "[CLS]", "bone (1)", "bone (2)", "[SEP]")
    followed = explorer.get_by_label("sigue a")
    assert followed.evaluate("node => node.selectedOptions[0].text") == "[SEP]"
    followed.focus()
    page.keyboard.press("ArrowUp")
    explorer.get_by_role("button", name="1 · X").click()
    says(page, "«bone (2)» entra")
    assert explorer.locator(".exp-heads .exp-heads, .exp .exp").count() == 0


@pytest.mark.lenta
def test_every_state_is_drawn(lab, shown):
    """Con tokens repetidos y lo más largo: cada estación, sin desbordar lo estrecho."""
    explorer = shown("MultiHeadExplorer('<b> dog <b> dog', muted=[0, 11])")
    lab.page.evaluate("document.querySelector('.exp-heads').parentElement.style.width = '360px'")
    for station in range(1, 7):
        explorer.get_by_role("button", name=f"{station} ·").click()
        box, inside = explorer.evaluate("node => [node.clientWidth, node.scrollWidth]")
        assert inside <= box
        assert explorer.locator(".h-detail").inner_text().strip()
    names = explorer.get_by_label("sigue a").locator("option").all_inner_texts()
    assert names[:5] == ["[CLS]", "< (1)", "b (2)", "> (3)", "dog (4)"]
