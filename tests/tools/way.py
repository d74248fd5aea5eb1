"""El camino de una lección: lo que se anda en una clase, y lo que queda al lado.

Un título que empieza por «Para profundizar» (con su número o sin él) abre un apartado que está al lado
del camino, hasta el siguiente título de su nivel o de uno más alto. Los ejercicios van aparte. Lo demás
es el camino: se puede andar entero sin nada de lo otro, y de eso se ocupa ``faults``.
"""

import ast
import dis
import re
import types

from course_tools import cells
from course_tools.cells import FOLDED

WAY, ASIDE, EXERCISES = "camino", "aparte", "ejercicios"
HEADING = re.compile(r"^(#{1,6}) (.*)$", re.MULTILINE)
OPENS_ASIDE = re.compile(r"(?:\d+(?:\.\d+)?\.? )?Para profundizar\b")
AHEAD = re.compile(r"^\*Puedes saltártelo: \[[^\n]*\]\([^\n]*\)\.\*$", re.MULTILINE)
TRY = "Para profundizar: pruébalo"
PREDICTION = re.compile(r"^Prediction\(", re.MULTILINE)
CHECKING = re.compile(r"^(show_progress\(|from course_checkers import)", re.MULTILINE)
UNSOLVED = "Cuando esté resuelto"
LOOKING = re.compile(r"# Se (comprueba|dibuja): .")  # la primera línea de lo que se pliega, que lo cuenta
LOOKS = re.compile(r"(print|display|reveal|plot_\w+|show_\w+|torch\.testing\.\w+)\(")  # lo que comprueba, escribe o dibuja
ASKS = re.compile(r"^(Prediction|Questions|\w+Explorer)\(")  # lo que se contesta o se mueve
YOURS = re.compile(r"^@your_line\b", re.MULTILINE)
FOR_HOME = re.compile(r"\*\*Para casa:\*\* el (\d+\.\d+)")

# El ritmo: un modelo, no lo que ha tardado nadie.
WORDS_A_MINUTE = 160  # leer despacio un texto técnico
SECONDS_A_LINE = 10  # leer una línea de código
SECONDS_A_FIGURE = 30  # mirar una figura o una fórmula
SECONDS_A_PREDICTION = 45  # pensar la respuesta, y darla
SECONDS_A_LINE_OF_YOURS = 60  # escribir una línea, y leer qué se dice de ella
SECONDS_A_QUESTION = 10  # contestar una de las que vuelven
SECONDS_AN_EXPLORER = 120  # mover un explorador hasta ver la respuesta
MINUTES_AN_ANSWER = {True: 12, False: 4}  # un ejercicio, si se programa y si no
# Lo que tarda en ejecutarse cada lección, entera, en segundos, con dos núcleos: lo dice «curso.py cuadernos».
SECONDS_TO_RUN = dict(zip(
    ("00", "01", "02", "03", "04", "05", "06", "07", "08", "09", "10", "11", "12", "13", "14", "15", "16"),
    (8, 7, 13, 18, 18, 23, 30, 30, 41, 9, 29, 21, 33, 33, 23, 50, 30),
))  # fmt: skip


def heading(cell):
    """El nivel y el texto del primer título de una celda; ``(7, "")`` si no empieza por uno."""
    match = HEADING.match(cell.source) if cell.cell_type == "markdown" else None
    return (len(match[1]), match[2]) if match else (7, "")


def walk(nb):
    """De cada celda, si está en el camino, aparte o en los ejercicios, y si abre un apartado de al lado."""
    found, aside, exercises = [], None, False
    for cell in nb.cells:
        level, title = heading(cell)
        if level <= 2:
            exercises = title == "Ejercicios"
        if aside and level <= aside:
            aside = None
        opens = bool(not aside and not exercises and OPENS_ASIDE.match(title))
        aside = level if opens else aside
        found.append((EXERCISES if exercises else ASIDE if aside else WAY, opens))
    return found


def places(nb):
    """De cada celda, si está en el camino, aparte o en los ejercicios."""
    return [place for place, _ in walk(nb)]


def part(nb, *wanted):
    """La lección con solo las celdas de esas clases."""
    cells = [cell for cell, place in zip(nb.cells, places(nb)) if place in wanted]
    return type(nb)(nb, cells=cells)


