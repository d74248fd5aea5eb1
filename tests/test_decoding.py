"""Escribir con un Transformer: con memoria y sin ella sale lo mismo, y el haz encuentra lo que dice."""

import itertools

import pytest
import torch

from course_lib import Transformer, padding_mask
from course_lib.decoding import CachedDecoder, PlainDecoder, beam_search, greedy_search

BOS, EOS = 2, 3
MARKS = BOS, EOS, [0, 1, BOS]


def small_model(vocab_size=11, seed=0):
    torch.manual_seed(seed)
    model = Transformer(7, vocab_size, 24, 40, 3, 1, Nx_decoder=2, increment=1.5)
    return model.eval()


@torch.inference_mode()
def encode(model, length=5, seed=0):
    torch.manual_seed(seed)
    return model.encoder(torch.randint(7, (1, length)))[0]


def together(model, encoded, ids, **options):
    """Las puntuaciones de todos los pasos a la vez, con la máscara causal: el oráculo."""
    return model.output_projection(model.decoder(ids, encoded, **options)[0])


@torch.inference_mode()
@pytest.mark.parametrize("decoder", [CachedDecoder, PlainDecoder])
def test_step_by_step_equals_all_at_once(decoder):
    model = small_model()
    torch.manual_seed(1)
    source, ids = torch.randint(7, (4, 6)), torch.randint(11, (4, 9))
    mask = padding_mask(torch.tensor([[1] * n + [0] * (6 - n) for n in (6, 3, 1, 5)]))
    encoded, _ = model.encoder(source, mask)
    stepper = decoder(model, encoded, mask)
    steps = torch.stack([stepper.step(column) for column in ids.T], dim=1)
    torch.testing.assert_close(steps, together(model, encoded, ids, source_mask=mask))


@torch.inference_mode()
@pytest.mark.parametrize("decoder", [CachedDecoder, PlainDecoder])
@pytest.mark.parametrize("pad", [False, True])
def test_keep_reorders_and_repeats(decoder, pad):
    model = small_model()
    encoded = torch.randn(3, 5, 24)
    ids = torch.tensor([[2, 4, 5], [2, 6, 7], [2, 8, 9]])
    mask = padding_mask(torch.tensor([[1] * n + [0] * (5 - n) for n in (5, 2, 3)])) if pad else None
    stepper = decoder(model, encoded, mask)
    for column in ids.T:
        stepper.step(column)
    rows, following = torch.tensor([2, 0, 0, 2]), torch.tensor([4, 5, 6, 10])
    stepper.keep(rows)
    longer = torch.cat([ids[rows], following[:, None]], dim=1)
    mask = mask[rows] if pad else None
    expected = together(model, encoded[rows], longer, source_mask=mask)[:, -1]
    torch.testing.assert_close(stepper.step(following), expected)


@torch.inference_mode()
@pytest.mark.parametrize("seed", range(4))
def test_greedy_takes_the_best_each_time(seed):
    model = small_model(seed=seed)
    encoded = encode(model, seed=seed)
    written = greedy_search(model, encoded, 8, MARKS)
    logits = together(model, encoded, torch.tensor([[BOS, *written[:-1]]]))[0]
    logits[:, MARKS[2]] = -torch.inf
    assert written == logits.argmax(dim=-1).tolist()
    assert len(written) == 8 or written[-1] == EOS
    assert EOS not in written[:-1]


@torch.inference_mode()
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_wide_enough_beam_finds_the_best_of_all(seed, alpha):
    """Con tan pocos tokens se pueden probar todas las frases: la mejor es la que da el haz."""
    model = small_model(vocab_size=7, seed=seed)
    model.output_projection.weight.mul_(3)
    encoded, longest = encode(model, seed=seed), 4
    open_tokens = [4, 5, 6]

    def score(written):
        logits = together(model, encoded, torch.tensor([[BOS, *written[:-1]]]))[0]
        logits[:, MARKS[2]] = -torch.inf
        steps = logits.log_softmax(dim=-1)[range(len(written)), written]
        return steps.sum().item() / ((5 + len(written)) / 6) ** alpha

    sentences = [
        [*start, EOS] for length in range(longest) for start in itertools.product(open_tokens, repeat=length)
    ]
    found = beam_search(model, encoded, longest, MARKS, width=3**longest, alpha=alpha)
    assert score(found) == pytest.approx(max(map(score, sentences)), abs=1e-5)


class Scripted:
    """Un decoder de mentira: tras cada prefijo, las probabilidades que dice ``table``."""

    def __init__(self, table, _):
        self.table, self.read = table, [()]

    def step(self, token_ids):
        self.read = [(*old, new) for old, new in zip(self.read, token_ids.tolist(), strict=True)]
        chances = torch.full((len(self.read), 8), 1e-6)
        for row, prefix in zip(chances, self.read, strict=True):
            for token, chance in self.table[prefix[1:]].items():
                row[token] = chance
        return chances.log()

    def keep(self, rows):
        self.read = [self.read[row] for row in rows]


# Tras el primer paso, las tres frases acaban mejor que siguen, y la que gana es la última que sigue.
LAST_TO_GO_ON = {
    (): {4: 0.34, 5: 0.33, 6: 0.32},
    (4,): {EOS: 0.51, 4: 0.48},
    (5,): {EOS: 0.51, 5: 0.48},
    (6,): {EOS: 0.53, 6: 0.47},
    (4, 4): {EOS: 0.5, 4: 0.5},
    (5, 5): {EOS: 0.5, 5: 0.5},
    (6, 6): {EOS: 1.0},
}
# Acabar nunca está entre las dos mejores continuaciones.
NEVER_ENDS = {(): {4: 0.6, 5: 0.3, EOS: 0.1}, (4,): {4: 0.5, 5: 0.4, EOS: 0.1}}


@pytest.mark.parametrize(
    ("table", "width", "longest", "expected"),
    [(LAST_TO_GO_ON, 3, 3, [6, 6, EOS]), (NEVER_ENDS, 1, 2, [4, 4])],
    ids=["todas pueden acabar y sobran abiertas", "de width frases, se miran 2·width"],
)
def test_twice_the_width_is_looked_at(monkeypatch, table, width, longest, expected):
    """De cada paso cuentan las 2·width mejores: si acaban width, aún quedan width por seguir."""
    monkeypatch.setattr("course_lib.decoding.PlainDecoder", Scripted)
    assert beam_search(table, None, longest, MARKS, cache=False, width=width, alpha=1.0) == expected
