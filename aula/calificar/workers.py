"""Calificar varios cuadernos a la vez, en procesos que se pueden cerrar sin que se pierda nada.

Quien manda tiene un hilo por proceso, y a cada uno le da la ruta de un cuaderno y espera lo que sale. Un
proceso que se cierra solo se abre otra vez; con Ctrl+C, se cierran todos, y con ellos sus jaulas.
"""

import json
import math
import os
import queue
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict
from pathlib import Path

from aula.calificar import submissions
from aula.calificar.text import plain

DIED = "su proceso se ha cerrado dos veces; quizá falta memoria: repite la orden con --procesos 1"
LONGEST = 3600  # segundos para un cuaderno: más, es que se ha quedado parado


class Worker:
    """Un proceso que califica los cuadernos que se le dan, de uno en uno."""

    def __init__(self):
        self.process, self.closed = None, False

    def open(self):
        order, pipe = [sys.executable, "-m", "aula.calificar.workers"], subprocess.PIPE
        more = {"cwd": submissions.ROOT, "env": os.environ | {"CURSO_PROGRESO": "no"}}
        more["start_new_session"] = True  # Ctrl+C le llega solo a quien manda
        self.process = subprocess.Popen(order, stdin=pipe, stdout=pipe, encoding="utf-8", **more)
        if self.closed:
            self.kill()

    def ask(self, *order):
        """Lo que sale de un cuaderno, o por qué no se ha podido. Si se cierra, se prueba otra vez."""
        for _ in range(2):
            if self.process is None and not self.closed:
                self.open()
            guard = threading.Timer(LONGEST, self.kill)
            guard.start()
            try:
                print(json.dumps(order), file=self.process.stdin, flush=True)
                return json.loads(self.process.stdout.readline())
            except (OSError, ValueError, AttributeError):  # se ha cerrado
                self.kill()
            finally:
                guard.cancel()
        return {"problem": DIED}

    def kill(self):
        process, self.process = self.process, None
        if process:
            process.kill()
            process.wait()


def grade_all(orders, many, starts=lambda job: LONGEST):
    """Según acaban, de cada orden ``(trabajo, ruta, se aísla, segundos, ejercicios)``, el trabajo y lo que sale.

    ``starts`` recibe cada trabajo cuando empieza, y da lo que se le espera.
    """
    workers, mine = [], threading.local()

    def start():
        mine.worker = Worker()
        workers.append(mine.worker)

    def one(job, *order):
        return job, mine.worker.ask(*order, starts(job))

    pool = ThreadPoolExecutor(many, initializer=start)
    try:
        for future in as_completed([pool.submit(one, *order) for order in orders]):
            yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.closed = True
            worker.kill()


def grade_one(path, caged, seconds, asked=None, most=math.inf):
    """Un cuaderno calificado, listo para guardarse. De él, los ejercicios ``asked``; si no se dicen, todos."""
    from aula.calificar import check
    from course_checkers.engine.properties import is_borrowed

    book = submissions.read_notebook(Path(path))
    lesson = submissions.lessons()[book.lesson]
    right = submissions.right(lesson.name)
    reports, noticed, carried = check.grade(book.cells, lesson.answers, caged, seconds, right, lesson.cells, asked, most)
    marks = []
    for report in reports:
        number = report.exercise
        # Si falta la respuesta y también su celda, nadie la ha hecho.
        lacks = [f.id for f in report.findings] == ["falta"] and number not in book.own
        more = {"ok": report.ok, "unsolved": report.unsolved or lacks}
        more |= {"points": lesson.points[number], "carried": carried.get(number, [])}
        more["borrowed"] = [*filter(is_borrowed, report.notes)]
        more["printed"] = report.printed_lines() if report.printed else []
        marks.append(asdict(report) | more | {"answer": book.own.get(number, "")[:6000]})
    return plain({"lesson": book.lesson, "exercises": marks, "told": noticed})


def main():
    """Atiende lo que llega por la entrada. Al cerrarse, acaba, y con él su jaula."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers, orders = os.fdopen(os.dup(1), "w", encoding="utf-8"), queue.SimpleQueue()
    os.dup2(2, 1)  # lo que se escriba no se mezcla con lo que se contesta

    def listen():
        for line in sys.stdin:
            orders.put(line)
        os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        try:
            answer = grade_one(*json.loads(orders.get()))
        except Exception as error:  # de ese cuaderno: los demás siguen
            answer = {"problem": plain(f"{type(error).__name__}: {error}"[:300])}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
