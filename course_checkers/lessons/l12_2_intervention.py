"""12.2 · Tu intervención: {qué columnas} × {de qué capa} × {qué se pone} × {dónde} × {qué se mide}."""

from functools import lru_cache

import torch

from course_checkers.engine import Case, Stage, Tensors, drawn, laws, stepping, told
from course_checkers.inside.model import FakeEncoder, has_hooks
from course_checkers.steps import numbers
from course_checkers.steps.numbers import itself, rounded
from course_lib.probes import hooked

step = stepping(told(__file__, "11") | told(__file__, "12.2"))
LEFT = laws(__file__, "12.2 propiedades")["deja-el-hook"]

AXES = {
    # De una cabeza, de cuántas hay y de lo que mide cada una, sus columnas.
    "columns": step(
        lambda i, h, d: slice(i * d, (i + 1) * d),
        ("cabeza-desde-1", lambda i, h, d: slice((i - 1) * d, i * d) if i else slice(0)),
        ("cabeza-desde-1", lambda i, h, d: slice((i - 1) % h * d, ((i - 1) % h + 1) * d)),
        ("cabeza-siguiente", lambda i, h, d: slice((i + 1) * d, (i + 2) * d)),
        ("desde-el-final", lambda i, h, d: slice((h - 1 - i) * d, (h - i) * d)),
        ("empieza-en-cabeza·h", lambda i, h, d: slice(i * h, i * h + d)),
        ("empieza-en-cabeza·h", lambda i, h, d: slice(i * h, (i + 1) * h)),
        ("empieza-en-cabeza", lambda i, h, d: slice(i, i + d)),
        ("una-sola-columna", lambda i, h, d: slice(i, i + 1), lambda i, h, d: slice(i * d, i * d + 1)),
        ("columnas-salteadas", lambda i, h, d: slice(i, None, h), lambda i, h, d: slice(i, None, d)),
        ("hasta-el-final", lambda i, h, d: slice(i * d, None)),
        ("columna-de-menos", lambda i, h, d: slice(i * d, (i + 1) * d - 1)),
        ("columna-de-más", lambda i, h, d: slice(i * d, (i + 1) * d + 1)),
        ("nada", lambda i, h, d: slice(0)),
        ("todo", lambda i, h, d: slice(None)),
    ),
    "heads": step(itself, ("una-de-las-cabezas", lambda heads: heads[:1], lambda heads: heads[-1:])),
    "rest": step(itself, ("las-demás", torch.logical_not)),
    # De la capa que se pide y de cuántas hay, en cuáles.
    "when": step(
        lambda layer, n: {layer},
        ("capa-desde-1", lambda layer, n: {layer - 1}, lambda layer, n: {(layer - 1) % n}),
        ("capa-siguiente", lambda layer, n: {layer + 1}),
        ("todas-las-capas", lambda layer, n: set(range(n))),
    ),
    # De lo que dicen, en las dos frases, lo que se pone.
    "fill": step(
        lambda said: said.flip(0),
        ("a-cero", torch.zeros_like),
        ("a-su-media", *(lambda said, axes=axes: said.mean(axes, keepdim=True) for axes in ((0, 1), 1))),
        ("a-medias", lambda said: said.mean(0, keepdim=True)),
        ("las-suma", lambda said: said + said.flip(0)),
        ("una-pisa-a-la-otra", lambda said: said[1:], lambda said: said[:1]),
        ("los-tokens", lambda said: said.flip(1)),
    ),
    # Si se cambia lo que entra en W_O o lo que sale.
    "place": step(False, ("detrás-de-W_O", True)),
    # De los estados de antes y los de después, y de la capa, lo que se compara.
    "seen": step(
        lambda before, after, layer: (before[-1], after[-1]),
        ("sale-de-la-capa", lambda before, after, layer: (before[layer + 1], after[layer + 1])),
        ("con-lo-que-entra", lambda before, after, layer: (before[0], after[-1])),
        ("sin-restar", lambda before, after, layer: (torch.zeros_like(after[-1]), after[-1])),
    ),
    "measure": step(
        lambda a, b: (b - a).norm(dim=-1),
        ("cuadrado", lambda a, b: (b - a).square().sum(-1)),
        ("media-cuadrática", lambda a, b: (b - a).square().mean(-1).sqrt()),
        ("valor-absoluto", lambda a, b: (b - a).abs().sum(-1), lambda a, b: (b - a).abs().mean(-1)),
        ("resta-de-normas", lambda a, b: b.norm(dim=-1) - a.norm(dim=-1)),
        ("coseno", lambda a, b: torch.cosine_similarity(a, b, dim=-1)),
        ("la-diferencia", lambda a, b: b - a, lambda a, b: a - b),
        ("un-solo-número", lambda a, b: (b - a).norm(), lambda a, b: (b - a).norm(dim=-1).mean()),
        ("una-sola-frase", lambda a, b: (b - a).norm(dim=-1)[0], lambda a, b: (b - a).norm(dim=-1)[1]),
        ("por-frase", lambda a, b: (b - a).norm(dim=-1).mean(-1), lambda a, b: (b - a).norm(dim=(1, 2))),
    ),
    "finish": step(itself, ("redondea", *map(rounded, (1, 2, 3)))),
    "shape": step(itself, ("sobran-ejes", lambda x: x[None], lambda x: x[..., None])),
}  # fmt: skip


