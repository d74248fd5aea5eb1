"""La atención del curso es la de torch: salidas, pesos y gradientes, con cualquier máscara."""

import re

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers import (
    MASKS, TOLERANCES, WITH_BLOCKED_ROWS, close, few, leaks, make_mask, named_as_ours,
    oracle_attention, qkv, randomize, same_gradients, seeds, sizes,
)  # fmt: skip
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from course_lib import (
    MultiHeadAttention, ScaledDotProductAttention, causal_mask, convert_mask, padding_mask,
    scaled_dot_product_attention,
)  # fmt: skip
from course_lib.masks import MaskWarning

each_mask = pytest.mark.parametrize("kind", MASKS)
each_dtype = pytest.mark.parametrize("dtype", TOLERANCES, ids=str)


def attend_with_block(query, key, value, mask=None):
    """El bloque, con sus trucos de velocidad, en lugar de la función llana."""
    return ScaledDotProductAttention(query.shape[-1])(query, key, value, mask)


each_way = pytest.mark.parametrize(
    "attention", [scaled_dot_product_attention, attend_with_block], ids=["función", "bloque"]
)


# --- Producto escalar escalado --------------------------------------------------------------------


@each_mask
@few
@given(dims=sizes(6), seed=seeds)
def test_attention_is_torchs(kind, dims, seed):
    """Salida y gradientes de la función, y de las dos formas del módulo, iguales a los de torch."""
    torch.manual_seed(seed)
    inputs = qkv(*dims)
    mask = make_mask(kind, *dims[:4])
    theirs = F.scaled_dot_product_attention(
        *inputs, attn_mask=None if mask is None else torch.atleast_2d(mask)
    )
    upstream = torch.randn_like(theirs)
    expected = torch.autograd.grad(theirs, inputs, upstream)
    module = ScaledDotProductAttention(dims[4])
    for output, weights in (
        scaled_dot_product_attention(*inputs, mask),
        module(*inputs, mask),
        module(*inputs, mask, need_weights=False),
    ):
        close(output, theirs)
        if weights is not None:
            assert weights.shape == tuple(dims[:4])
        for ours, reference in zip(torch.autograd.grad(output, inputs, upstream), expected, strict=True):
            close(ours, reference)


@each_mask
@each_way
@few
@given(dims=sizes(6, largest=7), seed=seeds)
def test_attention_is_the_formula(attention, kind, dims, seed):
    """Salida y pesos iguales a los de la ecuación 1 calculada con bucles de Python."""
    torch.manual_seed(seed)
    inputs = qkv(*dims)
    mask = make_mask(kind, *dims[:4])
    output, weights = attention(*inputs, mask)
    expected_output, expected_weights = oracle_attention(*inputs, mask)
    close(output, expected_output)
    close(weights, expected_weights)


@each_mask
@pytest.mark.parametrize("grad", [True, False], ids=["con gradiente", "sin él"])
def test_the_block_does_the_same_as_the_function(kind, grad):
    """Los trucos de velocidad no cambian nada: como mucho, el último redondeo."""
    torch.manual_seed(4)
    dims = 2, 3, 33, 47, 64, 32
    inputs = [x.detach().requires_grad_(grad) for x in qkv(*dims, dtype=torch.float32)]
    inputs[1] = inputs[1].mT.contiguous().mT  # a saltos en la memoria, como las de cada cabeza
    mask = make_mask(kind, *dims[:4])
    plain = scaled_dot_product_attention(*inputs, mask)
    for ours, reference in zip(attend_with_block(*inputs, mask), plain, strict=True):
        assert (ours - reference).abs().max() <= 1e-6


@each_mask
@each_way
@pytest.mark.parametrize("dims", [(2, 3, 4, 5, 6, 7), (1, 1, 1, 1, 1, 1), (1, 2, 1, 3, 4, 5)], ids=str)
def test_gradients_by_finite_differences(attention, kind, dims):
    """El gradiente de la salida **y el de los pesos** son los de diferencias finitas."""
    torch.manual_seed(1)
    mask = make_mask(kind, *dims[:4])
    assert torch.autograd.gradcheck(lambda *inputs: attention(*inputs, mask), qkv(*dims), fast_mode=True)


