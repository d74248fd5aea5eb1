"""Comprueba cómo se escribe con un modelo entrenado: token a token, y siempre el más probable.

La familia: {le da todo lo escrito, solo lo último…} × {el más alto, el más bajo…} × {para en el fin,
no para…} × {cuántos como mucho} × {con la marca de fin, sin ella…}.
"""

import functools
import math
from collections import defaultdict

import numpy as np
import torch

from course_lib.checkers.engine import running
from course_lib.checkers.family import (
    Case,
    Exercise,
    Mistake,
    Option,
    Raised,
    Stage,
    fewest,
    mistakes,
)
from course_lib.checkers.number_family import few_errors, mistakes_in, steps
from course_lib.checkers.engine.progress import finish
from course_lib.checkers.engine.report import Finding

# --- El modelo de mentira -------------------------------------------------------------------------

PATIENCE = 40  # los tokens que se le pueden pedir en una prueba: quien pasa de ahí no iba a parar
FOREVER, NOTHING = -1, -2  # lo que se apunta de quien no para, y de quien no devuelve nada


class FakeModel:
    """Puntúa el siguiente token según todo lo escrito; siempre igual.

    Args:
        seed: con otra, otras puntuaciones.
        V: cuántos tokens tiene el vocabulario.
        bos, eos: las marcas. La de inicio nunca es la que más puntúa, ni la que menos.
        endless: si la de fin nunca gana.
    """

    def __init__(self, seed, V, bos, eos, endless=False):
        self.seed, self.V, self.bos, self.eos, self.endless = seed, V, bos, eos, endless
        self.known, self.asked = {}, []

    def __call__(self, written):
        self.asked.append(key := tuple(numbers(written)))
        if len(self.asked) >= PATIENCE:
            raise RuntimeError(f"ya has pedido {PATIENCE} tokens: ¿cuándo para?")
        return torch.tensor(self.scores(key))

    def scores(self, key):
        """Las puntuaciones después de eso, en una lista."""
        if key not in self.known:
            seed = self.seed
            for token in key:
                seed = (seed * 1000003 + int(1000 * token) + 7919) % 2**31
            scores = torch.randn(self.V, generator=torch.Generator().manual_seed(seed))
            scores[self.eos] += -4.0 if self.endless else 0.3
            scores[self.bos] = scores.mean()
            self.known[key] = scores.tolist()
        return self.known[key]

    def __str__(self):
        return f"(un modelo con {self.V} tokens)"


def numbers(value):
    """Los números de una lista, un tensor, una lista de tensores…"""
    if isinstance(value, torch.Tensor | np.ndarray):
        return value.flatten().tolist()
    if isinstance(value, list | tuple):
        return [number for item in value for number in numbers(item)]
    return [value]


# --- Los errores ----------------------------------------------------------------------------------

