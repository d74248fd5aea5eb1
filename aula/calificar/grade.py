"""Calificar las entregas de una clase: notas, devoluciones y qué no se ha entendido.

    python curso.py calificar ENTREGAS [opciones]

ENTREGAS es una carpeta con una carpeta (o un archivo) por persona, o el zip que da Moodle.

  --salida CARPETA   dónde se deja todo (si no, en ENTREGAS-calificadas, al lado)
  --nombres          el informe de la clase dice también quién; sin esto, es anónimo
  --procesos N       cuántas entregas a la vez (si no, una por núcleo)
  --segundos N       lo que se espera a las celdas de un ejercicio (si no, 60)
  --solo-informe     ni notas ni devoluciones: solo el informe de la clase
  --sin-aislar       sigue aunque el sistema no pueda aislar el código de las entregas

Lo calificado se guarda según se califica: si se corta, la misma orden sigue donde estaba.
"""

import argparse
import contextlib
import csv
import hashlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

from aula.calificar import cage, gradebook, limits, pages, submissions

DONE = ".calificado"  # en la carpeta de los resultados: lo que ya está, un archivo por cuaderno
MADE = "  notas.csv, las notas\n  devoluciones, una página por persona"
BROKEN = "Un proceso se ha cerrado solo: quizá falta memoria. Repite la orden con --procesos 1."


class Stop(Exception):
    """No se puede seguir: el texto dice por qué y qué hacer."""


# --- Una entrega, en otro proceso -----------------------------------------------------------------


