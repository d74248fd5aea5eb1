"""Keys y values compartidos y guardados: como los de torch, y como si no se guardara nada."""

import pytest
import torch
import torch.nn.functional as F
from helpers import close, few, randomize, seeds
from hypothesis import given
from hypothesis import strategies as st

from course_lib import MultiHeadAttention, Transformer, causal_mask, padding_mask
from course_lib.cache import DecoderCache, KeyValueCache
from course_lib.decoder_only import GroupedQueryAttention

groups = st.sampled_from([(6, 3), (6, 2), (6, 1), (4, 4), (8, 2)])


def attention_of(heads, kv_heads, seed=0, **options):
    torch.manual_seed(seed)
    return randomize(GroupedQueryAttention(heads, 6 * heads, kv_heads=kv_heads, **options)).double()


# --- Cabezas compartidas ----------------------------------------------------------------------------


@few
@given(sizes=groups, seed=seeds, causal=st.booleans())
def test_grouped_heads_are_torchs(sizes, seed, causal):
    """Con la atención agrupada de torch sobre las mismas proyecciones: salida y gradientes."""
    heads, kv_heads = sizes
    attention = attention_of(heads, kv_heads, seed)
    x = torch.randn(3, 7, 6 * heads, dtype=torch.float64, requires_grad=True)
    mask = causal_mask(7) if causal else None
    queries, keys, values = (
        F.linear(x, linear.weight, linear.bias).unflatten(-1, (-1, 6)).transpose(1, 2)
        for linear in (attention.query_projection, attention.key_projection, attention.value_projection)
    )
    assert keys.shape == values.shape == (3, kv_heads, 7, 6)
    theirs = F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, enable_gqa=True)
    expected = attention.output_projection(theirs.transpose(1, 2).flatten(-2))
    upstream = torch.randn_like(expected)
    inputs = [x, *attention.parameters()]
    wanted = torch.autograd.grad(expected, inputs, upstream, retain_graph=True)
    for need_weights in (True, False):
        output, weights = attention(x, x, x, mask, need_weights)
        close(output, expected)
        assert weights is None or weights.shape == (3, heads, 7, 7)
        for ours, right in zip(torch.autograd.grad(output, inputs, upstream), wanted):
            close(ours, right)


@pytest.mark.parametrize(("heads", "dim", "kv_heads", "words"), [
    *((6, 24, wrong, f"kv_heads = {wrong}") for wrong in (4, 5, 12, 0, -1, True, 2.0)),
    (0, 24, None, "heads = 0 y"),  # los de la multicabeza, con el nombre de quien los da
    (5, 24, None, "heads = 5 no divide a dim_embedding = 24"),
    (6, 24.0, None, "dim_embedding = 24.0 y"),
])  # fmt: skip
def test_heads_that_do_not_fit(heads, dim, kv_heads, words):
    with pytest.raises(ValueError, match=f"GroupedQueryAttention: {words}"):
        GroupedQueryAttention(heads, dim, kv_heads=kv_heads)


def test_without_sharing_it_is_multi_head():
    """Tantas cabezas de keys y values como de queries, y sin giro: la multicabeza, bit a bit."""
    grouped, plain = attention_of(6, None), MultiHeadAttention(6, 36).double()
    plain.load_state_dict(grouped.state_dict())
    x, source = torch.randn(2, 4, 36).double(), torch.randn(2, 5, 36).double()
    for ours, theirs in zip(grouped(x, source, source), plain(x, source, source)):
        assert torch.equal(ours, theirs)
    assert grouped.kv_heads == 6


# --- La caché de una atención -----------------------------------------------------------------------


