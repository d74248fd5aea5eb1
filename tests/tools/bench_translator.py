"""Cuánto tarda el traductor, con caché y sin ella, al lado de ``nn.Transformer`` y de CTranslate2.

    python curso.py medir tests/tools/bench_translator.py

CTranslate2 es un motor de traducción hecho en C++: es el límite. Solo se mide si está instalado
(``pip install -r tests/requirements-scores.txt``), con estos mismos pesos, convertidos aquí.
"""

import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import pytest
import torch
from torch import nn

from course_lib.decoding import CachedDecoder, PlainDecoder
from course_lib.probes import aligned_pairs
from course_lib.translator import TranslatorError, load_translator
from tools.bench_support import CPU_TIME, THREADS, Table, clock, compare, seconds

torch.set_num_threads(THREADS)
LENGTH = 30  # tokens que se escriben
CACHE_LIMIT = 1 / 3
pytestmark = [
    pytest.mark.benchmark(timer=clock, disable_gc=True),
    pytest.mark.filterwarnings("ignore::course_lib.translator.TranslatorWarning"),
    pytest.mark.filterwarnings("ignore:.*nested tensor.*:UserWarning"),
]
wall_time = pytest.mark.benchmark(timer=time.perf_counter)


@pytest.fixture(scope="session")
def table(request):
    how = "1 hilo, tiempo de procesador" if CPU_TIME else f"{THREADS} hilo(s), tiempo de reloj"
    table = Table("Medidas del traductor", f"Cada cifra es una mediana; {how}.")
    request.config.pluginmanager.register(table)
    return table


@pytest.fixture(scope="session")
def translator():
    try:
        return load_translator()
    except TranslatorError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def sentences():
    return [pair.english for pair in aligned_pairs()]


def write(step, forbidden, tokens=LENGTH):
    """Escribe ``tokens`` tokens, el mejor cada vez y sin dejarle acabar: → lista de ids."""
    written, token = [], 2
    for _ in range(tokens):
        scores = step(torch.tensor([token]))[0]
        scores[forbidden] = -torch.inf
        token = scores.argmax().item()
        written.append(token)
    return written


def with_decoder(decoder, translator, ids):
    @torch.inference_mode()
    def run():
        model = translator.model
        return write(decoder(model, model.encoder(ids)[0]).step, [0, 1, 2, 3])

    return run


def naive(translator, ids):
    """El bucle más corto que hay: en cada paso, el modelo entero, también el encoder."""

    @torch.inference_mode()
    def run():
        seen = torch.empty(1, 0, dtype=torch.long)

        def step(token):
            nonlocal seen
            seen = torch.cat([seen, token[None]], dim=1)
            return translator.model(ids, seen)[:, -1]

        return write(step, [0, 1, 2, 3])

    return run


@pytest.mark.parametrize("reference", ["solo el decoder", "el modelo entero"])
def test_cache(benchmark, table, translator, sentences, reference):
    """Con caché y sin ella sale lo mismo; con ella, antes."""
    ids = torch.tensor([translator.tokenizer.encode(sentences[0]).ids + [translator.eos]])
    course = with_decoder(CachedDecoder, translator, ids)
    plain = with_decoder(PlainDecoder, translator, ids)
    other = plain if reference == "solo el decoder" else naive(translator, ids)
    assert course() == other()
    measured = compare(benchmark, course, other)
    table.add(
        benchmark,
        f"Escribir {LENGTH} tokens con caché; referencia: sin ella, {reference} en cada paso",
        f"{ids.shape[1]} tokens de origen",
        seconds(measured.course),
        seconds(measured.reference),
        measured.ratio,
        CACHE_LIMIT if other is not plain else None,
    )


