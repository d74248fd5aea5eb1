"""Qué respuestas se parecen más de lo que da el azar: se enseña a quien califica, que es quien juzga.

Se comparan sin lo que cada uno pone a su gusto (``bare``). Lo que coincide se pesa en bits: cuánto
sorprende que alguien lo escriba, visto lo que escriben los demás. Lo que pone media clase, o da la
lección, no pesa; lo largo que ponen solo dos, sí. Qué otras herramientas se probaron, en
``aula/calificar/README.md``.
"""

import math
import re
from collections import Counter, defaultdict
from itertools import combinations

from course_tools.bare import Answer, statements
from course_tools.homework import listed

LONGEST = 6  # los bits que pesa un trozo, como mucho
ENOUGH, SOME, APART = 14, 4, 2  # los que bastan, los de un ejercicio que se nombra, y lo que quita otro distinto
NAME, COMMENT, FEW = 3, 10, 3  # lo que pesan un nombre y un comentario, si los usan estos pocos


class Room:
    """Un ejercicio: lo que contesta cada persona, lo que da la lección (``given``) y lo que ya está
    escrito en el curso (``sources``), la solución primero.
    """

    def __init__(self, answers, given=(), sources=None):
        self.answers = {who: Answer(code) for who, code in answers.items()}
        self.sources = {label: Answer(code) for label, code in (sources or {}).items()}
        given, every = [Answer(code) for code in given], self.answers.values()
        self.given = set().union(*(one.grams for one in given))
        self.free = self.given.union(*(one.grams for one in [*self.sources.values()][:1]))  # y la solución
        self.known = set().union(*(one.own for one in (*given, *self.sources.values())))
        self.seen = Counter(part for one in every for part in one.pieces)
        self.users = Counter(text for one in every for text in one.own)

    def alike(self, one, other, free):
        """Los bits de lo que coincide, menos los de lo que no. Lo que es ``free`` no pesa."""
        both = one.grams & other.grams
        if 3 * len(both) < 2 * min(len(one.grams), len(other.grams)):
            return 0
        same = [who for who in self.answers.values() if who.grams in (one.grams, other.grams)]
        if 8 * len(same) > max(16, len(self.answers)):  # lo escribe mucha gente
            same = [who for who in same if who in (one, other)]
        parts = both, one.grams - both, other.grams - both
        shared, *gaps = (sum(self.bits(gram, same) for gram in grams - free) for grams in parts)
        return max(0, shared - 2 * min(gaps) - max(gaps))

    def bits(self, gram, apart):
        """Cuánto sorprende la última palabra de un trozo, en quien no está en ``apart``."""

        def seen(part):
            return self.seen[part] - sum(part in one.pieces for one in apart)

        chance, many = 0, len(self.answers) - len(apart)
        for k in (2, 1, 0):
            chance = (seen(gram[k:]) + 2 * chance) / ((seen((gram[k:-1],)) if k < 2 else many) + 2)
        most = min(LONGEST, math.log2(many + 2))  # entre pocos, nada es muy raro
        return min(most, -math.log2(chance)) if chance else most

    def pair(self, one, other):
        """De dos personas, los bits, si es lo mismo, y los nombres y comentarios que casi solo usan ellas."""
        one, other = self.answers[one], self.answers[other]
        left = [text for text in one.own.keys() & other.own.keys() - self.known if self.users[text] <= FEW]
        more = sum(COMMENT if one.own[text] else NAME for text in left)
        return self.alike(one, other, self.free) + more, one.grams == other.grams, left


def pairs(rooms):
    """Las parejas que se parecen de más: (una, otra), y de sus ejercicios, lo de ``Room.pair``."""
    found = defaultdict(dict)
    for exercise, room in rooms.items():
        for who in combinations(room.answers, 2):
            found[who][exercise] = room.pair(*who)
    for who, told in found.items():
        together = sum(bits or -APART * (not same) for bits, same, _ in told.values())
        if max(together, *(bits for bits, *_ in told.values())) >= ENOUGH:
            yield who, {exercise: one for exercise, one in told.items() if one[0] >= SOME}


def written(room):
    """De quien contesta como algo que ya tiene escrito el curso, su nombre: persona → de dónde."""
    for who, answer in room.answers.items():
        bits = {label: room.alike(answer, source, room.given) for label, source in room.sources.items()}
        if bits and (label := max(bits, key=bits.get)) and bits[label] >= ENOUGH:
            yield who, label


def ready_made(code, name):
    """Lo ya hecho que es una respuesta, o a lo que solo llama: «torch.dot»."""
    lines = [" ".join(one) for one in statements(code) if one and one[0][0] != "'"]
    alias = rf"(?m)^from .*?(\S+) as {name}\b|^{name} = ((?:\w+ \. )*\w+)$"
    if found := re.search(alias, "\n".join(lines)):
        return (found[1] or found[2]).replace(" ", "")
    body = [one for one in lines if not one.startswith(("from ", "import "))]
    pattern = r"(?:return|lambda [^:]* :) ((?:\w+ \. )+\w+) \( [\w ,=]* \)$"
    call = re.search(pattern, body[-1]) if body else None
    return call[1].replace(" ", "") if call and len(body) == 1 + ("lambda" not in body[-1]) else ""


def tell(people, course, says):
    """Apunta de cada persona (``alike``) a qué se parece lo suyo y qué ha tomado hecho. No va a su página.

    ``course`` da, de un ejercicio, el nombre de su respuesta, lo que da su lección y lo que ya está escrito.
    """
    given, rooms, groups = defaultdict(dict), {}, defaultdict(list)
    for who, person in enumerate(people):
        person["alike"] = []
        for result in person["lessons"].values():
            for one in result["exercises"]:
                given[one["exercise"]] |= {} if one["unsolved"] else {who: one}
    for number, answers in given.items():
        name, cells, sources = course(number)
        rooms[number] = Room({who: one["answer"] for who, one in answers.items()}, cells, sources)
        for who, label in written(rooms[number]):
            people[who]["alike"].append(says["curso"].format(number, label))
        for who, one in answers.items():
            made = ready_made(one["answer"], name)[:60]
            told = [says["nota"].format(number, note) for note in one["borrowed"]]
            people[who]["alike"] += [says["hecho"].format(number, made)] if made else told
    for pair, parts in pairs(rooms):
        same = all(one[1] for one in parts.values())
        left = sorted({text for one in parts.values() for text in one[2]}, key=len)[-1:]
        for who, other in pair, pair[::-1]:
            groups[who, tuple(parts), same, *left].append(people[other]["name"])
    for (who, numbers, same, *left), others in groups.items():
        which = listed([f"el {one}" for one in numbers])
        more = [says["restos"].format(text[:60]) for text in left]
        text = says["igual" if same else "casi"].format(which, listed(others))
        people[who]["alike"].append("".join([text, *more]))
