"""10.2 · Escribir token a token, y siempre el más probable: {le da todo lo escrito, solo lo último…} ×
{el más alto, el más bajo…} × {para en el fin, no para…} × {cuántos como mucho} × {con fin, sin él…}.
"""

import math

import numpy as np
import torch

from course_checkers.engine import NOTHING, Case, Exercise, Option, Raised, Stage, Tensors, running
from course_checkers.engine.mistakes import mistakes, stepping, told
from course_checkers.inside.model import PATIENCE, FakeModel

FOREVER, EMPTY = -1, -2  # lo que se apunta de quien no para, y de quien no devuelve nada


# --- Lo que se dice -------------------------------------------------------------------------------


def compared(look):
    if look.yours == look.right:
        return f"Con {look.case.name}, aciertas solo porque dos errores se compensan."
    return f"Con {look.case.name}, {said(look.yours)}, y era {written(look.right)}."


def said(yours):
    if isinstance(yours, tuple) and yours[:1] == (FOREVER,):
        return f"no parabas: te he parado cuando llamabas {PATIENCE} veces a next_scores"
    return "no devuelves nada" if yours == (EMPTY,) else f"devuelves {written(yours)}"


def written(value, most=12):
    """Una lista de ids, como se escribe en una frase."""
    if not isinstance(value, tuple):
        return f"{value:.3g}"
    shown = ", ".join(map(written, value[:most]))
    return f"[{shown}]" if len(value) <= most else f"[{shown}, …] ({len(value)} ids)"


TOLD = told(__file__, "10.2", compared)
step = stepping(TOLD)
SEEN = told(__file__, "10.2 propiedades")

# De cada error, primero la forma más corriente: con tres errores a la vez se buscan solo esas.

# Qué se le da: de lo escrito y las dos marcas.
FEEDS = step(
    lambda ids, bos, eos: (bos, *ids),
    ("no-da-todo", lambda ids, bos, eos: (bos, *ids)[-1:]),
    ("sin-inicio", lambda ids, bos, eos: ids),
    ("siempre-el-inicio", lambda ids, bos, eos: (bos,)),
    ("no-da-lo-último", lambda ids, bos, eos: (bos, *ids[:-1])),
    ("entra-al-revés", lambda ids, bos, eos: (bos, *ids)[::-1]),
    ("inicio-dos-veces", lambda ids, bos, eos: (bos, bos, *ids)),
    ("inicio-otro-id", lambda ids, bos, eos: (eos, *ids)),
    ("no-da-todo", *(lambda ids, bos, eos, n=n: (bos, *ids)[-n:] for n in range(2, 6))),
    ("no-da-todo", lambda ids, bos, eos: (bos, *ids[-1:])),
    ("sin-inicio", lambda ids, bos, eos: ids or (bos,)),
    ("siempre-el-inicio", lambda ids, bos, eos: (bos, *ids[:1])),
    ("entra-al-revés", lambda ids, bos, eos: (bos, *ids[::-1]), lambda ids, bos, eos: (*ids, bos)),
    ("inicio-otro-id", *(lambda ids, bos, eos, n=n: (n, *ids) for n in (0, 1, 2, 101))),
)


def best(scores, ids=(), bos=None, eos=None):
    return max(range(len(scores)), key=scores.__getitem__)


def best_but(scores, hidden):
    """El mejor, sin contar algunos."""
    allowed = [i for i in range(len(scores)) if i not in hidden]
    return max(allowed or [0], key=scores.__getitem__)


