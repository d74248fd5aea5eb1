"""Los números de otros: enteros, booleanos, listas y lo de NumPy. O valen, o una frase dice qué hacer."""

import contextlib
import re

import numpy as np
import pytest
import torch
import traitlets

import course_lib
from course_lib import attention, decoder_only, explorers, flash, layers, masks, sampling, transformer
from course_lib.translator import FOLDER, read_translator

FORMS = {  # otras maneras de dar los mismos números
    "enteros": lambda x: x.long(),
    "booleanos": lambda x: x.bool(),
    "complejos": lambda x: x.to(torch.complex64),
    "NumPy": lambda x: x.double().numpy(),
    "NumPy entero": lambda x: x.numpy().astype(np.int16),
    "NumPy al revés": lambda x: x.numpy()[::-1],
    "lista": lambda x: x.tolist(),
    "lista de enteros": lambda x: x.int().tolist(),
    "lista de tensores": list,
}
VECTORS = {  # lo que los recibe
    "función": lambda x: attention.scaled_dot_product_attention(x, x, x),
    "bloque": lambda x: attention.ScaledDotProductAttention(8)(x, x, x),
    "por bloques": lambda x: flash.flash_attention(x, x, x),
    "multicabeza": lambda x: attention.MultiHeadAttention(2, 8)(x, x, x),
    "GQA": lambda x: decoder_only.GroupedQueryAttention(2, 8, kv_heads=1)(x, x, x),
    "posición": layers.PositionalEncoding(9, 8),
    "posición aprendida": layers.LearnedPositionalEncoding(9, 8),
    "suma y norma": lambda x: layers.AddAndNorm(8)(torch.ones(2, 5, 8), x),
    "red densa": layers.FeedForward(8),
    "RMSNorm": layers.RMSNorm(8),
    "SwiGLU": layers.SwiGLU(8, 9),
    "giro": lambda x: layers.rotary(x, range(5)),
    "capa": transformer.EncoderLayer(2, 8),
    "encoder": transformer.Encoder(2, 8, 1),
    "decoder": lambda x: transformer.DecoderLayer(2, 8)(torch.ones(2, 3, 8), x),
    "solo decoder": decoder_only.DecoderOnlyLayer(2, 8, 9),
}
IDS = {
    "embedding": layers.Embedding(9, 8),
    "Transformer": lambda x: transformer.Transformer(9, 9, 8, 9, 2, 1)(x, x),
    "segunda mitad": lambda x: transformer.TransformerDecoder(9, 8, 9, 2, 1)(x, torch.ones(2, 3, 8)),
    "LLM": decoder_only.DecoderOnly(9, 8, 2, 1),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", [*VECTORS, *IDS])
def test_the_remedy_works(name, form):
    ids, takes = name in IDS, (VECTORS | IDS)[name]
    numbers = torch.arange(10.0).view(2, 5) % 2 if ids else torch.arange(80.0).view(2, 5, 8) % 7
    if ids and form == "enteros":
        for kind in (torch.uint8, torch.int16, torch.int32):
            takes(numbers.to(kind))
        return
    given = FORMS[form](numbers)
    with pytest.raises(TypeError, match="[Uu]sa") as error:
        takes(given)
    remedy = re.search(r"[Uu]sa ((?:torch|\w+)\.?.*\))\.$|[Uu]sa (\w+\.real)\.$", str(error.value))
    remedy = remedy[1] or remedy[2]
    called = re.search(r"\b(query|key|x|sublayer_output|token_ids)\b", remedy)[1]
    takes(eval(remedy, {"torch": torch, called: given.real if ids and form == "complejos" else given}))


@pytest.mark.parametrize("name", ["red densa", "RMSNorm", "SwiGLU", "multicabeza", "suma y norma"])
def test_another_width_or_precision_is_told(name):
    for width in (1, 9):
        with pytest.raises(ValueError, match="medir 8|tienen que coincidir"):
            VECTORS[name](torch.ones(2, 5, width))
    for around in (contextlib.nullcontext(), torch.autocast("cpu", torch.bfloat16)):
        with around, pytest.raises(ValueError, match=r"Usa \w+\.to\(torch.float32\)"):
            VECTORS[name](torch.ones(2, 5, 8).double())


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_an_integer_of_numpy_is_an_integer(kind):
    three, x = kind(3), torch.randn(2, 5, 12)
    assert torch.equal(masks.causal_mask(three), masks.causal_mask(3))
    assert torch.equal(masks.window_mask(5, kind(2), kind(1)), masks.window_mask(5, 2, 1))
    module = attention.MultiHeadAttention(three, kind(12))
    assert type(module.heads) is int
    assert module(x, x, x)[0].shape == x.shape
    torch.testing.assert_close(flash.flash_attention(x, x, x, block=three), flash.flash_attention(x, x, x))
    assert sampling.next_token_probabilities(torch.zeros(5), top_k=three).count_nonzero() == 3
    for explorer, name in (("BlocksExplorer", "block"), ("InfluenceExplorer", "token")):
        assert type(getattr(getattr(explorers, explorer)(**{name: three}), name)) is int
        with pytest.raises(traitlets.TraitError, match=f"{explorer}: no tiene otro, más. Mira"):
            getattr(explorers, explorer)(otro=1, más=2)


def test_what_a_model_gives_back_can_be_used_to_train():
    """También si se cargó dentro de ``inference_mode``."""
    with torch.inference_mode():
        translator, encoder = read_translator(FOLDER), course_lib.encoder_from_bert(course_lib.load_bert())
    read = translator.translate("The dog sleeps.")
    given = [*vars(read).values(), *vars(course_lib.extract_embeddings("The dog sleeps.")).values()]
    for tensor in (x for x in given if isinstance(x, torch.Tensor) and x.is_floating_point()):
        torch.nn.Linear(tensor.shape[-1], 2)(tensor).sum().backward()
    encoder(torch.tensor([[101, 102]]))[0].sum().backward()
    translator.model(torch.tensor([[5, 2]]), torch.tensor([[1]]))[0].sum().backward()
