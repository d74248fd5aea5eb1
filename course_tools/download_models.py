"""Deja listos los modelos del curso: la orden que da curso.py, uno cada vez.

``python -m course_tools.download_models bert`` descarga de Hugging Face el BERT del curso, si su
paquete no se puede instalar; con ``smollm``, el LLM, y además lo deja escrito para leerlo sin copias.
"""

import os
import shutil
import sys
from contextlib import suppress

from course_lib.model_files import ModelUnavailableError, embedded
from course_lib.model_files import smollm as smollm_files
from course_tools.write_smollm import write_smollm


def bert():
    """Descarga el BERT del curso, si falta. Devuelve None o por qué no ha podido."""
    with suppress(ModelUnavailableError):
        embedded.embedded_folder()
        return None
    return _download(
        f"sentence-transformers/{embedded.EMBEDDED_MODEL}",
        embedded.EMBEDDED_REVISION,
        embedded.EMBEDDED_SHA256,
        embedded.DOWNLOADED_FOLDER,
        lambda partial: partial.rename(embedded.DOWNLOADED_FOLDER),
    )


def smollm():
    """Deja SmolLM2 listo, del paquete o, si falta, de Hugging Face. Devuelve None o por qué no ha podido."""
    with suppress(ModelUnavailableError):
        smollm_files.smollm_folder()
        return None
    try:
        path = smollm_files.gguf_file()
    except ModelUnavailableError:
        files = smollm_files
        return _download(files.REPOSITORY, files.REVISION, files.SHA256, files.FOLDER, write_smollm)
    try:
        return write_smollm(path.parent, path.name)
    except ModelUnavailableError as error:
        return str(error)


def _download(repository, revision, hashes, target, keep):
    """Baja a una carpeta de paso los archivos de ``hashes``, los comprueba y los da a ``keep``."""
    from huggingface_hub import hf_hub_download

    partial = target.with_name("incompleto")  # hasta que todo está comprobado
    # Sin decir quién eres. Sin red se sabe enseguida: sin force_download insiste medio minuto.
    options = {"local_dir": partial, "token": False, "force_download": True, "etag_timeout": 5}
    try:
        shutil.rmtree(partial, ignore_errors=True)
        for name, digest in hashes.items():
            path = hf_hub_download(repository, name, revision=revision, **options)
            if embedded.sha256(path) != digest:
                return f"El archivo {name} de Hugging Face no es el original, y no se ha guardado."
        shutil.rmtree(partial / ".cache")  # lo que apunta huggingface_hub
        shutil.rmtree(target, ignore_errors=True)
        keep(partial)
        return None
    except ModelUnavailableError as error:
        return str(error)
    except Exception:  # huggingface_hub y el sistema lanzan los suyos
        return "No se ha podido descargar el modelo de huggingface.co: comprueba la conexión y el disco."
    finally:
        shutil.rmtree(partial, ignore_errors=True)


if __name__ == "__main__":
    sys.path += [path for path in [os.environ.get("PIP_TARGET")] if path]  # en Colab, los paquetes
    os.environ |= {"HF_HUB_VERBOSITY": "critical", "HF_HUB_DOWNLOAD_TIMEOUT": "5"}
    for unwanted in ("TELEMETRY", "PROGRESS_BARS", "XET"):
        os.environ[f"HF_HUB_DISABLE_{unwanted}"] = "1"
    sys.exit({"bert": bert, "smollm": smollm}[sys.argv[1]]())
