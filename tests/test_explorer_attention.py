"""El explorador de atención: sus cuentas, sus límites y lo que hace en un navegador."""

import base64
import json
import math
import struct
from unittest import mock

import pytest
import torch
import traitlets
from helpers_explorers import agrees, ask, in_js, says

from course_lib.bert import extract_embeddings, load_bert
from course_lib.explorers import typed
from course_lib.explorers.attention import DEFAULT, STEPS, AttentionExplorer, compute
from course_lib.model_files import ModelUnavailableError

LONG = "a " * 2500  # 5000 caracteres


def states(count):
    """Matrices de pesos al azar, siempre las mismas, y las que suelen dar problemas."""
    draw = torch.Generator().manual_seed(0)
    size = lambda: torch.randint(1, 13, (), generator=draw).item()  # noqa: E731
    yield torch.full((4, 4), 0.25).tolist(), 2, torch.eye(4).tolist()  # todo empata
    yield [[1.0]], 0, None
    for _ in range(count):
        n = size()
        m = n if size() > 3 else size()
        one, two = (torch.randn(k, k, generator=draw).double().mul(3).softmax(-1) for k in (n, m))
        query = torch.randint(0, min(n, m), (), generator=draw).item()
        yield one.tolist(), query, two.tolist() if size() > 2 else None


def unpack(data):
    """Deshace el viaje sin la biblioteca: lista plana de pesos."""
    raw = base64.b64decode(data["weights"])
    return [n / STEPS for n in struct.unpack(f"<{len(raw) // 2}H", raw)]


def send(explorer, one, other=""):
    ask(explorer, sentences=[one, other])


@pytest.mark.parametrize(("weights", "query", "other"), list(states(40)))
def test_compute(weights, query, other):
    result = compute(weights, query, other)
    assert result["row"] == weights[query]
    pairs = sorted((-weight, j) for j, weight in enumerate(weights[query]))
    assert result["top"] == [j for _, j in pairs]
    if other is None or len(other) != len(weights):
        assert result["difference"] is None
    else:
        change = [b - a for a, b in zip(weights[query], other[query])]
        assert result["difference"] == pytest.approx(change, abs=1e-15)


def test_the_weights_that_travel_are_those_of_bert():
    explorer = AttentionExplorer()
    config = load_bert().model.config
    for sentence, data in zip(DEFAULT, explorer.data, strict=True):
        embeddings = extract_embeddings(sentence)
        length = len(embeddings.tokens[0])
        assert data["tokens"] == embeddings.tokens[0]
        assert data["shape"] == [6, 12, length, length]
        travelled = torch.tensor(unpack(data)).view(6, 12, length, length)
        for k, layer in enumerate(load_bert().model.encoder.layer):  # con la fórmula, paso a paso
            X = embeddings.hidden_states[k][0]
            Q, K = layer.attention.self.query(X), layer.attention.self.key(X)
            Q, K = (t.view(length, config.num_attention_heads, -1).transpose(0, 1) for t in (Q, K))
            weights = (Q @ K.transpose(-1, -2) / math.sqrt(Q.shape[-1])).softmax(-1)
            torch.testing.assert_close(travelled[k], weights, atol=1.2e-5, rtol=0)
    assert len(json.dumps(explorer.data)) < 60 * 1024, "lo que pesa en el cuaderno"


def test_its_text_says_its_state():
    assert repr(AttentionExplorer()) == (
        "Frases: «I gave the dog a bone because it was hungry» y «I gave the dog a bone because it "
        "was old»; capa 3; cabeza 1; posición 8; en la primera, «it» mira a «dog» (0.53) y a «bone» "
        "(0.22); en la segunda, «it» mira a «bone» (0.69) y a «dog» (0.21)."
    )
    explorer = AttentionExplorer(["The dog sat on the mat", "Hi"], query=6)
    assert "en la segunda, no hay token en esa posición" in repr(explorer)
    assert len(repr(AttentionExplorer("x" * 999))) < 250
    assert repr(AttentionExplorer("The cat sat")).startswith("Frase: «The cat sat»; capa 3;")


WRONG = {
    "": "está vacía", "   ": "está vacía", "\u200f\u202e": "ningún carácter visible",
    "\x00": "ningún carácter visible", "medio \ud83d": "carácter roto",
    LONG: "2502 tokens y 5000 caracteres, y aquí caben 64 tokens y 1000 caracteres",
    "x" * 5000: "3 tokens y 5000 caracteres", "a " * 63: "65 tokens",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG, ids=lambda text: ascii(text)[:12])
