"""Calificar las entregas de una clase: notas, devoluciones y qué no se ha entendido.

La orden es ``python curso.py calificar``; cómo se usa, en ``textos.toml``. Lo calificado se guarda según se
califica: si se corta, la misma orden sigue donde estaba.
"""

import signal

if __name__ == "__main__" and signal.getsignal(signal.SIGINT) == signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # mientras se carga lo demás, Ctrl+C para y no dice nada

import argparse
import contextlib
import hashlib
import json
import os
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path

from tqdm import tqdm

from aula.calificar import cage, gradebook, marks, moodle, pages, submissions, workers
from aula.calificar.text import SAYS, Unreadable, attempt, line, plain, whole
from course_tools import alike, homework
from course_tools.foreign import is_full
from course_tools.foreign.lms import read_sheet
from course_tools.foreign.tables import workbook

DONE = ".calificado"  # en la carpeta de los resultados: lo que ya está, un archivo por cuaderno
SLOW = {"tarda", "no-acaba", "sin-tiempo"}  # lo que saldría de otra manera si se esperara más
MORE = 15  # segundos de más por cada cuaderno, desde el segundo: los que tarda uno bien hecho


# De lo que sale una nota, además de la entrega y de lo que pide cada lección.
DECIDES = ["course_lib", "course_checkers", "course_tools", "aula/calificar", "notebooks/soluciones"]
PINS = ("requirements.txt", "constraints.txt", "aula/calificar/requirements.txt")


def fingerprint(*options):
    """Un resumen de con qué se califica y cómo (``options``): si algo cambia, se califica otra vez."""
    files = [path for name in DECIDES for path in (cage.ROOT / name).rglob("*")]
    files += [cage.ROOT / name for name in PINS]
    known = {path for path in files if path.is_file() and "__pycache__" not in path.parts}
    digest = hashlib.sha256(repr((options, sys.version, submissions.lessons())).encode())
    for path in sorted(known):
        text = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(cage.ROOT).as_posix()} {text}\n".encode())
    return digest.hexdigest()


class Job:
    """Un cuaderno por calificar, dónde se guarda lo que sale y, si ya estaba, qué salió."""

    def __init__(self, who, book, source, folder, seal, asked, waits):
        self.who, self.lesson, self.source, self.result = who, book.lesson, source, None
        self.asked, self.given = asked, datetime.fromtimestamp(source.lstat().st_mtime)
        self.path = folder / f"{hashlib.sha256(repr((seal, asked)).encode() + book.data).hexdigest()[:40]}.json"
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            slow = SLOW & {f["id"] for one in kept["exercises"] for f in one["findings"]}
            more = any(now > then for now, then in zip(waits, kept["waited"]))
            self.result = None if slow and more else kept
        self.waits = waits

    def start(self):
        """Los segundos que se le esperan: los de su persona, menos los que ya se han ido en ella."""
        self.began = time.monotonic()
        self.who["now"] = True
        return max(1, self.waits[1] + MORE * self.who.get("done", 0) - self.who.get("spent", 0))

    def keep(self, result):
        """Guarda lo que ha salido."""
        self.who["spent"] = self.who.get("spent", 0) + time.monotonic() - self.began
        self.who["done"], self.who["now"] = self.who.get("done", 0) + 1, False
        if "problem" in result:
            told = [f"no se ha podido calificar: {result['problem']}"]
            result = {"lesson": self.lesson, "exercises": [], "told": told}
        else:
            whole(self.path, json.dumps(result | {"waited": self.waits}))
        self.result = result


def grade_all(jobs, caged, options):
    """Califica lo que falta, a la vez y con su barra, y lo guarda según sale."""
    pending = [job for job in jobs if not job.result]
    done = len(jobs) - len(pending)
    if done:
        print(f"Ya estaban calificados {done} de {len(jobs)} cuadernos: sigo con el resto.")
    many = max(1, min(options.procesos, len(pending)))
    orders = [(job, os.path.abspath(job.source), caged, options.segundos, job.asked) for job in pending]
    count = {"total": len(jobs), "initial": done, "unit": "cuaderno"}
    with tqdm(desc="Califico", **count) as bar:

        def start(job):
            waits = job.start()
            names = dict.fromkeys(one.who["name"] for one in jobs if one.who.get("now"))
            bar.set_postfix_str(", ".join(name[:25] + "…" * (len(name) > 25) for name in names))
            return waits

        with contextlib.closing(workers.grade_all(orders, many, start)) as graded:
            for job, result in graded:
                job.keep(result)
                bar.update()


