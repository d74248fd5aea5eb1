"""14.3 · Muestrear: {cuándo va T} × {cuántos quedan} × {qué se acumula} × {dónde se corta} × {qué se reparte}."""

import torch

from course_checkers.engine import Numbers, Stage, laws, messages, show_both, stepping, told
from course_checkers.engine.case import Case, drawn
from course_checkers.engine import properties as law
from course_checkers.steps import numbers
from course_checkers.steps.attention import proportional
from course_checkers.steps.numbers import itself, rounded

LAWS = laws(__file__, "14.3 propiedades")
step = stepping(told(__file__, "14.3"))


def softmax(x):
    return x.softmax(-1)


def only(x, keep):
    return x.where(keep, -torch.inf)


def before(s):
    """Lo que suman los que van delante de cada uno."""
    return s.cumsum(-1) - s


def with_first(keep):
    return torch.cat([torch.ones_like(keep[..., :1]), keep[..., 1:]], -1)


def largest(x, k):
    """Quiénes son los k mayores de su fila."""
    return x.argsort(-1, descending=True).argsort(-1) < k


AXES = {
    # De las puntuaciones y T, con qué se recorta y con qué se reparte.
    "heat": step(
        lambda x, T: (x / T, x / T),
        ("temperatura-después", lambda x, T: (x, x / T)),
        ("sin-temperatura", lambda x, T: (x, x)),
        ("multiplica-la-temperatura", lambda x, T: (x * T, x * T)),
        ("temperatura-solo-al-recortar", lambda x, T: (x / T, x)),
        ("temperatura-dos-veces", lambda x, T: (x / T, x / T / T)),
        ("calienta-probabilidades", lambda x, T: (softmax(x) / T, softmax(x) / T)),
    ),
    "few": step(
        lambda k, V: k,
        ("sin-top-k", lambda k, V: V),
        ("k-de-más", lambda k, V: k + 1),
        ("k-de-menos", lambda k, V: k - 1, lambda k, V: max(1, k - 1)),
        ("k-fija", *(lambda k, V, n=n: n for n in (2, 3, 5))),
    ),
    # Sobre qué se cuenta p: los k que quedan, con el total repartido, o todos.
    "between": step(only, ("top-p-antes-de-top-k", lambda x, few: x)),
    "weigh": step(
        softmax,
        ("sin-softmax", itself),
        ("softmax-todo-junto", lambda x: softmax(x.flatten()).view_as(x)),
        ("softmax-otro-eje", lambda x: x.softmax(0), lambda x: x.softmax(-2)),
    ),
    "threshold": step(
        itself,
        ("p-al-revés", lambda p: 1 - p),
        ("p-fija", *(lambda p, n=n: n for n in (0.9, 0.95, 0.5, 0.8))),
    ),
    "order": step(
        lambda w: w.argsort(-1, descending=True),
        ("sin-ordenar", lambda w: torch.arange(w.shape[-1]).expand_as(w)),
        ("de-menos-a-más", lambda w: w.argsort(-1)),
    ),
    # De las probabilidades ya ordenadas, s, y de p, las que se quedan.
    "cut": step(
        lambda s, p: before(s) < p,
        ("deja-fuera-el-que-cruza", lambda s, p: s.cumsum(-1) <= p),
        ("deja-fuera-el-que-cruza", lambda s, p: with_first(s.cumsum(-1) <= p)),
        ("sin-top-p", lambda s, p: s >= -torch.inf),
        ("uno-de-más", lambda s, p: with_first((before(s) < p).roll(1, -1))),
        ("por-umbral", lambda s, p: s >= p, lambda s, p: with_first(s >= p), lambda s, p: s > 1 - p),
        ("parte-de-la-mayor", lambda s, p: s >= p * s.amax(-1, keepdim=True)),
        ("solo-el-mayor", lambda s, p: torch.arange(s.shape[-1]).expand_as(s) < 1),
        ("los-demás", lambda s, p: before(s) >= p, lambda s, p: s.cumsum(-1) > p),
    ),
    # Si cada fila tiene su núcleo.
    "rows": step(
        itself,
        ("mismo-tamaño", lambda keep: keep.reshape(-1, keep.shape[-1]).any(0).expand_as(keep)),
        ("mismo-tamaño", lambda keep: keep.reshape(-1, keep.shape[-1])[0].expand_as(keep)),
    ),
    # De las que se quedan, ordenadas, su orden y las puntuaciones, las dos en el orden en que salen.
    "back": step(
        lambda keep, order, x: (torch.zeros_like(keep).scatter(-1, order, keep), x),
        ("sin-deshacer-el-orden", lambda keep, order, x: (keep, x.gather(-1, order))),
        ("tapa-otras", lambda keep, order, x: (keep, x)),
        ("deshace-al-revés", lambda keep, order, x: (keep.gather(-1, order), x)),
        ("deshace-al-revés", lambda keep, i, x: (keep.gather(-1, i), x.gather(-1, i).gather(-1, i))),
    ),
    # De las que se quedan, las puntuaciones con que se reparte, las de top-k (o −∞) y p.
    "share": step(
        lambda keep, y, z, p: softmax(only(y, keep)),
        ("sin-renormalizar", lambda keep, y, z, p: softmax(z) * keep),
        ("sin-renormalizar", lambda keep, y, z, p: softmax(y) * keep),
        ("reparte-entre-filas", lambda keep, y, z, p: (w := softmax(z) * keep) / w.sum()),
        ("divide-por-p", lambda keep, y, z, p: softmax(z) * keep / p),
        ("tapa-con-0", lambda keep, y, z, p: softmax(y * keep)),
        ("softmax-otra-vez", lambda keep, y, z, p: softmax(softmax(z) * keep)),
        ("softmax-otra-vez", lambda keep, y, z, p: softmax(only(softmax(z), keep))),
        ("a-partes-iguales", lambda keep, y, z, p: proportional(keep * 1.0)),
        ("devuelve-quiénes", lambda keep, y, z, p: keep * 1.0, lambda keep, y, z, p: ~keep * 1.0),
        ("devuelve-puntuaciones", lambda keep, y, z, p: only(y, keep), lambda keep, y, z, p: y * keep),
        ("logaritmo", lambda keep, y, z, p: only(y, keep).log_softmax(-1)),
    ),
    "finish": step(itself, ("redondea", *map(rounded, (1, 2, 3, 4)))),
    "shape": step(itself, ("sobran-ejes", lambda x: x[None])),
}
# Con estos errores, hay pasos que ya no cuentan.
IDLE = {
    "sin-top-p": ("between", "weigh", "threshold", "order", "rows"),
    "solo-el-mayor": ("few", "between", "weigh", "threshold", "rows"),
    "sin-top-k": ("between",),
    "sin-ordenar": ("back",),
}


