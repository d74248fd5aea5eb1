# Ejecuta esta celda la primera: trae el curso a Colab y no cambia nada de lo instalado allí.
# Para no perder tus respuestas: Archivo → Guardar una copia en Drive.
import importlib.util
import pathlib
import subprocess
import sys

if importlib.util.find_spec("course_lib") is None:
    place = pathlib.Path("atencion-paso-a-paso").resolve()
    if not place.exists():
        failed = subprocess.call(["git", "clone", "-q", "--depth=1", "{url}", str(place)])
        assert not failed, "No se ha podido traer el curso. Ejecuta otra vez esta celda."
    sys.path.insert(0, str(place))
    from aula import colab

    colab.prepare()