TEXTS = """
no-da-todo · 10 §5.5 · No le das todo lo escrito desde la marca de inicio, y para puntuar hace falta todo.
sin-inicio · 10 §5.5 · La marca de inicio va siempre delante de lo que le das, también en los pasos siguientes.
siempre-el-inicio · 10 §5.5 · Le das siempre lo mismo: lo que escribe no vuelve a entrar, y no avanza.
no-da-lo-último · 10 §5.5 · Le das lo escrito sin el último token: acabas de elegirlo y también cuenta.
entra-al-revés · 10 §5.5 · Le das lo escrito en otro orden: delante va la marca de inicio, y lo último, al final.
inicio-dos-veces · 10 §5.5 · Le das la marca de inicio dos veces.
inicio-otro-id · 10 §5.5 · Empiezas por otro id, y la marca de inicio es el que recibes.
el-que-menos · 10 §5.5 · Eliges el que menos puntúa, y es el que más.
el-segundo · 10 §5.5 · Eliges el segundo, y es el que más puntúa.
se-salta-el-0 · 10 §5.5 · No miras el token 0, que también se puede escribir.
id-corrido · 10 §5.5 · El id que escribes es el de al lado: los ids se cuentan desde 0.
el-mayor-sin-signo · 10 §5.5 · Quitas el signo de las puntuaciones: la más negativa no es la mejor.
prohíbe-el-fin · 10 §5.5 · No dejas que escriba la marca de fin: así no puede acabar.
no-repite · 10 §5.5 · No dejas que repita un token, y una frase puede repetir palabras.
guarda-la-puntuación · 10 §5.5 · Guardas la puntuación más alta, y es su posición: el id del token. Mira argmax().
no-para · 10 §5.5 · No paras al escribir la marca de fin, la que recibes.
para-en-otro · 10 §5.5 · Paras en otro id, y la marca de fin es el que recibes.
para-al-repetir · 10 §5.5 · Paras cuando se repite un token, y es en la marca de fin.
para-tarde · 10 §5.5 · Paras un token tarde: detrás de la marca de fin no va nada.
un-token-menos · 10 §5.5 · Escribes un token menos de los que dice «longest»: la marca de inicio no cuenta.
un-token-más · 10 §5.5 · Escribes un token más de los que dice «longest».
sin-límite · 10 §5.5 · No haces caso de «longest»: si el modelo no escribe el fin, no paras.
sin-fin · 10 §5.5 · Falta la marca de fin: si la escribe, también va en la lista.
fin-de-más · 10 §5.5 · Añades la marca de fin aunque el modelo no la haya escrito ahí.
rellena · 10 §5.5 · Completas la lista hasta «longest»: es solo lo que escribe el modelo.
cambia-el-último · 10 §5.5 · Si se llega a «longest», cambias el último token por el de fin, que el modelo no ha escrito.
sin-el-último · 10 §5.5 · Falta siempre el último token.
con-inicio · 10 §5.5 · Devuelves también la marca de inicio, que no la ha escrito el modelo.
solo-uno · 10 §5.5 · Devuelves un solo token: ¿hay un «return» dentro del bucle?
solo-el-último · 10 §5.5 · Devuelves solo el último token, y se piden todos, en una lista.
solo-si-acaba · 10 §5.5 · Si se llega a «longest» sin la marca de fin, no devuelves lo escrito.
al-revés · 10 §5.5 · Devuelves los tokens en orden contrario.
cuántos · 10 §5.5 · Devuelves cuántos tokens hay, y se piden los tokens.
sobran-ejes · 10 §5.5 · Devuelves una lista dentro de otra, y se pide una lista de ids.
"""


def told(look):
    """Lo que devuelve quien aprende y lo que tenía que devolver."""
    if look.yours == look.right:
        return f"Con {look.case.name}, aciertas solo porque dos errores se compensan."
    return f"Con {look.case.name}, {said(look.yours)}, y era {written(look.right)}."


def said(yours):
    if isinstance(yours, tuple) and yours[:1] == (FOREVER,):
        return f"no parabas: lo he parado yo al pedir {PATIENCE} tokens"
    if yours == (NOTHING,):
        return "no devuelves nada"
    return f"devuelves {written(yours)}"


def written(value, most=12):
    """Una lista de ids, como se escribe en una frase."""
    if not isinstance(value, tuple):
        return f"{value:.3g}"
    shown = [written(item) for item in value[:most]] + ["…"] * (len(value) > most)
    return "[" + ", ".join(shown) + "]"


step = functools.partial(steps, mistakes_in(TEXTS, told))

# --- Los pasos ------------------------------------------------------------------------------------
# Qué se le da: de lo escrito y las dos marcas.

FEEDS = step(
    lambda ids, bos, eos: (bos, *ids),
    ("no-da-todo", *(lambda ids, bos, eos, n=n: (bos, *ids)[-n:] for n in range(1, 6))),
    ("no-da-todo", lambda ids, bos, eos: (bos, *ids[-1:])),
    ("sin-inicio", lambda ids, bos, eos: ids, lambda ids, bos, eos: ids or (bos,)),
    ("siempre-el-inicio", lambda ids, bos, eos: (bos,), lambda ids, bos, eos: (bos, *ids[:1])),
    ("no-da-lo-último", lambda ids, bos, eos: (bos, *ids[:-1])),
    ("entra-al-revés", lambda ids, bos, eos: (bos, *ids)[::-1]),
    ("entra-al-revés", lambda ids, bos, eos: (bos, *ids[::-1]), lambda ids, bos, eos: (*ids, bos)),
    ("inicio-dos-veces", lambda ids, bos, eos: (bos, bos, *ids)),
    (
        "inicio-otro-id",
        lambda ids, bos, eos: (eos, *ids),
        *(lambda ids, bos, eos, first=first: (first, *ids) for first in (0, 1, 2, 101)),
    ),
)


def best(scores, ids=(), eos=None):
    return max(range(len(scores)), key=scores.__getitem__)


