"""El Transformer del curso es el de torch, por capas y entero, y no deja ver el futuro."""

import pytest
import torch
from helpers import (
    close, few, gradients, influence, leaks, named_as_ours, randomize, same_gradients, seeds, sizes,
)  # fmt: skip
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from course_lib import (
    Decoder, DecoderLayer, Encoder, EncoderLayer, Transformer, causal_mask, combine_masks, convert_mask,
    padding_mask,
)  # fmt: skip

options = st.fixed_dictionaries(
    {
        "activation": st.sampled_from(["relu", "gelu"]),
        "eps": st.sampled_from([1e-5, 1e-12, 1e-2]),
        "increment": st.sampled_from([1, 2, 4]),
    }
)
stacked = pytest.mark.parametrize("stack", [False, True], ids=["capa", "pila"])
masked = pytest.mark.parametrize("with_masks", [False, True], ids=["sin máscara", "con máscaras"])


def torch_options(d_model, activation, eps, increment):
    """Las mismas opciones, con los nombres de torch."""
    fixed = {"dropout": 0.0, "batch_first": True, "dtype": torch.float64}
    return fixed | {"dim_feedforward": increment * d_model, "activation": activation, "layer_norm_eps": eps}


def padded(batch, length):
    """attention_mask con un relleno distinto en cada frase y al menos un token de verdad."""
    return (torch.arange(length) < torch.randint(1, length + 1, (batch, 1))).long()


def same(ours, theirs, shapes, masks, named):
    """Con los mismos pesos, la misma salida, se pidan o no los de atención, y los mismos gradientes.

    Entran unos tensores de esas formas y las máscaras: ``masks``, las del curso; ``named``, las de torch.
    Devuelve los pesos de atención.
    """
    ours.double().load_state_dict(named_as_ours(randomize(theirs)))
    inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    copies = [x.detach().clone().requires_grad_() for x in inputs]
    expected = theirs(*copies, **named)
    output, weights = ours(*inputs, *masks, need_weights=True)
    close(output, expected)
    without, nothing = ours(*inputs, *masks)
    close(without, expected)
    assert nothing is None
    upstream = torch.randn_like(output)
    for actual in (output, expected):
        actual.backward(upstream)
    for x, copy in zip(inputs, copies, strict=True):
        close(x.grad, copy.grad)
    same_gradients(ours, theirs)
    return weights


# --- Contra torch ---------------------------------------------------------------------------------


@stacked
@masked
@few
@given(dims=sizes(4, largest=6), seed=seeds, options=options)
def test_encoder_is_torchs(stack, with_masks, dims, seed, options):
    """EncoderLayer y Encoder, entrenando: salida, pesos y gradientes."""
    torch.manual_seed(seed)
    batch, heads, length, d_k = dims
    theirs = nn.TransformerEncoderLayer(heads * d_k, heads, **torch_options(heads * d_k, **options))
    ours = EncoderLayer(heads, heads * d_k, **options)
    if stack:
        theirs = nn.TransformerEncoder(theirs, 3, enable_nested_tensor=False)
        ours = Encoder(heads, heads * d_k, 3, **options)
    mask, masks = None, {}
    if with_masks:
        keep = padded(batch, length)
        mask = combine_masks(causal_mask(length), padding_mask(keep))
        causal = convert_mask(causal_mask(length), "keep", "block")
        masks = {"mask" if stack else "src_mask": causal, "src_key_padding_mask": keep == 0}
    weights = same(ours, theirs, [(batch, length, heads * d_k)], [mask], masks)
    for each in weights if stack else [weights]:
        assert each.shape == (batch, heads, length, length)
        close(each.sum(-1), torch.ones(batch, heads, length))


@stacked
@masked
@few
@given(dims=sizes(5, largest=6), seed=seeds, options=options)
def test_decoder_is_torchs(stack, with_masks, dims, seed, options):
    """DecoderLayer y Decoder, con m_D ≠ m_E: salida, las dos clases de pesos y gradientes."""
    torch.manual_seed(seed)
    batch, heads, m_d, m_e, d_k = dims
    d_model = heads * d_k
    theirs = nn.TransformerDecoderLayer(d_model, heads, **torch_options(d_model, **options))
    ours = DecoderLayer(heads, d_model, **options)
    if stack:
        theirs = nn.TransformerDecoder(theirs, 2)
        ours = Decoder(heads, d_model, 2, **options)
    mask, source_mask, masks = None, None, {}
    if with_masks:
        target, source = padded(batch, m_d), padded(batch, m_e)
        mask = combine_masks(causal_mask(m_d), padding_mask(target))
        source_mask = padding_mask(source)
        masks = {
            "tgt_mask": convert_mask(causal_mask(m_d), "keep", "block"),
            "tgt_key_padding_mask": target == 0,
            "memory_key_padding_mask": source == 0,
        }
    shapes = (batch, m_d, d_model), (batch, m_e, d_model)
    weights = same(ours, theirs, shapes, [mask, source_mask], masks)
    assert not stack or len(weights) == 2
    for each_own, each_cross in weights if stack else [weights]:
        assert each_own.shape == (batch, heads, m_d, m_d)
        assert each_cross.shape == (batch, heads, m_d, m_e)