CHOICES = step(
    best,
    ("el-que-menos", lambda scores, ids, bos, eos: best([-score for score in scores])),
    ("el-segundo", lambda s, ids, bos, eos: sorted(range(len(s)), key=s.__getitem__)[-2]),
    ("se-salta-el-0", lambda scores, ids, bos, eos: best_but(scores, [0])),
    ("id-corrido", lambda scores, ids, bos, eos: best(scores[1:])),
    ("el-mayor-sin-signo", lambda scores, ids, bos, eos: best([abs(score) for score in scores])),
    ("prohíbe-el-fin", lambda scores, ids, bos, eos: best_but(scores, [eos])),
    ("prohíbe-el-inicio", lambda scores, ids, bos, eos: best_but(scores, [bos])),
    ("no-repite", lambda scores, ids, bos, eos: best_but(scores, ids)),
    ("guarda-la-puntuación", lambda scores, ids, bos, eos: max(scores)),
    ("id-corrido", lambda s, ids, bos, eos: best(s) + 1, lambda s, ids, bos, eos: best(s) - 1),
)
STOPS = step(
    lambda ids, bos, eos: ids[-1] == eos,
    ("no-para", lambda ids, bos, eos: False),
    ("para-en-otro", lambda ids, bos, eos: ids[-1] == 0),
    ("para-al-repetir", lambda ids, bos, eos: ids[-1] in ids[:-1]),
    ("para-en-el-inicio", lambda ids, bos, eos: ids[-1] in (bos, eos)),
    ("compara-con-is", lambda ids, bos, eos: ids[-1] == eos and eos < 257),
    ("para-tarde", lambda ids, bos, eos: eos in ids[:-1]),
    ("para-en-otro", lambda ids, bos, eos: ids[-1] == bos),
    ("para-en-otro", *(lambda ids, bos, eos, end=end: ids[-1] == end for end in (1, 2, 3, 102))),
    ("para-al-repetir", lambda ids, bos, eos: ids[-1] in (*ids[:-1], eos)),
)
# De ``longest``, cuántos tokens se piden como mucho, y si después se corta por ahí.
LIMITS = step(
    (lambda longest: longest, False),
    ("un-token-menos", (lambda longest: longest - 1, False)),
    ("un-token-más", (lambda longest: longest + 1, False)),
    ("sin-límite", (lambda longest: math.inf, False), (lambda longest: math.inf, True)),
    ("un-token-menos", (lambda longest: max(1, longest - 1), False)),
)
# De lo escrito, la marca de fin, si se ha parado en ella y ``longest``, lo que se devuelve.
BACKS = step(
    lambda ids, eos, ended, longest: ids,
    ("sin-fin", lambda ids, eos, ended, longest: ids[:-1] if ended else ids),
    ("fin-de-más", lambda ids, eos, ended, longest: ids if ended else (*ids, eos)),
    ("rellena", lambda ids, eos, ended, longest: ids + (0,) * (longest - len(ids))),
    ("cambia-el-último", lambda ids, eos, ended, longest: ids if ended else (*ids[:-1], eos)),
    ("sin-el-último", lambda ids, eos, ended, longest: ids[:-1]),
    ("solo-uno", lambda ids, eos, ended, longest: ids[:1]),
    ("solo-el-último", lambda ids, eos, ended, longest: ids[-1:]),
    ("solo-si-acaba", lambda ids, eos, ended, longest: ids if ended else ()),
    ("al-revés", lambda ids, eos, ended, longest: ids[::-1]),
    ("sin-fin", lambda ids, eos, ended, longest: tuple(token for token in ids if token != eos)),
    ("fin-de-más", lambda ids, eos, ended, longest: (*ids, eos)),
    ("rellena", lambda ids, eos, ended, longest: ids + (eos,) * (longest - len(ids))),
    ("solo-uno", lambda ids, eos, ended, longest: ids[0]),
    ("solo-el-último", lambda ids, eos, ended, longest: ids[-1]),
    ("solo-si-acaba", lambda ids, eos, ended, longest: ids if ended else (EMPTY,)),
)
FRONTS = step(
    # «Sin ``bos``» también puede ser sin ninguno, aunque lo escriba el modelo.
    [lambda ids, bos: ids, lambda ids, bos: tuple(token for token in ids if token != bos)],
    ("con-inicio", lambda ids, bos: (bos, *ids)),
)
SHAPES = step(
    lambda ids: ids,
    ("cuántos", len),
    ("sobran-ejes", lambda ids: (ids,), lambda ids: tuple((token,) for token in ids)),
)