@each_dtype
@each_mask
@each_way
def test_every_dtype(attention, kind, dtype):
    """En cada tipo, la salida y los pesos son los de float64 salvo el redondeo del propio tipo."""
    torch.manual_seed(2)
    dims = 3, 2, 5, 7, 8, 6
    inputs = qkv(*dims, dtype=dtype)
    mask = make_mask(kind, *dims[:4])
    expected = oracle_attention(*inputs, mask)
    output, weights = attention(*inputs, mask)
    fused, _ = ScaledDotProductAttention(8)(*inputs, mask, need_weights=False)
    assert output.dtype == weights.dtype == fused.dtype == dtype
    close(output, expected[0], dtype)
    close(weights, expected[1], dtype)
    close(fused, expected[0], dtype)
    if kind not in WITH_BLOCKED_ROWS:
        close(weights.sum(-1), torch.ones(dims[:3]), dtype)


@each_dtype
@pytest.mark.parametrize("way", ["función", "pesos", "fundida"])
@pytest.mark.parametrize("kind", WITH_BLOCKED_ROWS)
def test_blocked_rows_are_zero(kind, way, dtype):
    """Una fila bloqueada del todo da 0 exacto, y sus gradientes son finitos (0 en la query)."""
    torch.manual_seed(3)
    dims = 3, 2, 5, 7, 8, 6
    inputs = qkv(*dims, dtype=dtype)
    mask = make_mask(kind, *dims[:4])
    blocked = ~mask.expand(dims[:4]).any(-1)
    with torch.autograd.set_detect_anomaly(True):
        if way == "función":
            output, weights = scaled_dot_product_attention(*inputs, mask)
        else:
            output, weights = ScaledDotProductAttention(8)(*inputs, mask, way == "pesos")
        (output.float().square().sum() + (0 if weights is None else weights[..., 0].sum())).backward()
    assert blocked.any()
    assert not output[blocked].any()
    assert weights is None or not weights[blocked].any()
    for x in (output, *(x.grad for x in inputs)):
        assert x.isfinite().all()
    assert not inputs[0].grad[blocked].any()


@each_way
@pytest.mark.parametrize(("keep", "best"), [((1, 1, 1), 0), ((1, 1, 0), 0), ((0, 1, 1), 2), ((0, 1, 0), 1)])
def test_huge_scores(attention, keep, best):
    """Puntuaciones enormes dan pesos de 0 y 1, no NaN; lo bloqueado no gana ni a −10⁸."""
    query = torch.tensor([[1e4, 0.0]])
    key = torch.tensor([[1e4, 0.0], [-1e4, 0.0], [0.0, 1.0]])
    mask = torch.tensor(keep, dtype=torch.bool)
    output, weights = attention(query, key, torch.eye(3), mask)
    assert torch.equal(weights, F.one_hot(torch.tensor([best]), 3).float())
    assert torch.equal(output, weights)


@each_way
def test_inputs_are_not_modified(attention):
    """Atender no toca ni Q, ni K, ni V, ni la máscara."""
    mask = make_mask("filas bloqueadas", 2, 3, 4, 5)
    for inputs in (qkv(2, 3, 4, 5, 6, 7), [x.detach() for x in qkv(2, 3, 4, 5, 6, 7)]):
        copies = [x.clone() for x in (*inputs, mask)]
        attention(*inputs, mask)
        assert all(torch.equal(x, copy) for x, copy in zip((*inputs, mask), copies, strict=True))


# --- Multicabeza ---------------------------------------------------------------------------------


def pair_of_attentions(heads, d_k, kdim=None, vdim=None, bias=True, dtype=torch.float64):
    """La multicabeza de torch y la del curso, con los mismos pesos."""
    d_model = heads * d_k
    theirs = nn.MultiheadAttention(
        d_model, heads, kdim=kdim, vdim=vdim, bias=bias, batch_first=True, dtype=dtype
    )
    ours = MultiHeadAttention(heads, d_model, kdim=kdim, vdim=vdim, bias=bias).to(dtype)
    ours.load_state_dict(named_as_ours(randomize(theirs)))
    return theirs, ours


def torch_masks(kind, mask, batch, heads, L_q, L_k, convention):
    """La misma máscara, como la quiere ``nn.MultiheadAttention``: bloqueo booleano o aditiva."""
    if mask is None:
        return {}
    blocked = convert_mask(mask, "keep", convention, dtype=torch.float64)
    if kind == "relleno":
        return {"key_padding_mask": blocked[:, 0, 0]}
    if kind == "causal":
        return {"attn_mask": blocked}
    return {"attn_mask": blocked.expand(batch, heads, L_q, L_k).flatten(0, 1)}