def read_class(options, folder, caged, space):
    """De cada persona, sus cuadernos por calificar y lo que hay que decir de su entrega."""
    seal, people, jobs = fingerprint(caged), [], []
    waits = [options.segundos, getattr(options, "tope", 90)]
    task = getattr(options, "homework", homework.Homework(homework.known()))
    found = submissions.gather(options.entregas, space, getattr(options, "roll", ()))
    names = [line(name) for name, *_ in found]
    for k, (_, ident, books, told, took) in enumerate(found):
        shown, same = names[k], names.count(names[k]) > 1
        shown += f" ({ident or names[: k + 1].count(shown)})" if same else ""
        while shown in {person["name"] for person in people}:  # alguien se llama «Eva (2)»
            shown += " bis"
        label = ident and f"Participante {ident}"
        person = {"name": shown, "id": ident, "label": label, "lessons": {}, "marks": {}}
        people.append(person | {"told": told, "took": took})
        for _, (book, source) in sorted(books.items()):
            told += plain(book.told)
            if asked := list(task.of(book.lesson)):
                jobs.append(Job(people[-1], book, source, folder, seal, asked, waits))
            else:
                told.append(SAYS["tarea"]["no_se_pide"].format(book.lesson))
    if not people:
        raise Unreadable(SAYS["carpetas"]["vacía"].format(options.entregas))
    return people, jobs


def write(people, folder, options):
    """Escribe los resultados, las notas primero, y dice cuáles. Si uno no se puede, siguen los demás."""
    gradebook.beside()
    absent = marks.call_roll(people, options.roll) if options.roll else []
    given, sheet = people + absent, options.sheet
    lessons = options.lecciones or marks.asked(people, options.homework)
    inform = lambda: whole(folder / "clase.html", pages.class_report(people, options.nombres))  # noqa: E731
    steps = {
        "notas.csv": (marks.write, given, folder / "notas.csv", options),
        "notas.xlsx": (marks.write, given, folder / "notas.xlsx", options, workbook),
        "devoluciones": (pages.write_feedback, people, folder / "devoluciones"),
        "clase.html": (inform,),
        "gradebook.db": (gradebook.write, people, folder),
    }
    if sheet:
        steps[sheet.file] = moodle.fill, sheet, given, lessons, options.homework, folder / sheet.file
    if sheet and sheet.file == "moodle.csv":
        steps["moodle.zip"] = moodle.zip_feedback, people, pages.feedback, folder / "moodle.zip"
    wanted = ["clase.html"] if options.solo_informe else steps
    made = [attempt(one, *steps[one]) or f"  {one}, {SAYS['resultados'][one]}" for one in wanted]
    old = [one for one in SAYS["resultados"] if one not in steps and (folder / one).exists()]
    made += [f"  {one}, {SAYS['de_antes']}" for one in old]
    return "\n".join(made), absent


def asked(task, sheet):
    """Lo que se pide, para decirlo al empezar."""
    each = [SAYS["tarea"]["se_pide"].format(lesson, task.text(lesson)) for lesson in task.lessons()]
    each += [SAYS["tarea"]["fechas"]] if task.due and not sheet else []
    return "\n".join(each if task.said else [SAYS["tarea"]["todo"]])


def results_folder(options):
    """La carpeta de los resultados: nueva, o de otra vez que se calificó."""
    source = Path(options.entregas).resolve()
    if not source.exists():
        raise Unreadable(SAYS["carpetas"]["no_existe"].format(source))
    if source.is_file() and source.suffix.lower() != ".zip":
        raise Unreadable(SAYS["carpetas"]["no_vale"].format(source.name))
    beside = source.with_name(f"{source.stem if source.is_file() else source.name}-calificadas")
    folder = Path(options.salida or beside).resolve()
    if source == folder or source in folder.parents:
        raise Unreadable(SAYS["carpetas"]["dentro"])
    if folder.exists() and any(folder.iterdir()) and not (folder / DONE).is_dir():
        raise Unreadable(SAYS["carpetas"]["llena"].format(folder))
    (folder / DONE).mkdir(parents=True, exist_ok=True)
    return folder


