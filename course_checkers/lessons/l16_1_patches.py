"""16.1 · Una fotografía, en trozos: {en qué ejes se lee} × {en qué orden se dejan} × {qué se aplana}."""

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


def sizes(x, p):
    B, c, H, W = x.shape
    if H % p or W % p:
        raise ValueError
    return {"b": B, "c": c, "r": H // p, "y": p, "k": W // p, "s": p}


def moved(order, read=READ):
    """Leer la fotografía con esos ejes y dejarlos en ese orden: (B, L, 3·p²)."""

    def way(x, p):
        size = sizes(x, p)
        cut = x.reshape([size[axis] for axis in read]).permute([read.index(axis) for axis in order])
        return cut.reshape(size["b"], size["r"] * size["k"], -1)

    return way


def ways():
    """Lo de dentro, y los trozos, en cualquier orden, y lo que no es cortar."""
    for inside, wrong in INSIDE.items():
        yield Option(moved("brk" + inside), tuple(OWN[name] for name in wrong) or None)
        yield Option(moved("bkr" + inside), tuple(OWN[name] for name in ["por-columnas", *wrong]))
    for name, form in OTHERS:
        yield Option(form, OWN[name])


def grid(x, p):
    return moved(GOOD)(x, p).unflatten(1, (x.shape[2] // p, -1))


OTHERS = (
    ("sin-mover", lambda x, p: x.reshape(len(x), sizes(x, p)["r"] * sizes(x, p)["k"], -1)),
    ("salteados", moved("bysc" + "rk", "bcryks")), ("salteados", moved(GOOD, "bcyrsk")),
    ("trozos-por-color", lambda x, p: moved(GOOD)(x, p).unflatten(2, (3, -1)).transpose(1, 2).flatten(1, 2)),
    ("sin-trasponer", lambda x, p: moved(GOOD)(x, p).mT),
    ("sin-aplanar-la-rejilla", grid),
    ("sin-aplanar-el-trozo", lambda x, p: moved(GOOD)(x, p).unflatten(2, (3, p, p))),
    ("sin-aplanar-el-trozo", lambda x, p: moved(GOOD)(x, p).unflatten(2, (3, p * p))),
    ("sin-aplanar-nada", lambda x, p: grid(x, p).unflatten(3, (3, p, p))),
    ("píxel-a-píxel", lambda x, p: x.flatten(2).mT), ("píxel-a-píxel", lambda x, p: x.flatten(2)),
    ("franjas", lambda x, p: x.unflatten(2, (-1, p)).transpose(1, 2).flatten(2)),
    ("se-solapan", lambda x, p: x.unfold(2, p, 1).unfold(3, p, 1).permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)),
    ("sin-color", lambda x, p: moved(GOOD)(x, p)[..., : p * p]),
    ("sin-color", lambda x, p: moved(GOOD)(x, p).unflatten(2, (3, -1)).mean(2)),
    ("promedia-el-trozo", lambda x, p: moved(GOOD)(x, p).unflatten(2, (3, -1)).mean(3)),
    ("sin-lote", lambda x, p: moved(GOOD)(x, p)[0]), ("junta-el-lote", lambda x, p: moved(GOOD)(x, p).flatten(0, 1)),
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
    axes = {"way": [*ways()]}
    stages = (Stage(("way",), tuple(case(*each) for each in ((2, 2, 3, 4), (1, 3, 2, 5), (3, 2, 2, 2), (2, 4, 3, 3)))),)
    extra = (case(2, 16, 12, 14), case(1, 1, 1, 4))
    tiny = (case(1, 1, 2, 2), case(1, 2, 2, 2))
    reader = Tensors("un tensor (B, L, 3·p²)")
    must = (
        right_shape(lambda x, p: (len(x), x[0, 0].numel() // p**2, 3 * p * p), "La forma de tu salida no es (B, L, 3·p²).", "16 §1"),
        only_moved,
    )

    def possible(self, pictures, p):
        return p > 0 and not any(n % p for n in pictures.shape[2:]) and pictures.shape[1] == 3

    def compute(self, choice, pictures, p):
        return {"output": choice["way"](pictures, p)}
