"""Una cabeza de inducción que nace: la que busca qué venía detrás la otra vez.

Fuente: Olsson et al., «In-context Learning and Induction Heads» (2022).
"""

import torch
import torch.nn.functional as F

from course_lib.neighbours import watched


def repeated(count, period, length, vocab_size, chance):
    """Sortea ``count`` secuencias que se repiten cada ``period`` tokens, un número o ``(B, 1)``.

    Returns:
        ``(ids, seen)``: ``(B, L)``, y ``(B, L − 1)`` con ``True`` donde lo que sigue ya ha salido.
    """
    ids, places = torch.randint(vocab_size, (count, length), generator=chance), torch.arange(length)
    turns = (places % period).expand(count, length)
    return ids.gather(1, turns), (places[:-1] >= period).expand(count, -1)


def induction_score(weights):
    """Lo que la segunda mitad de una secuencia repetida da al que siguió la otra vez: (…, L, L) → (…)."""
    half = weights.shape[-1] // 2
    return weights.diagonal(1 - half, -2, -1)[..., 1:].mean(dim=-1)


def learn_induction(model, *, steps=400, every=50, rate=3e-3, batch=32, period=12, seed=0):
    """Un ``DecoderOnly`` aprende, en su sitio, a seguir lo que se repite, y enseña cómo va.

    Los argumentos, como en ``learn_neighbours``, con AdamW. Cada vez se mira con 64 secuencias de
    ``period`` tokens, dos veces: un ``Moment`` tiene los aciertos de la segunda, y los pesos de la
    primera secuencia, ``(Nx, h, L, L)``.
    """
    vocab_size = model.output_projection.out_features
    chance, apart = (torch.Generator().manual_seed(k) for k in (seed, seed + 1000))

    def loss():
        periods = torch.randint(6, 20, (batch, 1), generator=chance)
        ids, seen = repeated(batch, periods, 40, vocab_size, chance)
        return F.cross_entropy(model(ids)[0][:, :-1][seen], ids[:, 1:][seen])

    def look():
        ids, seen = repeated(64, period, 2 * period, vocab_size, apart)
        logits, weights = model(ids, need_weights=True)
        hits = (logits[:, :-1].argmax(-1) == ids[:, 1:])[seen]
        return hits.double().mean(), torch.stack(weights)[:, 0]

    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    yield from watched("learn_induction", optimizer, loss, look, steps, every)