@pytest.mark.parametrize("convention", ["block", "additive"])
@pytest.mark.parametrize("kind", [kind for kind in MASKS if kind not in WITH_BLOCKED_ROWS])
@few
@given(dims=sizes(7), seed=seeds, other_widths=st.booleans(), bias=st.booleans())
def test_multi_head_is_torchs(kind, convention, dims, seed, other_widths, bias):
    """Salida, pesos y gradientes de entradas y parámetros, con L_q ≠ L_k, kdim y vdim."""
    torch.manual_seed(seed)
    batch, heads, L_q, L_k, d_k, kdim, vdim = dims
    d_model = heads * d_k
    widths = {"kdim": kdim, "vdim": vdim} if other_widths else {}
    theirs, ours = pair_of_attentions(heads, d_k, **widths, bias=bias)
    shapes = (
        (batch, L_q, d_model),
        (batch, L_k, widths.get("kdim", d_model)),
        (batch, L_k, widths.get("vdim", d_model)),
    )
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    mask = make_mask(kind, batch, heads, L_q, L_k)
    expected, expected_weights = theirs(
        *inputs, average_attn_weights=False, **torch_masks(kind, mask, batch, heads, L_q, L_k, convention)
    )
    output, weights = ours(*inputs, mask)
    fused, nothing = ours(*inputs, mask, need_weights=False)
    assert nothing is None
    close(output, expected)
    close(weights, expected_weights)
    close(fused, expected)

    upstream, upstream_weights = torch.randn_like(output), torch.randn_like(weights)
    expected_grads = torch.autograd.grad(expected, inputs, upstream, retain_graph=True)
    for actual in (output, fused):
        grads = torch.autograd.grad(actual, inputs, upstream, retain_graph=True)
        for grad, expected_grad in zip(grads, expected_grads, strict=True):
            close(grad, expected_grad)
    torch.autograd.backward([expected, expected_weights], [upstream, upstream_weights])
    torch.autograd.backward([output, weights], [upstream, upstream_weights])
    same_gradients(ours, theirs)


@each_dtype
def test_multi_head_every_dtype(dtype):
    """La multicabeza en cada tipo se parece a la misma en float64."""
    torch.manual_seed(5)
    _, ours = pair_of_attentions(2, 8)
    nn.init.orthogonal_(ours.value_projection.weight)
    x, y = torch.randn(3, 5, 16).double(), torch.randn(3, 7, 16).double()
    mask = make_mask("filas bloqueadas", 3, 2, 5, 7)
    ours.to(dtype)
    rounded = [z.to(dtype) for z in (x, y)]
    exact = pair_of_attentions(2, 8)[1]
    exact.load_state_dict(ours.state_dict())
    expected, expected_weights = exact(*(z.double() for z in (*rounded, rounded[1])), mask)
    output, weights = ours(rounded[0], rounded[1], rounded[1], mask)
    assert output.dtype == weights.dtype == dtype
    scale = expected.abs().max()
    close(output / scale, expected / scale, dtype)
    close(weights, expected_weights, torch.bfloat16 if dtype == torch.float16 else dtype)


def test_autocast_and_training_in_half_precision():
    """Con autocast en bfloat16 funciona y da gradientes finitos."""
    torch.manual_seed(6)
    ours = MultiHeadAttention(2, 8)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        output, weights = ours(*[torch.randn(2, 3, 8)] * 3, causal_mask(3))
        output.float().sum().backward()
    assert weights.isfinite().all()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in ours.parameters())


# --- Fugas ----------------------------------------------------------------------------------------

LENGTH = 6


LEAK_MASKS = {
    "causal": torch.tensor([[j <= i for j in range(LENGTH)] for i in range(LENGTH)]),
    "relleno": padding_mask(torch.tensor([[1, 1, 1, 1, 0, 0]]))[0, 0],
    "cualquiera": torch.rand(LENGTH, LENGTH, generator=torch.Generator().manual_seed(0)) > 0.5,
}