def small_transformer(dtype=torch.float64, **options):
    torch.manual_seed(0)
    model = Transformer(11, 13, 12, 9, heads=3, Nx=2, Nx_decoder=3, **options)
    return model.to(dtype)


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@masked
def test_transformer_is_torchs(with_masks, activation):
    """El modelo entero, contra nn.Transformer sin las normas finales que el artículo no tiene."""
    ours = small_transformer(activation=activation)
    theirs = nn.Transformer(12, 3, 2, 3, **torch_options(12, activation=activation, eps=1e-5, increment=4))
    theirs.encoder.norm = theirs.decoder.norm = None
    randomize(theirs)
    ours.encoder.encoder.load_state_dict(named_as_ours(theirs.encoder))
    ours.decoder.decoder.load_state_dict(named_as_ours(theirs.decoder))
    source, target = torch.randint(11, (4, 7)), torch.randint(13, (4, 5))
    arguments, masks = {}, {"tgt_mask": nn.Transformer.generate_square_subsequent_mask(5).double()}
    if with_masks:
        keep_source, keep_target = padded(4, 7), padded(4, 5)
        arguments = {"source_mask": padding_mask(keep_source), "target_mask": padding_mask(keep_target)}
        masks |= {
            "src_key_padding_mask": keep_source == 0,
            "memory_key_padding_mask": keep_source == 0,
            "tgt_key_padding_mask": convert_mask(keep_target == 1, "keep", "additive", dtype=torch.float64),
        }
    embedded_target = ours.decoder.positional_encoding(ours.decoder.output_embedding(target))
    decoded = theirs(ours.encoder.embed(source), embedded_target, **masks)
    expected = ours.output_projection(decoded)
    logits, weights = ours(source, target, **arguments, need_weights=True)
    close(logits, expected)
    without, nothing = ours(source, target, **arguments)
    close(without, expected)
    assert nothing is None
    assert [w.shape for w in weights["encoder"]] == [(4, 3, 7, 7)] * 2
    assert [w.shape for w in weights["decoder"]] == [(4, 3, 5, 5)] * 3
    assert [w.shape for w in weights["cross"]] == [(4, 3, 5, 7)] * 3
    upstream = torch.randn_like(logits)
    logits.backward(upstream)
    by_ours = {name: p.grad.clone() for name, p in ours.named_parameters()}
    ours.zero_grad()
    expected.backward(upstream)
    by_theirs = {
        **{f"encoder.encoder.{n}": g for n, g in named_as_ours(theirs.encoder, gradients).items()},
        **{f"decoder.decoder.{n}": g for n, g in named_as_ours(theirs.decoder, gradients).items()},
        **{n: p.grad for n, p in ours.named_parameters() if "coder_layers" not in n},
    }
    assert by_theirs.keys() == by_ours.keys()
    for name, gradient in by_ours.items():
        close(gradient, by_theirs[name])


def test_encoder_and_decoder_of_other_widths():
    """dim_encoder: la atención cruzada acepta un encoder de otra anchura."""
    layer = DecoderLayer(2, 6, dim_encoder=10)
    output, (_, cross) = layer(torch.randn(3, 4, 6), torch.randn(3, 5, 10), need_weights=True)
    assert output.shape == (3, 4, 6)
    assert cross.shape == (3, 2, 4, 5)
    with pytest.raises(ValueError, match=r"key tiene forma \(3, 5, 6\).*medir 10"):
        layer(torch.randn(3, 4, 6), torch.randn(3, 5, 6))


def test_shared_embeddings():
    """share_embeddings: una sola matriz para las dos tablas y la salida; exige un vocabulario."""
    model = Transformer(11, 11, 12, 9, 3, 1, share_embeddings=True)
    tables = {
        model.encoder.input_embedding.table.weight,
        model.decoder.output_embedding.table.weight,
        model.output_projection.weight,
    }
    assert len(tables) == 1
    with pytest.raises(ValueError, match="share_embeddings.*11 tokens de origen y 13 de destino"):
        small_transformer(share_embeddings=True)


# --- Dropout --------------------------------------------------------------------------------------


def test_dropout_is_where_the_paper_has_it():
    """A la salida de cada subcapa y en la suma de embedding y posición. En ningún otro sitio."""
    model = small_transformer(dropout=0.3)
    sites = {name: m.p for name, m in model.named_modules() if isinstance(m, nn.Dropout)}
    expected = {"encoder.positional_encoding.dropout", "decoder.positional_encoding.dropout"}
    expected |= {
        f"encoder.encoder.encoder_layers.{i}.add_and_norm_{j}.dropout" for i in range(2) for j in (1, 2)
    }
    expected |= {
        f"decoder.decoder.decoder_layers.{i}.add_and_norm_{j}.dropout" for i in range(3) for j in (1, 2, 3)
    }
    assert sites == dict.fromkeys(expected, 0.3)
    assert {m.p for m in small_transformer().modules() if isinstance(m, nn.Dropout)} == {0.0}


