"""Un modelo que escucha: un sonido es una frase, y la atención cruzada dice cuándo se dijo cada palabra.

Es Whisper: un Transformer con encoder y decoder, como el de la lección 9. Lo que entra en el encoder no
son tokens: son centésimas de segundo, que dos convoluciones juntan de dos en dos.

Fuente: Radford et al., «Robust Speech Recognition via Large-Scale Weak Supervision» (2022), §2.
"""

import math
import warnings
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.cache import DecoderCache
from course_lib.masks import causal_mask
from course_lib.model_files import ModelUnavailableError
from course_lib.model_files.folders import read_plain_tokenizer
from course_lib.model_files.senses import FOLDER, GET, sample_path, weights_of
from course_lib.model_files.weights import WithoutDraws
from course_lib.pre_norm import PreNormLayer

RATE, HOP, WINDOW, BANDS = 16_000, 160, 400, 80  # muestras por segundo, por paso y por ventana; bandas
SECONDS = 30  # lo que oye de una vez
FRAME = 0.02  # segundos de un vector del encoder
# Las cabezas de la atención cruzada de Whisper base que siguen al sonido: (capa, cabeza). Las publica
# quien lo entrenó, en la configuración del modelo.
ALIGNMENT = ((3, 1), (4, 2), (4, 3), (4, 7), (5, 1), (5, 2), (5, 4), (5, 6))


class Whisper(nn.Module):
    """Dos convoluciones y un encoder, que oyen, y un decoder que escribe. Con la atención del curso.

    Args:
        vocab_size, dim_embedding, heads: tokens, anchura del modelo, d_model, y cabezas, h.
        Nx: capas del encoder y, otras tantas, del decoder.
        positions, sounds: los tokens y los vectores de sonido que caben.
        bands: bandas del espectrograma.

    Fuente: Radford et al. (2022), §2.2.
    """

    def __init__(self, vocab_size, dim_embedding, heads, Nx, *, positions=448, sounds=1500, bands=BANDS):
        super().__init__()
        self.convolution_1 = nn.Conv1d(bands, dim_embedding, 3, padding=1)
        self.convolution_2 = nn.Conv1d(dim_embedding, dim_embedding, 3, stride=2, padding=1)
        self.sound_positions = nn.Parameter(torch.zeros(sounds, dim_embedding))
        self.encoder_layers = nn.ModuleList(PreNormLayer(heads, dim_embedding) for _ in range(Nx))
        self.encoder_normalization = nn.LayerNorm(dim_embedding)
        self.embedding = nn.Embedding(vocab_size, dim_embedding)
        self.positions = nn.Parameter(torch.zeros(positions, dim_embedding))
        self.decoder_layers = nn.ModuleList(PreNormLayer(heads, dim_embedding, cross=True) for _ in range(Nx))
        self.decoder_normalization = nn.LayerNorm(dim_embedding)

    def encode(self, sounds, need_weights=False):
        """Oye un lote de espectrogramas: (B, bandas, 2·L_E) → (B, L_E, d_model).

        Returns:
            ``(encoded, weights)``: los pesos, ``(B, h, L_E, L_E)`` de cada capa.
        """
        x = F.gelu(self.convolution_2(F.gelu(self.convolution_1(sounds))))  # (B, d_model, L_E)
        x, all_weights = x.transpose(1, 2) + self.sound_positions[: x.shape[-1]], []
        for layer in self.encoder_layers:
            x, (weights, _) = layer(x, need_weights=need_weights)
            all_weights.append(weights)
        return self.encoder_normalization(x), all_weights

    def forward(self, token_ids, encoded, cache=None):
        """Puntúa el token que viene después de cada uno.

        Args:
            token_ids: enteros ``(B, L)``; con ``cache``, solo los nuevos.
            encoded: lo oído, ``(B, L_E, d_model)``.
            cache: una ``DecoderCache``.

        Returns:
            ``(logits, cross)``: ``(B, L, vocab_size)`` y los pesos de la atención cruzada de cada capa,
            ``(B, Nx, h, L, L_E)``.
        """
        past, length = cache.length if cache else 0, token_ids.shape[1]
        x, all_weights = self.embedding(token_ids) + self.positions[past : past + length], []
        mask = causal_mask(past + length, x.device)[past:]
        for i, layer in enumerate(self.decoder_layers):
            kept = (cache.own[i], cache.cross[i]) if cache else (None, None)
            x, (_, cross) = layer(x, encoded, mask, True, kept)
            all_weights.append(cross)
        logits = self.decoder_normalization(x) @ self.embedding.weight.T  # la tabla, otra vez
        return logits, torch.stack(all_weights, dim=1)


