"""Cuánto tarda la biblioteca del curso, al lado de una referencia.

    python curso.py medir

Al final imprime una tabla de Markdown. Variables de entorno:

- ``CURSO_MEDIDAS=tabla.md`` añade además la tabla a un archivo.
- ``CURSO_HILOS=2`` mide con dos hilos y tiempo de reloj; conviene un ordenador tranquilo.

Nunca se exige un número de segundos, que depende de la máquina, sino una razón entre dos cosas
medidas a la vez. Si una razón pasa de su límite, la tabla dice «no» y la orden acaba con error.
Este archivo no empieza por ``test_``: las pruebas de siempre no lo ejecutan.
"""

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import MultiHeadAttention, extract_embeddings, load_bert, load_translator
from course_lib.decoding import greedy_search
from course_lib.probes import aligned_pairs
from course_lib.translator_model.marks import BOS
from tools.bench_support import HOW, THREADS, clock, compare, copy_weights, registered

torch.set_num_threads(THREADS)

FUSED_LIMIT = 1.05
# «No más lento», y lo que oscila la razón. Con frases cortas, casi todo el tiempo se va en leer las
# matrices de pesos, y la razón depende de cuáles quedan en la caché: de 0.96 a 1.03 según el orden.
PARITY_LIMIT, PARITY_NOISE = 1.0, 0.03
EMBEDDINGS_LIMIT = 1.1
CACHE_LIMIT = 1 / 3

SIZES = {(1, 12, 768): 12, (8, 128, 512): 8, (4, 512, 512): 8, (1, 2048, 512): 8}  # → cabezas
SENTENCE = "I gave the dog a bone because it was hungry"
SENTENCES = [
    SENTENCE,
    "I gave the dog a bone because it was old",
    "The cat sat on the mat",
    "She went to the bank to open an account",
    "We sat on the bank of the river and watched the boats go by",
    "Attention is all you need",
    "The animal did not cross the street because it was too tired",
    "Paris is the capital of France",
]

pytestmark = pytest.mark.benchmark(timer=clock, disable_gc=True)
each_size = pytest.mark.parametrize(("size", "heads"), SIZES.items(), ids=str)
each_mode = pytest.mark.parametrize("train", [False, True], ids=["inferencia", "entrenamiento"])


@pytest.fixture(scope="session")
def table(request):
    how = f"Cada cifra es una mediana; {HOW}. «+» en un límite es lo que se perdona porque la medida oscila."
    return registered(request, "Medidas de course_lib", how)


# --- La atención multicabeza ---------------------------------------------------------------------


@each_mode
@each_size
def test_fused_attention(benchmark, table, size, heads, train):
    """Sin pesos: lo mismo que proyectar a mano y llamar al núcleo fundido de torch."""
    module, x = attention_and_input(size, heads)

    def course():
        return module(x, x, x, need_weights=False)[0]

    def reference():
        q, k, v = (
            F.linear(x, layer.weight, layer.bias).view(*size[:2], heads, -1).transpose(1, 2)
            for layer in (module.query_projection, module.key_projection, module.value_projection)
        )
        joined = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(size)
        return F.linear(joined, module.output_projection.weight, module.output_projection.bias)

    torch.testing.assert_close(course(), reference())
    measured = compare(benchmark, in_mode(course, train), in_mode(reference, train))
    what = f"`MultiHeadAttention`, sin pesos, {mode_name(train)}; referencia: a mano con torch"
    table.add_times(benchmark, what, shape_name(size), measured, FUSED_LIMIT)


