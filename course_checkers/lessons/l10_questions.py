"""10.3 · Cuántas veces se ejecuta un decoder al entrenar y al traducir."""

import functools

import torch

from course_checkers.engine import question

LENGTHS = (9, 6, 4)  # los tokens de las tres frases del lote


@functools.cache
def passes():
    """Las veces que se ejecuta un decoder: al entrenar con el lote y al traducir la frase larga."""
    from course_lib import Transformer
    from course_lib.decoding import greedy_search
    from course_lib.training import target_loss

    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Transformer(20, 20, dim_embedding=8, max_sequence_len=12, heads=2, Nx=1).eval()
    count = []
    model.decoder.register_forward_hook(lambda *_: count.append(1))
    ids = (torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]) * 5  # el relleno es 0
    marks = 1, -1, [0]  # ningún token tiene el id −1: no acaba hasta el límite
    with torch.no_grad():
        target_loss(model, ids, ids, bos=1)
        train = len(count)
        greedy_search(model, model.encoder(ids[:1])[0], max(LENGTHS), marks, cache=False)
    return train, len(count) - train


# De las veces de cada cosa, las que dice quien se equivoca.
WRONG = {
    "un-paso-por-posición": lambda train, write: (write, write),
    "una-vez-por-frase": lambda train, write: (len(LENGTHS), write),
    "una-vez-por-token": lambda train, write: (sum(LENGTHS), write),
    "traduce-de-golpe": lambda train, write: (train, train),
    "sin-el-fin": lambda train, write: (train, write - 1),
    "cuenta-el-inicio": lambda train, write: (train, write + 1),
    "al-revés": lambda train, write: (write, train),
    "traduce-de-golpe#2": lambda train, write: (len(LENGTHS), train),
    "traduce-las-tres": lambda train, write: (train, sum(LENGTHS)),
}
QUESTIONS = (question(
    __file__, "10.3", "cuántas veces se ejecuta el decoder", passes,
    {id: lambda f=f: f(*passes()) for id, f in WRONG.items()},
    kind="una pareja de números, como (2, 3)", read="10 §3.1",
),)  # fmt: skip
