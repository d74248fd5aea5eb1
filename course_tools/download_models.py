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
from course_tools import write_smollm as writing

# El LLM, antes de pasar a 4 bits, para donde el paquete no se puede tener.
REPOSITORY = "HuggingFaceTB/SmolLM2-135M-Instruct"
REVISION = "12fd25f77366fa6b3b4b768ec3050bf629380bac"  # en Hugging Face
SMOLLM_SHA256 = {
    "config.json": "8eb740e8bbe4cff95ea7b4588d17a2432deb16e8075bc5828ff7ba9be94d982a",
    "tokenizer.json": "9ca9acddb6525a194ec8ac7a87f24fbba7232a9a15ffa1af0c1224fcd888e47c",
    "tokenizer_config.json": "4ec77d44f62efeb38d7e044a1db318f6a939438425312dfa333b8382dbad98df",
    "model.safetensors": "5af571cbf074e6d21a03528d2330792e532ca608f24ac70a143f6b369968ab8c",
}


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
        path = writing.gguf_file()
    except ModelUnavailableError:
        return _download(REPOSITORY, REVISION, SMOLLM_SHA256, smollm_files.FOLDER, writing.write_smollm)
    try:
        return writing.write_smollm(path.parent, path.name)
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
