"""Una pregunta: cuántas veces se ejecuta un decoder al entrenar y al traducir."""

import functools

import torch

from course_lib.checkers.engine.questions import Question, Wrong

LENGTHS = (9, 6, 4)  # los tokens de las tres frases del lote


@functools.cache
def passes():
    """Las veces que se ejecuta un decoder: al entrenar con el lote y al traducir la frase larga."""
    from course_lib import Transformer
    from course_lib.decoding import greedy_search
    from course_lib.translator_model.training import target_loss

    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Transformer(20, 20, dim_embedding=8, max_sequence_len=12, heads=2, Nx=1).eval()
    count, counts = [], []
    hook = model.decoder.register_forward_hook(lambda *_: count.append(1))
    ids = (torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]) * 5  # el relleno es 0
    marks = 1, -1, [0]  # ningún token tiene el id −1: no acaba hasta el límite
    with torch.no_grad():
        encoded = model.encoder(ids[:1])
        for run in (
            lambda: target_loss(model, ids, ids, bos=1),
            lambda: greedy_search(model, encoded, max(LENGTHS), marks, cache=False),
        ):
            count.clear()
            run()
            counts.append(len(count))
    hook.remove()
    return tuple(counts)


def wrong_passes(change, id, text, read="10 §3.1"):
    return Wrong(lambda: change(*passes()), id, text, read)


PASSES = Question(
    "10.4",
    "cuántas veces se ejecuta el decoder",
    passes,
    (
        wrong_passes(
            lambda train, write: (write, write),
            "un-paso-por-posición",
            "Entrenando no se va token a token: el pasado correcto ya se conoce, y la máscara causal deja "
            "calcular todas las posiciones a la vez.",
        ),
        wrong_passes(
            lambda train, write: (len(LENGTHS), write),
            "una-vez-por-frase",
            "Las frases de un lote van juntas, en un solo tensor con relleno.",
        ),
        wrong_passes(
            lambda train, write: (sum(LENGTHS), write),
            "una-vez-por-token",
            "Entrenando, todos los tokens del lote se calculan a la vez: el pasado correcto ya se conoce.",
        ),
        wrong_passes(
            lambda train, write: (train, train),
            "traduce-de-golpe",
            "Para elegir un token hace falta el anterior, y al traducir aún no existe: uno en cada vuelta.",
            "10 §5.5",
        ),
        wrong_passes(
            lambda train, write: (train, write - 1),
            "sin-el-fin",
            "La marca de fin también se predice: cuesta una vez más.",
            "10 §5.5",
        ),
        wrong_passes(
            lambda train, write: (train, write + 1),
            "cuenta-el-inicio",
            "La marca de inicio no se predice: se da.",
            "10 §5.5",
        ),
        wrong_passes(
            lambda train, write: (write, train),
            "al-revés",
            "Están cambiadas: primero, entrenando; después, traduciendo.",
        ),
        wrong_passes(
            lambda train, write: (len(LENGTHS), train),
            "traduce-de-golpe",
            "Al traducir, cada token espera al anterior; y entrenando, las frases de un lote van juntas.",
            "10 §5.5",
        ),
        wrong_passes(
            lambda train, write: (train, sum(LENGTHS)),
            "traduce-las-tres",
            "Se traduce una sola frase, la de 9 tokens.",
            "10 §5.5",
        ),
    ),
    kind="una pareja de números, como (2, 3)",
    tolerance=1e-6,
    read="10 §3.1",
    points=1,
)

QUESTIONS = (PASSES,)