class Heard(NamedTuple):
    """Lo que ha escrito Whisper, y adónde miraba al escribir cada token."""

    text: str
    language: str  # «es»
    tokens: list  # T trozos de texto, con sus espacios
    weights: torch.Tensor  # (Nx, h, T, L_E): de cada capa y cabeza de la cruzada; L_E, lo que dura el sonido
    probabilities: list  # T: la que dio a cada token que escribió

    def when(self, heads=ALIGNMENT):
        """Lo que mira cada token, media de esas cabezas: ``(T, L_E)``; cada columna son 0,02 segundos."""
        return torch.stack([self.weights[layer, head] for layer, head in heads]).mean(0)


@torch.inference_mode(False)  # lo que se carga se queda
def load_whisper():
    """Carga Whisper base, con la atención del curso.

    Returns:
        ``(model, tokenizer)``: un ``Whisper`` y un ``tokenizers.Tokenizer``.

    Raises:
        ModelUnavailableError: si falta; el mensaje dice cómo se pone.
    """
    weights, layers = weights_of("whisper")
    vocab_size, dim_embedding = weights["embedding.weight"].shape
    with WithoutDraws():
        model = Whisper(vocab_size, dim_embedding, dim_embedding // 64, layers)
    model.load_state_dict(weights, assign=True)
    return model.eval(), read_plain_tokenizer("Whisper", FOLDER)


def read_sound(path):
    """Lee un sonido: sus primeros 30 segundos, en un solo canal y a 16 000 muestras por segundo.

    No sale de este ordenador.

    Args:
        path: su archivo (WAV, FLAC, OGG o MP3), sus bytes en un archivo abierto o uno de los del curso:
            «servicio», «grabación», «espera».

    Returns:
        ``(n,)``, de −1 a 1.

    Raises:
        ModelUnavailableError: si falta lo que lee sonidos.
        ValueError: si no es un sonido, está vacío o no dice nada.

    Avisa con ``UserWarning`` si dura más de 30 segundos: no oye lo demás.
    """
    try:
        import soundfile
    except (ImportError, OSError):
        raise ModelUnavailableError(f"Falta lo que lee sonidos, soundfile. {GET}") from None
    name = getattr(path, "name", path)
    try:
        with soundfile.SoundFile(sample_path(path)) as file:
            rate, seconds = file.samplerate, file.frames / file.samplerate
            found = torch.from_numpy(file.read(SECONDS * rate, "float32", always_2d=True)).mean(dim=1)
    except (soundfile.SoundFileError, OSError, TypeError, ValueError):
        advice = "Prueba con un WAV o un MP3; lo que graba un móvil (M4A) se convierte antes."
        raise ValueError(f"read_sound: «{name}» no es un sonido que se pueda leer. {advice}") from None
    if seconds > SECONDS:
        warnings.warn(f"«{name}» dura {seconds:.0f} segundos y se oyen los {SECONDS} primeros.", stacklevel=2)
    found = found.nan_to_num(0.0, 0.0, 0.0)
    if not len(found) or found.abs().max() < 1e-4:
        raise ValueError(f"read_sound: en «{name}» no se oye nada. ¿Estaba abierto el micrófono?")
    return resample(found, rate)


def resample(sound, rate):
    """Cambia las muestras por segundo, de ``rate`` a 16 000, sin inventar agudos: (m,) → (n,)."""
    wanted = max(1, round(len(sound) * RATE / rate))
    spectrum = torch.fft.rfft(sound.double())[: wanted // 2 + 1]
    return (torch.fft.irfft(spectrum, wanted) * (wanted / len(sound))).float()


def spectrogram(sound):
    """Cuánto suena cada banda en cada centésima de segundo, en logaritmos: (n,) → (1, 80, 3000).

    El sonido se alarga con silencio hasta 30 segundos, que es lo que Whisper oye.

    Args:
        sound: ``(n,)``, a 16 000 muestras por segundo, como lo da ``read_sound``.

    Raises:
        ValueError: si no es un sonido de un solo canal.
    """
    if not (isinstance(sound, torch.Tensor) and sound.dim() == 1 and sound.is_floating_point()):
        shape = tuple(sound.shape) if isinstance(sound, torch.Tensor) else type(sound).__name__
        raise ValueError(f"spectrogram: sound es {shape} y tiene que ser un tensor (n,) con decimales. Usa read_sound.")
    from transformers.audio_utils import mel_filter_bank

    sound = F.pad(sound[: SECONDS * RATE], (0, max(0, SECONDS * RATE - len(sound))))
    waves = torch.stft(sound, WINDOW, HOP, window=torch.hann_window(WINDOW), return_complex=True)
    triangles = mel_filter_bank(WINDOW // 2 + 1, BANDS, 0, RATE / 2, RATE, "slaney", "slaney")  # (201, bandas)
    energy = torch.from_numpy(triangles.T).float() @ waves[:, :-1].abs() ** 2  # (bandas, 3000)
    loudness = energy.clamp(min=1e-10).log10()
    return ((loudness.maximum(loudness.max() - 8) + 4) / 4)[None]


@torch.inference_mode()
def transcribe(model, tokenizer, sound, *, language=None, translate=False, longest=200):
    """Escribe lo que oye, token a token, y guarda adónde miraba.

    Args:
        model, tokenizer: los de ``load_whisper``.
        sound: ``(n,)``, como lo da ``read_sound``.
        language: en qué se habla, «es»; por defecto, lo adivina.
        translate: si lo escribe en inglés.
        longest: tokens que escribe, como mucho.

    Returns:
        Un ``Heard``.

    Raises:
        ValueError: si no conoce esa lengua.
    """
    start, end, first = (tokenizer.token_to_id(f"<|{one}|>") for one in ("startoftranscript", "endoftext", "en"))
    encoded, _ = model.encode(spectrogram(sound))
    if language is None:  # de las que siguen a «empieza», la más probable
        scores = model(torch.tensor([[start]]), encoded)[0][0, -1]
        last = tokenizer.token_to_id("<|translate|>")
        language = tokenizer.id_to_token(first + int(scores[first:last].argmax()))[2:-2]
    spoken = tokenizer.token_to_id(f"<|{language}|>")
    if spoken is None:
        raise ValueError(f"transcribe: language = {language!r} y Whisper no la conoce. Usa sus dos letras: «es».")
    task = tokenizer.token_to_id("<|translate|>" if translate else "<|transcribe|>")
    new = [start, spoken, task, tokenizer.token_to_id("<|notimestamps|>")]
    cache = DecoderCache(len(model.decoder_layers))
    ids, weights, probabilities = [], [], []
    while len(ids) < longest:
        logits, cross = model(torch.tensor([new]), encoded, cache)
        scores = logits[0, -1]
        token = int(scores.argmax())
        if token == end:
            break
        probabilities.append(scores.softmax(-1)[token].item())
        ids, new, weights = [*ids, token], [token], [*weights, cross[0, :, :, -1]]
    frames = min(encoded.shape[1], math.ceil(len(sound) / RATE / FRAME))
    layers, heads = len(model.decoder_layers), model.decoder_layers[0].cross_attention.heads
    seen = torch.stack(weights, dim=2)[..., :frames] if weights else torch.zeros(layers, heads, 0, frames)
    return Heard(tokenizer.decode(ids).strip(), language, [tokenizer.decode([one]) for one in ids], seen, probabilities)
