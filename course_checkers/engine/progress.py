"""Enseñar lo que has resuelto, y olvidarlo. Dónde se guarda: ``course_tools.opening.progress``."""

from html import escape

from course_checkers.engine import lines, prediction
from course_checkers.engine.catalog import catalog
from course_checkers.engine.places import onward
from course_tools.opening import progress


def forget_progress():
    """Borra de tu ordenador lo que has resuelto. No se puede deshacer."""
    progress.forget()
    print("Olvidado: no queda apuntado ningún ejercicio.")


class Progress:
    """Lo resuelto de una lección o de todas, para enseñarlo."""

    def __init__(self, lesson, exercises, noted):
        self.lesson, self.exercises, self.noted = lesson, exercises, noted
        self.solved = {n: one for n, one in noted["exercises"].items() if one.get("date")}

    def lines(self):
        """Una línea por ejercicio, o por lección si son todas; y lo que ha salido a la primera."""
        if self.lesson is not None:
            written = [one.number for one in lines.lines().values() if one.number.split(".")[0] == str(int(self.lesson))]
            if written:
                done = sum(bool(self.noted["lines"].get(number, {}).get("date")) for number in written)
                yield f"{'✓' if done == len(written) else '○'} Tus líneas: {done} de {len(written)}"
            for number, (title, _) in self.exercises.items():
                yield f"{'✓' if number in self.solved else '○'} {number} · {title}"
            mine = f"{int(self.lesson):02}."
            noted = self.noted["predictions"].items()
            said = [prediction.hits(name, one) for name, one in noted if name.startswith(mine)]
            done = self.solved.keys() & self.exercises
            first = [n for n in self.exercises if n in done and self.solved[n].get("tries") == 1]
            if done or said:
                yield f"A la primera: {', '.join(first) or 'ninguno'}"
            if said:
                yield f"Predicciones acertadas: {sum(said)} de {len(said)}"
            return
        for lesson in dict.fromkeys(number.split(".")[0] for number in self.exercises):
            mine = [number for number in self.exercises if number.split(".")[0] == lesson]
            done = sum(number in self.solved for number in mine)
            yield f"{'✓' if done == len(mine) else '○'} Lección {int(lesson):02}: {done} de {len(mine)}"

    def __str__(self):
        done = sum(number in self.solved for number in self.exercises)
        where = "del curso" if self.lesson is None else "de esta lección"
        head = f"Has resuelto {done} de los {len(self.exercises)} ejercicios {where}."
        return "\n".join([head, *(f"  {line}" for line in self.lines())])

    __repr__ = __str__

    def _repr_html_(self):
        head, *lines = str(self).splitlines()
        items = "".join(f"<li>{escape(line.strip())}</li>" for line in lines)
        text = f'<p><strong>{escape(head)}</strong></p><ul style="list-style: none">{items}</ul>'
        if self.lesson is None or not self.solved.keys() & self.exercises:
            return text
        left = [k for k, number in enumerate(self.exercises) if number not in self.solved]
        return text + onward(f"{self.lesson}.{left[0] if left else len(self.exercises)}")


def show_progress(lesson=None):
    """Enseña lo que has resuelto.

    Args:
        lesson: el número de una lección (``5``); sin él, todo el curso.

    Raises:
        ValueError: si la lección no tiene ejercicios.
    """
    exercises = catalog()
    if lesson is not None:
        wanted = str(lesson).lstrip("0") or "0"
        exercises = {n: e for n, e in exercises.items() if n.split(".")[0] == wanted}
        if not exercises:
            text = f"la lección {lesson!r} no tiene ejercicios. Prueba con 5."
            raise ValueError(f"show_progress: {text}")
    return Progress(lesson, exercises, progress.load())
