"""El modelo que mira y el que escucha: dónde están sus pesos, y las muestras del curso.

No vienen con el curso: los pone «python curso.py abrir --ver-y-oir», con ``course_tools.senses``.
"""

import sys
import unicodedata
from pathlib import Path

from course_lib.model_files import ModelUnavailableError
from course_lib.model_files.embedded import sha256

SAMPLES = Path(__file__).parents[2] / "imagenes/muestras"  # las fotografías y los sonidos del curso
FOLDER = Path(sys.prefix, "share", "atencion-paso-a-paso", "ver-y-oir")
GET = "«python curso.py abrir --ver-y-oir» lo pone: descarga 250 MB, una sola vez. Sin él, la lección se lee entera."


def weights_of(name):
    """Los pesos de «whisper» o «dinov2», en 32 bits, y cuántas capas tienen; o ``ModelUnavailableError``."""
    from safetensors.torch import load_file

    if not sealed(name):
        raise ModelUnavailableError(f"Falta el modelo {name}, o está dañado. {GET}")
    weights = {one: tensor.float() for one, tensor in load_file(FOLDER / f"{name}.safetensors").items()}
    return weights, 1 + max(int(one.split(".")[1]) for one in weights if "layers." in one)


def sealed(name):
    """Si los pesos de ese modelo están, y son los que se escribieron: lo dice su huella, al lado."""
    path, seal = FOLDER / f"{name}.safetensors", FOLDER / f"{name}.huella.txt"
    return path.is_file() and seal.is_file() and seal.read_text() == sha256(path)


def sample_path(path):
    """El archivo de una muestra del curso, si ``path`` es su nombre, como «café»; si no, ``path``."""
    plain = unicodedata.normalize("NFKD", str(path)).encode("ascii", "ignore").decode()
    return next(SAMPLES.glob(f"{plain}.*"), path) if plain.isidentifier() else path
