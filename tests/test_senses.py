"""Los modelos que miran y escuchan: los de transformers, con sus pesos copiados, dicen lo mismo."""

import io
import struct
import warnings
import wave
from itertools import pairwise

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import (
    Dinov2Config, Dinov2Model, WhisperConfig, WhisperFeatureExtractor, WhisperForConditionalGeneration,
)  # fmt: skip

from course_lib.attention import MultiHeadAttention
from course_lib.cache import DecoderCache
from course_lib.hearing import (
    ALIGNMENT, RATE, Whisper, load_whisper, read_sound, resample, spectrogram, transcribe,
)  # fmt: skip
from course_lib.model_files import ModelUnavailableError, senses
from course_lib.model_files.senses import sealed
from course_lib.probes.heads import without_heads
from course_lib.seeing import VisionTransformer, load_vision, read_picture
from course_tools.senses import write

SMALL = {"vocab_size": 77, "d_model": 24, "num_mel_bins": 5, "max_source_positions": 11, "max_target_positions": 9,
         "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
         "attn_implementation": "eager"}  # fmt: skip
SMALL |= {f"{side}_{what}": n for side in ("encoder", "decoder")
          for what, n in (("layers", 2), ("attention_heads", 3), ("ffn_dim", 96))}  # fmt: skip
lenta = pytest.mark.lenta
with_models = pytest.mark.skipif(
    not all(map(sealed, ("whisper", "dinov2"))), reason="sin «python curso.py abrir --ver-y-oir»"
)


@pytest.fixture(scope="module")
def whisper():
    torch.manual_seed(3)
    theirs = WhisperForConditionalGeneration(WhisperConfig(**SMALL)).eval()
    for tensor in theirs.parameters():
        torch.nn.init.normal_(tensor, std=0.3)
    ours = Whisper(77, 24, 3, 2, positions=9, sounds=11, bands=5)
    ours.load_state_dict(write.course_names(theirs.state_dict()))
    return theirs, ours.eval()


