"""Descarga el modelo del curso: la orden que da curso.py si el paquete no se puede instalar."""

import os
import shutil
import sys
from contextlib import suppress

from course_lib.model_files import ModelUnavailableError, embedded


def download():
    """Descarga de Hugging Face el modelo del curso, si falta. Devuelve None o por qué no ha podido."""
    with suppress(ModelUnavailableError):
        embedded.embedded_folder()
        return None
    from huggingface_hub import hf_hub_download

    partial = embedded.DOWNLOADED_FOLDER.with_name("incompleto")  # se mueve al final, ya comprobado
    source = {
        "repo_id": f"sentence-transformers/{embedded.EMBEDDED_MODEL}",
        "revision": embedded.EMBEDDED_REVISION,
    }
    # Sin decir quién eres. Sin red se sabe enseguida: sin force_download insiste medio minuto.
    options = {"local_dir": partial, "token": False, "force_download": True, "etag_timeout": 5}
    try:
        shutil.rmtree(partial, ignore_errors=True)
        for name, digest in embedded.EMBEDDED_SHA256.items():
            if embedded.sha256(hf_hub_download(filename=name, **source, **options)) != digest:
                return f"El archivo {name} de Hugging Face no es el original, y no se ha guardado."
        shutil.rmtree(partial / ".cache")  # lo que apunta huggingface_hub
        shutil.rmtree(embedded.DOWNLOADED_FOLDER, ignore_errors=True)
        partial.rename(embedded.DOWNLOADED_FOLDER)
        return None
    except Exception:  # huggingface_hub y el sistema lanzan los suyos
        return "No se ha podido descargar el modelo de huggingface.co: comprueba la conexión y el disco."
    finally:
        shutil.rmtree(partial, ignore_errors=True)


if __name__ == "__main__":
    os.environ |= {"HF_HUB_VERBOSITY": "critical", "HF_HUB_DOWNLOAD_TIMEOUT": "5"}
    for unwanted in ("TELEMETRY", "PROGRESS_BARS", "XET"):
        os.environ[f"HF_HUB_DISABLE_{unwanted}"] = "1"
    sys.exit(download())
