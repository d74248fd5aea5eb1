"""Las máscaras: qué dejan ver, cómo se combinan y qué hacen con ellas las API de torch."""

import re

import pytest
import torch
from helpers import few, seeds, sizes
from hypothesis import given
from hypothesis import strategies as st

from course_lib import causal_mask, combine_masks, convert_mask, padding_mask, window_mask
from course_lib.masks import CONVENTIONS, MaskWarning, check_mask

each_convention = pytest.mark.parametrize("target", CONVENTIONS)
lengths = st.integers(1, 12)
float_types = st.sampled_from([torch.float64, torch.float32, torch.bfloat16, torch.float16])


def random_mask(seed, *shape):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) > 0.5


@few
@given(length=lengths)
def test_causal_mask(length):
    """Se ve uno mismo y el pasado, nunca el futuro; una sola posición se ve a sí misma."""
    mask = causal_mask(length)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[j <= i for j in range(length)] for i in range(length)]


@few
@given(dims=sizes(2), seed=seeds)
def test_padding_mask(dims, seed):
    """(B, L_k) → (B, 1, 1, L_k), de enteros, booleanos, flotantes o listas; no toca la original."""
    keep = random_mask(seed, *dims)
    for given_mask in (keep, keep.long(), keep.float(), keep.to(torch.uint8), keep.long().tolist()):
        mask = padding_mask(given_mask)
        assert mask.dtype == torch.bool
        assert mask.shape == (dims[0], 1, 1, dims[1])
        assert torch.equal(mask[:, 0, 0], keep)


@few
@given(dims=sizes(4), seed=seeds)
def test_combine_masks(dims, seed):
    """Es la conjunción, con la forma común; ``None`` no restringe; el orden da igual."""
    batch, heads, L_q, L_k = dims
    one, two = random_mask(seed, batch, 1, 1, L_k), random_mask(seed + 1, heads, L_q, 1)
    combined = combine_masks(one, None, two)
    assert combined.shape == tuple(dims)
    for b, h, i, j in torch.cartesian_prod(*map(torch.arange, dims)).tolist():
        assert combined[b, h, i, j] == (one[b, 0, 0, j] and two[h, i, 0])
    assert torch.equal(combine_masks(two, one), combined)
    assert torch.equal(combine_masks(None, one), one)
    assert combine_masks() is combine_masks(None, None) is None


# --- Los tres convenios ---------------------------------------------------------------------------


@pytest.mark.parametrize("source", CONVENTIONS)
@each_convention
@few
@given(dims=sizes(4, largest=5), seed=seeds, dtype=float_types)
def test_convert_round_trip(source, target, dims, seed, dtype):
    """Ir y volver entre dos convenios cualesquiera no pierde nada, y cada uno dice lo que dice."""
    keep = random_mask(seed, *dims)
    written = {"keep": keep, "block": ~keep, "additive": torch.where(keep, 0.0, -torch.inf).to(dtype)}
    copy = written[source].clone()
    converted = convert_mask(written[source], source, target, dtype=dtype)
    assert converted.dtype == written[target].dtype
    assert torch.equal(converted, written[target])
    assert torch.equal(convert_mask(converted, target, source, dtype=dtype), written[source])
    converted.fill_(0)
    assert torch.equal(written[source], copy), "el resultado no comparte memoria con la original"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int64], ids=str)
@pytest.mark.parametrize("number", [-1000, -9999, -1e4, -65504, -1e9, -3.4e38, -torch.inf, "min", "min + min"])
def test_masks_of_other_programs(number, dtype):
    """Hay quien escribe −∞ de otra manera; la atención dice qué llamada lo entiende, y es verdad."""
    keep = torch.rand(2, 1, 4, 5, generator=torch.Generator().manual_seed(0)) < 0.5
    lowest = torch.finfo(dtype).min if dtype.is_floating_point else -(2**62)
    if not isinstance(number, str) and number < lowest and not (dtype.is_floating_point and number < -1e38):
        return  # en ese tipo no cabe
    value = lowest if isinstance(number, str) or number < lowest else number
    mask = (0 * ~keep).to(dtype).masked_fill(~keep, value)
    mask = mask + mask if number == "min + min" else mask
    mask = torch.where(keep, -mask, mask)  # y −0 es 0
    for form in (mask, mask.float().tolist(), mask.float().numpy()):
        with pytest.raises(TypeError, match="convert_mask") as error:
            check_mask(form, (2, 3, 4, 5))
        call = re.search(r"usa (convert_mask\(.*\))\.", str(error.value))[1]
        assert torch.equal(eval(call, globals(), {"mask": form}), keep)


