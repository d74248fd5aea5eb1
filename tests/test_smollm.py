"""SmolLM2, el LLM del curso: que sea el de transformers, que se lea rápido y sin copias, y qué se dice si falta."""

import json
import os
import shutil
import subprocess
import sys
import warnings
from functools import partial
from types import SimpleNamespace

import gguf
import numpy as np
import pytest
import torch
import transformers
from answers.misbuilt import SPOILED
from helpers import cut_network

from course_checkers.lessons import l14_questions
from course_lib import load_llama
from course_lib.llama import encode
from course_lib.masks import causal_mask
from course_lib.model_files import ModelUnavailableError, smollm
from course_lib.sampling import generate
from course_tools import download_models, write_smollm

PROMPT = "The capital of France is"


@pytest.fixture(scope="module")
def smol():
    return load_llama()


@pytest.fixture
def apart(monkeypatch, tmp_path):
    """Ni paquete ni carpeta; al acabar vuelven los de verdad."""
    folder = tmp_path / "share" / "SmolLM2"
    for module in (smollm, write_smollm):
        monkeypatch.setattr(module, "FOLDER", folder)
    monkeypatch.setattr(write_smollm, "find_spec", lambda name: None)
    monkeypatch.delenv("CURSO_LLAMA", raising=False)
    smollm.smollm_folder.cache_clear()
    yield folder
    smollm.smollm_folder.cache_clear()


def package(monkeypatch, folder, data):
    """Un paquete con esos bytes en lugar del GGUF."""
    folder.mkdir()
    (folder / write_smollm.GGUF).write_bytes(data)
    spec = SimpleNamespace(origin=str(folder / "__init__.py"))
    monkeypatch.setattr(write_smollm, "find_spec", lambda name: spec)


# --- Es el de transformers ------------------------------------------------------------------------


@torch.no_grad()
def test_the_same_numbers_layer_by_layer(smol):
    """Los estados, los pesos y los logits, a menos de 1e-4, con los mismos archivos."""
    model, tokenizer = smol
    theirs = transformers.LlamaForCausalLM.from_pretrained(
        smollm.smollm_folder(), attn_implementation="eager", dtype=torch.float32
    ).eval()
    ids = encode(tokenizer, f"I gave the dog a bone because it was hungry. {PROMPT}")
    logits, weights = model(ids, need_weights=True)
    expected = theirs(ids, output_hidden_states=True, output_attentions=True)
    assert (logits - expected.logits).abs().max() < 1e-4
    x, mask = model.embedding(ids), causal_mask(ids.shape[1])
    for number, layer in enumerate(model.layers):
        x, _ = layer(x, mask)
        assert (weights[number] - expected.attentions[number]).abs().max() < 1e-4
        if number + 1 < len(model.layers):  # el último, transformers lo da normalizado
            assert (x - expected.hidden_states[number + 1]).abs().max() < 2e-4, number


@pytest.mark.lenta
@pytest.mark.parametrize("name", ["", *l14_questions.MISBUILT])
def test_each_text_of_14_4_is_what_that_model_writes(smol, monkeypatch, name):
    model, tokenizer = smol
    ids = encode(tokenizer, l14_questions.PROMPT)
    for place, attribute, value in SPOILED[name](model) if name else ():
        bound = isinstance(place, torch.nn.Module) and callable(value)
        monkeypatch.setattr(place, attribute, partial(value, place) if bound else value)
    if name:
        written = generate(model, ids, l14_questions.LONGEST, cache=False)
    else:  # el bueno, con otro código
        theirs = transformers.LlamaForCausalLM.from_pretrained(smollm.smollm_folder())
        written = theirs.generate(ids, max_new_tokens=l14_questions.LONGEST, do_sample=False)[:, ids.shape[1] :]
    expected = l14_questions.MISBUILT.get(name, l14_questions.RIGHT)
    assert tokenizer.decode(written[0].tolist()) == expected


@pytest.mark.parametrize("text", [PROMPT, " 1234 ñandú\n\n¿y 😀?\ttab", "<|im_start|>user\nHi<|im_end|>\n"])
def test_the_tokens_are_those_of_transformers_and_come_back(smol, text):
    _, tokenizer = smol
    theirs = transformers.AutoTokenizer.from_pretrained(smollm.smollm_folder())
    ids = encode(tokenizer, text)[0].tolist()
    assert ids == theirs(text).input_ids
    assert tokenizer.decode(ids, skip_special_tokens=False) == text


def test_four_bits_by_hand():
    """``gguf.dequantize`` da lo que dice el formato: escala y mínimo en 16 bits y 32 números de 4 bits."""
    tensors = gguf.GGUFReader(write_smollm.gguf_file()).tensors
    tensor = next(one for one in tensors if one.name == "blk.3.attn_k.weight")
    blocks = np.asarray(tensor.data).reshape(-1, 20)
    scale, low = (blocks[:, at : at + 2].copy().view(np.float16).astype(np.float32) for at in (0, 2))
    digits = np.concatenate([blocks[:, 4:] & 15, blocks[:, 4:] >> 4], axis=1)
    ours = (scale * digits + low).reshape(192, 576)
    assert np.array_equal(ours, gguf.dequantize(tensor.data, tensor.tensor_type))
    model, _ = load_llama()
    rows = torch.from_numpy(ours).unflatten(0, (3, 32, 2)).transpose(1, 2).flatten(0, 2)
    assert torch.equal(model.layers[3].attention.key_projection.weight, rows)


