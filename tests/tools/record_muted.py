"""Graba lo que escribe Whisper con unas cabezas calladas: lo cuenta la lección 16.

    python tests/tools/record_muted.py CARPETA     la de los avisos, en WAV

Los avisos son los de ``asterisk-core-sounds-es`` 1.6.1, la carpeta ``es_MX_f_Allison``: con el curso vienen
tres. Se oyen, sin elegir, todos los que duran de 8 a 15 segundos y dicen diez palabras o más. Tarda unos
minutos, y escribe ``imagenes/muestras/calladas.json``: solo textos. De contarlos se ocupa la lección.
"""

import json
import random
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from course_lib.hearing import ALIGNMENT, RATE, load_whisper, read_sound, spectrogram, transcribe  # noqa: E402
from course_lib.probes.heads import hooked, saying  # noqa: E402

FILE = ROOT / "imagenes/muestras/calladas.json"
WAYS = {"zero": torch.zeros_like, "mean": lambda usual: usual}  # qué dicen, calladas: nada, o lo de siempre
SHORTEST, LONGEST, WORDS, DRAWS, TOKENS = 8, 15, 10, 4, 80


def drawn(seed):
    """Otras ocho cabezas: tantas en cada capa como las que siguen al sonido, y ninguna de ellas."""
    chance, found = random.Random(seed), []
    for layer in sorted({layer for layer, _ in ALIGNMENT}):
        own = [head for at, head in ALIGNMENT if at == layer]
        rest = [head for head in range(8) if head not in own]
        found += [(layer, head) for head in sorted(chance.sample(rest, len(own)))]
    return found


def changed(model, heads, says):
    """Esas cabezas de la cruzada dicen otra cosa: ``says(capa, cabeza, lo que dicen)``."""
    pairs = [
        saying(model.decoder_layers[layer].cross_attention, head, lambda said, at=(layer, head): says(*at, said))
        for layer, head in heads
    ]
    return hooked(*pairs)


def main(folder):
    torch.set_num_threads(1)
    model, tokenizer = load_whisper()
    encode = model.encode
    every = [(layer, head) for layer in range(6) for head in range(8)]
    sums, many = torch.zeros(6, 8, 64), torch.zeros(6, 8)

    def note(layer, head, said):
        sums[layer, head] += said.sum(dim=(0, 1))
        many[layer, head] += said.shape[1]
        return said

    def write(sound):
        return transcribe(model, tokenizer, sound, language="es", longest=TOKENS).text

    voices = []
    for path in sorted(Path(folder).glob("*.wav")):
        sound = read_sound(path)
        if not SHORTEST <= len(sound) / RATE <= LONGEST:
            continue
        with changed(model, every, note):
            text = write(sound)
        if len(text.split()) >= WORDS:
            voices.append((path.stem, sound, text))
            print(path.stem, text, flush=True)
    mean = sums / many[..., None]

    found = []
    for number, (name, sound, text) in enumerate(voices):
        heard = encode(spectrogram(sound))
        model.encode = lambda *_, heard=heard: heard
        others = [drawn(DRAWS * number + turn) for turn in range(DRAWS)]
        one = {"name": name, "text": text, "drawn": others}
        for way, says in WAYS.items():
            one[way] = []
            for heads in (ALIGNMENT, *others):
                with changed(model, heads, lambda layer, head, said, says=says: says(mean[layer, head]).expand_as(said)):
                    one[way].append(write(sound))
        found.append(one)
        print(json.dumps(one, ensure_ascii=False), flush=True)
    FILE.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