def prepare_helper():
    """Un proceso que ayuda: Ctrl+C lo atiende quien manda. Si muere, su jaula muere con él."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["CURSO_PROGRESO"] = "no"


def grade_one(book, caged, seconds):
    """Un cuaderno calificado, listo para guardarse."""
    from aula.calificar import check

    lesson = submissions.lessons()[book.lesson]
    reports, noticed = check.grade(book.cells, lesson.answers, caged, seconds)
    marks = [
        asdict(report)
        | {
            "ok": report.ok,
            "unsolved": report.unsolved or missing(report, book),
            "points": lesson.points[report.exercise],
            "printed": report.printed_lines() if report.printed else [],
            "answer": book.own.get(report.exercise, "")[:6000],
        }
        for report in reports
    ]
    return {"lesson": book.lesson, "exercises": marks, "told": noticed}


def missing(report, book):
    """Si falta la respuesta y también su celda: nadie la ha hecho."""
    return [f.id for f in report.findings] == ["falta"] and report.exercise not in book.own


# --- Toda la clase --------------------------------------------------------------------------------


# De lo que sale una nota, además de la entrega y de lo que pide cada lección: lo que la comprueba, lo que
# ella usa y con qué versiones.
DECIDES = ("course_lib", "course_checkers", "course_tools", "aula/calificar")
PINS = ("requirements.txt", "constraints.txt", "aula/calificar/requirements.txt")


def fingerprint(*options):
    """Un resumen de con qué se califica: si algo de eso cambia, se califica otra vez.

    ``options`` es lo que lo decide de la orden: si se aísla y lo que se espera.
    """
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

    def __init__(self, who, book, folder, seal):
        self.who, self.book, self.result = who, book, None
        self.path = folder / f"{hashlib.sha256(seal.encode() + book.data).hexdigest()[:40]}.json"
        with contextlib.suppress(OSError, ValueError):
            self.result = json.loads(self.path.read_text(encoding="utf-8"))

    def keep(self, result):
        self.result, half = result, self.path.with_suffix(".a-medias")
        half.write_text(json.dumps(result), encoding="utf-8")
        half.replace(self.path)


def grade_all(jobs, caged, options):
    """Califica lo que falta, a la vez y con su barra, y lo guarda según sale."""
    pending = [job for job in jobs if not job.result]
    done = len(jobs) - len(pending)
    if done:
        print(f"Ya estaban calificados {done} de {len(jobs)} cuadernos: sigo con el resto.")
    many, context = min(options.procesos, len(pending)), multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(max(1, many), mp_context=context, initializer=prepare_helper)
    try:
        more = caged, options.segundos
        waiting = {pool.submit(grade_one, job.book, *more): job for job in pending}
        count = {"total": len(jobs), "initial": done, "unit": "cuaderno"}
        for future in tqdm(as_completed(waiting), "Califico", **count):
            job = waiting[future]
            try:
                job.keep(future.result())
            except BrokenProcessPool:
                raise Stop(BROKEN) from None
            except OSError as error:
                if error.filename:  # es nuestra carpeta la que no deja escribir
                    raise
                told = [f"no se ha podido calificar: {error}"]
                job.result = {"lesson": job.book.lesson, "exercises": [], "told": told}
    except BaseException:
        for process in list((pool._processes or {}).values()):
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def read_class(options, folder, caged):
    """De cada persona, sus cuadernos por calificar y lo que hay que decir de su entrega."""
    seal, people, jobs = fingerprint(caged, options.segundos), [], []
    with tempfile.TemporaryDirectory(prefix="entregas-") as space:
        found = submissions.students(options.entregas, space)
        names = [name for name, _ in found]
        for (name, ident), files in found.items():
            shown = f"{name} ({ident})" if ident and names.count(name) > 1 else name
            books, told = submissions.collect(files)
            person = {"name": shown, "id": ident, "told": told, "lessons": {}, "marks": {}}
            people.append(person)
            for _, book in sorted(books.items()):
                told += book.told
                jobs.append(Job(person, book, folder, seal))
    if not people:
        raise Stop(f"En {options.entregas} no hay entregas: pon una carpeta por persona.")
    return people, jobs


def join(person, result):
    """Añade a una persona lo calificado en un cuaderno: sus puntos y lo que ha pasado al ejecutarlo."""
    person["lessons"][result["lesson"]] = result
    told = [f"lección {result['lesson']}: {text}" for text in result["told"]]
    for one in result["exercises"]:
        number = one["exercise"]
        person["marks"][number] = one["points"] * one["ok"]
        ids = [finding["id"] for finding in one["findings"]]
        told += [f"el {number} {pages.STOPPED[name]}" for name in ids if name in pages.STOPPED]
    person["told"] += dict.fromkeys(told)


def write_marks(people, path):
    """Las notas: una fila por persona, y al final, lo que hay que mirar."""
    lessons = sorted({lesson for person in people for lesson in person["lessons"]})
    points = {n: mark for one in lessons for n, mark in submissions.lessons()[one].points.items()}
    heads = [f"{number} (de {most})" for number, most in points.items()]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        table = csv.writer(file)
        table.writerow(["Nombre", "Identificador", *heads, "Total", "De", "Qué mirar"])
        for person in people:
            marks = person["marks"]
            row = [person["name"], person["id"], *(marks.get(number, "") for number in points)]
            row += [sum(marks.values()), sum(points.values()), "; ".join(person["told"])]
            table.writerow([safe(cell) for cell in row])


def safe(cell):
    """Una casilla que una hoja de cálculo no toma por una fórmula."""
    text = " ".join(cell.split()) if isinstance(cell, str) else cell
    return f"'{text}" if isinstance(text, str) and text[:1] in tuple("=+-@") else text


def write(people, folder, options):
    """Escribe los resultados, y dice cuáles."""
    report = pages.class_report(people, options.nombres)
    (folder / "clase.html").write_text(report, encoding="utf-8")
    if options.solo_informe:
        return "  clase.html"
    write_marks(people, folder / "notas.csv")
    pages.write_feedback(people, folder / "devoluciones")
    return f"{MADE}\n  clase.html, qué no se ha entendido\n{gradebook.write(people, folder)}"


# --- La orden -------------------------------------------------------------------------------------


def results_folder(options):
    """La carpeta de los resultados: nueva, o de otra vez que se calificó."""
    source = Path(options.entregas).resolve()
    if not source.exists():
        raise Stop(f"No existe {source}. Escribe la ruta de la carpeta, o del zip.")
    if source.is_file() and source.suffix.lower() != ".zip":
        raise Stop(f"{source.name} no es una carpeta ni un zip. Pon cada entrega en una carpeta.")
    beside = source.with_name(f"{source.stem if source.is_file() else source.name}-calificadas")
    folder = Path(options.salida or beside).resolve()
    if source == folder or source in folder.parents:
        raise Stop("Los resultados no pueden ir dentro de las entregas: elige otra con --salida.")
    if folder.exists() and any(folder.iterdir()) and not (folder / DONE).is_dir():
        raise Stop(f"{folder} tiene otras cosas dentro. Déjala vacía o elige otra con --salida.")
    (folder / DONE).mkdir(parents=True, exist_ok=True)
    return folder


def read_options(arguments):
    parser = argparse.ArgumentParser(add_help=False)
    parser.error = lambda _: (_ for _ in ()).throw(Stop(f"No entiendo la orden.\n{__doc__}"))
    parser.add_argument("entregas")
    parser.add_argument("--salida")
    for name in ("--nombres", "--solo-informe", "--sin-aislar"):
        parser.add_argument(name, action="store_true")
    for name, value in (("--procesos", os.cpu_count() or 1), ("--segundos", 60)):
        parser.add_argument(name, type=int, default=value)
    return parser.parse_args(arguments)


def main(arguments):
    if not arguments or {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    start, jobs = time.monotonic(), []
    os.chdir(os.environ.get("CURSO_DESDE", "."))  # desde donde se da la orden
    try:
        options = read_options(arguments)
        folder = results_folder(options)
        caged = cage.works()
        if not caged and not options.sin_aislar:
            raise Stop(cage.alone())
        print(cage.WITH if caged else cage.WITHOUT, flush=True)
        if caged:
            print(limits.TOGETHER if limits.way() else limits.APART, flush=True)
        people, jobs = read_class(options, folder / DONE, caged)
        grade_all(jobs, caged, options)
        for job in jobs:
            join(job.who, job.result)
        made = write(people, folder, options)
    except (Stop, submissions.Unreadable) as problem:
        print(f"\nNo ha podido ser. {problem}")
        return 1
    except OSError as error:
        what = error.filename or error
        print(f"\nNo ha podido ser. No se puede usar {what}. Mira si es tuyo y si queda disco.")
        return 1
    except KeyboardInterrupt:
        done = sum(job.path.exists() for job in jobs)
        print(f"\nInterrumpido: {done} de {len(jobs)} cuadernos calificados y guardados.")
        print("Repite la orden y sigue donde estaba.")
        return 130
    warned = [f"  {person['name']}: {told}" for person in people for told in person["told"]]
    if warned and not options.solo_informe:
        print("\nLo que hay que mirar:", *warned, sep="\n")
    counts = f"{len(people)} entregas, {len(jobs)} cuadernos, en {time.monotonic() - start:.0f} s"
    print(f"\n{counts}. Está en {folder}:\n{made}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