def best_but(hidden):
    """El mejor, sin contar algunos."""

    def choose(scores, ids, eos):
        allowed = [i for i in range(len(scores)) if i not in hidden(ids, eos)]
        return max(allowed or [0], key=scores.__getitem__)

    return choose


CHOICES = step(
    best,
    ("el-que-menos", lambda scores, ids, eos: min(range(len(scores)), key=scores.__getitem__)),
    (
        "el-segundo",
        lambda scores, ids, eos: sorted(range(len(scores)), key=scores.__getitem__)[-2],
    ),
    ("se-salta-el-0", best_but(lambda ids, eos: (0,))),
    ("id-corrido", lambda scores, ids, eos: best(scores[1:]), lambda s, ids, eos: best(s) + 1),
    ("id-corrido", lambda scores, ids, eos: best(scores) - 1),
    ("el-mayor-sin-signo", lambda scores, ids, eos: best([abs(score) for score in scores])),
    ("prohíbe-el-fin", best_but(lambda ids, eos: (eos,))),
    ("no-repite", best_but(lambda ids, eos: ids)),
    ("guarda-la-puntuación", lambda scores, ids, eos: max(scores)),
)
STOPS = step(
    lambda ids, bos, eos: ids[-1] == eos,
    ("no-para", lambda ids, bos, eos: False),
    ("para-en-otro", *(lambda ids, bos, eos, end=end: ids[-1] == end for end in (0, 1, 2, 3, 102))),
    ("para-al-repetir", lambda ids, bos, eos: ids[-1] in ids[:-1]),
    ("para-al-repetir", lambda ids, bos, eos: ids[-1] in ids[:-1] or ids[-1] == eos),
    ("para-tarde", lambda ids, bos, eos: eos in ids[:-1]),
)


def until(extra):
    """Hasta ``longest`` tokens y unos cuantos más."""
    return lambda ids, longest: len(ids) >= longest + extra


# Cuándo no se piden más, y si después se corta por ``longest``.
LIMITS = step(
    (until(0), False),
    ("un-token-menos", (until(-1), False)),
    ("un-token-menos", (lambda ids, longest: len(ids) >= max(1, longest - 1), False)),
    ("un-token-más", (until(1), False)),
    ("sin-límite", (until(math.inf), False), (until(math.inf), True)),
)


def filled(token):
    """Lo escrito, completado hasta ``longest``."""
    return lambda ids, eos, ended, longest: ids + (token(eos),) * (longest - len(ids))


# De lo escrito, la marca de fin, si se ha parado en ella y ``longest``.
BACKS = step(
    lambda ids, eos, ended, longest: ids,
    ("sin-fin", lambda ids, eos, ended, longest: ids[:-1] if ended else ids),
    ("sin-fin", lambda ids, eos, ended, longest: tuple(token for token in ids if token != eos)),
    ("fin-de-más", lambda ids, eos, ended, longest: ids if ended else (*ids, eos)),
    ("fin-de-más", lambda ids, eos, ended, longest: (*ids, eos)),
    ("rellena", filled(lambda eos: 0), filled(lambda eos: eos)),
    ("cambia-el-último", lambda ids, eos, ended, longest: ids if ended else (*ids[:-1], eos)),
    ("sin-el-último", lambda ids, eos, ended, longest: ids[:-1]),
    ("solo-uno", lambda ids, eos, ended, longest: ids[:1], lambda ids, eos, ended, longest: ids[0]),
    (
        "solo-el-último",
        lambda ids, eos, ended, longest: ids[-1:],
        lambda ids, eos, ended, longest: ids[-1],
    ),
    ("solo-si-acaba", lambda ids, eos, ended, longest: ids if ended else ()),
    ("solo-si-acaba", lambda ids, eos, ended, longest: ids if ended else (NOTHING,)),
    ("al-revés", lambda ids, eos, ended, longest: ids[::-1]),
)
FRONTS = step(lambda ids, bos: ids, ("con-inicio", lambda ids, bos: (bos, *ids)))


SHAPES = step(
    lambda ids: ids,
    ("cuántos", len),
    ("sobran-ejes", lambda ids: (ids,), lambda ids: tuple((token,) for token in ids)),
)


# --- Las pruebas ----------------------------------------------------------------------------------