def write(model, feed, choose, stop, limit, bos, eos, longest):
    """Lo que se escribe dando cada paso de la forma que se pide, y si se para en la marca."""
    ids, asked = (), 0
    while len(ids) < limit(longest):
        key, asked = feed(ids, bos, eos), asked + 1
        if asked >= PATIENCE:
            return (FOREVER, *key), False
        ids = (*ids, choose(model.scores(key), ids, bos, eos))
        if stop(ids, bos, eos):
            return ids, True
    return ids, False


def writing_case(length, longest, V, bos, eos, push=0.3, bold=False):
    """Un modelo que, bien usado, escribe ``length`` tokens y acaba; con ``None``, no acaba nunca."""
    right = tuple(axis[0].value for axis in (FEEDS, CHOICES, STOPS))
    for seed in range(10**6):
        model = FakeModel(seed, V, bos, eos, push if length else -4.0, bold)
        ids, ended = write(model, *right, LIMITS[0].value[0], bos, eos, length or longest)
        said_bos = bos in ids[1:-1] or not bold
        if said_bos and ended == (length is not None) and length in (None, len(ids)):
            break
    ends = f"acaba en {length} token{'s' * (length > 1)}" if length else "no acaba nunca"
    return Case(f"un modelo que {ends} y longest = {longest}", (model, bos, eos, longest))


CASES = (
    writing_case(6, 9, V=12, bos=1, eos=2),
    writing_case(None, 7, V=9, bos=1, eos=2),
    writing_case(5, 5, V=10, bos=8, eos=5),
    writing_case(5, 4, V=11, bos=0, eos=10),
    writing_case(1, 6, V=8, bos=3, eos=0),
    writing_case(7, 12, V=14, bos=11, eos=4),
    writing_case(None, 1, V=6, bos=2, eos=1),
    writing_case(8, 11, V=10, bos=5, eos=3),
    writing_case(None, 10, V=7, bos=6, eos=0),
    writing_case(4, 8, V=110, bos=101, eos=102),
    writing_case(None, 18, V=5, bos=1, eos=4),  # con pocos tokens, todo se repite
    writing_case(None, 18, V=25, bos=7, eos=6),
    writing_case(7, 9, V=12, bos=4, eos=3, bold=True),  # la de inicio también se puede escribir
    writing_case(5, 8, V=400, bos=301, eos=300, push=2.5),  # ids grandes: «is» ya no sirve
    writing_case(2, 9, V=12, bos=1, eos=2),  # como la primera, y escribe otra cosa
    writing_case(None, 33, V=30, bos=9, eos=8),
)
TINY = (writing_case(1, 2, V=3, bos=0, eos=1), writing_case(2, 3, V=4, bos=0, eos=1))


class IdList(Tensors):
    """Una lista de ids, como tupla."""

    def read(self, value, case):
        if value is None:  # en la primera prueba tiene que devolver algo
            return ((EMPTY,), None) if case in CASES[1:] else (None, NOTHING)
        try:
            return canonical(value), None
        except TypeError as error:
            return None, SEEN["tipo"].saying(kind=error).found()