# --- Errores --------------------------------------------------------------------------------------

BOOL = torch.ones(2, 3, dtype=torch.bool)


@pytest.mark.parametrize("length", [0, -1, 2.0, "5", None, True, torch.tensor(3)], ids=repr)
def test_wrong_length(length):
    """El largo es un entero de 1 en adelante; el error dice cuál llegó y da un ejemplo."""
    with pytest.raises(ValueError, match=r"causal_mask: length = .*causal_mask\(5\)") as error:
        causal_mask(length)
    assert repr(length) in str(error.value)


def padded(mask, *words):
    """Un caso de la tabla: una máscara de relleno que no lo es."""
    return lambda: padding_mask(mask), ValueError, ["padding_mask: attention_mask", *words]


@pytest.mark.parametrize(("function", "kind", "words"), [
    (lambda: combine_masks(BOOL, BOOL.long()), TypeError,
     ["combine_masks", "torch.int64", "mask.bool()"]),
    (lambda: combine_masks(BOOL, BOOL.tolist()), TypeError, ["combine_masks", "list"]),
    (lambda: combine_masks(BOOL.long()), TypeError, ["combine_masks", "torch.int64"]),
    (lambda: combine_masks(BOOL, BOOL.mT), ValueError, ["(2, 3) y (3, 2)", "(B, h, L_q, L_k)"]),
    (lambda: convert_mask(BOOL, "Keep", "block"), ValueError, ["source = 'Keep'", "'keep', 'block'"]),
    (lambda: convert_mask(BOOL, "keep", None), ValueError, ["target = None", "'additive'"]),
    (lambda: convert_mask(BOOL, "additive", "keep"), TypeError, ["torch.bool", '"keep" o "block"']),
    (lambda: convert_mask([[0.0]], "additive", "keep"), TypeError, ["list", "flotante"]),
    (lambda: convert_mask(BOOL.float(), "keep", "block"), TypeError, ["torch.float32", "torch.bool"]),
    (lambda: convert_mask(BOOL * -2.5, "additive", "keep"), ValueError, ["-2.5", "sesgo"]),
    (lambda: convert_mask(BOOL * torch.nan, "additive", "keep"), ValueError, ["nan", "sesgo"]),
    (lambda: convert_mask(BOOL * torch.inf, "additive", "keep"), ValueError, ["inf", "sesgo"]),
    (lambda: convert_mask(-torch.arange(5.0), "additive", "keep"), ValueError, ["-1)", "sesgo"]),
    (lambda: convert_mask(BOOL * -100.0, "additive", "keep"), ValueError, ["-100", "sesgo"]),
    (lambda: convert_mask(BOOL.float(), "additive", "keep"), ValueError, ["(por ejemplo, 1)", "signo"]),
    (lambda: combine_masks(BOOL * -2.5), TypeError, ["-2.5", "sesgo", "attn_mask=mask"]),
    (lambda: combine_masks(BOOL.numpy()), TypeError, ["ndarray", "Usa torch.as_tensor(mask)."]),
    (lambda: combine_masks(BOOL.long()), TypeError, ["int64", "padding_mask(mask)", "~mask.bool()"]),
    (lambda: combine_masks("máscara"), TypeError, ["str", "¿Es lo que querías pasar?"]),
    (lambda: convert_mask(BOOL, "keep", "additive", torch.bool), ValueError, ["dtype = torch.bool"]),
    (lambda: convert_mask(BOOL, "keep", "additive", torch.int64), ValueError, ["dtype = torch.int64"]),
    padded(torch.ones(4), "(4,)", "(B, L_k)", "attention_mask[None]"),
    padded(torch.ones(2, 1, 1, 4), "(2, 1, 1, 4)", "(B, L_k)"),
    padded(torch.tensor([[1, 2, 0]]), "[0, 1, 2]", "1 (token de verdad)"),
    padded(torch.tensor([[0.0, -torch.inf]]), "-inf", 'convert_mask(mask, "additive", "keep")'),
    padded(torch.tensor([[1.0, torch.nan]]), "nan"), padded(None, "None", "padding=True"),
    padded([[1, 1], [1]], "[[1, 1], [1]]", "padding=True"), padded("frase", "'frase'", "padding=True"),
])  # fmt: skip
def test_wrong_masks(function, kind, words):
    """Las tres nombran el argumento, la forma o el valor, y cómo arreglarlo."""
    with pytest.raises(kind) as error:
        function()
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.parametrize(("shape", "target", "hint"), [
    ((2, 5), (2, 3, 4, 5), r"padding_mask\(attention_mask\)"),
    ((2, 5), (2, 3, 5), r"padding_mask\(attention_mask\)"),
    ((2, 4, 5), (2, 3, 4, 5), r"mask\.unsqueeze\(1\)"),
    ((2, 5, 1), (2, 3, 4, 5), r"mask\.unsqueeze\(1\)"),
    ((2, 3, 9, 9), (2, 3, 4, 5), "1 o lo mismo"),
    ((5, 4), (2, 3, 4, 5), r"traspuesta.*mask\.mT"),
    ((2, 1, 5, 4), (2, 3, 4, 5), r"traspuesta.*mask\.mT"),
    ((1, 1, 4, 5), (4, 5), "Le sobran ejes"),
    ((4, 6), (4, 5), "1 o lo mismo"),
    ((3, 4, 5), (1, 4, 5), "1 o lo mismo"),
])  # fmt: skip
def test_check_mask_hints(shape, target, hint):
    """Lo que no se difunde es un error con las dos formas y una pista."""
    with pytest.raises(ValueError, match=hint) as error:
        check_mask(torch.ones(shape, dtype=torch.bool), target)
    assert str(shape) in str(error.value)
    assert str(target) in str(error.value)