@few
@given(sizes=groups, seed=seeds, base=st.sampled_from([None, 100.0]))
def test_in_pieces_as_at_once(sizes, seed, base):
    """Por trozos de cualquier longitud, con la máscara alargada: lo mismo que de una vez."""
    heads, kv_heads = sizes
    attention = attention_of(heads, kv_heads, seed, rotary_base=base)
    x = torch.randn(2, 9, 6 * heads, dtype=torch.float64)
    expected, expected_weights = attention(x, x, x, causal_mask(9))
    cache, outputs = KeyValueCache(), []
    for piece in x.split([3, 1, 1, 4], dim=1):
        length = piece.shape[1]
        mask = causal_mask(cache.length + length)[cache.length :]
        output, weights = attention(piece, piece, piece, mask, cache=cache)
        outputs.append(output)
    close(torch.cat(outputs, dim=1), expected)
    close(weights, expected_weights[:, :, 5:])
    assert cache.length == 9
    assert cache.keys.shape == (2, kv_heads, 9, 6)
    assert cache.nbytes == 2 * 2 * kv_heads * 9 * 6 * 8


def test_another_batch_needs_another_cache():
    attention, cache = attention_of(6, 2), KeyValueCache()
    x = torch.randn(3, 4, 36, dtype=torch.float64)
    attention(x, x, x, cache=cache)
    with pytest.raises(ValueError, match=r"\(1, 2, 4, 6\).*\(3, 2, 4, 6\).*su propia caché"):
        attention(x[:1], x[:1], x[:1], cache=cache)
    assert cache.length == 4  # lo que había sigue igual


def test_a_mask_as_long_as_the_new_is_too_short():
    attention, cache = attention_of(6, 6), KeyValueCache()
    x = torch.randn(1, 4, 36, dtype=torch.float64)
    attention(x, x, x, causal_mask(4), cache=cache)
    with pytest.raises(ValueError, match=r"\(4, 4\).*\(1, 6, 4, 8\)"):
        attention(x, x, x, causal_mask(4), cache=cache)


def test_empty_cache():
    cache = DecoderCache(3)
    assert cache.length == cache.nbytes == KeyValueCache().nbytes == 0
    cache.keep(torch.tensor([0, 0]))
    assert cache.length == 0


# --- La del decoder entero --------------------------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("need_weights", [False, True])
def test_decoder_in_pieces_with_padding(need_weights):
    """Con relleno en el origen y en el destino, y con los pesos de todas las capas."""
    torch.manual_seed(0)
    model = randomize(Transformer(7, 11, 24, 40, 3, 1, Nx_decoder=2)).double().eval()
    ids, encoded = torch.randint(11, (2, 8)), torch.randn(2, 5, 24, dtype=torch.float64)
    source = padding_mask(torch.tensor([[1, 1, 1, 0, 0], [1] * 5]))
    target = padding_mask(torch.tensor([[0, 1, 1, 1, 1, 1, 1, 1], [1] * 8]))
    expected, expected_weights = model.decoder(ids, encoded, target, source, need_weights=True)
    cache, outputs, start = DecoderCache(2), [], 0
    for piece in ids.split([2, 5, 1], dim=1):
        end = start + piece.shape[1]
        options = {"need_weights": need_weights, "cache": cache}
        output, weights = model.decoder(piece, encoded, target[..., :end], source, **options)
        if need_weights:
            for layer, (own, cross) in enumerate(expected_weights):
                close(weights[layer][0], own[:, :, start:end, :end])
                close(weights[layer][1], cross[:, :, start:end])
        outputs.append(output)
        start = end
    close(torch.cat(outputs, dim=1), expected)
    assert cache.nbytes == 2 * 2 * 2 * 24 * (8 + 5) * 8  # N · capas · keys y values · d_model · tokens


def test_positions_do_not_begin_again():
    """Más tokens que posiciones, contando los guardados: se dice, y con la cuenta entera."""
    model, cache = Transformer(7, 11, 24, 6, 3, 1), DecoderCache(1)
    ids, encoded = torch.zeros(1, 4, dtype=torch.long), torch.randn(1, 5, 24)
    model.decoder(ids, encoded, cache=cache)
    with pytest.raises(ValueError, match="8 tokens y hay 6 posiciones"):
        model.decoder(ids, encoded, cache=cache)
