"""El explorador de atención cruzada: sus cuentas, sus límites y lo que hace en un navegador."""

import contextlib
import itertools

import pytest
import torch
import traitlets
from helpers_explorers import CUT, agrees, ask, in_js, says
from playwright.sync_api import TimeoutError as PlaywrightTimeout
from playwright.sync_api import expect

from course_lib.explorers.cross import CrossAttentionExplorer, compute, looks
from course_lib.translator import load_translator

ORIGIN, SEEN, PREDICTED = list("abcde"), ["<inicio>", "x", "y"], ["x", "y", "<fin>"]


def random_weights(heads=2, target=3, origin=5, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.softmax(2 * torch.randn(heads, target, origin, generator=generator), dim=-1)


def explorer(weights=None, **state):
    weights = random_weights() if weights is None else weights
    return CrossAttentionExplorer(ORIGIN, SEEN, PREDICTED, weights, **state)


@pytest.mark.parametrize("head", [-1, 0, 1])
@pytest.mark.parametrize("step", [0, 1, 2])
def test_compute(head, step):
    weights = random_weights()
    rows = weights[:, step] if head < 0 else weights[head : head + 1, step]
    expected = [sum(row[j].item() for row in rows) / len(rows) for j in range(5)]
    result = compute(weights, head, step)
    assert result["row"] == pytest.approx(expected)
    assert expected[result["best"]] == max(expected)
    assert result["even"] == 1 / 5


def test_a_batch_of_one_sentence_is_accepted():
    assert explorer(random_weights()[None]).describe() == explorer().describe()


def test_its_text_says_its_state():
    weights = torch.tensor([[[0.7, 0.3]], [[0.1, 0.9]]])
    built = CrossAttentionExplorer(["dog", "bone"], ["<inicio>"], ["perro"], weights, note="Ojo.")
    assert repr(built) == (
        "Atención cruzada, paso 1 de 1, media de las cabezas: entra «<inicio>» y, para "
        "predecir «perro», mira sobre todo a «bone» (0.60; a partes iguales, 0.50). Ojo."
    )


@pytest.mark.parametrize(("row", "words", "even"), [
    ([0.9, 0.1], "mira sobre todo a «a» (0.90", "0.50"),
    ([0.31, 0.09, 0.2, 0.2, 0.2], "lo que más mira es «a» (0.31", "0.20"),
    ([0.5, 0.25, 0.25], "mira sobre todo a «a» (0.50", "0.33"),
    ([0.4, 0.4, 0.2], "lo que más mira son «a» y «b» (0.40 cada uno", "0.33"),
    ([0.302, 0.3, 0.298, 0.1], "lo que más mira son «a», «b» y «c» (0.30 cada uno", "0.25"),
    # Casi iguales: nadie se destaca, aunque uno sea el mayor.
    ([0.22, 0.2, 0.19, 0.2, 0.19], "mira casi por igual a todos; a «a», apenas más (0.22", "0.20"),
    ([0.23, 0.23, 0.18, 0.18, 0.18], "mira casi por igual a todos; a «a» y «b», apenas más (0.23 cada uno", "0.20"),
    ([0.21, 0.21, 0.21, 0.21, 0.161], "mira casi por igual a todos; a 4 tokens, apenas más (0.21 cada uno", "0.20"),
    ([0.25] * 4, "mira casi por igual a todos (0.25 cada uno", "0.25"),
    # El mayor se aleja poco, pero hay a quien no se mira: no es «por igual a todos».
    ([0.24, 0.24, 0.24, 0.24, 0.04], "lo que más mira son 4 tokens (0.24 cada uno", "0.20"),
    ([0.1] * 9 + [0.05, 0.05], "lo que más mira son 9 tokens (0.10 cada uno", "0.09"),
    ([1.0], "mira sobre todo a «a» (1.00", "1.00"),
])  # fmt: skip
def test_it_stresses_only_what_stands_out(row, words, even):
    said = looks(compute([[row]], 0, 0), "abcdefghijk")
    assert said == f"{words}; a partes iguales, {even})"


@pytest.mark.parametrize(("weights", "message"), [
    (torch.ones(2, 3, 4) / 4, r"forma \(2, 3, 4\)"),
    (torch.ones(2, 2, 3, 5) / 5, r"forma \(2, 2, 3, 5\)"),
    (torch.ones(3, 5) / 5, r"forma \(3, 5\)"),
    (torch.randn(2, 3, 5), "sumar 1"),
    (torch.zeros(2, 3, 5), "sumar 1"),
    (torch.full((2, 3, 5), torch.nan), "sumar 1"),
    (torch.ones(0, 3, 5), "sumar 1"),
    (torch.ones(1000, 3, 5) / 5, "como mucho"),
])  # fmt: skip
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(traitlets.TraitError, match=message):
        explorer(weights)


# --- Otra frase -----------------------------------------------------------------------------------


def test_another_sentence_is_translated():
    built = explorer(random_weights(6), step=2, head=5, sentence="I gave my dog a bone.")
    assert built.describe() == explorer(random_weights(6), step=2, head=5).describe()
    ask(built, sentence="i sent my brother a letter.")
    expected = load_translator().translate("I sent my brother a letter.")
    assert built.source_tokens == expected.source_tokens
    assert built.seen == ["<s>", *built.predicted[:-1]]
    assert built.predicted == expected.target_tokens
    weights = expected.cross_attention[-1]
    torch.testing.assert_close(torch.tensor(built.weights), weights, atol=5.1e-5, rtol=0)
    assert (built.sentence, built.step, built.head) == ("i sent my brother a letter.", 0, 3)
    assert (built.error, built.notes) == ("", [])
    built.step = built.predicted.index("carta")
    assert "mira sobre todo a «letter»" in built.describe()


def test_the_translator_s_warnings_are_notes(recwarn, capsys):
    built = explorer(sentence="Dog.")
    ask(built, sentence="the <b>otter</b> is here 😀")
    assert built.notes == [
        "«<b>», «</b>»: las etiquetas no se leen.",
        "el modelo no conoce «😀»: no lo ha leído.",
        "el modelo no conoce «otter»: puede habérselo inventado.",
    ]
    assert built.error == ""
    ask(built, sentence="The dog is here.")
    assert built.notes == []
    assert len(recwarn) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("sentence", "message"), [
    (" ", "la frase está vacía. Escribe una frase en inglés."),
    ("😀", "en '😀' no hay ninguna palabra que el modelo pueda leer. Conoce las letras"),
    ("dog " * 126, "la frase tiene 128 tokens y caben 127. Traduce una frase cada vez."),
    ("dog " * 38, "la frase tiene 40 tokens y su traducción, 90, y aquí caben 40. Escribe una"),
    (3, "algo ha fallado: translate: la frase es int"),
])  # fmt: skip
def test_what_cannot_be_translated_is_refused(sentence, message):
    built = explorer(sentence="Dog.", step=1)
    before = built.get_state(["sentence", "source_tokens", "seen", "predicted", "weights", "step"])
    ask(built, sentence=sentence)
    assert built.error.startswith(message)
    assert built.get_state(list(before)) == before
    ask(built)
    assert built.error.startswith("algo ha fallado")
    ask(built, sentence="The dog slept.")
    assert (built.error, built.sentence) == ("", "The dog slept.")