@each_dtype
@pytest.mark.parametrize("mask", LEAK_MASKS.values(), ids=LEAK_MASKS)
@pytest.mark.parametrize("need_weights", [True, False], ids=["pesos", "fundida"])
def test_no_leak_through_attention(mask, need_weights, dtype):
    """Lo que no se puede ver no mueve ni un bit de la salida; lo que se puede ver, sí la mueve."""
    torch.manual_seed(7)
    query, x = (torch.randn(2, LENGTH, 5).to(dtype) for _ in range(2))
    module = ScaledDotProductAttention(5)

    def function(x):  # de las keys y los values
        return module(query, x, x, mask, need_weights)[0]

    assert leaks(function, x, mask.expand(LENGTH, LENGTH)) == []
    if mask.shape[0] > 1:
        assert leaks(function, x, torch.zeros(LENGTH, LENGTH, dtype=torch.bool)) != []


# --- Errores --------------------------------------------------------------------------------------


def attend(mask=None, query=(2, 3, 4, 6), key=(2, 3, 5, 6), value=(2, 3, 5, 7)):
    return scaled_dot_product_attention(*(torch.randn(shape) for shape in (query, key, value)), mask)


@pytest.mark.parametrize(("heads", "dim", "words"), [
    (5, 12, ["heads = 5", "dim_embedding = 12", "sobran 2", "heads = 2, 3, 4 o 6."]),
    (8, 100, ["heads = 8", "dim_embedding = 100", "heads = 2, 4, 5 o 10."]),
    (2, 1, ["heads = 2", "dim_embedding = 1", "Prueba con heads = 1."]),
    (3, 7, ["heads = 3", "heads = 1 o 7."]),
    (2.0, 8, ["heads = 2.0", "entero"]),
    (np.float64(2), 8, ["heads = ", "entero de 1"]),
    (np.True_, 8, ["heads = ", "entero de 1"]),
    ("2", 8, ["heads = '2'", "entero"]),
    (True, 8, ["heads = True", "entero"]),
    (None, 8, ["heads = None", "entero"]),
    (0, 8, ["heads = 0", "de 1 en adelante"]),
    (-2, 8, ["heads = -2", "de 1 en adelante"]),
    (2, 8.0, ["dim_embedding = 8.0", "entero"]),
])  # fmt: skip
def test_wrong_heads(heads, dim, words):
    """Si las cabezas no dividen, o no son un entero, el error da los números y una salida."""
    with pytest.raises(ValueError, match="MultiHeadAttention") as error:
        MultiHeadAttention(heads, dim)
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.parametrize(("shapes", "words"), [
    ({"query": (6,)}, ["query necesita al menos dos ejes", "query (6,)"]),
    ({"key": (2, 3, 5, 8)}, ["queries miden 6", "keys 8", "d_k", "key (2, 3, 5, 8)"]),
    ({"value": (2, 3, 4, 7)}, ["5 keys y 4 values", "L_k", "value (2, 3, 4, 7)"]),
    ({"key": (2, 4, 5, 6)}, ["lote y cabezas", "query (2, 3, 4, 6)", "key (2, 4, 5, 6)"]),
    ({"value": (5, 3, 5, 7)}, ["lote y cabezas", "value (5, 3, 5, 7)"]),
])  # fmt: skip
@pytest.mark.parametrize("module", [False, True], ids=["función", "módulo"])
def test_shapes_that_disagree(shapes, words, module):
    """Formas que no encajan: el error nombra cada tensor y su forma, por los dos caminos."""
    every = {"query": (2, 3, 4, 6), "key": (2, 3, 5, 6), "value": (2, 3, 5, 7)} | shapes
    tensors = [torch.randn(shape) for shape in every.values()]
    attention = ScaledDotProductAttention(6) if module else scaled_dot_product_attention
    with pytest.raises(ValueError, match="atención") as error:
        attention(*tensors)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_other_bad_inputs():
    """Tipos mezclados, d_k distinto del anunciado, y rango o anchura equivocados."""
    x = torch.randn(2, 3, 4)
    with pytest.raises(ValueError, match=r"key torch\.float64.*\.to\(dtype\)"):
        scaled_dot_product_attention(x, x.double(), x)
    with pytest.raises(ValueError, match=r"dim_key=8.*\(2, 3, 4\).*medir 8"):
        ScaledDotProductAttention(8)(x, x, x)
    module = MultiHeadAttention(2, 4, kdim=5)
    with pytest.raises(ValueError, match=r"query tiene forma \(3, 4\).*query\.unsqueeze\(0\)"):
        module(x[0], torch.randn(2, 3, 5), x)
    with pytest.raises(ValueError, match=r"query tiene forma \(1, 2, 3, 4\).*tres ejes: \(B, L, 4\)"):
        module(x[None], torch.randn(2, 3, 5), x)
    with pytest.raises(ValueError, match=r"key tiene forma \(2, 3, 4\).*medir 5"):
        module(x, x, x)
    with pytest.raises(ValueError, match=r"3 keys y 2 values"):
        module(x, torch.randn(2, 3, 5), x[:, :2])


