"""La atención que aprende: qué aprende y qué no, con muchas semillas; y que la tarea es la que dice."""

import math

import pytest
import torch

from course_lib.attention import scaled_dot_product_attention
from course_lib.neighbours import NeighbourModel, learn_neighbours, ring_batch, write_on

BOTH = {"offsets": (-1, 1)}
WIDE = {"dim_embedding": 128, "steps": 200, "batch": 32}
LONG = {**WIDE, "rate": 0.01}


def test_the_neighbours_are_those_of_a_ring():
    model = NeighbourModel(1, 8, offsets=(-1, 2), length=5, vocab_size=7)
    ids, wanted = ring_batch(model, 3, torch.Generator().manual_seed(1))
    assert (ids.shape, wanted.shape) == ((3, 5), (3, 5, 2))
    for row, neighbours in zip(ids.tolist(), wanted.tolist()):
        assert neighbours == [[row[i - 1], row[(i + 2) % 5]] for i in range(5)]


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("positions", [True, False])
def test_it_is_the_attention_of_the_course_with_or_without_its_scale(scaled, positions):
    model = NeighbourModel(2, 6, length=5, vocab_size=7, scaled=scaled, positions=positions).double()
    ids = torch.randint(7, (3, 5))
    logits, weights = model(ids)
    assert (logits.shape, weights.shape) == ((3, 5, 1, 7), (3, 2, 5, 5))
    X = model.embedding.weight[ids] + (model.position.weight if positions else 0)
    part, split = model.attention, model.attention.split_heads
    q, k, v = (split(X @ getattr(part, f"{name}_projection").weight.T) for name in ("query", "key", "value"))
    _, mine = scaled_dot_product_attention(q if scaled else q * math.sqrt(3), k, v)
    torch.testing.assert_close(weights, mine)


def ends(seed, heads, **options):
    """Los aciertos al acabar, y los pesos; si los acierta casi todos, no sigue."""
    for moment in learn_neighbours(heads, seed=seed, **options):
        if moment.accuracy.min() > 0.95:
            break
    return moment


LEARNS = {  # cuántas cabezas, con qué, y si aprende
    "una": (1, {}, True),
    "sin posiciones": (1, {"positions": False}, False),
    "una, dos vecinos": (1, BOTH, False),
    "dos, dos vecinos": (2, BOTH, True),
    "ancha": (1, WIDE, True),
    "ancha y sin √d_k": (1, {"scaled": False, **WIDE}, True),
    "ancha, a pasos largos": (1, LONG, True),
    "ancha y sin √d_k, a pasos largos": (1, {"scaled": False, **LONG}, False),
}


@pytest.mark.parametrize("model", LEARNS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.lenta) for k in range(1, 6))])
def test_what_learns_and_what_does_not(model, seed):
    heads, options, learns = LEARNS[model]
    assert (ends(seed, heads, **options).accuracy.min() > 0.95).item() is learns


ROOT = math.sqrt(128)


def test_without_the_root_it_is_born_as_with_a_larger_query():
    """Nacen con los mismos pesos; después, el mismo paso de W_Q mueve once veces más los de una."""
    bare, larger = (
        next(learn_neighbours(1, **WIDE, **how)).weights for how in ({"scaled": False}, {"birth": ROOT})
    )
    torch.testing.assert_close(bare, larger)
    assert bare.amax(-1).mean() > 0.8 > 0.3 > next(learn_neighbours(1, **WIDE)).weights.amax(-1).mean()


@pytest.mark.lenta
@pytest.mark.parametrize(("how", "least", "most"), [
    ({"birth": ROOT}, 7, 12),  # nace decidida, y divide
    ({"birth": 1 / ROOT, "scaled": False}, 0, 5),  # nace suave, y no divide
])  # fmt: skip
def test_at_long_steps_the_root_counts_more_than_the_birth(how, least, most):
    passed = sum(ends(seed, 1, **how, **LONG).accuracy[0] > 0.95 for seed in range(12))
    assert least <= passed <= most


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.lenta) for k in range(1, 6))])
def test_being_born_decided_is_no_head_start(seed):
    bare, divided = (ends(seed, 1, scaled=scaled, **WIDE).step for scaled in (False, True))
    assert bare >= divided