@torch.no_grad()
def test_whisper_says_what_that_of_transformers_says_layer_by_layer(whisper):
    theirs, ours = whisper
    sounds, ids = torch.randn(2, 5, 22), torch.randint(77, (2, 7))
    found = theirs(sounds, decoder_input_ids=ids, output_attentions=True)
    encoded, heard = ours.encode(sounds, need_weights=True)
    logits, cross = ours(ids, encoded)
    torch.testing.assert_close(encoded, found.encoder_last_hidden_state, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(logits, found.logits, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(heard, list(found.encoder_attentions))
    torch.testing.assert_close(cross, torch.stack(found.cross_attentions, dim=1))
    assert cross.shape == (2, 2, 3, 7, 11)


@torch.no_grad()
def test_whisper_writes_the_same_with_its_memory(whisper):
    ours, ids = whisper[1], torch.randint(77, (2, 7))
    encoded, _ = ours.encode(torch.randn(2, 5, 22))
    whole, cross = ours(ids, encoded)
    cache, parts = DecoderCache(2), []
    for start, end in pairwise((0, 4, 5, 7)):
        parts.append(ours(ids[:, start:end], encoded, cache))
    torch.testing.assert_close(torch.cat([logits for logits, _ in parts], dim=1), whole)
    torch.testing.assert_close(torch.cat([weights for _, weights in parts], dim=3), cross)


@pytest.fixture(scope="module")
def vision():
    torch.manual_seed(5)
    config = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "image_size": 35, "patch_size": 7}
    theirs = Dinov2Model(Dinov2Config(**config, attn_implementation="eager")).eval()
    for tensor in theirs.parameters():
        torch.nn.init.normal_(tensor, std=0.3)
    ours = VisionTransformer(3, 24, 2, patch=7, places=5)
    ours.load_state_dict(write.course_names(theirs.state_dict()))
    return theirs, ours.eval()


@torch.no_grad()
@pytest.mark.parametrize(("height", "width"), [(35, 35), (28, 42), (7, 14)])
def test_vision_says_what_that_of_transformers_says(vision, height, width):
    theirs, ours = vision
    pictures = torch.rand(2, 3, height, width)
    found = theirs((pictures - ours.mean) / ours.spread, output_attentions=True, output_hidden_states=True)
    output, weights = ours(pictures)
    torch.testing.assert_close(output, found.hidden_states[-1], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(weights, list(found.attentions), atol=1e-5, rtol=1e-4)
    assert ours(pictures, need_weights=False)[1] is None


def test_a_patch_is_a_square_and_they_go_by_rows(vision):
    pictures = torch.arange(2 * 3 * 14 * 21.0).reshape(2, 3, 14, 21)
    patches = vision[1].patches(pictures)
    assert patches.shape == (2, 6, 147)
    torch.testing.assert_close(patches[1, 4].reshape(3, 7, 7), pictures[1, :, 7:14, 7:14])


@pytest.mark.parametrize("shape", [(3, 28, 28), (1, 1, 28, 28), (1, 3, 28, 30)])
def test_vision_says_which_shape_it_wants(vision, shape):
    with pytest.raises(ValueError, match=r"pictures tiene forma .* y tiene que ser \(B, 3, H, W\)"):
        vision[1](torch.zeros(shape))


def test_the_attention_of_both_is_that_of_the_course(whisper, vision):
    many = [sum(type(part) is MultiHeadAttention for part in model.modules()) for model in (whisper[1], vision[1])]
    assert many == [2 + 2 * 2, 2]


def test_the_spectrogram_is_that_of_whisper():
    seconds = torch.arange(3 * RATE) / RATE
    sound = 0.4 * torch.sin(2 * torch.pi * 440 * seconds) + 0.1 * torch.sin(2 * torch.pi * 3100 * seconds**2)
    reference = WhisperFeatureExtractor()(sound.numpy(), sampling_rate=RATE, return_tensors="np")
    found = spectrogram(sound)
    torch.testing.assert_close(found, torch.tensor(reference.input_features), atol=1e-4, rtol=0)
    assert found.shape == (1, 80, 3000)
    with pytest.raises(ValueError, match="Usa read_sound"):
        spectrogram(sound[None])


@pytest.mark.parametrize("rate", [8000, 44_100])
def test_a_tone_is_the_same_tone_at_another_rate(rate):
    tone = [torch.sin(2 * torch.pi * 440 * torch.arange(2 * one) / one) for one in (rate, RATE)]
    torch.testing.assert_close(resample(tone[0], rate)[900:-900], tone[1][900:-900], atol=2e-3, rtol=0)


def picture(mode="RGB", size=(60, 40), kind="PNG", **options):
    """Un archivo con una fotografía: media roja y media azul."""
    image = Image.new("RGB", size, "red")
    image.paste("blue", (0, 0, size[0], size[1] // 2))
    file = io.BytesIO()
    image.convert(mode).save(file, kind, **options)
    file.seek(0)
    return file


TURNED = Image.Exif()
TURNED[0x0112] = 3  # del revés


@pytest.mark.parametrize(
    ("file", "top"),
    [
        (picture(), "blue"), (picture("CMYK", kind="JPEG"), "blue"), (picture("P", kind="GIF"), "blue"),
        (picture("L"), "grey"), (picture("RGBA", kind="WEBP"), "blue"), (picture(kind="JPEG", exif=TURNED), "red"),
        (picture("P", kind="GIF", save_all=True, append_images=[Image.new("P", (60, 40))]), "blue"),
        (picture(size=(6000, 4000), kind="JPEG"), "blue"),
    ],
)  # fmt: skip
def test_a_picture_of_any_kind_is_read_upright_and_in_colour(file, top):
    numbers = read_picture(file, 28)
    assert numbers.shape == (1, 3, 28, 28)
    assert 0 <= numbers.min() <= numbers.max() <= 1
    red, _, blue = numbers[0, :, 3, 14]
    assert {"blue": blue > red + 0.5, "red": red > blue + 0.5, "grey": red == blue}[top]


def test_the_pictures_of_the_course_are_read_by_their_name():
    seen = [read_picture(name).mean().item() for name in ("gata", "astronauta", "café", "cohete", "hopper")]
    assert len(set(seen)) == 5


def test_what_is_transparent_is_read_white():
    file = io.BytesIO()
    Image.new("RGBA", (20, 20), (0, 0, 0, 0)).save(file, "PNG")
    assert read_picture(file).min() == 1


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("no_esta.png", "no está ahí"), (io.BytesIO(b"hola"), "no es una fotografía"), (".", "no es una fotografía"),
        (picture(size=(1, 1)), "mide 1 × 1 píxeles"), (picture("1", size=(12_000, 12_000)), "12000 × 12000 píxeles"),
        (picture("1", size=(14_000, 14_000)), "demasiados píxeles"),
        (None, "no es una fotografía"),
    ],
)  # fmt: skip
def test_what_is_not_a_picture_is_said(file, reason):
    with pytest.raises(ValueError, match=reason):
        read_picture(file)


def ctranslate2(tensors, version=6, spec=b"WhisperSpec"):
    """Un archivo de CTranslate2, escrito aquí con lo que dice su documentación."""
    def text(one):
        return struct.pack("<H", len(one) + 1) + one + b"\0"

    data = struct.pack("<I", version) + text(spec) + struct.pack("<II", 3, len(tensors))
    for name, numbers in tensors.items():
        kind = {"float32": 0, "int8": 1, "float16": 4}[str(numbers.dtype)]
        data += text(name.encode()) + struct.pack(f"<B{numbers.ndim}I", numbers.ndim, *numbers.shape)
        data += struct.pack("<BI", kind, numbers.nbytes) + numbers.tobytes()
    return data + struct.pack("<I", 0)


def test_the_matrices_that_are_packed_are_taken_apart():
    rows = np.arange(12 * 4, dtype="float16").reshape(12, 4)
    stem = "decoder/layer_10/{}attention/linear_{}/weight"
    named = write.whisper_tensors(ctranslate2({
        "decoder/num_heads": np.array(3, dtype="int8"), stem.format("self_", 0): rows, stem.format("", 0): rows[:4],
        stem.format("", 1): rows[:8], "encoder/layer_norm/gamma": rows[0],
        "decoder/layer_2/ffn/layer_norm/beta": rows[0],
    }))  # fmt: skip
    layer = "model.decoder.layers.10."
    parts = {f"{layer}self_attn.{one}_proj.weight": rows[4 * i : 4 * i + 4] for i, one in enumerate("qkv")}
    parts |= {f"{layer}encoder_attn.{one}_proj.weight": rows[at : at + 4] for one, at in (("q", 0), ("k", 0), ("v", 4))}
    parts |= {"model.encoder.layer_norm.weight": rows[0], "model.decoder.layers.2.final_layer_norm.bias": rows[0]}
    assert named.keys() == parts.keys()
    for name, numbers in parts.items():
        np.testing.assert_array_equal(named[name], numbers)
    with pytest.raises(ModelUnavailableError, match="versión 7"):
        write.read_ctranslate2(ctranslate2({}, version=7))


def test_without_the_models_it_says_how_to_get_them(monkeypatch, tmp_path):
    monkeypatch.setattr(senses, "FOLDER", tmp_path)
    for load in (load_vision, load_whisper):
        with pytest.raises(ModelUnavailableError, match="abrir --ver-y-oir"):
            load()
    for part in (*write.PARTS, write.TOKENIZER, write.ONNX):
        tmp_path.joinpath(part).parent.mkdir(parents=True, exist_ok=True)
        tmp_path.joinpath(part).write_bytes(b"otro")
    with pytest.raises(ModelUnavailableError, match="no son los originales.*whisper, tokenizer, dinov2"):
        write.write(tmp_path)


def test_without_the_packages_they_come_from_who_trained_them(vision, whisper, monkeypatch, tmp_path):
    folders = {}
    for kind, model in zip(write.HUB, (whisper[0], vision[0])):
        folders[kind] = tmp_path / kind.model_type
        model.save_pretrained(folders[kind])
    folders[write.HUB[0]].joinpath("tokenizer.json").write_text("{}")
    monkeypatch.setattr(write, "hub_folder", lambda name, kind: folders[kind])
    for module in (write, senses):
        monkeypatch.setattr(module, "FOLDER", tmp_path / "ver-y-oir")
    write.write(tmp_path)
    for name, model in (("dinov2", vision[1]), ("whisper", whisper[1])):
        found, layers = senses.weights_of(name)
        assert layers == 2
        torch.testing.assert_close(found, dict(model.state_dict()), atol=1e-3, rtol=1e-3)
    tmp_path.joinpath("ver-y-oir/whisper.safetensors").write_bytes(b"otro")
    with pytest.raises(ModelUnavailableError, match="dañado"):
        senses.weights_of("whisper")


# --- Con los modelos de verdad ----------------------------------------------------------------------


def sound(seconds=2.0, rate=RATE, channels=1, tone=440.0):
    """Un WAV con un tono."""
    file = io.BytesIO()
    numbers = (9000 * np.sin(2 * np.pi * tone * np.arange(int(seconds * rate)) / rate)).astype("<i2")
    with wave.open(file, "wb") as out:
        out.setnchannels(channels)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(np.repeat(numbers, channels).tobytes())
    file.seek(0)
    return file


@lenta
@with_models
def test_a_sound_of_any_kind_is_read_and_what_is_not_one_is_said():
    for rate, channels in ((8000, 1), (44_100, 2)):
        found = read_sound(sound(rate=rate, channels=channels))
        assert found.shape == (2 * RATE,)
    with pytest.warns(UserWarning, match="dura 31 segundos"):
        assert len(read_sound(sound(31, 8000))) == 30 * RATE
    for file in (io.BytesIO(b"hola"), "no_esta.wav", picture()):
        with pytest.raises(ValueError, match="no es un sonido"):
            read_sound(file)
    for file in (sound(0), sound(tone=0)):
        with pytest.raises(ValueError, match="no se oye nada"):
            read_sound(file)


@lenta
@with_models
@torch.no_grad()
def test_dinov2_says_what_its_onnx_says():
    """Los números son de onnxruntime 1.32, con el archivo del paquete y esta misma fotografía."""
    y, x = torch.meshgrid(torch.arange(224.0), torch.arange(224.0), indexing="ij")
    output, weights = load_vision()(torch.stack([x / 224, y / 224, (x // 28 + y // 28) % 2])[None])
    said = [0.1716985, 0.1670440, 3.3147407, 0.6709933, -0.2493833, 1.8342823, 1.0843930, 0.2205939, 2.3409550]
    torch.testing.assert_close(output[0, [0, 7, 256], :3].flatten(), torch.tensor(said), atol=1e-4, rtol=0)
    seen = torch.tensor([0.0012044110, 0.0023881404])
    torch.testing.assert_close(weights[-1][0, [0, 5], [0, 100], [3, 200]], seen, atol=1e-6, rtol=0)


@lenta
@with_models
def test_whisper_writes_what_that_of_transformers_writes():
    model, tokenizer = load_whisper()
    same = {"encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 8, "decoder_attention_heads": 8}
    config = WhisperConfig(vocab_size=51_865, d_model=512, encoder_ffn_dim=2048, decoder_ffn_dim=2048, **same)
    theirs = WhisperForConditionalGeneration(config).eval()
    back = {}
    for name in theirs.state_dict():
        ours = next(iter(write.course_names({name: torch.zeros(1)})), None)  # una de las suyas no tiene igual
        back[name] = model.state_dict()[ours or "embedding.weight"]
    theirs.load_state_dict(back)
    clip = torch.randn(3 * RATE, generator=torch.Generator().manual_seed(1)) * 0.1
    heard = transcribe(model, tokenizer, clip, language="es", longest=20)
    start = [tokenizer.token_to_id(f"<|{one}|>") for one in ("startoftranscript", "es", "transcribe", "notimestamps")]
    ids = torch.tensor([start])
    with torch.no_grad():
        for _ in heard.tokens:
            logits = theirs(spectrogram(clip), decoder_input_ids=ids).logits
            ids = torch.cat([ids, logits[:, -1:].argmax(-1)], dim=1)
        mine, _ = model(ids, model.encode(spectrogram(clip))[0])
    torch.testing.assert_close(mine, theirs(spectrogram(clip), decoder_input_ids=ids).logits, atol=1e-3, rtol=0)
    assert tokenizer.decode(ids[0].tolist()).strip() == heard.text


@lenta
@with_models
def test_the_weights_of_what_is_written_are_of_the_sound():
    model, tokenizer = load_whisper()
    clip = read_sound(sound(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        heard = transcribe(model, tokenizer, clip, language="es", longest=5)
    assert heard.weights.shape == (6, 8, len(heard.tokens), 100)
    spoken = transcribe(model, tokenizer, read_sound("servicio"))
    assert (spoken.language, spoken.text[:29]) == ("es", "El número que usted ha marcad")
    where = spoken.when().argmax(-1)  # cada palabra, después de la anterior
    assert (where[2:].diff() >= -2).float().mean() > 0.9
    assert heard.when().shape == (len(heard.tokens), 100)
    with pytest.raises(ValueError, match="Whisper no la conoce"):
        transcribe(model, tokenizer, clip, language="xx")
    silenced = [(model.decoder_layers[layer].cross_attention, head) for layer, head in ALIGNMENT]
    with without_heads(*silenced):
        assert transcribe(model, tokenizer, clip, language="es", longest=5).weights.shape[:2] == (6, 8)
