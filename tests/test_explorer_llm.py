"""El explorador del LLM: sus cuentas, lo que lee, sus límites y lo que hace en un navegador."""

import json
import math
from functools import cache
from unittest import mock

import pytest
import torch
import traitlets
from helpers_explorers import CUT, in_js, says
from helpers_explorers import ask as ask_for

from course_lib import load_llama
from course_lib.explorers import llm
from course_lib.explorers.llm import LlmExplorer, Reader, pack
from course_lib.model_files import ModelUnavailableError

TEXT = "The capital of France is"
VOCABULARY = 600


def states(count):
    """Puntuaciones al azar, siempre las mismas, de las que reparten mucho y de las que poco."""
    draw = torch.Generator().manual_seed(0)
    number = lambda: torch.rand((), generator=draw).item()  # noqa: E731
    for n in range(count):
        scores = torch.randn(VOCABULARY, generator=draw).double() * (0.2 + 4 * number())
        temperature = 0 if n % 9 == 8 else round(0.1 + 1.9 * number(), 1)
        top_k = None if number() < 0.4 else int(1 + 40 * number())
        top_p = None if number() < 0.3 else round(0.05 + 0.9 * number(), 2)
        yield scores, temperature, top_k, top_p


def by_hand(scores, temperature, top_k, top_p):
    """Lo mismo, con listas: lo que queda, en su orden, y lo que sumaba lo demás."""
    scores = sorted(scores.tolist(), reverse=True)
    powers = [math.exp((x - scores[0]) / (temperature or 1)) for x in scores]
    total = math.fsum(powers)
    before = [power / total for power in powers]
    kept = before[: 1 if temperature == 0 else top_k]
    whole, taken = math.fsum(kept), 0.0
    for n, chance in enumerate(kept):
        if top_p is not None and taken >= top_p * whole:
            kept = kept[:n]
            break
        taken += chance
    left = math.fsum(kept)
    return before, [chance / left for chance in kept], 1 - left


# --- Lo que lee -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    return load_llama()


def states_after_each_layer(model, ids):
    """Lo que sale de cada capa, con el modelo entero y sin caché."""
    states = []
    hooks = [
        layer.register_forward_hook(lambda _layer, _inputs, output: states.append(output[0]))
        for layer in model.layers
    ]
    with torch.no_grad():
        logits, _ = model(torch.tensor([ids]))
    for hook in hooks:
        hook.remove()
    return states, logits[0, -1]


def test_it_reads_with_the_whole_model_layer_by_layer(model):
    model, tokenizer = model
    ids = tokenizer.encode(TEXT).ids
    states, logits = states_after_each_layer(model, ids)
    explorer = LlmExplorer(TEXT)
    scores, _ = explorer._read(TEXT, [])
    torch.testing.assert_close(scores, logits.double(), atol=1e-4, rtol=0)
    data = explorer.data
    final = logits.argmax().item()
    assert data["tokens"] == ["The", "␣capital", "␣of", "␣France", "␣is"]
    assert len(data["ids"]) == len(states) == 30
    for n, state in enumerate(states):
        with torch.no_grad():
            chances = model.output_projection(model.normalization(state))[0, -1].softmax(-1)
        assert data["chances"][n] == pytest.approx(chances.topk(8).values.tolist(), abs=1e-4)
        assert chances[data["ids"][n]].tolist() == pytest.approx(data["chances"][n], abs=1e-4)
        assert data["finals"][n] == pytest.approx(chances[final].item(), abs=1e-4)
        assert data["ranks"][n] == pytest.approx((chances > chances[final]).sum().item() + 1, abs=1)
    assert data["names"][str(final)] == "␣Paris"


def test_one_token_more_reads_only_that_token(model, monkeypatch):
    reader = Reader(*model)
    ids = reader.tokenizer.encode(TEXT).ids
    lengths = []
    first = reader.model.layers[0]
    hook = first.register_forward_hook(lambda _, inputs, __: lengths.append(inputs[0].shape[1]))
    paths = [[], [7042], [7042, 30], [260], [260, 99]]  # se escriben dos, se deshacen y otros dos
    for path in paths:
        reader.read((*ids, *path))
    assert lengths == [5, 1, 1, 1, 1]
    reader.read((*ids, 7042))  # ya se sabe
    reader.read(tuple(reader.tokenizer.encode("Another thing").ids))
    hook.remove()
    assert lengths == [5, 1, 1, 1, 1, 2]
    for path in paths:
        whole, _ = Reader(*model).read((*ids, *path))
        torch.testing.assert_close(reader.read((*ids, *path))[0], whole, atol=1e-4, rtol=0)
    reader.read((*ids, 260, 99, 7))
    monkeypatch.setattr(reader.model.layers[20], "forward", mock.Mock(side_effect=MemoryError))  # a medias
    with pytest.raises(MemoryError):
        reader.read((ids[0], 5))  # de lo guardado, ya ha quitado lo que no es común
    monkeypatch.undo()
    whole, _ = Reader(*model).read((*ids, 260, 99, 1))
    torch.testing.assert_close(reader.read((*ids, 260, 99, 1))[0], whole, atol=1e-4, rtol=0)


