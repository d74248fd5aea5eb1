"""Los números de las figuras son los del modelo, no unos parecidos."""

import pytest
import torch

from course_lib import encoder_from_bert, extract_embeddings, load_bert, load_translator
from imagenes import alignment, layers
from imagenes.scenes import PATH, TWO_SENTENCES, WEIGHTED_SUM

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
