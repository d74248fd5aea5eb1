"""Lo que has resuelto: se guarda en tu ordenador, junto a tus cuadernos, y en ningún otro sitio.

Es el archivo ``.progreso.json`` de ``copies.student_folder``. La variable de entorno CURSO_PROGRESO
dice otro, y «no», ninguno.
"""

import contextlib
import json
import os
from datetime import date
from pathlib import Path

from course_tools.opening.copies import student_folder

PLACE = "CURSO_PROGRESO"


def place():
    """El archivo del progreso, o ``None`` si no se guarda."""
    chosen = os.environ.get(PLACE)
    if chosen == "no":
        return None
    return Path(chosen) if chosen else student_folder() / ".progreso.json"


def load():
    """Los ejercicios resueltos: número → fecha. Si el archivo no se entiende, ninguno."""
    path = place()
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def record(exercise):
    """Apunta un ejercicio resuelto, por su número. Da las notas que hay que añadir: una, si no se puede escribir."""
    solved, path = load(), place()
    if path is None or exercise in solved:
        return ()
    solved[exercise] = date.today().isoformat()
    with contextlib.suppress(OSError):
        temporary = path.with_suffix(".tmp")
        temporary.write_text(json.dumps(solved, indent=1), encoding="utf-8")
        temporary.replace(path)
        return ()
    return (
        f"está bien, pero no se ha podido apuntar: no se puede escribir {path.parent.name}/{path.name}. "
        "Comprueba que la carpeta existe y es tuya, y que queda sitio en el disco; y repite esta celda.",
    )


def forget():
    """Borra el archivo."""
    if (path := place()) is not None:
        path.unlink(missing_ok=True)