def test_what_is_saved_is_small_and_names_are_seen():
    explorer = LlmExplorer("a\tb\n\n  c 😀 <b>\xa0" + "é" * 60)
    assert len(json.dumps(explorer.data, ensure_ascii=False).encode()) < 20_000
    read = "".join(explorer.data["tokens"])
    assert read.startswith("a\\tb↵↵␣␣c␣")
    assert "<b>\\xa0é" in read
    assert all(name.isprintable() for name in explorer.data["names"].values())


# --- Su estado ------------------------------------------------------------------------------------


def ask(explorer, text=None, **asked):
    """Pide detrás de ese texto o, si no, del que ya lee."""
    ask_for(explorer, text=explorer.text if text is None else text, **asked)


def test_its_text_says_its_state():
    explorer = LlmExplorer()
    said = "LLM: tras «The␣capital␣of␣France␣is», en la capa"
    assert repr(explorer) == (
        f"{said} 29 de 0 a 29: «␣Paris» (0.77), «␣the» (0.06), «␣London» (0.01); en la última, "
        "T = 1, top-k = no y top-p = no: quedan 49152."
    )
    explorer.temperature, explorer.top_k, explorer.top_p = 0.7, 5, 0.95
    assert repr(explorer) == (
        f"{said} 29 de 0 a 29: «␣Paris» (1.00); en la última, T = 0.7, top-k = 5 y top-p = 0.95: quedan 1."
    )
    explorer.layer = 12
    assert repr(explorer).startswith(f"{said} 12 de 0 a 29: «␣» (0.36), «.» (0.33)")
    assert len(repr(LlmExplorer("word " * 100))) < 250


WRONG = {
    "": "está vacío",
    "a " * 5000: "tiene 5001 tokens y aquí caben 200. Escribe menos.",
    "medio \ud83d": "carácter roto",
}


@pytest.mark.parametrize("text", WRONG, ids=lambda text: ascii(text)[:12])
def test_wrong_texts_are_refused_and_nothing_is_lost(text):
    with pytest.raises(traitlets.TraitError, match=f"LlmExplorer: (el texto|la frase).*{WRONG[text]}"):
        LlmExplorer(text)
    explorer = LlmExplorer()
    ask(explorer, written=[7042])
    before = explorer.data
    ask(explorer, text)
    assert WRONG[text] in explorer.error
    assert "limit" not in explorer.error
    assert (explorer.text, explorer.written, explorer.data) == (TEXT, [7042], before)
    ask(explorer, "Hello")
    assert (explorer.error, explorer.text, explorer.written) == ("", "Hello", [])


@pytest.mark.parametrize("value", [None, 3, b"a", ["a"]])
def test_what_is_not_a_text_is_refused(value):
    with pytest.raises(traitlets.TraitError, match="LlmExplorer: text = .* un texto"):
        LlmExplorer(value)


def test_it_writes_undoes_and_starts_again():
    explorer = LlmExplorer()
    paris, end = explorer.data["words"][0], 2
    ask(explorer, written=[paris])
    assert explorer.data["tokens"][-1] == "␣Paris"
    ask(explorer, written=[paris, end])
    assert explorer.data["tokens"][-1] == "<|im_end|>"
    ask(explorer, written=[paris])
    assert explorer.data["tokens"][-1] == "␣Paris"
    assert explorer.data["names"][str(explorer.data["words"][0])] == "."
    ask(explorer)  # lo mismo, desde el principio
    assert (explorer.written, len(explorer.data["tokens"])) == ([], 5)
    ask(explorer, written=[paris] * 100)
    for wrong in ([paris] * 101, [-1], [10**6], ["a"], [True]):
        ask(explorer, written=wrong)
        assert "detrás caben 100 tokens" in explorer.error
        assert len(explorer.written) == 100
    explorer.text = "Hello"
    assert (explorer.written, explorer.data["tokens"], explorer.error) == ([], ["Hello"], "")
    assert LlmExplorer(TEXT, written=[paris]).data["tokens"][-1] == "␣Paris"


