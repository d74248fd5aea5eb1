"""Los números de las figuras del ejemplo pequeño son los que salen a mano; los de los modelos, los suyos."""

import re
from xml.etree import ElementTree

import pytest
import torch
from helpers_example import HALF, by_hand

from course_lib import (
    DecoderLayer, EncoderLayer, causal_mask, encoder_from_bert, extract_embeddings, load_bert,
    load_translator,
)  # fmt: skip
from course_lib.example import TOKENS, W_K, W_O, W_Q, W_V, X_D, X
from course_lib.layers import AddAndNorm
from imagenes import alignment, draw, layers
from imagenes.scenes import PATH, TWO_SENTENCES, WEIGHTED_SUM

NUMBER = re.compile(r"(?<![\w.])−?(?:\d+(?:\.\d+)?|∞)(?![\w.])")
ROW = TOKENS.index("hungry")
FULL, MASKED, CROSS = by_hand(X, X, None), by_hand(X, X, causal_mask(3)), by_hand(X_D, X, None)
HIDDEN = MASKED["scaled"].masked_fill(~causal_mask(3), -torch.inf)


def of_heads(steps, *names):
    """De cada cabeza, los pasos pedidos; «KT» es la de sus keys, traspuesta."""
    for head, part in enumerate(HALF):
        for name in names:
            matrix = steps[name.removesuffix("T")]
            matrix = matrix[:, part] if name[0] in "QKV" else matrix[head]
            yield matrix.T if name.endswith("T") else matrix


def attention_row(steps, masked=False):
    """Los números de «hungry» en la cabeza 0, en el orden en que se leen."""
    q, k, v = (steps[name][:, HALF[0]] for name in "QKV")
    yield from (X, q, k, v)
    for i in range(len(TOKENS)):
        yield from (q[ROW], k[i], steps["scores"][0, ROW, i])
    yield steps["scaled"][0, ROW]
    if masked:
        yield torch.tensor(-torch.inf)  # a «dog»
    yield steps["weights"][0, ROW]
    for weight, value in zip(steps["weights"][0, ROW], v, strict=True):
        yield from (weight, value)
    yield steps["heads"][0, ROW]
    change = steps["heads"][0, ROW] @ W_O[HALF[0]]
    yield from (X[ROW], change, X[ROW] + change)


def displacement():
    """De «hungry», en los dos números con nombre: lo que escribe cada cabeza, dónde acaba, y de quién viene lo de la 0."""
    named = [1, 3]  # el de «hungry» y el de «dog»
    for head, part in enumerate(HALF):
        yield from (torch.tensor(float(head)), (FULL["heads"][head, ROW] @ W_O[part])[named])
    yield FULL["sum"][ROW, named]
    yield torch.tensor(0.0)  # la cabeza 0
    for token in map(TOKENS.index, ("dog", "hungry")):
        given = FULL["V"][token, HALF[0]] @ W_O[HALF[0]]
        yield from (FULL["weights"][0, ROW, token], given[named])


def of_bert():
    """Las formas de W_V, W_O y su producto en una cabeza de BERT, y el rango."""
    attention = load_bert().encoder.encoder.encoder_layers[0].multi_head_attention
    model, head = attention.dim_embedding, attention.dim_embedding // attention.heads
    return torch.tensor([model, head, head, model, model, model, head])


# archivo → lo que tiene que decir, matriz a matriz
EXPECTED = {
    "ejemplo-x-qkv.svg": [X, W_Q, FULL["Q"], X, W_K, FULL["K"], X, W_V, FULL["V"]],
    "ejemplo-puntuaciones.svg": of_heads(FULL, "Q", "KT", "scores"),
    "ejemplo-pesos.svg": of_heads(FULL, "scores", "scaled", "weights"),
    "ejemplo-mascara.svg": of_heads(MASKED | {"hidden": HIDDEN}, "scaled", "hidden", "weights"),
    "ejemplo-mezcla.svg": of_heads(FULL, "weights", "V", "heads"),
    "ejemplo-cabezas.svg": [*FULL["heads"], FULL["concat"]],
    "ejemplo-desplazamiento.svg": displacement(),
    "ejemplo-mapa.svg": [W_V[:, HALF[0]], W_O[HALF[0]], W_V[:, HALF[0]] @ W_O[HALF[0]], of_bert()],
    "ejemplo-cruzada.svg": [X_D, W_Q, CROSS["Q"], *of_heads(CROSS, "Q", "KT", "scores", "weights")],
    "atencion-tres-pasos.svg": [FULL[name][0, ROW] for name in ("scores", "weights", "weights")],
    "atencion-mascara.svg": attention_row(MASKED, masked=True),
}
for part in ("-qkv", "-puntuaciones", "-pesos", "-mezcla", "-suma"):
    EXPECTED[f"atencion{part}.svg"] = attention_row(FULL)
EXPECTED = {name: torch.cat([m.flatten() for m in matrices]).tolist() for name, matrices in EXPECTED.items()}
each_figure = pytest.mark.parametrize("name", EXPECTED)


def texts(svg):
    """El texto de cada rótulo de una figura y su elemento, en el orden en que se dibujan."""
    for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        yield "".join(element.itertext()), element


