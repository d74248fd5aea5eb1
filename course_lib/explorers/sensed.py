"""Lo que mira o escucha un explorador: qué se dibuja, y a qué atiende cada trozo o cada token."""

import base64
import io
import math
import re
import zlib
from functools import lru_cache
from pathlib import Path

import torch
import torch.nn.functional as F

from course_lib.explorers.declared import refusal
from course_lib.explorers.typed import with_warnings
from course_lib.model_files import ModelUnavailableError

COLUMNS, CELLS = 400, 18_000  # en que se reparte un sonido, como mucho; y, por todos sus tokens
HEARABLE = 45_000  # bytes del MP3: en base 64, 60 kB
QUALITIES = (("VARIABLE", 0.5), ("CONSTANT", 0.9), ("CONSTANT", 0.97))  # el primero que cabe


loaded = lru_cache(maxsize=1)(lambda load: load())  # el último modelo: con dos a la vez, no hay sitio


def read(sense, source):
    """Mira o escucha, con ``look`` o ``hear``: lo que dan, con su nombre y sus tamaños, ``(Nx, h, L)``.

    Raises:
        traitlets.TraitError: si no se puede; dice por qué.
    """
    if isinstance(source, bytes):
        source = io.BytesIO(source)
        source.name = "lo que has dado"
    try:
        data, rest, seen = sense(source)
    except (ModelUnavailableError, ValueError) as problem:
        raise refusal("SeeExplorer", re.sub(r"^\w+: ", "", str(problem))) from None
    name = Path(str(getattr(source, "name", source))).name
    return data | {"name": name, "sizes": list(rest.shape)}, rest, seen


def look(source):
    """Mira una fotografía. Devuelve lo que se dibuja; y lo que cada trozo mira al principio y a cada uno."""
    from course_lib.seeing import load_vision, read_picture

    picture = read_picture(source)
    with torch.no_grad():
        weights = torch.stack(loaded(load_vision)(picture)[1])[:, 0, :, 1:]  # (Nx, h, L, 1 + L)
    data = {"image": jpeg(picture[0].permute(1, 2, 0)), "side": math.isqrt(weights.shape[2])}
    return data, weights[..., 0], weights[..., 1:]


def hear(source):
    """Oye un sonido. Devuelve lo que se dibuja; y lo que cada token mira al silencio y a cada columna."""
    from course_lib.hearing import ALIGNMENT, FRAME, load_whisper, read_sound, spectrogram, transcribe

    sound, notes = with_warnings(read_sound, source, UserWarning)
    heard = transcribe(*loaded(load_whisper), sound)
    if not heard.tokens:
        raise ValueError("no se oye ninguna palabra. Prueba más cerca del micrófono.")
    step = math.ceil(heard.weights.shape[-1] / min(COLUMNS, CELLS // len(heard.tokens)))
    seen = F.pad(heard.weights, (0, -heard.weights.shape[-1] % step)).unflatten(-1, (-1, step)).sum(-1)
    loud = spectrogram(sound)[0, :, : 2 * step * seen.shape[-1]].flip(0)  # los graves, abajo
    data = {
        "image": jpeg((loud.max() - loud) / (loud.max() - loud.min())), "audio": mp3(sound),
        "tokens": heard.tokens, "when": [round(FRAME * i, 2) for i in heard.when().argmax(-1).tolist()],
        "columns": seen.shape[-1], "step": step * FRAME, "following": [list(pair) for pair in ALIGNMENT],
        "notes": [str(note) for note in notes],
    }  # fmt: skip
    return data, 1 - heard.weights.sum(-1), seen


def jpeg(pixels):
    """Unos píxeles, de 0 a 1, ``(H, W)`` o ``(H, W, 3)``, como una imagen de la página."""
    from PIL import Image

    file = io.BytesIO()
    image = Image.fromarray((255 * pixels).round().byte().numpy())
    image.resize((min(image.width, 900), image.height)).save(file, "JPEG", quality=80, optimize=True)
    return address("image/jpeg", file)


def mp3(sound):
    """Lo que ha oído el modelo, ``(n,)``, como un sonido de la página."""
    import soundfile

    for mode, level in QUALITIES:
        file, options = io.BytesIO(), {"bitrate_mode": mode, "compression_level": level}
        soundfile.write(file, sound.numpy(), 16_000, format="MP3", subtype="MPEG_LAYER_III", **options)
        if len(file.getvalue()) <= HEARABLE:
            break
    return address("audio/mpeg", file)


def address(kind, file):
    return f"data:{kind};base64,{base64.b64encode(file.getvalue()).decode()}"


def packed(rest, seen, heads, rows):
    """Unos pesos para el viaje a la página, comprimidos: de cada fila, lo de fuera y el mayor, en
    16 bits; y todos, en 8, a la escala del mayor.

    Args:
        rest: ``(Nx, h, L)``, lo que cada fila mira fuera de lo que se dibuja.
        seen: ``(Nx, h, L, C)``, lo demás: cada fila, con lo de fuera, suma 1.
        heads: los pares [capa, cabeza] que viajan.
        rows: las filas que viajan.
    """
    rest, seen = (torch.stack([one[layer, head] for layer, head in heads])[:, rows] for one in (rest, seen))
    most = seen.amax(-1)
    shades = (255 * seen / most.clamp(min=1e-9)[..., None]).round()
    sizes = (65_535 * torch.stack([rest, most], dim=-1).clamp(0, 1)).round()
    whole = torch.cat([sizes // 256, sizes % 256, shades], dim=-1).numpy().astype("uint8")
    numbers = base64.b64encode(zlib.compress(whole.tobytes(), 9)).decode()
    return {"heads": heads, "rows": rows, "numbers": numbers}