def only_prepares(source):
    """Dice si una celda solo importa, o fija cuántos hilos se usan: se pliega en una línea."""
    try:
        nodes = ast.parse(source).body
    except SyntaxError:  # una orden de Jupyter
        return False
    rest = [ast.unparse(n) for n in nodes if not isinstance(n, ast.Import | ast.ImportFrom)]
    return len(rest) < len(nodes) and all(x.startswith("torch.set_num_threads(") for x in rest)


def roles(cell, place):
    """Las etiquetas de una celda, que dicen qué es (``course_tools.cells``): solo aquí se lee su texto."""
    code, title = cell.cell_type == "code", heading(cell)
    told = {
        cells.SETUP: code and only_prepares(cell.source),
        cells.LOOKING: code and LOOKING.match(cell.source),
        cells.BESIDE: place == ASIDE,
        cells.TRY: title == (2, TRY),
        cells.PREDICTION: place != EXERCISES and PREDICTION.search(cell.source),
        cells.EXERCISES: title == (2, "Ejercicios"),
        cells.CHECKING: code and place == EXERCISES and CHECKING.search(cell.source),
        cells.UNSOLVED: code and UNSOLVED in cell.source,
    }
    return [tag for tag, is_so in told.items() if is_so]


def mark(nb, name):
    """Dice qué es cada celda, pliega lo que está al lado del camino y pone al día el enlace que se lo salta.

    Args:
        nb: la lección; cambia.
        name: el nombre de su archivo.
    """
    where = walk(nb)
    for i, (cell, (place, opens)) in enumerate(zip(nb.cells, where)):
        tags = [tag for tag in cell.metadata.get("tags", ()) if tag not in cells.TAGS]
        cell.metadata["tags"] = tags + roles(cell, place)
        cell.metadata.pop("slideshow", None)  # lo que se proyecta es su clase
        cell.metadata.pop("jupyter", None)
        if {cells.SETUP, cells.LOOKING} & {*cell.metadata["tags"]}:
            cell.metadata["jupyter"] = {"source_hidden": True}
        if not cell.metadata["tags"]:
            del cell.metadata["tags"]
        cell.metadata.pop(FOLDED, None)
        if opens:
            cell.source = AHEAD.sub("", cell.source).rstrip() + "\n"
        if opens and where[i + 1 : i + 2] == [(ASIDE, False)]:  # hay algo que plegar
            cell.metadata[FOLDED] = True
            cell.source += f"\n{ahead(nb, i, name)}\n"


def ahead(nb, position, name):
    """El enlace a la celda del camino, o de los ejercicios, que sigue a un apartado de al lado."""
    where = places(nb)
    following = next(i for i in range(position, len(where)) if where[i] != ASIDE)
    cell = nb.cells[following]
    title = heading(cell)[1] or "lo que sigue"
    title = re.sub(r"[\[\]$]", "", title)
    return f"*Puedes saltártelo: [sigue en «{title}»]({name}#cell-id={cell.id}).*"


# --- Lo que se tarda ------------------------------------------------------------------------------


def words(nb):
    """Las palabras del texto."""
    return sum(len(c.source.split()) for c in nb.cells if c.cell_type == "markdown")


def code_cells(nb):
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def folded(source):
    """Si una celda se pliega en una línea: solo prepara, o comprueba o dibuja y lo dice."""
    return only_prepares(source) or LOOKING.match(source) is not None


def lines(nb):
    """Las líneas de código que se leen: lo que está plegado, en una."""
    seen = [c.source for c in code_cells(nb) if not c.source.startswith("Questions(")]
    shown = [s.splitlines()[:1] if folded(s) else s.splitlines() for s in seen]
    return sum(bool(line.strip()) for one in shown for line in one)


def read(nb):
    """Los trozos que se leen: los de las celdas sin plegar, sin los que se contestan o se mueven."""
    return [c.source for c in code_cells(nb) if not folded(c.source) and not ASKS.match(c.source)]


def looking(nb):
    """De las líneas que se leen, qué parte comprueba, escribe o dibuja."""
    looks = 0
    for source in read(nb):
        for node in ast.walk(ast.parse(source)):
            called = isinstance(node, ast.Expr) and LOOKS.match(ast.unparse(node))
            if called or isinstance(node, ast.Assert):
                looks += node.end_lineno - node.lineno + 1
    every = sum(bool(line.strip()) for source in read(nb) for line in source.splitlines())
    return looks / every


