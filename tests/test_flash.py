"""La atención por bloques da lo mismo que la del curso y que la de torch, con cualquier bloque."""

import pytest
import torch
import torch.nn.functional as F
from helpers import MASKS, close, few, make_mask, oracle_attention, qkv, seeds, sizes
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from course_lib import causal_mask, flash_attention, scaled_dot_product_attention

blocks = st.sampled_from([1, 2, 3, 5, 128])


@pytest.mark.parametrize("kind", MASKS)
@few
@given(dims=sizes(6), seed=seeds, block=blocks)
def test_equal_with_any_mask(kind, dims, seed, block):
    """Salida y gradientes de torch; y la salida, la de los bucles sin torch."""
    torch.manual_seed(seed)
    inputs, mask = qkv(*dims), make_mask(kind, *dims[:4])
    theirs = F.scaled_dot_product_attention(
        *inputs, attn_mask=None if mask is None else torch.atleast_2d(mask)
    )
    ours = flash_attention(*inputs, mask, block=block)
    close(ours, theirs)
    close(ours, oracle_attention(*inputs, mask)[0])
    upstream = torch.randn_like(theirs)
    wanted = torch.autograd.grad(theirs, inputs, upstream)
    for actual, expected in zip(torch.autograd.grad(ours, inputs, upstream), wanted):
        assert actual.isfinite().all()
        close(actual, expected)


@few
@given(dims=sizes(5), past=st.integers(0, 6), seed=seeds, block=blocks)
def test_causal_is_the_mask_and_with_it_too(dims, past, seed, block):
    """Las queries son las últimas posiciones; una máscara de relleno se suma a la causal."""
    torch.manual_seed(seed)
    batch, heads, L, d_k, d_v = dims
    inputs = qkv(batch, heads, L, past + L, d_k, d_v)
    causal, keep = causal_mask(past + L)[past:], torch.rand(batch, 1, 1, past + L) > 0.3
    for mask, both in ((None, causal), (keep, causal & keep)):
        expected, _ = scaled_dot_product_attention(*inputs, both)
        close(flash_attention(*inputs, mask, causal=True, block=block), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_huge_scores(dtype):
    """Puntuaciones que desbordan la exponencial, y máximos que llegan al final."""
    torch.manual_seed(0)
    query, key, value = (x.detach() * 30 for x in qkv(2, 3, 7, 11, 4, 5, dtype))
    key = key * torch.linspace(0.1, 5, 11, dtype=dtype)[:, None]
    expected, _ = scaled_dot_product_attention(query, key, value)
    close(flash_attention(query, key, value, block=3), expected, dtype)


def test_without_queries_or_without_keys():
    for q, k in ((0, 7), (1, 0)):
        assert flash_attention(torch.ones(q, 2), torch.ones(k, 2), torch.ones(k, 1)).tolist() == [[0.0]] * q


class Largest(TorchDispatchMode):
    """Apunta el tensor más grande que crea cualquier operación."""

    numel = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for x in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(x, torch.Tensor):
                self.numel = max(self.numel, x.numel())
        return result


@torch.no_grad()
@pytest.mark.parametrize("causal", [False, True])
def test_the_table_never_exists(causal):
    L, d_k, block = 257, 3, 16
    inputs = [x.detach() for x in qkv(1, 1, L, L, d_k, d_k)]
    with Largest() as blocked:
        flash_attention(*inputs, causal=causal, block=block)
    with Largest() as explicit:
        scaled_dot_product_attention(*inputs, causal_mask(L) if causal else None)
    assert blocked.numel == L * d_k
    assert explicit.numel == L * L


@torch.no_grad()
def test_future_blocks_are_skipped(monkeypatch):
    """Con causal, de cada fila de bloques no se multiplica ninguno que sea todo futuro."""
    shapes = []
    multiply = torch.Tensor.__matmul__

    def counted(a, b):
        shapes.append((a.shape[-2], b.shape[-1]))
        return multiply(a, b)

    monkeypatch.setattr(torch.Tensor, "__matmul__", counted)
    inputs = [x.detach() for x in qkv(1, 1, 12, 12, 5, 7)]
    flash_attention(*inputs, causal=True, block=4)
    assert sum(shape == (4, 4) for shape in shapes) == 3 + 2 + 1


def test_bad_arguments():
    query, key, value = (x.detach() for x in qkv(1, 2, 5, 3, 4, 4))
    for block in (0, -2, 2.0, True):
        with pytest.raises(ValueError, match=f"block = {block}"):
            flash_attention(query, key, value, block=block)
    with pytest.raises(ValueError, match="5 queries y 3 keys"):
        flash_attention(query, key, value, causal=True)
    with pytest.raises(ValueError, match="queries miden 4 y las keys 3"):
        flash_attention(query, key[..., :3], value)
    with pytest.raises(TypeError, match="booleana|torch.bool"):
        flash_attention(query, key, value, torch.zeros(5, 3))