@pytest.mark.parametrize("bad", [
    torch.randn(2, 3, 6).tolist(), torch.randn(2, 3, 6).numpy(), torch.ones(2, 3, 6, dtype=torch.long),
    torch.randn(2, 3, 6).double(), torch.randn(2, 3, 5), torch.randn(3, 6), torch.randn(1, 2, 3, 6), None,
])  # fmt: skip
@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("traced", [False, pytest.param(True, marks=pytest.mark.lenta)])
def test_what_torch_cannot_do_is_said_in_spanish(bad, place, traced):
    """En cualquiera de los tres, también al trazar la cuenta; y lo que diría torch no se ve."""
    module, given = MultiHeadAttention(2, 6), [torch.randn(2, 3, 6)] * 3
    module(*given)
    given[place] = bad
    call = torch.compile(module, backend="eager") if traced else module
    with pytest.raises((TypeError, ValueError), match=r"^MultiHeadAttention: (query|key|value) ") as error:
        call(*given)
    assert error.value.__suppress_context__ or not error.value.__context__


@pytest.mark.parametrize(("mask", "kind", "words"), [
    (torch.ones(2, 5), TypeError, ["torch.float32", "torch.bool", "mask.bool()", "~mask.bool()"]),
    ([[True] * 5] * 4, TypeError, ["list", "tensor booleano", "True = puede atender"]),
    (torch.ones(5, 4).bool(), ValueError, ["forma (5, 4)", "(2, 3, 4, 5)", "L_q = 4 queries y L_k = 5"]),
])  # fmt: skip
@pytest.mark.parametrize("need_weights", [True, False], ids=["pesos", "fundida"])
def test_a_wrong_mask_is_said_by_both_ways(mask, kind, words, need_weights):
    """Lo que dice ``check_mask``: qué es, o las dos formas. Sus pistas las mira ``test_masks``."""
    q, k, v = qkv(2, 3, 4, 5, 6, 7)
    with pytest.raises(kind) as error:
        ScaledDotProductAttention(6)(q, k, v, mask, need_weights)
    assert all(word in str(error.value) for word in words), str(error.value)


def test_a_doubtful_mask_warns():
    """Con B = h, (B, L_q, L_k) se toma por cabezas: avisa y dice cómo se pone el lote."""
    with pytest.warns(MaskWarning, match=r"B = h = 3.*unsqueeze\(1\)"):
        attend(torch.ones(3, 4, 5, dtype=torch.bool), (3, 3, 4, 6), (3, 3, 5, 6), (3, 3, 5, 7))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("need_weights", [True, False], ids=["pesos", "fundida"])
@pytest.mark.parametrize(("of_queries", "of_keys"), [((1,), (5,)), ((5, 1), (2,)), ((2,), (5, 1))])
def test_the_mask_fits_the_scores_and_not_the_queries(of_queries, of_keys, need_weights):
    """Si las keys tienen ejes que las queries no, las puntuaciones también, y la máscara vale."""
    torch.manual_seed(0)
    scores = torch.broadcast_shapes(of_queries, of_keys)
    q, k, v = torch.randn(*of_queries, 3, 4), torch.randn(*of_keys, 6, 4), torch.randn(*of_keys, 6, 7)
    mask = torch.rand(*scores, 3, 6) > 0.3
    output, _ = ScaledDotProductAttention(4)(q, k, v, mask, need_weights)
    by_itself, _ = scaled_dot_product_attention(
        q.expand(*scores, 3, 4), k.expand(*scores, 6, 4), v.expand(*scores, 6, 7), mask
    )
    torch.testing.assert_close(output, by_itself)
    torch.testing.assert_close(scaled_dot_product_attention(q, k, v, mask)[0], by_itself)
    with pytest.raises(ValueError, match=re.escape(str((*scores, 3, 6)))):
        ScaledDotProductAttention(4)(q, k, v, mask[..., :2], need_weights)