@pytest.mark.parametrize("shape", [(2, 1, 4, 1), (4, 1), (1, 1, 4, 1)])
def test_check_mask_warns_of_blocked_queries(shape):
    """Tamaño 1 en el eje de las keys bloquea filas enteras: avisa."""
    with pytest.warns(MaskWarning, match="eje de las keys.*queries.*padding_mask"):
        check_mask(torch.ones(shape, dtype=torch.bool), (2, 3, 4, 5))


SHAPES = (), (5,), (1, 5), (4, 5), (1, 1), (2, 1, 1, 5), (3, 4, 5), (1, 4, 5), (2, 3, 4, 5)
ONE = (1, 1, 4, 5), (1, 3, 4, 5), (3, 1, 4, 5)  # con B = 1 o h = 1, tres ejes no se confunden


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("shape", "target"), [
    *((shape, (2, 3, 4, 5)) for shape in SHAPES), *(((1, 4, 5), target) for target in ONE),
])  # fmt: skip
def test_check_mask_accepts_every_broadcast(shape, target):
    """Todo lo que se difunde hasta (B, h, L_q, L_k) vale, sin avisos; ``None`` también."""
    check_mask(torch.ones(shape, dtype=torch.bool), target)
    check_mask(None, target)


# --- Ventana ---------------------------------------------------------------------------------------


@few
@given(length=st.integers(1, 9), width=st.integers(1, 12), sinks=st.integers(0, 12))
def test_window_is_its_formula(length, width, sinks):
    mask = window_mask(length, width, sinks)
    expected = [[j <= i and (i - j < width or j < sinks) for j in range(length)] for i in range(length)]
    assert mask.dtype == torch.bool
    assert mask.tolist() == expected


@pytest.mark.parametrize("wrong", [{"width": 0}, {"width": 2.0}, {"width": True}, {"sinks": -1}])
def test_impossible_windows(wrong):
    [(name, value)] = wrong.items()
    with pytest.raises(ValueError, match=f"window_mask: {name} = {value}"):
        window_mask(5, **{"width": 3, **wrong})
    with pytest.raises(ValueError, match="length = 0"):
        window_mask(0, 3)
