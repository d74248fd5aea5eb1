"""Leer el código de otros: las instrucciones, cuáles se ejecutan y las etiquetas que se les ponen."""

from pkgutil import resolve_name

import pytest
import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

from course_checkers import read_llama
from course_checkers.engine.mistakes import lines
from course_tools.listing import Listing, ran, statements
from course_checkers.lessons import l14_labels
from course_lib.sampling import next_token_probabilities

SECTIONS = lines(l14_labels.texts_of(l14_labels.__file__))
PLACES = {name: found["dónde"] for name, found in SECTIONS.items() if "dónde" in found}
OURS = {ours.partition(":")[2]: ours for _, ours in PLACES.values()}
THEIRS = {name: f"{theirs}:{name}" for name, (theirs, _) in PLACES.items()}
LABELS = "proyectar", "girar", "guardar", "atender", "juntar"
ATTENTION = dict(zip(LABELS, ([1, 2, 3, 4, 5], [6, 7], [8, 9], [10, 11], [12, 13, 14])))


def sample(x, deep=False):
    """Un texto de ayuda, que no es una instrucción."""
    # un comentario, tampoco
    total = x + 1
    if deep:
        for _ in range(2):
            total += 1
    else:
        total = -total
    return total


def test_the_statements_of_a_function():
    assert [one.text for one in statements(sample)] == [
        "total = x + 1", "if deep:", "  for _ in range(2):", "    total += 1",
        "else: total = -total", "return total",
    ]  # fmt: skip


def test_which_ones_run():
    assert ran(sample, lambda: sample(1)) == [0, 1, 4, 5]
    assert ran(sample, lambda: sample(1, deep=True)) == [0, 1, 2, 3, 5]
    with pytest.raises(TypeError):
        ran(sample, lambda: sample(None))
    assert ran(sample, lambda: None) == []


@pytest.mark.parametrize("name", SECTIONS)
def test_each_statement_has_its_label(name):
    """Si transformers o el curso cambian una función, se ve aquí."""
    function = resolve_name(THEIRS.get(name) or OURS[name])
    assert set(l14_labels.told(name)[1]) == set(range(1, len(statements(function)) + 1))


@pytest.mark.parametrize(("number", "text"), [(7, "apply_rotary_pos_emb"), (9, ".update("), (13, "o_proj")])
def test_the_numbers_are_of_those_lines(number, text):
    function = resolve_name(THEIRS["LlamaAttention.forward"])
    assert text in statements(function)[number - 1].text


def test_the_right_labels_pass():
    assert read_llama("LlamaAttention.forward", ATTENTION).foot == "✓ Las etiquetas son esas."
    whole = SECTIONS["eager_attention_forward"]
    assert "if attention_mask is not None:" in repr(read_llama("eager_attention_forward"))
    assert read_llama("eager_attention_forward").foot.startswith("«compartir»: cada key")
    assert "apagar" in whole


TURNS = "que es: queries y keys cambian según la posición."


@pytest.mark.parametrize(("changes", "said"), [
    ({"girar": [6, 7, 8], "guardar": 9, "juntar": [12, 13]}, f"✗ La 8 no es «girar», {TURNS}\nSin etiqueta: 14."),
    ({"girar": [6, 7, 9]}, "✗ La 9 no es «girar»"),
    ({"girar": [6, 7, 99]}, "✗ La 99"),
    ({"guardar": [9]}, "Sin etiqueta: 8."),  # la 8 es una cabecera
])  # fmt: skip
def test_a_wrong_one_is_told_and_an_absent_one_too(changes, said):
    assert read_llama("LlamaAttention.forward", ATTENTION | changes).foot.startswith(said)


def test_one_label_for_everything_does_not_pass():
    said = read_llama("eager_attention_forward", {"atender": list(range(1, 11))}).foot
    assert said.count("✗ La ") == 7
    with pytest.raises(ValueError, match="«pan» no es una etiqueta de eager_attention_forward"):
        read_llama("eager_attention_forward", {"pan": [1]})


def test_without_answers_it_says_what_each_is():
    shown = read_llama("LlamaAttention.forward", dict.fromkeys(ATTENTION, ...))
    assert shown.foot.startswith("○ Cambia cada «...»")
    assert "«girar»: queries y keys cambian según la posición." in shown.foot
    assert not any(label for _, label, _ in shown.columns["transformers · LlamaAttention.forward"])


def test_it_is_shown_as_text_and_as_a_page():
    rows = [(1, "una", "x = '<b>'"), (2, "", "y" * 300)]
    listing = Listing({"a": rows, "b": rows[:1]}, "pie\n<i>")
    page = listing._repr_html_()
    assert "<b>" not in page
    assert "<i>" not in page
    assert page.count("una") == 2
    assert "pie<br>&lt;i&gt;" in page
    assert max(map(len, repr(listing).splitlines())) < 100


def test_transformers_cuts_in_the_order_that_the_lesson_says():
    sizes = {"vocab_size": 50, "hidden_size": 8, "intermediate_size": 8}
    config = LlamaConfig(**sizes, num_hidden_layers=1, num_attention_heads=2)
    model = LlamaForCausalLM(config)
    asked = GenerationConfig(do_sample=True, temperature=2.0, top_k=5, top_p=0.7)
    steps = model._get_logits_processor(asked)
    names = [type(step).__name__.removesuffix("LogitsWarper") for step in steps]
    assert names == ["Temperature", "TopK", "TopP"]
    scores = 2 * torch.randn(3, 50, generator=torch.Generator().manual_seed(0))
    theirs = steps(None, scores.clone()).softmax(-1)
    torch.testing.assert_close(theirs, next_token_probabilities(scores, 2.0, 5, 0.7))
