"""El ejemplo pequeño: se hace a mano, con dos decimales, y da lo que da la biblioteca."""

import pytest
import torch
from helpers_example import CASES, HALF, by_hand
from torch.testing import assert_close

from course_lib import example, scaled_dot_product_attention
from course_lib.example import W_K, W_Q, W_V

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
def test_two_decimals_are_enough(case):
    """Quien redondea a dos decimales después de cada paso llega a los mismos números."""
    exact, short = by_hand(*CASES[case]), by_hand(*CASES[case], decimals=2)
    for name, value in short.items():
        assert_close(value, (exact[name] * 100).round() / 100, atol=1e-6, rtol=0, msg=name)
    assert_close(short["weights"].sum(dim=-1), torch.ones(short["weights"].shape[:2]))
