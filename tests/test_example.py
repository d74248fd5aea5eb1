"""El ejemplo pequeño: se hace a mano, con dos decimales, y da lo que dan la biblioteca y torch."""

import pytest
import torch
from helpers_example import CASES, HALF, by_hand
from torch import nn
from torch.testing import assert_close

from course_lib import causal_mask, example, scaled_dot_product_attention
from course_lib.example import HEADS, TARGET_TOKENS, TOKENS, W_K, W_O, W_Q, W_V, X_D, X

each_case = pytest.mark.parametrize("case", CASES)


@each_case
def test_every_step_is_that_of_the_library(case):
    query, key, mask = CASES[case]
    hand, attention = by_hand(query, key, mask), example.example_attention()
    q, k, v = query @ W_Q, key @ W_K, key @ W_V
    assert_close(hand["Q"], q)
    for head, part in enumerate(HALF):
        output, weights = scaled_dot_product_attention(q[:, part], k[:, part], v[:, part], mask)
        assert_close(hand["weights"][head], weights)
        assert_close(hand["heads"][head], output)
    output, weights = attention(query[None], key[None], key[None], mask)
    assert_close(hand["weights"], weights[0])
    assert_close(hand["change"], output[0])


@each_case
def test_torch_says_the_same(case):
    query, key, mask = CASES[case]
    theirs = nn.MultiheadAttention(4, HEADS, bias=False, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([W_Q.T, W_K.T, W_V.T]))
        theirs.out_proj.weight.copy_(W_O.T)
    block = None if mask is None else ~mask  # su convenio es el contrario
    output, weights = theirs(query[None], key[None], key[None], attn_mask=block, average_attn_weights=False)
    hand = by_hand(query, key, mask)
    assert_close(hand["weights"], weights[0])
    assert_close(hand["change"], output[0])


@each_case
def test_two_decimals_are_enough(case):
    """Quien redondea a dos decimales después de cada paso llega a los mismos números."""
    exact, short = by_hand(*CASES[case]), by_hand(*CASES[case], decimals=2)
    for name, value in short.items():
        assert_close(value, (exact[name] * 100).round() / 100, atol=1e-6, rtol=0, msg=name)
    assert_close(short["weights"].sum(dim=-1), torch.ones(short["weights"].shape[:2]))


def test_the_weights_tell_something():
    """Ni a partes iguales ni todo a uno, y cada cabeza mira a otra palabra."""
    weights = by_hand(X, X, None)["weights"]
    assert ((weights.amax(dim=-1) > 0.5) & (weights.amax(dim=-1) < 0.9)).all()
    assert (weights > 0.02).all()
    first, second = weights.argmax(dim=-1)
    assert (first != second).all()
    the, hungry, dog = map(TOKENS.index, ("the", "hungry", "dog"))
    assert (first[hungry], first[dog]) == (dog, hungry)
    assert (second[hungry], second[dog]) == (hungry, dog)


def test_the_mask_hides_the_word_that_mattered():
    full, masked = (by_hand(X, X, mask)["weights"][0] for mask in (None, causal_mask(3)))
    hungry, dog = TOKENS.index("hungry"), TOKENS.index("dog")
    assert full[hungry].argmax() == dog
    assert masked[hungry, dog] == 0


def test_what_is_added_comes_from_the_other_word():
    """«hungry» recibe, sobre todo, el número que solo tenía «dog», y al revés."""
    change = by_hand(X, X, None)["change"]
    hungry, dog = TOKENS.index("hungry"), TOKENS.index("dog")
    for word, other, place in ((hungry, dog, 3), (dog, hungry, 1)):
        assert X[:, place].nonzero().flatten().tolist() == [other]
        assert change[word].argmax() == place


def test_the_one_that_enters_looks_at_what_it_predicts():
    """Al escribir «el perro», en la cabeza 0: entra «<s>» y mira a «the»; entra «el», a «dog»."""
    looks = by_hand(X_D, X, None)["weights"][0].argmax(dim=-1)
    assert TARGET_TOKENS == ["<s>", "el"]
    assert [TOKENS[i] for i in looks] == ["the", "dog"]