def test_wrong_sentences_are_refused(text):
    with pytest.raises(traitlets.TraitError, match=f"La frase.*{WRONG[text]}"):
        AttentionExplorer(text)
    explorer = AttentionExplorer()
    before = explorer.data
    send(explorer, "Hello", text if text.strip() else "\u200f")
    assert explorer.error.startswith("La segunda frase")
    send(explorer, text)
    assert explorer.error.startswith("La frase") and WRONG[text] in explorer.error
    assert explorer.sentences == DEFAULT
    assert explorer.data is before
    send(explorer, "Hello")
    assert (explorer.error, explorer.sentences) == ("", ["Hello"])


@pytest.mark.parametrize("value", [None, 3, [], ["a", "b", "c"], ["a", 3], b"a", {"a": 1}])
def test_what_is_not_a_sentence_is_refused(value):
    explorer = AttentionExplorer()
    for attempt in (AttentionExplorer, lambda value: setattr(explorer, "sentences", value)):
        with pytest.raises(traitlets.TraitError, match="una lista de una o dos frases"):
            attempt(value)
    assert explorer.sentences == DEFAULT


def test_losses_are_notes_and_not_stderr(recwarn, capsys):
    explorer = AttentionExplorer(["Hola 😀 niño", "Hello"])
    send(explorer, "Adiós 😀", '"><script>alert(1)</script>')
    first, second = explorer.data
    assert len(first["notes"]) == 2
    assert "[UNK]" in first["notes"][0]
    assert second["notes"] == []
    assert second["tokens"][1:6] == ['"', ">", "<", "script", ">"]
    assert len(recwarn) == 0
    assert capsys.readouterr() == ("", "")


def test_a_shorter_sentence_moves_the_query():
    explorer = AttentionExplorer(query=11, shown=1)
    send(explorer, "Hi")
    assert (explorer.query, explorer.shown) == (2, 0)  # ni esa posición ni la otra frase existen ya
    explorer.sentences = [*DEFAULT]  # sigue a [SEP]
    assert explorer.query == 11


@pytest.mark.parametrize("failure", [ModelUnavailableError("no está"), MemoryError("sin memoria")])
def test_a_failure_is_answered(monkeypatch, failure):
    explorer = AttentionExplorer()
    monkeypatch.setattr(typed, "extract_embeddings", mock.Mock(side_effect=failure))
    send(explorer, f"Nobody has read {type(failure).__name__}")
    assert explorer.error == f"No he podido calcular los pesos: {failure}"
    assert explorer.sentences == DEFAULT
    explorer.request = {"serial": 99}
    assert explorer.answered == 99
    monkeypatch.undo()
    send(explorer, "Hello")
    assert explorer.error == ""


def test_another_sentence_follows_the_same_token():
    explorer = AttentionExplorer()
    assert explorer.query == 8  # «it»
    send(explorer, "I gave a bone to the dog because it was hungry")
    assert explorer.data[0]["tokens"][explorer.query] == "it"
    send(explorer, "it said it was old")  # el más cercano, si hay varios
    assert explorer.query == 3
    send(explorer, "The cat")  # si ya no está, la misma posición, sin salirse
    assert explorer.query == 3


def test_what_rounds_to_zero_is_not_said():
    explorer = AttentionExplorer("I gave the dog a bone because it was hungry")
    explorer.layer, explorer.head, explorer.query = 0, 2, 11
    assert explorer.describe().endswith("«[SEP]» mira a «hungry» (1.00).")


# --- En un navegador ------------------------------------------------------------------------------

FLAT = """() => {
    const {layers, heads, matrix} = module.unpack(value);
    return Array.from({length: layers * heads}, (_, n) => matrix(Math.floor(n / heads), n % heads)).flat(2);
}"""


def test_javascript_computes_the_same(lab):
    data = AttentionExplorer().data[0]
    assert in_js(lab, "attention", f"({FLAT})()", data) == unpack(data)
    agrees(lab, "attention", compute, states(100), abs=1e-12)


