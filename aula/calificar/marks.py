"""Las notas: cuánto vale cada respuesta, quién no ha entregado y la tabla que se abre en una hoja de cálculo."""

from collections import Counter, defaultdict
from difflib import get_close_matches

from aula.calificar import submissions
from aula.calificar.text import SAYS, Unreadable, line, whole
from course_tools import homework
from course_tools.foreign.lms import number
from course_tools.foreign.names import bare, run_together, spelled, words
from course_tools.foreign.tables import read_list as read_list
from course_tools.foreign.tables import read_table, table

ABSENT = "no ha entregado nada"
# Por qué no se ha podido comprobar un ejercicio: se dice también en las notas.
STOPPED = SAYS["parados"]


def read_partial(path):
    """Los puntos parciales que da quien califica: (ejercicio, error) → qué parte de los puntos."""
    found, points = {}, {n for lesson in submissions.lessons().values() for n in lesson.points}
    for k, row in enumerate(read_table(path)[0]):
        exercise, mistake, part = (*(cell.strip() for cell in row), "", "", "")[:3]
        part = number(part)
        if exercise in points and mistake and part is not None and 0 <= part <= 1:
            found[exercise, mistake] = part
        elif k or exercise[:1].isdigit():  # la primera puede ser de títulos
            raise Unreadable(f"En {path} no entiendo {row}: pon ejercicio;error;parte, de 0 a 1.")
    return named(found, path)


def named(parts, path):
    """Esas partes, si cada error lo sabe decir la comprobación de su ejercicio: otro no valdría nada, y se dice."""
    if parts:
        from course_checkers.engine import catalog, running  # tarda en llegar

    for exercise, mistake in parts:
        own = {one for one in catalog.mistakes(exercise) if "#" not in one}
        if mistake not in {*own, *running.SAYS, "error"}:
            close = "".join(f" ¿Es «{one}»?" for one in get_close_matches(mistake, own, 1))
            every = ", ".join(sorted(own))
            raise Unreadable(f"En {path}, el {exercise} no tiene ningún error «{mistake}».{close} Los suyos son: {every}.")
    return parts


def join(person, result, options, given=None):
    """Añade a una persona lo calificado en un cuaderno: sus puntos y lo que ha pasado al ejecutarlo.

    De cada ejercicio quedan los puntos de la respuesta (``own``), los que tendría si los otros que usa
    estuvieran bien (``apart``) y los que cuentan, de esos dos (``got``). ``given`` es cuándo se entregó.
    """
    lesson = result["lesson"]
    person["lessons"][lesson] = result
    told = [f"lección {lesson}: {text}" for text in result["told"]]
    task = options.homework
    result["most"], (days, lost) = points(task.most(lesson)), task.penalty(given)
    result["late"] = lost
    if task.due and (not given or given.year < 1990):
        told.append(SAYS["tarea"]["sin_fecha"].format(lesson))
    elif days:
        how = given, f"{days} {'día' if days == 1 else 'días'} de retraso", lost * 100
        told.append(SAYS["tarea"]["tarde"].format(lesson, homework.moment(how[0]), how[1], f"{how[2]:g}"))
    for one in result["exercises"]:
        one["points"], one["optional"] = task.points[one["exercise"]], one["exercise"] in task.optional
        ids = [finding["id"] for finding in one["findings"]]
        parts = [options.partial.get((one["exercise"], name), 0) for name in ids]
        part = 1 if one["ok"] else 0 if one["unsolved"] else min(parts, default=0)
        one["own"] = points(one["points"] * part)
        one["apart"] = one["points"] if one["carried"] else one["own"]
        one["got"] = one["apart"] if options.sin_arrastre else one["own"]
        person["marks"][one["exercise"]] = one["got"]
        told += [f"el {one['exercise']} {STOPPED[name]}" for name in ids if name in STOPPED]
    person["told"] += dict.fromkeys(told)


def by_hand(people, path):
    """Pone los puntos y los comentarios que alguien ha escrito en ``path``, y da lo que no se entiende de él.

    Es una tabla: Nombre, Ejercicio, Puntos y Comentario. Sin ejercicio, el comentario es de toda la entrega. Si no
    está, se deja una vacía; nunca se escribe encima.
    """
    if not path.exists():
        whole(path, table([SAYS["a_mano"]["titulos"]]))
        return []
    strange = []
    for row in read_table(path)[0][1:]:
        name, number_, value, comment = (*(line(cell) for cell in row), "", "", "", "")[:4]
        found = [one for one in people if one["name"] == name]
        found = found or [one for one in people if spelled(bare(one["name"])) == spelled(bare(name))]
        results = [one for person in found for lesson in person["lessons"].values() for one in lesson["exercises"]]
        place = next((one for one in results if one["exercise"] == number_), None)
        given = number(value)
        fits = place and given is not None and 0 <= given <= place["points"]
        if len(found) != 1 or number_ and not place or value and not fits:
            strange.append(SAYS["a_mano"]["no"].format(name, number_, value))
            continue
        (place or found[0])["comment"] = comment
        if value:
            place |= dict.fromkeys(("own", "apart", "got"), points(given)) | {"by_hand": True}
            found[0]["marks"][number_] = place["got"]
    return strange


