"""Cambia la biblioteca, un poco cada vez, y mira si alguna prueba se da cuenta. Lo hace mutmut.

    python curso.py mutantes                  los módulos que hoy tocan
    python curso.py mutantes masks decoding   los que digas; «todos», los nueve

Un cambio del que nadie se entera es un mutante vivo: o falta una prueba, o da igual. Se cuentan los que
se prueban, los que caen y los que no acaban, y de cada vivo se dice el archivo, la línea y el cambio. Los
ajustes de mutmut están en pyproject.toml, y lo que deja, en `mutants`. Cada noche toca un tercio de la
biblioteca, según la fecha.
"""

import ast
import datetime
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
NIGHTS = (  # unos seiscientos mutantes cada una
    ("attention", "cache", "flash"),
    ("masks", "transformer"),
    ("decoder_only", "decoding", "layers", "sampling"),
)
MODULES = sum(NIGHTS, ())


def of_tonight(day):
    """Los módulos que tocan el día `day`: en tres noches seguidas, todos."""
    return NIGHTS[day.toordinal() % len(NIGHTS)]


def line_of(path, name, diff):
    """La línea de `path` que cambia en el mutante `name`, y lo que pone en ella después."""
    *owner, function = name.rpartition("__mutmut_")[0].rpartition(".")[2].split("ǁ")
    wanted = [*owner[1:], function] if owner else [function.removeprefix("x_")]
    scope = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    for part in wanted:
        scope = next(node for node in ast.walk(scope) if getattr(node, "name", None) == part)
    marks = [line for line in diff.splitlines()[2:] if line[:1] in "-+"]
    before = next((line[1:].strip() for line in marks if line[0] == "-"), "")
    after = " ".join(line[1:].strip() for line in marks if line[0] == "+")
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    inside = range(scope.lineno, scope.end_lineno + 1)
    return next((n for n in inside if lines[n - 1].strip() == before), scope.lineno), after


def report(modules):
    """Cuenta los mutantes de cada módulo y enseña los vivos. Devuelve cuántos se han probado y sin acabar."""
    from mutmut.mutation.data import SourceFileMutationData
    from mutmut.mutation.diff_apply import get_diff_for_mutant
    from mutmut.stats import status_by_exit_code

    alive, tried, unfinished = [], 0, 0
    print(f"\n{'módulo':14} probados  caen  viven  sin acabar")
    for module in modules:
        path = Path("course_lib") / f"{module}.py"
        data = SourceFileMutationData(path=path)
        data.load()
        found = {name: status_by_exit_code[code] for name, code in data.exit_code_by_key.items()}
        count = Counter(found.values())
        living = [name for name in found if found[name] in ("survived", "no tests")]
        done = sum(count.values()) - count["not checked"] - count["skipped"]
        killed = count["killed"]
        print(f"{module:14} {done:8} {killed:5} {len(living):6} {done - killed - len(living):11}")
        alive += [(path, name, get_diff_for_mutant(name, path=path)) for name in living]
        tried, unfinished = tried + done, unfinished + done - killed - len(living)
    print()
    for path, name, diff in alive:
        line, after = line_of(path, name, diff)
        print(f"{path.as_posix()}:{line}: {after}    ({name.rpartition('.')[2]})")
    return tried, unfinished


def main(arguments):
    os.chdir(ROOT)
    modules = MODULES if arguments == ["todos"] else arguments or of_tonight(datetime.date.today())
    unknown = set(modules) - set(MODULES)
    if unknown:
        sys.exit(f"mutantes: no conozco {', '.join(unknown)}. Hay: {', '.join(MODULES)}, todos.")
    if not hasattr(os, "fork"):
        sys.exit("mutantes: mutmut necesita Linux o macOS; en Windows, WSL.")
    shutil.rmtree("mutants", ignore_errors=True)
    env = {**os.environ, "OMP_NUM_THREADS": "1", "CURSO_PROGRESO": "no"}
    names = [f"course_lib.{module}.*" for module in modules]
    code = subprocess.call([sys.executable, "-m", "mutmut", "run", *names], env=env)
    tried, unfinished = report(modules)
    if unfinished > tried // 4:  # no son bucles: las pruebas no llegan a empezar
        print("mutantes: casi ninguno acaba. Mira por qué con «debug = true» en [tool.mutmut].")
        return 1
    return code or (tried == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
