"""Una cabeza de inducción que nace: la que busca qué venía detrás la otra vez.

Las secuencias son de tokens al azar que se repiten. En la primera pasada solo se puede adivinar; desde
la segunda, lo que sigue ya se ha visto: hay que encontrar dónde, y copiar el de detrás.

Fuente: Olsson et al., «In-context Learning and Induction Heads» (2022).
"""

import torch
import torch.nn.functional as F

from course_lib.neighbours import Moment, watched


def repeated(count, period, length, vocab_size, chance):
    """Secuencias de tokens al azar que se repiten.

    Args:
        count, length: cuántas, B, y cuánto miden, L.
        period: cada cuánto se repite cada una, ``(B, 1)``, o un número para todas.
        vocab_size: de cuántos tokens se sortea.
        chance: un ``torch.Generator``.

    Returns:
        ``(ids, seen)``: ``(B, L)``, y ``(B, L − 1)`` con ``True`` donde lo que sigue ya ha salido.
    """
    ids, places = torch.randint(vocab_size, (count, length), generator=chance), torch.arange(length)
    first = (places % period).expand(count, length)
    return ids.gather(1, first), (places[:-1] >= period).expand(count, -1)


def induction_score(weights):
    """El peso medio de cada token de la segunda mitad a lo que siguió a su aparición anterior.

    Args:
        weights: ``(…, L, L)``, de una secuencia cuya segunda mitad repite la primera.

    Returns:
        ``(…)``: un número por cabeza, de 0 a 1.

    Fuente: Olsson et al. (2022), «prefix matching score».
    """
    half = weights.shape[-1] // 2
    return weights.diagonal(1 - half, -2, -1)[..., 1:].mean(dim=-1)


def learn_induction(model, *, steps=400, every=25, rate=3e-3, batch=32, period=12, seed=0):
    """Aprende a seguir secuencias que se repiten cada 6 a 19 tokens, y enseña cómo va.

    Args:
        model: un ``DecoderOnly``; aprende en su sitio.
        steps, every, rate, batch: como en ``learn_neighbours``, con AdamW.
        period: la mitad de lo que miden las secuencias con que se mira.
        seed: la de las secuencias.

    Yields:
        Un ``Moment``, con 128 secuencias que no ha visto: los aciertos de la segunda pasada, y los
        pesos, ``(Nx, h, L, L)``, de la primera.

    Raises:
        ValueError: como ``learn_neighbours``.
    """
    chance = torch.Generator().manual_seed(seed)
    vocab_size = model.output_projection.out_features

    def loss():
        periods = torch.randint(6, 20, (batch, 1), generator=chance)
        ids, seen = repeated(batch, periods, 40, vocab_size, chance)
        logits, _ = model(ids)
        return F.cross_entropy(logits[:, :-1][seen], ids[:, 1:][seen])

    def look():
        ids, seen = repeated(128, period, 2 * period, vocab_size, chance)
        logits, weights = model(ids, need_weights=True)
        hits = (logits[:, :-1].argmax(-1) == ids[:, 1:])[seen]
        return hits.double().mean(), torch.stack(weights)[:, 0]

    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    yield from watched("learn_induction", optimizer, loss, look, steps, every)