def write(model, feed, choose, stop, limit, bos, eos, longest):
    """Lo que se escribe dando cada paso de la forma que se pide, y si se para en la marca."""
    ids, asked = (), 0
    while not limit(ids, longest):
        key, asked = feed(ids, bos, eos), asked + 1
        if asked >= PATIENCE:
            return (FOREVER, *key), False
        ids = (*ids, choose(model.scores(key), ids, eos))
        if stop(ids, bos, eos):
            return ids, True
    return ids, False


RIGHT = [axis[0].value for axis in (FEEDS, CHOICES, STOPS)]


def writing_case(length, longest, V, bos, eos):
    """Un modelo que, bien usado, escribe ``length`` tokens y acaba; con ``None``, no acaba nunca."""
    for seed in range(10**6):
        model = FakeModel(seed, V, bos, eos, endless=length is None)
        ids, ended = write(model, *RIGHT, until(0), bos, eos, length or longest)
        if ended == (length is not None) and (length in (None, len(ids))):
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
)
TINY = (writing_case(1, 2, V=3, bos=0, eos=1), writing_case(2, 3, V=4, bos=0, eos=1))


class Greedy(Exercise):
    """Un modelo y sus marcas → los ids que escribe, eligiendo siempre el mejor."""

    number, title, points = "10.2", "escribir token a token", 3
    names, where = ("next_scores", "bos", "eos", "longest"), "10 §5.5"
    returns = "una lista de ids"
    axes = {
        "feed": FEEDS,
        "choose": CHOICES,
        "stop": STOPS,
        "limit": LIMITS,
        "back": BACKS,
        "front": FRONTS,
        "shape": SHAPES,
    }
    stages = (Stage(tuple(axes), CASES),)
    tiny = TINY

    def compute(self, choice, model, bos, eos, longest):
        limit, cut = choice["limit"]
        steps = (choice[axis] for axis in ("feed", "choose", "stop"))
        ids, ended = write(model, *steps, limit, bos, eos, longest)
        if ids[:1] == (FOREVER,):
            return {"output": ids}
        if cut:
            ids, ended = ids[:longest], ended and len(ids) <= longest
        ids = choice["back"](ids, eos, ended, longest)
        if ids == (NOTHING,):
            return {"output": ids}
        return {"output": choice["shape"](choice["front"](ids, bos))}

    def call(self, learner, *arguments, seed=0):
        model = arguments[0]
        model.asked = []
        outcome = super().call(learner, *arguments, seed=seed)
        if len(model.asked) >= PATIENCE and not outcome.fatal:
            return running.Outcome((FOREVER, *model.asked[PATIENCE - 1]), printed=outcome.printed)
        return outcome

    def read(self, value, case):
        if value is None and case in CASES[1:]:
            return (NOTHING,), None  # en la primera prueba sí ha devuelto algo
        if value is None:
            return super().read(value, case)
        try:
            return canonical(value), None
        except TypeError as error:
            text = f"Tu código devuelve un «{error}» y tiene que devolver una lista de ids."
            return None, Finding("tipo", text)

    def diagnose(self, learner, seen):
        if len(set(seen.values())) == 1:  # lo que no cambia no dice qué hay detrás
            return fewest([{}], complete=False)
        if (
            found := self.known(seen, 2)
            or self.with_a_fixed_limit(learner, seen)
            or self.known(seen, 3)
        ):
            return fewest(plainest(found), complete=True)
        return fewest([{}], complete=False)

    def known(self, seen, most):
        """Los miembros con menos errores que dan lo mismo en todas las pruebas."""
        value = seen.get(CASES[0])
        rows = self.index(most).get(value, ()) if not isinstance(value, Raised) else ()
        return [choice for choice in rows if self.explains(choice, seen)]

    def with_a_fixed_limit(self, learner, seen):
        axes = self.axes | {"limit": [LIMITS[0], *self.fixed_limits(learner)]}
        chosen = [choice for choice in few_errors(axes, 2) if "limit" in choice]
        return [choice for choice in chosen if self.explains(choice, seen)]

    @functools.cache  # noqa: B019 — hay un solo ejercicio
    def index(self, most):
        """Lo que dan en la primera prueba los miembros con ``most`` errores como mucho."""
        axes = self.axes if most < 3 else {name: one_way(axis) for name, axis in self.axes.items()}
        rows = defaultdict(list)
        for choice in few_errors(axes, most):
            if (result := self.trace(choice, CASES[0])) is not None:
                rows[result["output"]].append(choice)
        return rows

    def explains(self, choice, seen):
        return all(self.agrees(choice, case, value) for case, value in seen.items())

    def fixed_limits(self, learner):
        """Si siempre para en el mismo número de tokens, en cuál."""
        lengths = set()
        for case in (CASES[1], CASES[8]):
            outcome = self.call(learner, *case.arguments)
            value, problem = self.read(outcome.value, case) if not outcome.problem else (None, True)
            if problem or not isinstance(value, tuple) or value[:1] in [(FOREVER,), (NOTHING,)]:
                return
            lengths.add(len(value))
        if len(lengths) == 1:
            length = lengths.pop()
            for number in (length - 1, length, length + 1):
                text = f"Paras siempre a los {number} tokens, y el límite es el que recibes en «longest»."
                mistake = Mistake("límite-fijo", text, "10 §5.5", told)
                yield Option((lambda ids, longest, n=number: len(ids) >= n, False), mistake)

    def mistake_ids(self):
        return super().mistake_ids() | {"límite-fijo"}

    def properties(self, learner, seen):
        if len(values := set(seen.values())) == 1:
            text = "Devuelves siempre lo mismo, con cualquier modelo."
            return [
                Finding("propiedad-constante", text, f"Es {written(values.pop())}.", self.where)
            ]
        for case, value in seen.items():
            if isinstance(value, Raised):
                continue
            _, bos, eos, longest = case.arguments
            if not isinstance(value, tuple) or any(isinstance(item, tuple) for item in value):
                text = "Se pide una lista de ids, cada uno un entero."
                return [
                    Finding("propiedad-lista", text, f"Con {case.name}, {said(value)}.", self.where)
                ]
            if value[:1] == (FOREVER,) or len(value) > longest:
                text = "No se pueden escribir más tokens de los que dice «longest»."
                return [
                    Finding(
                        "propiedad-límite", text, f"Con {case.name}, {said(value)}.", self.where
                    )
                ]
            if eos in value[:-1]:
                text = "Detrás de la marca de fin no puede haber nada."
                return [
                    Finding("propiedad-fin", text, f"Con {case.name}, {said(value)}.", self.where)
                ]
        return [Finding("propiedad-primero", *self.first_wrong(seen), self.where)]

    def first_wrong(self, seen):
        """En qué paso se separa de lo bueno."""
        for case, value in seen.items():
            right = self.trace({}, case)["output"]
            if isinstance(value, Raised) or value == right:
                continue
            i = next(
                (i for i, (a, b) in enumerate(zip(value, right)) if a != b),
                min(len(value), len(right)),
            )
            text = "En algún paso no sigue el token que más puntúa después de todo lo escrito."
            return (
                text,
                f"Con {case.name}, {said(value)}, y era {written(right)}: se separa en el paso {i + 1}.",
            )
        return "No reconozco qué has hecho.", ""


