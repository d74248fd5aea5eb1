"""Un modelo de Hugging Face: el guardado en este ordenador o, si hay red, recién descargado."""

from pathlib import Path

from course_lib.model_files import ModelUnavailableError

FILES = ["config.json", "model*.safetensors*", "tokenizer*", "vocab.txt", "special_tokens_map.json"]


def hub_folder(model_name, kind):
    """La carpeta de ``model_name``, un ``kind``, descargada si hace falta; o ``ModelUnavailableError``."""
    from huggingface_hub import HfApi, snapshot_download
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    try:
        folder = Path(snapshot_download(model_name, allow_patterns=FILES, local_files_only=True))
        if any(folder.glob("model*.safetensors")):
            return folder
    except HFValidationError:
        raise ModelUnavailableError(
            f"«{model_name}» no es ni una carpeta ni un nombre de modelo posible. Escríbelo como en "
            f"Hugging Face: {kind.examples[0]} o usuario/modelo."
        ) from None
    except OSError:
        pass  # no está guardado: hace falta red
    try:
        # Una sola pregunta, con plazo: sin red se sabe enseguida.
        names = [file.rfilename for file in HfApi().model_info(model_name, timeout=5).siblings]
    except RepositoryNotFoundError:
        raise ModelUnavailableError(
            f"El modelo «{model_name}» no existe en Hugging Face, o es privado. Revisa el nombre."
        ) from None
    except Exception as error:
        raise ModelUnavailableError(
            f"No puedo obtener «{model_name}»: no está guardado en este ordenador y no hay conexión "
            f"con Hugging Face ({type(error).__name__}). Conéctate y vuelve a probar, o {kind.otherwise}."
        ) from None
    if not any(name.endswith(".safetensors") for name in names):
        raise ModelUnavailableError(
            f"«{model_name}» no publica sus pesos en safetensors, y el curso no abre otro formato. "
            f"Elige otro modelo, por ejemplo {kind.examples[0]}."
        )
    try:
        return Path(snapshot_download(model_name, allow_patterns=FILES))
    except Exception as error:
        raise ModelUnavailableError(
            f"La descarga de «{model_name}» no ha terminado ({type(error).__name__}). Comprueba la "
            "conexión y el espacio en el disco, y vuelve a probar: sigue por donde iba."
        ) from None