def torch_transformer(model):
    """``nn.Transformer`` con copias de los pesos."""
    encoder, decoder = model.encoder.encoder.encoder_layers, model.decoder.decoder.decoder_layers
    hidden = encoder[0].feed_forward.feed_forward[0].out_features
    theirs = nn.Transformer(
        model.output_projection.in_features,
        encoder[0].multi_head_attention.heads,
        len(encoder),
        len(decoder),
        hidden,
        dropout=0.0,
        batch_first=True,
    ).eval()
    theirs.encoder.norm = theirs.decoder.norm = None  # en el artículo no hay otra al final

    def copy(attention, ours):
        linears = (ours.query_projection, ours.key_projection, ours.value_projection)
        attention.in_proj_weight.copy_(torch.cat([linear.weight for linear in linears]))
        attention.in_proj_bias.copy_(torch.cat([linear.bias for linear in linears]))
        attention.out_proj.load_state_dict(ours.output_projection.state_dict())

    with torch.no_grad():
        for layer, ours in zip(theirs.encoder.layers, encoder):
            copy(layer.self_attn, ours.multi_head_attention)
        for layer, ours in zip(theirs.decoder.layers, decoder):
            copy(layer.self_attn, ours.masked_attention)
            copy(layer.multihead_attn, ours.cross_attention)
        for layer, ours in (
            *zip(theirs.encoder.layers, encoder),
            *zip(theirs.decoder.layers, decoder),
        ):
            layer.linear1.load_state_dict(ours.feed_forward.feed_forward[0].state_dict())
            layer.linear2.load_state_dict(ours.feed_forward.feed_forward[2].state_dict())
            for name, norm in ours.named_children():
                if name.startswith("add_and_norm"):
                    mine = getattr(layer, f"norm{name[-1]}")
                    mine.load_state_dict(norm.normalization.state_dict())
    return theirs


def test_against_torch(benchmark, table, translator, sentences):
    """``nn.Transformer`` no tiene caché: vuelve a leer lo escrito en cada paso."""
    model, theirs = translator.model, torch_transformer(translator.model)
    ids = torch.tensor([translator.tokenizer.encode(sentences[0]).ids + [translator.eos]])

    @torch.inference_mode()
    def reference():
        memory = theirs.encoder(model.encoder.embed(ids))
        seen = torch.empty(1, 0, dtype=torch.long)

        def step(token):
            nonlocal seen
            seen = torch.cat([seen, token[None]], dim=1)
            x = model.decoder.positional_encoding(model.decoder.output_embedding(seen))
            mask = theirs.generate_square_subsequent_mask(seen.shape[1])
            decoded = theirs.decoder(x, memory, tgt_mask=mask, tgt_is_causal=True)
            return model.output_projection(decoded[:, -1])

        return write(step, [0, 1, 2, 3])

    course = with_decoder(CachedDecoder, translator, ids)
    assert course() == reference()
    measured = compare(benchmark, course, reference)
    table.add(
        benchmark,
        f"Escribir {LENGTH} tokens con caché; referencia: `nn.Transformer` con los mismos pesos",
        f"{ids.shape[1]} tokens de origen",
        seconds(measured.course),
        seconds(measured.reference),
        measured.ratio,
    )