def encoder_case(seed, n, L, h, d_k, layer, heads, born=0):
    name = f"{n} capas de {h} cabezas y {L} tokens, layer = {layer} y heads = {heads}"
    return Case(name, (FakeEncoder(seed + born, h, h * d_k, n), drawn(seed, (2, L, h * d_k)), layer, heads))


CASES = tuple(
    encoder_case(seed, *sizes)
    for seed, sizes in enumerate(((3, 5, 4, 3, 1, [2, 1]), (2, 4, 3, 5, 0, [1]), (4, 6, 5, 2, 2, [3, 0, 1])))
)
CASES += (encoder_case(1, 2, 4, 3, 5, 0, [1], born=8),)  # lo mismo, en otro encoder


@lru_cache(maxsize=2000)
def through(encoder, x, own, when, fill, after):
    """Todos los estados, con esas columnas cambiadas en esas capas."""
    own, states = torch.tensor(own, dtype=torch.bool), [x]

    def put(said):
        return torch.where(own, fill(said), said)

    hook = (lambda _, inputs, out: put(out)) if after else (lambda _, inputs: (put(inputs[0]),))
    layers = encoder.encoder_layers
    places = [layers[i].multi_head_attention.output_projection for i in when if 0 <= i < len(layers)]
    with torch.no_grad(), hooked(*((place, hook) for place in places), after=after):
        for each in layers:
            states.append(each(states[-1])[0])
    return states


class Intervention(numbers.NumberExercise):
    """Comprueba una función que interviene en un encoder y mide qué cambia.

    Args:
        function: recibe ``(encoder, x, layer, heads)``: un ``Encoder`` del curso; lo que entra en él de dos
            frases, ``(2, L, d_model)``; una capa, y una lista de cabezas suyas, desde 0. Devuelve la norma de
            lo que cambia cada vector final si cada una dice, en una frase, lo que dice en la otra,
            ``(2, L)``. El encoder no cambia.
    """

    number, title, points, section = "12.2", "tu intervención", 3, "12 §4.2"
    letters = ("", "- L -")
    axes = AXES
    stages = (Stage(tuple(AXES), CASES, most=2),)
    extra = encoder_case(3, 1, 3, 2, 4, 0, [0, 1]), encoder_case(4, 6, 12, 12, 8, 3, [1])
    reader, also = Tensors(), ("deja-el-hook", *numbers.KNOWN)
    must = (*numbers.must(section, lambda encoder, x, *_: x.shape[:2]),)

    def changed(self, case, arguments):
        """Quien deja el *hook* puesto cambia el encoder: todo lo de después sale cambiado."""
        return LEFT if has_hooks(arguments[0]) else super().changed(case, arguments)

    def possible(self, encoder, x, layer, heads):
        fits = x.dim() == 3 and len(x) == 2 and x.shape[-1] == encoder.d
        return fits and 0 <= layer < encoder.n and bool(heads) and {*heads} <= {*range(encoder.h)}

    def compute(self, choice, encoder, x, layer, heads):
        layers = encoder.encoder_layers
        first = layers[0].multi_head_attention
        own = torch.zeros(x.shape[-1], dtype=torch.bool)
        for head in choice["heads"](heads):
            own[choice["columns"](head, first.heads, first.dim_key)] = True
        own = choice["rest"](own)

        when, (fill, place) = choice["when"](layer, len(layers)), (choice["fill"], choice["place"])
        before = through(encoder, x, (), (), fill, place)
        after = through(encoder, x, tuple(own.tolist()), tuple(when), fill, place)
        output = choice["measure"](*choice["seen"](before, after, layer))
        return {"output": choice["shape"](choice["finish"](output))}