@pytest.mark.lenta
def test_it_draws_with_those_probabilities(monkeypatch):
    monkeypatch.setattr(Reader, "read", cache(Reader.read))  # sortea 400 veces; lee cada texto una
    explorer = LlmExplorer("Hello, my name is", temperature=1.3, top_k=4, top_p=0.9)
    scores, _ = explorer._read(explorer.text, [])
    _, kept, _ = by_hand(scores, 1.3, 4, 0.9)
    assert len(kept) == 4
    found = []
    for _ in range(400):
        ask(explorer, written=[], draw=True)
        found += explorer.written
    words = explorer._read(explorer.text, [])[1]["words"]
    assert set(found) == set(words[:4])
    for word, chance in zip(words, kept):  # cuatro desviaciones típicas
        assert found.count(word) / 400 == pytest.approx(chance, abs=4 * (chance / 400) ** 0.5)
    explorer.temperature = 0
    ask(explorer, written=[], draw=True)
    assert explorer.written == words[:1]
    state = torch.get_rng_state()
    ask(explorer, written=[], draw=True)
    assert torch.equal(torch.get_rng_state(), state)  # no gasta los números al azar de nadie


@pytest.mark.parametrize("failure", [ModelUnavailableError("Falta el LLM"), MemoryError("no cabe")])
def test_a_failure_is_answered(monkeypatch, failure):
    explorer = LlmExplorer()
    monkeypatch.setattr(llm, "_reader", mock.Mock(side_effect=failure))
    ask(explorer, "Hello")
    assert explorer.error == f"No he podido leerlo: {failure}"
    assert explorer.text == TEXT
    with pytest.raises(type(failure), match=str(failure)):
        LlmExplorer()
    monkeypatch.undo()
    ask(explorer, "Hello")
    assert explorer.error == ""


# --- En un navegador ------------------------------------------------------------------------------


def test_javascript_computes_the_same(lab):
    """También cuando el corte cae entre los que no viajan, que van en un histograma."""
    cases = list(states(300))
    packed = [[pack(scores[None].repeat(2, 1), str), *rest] for scores, *rest in cases]
    answers = in_js(lab, "llm", "value.map(state => module.compute(...state))", packed)
    beyond = 0
    for (scores, temperature, *cuts), theirs in zip(cases, answers, strict=True):
        before, kept, lost = by_hand(scores, temperature, *cuts)
        beyond += 40 < len(kept) < VOCABULARY
        assert theirs["before"] == pytest.approx(before[:40], abs=5e-4)
        assert theirs["after"] == pytest.approx((kept + [0] * 40)[:40], abs=5e-4)
        assert theirs["kept"] == pytest.approx(len(kept), abs=int(len(kept) > 40))
        assert theirs["lost"] == pytest.approx(lost, abs=3e-3)
    assert beyond > 10


FOCUSED = "document.activeElement.textContent"


def test_it_answers_to_the_hand_and_to_the_keys(lab, shown):
    explorer, page = shown("LlmExplorer()"), lab.page
    bars = explorer.get_by_role("group", name="Los tokens que pueden seguir").get_by_role("button")
    read = explorer.locator(".l-read span span")
    says(page, "Lo más probable es que siga «␣Paris» (0.77), y después «␣the» (0.06).")
    assert bars.count() == 8
    assert explorer.locator("div.l-bar").inner_text().split("\n")[0] == "otros 49\xa0144"

    # Un clic escribe; deshacer lo deshace; y con las teclas, lo mismo.
    bars.first.click()
    says(page, "Lo más probable es que siga «.»")
    assert read.all_inner_texts()[-1] == "␣Paris"
    assert read.last.get_attribute("class") == "l-new"
    undo = explorer.get_by_role("button", name="Deshacer el último")
    undo.click()
    says(page, "«␣Paris» (0.77)")
    undo.click(force=True)  # no hay nada que deshacer
    active = page.evaluate("lesson.content.activeCellIndex")
    bars.first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate(FOCUSED).startswith("␣the")
    assert [bars.nth(i).get_attribute("tabindex") for i in range(3)] == ["-1", "0", "-1"]
    page.keyboard.press("Enter")
    says(page, "Lo más probable es que siga «␣capital»")
    assert read.all_inner_texts()[-1] == "␣the"
    page.keyboard.press("End")
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    says(page, "«␣of»")
    assert read.all_inner_texts()[-2:] == ["␣the", "␣capital"]
    assert page.evaluate("lesson.content.activeCellIndex") == active
    assert lab.prints("print(len(explorer.written))", "2")

    # «Calcular» empieza otra vez desde el principio.
    explorer.get_by_role("button", name="Calcular").click()
    says(page, "«␣Paris» (0.77)")

    # La temperatura y los cortes: lo que queda fuera se dice.
    heat, top_k, top_p = (explorer.get_by_label(x) for x in ("temperatura T", "top-k", "top-p"))
    top_k.press("Home")
    says(page, "Con top-k = 1, solo puede salir «␣Paris»: lo que queda fuera sumaba 0.23.")
    assert bars.first.inner_text().split("\n")[-1] == "0.77 → 1"
    assert bars.nth(1).inner_text().split("\n")[-1] == "0.06 → fuera"
    assert "l-out" in bars.nth(1).get_attribute("class")
    top_k.press("End")
    for _ in range(3):
        top_p.press("ArrowLeft")
    says(page, "Con top-p = 0.85, pueden salir")
    heat.press("Home")
    says(page, "Con T = 0.0 no hay sorteo: se escribe siempre el mejor, «␣Paris» (con T = 1, 0.77).")
    assert lab.prints("print(explorer.temperature, explorer.top_k, explorer.top_p)", "0.0 None 0.85")
    explorer.get_by_role("button", name="Sortear uno").click()
    says(page, "«.»")
    assert read.all_inner_texts()[-1] == "␣Paris"
    undo.click()
    says(page, "«␣Paris»")

    # Las capas, con la barra y con sus casillas.
    explorer.get_by_role("button", name="capa 24").click()
    says(page, "Si el modelo acabara en la capa 24, lo más probable sería «␣the» (0.40).")
    says(page, "El mejor de la última, «␣Paris», estaría en el puesto")
    assert bars.locator("visible=true").count() == 8
    assert heat.is_disabled()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    says(page, "capa 25")
    explorer.get_by_label("Tras la capa").press("End")
    says(page, "Con T = 0.0")
    explorer.get_by_role("button", name="Ver los 40 mejores").click()
    assert bars.locator("visible=true").count() == 40
    assert explorer.locator("div.l-bar").inner_text().split("\n")[0] == "otros 49\xa0112"

    # Y Python también manda.
    lab.ask("explorer.temperature, explorer.top_p, explorer.layer = 1.5, None, 29")
    says(page, "Con T = 1.5, lo más probable es «␣Paris»")