# --- Se lee deprisa y sin copias ------------------------------------------------------------------


@pytest.mark.lenta
@pytest.mark.skipif(sys.platform != "linux", reason="lo cuenta /proc")
def test_its_pages_are_those_of_the_file():
    """Un kernel con él escribe en menos de 900 MiB, y más de la mitad es del archivo, que se comparte."""
    code = (
        "from course_lib import load_llama, generate\n"
        "from course_lib.llama import encode\n"
        "model, tokenizer = load_llama()\n"
        f"generate(model, encode(tokenizer, {PROMPT!r}), 3)\n"
        "print(open('/proc/self/status').read())"
    )
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    found = dict(line.split(":\t") for line in done.stdout.splitlines() if line.startswith("Rss"))
    own, shared = (int(found[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile"))
    assert shared > 500
    assert own + shared < 900


# --- Lo que puede faltar --------------------------------------------------------------------------


def test_without_it_one_sentence(apart):
    with pytest.raises(ModelUnavailableError, match=r"^Falta el LLM.*curso\.py abrir.*el resto del curso"):
        load_llama()
    with pytest.raises(ModelUnavailableError, match="Falta el LLM"):
        write_smollm.gguf_file()


@pytest.mark.parametrize("data", [b"", b"GGUF" + bytes(100)])
def test_another_file_is_not_read(apart, monkeypatch, tmp_path, data):
    package(monkeypatch, tmp_path / "paquete", data)
    cut_network(monkeypatch)
    with pytest.raises(ModelUnavailableError, match=f"{write_smollm.GGUF}, está dañado"):
        write_smollm.gguf_file()
    assert "comprueba la conexión" in download_models.smollm()
    assert not apart.exists()


@pytest.mark.lenta  # lo escribe entero dos veces
def test_it_is_written_once_and_mended_if_it_breaks(apart, monkeypatch):
    monkeypatch.undo()
    path = write_smollm.gguf_file()
    shutil.copytree(smollm.FOLDER, apart)  # como se escribió al instalar
    for module in (smollm, write_smollm):
        monkeypatch.setattr(module, "FOLDER", apart)
    weights = apart / "model.safetensors"
    written = weights.stat().st_mtime_ns
    assert download_models.smollm() is None and weights.stat().st_mtime_ns == written
    with weights.open("r+b") as file:
        file.truncate(1000)
    smollm.smollm_folder.cache_clear()
    with pytest.raises(ModelUnavailableError, match="Los pesos de SmolLM2 están dañados"):
        smollm.smollm_folder()
    assert download_models.smollm() is None
    assert smollm.smollm_folder() == apart and path.is_file()
    assert [one.name for one in apart.parent.iterdir()] == [apart.name]


def test_no_room(apart, monkeypatch, tmp_path):
    usage = SimpleNamespace(free=10**8)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    with pytest.raises(ModelUnavailableError, match=r"libera 0\.7 GB"):
        write_smollm.write_smollm(tmp_path)


def test_from_the_hub_it_is_written_alike(apart, tmp_path):
    """Lo descargado, en 16 bits y con otra configuración, se escribe en 32 y se lee igual."""
    source = tmp_path / "hub"
    torch.manual_seed(0)
    sizes = {
        "vocab_size": 49152, "hidden_size": 8, "intermediate_size": 6, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 1, "tie_word_embeddings": True,
    }  # fmt: skip
    small = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes))
    small.to(torch.bfloat16).save_pretrained(source)
    told = json.loads((source / "config.json").read_text())
    told["rope_theta"] = told.pop("rope_parameters")["rope_theta"]  # como se publicó
    (source / "config.json").write_text(json.dumps(told))
    real = smollm.FOLDER.__class__(sys.prefix, "share", "atencion-paso-a-paso", "SmolLM2-135M-Instruct")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(real / name, source)
    write_smollm.write_smollm(source)
    model, tokenizer = load_llama()
    ids = encode(tokenizer, PROMPT)
    with torch.no_grad():
        expected = small.float().eval()(ids).logits
        assert (model(ids)[0] - expected).abs().max() < 1e-4
    assert model.output_projection.weight is model.embedding.table.weight


@pytest.mark.parametrize(("text", "error", "said"), [
    ("", ValueError, "está vacío"),
    ("medio \ud83d", ValueError, "carácter roto"),
    (None, TypeError, "text = None"),
    (b"Hello", TypeError, "text = b'Hello'.* Usa .decode"),
    ("dog " * 5000, ValueError, r"tiene 50\d\d tokens y aquí caben 2048"),
])  # fmt: skip
def test_what_cannot_be_read(smol, text, error, said):
    with pytest.raises(error, match=said):
        encode(smol[1], text)


@pytest.mark.parametrize(("text", "said"), [
    ("a ﬂower", "«ﬂ» no es «fl»"),
    ("a\u200b \ufffd", r"lee también U\+200B \(espacio sin ancho, carácter 2\), U\+FFFD "),
    ("½ № dog™ 👍🏽 ❤️ 👨\u200d👩 café, ¿niño?\r\n\u00a0\u2028", None),
])  # fmt: skip
def test_what_is_not_seen_is_said(smol, text, said):
    """Se lee tal cual: ningún signo se pierde ni cambia."""
    with pytest.warns(match=said) if said else warnings.catch_warnings():
        warnings.simplefilter("always" if said else "error")
        assert smol[1].decode(encode(smol[1], text)[0].tolist()) == text