def apart(scores, T, k, p, gap):
    """Si ninguna suma se acerca a p, ni hay dos iguales, en ningún orden: si no, lo decidiría el redondeo."""
    for x in (scores.double() / T, scores.double()):
        for some in (x, only(x, largest(x, k))):
            s = softmax(some).sort(-1, descending=True).values
            near = (s.cumsum(-1)[..., :-1] - p).abs() <= gap
            if (near | (s.diff(dim=-1) == 0) & (s[..., 1:] > 0)).any():
                return False
    return True


def scores_case(seed, T, k, p, *shape, less=0.0):
    scores = 1.5 * drawn(seed, shape) - less
    group = {1: "fila", 2: "lote"}.get(len(shape), "ejes")
    name = f"puntuaciones {shape}, temperatura {T}, top_k = {k} y top_p = {p}"
    return Case(name, (scores, T, k, p), group)


# Elegidas para que cada orden de los pasos deje a otros, y para que el primero de todos quede.
CASES = (
    scores_case(27, 2.0, 4, 0.7, 3, 7),
    scores_case(288, 0.5, 3, 0.9, 2, 3, 5, less=3.0),
    scores_case(38, 1.7, 5, 0.6, 8),
    scores_case(5, 1.5, 2, 0.04, 4, 5),
    scores_case(13, 1.6, 2, 0.9, 3, 6),
    scores_case(79, 0.8, 4, 0.8, 4, 6),
    scores_case(55, 3.0, 6, 0.75, 2, 9, less=1.0),
)
EXAMPLE = (2 * torch.tensor([0.2, 0.4, 0.3, 0.1]).log(), 2.0, 3, 0.75)
TINY = [1.0, 2.0], [0.0, 2.0, 1.0], [0.0, 0.5, 1.0]


@law.each_output(LAWS)
def one(output, *given):
    """Que cada fila sume 1."""
    sums = output.sum(-1).flatten()
    row = (sums - 1).abs().nan_to_num(torch.inf).argmax()
    if not abs(sums[row] - 1) < 1e-3:
        yield "propiedad-suma", {"sum": show_both(sums[row], 1.0)[0]}


class Sampling(numbers.NumberExercise):
    """Comprueba las probabilidades con que se sortea el token siguiente.

    Args:
        function: recibe ``(scores, temperature, top_k, top_p)``: puntuaciones ``(..., V)`` y tres números.
            Devuelve probabilidades de la misma forma: se divide por la temperatura, quedan los ``top_k``
            mayores, de ellos los menos que juntos suman ``top_p`` o más, y se reparten el total.
    """

    number, title, points, section = "14.3", "el orden del muestreo", 3, "14 §8"
    letters = ("V",)
    possible = staticmethod(lambda x, T, k, p: 1 <= k <= x.shape[-1] and apart(x, T, k, p, 1e-4))
    axes = AXES
    stages = (Stage(tuple(AXES), CASES, usual=2, most=2),)
    extra = (
        Case("el ejemplo del enunciado", EXAMPLE, "fila"),
        scores_case(326, 1.3, 60, 0.9, 2, 300),
        scores_case(42, 1.0, 40, 0.5, 2, 1, 1, 1, 40),
    )
    tiny = tuple(Case("", (torch.tensor(x), 2.0, k, p)) for x in TINY for k, p in ((2, 0.65), (1, 0.3)))
    reader = Numbers("las probabilidades, (..., V)")
    groups = messages(__file__, "14.3 grupos")
    must = (
        law.right_shape(lambda scores, *_: scores.shape, "Tu salida no mide lo mismo.", section),
        law.finite(section),
        one,
        law.gives(LAWS["propiedad-ejemplo"], EXAMPLE, torch.tensor([0.0, 4 / 7, 3 / 7, 0.0])),
    )
    besides = (law.promised,)

    def skip(self, choice):
        """Si da lo mismo que otra forma más sencilla."""
        found = {mistake.id for option in choice.values() for mistake in option.mistakes}
        return any(choice[axis].mistakes for name in found for axis in IDLE.get(name, ()))

    def compute(self, choice, scores, temperature, top_k, top_p):
        x, y = choice["heat"](scores.double(), temperature)
        k = choice["few"](top_k, x.shape[-1])
        few = largest(x, k)
        weights = choice["weigh"](choice["between"](x, few))
        order = choice["order"](weights)
        keep = choice["cut"](weights.gather(-1, order), choice["threshold"](top_p))
        keep = choice["rows"](keep) & few.gather(-1, order)
        keep, y = choice["back"](keep, order, y)
        output = choice["share"](keep, y, only(y, largest(y, k)), top_p)
        return {"output": choice["shape"](choice["finish"](output)).float()}