def crowded(nb):
    """Lo que cuesta leer de lo que no está plegado: celdas de más de seis líneas, y tres nombres de una vez."""
    for source in read(nb):
        kept = [line for line in source.splitlines() if line.strip()]
        targets = [t for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Assign) for t in n.targets]
        targets += [n.target for n in ast.walk(ast.parse(source)) if isinstance(n, ast.For | ast.comprehension)]
        names = [sum(isinstance(one, ast.Name | ast.Starred) for one in ast.walk(t)) for t in targets if isinstance(t, ast.Tuple)]
        if len(kept) > 6 or max(names, default=0) > 2:
            yield source


def minutes(nb):
    """Lo que se tarda en leer y ejecutar esas celdas, según el modelo."""
    text = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
    codes = code_cells(nb)
    formulas = re.findall(r"\$\$.*?\$\$", text, re.DOTALL)
    drawn = sum("image/png" in o.get("data", ()) for c in codes for o in c.get("outputs", ()))
    figures = len(re.findall(r"!\[", text)) + drawn
    prose = re.sub(r"\$\$.*?\$\$|\$[^$]*\$|!\[[^]]*\]|\]\([^)]*\)|<[^>]*>", " ", text, flags=re.DOTALL)
    seconds = SECONDS_A_LINE * lines(nb)
    asked = sum(c.source.count("Prediction(") for c in codes)
    seconds += SECONDS_A_PREDICTION * asked
    seconds += SECONDS_A_LINE_OF_YOURS * sum(len(YOURS.findall(c.source)) for c in codes)
    seconds += 3 * SECONDS_A_QUESTION * sum(c.source.startswith("Questions(") for c in codes)
    seconds += SECONDS_A_FIGURE * (figures + len(formulas))
    seconds += SECONDS_AN_EXPLORER * sum(c.source.count("Explorer(") for c in codes)
    return len(re.findall(r"\w+", prose)) / WORDS_A_MINUTE + seconds / 60


def times(nb):
    """Los minutos del camino, los del camino con los ejercicios y los de todo."""
    stubs = [c.source for c in code_cells(nb) if c.source.startswith("# Ejercicio ")]
    practice = minutes(part(nb, EXERCISES)) + sum(
        MINUTES_AN_ANSWER["def " in s or "class " in s] for s in stubs
    )
    runs = SECONDS_TO_RUN.get(heading(nb.cells[0])[1][:2], 0) / 60
    way = minutes(part(nb, WAY)) + runs
    return way, way + practice, way + practice + minutes(part(nb, ASIDE))


def stated_times(nb):
    """Los minutos que la lección dice, en el mismo orden."""
    return [
        tuple(map(int, filter(None, found)))
        for found in re.findall(
            r"\*\*Tiempo:\*\* el camino, unos (\d+) minutos; con los ejercicios, unos (\d+)"
            r"(?:; con todo, unos (\d+))?\.",
            nb.cells[0].source,
        )
    ]


# --- Que se sostenga solo -------------------------------------------------------------------------


def names(source):
    """Los nombres que una celda toma de otra, y los que hace."""
    needed, made, codes = set(), set(), [compile(source, "celda", "exec")]
    for code in codes:  # crece mientras se recorre
        codes += [one for one in code.co_consts if isinstance(one, types.CodeType)]
        for step in dis.get_instructions(code):
            if step.opname == "STORE_NAME" and code is codes[0]:
                made.add(step.argval)
            elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL") and step.argval not in made:
                needed.add(step.argval)
    return needed, made


def faults(nb):
    """Qué nombres del camino dependen de lo que está al lado, y en qué celda."""
    found, maker = [], {}
    for cell, place in zip(nb.cells, places(nb)):
        if cell.cell_type != "code":
            continue
        needed, made = names(cell.source)
        if place == WAY:
            found += [
                f"la celda {cell.id} del camino usa «{name}», que sale de una celda de al lado"
                for name in sorted(needed)
                if maker.get(name) == ASIDE
            ]
        if place != EXERCISES:
            maker |= dict.fromkeys(made, place)
    return found
