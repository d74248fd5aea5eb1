"""El ejemplo pequeño: se hace a mano, con dos decimales, y da lo que dan la biblioteca y torch."""

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from course_lib import causal_mask, example, scaled_dot_product_attention
from course_lib.example import HEADS, TARGET_TOKENS, TOKENS, W_K, W_O, W_Q, W_V, X_D, X

HALF = [slice(0, 2), slice(2, 4)]  # las columnas de cada cabeza
# (quien pregunta, quien responde, la máscara)
CASES = {
    "entera": (X, X, None),
    "causal": (X, X, causal_mask(3)),
    "cruzada": (X_D, X, None),
}
each_case = pytest.mark.parametrize("case", CASES)


def by_hand(query, key, mask, decimals=None):
    """Cada paso, con listas y bucles. Con ``decimals``, se redondea después de cada uno."""

    def short(x):
        return x if decimals is None else round(x, decimals)

    def product(a, b):
        return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]

    def rounded(matrix):
        return [[short(x) for x in row] for row in matrix]

    Q, K = product(query.tolist(), W_Q.tolist()), product(key.tolist(), W_K.tolist())
    V = product(key.tolist(), W_V.tolist())
    allowed = torch.ones(len(Q), len(K)) if mask is None else mask
    steps = {"Q": Q, "K": K, "V": V, "scores": [], "scaled": [], "weights": [], "heads": []}
    for part in HALF:
        q, k, v = ([row[part] for row in matrix] for matrix in (Q, K, V))
        scores = product(q, list(zip(*k)))
        scaled = rounded([[s / math.sqrt(2) for s in row] for row in scores])
        weights = []
        for row, ok in zip(scaled, allowed.tolist()):
            powers = [math.exp(s) if may else 0.0 for s, may in zip(row, ok)]
            weights.append([short(p / sum(powers)) for p in powers])
        steps["scores"].append(scores)
        steps["scaled"].append(scaled)
        steps["weights"].append(weights)
        steps["heads"].append(rounded(product(weights, v)))
    steps["concat"] = [a + b for a, b in zip(*steps["heads"])]
    steps["change"] = rounded(product(steps["concat"], W_O.tolist()))
    steps["sum"] = rounded((query + torch.tensor(steps["change"])).tolist())
    return {name: torch.tensor(value, dtype=torch.float) for name, value in steps.items()}


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
    output, weights = theirs(
        query[None], key[None], key[None], attn_mask=block, average_attn_weights=False
    )
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


@each_case
def test_small_whole_numbers(case):
    hand = by_hand(*CASES[case])
    for matrix in (X, X_D, W_Q, W_K, W_V, W_O):
        assert set(matrix.flatten().tolist()) <= {-1, 0, 1, 2}
    for name in ("Q", "K", "V", "scores"):
        assert_close(hand[name], hand[name].round())
        assert hand[name].abs().max() <= 4


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