def value(number):
    return float(number.replace("−", "-").replace("∞", "inf"))


def is_cell(words, element):
    """Si es una casilla, y no un rótulo o una cuenta."""
    told = "cabeza", "÷", "Lo señalado", "Cada fila", "La fila", "El cuarto", "Entra", "entra", "WV,", "WO,"
    return element.get("text-anchor") == "middle" and not any(mark in words for mark in told)


def faults(svg, expected, counts=is_cell):
    """Lo dibujado que no es lo esperado. ``counts`` dice qué rótulos se miran."""
    drawn = [
        number
        for words, element in texts(svg)
        if counts(words, element)
        for number in NUMBER.findall(words)
    ]
    if len(drawn) != len(expected):
        return [f"hay {len(drawn)} números y tendría que haber {len(expected)}"]
    found = []
    for number, right in zip(drawn, expected, strict=True):
        half = 0.5 * 10 ** -len(number.partition(".")[2]) if "." in number else 0
        if value(number) != right and not abs(value(number) - right) <= half + 1e-5:
            found.append(f"«{number}» y es {right:.4f}")
    return found


@each_figure
def test_the_numbers_are_those_of_the_hand(name):
    every = name == "ejemplo-desplazamiento.svg"  # no tiene casillas: se miran todos sus rótulos
    counts = (lambda *_: True) if every else is_cell
    assert faults(draw.stored(name), EXPECTED[name], counts) == []


def test_what_divides_is_drawn_between_scores_and_weights():
    drawn = [words for words, _ in texts(draw.stored("atencion-tres-pasos.svg"))]
    assert drawn.count("÷ √2") == len(TOKENS)


SUM = re.compile(r"(?:\(?−?[\d.]+\)?(?: ?[·+] ?)?)+ = −?[\d.]+")


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.startswith("ejemplo")])
def test_the_sums_below_come_out(name):
    for words, _ in texts(draw.stored(name)):
        for found in SUM.findall(words):
            left, right = found.replace("−", "-").split(" = ")
            total = sum(
                torch.tensor([float(f.strip("()")) for f in term.split("·")]).prod().item()
                for term in left.split(" + ")
            )
            assert total == pytest.approx(float(right), abs=1e-5), found


@pytest.mark.parametrize(("kind", "layer"), [("encoder", EncoderLayer), ("decoder", DecoderLayer)])
def test_a_layer_adds_as_many_times_as_its_class(kind, layer):
    drawn = [words for words, _ in texts(draw.stored(f"{kind}-capa.svg"))]
    additions = sum(isinstance(module, AddAndNorm) for module in layer(2, 4).children())
    assert drawn.count("+") == drawn.count("normaliza") == drawn.count("atajo:") == additions


# --- Los del modelo -------------------------------------------------------------------------------

LAYER, HEAD = 3, 1
SENTENCES = [f"I gave the dog a bone because it was {ending}" for ending in ("hungry", "old")]


@pytest.fixture(scope="module")
def embeddings():
    return extract_embeddings(SENTENCES)


def close(drawn, real, decimals):
    """Si lo dibujado es lo real, redondeado a ``decimals``."""
    half = 0.5 * 10**-decimals + 1e-5
    torch.testing.assert_close(torch.tensor(drawn), real, atol=half, rtol=0)


def test_rows_of_the_two_sentences(embeddings):
    for i, row in enumerate(TWO_SENTENCES):
        tokens, weights = zip(*row, strict=True)
        assert list(tokens) == embeddings.tokens[i]
        close(weights, embeddings.attentions[LAYER][i, HEAD, tokens.index("it")], 4)


def test_values_of_the_weighted_sum(embeddings):
    attention = encoder_from_bert(load_bert()).encoder.encoder_layers[LAYER].multi_head_attention
    with torch.no_grad():
        projected = attention.value_projection(embeddings.hidden_states[LAYER])
        values = attention.split_heads(projected)[0, HEAD]
    tokens, _, drawn = zip(*WEIGHTED_SUM, strict=True)
    assert list(tokens) == embeddings.tokens[0]
    close(drawn, values[:, :8], 2)


def test_path_of_the_sentence(embeddings):
    for position, token, token_id, word, place in PATH:
        assert embeddings.tokens[0][position] == token
        assert embeddings.input_ids[0, position] == token_id
        close(word, embeddings.token_embeddings[0, position, : len(word)], 3)
        close(place, embeddings.positional_encodings[0, position, : len(place)], 3)


def test_the_aligned_translation():
    found = load_translator().translate(" ".join(alignment.ENGLISH) + ".")
    assert found.text == " ".join(alignment.SPANISH) + "."
    close([[w / 100 for w in row] for row in alignment.WEIGHTS], found.word_attention, 2)


def test_what_enters_and_what_is_predicted():
    found = load_translator().translate("Where is my book?")
    assert tuple(found.source_tokens) == layers.ENGLISH
    assert ("<s>", *found.target_tokens) == layers.SPANISH
    assert found.text == "¿Dónde está mi libro?"


def test_the_prefix_of_the_small_example():
    """Al traducir «The hungry dog» se escribe «El» y después «perro»."""
    assert load_translator().translate("The hungry dog").target_tokens[:2] == ["El", "perro"]
