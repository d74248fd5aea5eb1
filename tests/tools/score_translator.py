"""Las notas del traductor: de aquí sale cada número de su ficha.

    python tests/tools/score_translator.py otras.tsv            BLEU, chrF, perplejidad, aciertos, tiempos
    python tests/tools/score_translator.py otras.tsv --haz 4    lo mismo, con búsqueda en haz
    python tests/tools/score_translator.py --alinear            a qué palabra mira cada una
    python tests/tools/score_translator.py --entrenado-con frases.tsv    cuánto mide ese archivo, y si se
                                                          repiten en él las frases del curso

``otras.tsv`` tiene líneas «inglés, tabulador, español» que el modelo no haya visto. Las parejas
alineadas a mano son del curso (``course_lib.probes``): con la primera mitad se elige la capa, y la
nota, la media de sus cabezas, se da sobre la segunda.

Las frases que se escriben primero, con su traducción juzgada, están en ``tests/primeras_frases.tsv``.
"""

import argparse
import json
import math
import time
import warnings
from pathlib import Path
from statistics import median

import torch

from course_lib.probes import aligned_pairs, alignment_accuracy, gender_controls, gender_pairs
from course_lib.translator import (
    TranslatorError, TranslatorWarning, load_translator, read_translator,
)  # fmt: skip
from course_tools.training.phrase_book import plain, read_first_sentences
from course_tools.training.sentences import read_pairs
from course_tools.training.tokens import encode
from course_tools.training.train_translator import evaluate

FIRST = Path(__file__).parents[1] / "primeras_frases.tsv"


def score(translator, pairs, beam=1):
    """Traduce cada frase y la compara con la suya.

    Returns:
        Diccionario: ``bleu`` y ``chrf`` (sacrebleu, de 0 a 100), ``iguales`` (fracción de frases
        idénticas a la de referencia), ``perplejidad``, ``aciertos`` (fracción de tokens, con
        teacher forcing), ``avisos`` (frases con alguno), ``ms`` (mediana por frase) y ``firma`` (la de sacrebleu).
    """
    try:
        from sacrebleu.metrics import BLEU, CHRF
    except ImportError:
        raise SystemExit("Falta sacrebleu: pip install -r tests/requirements-scores.txt") from None
    texts, times, told = [], [], 0
    translator.translate(pairs[0][0], beam)
    for english, _ in pairs:
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", TranslatorWarning)
            try:
                texts.append(translator.translate(english, beam).text)
            except TranslatorError:  # nada que traducir, o no cabe: como no haber escrito nada
                texts.append("")
        times.append(time.perf_counter() - start)
        told += bool(warned)
    references = [spanish for _, spanish in pairs]
    bleu, chrf = BLEU(), CHRF()
    loss, hits = perplexed(translator, pairs)
    return {
        "frases": len(pairs),
        "bleu": round(bleu.corpus_score(texts, [references]).score, 2),
        "chrf": round(chrf.corpus_score(texts, [references]).score, 2),
        "iguales": round(sum(map(str.__eq__, texts, references)) / len(pairs), 3),
        "perplejidad": round(math.exp(loss), 3),
        "aciertos": round(hits, 3),
        "avisos": told,
        "ms": round(1000 * median(times), 1),
        "firma": str(bleu.get_signature()),
    }


def perplexed(translator, pairs):
    """Pérdida media por token y fracción de tokens acertados, con teacher forcing."""
    ids = list(zip(*(encode(translator.tokenizer, side) for side in zip(*pairs))))
    return evaluate(translator.model, ids, 2600)


def training_facts(translator, pairs):
    """Lo que la ficha dice de las frases de entrenamiento.

    Returns:
        Diccionario: ``parejas``; ``tokens`` de la frase inglesa más larga, con su marca de fin;
        ``repetidas``: cuántas frases del curso (alineadas y de género) están también ahí;
        ``primeras``: cuántas de las que se escriben primero; y la ``perplejidad`` en una de cada
        75 parejas.
    """
    gendered = [example for pair in [*gender_pairs(), *gender_controls()] for example in pair]
    own = {text for pair in aligned_pairs() for text in (pair.english, pair.spanish)}
    own |= {example.english for example in gendered}
    first = {plain(sentence) for sentence in read_first_sentences(FIRST)}
    english, spanish = zip(*pairs)
    loss, _ = perplexed(translator, pairs[::75])
    return {
        "parejas": len(pairs),
        "tokens": max(map(len, encode(translator.tokenizer, english))),
        "repetidas": len(own & {*english, *spanish}),
        "primeras": len(first & set(map(plain, english))),
        "perplejidad": round(math.exp(loss), 3),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("frases", nargs="?")
    parser.add_argument("--haz", type=int, default=1)
    parser.add_argument("--alinear", action="store_true")
    parser.add_argument("--entrenado-con", metavar="frases")
    parser.add_argument("--carpeta", help="otro traductor, en vez del que viene con el curso")
    parser.add_argument("--hilos", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.hilos)
    warnings.simplefilter("ignore", TranslatorWarning)
    translator = read_translator(options.carpeta) if options.carpeta else load_translator()
    if options.frases:
        print(json.dumps(score(translator, read_pairs(options.frases), options.haz), indent=2))
    if options.entrenado_con:
        print(json.dumps(training_facts(translator, read_pairs(options.entrenado_con)), indent=2))
    if options.alinear:
        pairs = aligned_pairs()
        half = len(pairs) // 2
        for name, part in (("para elegir", pairs[:half]), ("la nota", pairs[half:])):
            print(name)
            for layer, row in enumerate(alignment_accuracy(translator, part).tolist()):
                *heads, mean = (f"{fraction:.3f}" for fraction in row)
                print(f"  capa {layer}: cabezas {' '.join(heads)}; media {mean}")


if __name__ == "__main__":
    main()