# Dos nombres para lo mismo, si no se puede distinguir: vale el segundo, que es cierto también.
PLAIN = {"para-en-otro": "no-para", "sin-el-último": "un-token-menos"}


def plainest(found):
    """Los miembros que no tienen otro igual con un nombre más sencillo."""
    names = [frozenset(mistake.id for mistake in mistakes(choice)) for choice in found]
    return [
        choice
        for choice, ids in zip(found, names)
        if not any(
            ids - {name} | {plain} in names or name == "sin-el-último" and "sin-límite" in ids
            for name, plain in PLAIN.items()
            if name in ids
        )
    ]


def one_way(options):
    """Un paso, con una sola forma de cometer cada error."""
    return list({option.mistake: option for option in reversed(options)}.values())[::-1]


def canonical(value):
    """Lo devuelto, como tupla de enteros."""
    if isinstance(value, torch.Tensor | np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return tuple(map(canonical, value))
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise TypeError(type(value).__name__)


GREEDY = Greedy()
EXERCISES = (GREEDY,)


def check_greedy(function):
    """Comprueba una función que escribe token a token el más probable (*greedy*).

    Args:
        function: recibe ``(next_scores, bos, eos, longest)``: una función que, de la lista de ids
            escritos hasta ahora, con ``bos`` delante, da las puntuaciones del siguiente, ``(V,)``; los
            ids de inicio y fin, y cuántos tokens se escriben como mucho. Devuelve la lista de ids
            escritos, sin ``bos`` y con ``eos`` si ha llegado a él.

    Returns:
        Un ``Report``: nombra todos los errores que reconoce.
    """
    return finish(GREEDY.check(function))
