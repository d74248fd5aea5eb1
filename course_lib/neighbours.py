"""La tarea de los vecinos: una atención que aprende, en un segundo, a quién tiene que mirar.

Cada token tiene que decir qué token hay a su lado. Los tokens son al azar: hay que mirar allí. W_Q y
W_K nacen al azar, y solo se les dice cuánto se equivocan. La frase es un corro; con ``period``, un texto.
"""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.attention import MultiHeadAttention
from course_lib.checks import check_whole
from course_lib.masks import causal_mask


class NeighbourModel(nn.Module):
    """Embeddings, una atención y una capa que lee de ella los vecinos. Nada más.

    Args:
        heads, dim_embedding: cabezas, h, y anchura del modelo, d_model.
        offsets: qué vecinos hay que decir: −1 es el de antes; 1, el de después.
        length, vocab_size: tokens de una frase, L, y tokens distintos que hay, V.
        positions, scaled: si se suma la posición, y si las puntuaciones se dividen por √d_k.
        birth: cuántas veces mayor nace W_Q.
        mask: si nadie mira a los de después (máscara causal).
        period: si se dice, cada token es el de ``period`` antes, más 1: 3 0 5, 4 1 6. Y cada uno,
            menos el último, dice el siguiente; ``offsets`` tiene que ser (1,).
    """

    def __init__(
        self, heads, dim_embedding=32, *, offsets=(-1,), length=10, vocab_size=8, positions=True,
        scaled=True, birth=1, mask=False, period=None,
    ):  # fmt: skip
        super().__init__()
        if period and (length % check_whole("NeighbourModel", period=period) or offsets != (1,)):
            wanted = f"tiene que dividir a length = {length}, y hace falta offsets = (1,), el siguiente."
            raise ValueError(f"NeighbourModel: period = {period}, offsets = {offsets}: {wanted}")
        self.offsets, self.length, self.vocab_size = offsets, length, vocab_size
        self.mask, self.period = mask, period or length
        self.embedding = nn.Embedding(vocab_size, dim_embedding)
        self.position = nn.Embedding(length, dim_embedding) if positions else None
        self.attention = MultiHeadAttention(heads, dim_embedding, bias=False)
        self.attention.query_projection.weight.data *= birth
        self.read = nn.Linear(dim_embedding, len(offsets) * vocab_size)
        self.scaled = scaled

    def forward(self, ids):
        """Dice, en cada sitio, qué vecinos hay.

        Args:
            ids: ``(B, L)``, o más corta: lo que se lleva escrito.

        Returns:
            ``(logits, weights)``: ``(B, L, vecinos, V)`` y ``(B, h, L, L)``.
        """
        X = self.embedding(ids)
        if self.position is not None:
            X = X + self.position.weight[: ids.shape[1]]
        # La atención divide siempre: para que no cuente, se multiplica antes.
        query = X if self.scaled else X * math.sqrt(self.attention.dim_key)
        mask = causal_mask(ids.shape[1]) if self.mask else None
        output, weights = self.attention(query, X, X, mask)
        return self.read(output).unflatten(-1, (len(self.offsets), self.vocab_size)), weights


class Moment(NamedTuple):
    """Cómo va: los pasos dados, los aciertos de cada vecino, de 0 a 1, y los pesos ``(h, L, L)``.

    Con ``period``, los aciertos en lo que se repite; y en ``written``, los de escribirlo.
    """

    step: int
    accuracy: torch.Tensor
    weights: torch.Tensor
    written: float | None = None


def ring_batch(model, count, chance):
    """``count`` frases al azar y sus vecinos: ``(B, L)`` y ``(B, L, vecinos)``."""
    ids = torch.randint(model.vocab_size, (count, model.period), generator=chance)
    turns = range(model.length // model.period)
    ids = torch.cat([ids + turn for turn in turns], dim=1) % model.vocab_size
    return ids, torch.stack([ids.roll(-offset, 1) for offset in model.offsets], dim=-1)


def write_on(model, ids):
    """Sigue unas frases, hasta ``(B, L)``, token a token: cada uno, con lo escrito y nada más."""
    while ids.shape[1] < model.length:
        logits, _ = model(ids)
        ids = torch.cat([ids, logits[:, -1].argmax(-1)], dim=1)
    return ids


def watched(who, optimizer, loss, look, steps, every):
    """El bucle de lo que se enseña aprendiendo: un ``Moment``, con lo que da ``look()``, cada ``every`` pasos.

    ``loss()`` da la pérdida de unas frases nuevas; ``who`` es quién lo pide, para el error.
    """
    every = check_whole(who, every=every)
    for step in range(steps + 1):
        if step % every == 0:
            with torch.no_grad():
                seen = look()
            yield Moment(step, *seen)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # con matrices tan pequeñas, repartirlas cuesta más que hacerlo
        try:
            optimizer.zero_grad()
            loss().backward()
            optimizer.step()
        finally:
            torch.set_num_threads(threads)


def learn_neighbours(heads, dim_embedding=32, *, steps=300, every=25, rate=1e-3, batch=64, seed=0, **options):
    """Aprende con frases nuevas en cada paso, y enseña cómo va.

    Args:
        heads, dim_embedding, options: el modelo; véase ``NeighbourModel``.
        steps, every: pasos de Adam, y cada cuántos se mira.
        rate, batch: velocidad de aprendizaje y frases de cada paso.
        seed: la semilla de los pesos y de las frases.

    Yields:
        Un ``Moment`` antes de empezar y cada ``every`` pasos: de 256 frases que no ha visto.

    Raises:
        ValueError: si ``every`` no es un entero de 1 en adelante, u ``offsets`` está vacío; si
            ``heads`` no divide a ``dim_embedding``, y lo que dice el modelo.
    """
    if not options.get("offsets", True):
        raise ValueError("learn_neighbours: offsets = () y hace falta un vecino por lo menos: (-1,).")
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)
        model = NeighbourModel(heads, dim_embedding, **options).double()
    chance = torch.Generator().manual_seed(seed)
    period = model.period if model.period < model.length else None
    asked = slice(-1 if period else None)  # en un texto, detrás del último no hay nada

    def loss():
        ids, neighbours = ring_batch(model, batch, chance)
        logits, _ = model(ids)
        return F.cross_entropy(logits[:, asked].flatten(0, 2), neighbours[:, asked].flatten())

    def look():
        ids, neighbours = ring_batch(model, 256, chance)
        logits, weights = model(ids)
        right = (logits.argmax(-1) == neighbours).double()
        if not period:
            return right.mean(dim=(0, 1)), weights[0]
        written = (write_on(model, ids[:, :period]) == ids)[:, period:].double().mean()
        return right[:, period - 1 : -1].mean(dim=(0, 1)), weights[0], written.item()

    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    yield from watched("learn_neighbours", optimizer, loss, look, steps, every)