def test_without_positions_one_can_only_bet_on_the_most_repeated():
    """El 31 % de la lección 05: decir el más repetido de los otros nueve."""
    chance = torch.Generator().manual_seed(0)
    ids = torch.randint(8, (20_000, 10), generator=chance)
    guess = torch.mode(ids[:, 1:], dim=-1).values
    assert (guess == ids[:, -1]).double().mean().item() == pytest.approx(0.305, abs=0.01)


@pytest.mark.parametrize(("wrong", "said"), [
    ({"every": 0}, "every = 0"),
    ({"offsets": ()}, "offsets = \\(\\)"),
    ({"heads": 3}, "heads = 3"),
    ({"period": 5}, "offsets = \\(-1,\\)"),
    ({"period": 3, "offsets": (1,)}, "period = 3"),
])  # fmt: skip
def test_what_makes_no_sense_is_told(wrong, said):
    with pytest.raises(ValueError, match=said):
        next(learn_neighbours(**{"heads": 1} | wrong))


def test_it_leaves_chance_and_threads_as_they_were():
    """También si se deja a medias: quien la mira sigue con los hilos que tenía."""
    before, _ = torch.get_rng_state(), torch.set_num_threads(2)
    half = learn_neighbours(1, steps=2, every=1)
    assert [next(half).step for _ in range(2)] == [0, 1]
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    assert threads == 2 and torch.equal(before, torch.get_rng_state())


# --- Un texto que se repite, con máscara y sin ella -----------------------------------------------

TEXT = {"offsets": (1,), "period": 5}


def test_a_text_repeats_itself_one_more():
    ids, following = ring_batch(NeighbourModel(1, 8, **TEXT), 50, torch.Generator().manual_seed(1))
    assert ids.shape == (50, 10) and len({tuple(row[:5]) for row in ids.tolist()}) > 45
    for row, wanted in zip(ids.tolist(), following[..., 0].tolist()):
        assert row[5:] == [(token + 1) % 8 for token in row[:5]]
        assert wanted[:-1] == row[1:]


def test_with_the_mask_nobody_sees_what_comes_after():
    model = NeighbourModel(2, 6, mask=True, **TEXT)
    ids = torch.randint(8, (3, 10))
    whole, weights = model(ids)
    assert (weights == weights.tril()).all() and (weights.tril() > 0).sum() == 3 * 2 * 55
    for length in range(1, 11):
        torch.testing.assert_close(model(ids[:, :length])[0], whole[:, :length])


@pytest.mark.parametrize("mask", [True, False])
def test_it_writes_each_with_what_is_written_and_nothing_else(mask):
    """Cada token que escribe, sacado aparte: el mejor detrás de los que hay."""
    model = NeighbourModel(1, 8, mask=mask, **TEXT).requires_grad_(False)
    start = torch.randint(8, (4, 5))
    for row in write_on(model, start).tolist():
        for length in range(5, 10):
            logits, _ = model(torch.tensor([row[:length]]))
            assert row[length] == logits[0, -1, 0].argmax().item()
    assert torch.equal(write_on(model, start)[:, :5], start)


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.lenta) for k in range(1, 6))])
@pytest.mark.parametrize(("mask", "away"), [(True, -4), (False, 1)])
def test_without_the_mask_it_learns_to_peek_and_cannot_write(mask, away, seed):
    *_, last = learn_neighbours(1, mask=mask, seed=seed, **TEXT)
    assert last.accuracy[0] > 0.98
    assert last.written > 0.98 if mask else last.written < 0.2
    assert last.weights[0].argmax(-1)[4:9].tolist() == [i + away for i in range(4, 9)]
