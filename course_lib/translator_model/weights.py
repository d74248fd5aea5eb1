"""Los archivos de un traductor: leerlos."""

import json
from pathlib import Path

import torch

from course_lib.transformer import Transformer
from course_lib.translator_model.checks import TranslatorError
from course_lib.translator_model.marks import BOS, EOS, MARKS, PAD, UNKNOWN


def read_model(folder):
    """El ``Transformer`` de una carpeta y su tokenizador; si faltan o están dañados, ``TranslatorError``."""
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    folder = Path(folder)
    try:
        options = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        vocab_size = options.pop("vocab_size")
        model = Transformer(vocab_size, vocab_size, share_embeddings=True, **options)
        weights = {name: w.float() for name, w in load_file(folder / "model.safetensors").items()}
        missing, unexpected = model.load_state_dict(weights, strict=False)
        shared = {"decoder.output_embedding.table.weight", "output_projection.weight"}
        if unexpected or set(missing) != shared:  # las tres tablas son una, y se guarda una
            raise OSError(f"no encajan los pesos {sorted({*unexpected, *missing} - shared)[:3]}")
        for module in model.modules():
            if isinstance(module, torch.nn.Linear):
                # Los mismos números, por columnas en la memoria: con un solo token cada vez, el
                # procesador los lee mucho más deprisa.
                module.weight.data = module.weight.data.T.contiguous().T
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        if [tokenizer.token_to_id(mark) for mark in MARKS] != [PAD, UNKNOWN, BOS, EOS]:
            raise OSError("las marcas del tokenizador no tienen los ids del curso")
    except Exception as error:  # safetensors y tokenizers lanzan los suyos
        raise damaged(folder, str(error).splitlines()[0][:120]) from None
    return model, tokenizer


def read_words(folder):
    """Las palabras que el modelo ha visto al entrenar y el tokenizador parte; falla como ``read_model``."""
    try:
        return frozenset(json.loads((Path(folder) / "words.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        raise damaged(folder, "words.json") from None


def damaged(folder, why):
    """El error de unos archivos que no se pueden leer."""
    where = f"Los archivos del traductor, en {Path(folder).name}, faltan o están dañados"
    return TranslatorError(f"{where} ({why}). Vuelve a descargar el curso.")
