"""Cuánto tarda el traductor, con caché y sin ella: con ``python curso.py medir``."""

import pytest
import torch

from course_lib.decoding import CachedDecoder, PlainDecoder
from course_lib.probes import aligned_pairs
from course_lib.translator import TranslatorError, load_translator
from tools.bench_support import HOW, THREADS, clock, compare, registered

torch.set_num_threads(THREADS)
LENGTH = 30  # tokens que se escriben
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


def rereading(scores_of):
    """Un ``step`` que en cada paso vuelve a leer todo lo escrito."""
    seen = torch.empty(1, 0, dtype=torch.long)

    def step(token):
        nonlocal seen
        seen = torch.cat([seen, token[None]], dim=1)
        return scores_of(seen)

    return step


def naive(translator, ids):
    """El bucle más corto que hay: en cada paso, el modelo entero, también el encoder."""
    scores_of = lambda seen: translator.model(ids, seen)[0][:, -1]  # noqa: E731
    return torch.inference_mode()(lambda: write(rereading(scores_of), [0, 1, 2, 3]))


@pytest.mark.parametrize("reference", ["solo el decoder", "el modelo entero"])
def test_cache(benchmark, table, translator, sentences, reference):
    """Con caché y sin ella sale lo mismo; con ella, antes."""
    ids = torch.tensor([translator.tokenizer.encode(sentences[0]).ids + [translator.eos]])
    course = with_decoder(CachedDecoder, translator, ids)
    plain = with_decoder(PlainDecoder, translator, ids)
    other = plain if reference == "solo el decoder" else naive(translator, ids)
    assert course() == other()
    measured = compare(benchmark, course, other)
    what = f"Escribir {LENGTH} tokens con caché; referencia: sin ella, {reference} en cada paso"
    limit = CACHE_LIMIT if other is not plain else None
    table.add_times(benchmark, what, f"{ids.shape[1]} tokens de origen", measured, limit)