def points(value):
    """Unos puntos, con dos decimales a lo más y sin ellos si no hacen falta."""
    value = round(value, 2)
    return int(value) if value == int(value) else value


def total(person, lesson, kind="got"):
    """Los puntos de una persona en una lección; nada, si no se ha podido calificar.

    Los optativos suman, sin pasar del máximo; después se quita el retraso, menos de lo puesto a mano.
    """
    if lesson not in person["lessons"]:
        return 0
    result = person["lessons"][lesson]
    every = result["exercises"]
    given = sum(one[kind] for one in every if "by_hand" in one)
    rest = min(sum(one[kind] for one in every if "by_hand" not in one), result["most"])
    return points(min(given + rest * (1 - result["late"]), result["most"])) if every else ""


def asked(people, task=None):
    """Las lecciones que se piden; si nadie lo ha dicho, las que entrega al menos la mitad.

    Un cuaderno suelto no pide nada.
    """
    if task and task.said:
        return task.lessons()
    given = [person["lessons"] for person in people if person["lessons"]]
    count = Counter(lesson for lessons in given for lesson in lessons)
    return sorted(lesson for lesson, n in count.items() if 2 * n >= len(given))


def pair(people, names):
    """De cada persona, su sitio en una lista de (nombre, identificador): por su número; si no, por su nombre tal
    cual, por sus palabras o por sus letras seguidas. Y de quien puede ser de varios, cuántos hay en la lista y
    cuántas entregas.
    """
    ways = (
        lambda name, ident: ident,
        lambda name, _: spelled(bare(name)),
        lambda name, _: words(bare(name)),
        lambda name, _: run_together(bare(name)),
    )
    found, doubts, numbered = {}, {}, any(ident for _, ident in names)
    for k, way in enumerate(ways):
        groups = defaultdict(lambda: ([], []))
        for one, person in enumerate(people):
            if one not in found and not (k and numbered and person["id"]):
                groups[way(person["name"], person["id"])][0].append(one)
        for place in {*range(len(names))} - {*found.values()}:
            groups[way(*names[place])][1].append(place)
        for mark, (here, there) in groups.items():
            if mark and here and there:
                found |= zip(here, sorted(there))
                if len(here) + len(there) > 2:
                    doubts |= dict.fromkeys(here, (len(there), len(here)))
    return found, doubts


def call_roll(people, names):
    """Quién, de una lista de (nombre, identificador), no ha entregado. A quien no está en ella, se le dice."""
    found, doubts = pair(people, names)
    for k, person in enumerate(people):
        told = [] if k in found else ["no está en la lista"]
        listed, given = doubts.get(k, (0, 0))
        told += [SAYS["archivos"]["iguales"].format(listed, given)] if listed != given else []
        person["told"] += [text for text in told if text not in person["told"]]
    absent = [names[k] for k in sorted({*range(len(names))} - {*found.values()})]
    fresh = {"label": "", "told": [ABSENT], "lessons": {}, "marks": {}}
    return [{"name": n, "id": i, **fresh} for n, i in absent]


def write(people, path, options, form=table):
    """Las notas, con ``form`` (``table`` o ``workbook``): una fila por persona, de cada lección sus ejercicios y sus
    totales, y qué hay que mirar.
    """
    task = options.homework
    every = sorted({lesson for person in people for lesson in person["lessons"]} | {*(task.lessons() if task.said else ())})
    wanted, heads = asked(people, task), []
    kind, other = ("own", "con") if options.sin_arrastre else ("apart", "sin")
    for lesson in every:
        heads += [f"{n} ({'optativo, ' * (n in task.optional)}de {p})" for n, p in task.of(lesson).items()]
        heads += [f"Total {lesson}", f"De {lesson}", f"Total {lesson} {other} arrastre"]
    rows = [["Nombre", "Identificador", *heads, "Qué mirar"]]
    for person in people:
        row = [person["name"], person["label"]]
        for lesson in every:
            row += [person["marks"].get(n, "") for n in task.of(lesson)]
            sums = [total(person, lesson), points(task.most(lesson)), total(person, lesson, kind)]
            row += sums if lesson in wanted or lesson in person["lessons"] else [""] * 3
        rows.append([*row, "; ".join([*person["told"], *person.get("alike", ())])])
    whole(path, form(rows))
