"""Cuánto tarda el traductor, con caché y sin ella: con ``python curso.py medir``."""

import pytest
import torch

from course_lib.decoding import greedy_search
from course_lib.probes import aligned_pairs
from course_lib.translator import TranslatorError, load_translator
from course_lib.translator_model.marks import BOS
from tools.bench_support import HOW, THREADS, clock, compare, registered

torch.set_num_threads(THREADS)
LENGTH = 30  # tokens que se escriben: el mejor cada vez, y sin acabar
FORBIDDEN, NEVER = [0, 1, 2, 3], -1  # las marcas, y la de fin, que no es ninguna
CACHE_LIMIT = 1 / 3
pytestmark = [
    pytest.mark.benchmark(timer=clock, disable_gc=True),
    pytest.mark.filterwarnings("ignore::course_lib.translator.TranslatorWarning"),
]


@pytest.fixture(scope="session")
def table(request):
    return registered(request, "Medidas del traductor", f"Cada cifra es una mediana; {HOW}.")


@pytest.fixture(scope="session")
def translator():
    try:
        return load_translator()
    except TranslatorError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def sentences():
    return [pair.english for pair in aligned_pairs()]


def course(translator, ids, cache):
    """Como escribe el curso, con caché o sin ella."""

    @torch.inference_mode()
    def run():
        encoded, _ = translator.model.encoder(ids)
        return greedy_search(translator.model, encoded, LENGTH, (BOS, NEVER, FORBIDDEN), cache)

    return run


def naive(translator, ids):
    """El bucle más corto que hay: en cada paso, el modelo entero, también el encoder."""

    @torch.inference_mode()
    def run():
        seen = [BOS]
        while len(seen) <= LENGTH:
            scores = translator.model(ids, torch.tensor([seen]))[0][0, -1]
            scores[FORBIDDEN] = -torch.inf
            seen.append(scores.argmax().item())
        return seen[1:]

    return run


@pytest.mark.parametrize("reference", ["solo el decoder", "el modelo entero"])
def test_cache(benchmark, table, translator, sentences, reference):
    """Con caché y sin ella sale lo mismo; con ella, antes."""
    ids = torch.tensor([translator.tokenizer.encode(sentences[0]).ids + [translator.eos]])
    alone = reference == "solo el decoder"
    cached = course(translator, ids, True)
    other = course(translator, ids, False) if alone else naive(translator, ids)
    assert cached() == other()
    measured = compare(benchmark, cached, other)
    what = f"Escribir {LENGTH} tokens con caché; referencia: sin ella, {reference} en cada paso"
    limit = None if alone else CACHE_LIMIT
    table.add_times(benchmark, what, f"{ids.shape[1]} tokens de origen", measured, limit)