def test_it_answers_to_the_hand_and_to_the_keys(lab, shown):
    explorer, page = shown("AttentionExplorer()"), lab.page
    says(page, "En la primera, «it» mira a «dog» (0.53) y a «bone» (0.22). En la segunda, «it»")
    change = explorer.get_by_role("row", name="segunda − primera").get_by_role("cell")
    assert change.nth(6).inner_text() == "+0.47"

    # El ratón: pasar por un token lo lee; al salir, vuelve el elegido; con un clic se queda.
    group = explorer.get_by_role("radiogroup").first
    group.get_by_role("radio", name="bone, posición 6").hover()
    says(page, "En la primera, «bone» mira")
    explorer.get_by_role("button", name="Calcular").hover()
    says(page, "En la primera, «it» mira")
    group.get_by_role("radio", name="was, posición 9").click()
    says(page, "En la primera, «was» mira")

    # El teclado: de token en token, sin que JupyterLab se entere.
    active = page.evaluate("lesson.content.activeCellIndex")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    says(page, "En la primera, «[SEP]» mira")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    says(page, "En la primera, «i» mira")
    assert page.evaluate("lesson.content.activeCellIndex") == active
    assert page.evaluate("document.activeElement.getAttribute('aria-checked')") == "true"

    # La matriz: la fila de «gave» es la tercera.
    grid = explorer.get_by_role("img").first.bounding_box()
    row = grid["height"] * (1 - 9.5 / 12 * (1 - 78 / 320))
    page.mouse.click(grid["x"] + grid["width"] / 2, grid["y"] + row)
    page.mouse.move(0, 0)
    says(page, "En la primera, «gave» mira")

    # Capa y cabeza, con los desplegables y con las miniaturas.
    explorer.get_by_label("Capa", exact=True).select_option("5")
    explorer.get_by_label("Cabeza", exact=True).select_option("2")
    assert explorer.get_by_role("button", name="cabeza 2").get_attribute("aria-pressed") == "true"
    explorer.get_by_role("button", name="cabeza 11").click()
    assert explorer.get_by_label("Cabeza", exact=True).input_value() == "11"
    assert lab.prints("print(explorer.layer, explorer.head, explorer.query)", "5 11 2")

    # Y Python también manda.
    lab.ask("explorer.layer, explorer.head, explorer.query = 3, 1, 8")
    says(page, "En la primera, «it» mira a «dog» (0.53)")


@pytest.mark.lenta
def test_it_asks_the_kernel_for_sentences(lab, shown):
    explorer, page = shown("AttentionExplorer()"), lab.page
    first = explorer.get_by_label("Frase", exact=True)
    second = explorer.get_by_label("Otra frase (opcional)")
    error, tokens = explorer.get_by_role("alert"), explorer.get_by_role("radio")

    def send(one, two=""):
        first.fill(one)
        second.fill(two)
        before = int(lab.ask("print(explorer.answered)"))
        second.press("Enter")
        page.wait_for_function("document.querySelector('.exp-texts + p').innerText.trim() === 'Calcular'")
        assert int(lab.ask("print(explorer.answered)")) == before + 1

    send("The cat sat down")
    assert tokens.count() == 6
    assert explorer.locator("figure").count() == 1
    assert explorer.get_by_role("table").count() == 1  # la que no se ve
    for wrong, said in {"": "está vacía", LONG: "2502 tokens", "\u200f": "visible"}.items():
        send(wrong)
        assert said in error.inner_text()
        assert first.input_value() == wrong and tokens.count() == 6  # sigue el dibujo anterior
    send(wrong)  # el mismo error otra vez tampoco lo deja esperando
    page.evaluate("() => { window.hacked = 0; window.alert = () => { window.hacked = 1; }; }")
    send("<img src=x onerror=alert(1)>", '"><script>alert(1)</script> 😀 y medio \ud83d')
    assert error.is_hidden()
    assert "[UNK]" in explorer.locator(".exp-note").last.inner_text()
    assert explorer.locator("img, script").count() == 0
    assert "<img src=x onerror=alert(1)>" in explorer.locator("figcaption").first.inner_text()
    shown = explorer.inner_text()
    send(wrong)
    assert not explorer.locator(".exp-note").last.is_visible()  # era de la que había
    send("\u202eI gave the dog")  # una marca que daría la vuelta a la frase se ve, y no actúa
    assert r"\u202eI gave" in explorer.locator("figcaption").inner_text()
    assert "\u202e" not in explorer.inner_text() != shown
    send("<img src=x onerror=alert(1)>", '"><script>alert(1)</script> 😀 y medio \ud83d')
    numbers = explorer.get_by_role("region", name="La fila, en números").inner_text()
    assert "no se pueden restar" in numbers and page.evaluate("window.hacked") == 0
