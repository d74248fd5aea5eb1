"""El informe de la clase que estudia en el Hub: ``python curso.py aula --informe 05``."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from aula.hub import accounts, place

COPIES = "atencion-paso-a-paso/mis_cuadernos"  # de cada estudiante, en su carpeta


def report(lesson):
    """El informe de una lección con lo que hay ahora en las carpetas, si la clase lo sabe."""
    names = [path.name for path in place.ROOT.glob(f"notebooks/{lesson[:2]}_*.ipynb")]
    if len(names) != 1:
        raise accounts.ClassroomError(place.say("lección"))
    if not place.TOLD.exists():
        raise accounts.ClassroomError(place.say("sin avisar"))
    since = place.TOLD.stat().st_mtime
    with tempfile.TemporaryDirectory() as folder:
        for user in accounts.members().values():
            home = accounts.mount(user)
            # Lo busca y lo lee su cuenta: un enlace a lo de otro no llega a nada.
            own = f"{home}/{COPIES}/{names[0]}"
            order = ["timeout", "9", "find", own, "-type", "f", "-newermt", f"@{since}"]
            order += ["-exec", "head", "--bytes=20M", "{}", "+"]
            order = [*accounts.become(user), *order]
            if said := subprocess.run(order, capture_output=True, cwd="/").stdout:
                Path(folder, f"{user}.ipynb").write_bytes(said)
        if not os.listdir(folder):
            raise accounts.ClassroomError(place.say("nadie"))
        order = [sys.executable, "-m", "aula.calificar.grade", folder]
        output = place.STATE / f"informe-{lesson[:2]}"
        return subprocess.call([*order, "--solo-informe", "--salida", output], cwd=place.ROOT)


if __name__ == "__main__":
    try:
        sys.exit(report(sys.argv[1]))
    except accounts.ClassroomError as error:
        print(f"\nNo ha podido ser. {error}")
        sys.exit(1)
