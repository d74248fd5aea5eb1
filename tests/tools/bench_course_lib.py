"""Cuánto tarda la biblioteca del curso, al lado de una referencia.

    python curso.py medir

Al final imprime una tabla de Markdown. Variables de entorno:

- ``CURSO_MEDIDAS=tabla.md`` añade además la tabla a un archivo.
- ``CURSO_HILOS=2`` mide con dos hilos y tiempo de reloj; conviene un ordenador tranquilo.

Nunca se exige un número de segundos, que depende de la máquina, sino una razón entre dos cosas
medidas a la vez. Si una razón pasa de su límite, la tabla dice «no» y la orden acaba con error.
Este archivo no empieza por ``test_``: las pruebas de siempre no lo ejecutan.
"""

import time
from statistics import median

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from course_lib import MultiHeadAttention, PositionalEncoding, extract_embeddings, load_bert
from tools.bench_support import (
    HOW, THREADS, clock, compare, copy_weights, registered, run_python, seconds,
)  # fmt: skip

torch.set_num_threads(THREADS)

FUSED_LIMIT = 1.05
# «No más lento», y lo que oscila la razón. Con frases cortas, casi todo el tiempo se va en leer las
# matrices de pesos, y la razón depende de cuáles quedan en la caché: de 0.96 a 1.03 según el orden.
PARITY_LIMIT, PARITY_NOISE = 1.0, 0.03
POSITIONS_LIMIT = 1 / 200
EMBEDDINGS_LIMIT = 1.1
IMPORT_LIMIT = 0.05  # segundos que `import course_lib` puede añadir a `import torch`

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
wall_time = pytest.mark.benchmark(timer=time.perf_counter)
each_size = pytest.mark.parametrize(("size", "heads"), SIZES.items(), ids=str)
each_mode = pytest.mark.parametrize("train", [False, True], ids=["inferencia", "entrenamiento"])


@pytest.fixture(scope="session")
def table(request):
    return registered(
        request,
        "Medidas de course_lib",
        f"Cada cifra es una mediana; {HOW}, salvo al arrancar Python (tiempo "
        "de reloj). «+» en un límite es lo que se perdona porque la medida oscila.",
    )


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


# --- La posición ----------------------------------------------------------------------------------


def test_positional_encoding(benchmark, table):
    """Con tensores enteros, frente a un doble bucle que calcula los números de uno en uno."""
    length, width = 512, 768

    def reference():
        rows = torch.zeros(length, width)
        for position in range(length):
            for i in range(0, width, 2):
                angle = torch.tensor(position / 10_000 ** (i / width))
                rows[position, i] = torch.sin(angle)
                rows[position, i + 1] = torch.cos(angle)
        return rows

    encoding = PositionalEncoding(length, width).positional_encoding
    # El bucle calcula los ángulos en float32: hasta 511 radianes, 3e-5 de error.
    torch.testing.assert_close(encoding, reference(), rtol=0, atol=1e-4)
    measured = compare(benchmark, lambda: PositionalEncoding(length, width), reference, rounds=3)
    what = "Construir `PositionalEncoding`; referencia: doble bucle de Python"
    table.add_times(benchmark, what, f"({length}, {width})", measured, POSITIONS_LIMIT)


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


# --- El arranque ----------------------------------------------------------------------------------

IMPORTS = """
import json, sys, time
start = time.perf_counter()
import torch
torch_ready = time.perf_counter()
import course_lib
from course_lib import MultiHeadAttention
ready = time.perf_counter()
from course_lib import load_bert
assert "transformers" not in sys.modules, "transformers se carga antes de pedir BERT"
assert "matplotlib" not in sys.modules, "matplotlib se carga antes de dibujar"
print(json.dumps([torch_ready - start, ready - torch_ready]))
"""


@wall_time
def test_import(benchmark, table):
    """Importar la biblioteca cuesta poco y no trae transformers."""
    if benchmark.disabled:
        pytest.skip("las medidas están apagadas: usa «python curso.py medir»")
    times = []
    benchmark.pedantic(lambda: times.append(run_python(IMPORTS)), rounds=5)
    torch_time, added = (median(column) for column in zip(*times, strict=True))
    table.add(
        benchmark,
        f"`import course_lib`; referencia: `import torch`; límite: {seconds(IMPORT_LIMIT)}",
        "5 arranques",
        f"+{seconds(added)}",
        seconds(torch_time),
        added / torch_time,
        IMPORT_LIMIT / torch_time,
    )


# --- Cómo se escribe cada fila --------------------------------------------------------------------


def mode_name(train):
    return "entrenamiento" if train else "inferencia"


def shape_name(size):
    return "({}, {}, {})".format(*size)


def batch_name(sentences):
    return "1 frase" if isinstance(sentences, str) else f"{len(sentences)} frases"
