"""Embedding y posición, contra fórmulas independientes; y el dropout. Las capas, en ``test_transformer``."""

import math

import pytest
import torch
from helpers import close, few, randomize, seeds, sizes
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from course_lib import AddAndNorm, Embedding, FeedForward, PositionalEncoding
from course_lib.layers import LearnedPositionalEncoding

widths = st.sampled_from([1, 2, 3, 5, 6, 7, 16, 33, 64])


def table_of(length, dim):
    return PositionalEncoding(length, dim).positional_encoding


# --- Sinusoides -----------------------------------------------------------------------------------


@few
@given(dim=widths, length=st.integers(1, 40))
def test_sinusoids_are_the_formula(dim, length):
    """Número a número, con math.sin y math.cos; también en la 5000, solo el redondeo del resultado a float32."""
    table, far = table_of(length, dim), table_of(5001, dim)
    assert table.shape == (length, dim)
    assert torch.equal(table, far[:length])
    for pos in (*range(length), 5000):
        for j in range(dim):
            angle = pos / 10_000 ** (2 * (j // 2) / dim)
            expected = math.cos(angle) if j % 2 else math.sin(angle)
            assert abs(far[pos, j].item() - expected) < 1e-7


@few
@given(dims=sizes(3), seed=seeds)
def test_positions_start_at_zero_and_are_added(dims, seed):
    """Se suman las L primeras filas, desde la posición 0, a todo el lote; no se aprenden."""
    torch.manual_seed(seed)
    batch, length, dim = dims
    x = torch.randn(batch, length, dim)
    for extra in (0, 4):
        module = PositionalEncoding(length + extra, dim)
        close(module(x) - x, table_of(length, dim).expand_as(x), torch.float32)
        assert module.positional_encoding[0].tolist() == [float(j % 2) for j in range(dim)]
        assert not list(module.parameters())
        assert not module.state_dict()


@few
@given(dims=sizes(3), seed=seeds)
def test_learned_positions(dims, seed):
    """La posición i suma la fila i de una tabla, que sí se aprende."""
    torch.manual_seed(seed)
    batch, length, dim = dims
    module = LearnedPositionalEncoding(length + 2, dim)
    x = torch.randn(batch, length, dim)
    output = module(x)
    for i in range(length):
        close(output[:, i], x[:, i] + module.table.weight[i], torch.float32)
    output.sum().backward()
    assert torch.equal(module.table.weight.grad[:length], torch.full((length, dim), float(batch)))
    assert not module.table.weight.grad[length:].any()


@pytest.mark.parametrize("kind", [PositionalEncoding, LearnedPositionalEncoding])
def test_too_long_or_too_wide(kind):
    """Más allá de la última posición, o con otra anchura, hay error con los números."""
    module = kind(5, 4)
    module(torch.zeros(1, 5, 4))
    with pytest.raises(ValueError, match=rf"{kind.__name__}.*6 tokens.*5 posiciones.*acorta la frase"):
        module(torch.zeros(1, 6, 4))
    with pytest.raises(ValueError, match=rf"{kind.__name__}: x tiene forma \(1, 5, 3\).*\(B, L, 4\)"):
        module(torch.zeros(1, 5, 3))
    with pytest.raises(ValueError, match=r"x tiene forma \(4,\)"):
        module(torch.zeros(4))


# --- Embedding ------------------------------------------------------------------------------------


def test_embedding_scale_does_not_drown_the_position():
    """La salida empieza con desviación 1; la posición, con 0,71: las dos se oyen (no 27,8)."""
    torch.manual_seed(0)
    for dim in (64, 512, 768):
        output = Embedding(500, dim)(torch.arange(500)[None])
        positions = table_of(500, dim)
        assert output.std().item() == pytest.approx(1, abs=0.02)
        assert positions.square().mean().sqrt().item() == pytest.approx(0.71, abs=0.01)


@few
@given(dims=sizes(4), seed=seeds, scale=st.booleans())
def test_embedding_looks_up_rows(dims, seed, scale):
    """Cada id da su fila de la tabla, por √d_model si ``scale``."""
    torch.manual_seed(seed)
    vocab, dim, batch, length = dims
    module = randomize(Embedding(vocab, dim, scale))
    ids = torch.randint(vocab, (batch, length))
    output = module(ids)
    factor = math.sqrt(dim) if scale else 1
    for b in range(batch):
        for i in range(length):
            close(output[b, i], module.table.weight[ids[b, i]] * factor, torch.float32)


@pytest.mark.parametrize(("ids", "kind", "words"), [
    (torch.tensor([[0, 7]]), ValueError, ["entre 0 y 7", "de 0 a 6", "tokenizador"]),
    (torch.tensor([[-1, 2]]), ValueError, ["entre -1 y 2"]),
    (torch.randn(1, 2, 4), TypeError, ["torch.float32", "input_ids"]),
    (torch.tensor([[True]]), TypeError, ["torch.bool"]),
    ([[1, 2]], TypeError, ["list", "tensor de enteros"]),
])  # fmt: skip
def test_wrong_ids(ids, kind, words):
    """Ids de otro vocabulario, vectores en lugar de ids, listas: cada uno con su aviso."""
    with pytest.raises(kind, match="Embedding") as error:
        Embedding(7, 4)(ids)
    assert all(word in str(error.value) for word in words), str(error.value)


# --- Suma y norma, red densa ----------------------------------------------------------------------


def test_add_and_norm_shapes_must_match():
    """Sin difusión: sumar formas distintas es un error con las dos formas."""
    with pytest.raises(ValueError, match=r"AddAndNorm: x tiene forma \(2, 3, 4\).*\(1, 3, 4\)"):
        AddAndNorm(4)(torch.zeros(2, 3, 4), torch.zeros(1, 3, 4))


def test_unknown_activation():
    with pytest.raises(ValueError, match=r"activation = 'tanh'.*relu.*gelu"):
        FeedForward(4, activation="tanh")


# --- Dropout --------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.1, 0.5])
def test_dropout_is_on_the_sublayer_and_not_on_the_residual(p):
    """Cada número de la subcapa se apaga o se divide por 1 − p; el residuo pasa siempre entero."""
    torch.manual_seed(1)
    module = AddAndNorm(8, dropout=p)
    module.normalization = nn.Identity()
    x, sublayer = torch.randn(2, 500, 20, 8)
    kept = x + sublayer / (1 - p)
    output = module.train()(x, sublayer)
    dropped = torch.isclose(output, x)
    assert (dropped | torch.isclose(output, kept, atol=1e-5)).all()
    assert dropped.float().mean().item() == pytest.approx(p, abs=0.01)
    mean = torch.stack([module(x, sublayer) for _ in range(50)]).mean()
    assert mean.item() == pytest.approx((x + sublayer).mean().item(), abs=0.01)
    assert torch.equal(module.eval()(x, sublayer), x + sublayer)


@pytest.mark.parametrize("kind", [PositionalEncoding, LearnedPositionalEncoding])
def test_dropout_is_on_the_sum_of_embedding_and_position(kind):
    """Se apaga la suma, no solo una de las dos partes; en evaluación no se apaga nada."""
    torch.manual_seed(2)
    module = kind(20, 8, dropout=0.25)
    x = torch.randn(500, 20, 8) + 5
    total = module.eval()(x)
    assert torch.equal(module(x), total)
    output = module.train()(x)
    dropped = output == 0
    close(output[~dropped], total[~dropped] / 0.75, torch.float32)
    assert dropped.float().mean().item() == pytest.approx(0.25, abs=0.01)
    assert not torch.equal(module(x), output)