def test_dropout_only_in_training():
    """Entrenando varía de una vez a otra; evaluando, no; los pesos de atención nunca se apagan."""
    model = small_transformer(dropout=0.3)
    source, target = torch.randint(11, (2, 9)), torch.randint(13, (2, 8))
    evaluated, _ = model.eval()(source, target)
    assert torch.equal(model(source, target)[0], evaluated)
    close(small_transformer()(source, target)[0], evaluated)
    logits, weights = model.train()(source, target, need_weights=True)
    assert not torch.equal(model(source, target)[0], logits)
    for each in sum(weights.values(), []):
        close(each.sum(-1), torch.ones(each.shape[:-1]))
    layer = EncoderLayer(3, 12, dropout=0.3).double().train()
    x = torch.randn(2, 5, 12).double()
    first, second = (layer(x, need_weights=True)[1] for _ in range(2))
    assert torch.equal(first, second)


# --- Fugas ----------------------------------------------------------------------------------------

both_paths = pytest.mark.parametrize("need_weights", [False, True], ids=["fundida", "pesos"])
KEEP_SOURCE = torch.tensor([[1, 1, 1, 1, 0, 0, 0]])
KEEP_TARGET = torch.tensor([[1, 1, 1, 1, 0]])


# Lo que debe verse, escrito aparte de la biblioteca: el pasado, si no es relleno, y uno mismo.
PAST = torch.tensor([[j <= i for j in range(5)] for i in range(5)])
MAY_SEE_TARGET = PAST & KEEP_TARGET.bool() | torch.eye(5, dtype=torch.bool)
MAY_SEE_SOURCE = KEEP_SOURCE.bool().expand(5, 7)


def other_token(vocab_size):
    return lambda ids: (ids + 1) % vocab_size


@both_paths
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16], ids=str)
def test_no_leak_through_transformer(need_weights, dtype):
    """En el modelo entero, ids cambiados: ni el futuro ni el relleno mueven un bit."""
    model = small_transformer(dtype).eval()
    source, target = torch.randint(11, (2, 7)), torch.randint(13, (2, 5))
    source_mask, target_mask = padding_mask(KEEP_SOURCE), padding_mask(KEEP_TARGET)

    def from_target(target):
        return model(source, target, source_mask, target_mask, need_weights)[0]

    def from_source(source):
        return model(source, target, source_mask, target_mask, need_weights)[0]

    assert leaks(from_target, target, MAY_SEE_TARGET, other_token(13)) == []
    assert leaks(from_source, source, MAY_SEE_SOURCE, other_token(11)) == []
    if dtype != torch.bfloat16:  # con 8 bits, un cambio pequeño puede no notarse
        assert torch.equal(influence(from_target, target, other_token(13)), MAY_SEE_TARGET)
        assert torch.equal(influence(from_source, source, other_token(11)), MAY_SEE_SOURCE)


@both_paths
def test_padding_does_not_change_the_real_tokens(need_weights):
    """Alargar un lote con relleno no cambia los tokens de verdad, sea cual sea su id."""
    model = small_transformer().eval()
    source, target = torch.randint(11, (2, 4)), torch.randint(13, (2, 3))
    alone, _ = model(source, target)
    for filler in (0, 7):
        long_source = torch.cat([source, torch.full((2, 3), filler)], 1)
        long_target = torch.cat([target, torch.full((2, 2), filler)], 1)
        keep_source, keep_target = torch.arange(7)[None] < 4, torch.arange(5)[None] < 3
        masks = padding_mask(keep_source), padding_mask(keep_target)
        logits, _ = model(long_source, long_target, *masks, need_weights)
        close(logits[:, :3], alone)


@both_paths
def test_source_of_only_padding_is_finite(need_weights):
    """Una frase de origen que es toda relleno no produce NaN, ni al entrenar."""
    model = small_transformer()
    nothing = padding_mask(torch.zeros(2, 7, dtype=torch.long))
    with torch.autograd.set_detect_anomaly(True):
        ids = torch.randint(11, (2, 7)), torch.randint(13, (2, 5))
        logits, _ = model(*ids, nothing, need_weights=need_weights)
        logits.sum().backward()
    assert logits.isfinite().all()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


# --- Los errores ----------------------------------------------------------------------------------


def test_bad_inputs():
    """De lo que dicen las piezas, con sus números, nada se pierde: el rango, y una máscara sin sus ejes."""
    model = small_transformer(torch.float32)
    source, target = torch.randint(11, (2, 7)), torch.randint(13, (2, 5))
    with pytest.raises(ValueError, match=r"tres ejes.*unsqueeze\(0\)"):
        model(source[0], target)
    with pytest.raises(ValueError, match=r"tres ejes.*unsqueeze\(0\)"):
        model.decoder(target[0], torch.randn(1, 7, 12))
    with pytest.raises(ValueError, match=r"padding_mask\(attention_mask\)"):
        model(source, target, source_mask=torch.ones(2, 7, dtype=torch.bool))