@pytest.mark.lenta
def test_it_asks_the_kernel_for_texts(lab, shown):
    explorer, page = shown("LlmExplorer()"), lab.page
    box, error = explorer.get_by_label("Principio del texto"), explorer.get_by_role("alert")
    read = explorer.locator(".l-read span span")

    def send(text):
        box.fill(text)
        before = int(lab.ask("print(explorer.answered)"))
        box.press("Enter")
        page.wait_for_function("!document.querySelector('.exp-sentence > span').textContent")
        assert int(lab.ask("print(explorer.answered)")) == before + 1

    send("Two plus two equals")
    assert read.all_inner_texts() == ["Two", "␣plus", "␣two", "␣equals"]
    for wrong, said in {"": "está vacío", "a " * 5000: "5001 tokens y aquí caben 200."}.items():
        send(wrong)
        assert said in error.inner_text()
        assert "Sigue a la vista lo anterior" in error.inner_text()
        assert box.input_value() == wrong
        assert read.count() == 4
        explorer.get_by_role("button", name="capa 3", exact=False).first.click()  # sigue vivo
    page.evaluate("() => { window.hacked = 0; window.alert = () => { window.hacked = 1; }; }")
    send('<img src=x onerror=alert(1)> "><script>alert(1)</script>')
    assert error.is_hidden()
    assert explorer.locator("img, script").count() == 0
    assert "".join(read.all_inner_texts()).startswith("<img␣src=x␣onerror=alert(1)>")
    assert page.evaluate("window.hacked") == 0

    # Un salto de línea se escribe como en Python, y en la casilla es ↵.
    box.fill("you")
    box.press("Home")
    box.press_sequentially(r"Hi\n")
    assert box.input_value() == "Hi↵you"
    assert box.evaluate("node => node.selectionStart") == 3
    send(r"Hi\nyou")
    assert lab.prints("print(repr(explorer.text))", r"'Hi\nyou'")
    assert read.all_inner_texts() == ["Hi", "↵", "you"]

    # Lo que se está escribiendo no se pierde al pulsar una barra, y dos clics seguidos escriben uno.
    box.fill("otra cosa")
    explorer.locator("button.l-bar").first.dblclick()
    page.wait_for_function("document.querySelectorAll('.l-read span span').length === 4")
    assert box.input_value() == "otra cosa"
    assert lab.prints("print(len(explorer.written))", "1")


@pytest.mark.parametrize("width", [320, 1920, *(pytest.param(n, marks=pytest.mark.lenta) for n in (390, 640))])
def test_nothing_is_cut_with_the_longest_and_the_strangest(alone, width):
    texts = "word " * 190, "https://" + "x" * 300, " " * 200 + "\n\n", "<b>&amp;</b> \u202e é 😀"
    made = [LlmExplorer(text, top_p=0.5) for text in texts]
    page = alone(*made, viewport={"width": width, "height": 800})
    page.wait_for_timeout(300)
    assert page.locator(".exp").count() == len(texts)
    assert page.evaluate(CUT) == []
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert page.locator(".l-read").first.inner_text().startswith("Lee 191 tokens: … ")
