"""Una celda se puede ejecutar dos veces, y otra vez con todas ya ejecutadas: sale lo mismo.

Cada día se mira qué nombres lee y cuáles rehace cada una; cada noche, por turnos, se ejecutan así
las lecciones, con los ejercicios resueltos: también lo que se enseña al resolverlos.
"""

import ast
import re

import pytest
from helpers_notebooks import code_cells
from tools import notebooks, way

PATHS = [path for path in notebooks.course_notebooks() if path.parent.name != "soluciones"]
LESSONS = [path for path in PATHS if notebooks.is_lesson(path)]
TIMED = "# sin comparar: es tiempo"  # lo demás que nbval no compara, aquí sale igual
SAME = {"respuesta-2-c"}  # hace otra vez la u de antes, igual: en la diapositiva se ve
# Lo que tarda de ocho segundos en adelante en un ordenador tranquilo.
SLOW = "una-contra-dos una-y-relu entrena-resulta aprende-quietas 8ba8cf8c 35291881 13a10004 1302000b 13a70002 15a00006 15a00010 15a00038 c13-b4 c15-02".split()


def remade(cells):
    """Las celdas que toman un nombre de una de antes, si una de después lo hace otra vez."""
    found = [way.names(cell.source) for cell in cells]
    for i, (needed, _) in enumerate(found):
        before, after = (set().union(*(made for _, made in f)) for f in (found[:i], found[i:]))
        yield from ((cells[i].id, name) for name in sorted(needed & before & after))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: f"{path.parent.name}-{path.stem[:2]}")
def test_names_hooks_and_waits(path):
    """Un nombre es de una cosa, los hooks se quitan aunque algo falle, y lo que tarda se dice antes."""
    nb, said = notebooks.read(path), ""
    cells = [cell for cell in code_cells(nb) if cell.id not in SAME]
    assert list(remade(cells)) == []
    assert [c.id for c in cells if "register_" in c.source] == [], "Ponlos con probes.hooked."
    for cell in nb.cells:
        said = cell.source if cell.cell_type == "markdown" else said
        assert cell.id not in SLOW or re.search(r"\b(segundos|minuto)\b", said + cell.source), cell.id


def solved(path):
    """La lección, con las funciones y las clases de sus soluciones en sus huecos."""
    nb, told = notebooks.read(path), notebooks.read(path.parent / "soluciones" / path.name)
    body = ast.parse("\n".join(cell.source for cell in code_cells(told))).body
    codes = {x.name: ast.unparse(x) for x in reversed(body) if hasattr(x, "name")}  # la primera
    imports = [ast.unparse(x) for x in body if isinstance(x, ast.Import | ast.ImportFrom)]
    for cell in code_cells(nb):
        if hole := re.match(r"# Ejercicio .+\n(?:(?!def|class).*\n)*(?:def|class) (\w+)", cell.source):
            cell.source = "\n".join([*imports, codes[hole[1]]])
    return nb


def faults(nb, folder):
    """Las celdas que, ejecutadas otra vez, fallan o dan otra cosa."""
    cells, first, found = code_cells(nb), {}, set()
    client = notebooks.client(nb, folder, timeout=900, allow_errors=True)
    with client.setup_kernel():
        for cell in [cell for cell in cells for _ in range(2)] + cells[::-1]:
            cell.outputs = []
            client.execute_cell(cell, nb.cells.index(cell))
            out = [o.get("text") or o.get("evalue") or o.data["text/plain"] for o in cell.outputs]
            seen, failed = "".join(out), "error" in [o.output_type for o in cell.outputs]
            same = first.setdefault(cell.id, seen) == seen or cell.source.startswith(TIMED)
            if failed or not same:
                found.add((cell.id, seen))
    return found


@pytest.mark.lenta
@pytest.mark.turnos
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_every_cell_of_a_lesson_can_be_run_again(path):
    assert faults(solved(path), path.parent) == set()
