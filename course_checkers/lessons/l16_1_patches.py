"""16.1 · Una fotografía, en trozos: {en qué orden se leen y se dejan los ejes} × {qué se aplana}."""

import torch

from course_checkers.engine import Case, Exercise, Option, Stage, Tensors, laws, told
from course_checkers.engine.properties import each_output, right_shape

OWN, LAWS = told(__file__, "16.1"), laws(__file__, "16.1 propiedades")
# Los ejes: el lote, los colores, las filas de trozos, las de dentro de uno, sus columnas y las de dentro.
READ, GOOD = "bcryks", "brkcys"
INSIDE = {  # lo de dentro de un trozo, en otro orden: qué error es
    "cys": [], "csy": ["trozo-tumbado"], "ycs": ["colores-en-medio"], "scy": ["colores-en-medio", "trozo-tumbado"],
    "ysc": ["colores-al-final"], "syc": ["colores-al-final", "trozo-tumbado"],
}  # fmt: skip


def moved(order, read=READ):
    """Leer la fotografía con esos ejes y dejarlos en ese orden: (B, L, 3·p²)."""

    def way(x, p):
        B, c, H, W = x.shape
        size = dict(zip(READ, (B, c, H // p, p, W // p, p)))
        cut = x.reshape([size[axis] for axis in read]).permute([read.index(axis) for axis in order])
        return cut.reshape(B, size["r"] * size["k"], -1)

    return way


def after(change):
    """Los trozos buenos, y algo más: recibe los trozos, (B, L, 3·p²), la fotografía y el lado."""
    return lambda x, p: change(moved(GOOD)(x, p), x, p)


def ways():
    """Lo de dentro, y los trozos, en cualquier orden, y lo que no es cortar."""
    for inside, wrong in INSIDE.items():
        yield Option(moved("brk" + inside), tuple(OWN[name] for name in wrong) or None)
        yield Option(moved("bkr" + inside), tuple(OWN[name] for name in ["por-columnas", *wrong]))
    yield from (Option(form, OWN[name]) for name, form in OTHERS)


OTHERS = (
    ("sin-mover", moved(READ)), ("salteados", moved("byscrk")), ("salteados", moved(GOOD, "bcyrsk")),
    ("trozos-por-color", after(lambda t, x, p: t.unflatten(2, (3, -1)).transpose(1, 2).flatten(1, 2))),
    ("sin-trasponer", after(lambda t, x, p: t.mT)),
    ("sin-aplanar-la-rejilla", after(lambda t, x, p: t.unflatten(1, (x.shape[2] // p, -1)))),
    ("sin-aplanar-el-trozo", after(lambda t, x, p: t.unflatten(2, (3, p, p)))),
    ("sin-aplanar-el-trozo", after(lambda t, x, p: t.unflatten(2, (3, p * p)))),
    ("sin-aplanar-nada", after(lambda t, x, p: t.unflatten(2, (3, p, p)).unflatten(1, (x.shape[2] // p, -1)))),
    ("píxel-a-píxel", lambda x, p: x.flatten(2).mT), ("píxel-a-píxel", lambda x, p: x.flatten(2)),
    ("franjas", lambda x, p: x.unflatten(2, (-1, p)).transpose(1, 2).flatten(2)),
    ("se-solapan", lambda x, p: x.unfold(2, p, 1).unfold(3, p, 1).permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)),
    ("sin-color", after(lambda t, x, p: t[..., : p * p])), ("sin-color", after(lambda t, x, p: t.unflatten(2, (3, -1)).mean(2))),
    ("promedia-el-trozo", after(lambda t, x, p: t.unflatten(2, (3, -1)).mean(3))),
    ("sin-lote", after(lambda t, x, p: t[0])), ("junta-el-lote", after(lambda t, x, p: t.flatten(0, 1))),
)  # fmt: skip


def case(B, rows, columns, p):
    """Números que no se repiten: dicen de dónde vienen."""
    x = torch.arange(float(B * 3 * rows * p * columns * p)).reshape(B, 3, rows * p, columns * p)
    return Case(f"{B} fotografía{'s' * (B > 1)} de {rows * p} × {columns * p} y p = {p}", (x, p))


@each_output(LAWS)
def only_moved(output, x, p):
    if output.numel() == x.numel() and not torch.equal(output.flatten().sort().values, x.flatten().sort().values):
        yield "propiedad-números", {}


class Patches(Exercise):
    """Comprueba una función que corta fotografías en trozos.

    Args:
        function: recibe ``(pictures, p)``: fotografías, ``(B, 3, H, W)``, y el lado de un trozo, que divide a
            H y a W. Devuelve ``(B, L, 3·p²)``: los trozos, por filas; de cada uno, color a color, sus filas.
    """

    number, title, points = "16.1", "una fotografía, en trozos", 3
    possible = staticmethod(lambda x, p: p > 0 and not any(n % p for n in x.shape[2:]) and x.shape[1] == 3)
    axes = {"way": [*ways()]}
    stages = (Stage(("way",), tuple(case(*each) for each in ((2, 2, 3, 4), (1, 3, 2, 5), (3, 2, 2, 2), (2, 4, 3, 3)))),)
    extra = (case(2, 16, 12, 14), case(1, 1, 1, 4))
    tiny = (case(1, 1, 2, 2), case(1, 2, 2, 2))
    reader = Tensors("un tensor (B, L, 3·p²)")
    must = (
        right_shape(lambda x, p: (len(x), x[0, 0].numel() // p**2, 3 * p * p), "La forma de tu salida no es (B, L, 3·p²).", "16 §1"),
        only_moved,
    )

    def compute(self, choice, pictures, p):
        return {"output": choice["way"](pictures, p)}
