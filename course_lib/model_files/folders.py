"""Lee un modelo de una carpeta con transformers: siempre en safetensors y sin ejecutar código ajeno."""

from contextlib import contextmanager

import torch

from course_lib.model_files import ModelUnavailableError

# Leer de una carpeta: ni red, ni código que venga con el modelo, ni preguntas.
SAFE = {"local_files_only": True, "trust_remote_code": False}


@torch.inference_mode(False)  # lo que se carga se queda, y se tiene que poder entrenar
def read_model(name, folder, kind):
    """El modelo de una carpeta, en modo evaluación.

    Args:
        name: cómo lo llaman los errores.
        folder: la carpeta, con ``config.json`` y los pesos en safetensors.
        kind: de qué clase tiene que ser, un ``Kind``.

    Raises:
        ModelUnavailableError: si es de otra clase, o sus archivos faltan o están dañados.
    """
    with reading(name):
        import transformers

        try:
            config = transformers.AutoConfig.from_pretrained(folder, **SAFE)
        except (OSError, ValueError) as error:
            raise ModelUnavailableError(
                f"«{name}» no tiene una configuración de transformers que se pueda leer: {_first_line(error)}"
            ) from None
        if config.model_type != kind.model_type:
            raise ModelUnavailableError(
                f"«{name}» es un modelo «{config.model_type}», y hace falta un "
                f"«{kind.model_type}»: por ejemplo {' o '.join(kind.examples)}."
            )
        model, loading = getattr(transformers, kind.class_name).from_pretrained(
            folder,
            **SAFE,
            use_safetensors=True,
            output_loading_info=True,
            attn_implementation="eager",  # la única que devuelve los pesos de atención
            dtype=torch.float32,
        )
        # transformers inventa, sin decir nada, los pesos que no encuentra.
        missing = sorted(name for name in loading["missing_keys"] if "pooler." not in name)
        _require(not missing, f"faltan pesos: {', '.join(missing[:1])}")
        return model.eval()


def read_tokenizer(name, folder):
    """El tokenizador de transformers de ``folder``; ``name`` es como lo llaman los errores."""
    with reading(name):
        from transformers import AutoTokenizer

        # Y también se inventa el vocabulario.
        there = any((folder / file).is_file() for file in ("tokenizer.json", "vocab.txt"))
        _require(there, "falta el vocabulario: tokenizer.json o vocab.txt")
        return AutoTokenizer.from_pretrained(folder, **SAFE)


def read_plain_tokenizer(name, folder):
    """Como ``read_tokenizer(name, folder)``, con solo ``tokenizers``: un ``tokenizers.Tokenizer``."""
    with reading(name):
        from tokenizers import Tokenizer

        path = folder / "tokenizer.json"
        _require(path.is_file(), "falta el vocabulario: tokenizer.json")
        return Tokenizer.from_file(str(path))


@contextmanager
def reading(name):
    """Lee sin barras ni informes, que un estudiante no puede usar; todo error, ``ModelUnavailableError``."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    except ModelUnavailableError:
        raise
    except Exception as error:  # safetensors, tokenizers y transformers lanzan los suyos
        raise ModelUnavailableError(
            f"Los archivos de «{name}» están incompletos o dañados ({_first_line(error)}). "
            "El curso solo lee pesos en safetensors. Borra el modelo y vuelve a obtenerlo."
        ) from None
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _require(there, problem):
    if not there:
        raise OSError(problem)


def _first_line(error):
    return str(error).strip().split("\n")[0][:160]