def canonical(value):
    """Lo devuelto, como tupla de números."""
    if isinstance(value, torch.Tensor | np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(map(canonical, value))
    # Un número con decimales es una puntuación; 7.0 parece un id, y no lo es.
    if isinstance(value, float) and (not math.isfinite(value) or value.is_integer()):
        raise TypeError("número con decimales")
    if type(value) not in (int, float):
        raise TypeError(type(value).__name__)
    return value


# --- Lo que se mira -------------------------------------------------------------------------------


def found_limit(attempt):
    """Si siempre para en el mismo número de tokens, o no pasa de uno, en cuál."""
    outputs = [attempt.ask(*CASES[place].arguments) for place in (1, 8, -1)]
    if (FOREVER,) in [output[:1] for output in outputs]:
        return
    first, second, last = map(len, outputs)
    for number in (first - 1, first, first + 1) if first == second else ():
        mistake = TOLD["límite-fijo"].saying(number=number)
        yield Option((lambda longest, n=number: n, False), mistake)
    mistake = TOLD["límite-propio"].saying(number=last)
    yield Option((lambda longest: min(longest, last), False), mistake)


def wrong_list(attempt):
    """Lo que falla en lo que devuelve."""
    if len(same := set(attempt.seen.values())) == 1:
        return [SEEN["propiedad-constante"].found(f"Es {written(same.pop())}.")]
    returned = {c: value for c, value in attempt.seen.items() if not isinstance(value, Raised)}
    for case, value in returned.items():
        _, bos, eos, longest = case.arguments
        if not isinstance(value, tuple) or any(isinstance(item, tuple) for item in value):
            name = "propiedad-lista"
        elif value[:1] == (FOREVER,):
            name = "propiedad-llamadas"
        elif len(value) > longest:
            name = "propiedad-límite"
        elif eos in value[:-1]:
            name = "propiedad-fin"
        else:
            continue
        return [SEEN[name].found(f"Con {case.name}, {said(value)}.")]
    for case, value in returned.items():
        if value != (right := attempt.exercise.trace({}, case)["output"]):
            different = [i for i, (a, b) in enumerate(zip(value, right)) if a != b]
            step = min([*different, len(value), len(right)]) + 1
            story = f"{said(value)}, y era {written(right)}: se separa en el paso {step}."
            return [SEEN["propiedad-primero"].found(f"Con {case.name}, {story}")]
    return [SEEN["propiedad-primero#2"].found()]


PLAINER = {"para-en-otro": "no-para", "sin-el-último": "un-token-menos"}


class Greedy(Exercise):
    """Comprueba una función que escribe token a token el más probable (*greedy*).

    Args:
        function: recibe ``(next_scores, bos, eos, longest)``: una función que, de la lista de ids
            escritos hasta ahora, con ``bos`` delante, da las puntuaciones del siguiente, ``(V,)``; los
            ids de inicio y fin, y cuántos tokens se escriben como mucho. Devuelve la lista de ids
            escritos, sin ``bos`` y con ``eos`` si ha llegado a él.
    """

    number, title, points = "10.2", "escribir token a token", 3
    axes = {"feed": FEEDS, "choose": CHOICES, "stop": STOPS, "limit": LIMITS}
    axes |= {"back": BACKS, "front": FRONTS, "shape": SHAPES}
    stages = (Stage(tuple(axes), CASES, most=3, usual=9),)
    tiny, reader = TINY, IdList()
    measured, must = {"limit": found_limit}, (wrong_list,)
    silent = (lambda attempt: len(set(attempt.seen.values())) == 1,)  # siempre lo mismo
    also = ("límite-fijo", "límite-propio")

    def call(self, learner, model, *marks, seed=0):
        """Ejecuta el código; si pide tokens sin fin, apunta con qué."""
        model.asked = []
        outcome = running.call(learner, model, *marks, seed=seed)
        if len(model.asked) >= PATIENCE and not outcome.fatal:
            return running.Outcome((FOREVER, *model.asked[PATIENCE - 1]), printed=outcome.printed)
        return outcome

    def run(self, learner, model, *marks):
        model.asked = []
        return super().run(learner, model, *marks)

    def possible(self, model, bos, eos, longest):
        return (bos, eos) == (model.bos, model.eos) and 0 < longest < PATIENCE

    def plainest(self, members):
        """Los que no son iguales que otro salvo en un error, que en el otro se dice mejor."""
        names = [{mistake.id for mistake in mistakes(member)} for member in members]
        return [
            member
            for member, mine in zip(members, names)
            if not any(one in mine and mine - {one} | {PLAINER[one]} in names for one in PLAINER)
        ]

    def skip(self, choice):
        """Sin límite, lo último es siempre el fin."""
        names = {mistake.id for axis in ("limit", "back") for mistake in choice[axis].mistakes}
        return names == {"sin-límite", "sin-el-último"}

    def compute(self, choice, next_scores, bos, eos, longest):
        limit, cut = choice["limit"]
        steps = (choice[axis] for axis in ("feed", "choose", "stop"))
        ids, ended = write(next_scores, *steps, limit, bos, eos, longest)
        if ids[:1] != (FOREVER,):
            if cut:
                ids, ended = ids[:longest], ended and len(ids) <= longest
            ids = choice["back"](ids, eos, ended, longest)
            ids = ids if ids == (EMPTY,) else choice["shape"](choice["front"](ids, bos))
        return {"output": ids}