def to_ctranslate2(translator, folder):
    """Escribe en ``folder`` los mismos pesos en el formato de CTranslate2."""
    import ctranslate2
    from ctranslate2.specs import TransformerSpec

    model = translator.model
    encoder, decoder = model.encoder.encoder.encoder_layers, model.decoder.decoder.decoder_layers
    spec = TransformerSpec.from_config(
        (len(encoder), len(decoder)),
        encoder[0].multi_head_attention.heads,
        pre_norm=False,
        activation=ctranslate2.specs.common_spec.Activation.RELU,
    )

    def array(tensor):
        return tensor.detach().numpy().astype(np.float32)

    def linear(theirs, *ours):
        theirs.weight = array(torch.cat([layer.weight for layer in ours]))
        if ours[0].bias is not None:
            theirs.bias = array(torch.cat([layer.bias for layer in ours]))

    def norm(theirs, ours):
        theirs.gamma, theirs.beta = array(ours.normalization.weight), array(ours.normalization.bias)

    def ffn(theirs, ours, add_and_norm):
        linear(theirs.linear_0, ours.feed_forward[0])
        linear(theirs.linear_1, ours.feed_forward[2])
        norm(theirs.layer_norm, add_and_norm)

    def own(theirs, ours, add_and_norm):
        query, key, value = ours.query_projection, ours.key_projection, ours.value_projection
        linear(theirs.linear[0], query, key, value)
        linear(theirs.linear[1], ours.output_projection)
        norm(theirs.layer_norm, add_and_norm)

    for theirs, ours in zip(spec.encoder.layer, encoder):
        own(theirs.self_attention, ours.multi_head_attention, ours.add_and_norm_1)
        ffn(theirs.ffn, ours.feed_forward, ours.add_and_norm_2)
    for theirs, ours in zip(spec.decoder.layer, decoder):
        own(theirs.self_attention, ours.masked_attention, ours.add_and_norm_1)
        cross = ours.cross_attention
        linear(theirs.attention.linear[0], cross.query_projection)
        linear(theirs.attention.linear[1], cross.key_projection, cross.value_projection)
        linear(theirs.attention.linear[2], cross.output_projection)
        norm(theirs.attention.layer_norm, ours.add_and_norm_2)
        ffn(theirs.ffn, ours.feed_forward, ours.add_and_norm_3)
    table = array(model.output_projection.weight)
    positions = array(model.encoder.positional_encoding.positional_encoding)
    embeddings = spec.encoder.embeddings
    (embeddings[0] if isinstance(embeddings, list) else embeddings).weight = table
    spec.decoder.embeddings.weight = spec.decoder.projection.weight = table
    spec.encoder.position_encodings.encodings = positions
    spec.decoder.position_encodings.encodings = positions
    pieces = [translator.tokenizer.id_to_token(i) for i in range(len(table))]
    spec.register_source_vocabulary(pieces)
    spec.register_target_vocabulary(pieces)
    spec.config.add_source_eos = False
    spec.config.decoder_start_token = "<s>"
    spec.validate()
    spec.optimize(quantization=None)
    folder.mkdir()
    spec.save(str(folder))
    return ctranslate2.Translator(str(folder), device="cpu", intra_threads=THREADS)


@wall_time
def test_translation(benchmark, table, translator, sentences):
    """Una frase entera, con sus pesos de atención: mediana de las 72 frases alineadas del curso."""
    times = []

    def course():
        for sentence in sentences:
            start = time.perf_counter()
            translator.translate(sentence)
            times.append(time.perf_counter() - start)

    benchmark.pedantic(course, rounds=3, warmup_rounds=1)
    ours = median(times)
    try:
        with tempfile.TemporaryDirectory() as folder:
            engine = to_ctranslate2(translator, Path(folder) / "modelo")
    except ImportError:
        table.add(benchmark, "Traducir una frase", "72 frases", seconds(ours), "no instalada", None)
        return
    times, same = [], 0
    for repetition in range(3):
        for sentence in sentences:
            start = time.perf_counter()
            tokens = translator.tokenizer.encode(sentence).tokens + ["</s>"]
            found = engine.translate_batch([tokens], beam_size=1, suppress_sequences=[["<unk>"]])[
                0
            ].hypotheses[0]
            times.append(time.perf_counter() - start)
            if repetition == 0:
                ids = [translator.tokenizer.token_to_id(token) for token in found]
                same += translator.tokenizer.decode(ids) == translator.translate(sentence).text
    assert same >= 0.9 * len(sentences), f"{same} de {len(sentences)} traducciones iguales"
    table.add(
        benchmark,
        f"Traducir una frase; referencia: CTranslate2 ({same} de 72 salidas iguales)",
        "72 frases",
        seconds(ours),
        seconds(median(times)),
        ours / median(times),
    )