# --- En un navegador ------------------------------------------------------------------------------


def test_javascript_computes_the_same(lab):
    weights = random_weights(7, 11, 9).double().tolist()
    states = itertools.product(range(-1, 7), range(11))
    agrees(lab, "cross", compute, [[weights, *state] for state in states], abs=1e-12)


@pytest.mark.parametrize("origin", [1, 2, 3, 5, 8, 12])
def test_javascript_says_the_same(lab, origin):
    generator = torch.Generator().manual_seed(origin)
    sharpness = torch.linspace(0, 2, 120)[:, None]
    rows = torch.softmax(sharpness * torch.randn(120, origin, generator=generator), dim=-1)
    weights = [[[round(x, 4) for x in row] for row in rows.double().tolist()]]
    code = "value[0].map((_, n) => module.looks(module.compute(value, 0, n), [...'abcdefghijkl']))"
    expected = [looks(compute(weights, 0, step), "abcdefghijkl") for step in range(120)]
    assert in_js(lab, "cross", code, weights) == expected


def test_it_answers_to_the_hand_and_to_the_keys(lab, shown):
    hostile = "['<img src=x onerror=alert(1)>', 'dog', '🦴'], ['<inicio>', 'el'], ['el', 'perro']"
    weights = [[[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]], [[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]]
    box, page = shown(f"CrossAttentionExplorer({hostile}, {weights}, head=0)"), lab.page
    told = "Paso 1: entra «<inicio>» y, para predecir «el», mira sobre todo a «<img src=x onerror=alert"
    says(page, told + "(1)>» (0.70")
    assert box.locator("img").count() == 0
    box.get_by_role("button", name="siguiente →").click()
    says(page, "Paso 2: entra «el» y, para predecir «perro», mira sobre todo a «dog» (0.80")
    box.get_by_role("slider", name="paso").focus()
    page.keyboard.press("ArrowLeft")
    says(page, "Paso 1")
    box.get_by_role("combobox", name="pesos de").select_option("cabeza 1")
    says(page, "a «🦴» (0.70")
    box.get_by_role("combobox", name="pesos de").select_option("media")
    says(page, "(0.40")


def test_the_ends_keep_the_focus_and_a_word_shows_only_its_arcs(alone):
    """Al llegar al final con Intro, el foco se queda; y una palabra tocada se queda sola."""
    weights = torch.full((1, 4, 12), 0.9 / 11)
    weights[:, :, 4] = 0.1  # casi por igual
    weights[:, 2] = torch.eye(12)[4]
    origin = "[CLS] i gave the dog a bone because it was hungry [SEP]".split()
    predicted = ["¡", "pe", "##rro", "</s>"]
    built = CrossAttentionExplorer(origin, ["<s>", *predicted[:-1]], predicted, weights)
    page = alone(built, viewport={"width": 800, "height": 900})
    box, said, arcs = (page.locator(name) for name in (".exp", ".exp-say", ".c-pair path"))
    wrote, read = box.get_by_role("radiogroup").all()
    back, forward = (box.get_by_role("button", name=name) for name in ("← anterior", "siguiente →"))
    focused, bold = "document.activeElement.textContent", read.locator("[style*='weight: 700']")

    expect(box.locator(".c-text")).to_have_text("¡perro")
    assert bold.count() == 0
    whole = arcs.count()
    forward.focus()
    for _ in range(2):
        page.keyboard.press("Enter")
    expect(said).to_contain_text("Paso 3: entra «pe» y, para predecir «##rro», mira sobre todo a «dog»")
    assert (bold.all_text_contents(), page.evaluate(focused)) == (["dog1.00"], "siguiente →")
    for _ in range(3):  # uno llega al final; los demás no hacen nada
        page.keyboard.press("Enter")
    expect(said).to_contain_text("Paso 4")
    assert (page.evaluate(focused), forward.is_disabled()) == ("siguiente →", True)
    assert arcs.count() == whole

    wrote.get_by_role("radio").last.focus()
    page.keyboard.press("ArrowLeft")
    expect(said).to_contain_text("Paso 3")
    assert (page.evaluate("models[0].get('step')"), arcs.count()) == (2, 1)
    read.get_by_role("radio", name="dog, posición 4").hover()
    expect(said).to_have_text("«dog»: el paso que más lo mira es el 3, para predecir «##rro» (1.00).")
    assert arcs.count() == 4
    page.mouse.move(0, 0)  # vuelve a la que tiene el foco
    expect(said).to_contain_text("Paso 3")
    page.keyboard.press("Home")
    back.focus()
    expect(said).to_contain_text("Paso 1")
    assert (arcs.count(), back.is_disabled()) == (whole, True)

    for width in (800, 390):
        page.set_viewport_size({"width": width, "height": 900})
        sizes = "all => all.map(node => parseFloat(getComputedStyle(node).fontSize))"
        assert min(box.locator(".c-pair *:not(path)").evaluate_all(sizes)) >= 11
        with contextlib.suppress(PlaywrightTimeout):  # los arcos se vuelven a dibujar enseguida
            page.wait_for_function(f"!({CUT})().length", timeout=5_000)
        assert page.evaluate(CUT) == []


def test_another_sentence_is_written(lab, shown):
    """Con Intro y con el botón; lo que no sirve se dice, y lo de antes sigue a la vista."""
    cross = shown(
        "from course_lib import load_translator",
        "one = load_translator().translate('I gave my dog a bone.')",
        "CrossAttentionExplorer(one.source_tokens, one.seen_tokens, one.target_tokens, "
        "one.cross_attention[-1], step=3, head=2, sentence=one.source)",
    )
    page, box = lab.page, cross.get_by_label("Frase")
    send = cross.get_by_role("button", name="Calcular")
    alert, notes = cross.get_by_role("alert"), cross.locator(".exp-asks .exp-note")
    assert box.input_value() == "I gave my dog a bone."

    says(page, "Paso 4")
    box.fill("dog " * 38)
    box.press("Enter")
    alert.wait_for()
    assert "No se ha podido: la frase tiene 40 tokens y su traducción, 90" in alert.inner_text()
    says(page, "Paso 4: entra «a» y, para predecir «mi»")

    # Se lee desde el primer paso, con la misma cabeza, y los números son los de la frase nueva.
    active = page.evaluate("lesson.content.activeCellIndex")
    box.fill("I sent my brother a <b>letter</b>.")
    box.press("Enter")
    notes.wait_for()
    assert notes.inner_text() == "Aviso: «<b>», «</b>»: las etiquetas no se leen."
    assert alert.is_hidden()
    assert cross.locator("b").count() == 0
    assert page.evaluate("document.activeElement === document.querySelector('.exp-cross input')")
    assert page.evaluate("lesson.content.activeCellIndex") == active
    expected = load_translator().translate("I sent my brother a letter.")
    first = compute(expected.cross_attention[-1], 2, 0)
    says(page, f"Paso 1: entra «<s>» y, para predecir «{expected.target_tokens[0]}», ")
    says(page, looks(first, expected.source_tokens))
    chosen = cross.get_by_label("pesos de", exact=True)
    assert chosen.input_value() == "3"  # la cabeza 2, tras la media
    step = expected.target_tokens.index("carta")
    bar = cross.get_by_role("slider", name="paso")
    assert bar.get_attribute("max") == str(len(expected.target_tokens) - 1)
    bar.focus()
    for _ in range(step):
        page.keyboard.press("ArrowRight")
    says(page, "para predecir «carta», mira sobre todo a «letter»")
    assert lab.prints("print(explorer.step, explorer.head)", f"{step} 2")

    # Con las mismas palabras los pesos son los mismos, y el aviso se va.
    box.fill("I sent my brother a letter.")
    send.click()
    notes.wait_for(state="detached")
    says(page, "Paso 1")


def test_without_a_sentence_there_is_no_box(alone):
    boxes = alone(explorer(), explorer(sentence="Dog.")).locator(".exp").all()
    assert [one.locator("input[type=text]").count() for one in boxes] == [0, 1]