def read_options(arguments):
    parser = argparse.ArgumentParser(add_help=False)
    parser.error = lambda _: (_ for _ in ()).throw(Unreadable(f"No entiendo la orden.\n{SAYS['uso']}"))
    parser.add_argument("entregas")
    parser.add_argument("--hoja", "--moodle", "--canvas")
    for name in ("--salida", "--lista", "--columna", "--parciales", "--tarea"):
        parser.add_argument(name)
    for name in ("--nombres", "--solo-informe", "--sin-aislar", "--sin-arrastre"):
        parser.add_argument(name, action="store_true")
    for name, value in (("--procesos", os.cpu_count() or 1), ("--segundos", 60), ("--tope", 90)):
        parser.add_argument(name, type=int, default=value)
    parser.add_argument("--lecciones", nargs="+", choices=submissions.lessons())
    parser.add_argument("--ejercicios", nargs="+")
    options = parser.parse_args(arguments)
    options.homework = homework.chosen(options)
    told = marks.read_partial(options.parciales) if options.parciales else {}
    options.partial = marks.named(options.homework.parts, options.tarea) | told
    wanted = options.columna or options.homework.title
    options.sheet = read_sheet(options.hoja, wanted) if options.hoja else None
    named = options.sheet.roll() if options.sheet else []
    options.roll = marks.read_list(options.lista) if options.lista else named
    return options


def main(arguments):
    if not arguments or {"-h", "--help"} & set(arguments):
        print(SAYS["uso"])
        return 0
    sys.stdout.reconfigure(errors="replace")  # un nombre que esta pantalla no sepa escribir
    start, jobs = time.monotonic(), []
    os.chdir(os.environ.get("CURSO_DESDE", "."))  # desde donde se da la orden
    try:
        options = read_options(arguments)
        folder = results_folder(options)
        caged = cage.works()
        if not caged and (not options.sin_aislar or cage.is_root()):
            raise Unreadable(cage.alone())
        print(cage.start(caged), asked(options.homework, options.sheet), sep="\n", flush=True)
        with tempfile.TemporaryDirectory(prefix="entregas-", ignore_cleanup_errors=True) as space:
            people, jobs = read_class(options, folder / DONE, caged, space)
            grade_all(jobs, caged, options)
        if options.sheet:
            moodle.meet(options.sheet, people)
        for job in jobs:
            marks.join(job.who, job.result, options, job.who.get("given") or job.given)
        failed = attempt("lo que se parece", alike.tell, people, submissions.written, SAYS["parecidos"])
        strange = [] if options.solo_informe else marks.by_hand(people, folder / "a-mano.csv")
        made, absent = write(people, folder, options)
        warned = [f"  {p['name']}: {line(told)}" for p in people + absent for told in (*p["told"], *p.get("alike", ()))]
        if warned and not options.solo_informe:
            print("\nLo que hay que mirar:", *warned, sep="\n")
        if failed:
            print(f"\n{failed}")
        if strange:
            print("", SAYS["a_mano"]["mira"], *(f"  {one}" for one in strange), sep="\n")
        if options.roll and len(absent) == len(options.roll):
            print(f"\n{SAYS['lista_ajena']}")
        counts = f"{len(people)} entregas, {len(jobs)} cuadernos, en {time.monotonic() - start:.0f} s"
        print(f"\n{counts}. Está en {folder}:\n{made}")
        return 0
    except Unreadable as problem:
        print(f"\nNo ha podido ser. {plain(str(problem))}")
        return 1
    except OSError as error:
        used = f"No se puede usar {plain(str(error.filename or error))}. Mira si es tuyo y si queda disco."
        print(f"\nNo ha podido ser. {SAYS['sin_disco'] if is_full(error) else used}")
        return 1
    except KeyboardInterrupt:
        done = sum(job.path.exists() for job in jobs)
        print(f"\nInterrumpido: {done} de {len(jobs)} cuadernos calificados y guardados.")
        print("Repite la orden y sigue donde estaba.")
        return 130


if __name__ == "__main__":
    for name in {"SIGINT", "SIGTERM", "SIGHUP"} & {*dir(signal)}:  # se recoge todo, como con Ctrl+C
        if signal.getsignal(one := getattr(signal, name)) == signal.SIG_DFL:  # con ``nohup``, no
            signal.signal(one, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