@each_mode
@each_size
def test_attention_with_weights(benchmark, table, size, heads, train):
    """Con los pesos de cada cabeza: como ``nn.MultiheadAttention``."""
    module, x = attention_and_input(size, heads)
    theirs = nn.MultiheadAttention(size[-1], heads, batch_first=True).train(train)
    copy_weights(theirs, module.train(train))

    def course():
        return module(x, x, x)

    def reference():
        return theirs(x, x, x, need_weights=True, average_attn_weights=False)

    torch.testing.assert_close(course(), reference())
    measured = compare(benchmark, in_mode(lambda: course()[0], train), in_mode(lambda: reference()[0], train))
    what = f"`MultiHeadAttention`, con pesos, {mode_name(train)}; referencia: la de `torch.nn`"
    table.add_times(benchmark, what, shape_name(size), measured, PARITY_LIMIT, PARITY_NOISE)


def attention_and_input(size, heads):
    torch.manual_seed(0)
    return MultiHeadAttention(heads, size[-1]).eval(), torch.randn(size)


def in_mode(forward, train):
    """``forward`` sin gradiente, o con su vuelta atrás si ``train``."""
    return (lambda: forward().sum().backward()) if train else torch.no_grad()(forward)


# --- BERT -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sentences", [SENTENCE, SENTENCES], ids=["una frase", "ocho frases"])
def test_extract_embeddings(benchmark, table, sentences):
    """Cuando el modelo ya está cargado: el encoder del curso frente al de transformers."""
    bert = load_bert()

    def reference():
        with torch.no_grad():
            inputs = bert.tokenizer(sentences, return_tensors="pt", padding=True)
            return bert.model(**inputs, output_attentions=True, output_hidden_states=True)

    ours, theirs = extract_embeddings(sentences), reference().last_hidden_state
    real = ours.attention_mask.bool()
    torch.testing.assert_close(ours.contextual_embeddings[real], theirs[real], rtol=1e-5, atol=1e-5)
    measured = compare(benchmark, lambda: extract_embeddings(sentences), reference)
    what = "`extract_embeddings`; referencia: tokenizar y llamar al modelo de transformers"
    table.add_times(benchmark, what, batch_name(sentences), measured, EMBEDDINGS_LIMIT)


# --- El traductor ---------------------------------------------------------------------------------

LENGTH = 30  # tokens que se escriben: el mejor cada vez, y sin acabar
FORBIDDEN, NEVER = [0, 1, 2, 3], -1  # las marcas, y la de fin, que no es ninguna


@torch.inference_mode()
def course(model, ids, cache):
    """Como escribe el curso, con caché o sin ella."""
    encoded, _ = model.encoder(ids)
    return greedy_search(model, encoded, LENGTH, (BOS, NEVER, FORBIDDEN), cache)


@torch.inference_mode()
def naive(model, ids):
    """El bucle más corto que hay: en cada paso, el modelo entero, también el encoder."""
    seen = [BOS]
    while len(seen) <= LENGTH:
        scores = model(ids, torch.tensor([seen]))[0][0, -1]
        scores[FORBIDDEN] = -torch.inf
        seen.append(scores.argmax().item())
    return seen[1:]


@pytest.mark.parametrize("alone", [True, False], ids=["solo el decoder", "el modelo entero"])
def test_cache(benchmark, table, alone):
    """Con caché y sin ella sale lo mismo; con ella, antes."""
    translator = load_translator()
    ids = torch.tensor([translator.tokenizer.encode(aligned_pairs()[0].english).ids + [translator.eos]])
    cached = partial(course, translator.model, ids, True)
    other = partial(course, translator.model, ids, False) if alone else partial(naive, translator.model, ids)
    assert cached() == other()
    measured = compare(benchmark, cached, other)
    reference = "solo el decoder" if alone else "el modelo entero"
    what = f"Escribir {LENGTH} tokens con caché; referencia: sin ella, {reference} en cada paso"
    limit = None if alone else CACHE_LIMIT
    table.add_times(benchmark, what, f"{ids.shape[1]} tokens de origen", measured, limit)


# --- Cómo se escribe cada fila --------------------------------------------------------------------


def mode_name(train):
    return "entrenamiento" if train else "inferencia"


def shape_name(size):
    return "({}, {}, {})".format(*size)


def batch_name(sentences):
    return "1 frase" if isinstance(sentences, str) else f"{len(sentences)} frases"
