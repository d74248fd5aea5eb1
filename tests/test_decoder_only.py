"""El decoder de hoy, pieza a pieza y entero, contra torch y contra el Llama de transformers."""

import pytest
import torch
import torch.nn.functional as F
import transformers  # lo suyo, al usarlo: importarlo tarda, y este archivo lo lee cada proceso
from helpers import close, cut_network, few, randomize, seeds
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from course_lib import DecoderOnly, RMSNorm, decoder_from_llama, load_llama, padding_mask
from course_lib.cache import DecoderCache
from course_lib.layers import rotary
from course_lib.model_files import ModelUnavailableError
from course_lib.sampling import generate, next_token_probabilities

CONFIG = {
    "vocab_size": 31, "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 3,
    "num_attention_heads": 6, "num_key_value_heads": 2, "max_position_embeddings": 64,
    "rms_norm_eps": 1e-3, "initializer_range": 0.3,
}  # fmt: skip


def parts_of_llama():
    """Las piezas del Llama de transformers."""
    return transformers.models.llama.modeling_llama


def llama_of(seed=0, **changes):
    torch.manual_seed(seed)
    return randomize(transformers.LlamaForCausalLM(transformers.LlamaConfig(**CONFIG | changes)).eval())


# --- Las piezas -------------------------------------------------------------------------------------


@few
@given(seed=seeds, start=st.sampled_from([0, 17, 1000]), base=st.sampled_from([50.0, 1e4, 5e5]))
def test_to_turn_is_to_multiply_by_a_complex_number(seed, start, base):
    """De módulo 1, y solo cuenta la distancia: el oráculo son los complejos."""
    torch.manual_seed(seed)
    q, positions = torch.randn(9, 6, dtype=torch.float64), torch.arange(start, start + 9)
    spins = torch.polar(torch.ones(9, 3, dtype=torch.float64),
                        torch.outer(positions.double(), base ** (-torch.arange(3.0).double() / 3)))  # fmt: skip
    turned = torch.complex(q[:, :3], q[:, 3:]) * spins
    close(rotary(q, positions, base), torch.cat([turned.real, turned.imag], dim=-1))


def test_rotary_errors():
    with pytest.raises(ValueError, match="d_k = 5 es impar"):
        rotary(torch.randn(2, 3, 5), torch.arange(3))
    for wrong, count in ((torch.arange(4), 4), ([0, 1, 2, 3], 4), (5, 1)):
        with pytest.raises(ValueError, match=f"hay 3 tokens.* y {count} posiciones"):
            rotary(torch.randn(2, 3, 6), wrong)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_rms_norm_is_torchs(dtype):
    torch.manual_seed(0)
    x = (torch.randn(2, 3, 7) * 300).to(dtype).requires_grad_()  # en 16 bits, 300² ya no cabe
    ours = randomize(RMSNorm(7, eps=0.1)).to(dtype)
    theirs = nn.RMSNorm(7, eps=0.1, dtype=dtype)
    llama = parts_of_llama().LlamaRMSNorm(7, eps=0.1).to(dtype)
    theirs.load_state_dict(ours.state_dict())
    llama.load_state_dict(ours.state_dict())
    output = ours(x)
    assert output.dtype == dtype
    assert output.isfinite().all()
    close(output, theirs(x), dtype)
    close(output, llama(x), dtype if dtype != torch.float64 else torch.float32)
    gradients = [torch.autograd.grad(module(x).float().pow(2).sum(), x)[0] for module in (ours, theirs)]
    close(*gradients, dtype)


# --- El modelo entero -------------------------------------------------------------------------------


@torch.no_grad()
@pytest.mark.parametrize("changes", [
    {},
    {"num_key_value_heads": 6},
    {"num_key_value_heads": 1, "tie_word_embeddings": True},
    {"rope_parameters": {"rope_type": "default", "rope_theta": 123.0}},
])  # fmt: skip
def test_same_logits_as_llama(changes):
    """Capa a capa y al final; de una vez, por trozos con caché y con relleno al final."""
    llama = llama_of(**changes)
    model = decoder_from_llama(llama)
    ids = torch.randint(31, (2, 13))
    attention_mask = torch.tensor([[1] * 13, [1] * 8 + [0] * 5])
    theirs = llama(ids, attention_mask=attention_mask, output_hidden_states=True)
    states = theirs.hidden_states
    logits, weights = model(ids, padding_mask(attention_mask), need_weights=True)
    real = attention_mask.bool()
    close(logits[real], theirs.logits[real], torch.float32)
    logits, nothing = model(ids, padding_mask(attention_mask))
    close(logits[real], theirs.logits[real], torch.float32)
    assert nothing is None
    assert [w.shape for w in weights] == [(2, 6, 13, 13)] * 3
    x, mask = model.embedding(ids), torch.ones(13, 13, dtype=torch.bool).tril()
    alone = llama(ids, output_hidden_states=True)
    for layer, state in zip(model.layers, alone.hidden_states):
        close(x, state, torch.float32)
        x, nothing = layer(x, mask)
        assert nothing is None
    close(model.normalization(x), alone.hidden_states[-1], torch.float32)
    cache = DecoderCache(3)
    pieces = [model(piece, cache=cache)[0] for piece in ids.split([4, 1, 7, 1], dim=1)]
    close(torch.cat(pieces, dim=1), alone.logits, torch.float32)
    heads = model.layers[0].attention.kv_heads
    assert cache.nbytes == 2 * 3 * heads * 4 * 13 * 2 * 4  # 2 · capas · h_kv · d_k · L, por 2 frases
    assert len(states) == 4


def test_gradients_are_llamas():
    llama = llama_of().double()
    model = decoder_from_llama(llama)
    ids = torch.randint(31, (2, 9))
    for logits in (model(ids)[0], llama(ids).logits):
        F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).backward()
    for ours, theirs in (
        (model.layers[1].attention.key_projection, llama.model.layers[1].self_attn.k_proj),
        (model.layers[2].normalization_2, llama.model.layers[2].post_attention_layernorm),
        (model.layers[0].feed_forward.gate, llama.model.layers[0].mlp.gate_proj),
        (model.embedding.table, llama.model.embed_tokens),
    ):
        close(ours.weight.grad, theirs.weight.grad, torch.float32)


def test_the_weights_are_copies():
    llama = llama_of()
    model = decoder_from_llama(llama)
    with torch.no_grad():
        model.output_projection.weight.zero_()
    assert llama.lm_head.weight.any()
    assert not model.training


LLAMA_3 = {
    "rope_type": "llama3", "rope_theta": 5e3, "factor": 8.0, "low_freq_factor": 1.0,
    "high_freq_factor": 4.0, "original_max_position_embeddings": 512,
}  # fmt: skip


def test_the_positions_of_llama_3():
    """Con el RoPE estirado, los mismos números que transformers, también lejos; y sin estirar, otros."""
    llama = llama_of(hidden_size=96, rope_parameters=LLAMA_3, max_position_embeddings=4096)
    ids = torch.randint(31, (2, 700), generator=torch.Generator().manual_seed(1))
    model = decoder_from_llama(llama)
    with torch.no_grad():
        theirs, ours = llama(ids).logits, model(ids)[0]
        assert (ours - theirs).abs().max() < 2e-3  # los ángulos, ellos en 32 bits y aquí en 64
        for layer in model.layers:
            layer.attention.rotary_stretch = None
        assert (model(ids)[0] - theirs).abs().max() > 0.1


def test_one_table_or_two():
    one, two = (DecoderOnly(11, 12, 2, 1, tied=tied) for tied in (True, False))
    count = [sum(p.numel() for p in model.parameters()) for model in (one, two)]
    assert count[1] - count[0] == 11 * 12
    assert one.layers[0].feed_forward.up.out_features == 32


@pytest.mark.parametrize(("changes", "words"), [
    ({"attention_bias": True}, "attention_bias = True"),
    ({"mlp_bias": True}, "mlp_bias = True"),
    ({"hidden_act": "gelu"}, "hidden_act = 'gelu'"),
    ({"head_dim": 6}, "head_dim = 6"),
    ({"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}}, "'linear'"),
])  # fmt: skip
def test_what_the_course_does_not_have(changes, words):
    with pytest.raises(ValueError, match=words):
        decoder_from_llama(llama_of(**changes))


def a_bert():
    config = transformers.BertConfig(
        vocab_size=5, hidden_size=4, num_hidden_layers=1, num_attention_heads=2, intermediate_size=3
    )
    return transformers.BertModel(config)


@pytest.mark.parametrize("make", [lambda: None, lambda: "llama", lambda: nn.Linear(2, 2), a_bert])
def test_not_a_llama(make):
    other = make()
    with pytest.raises(TypeError, match=f"llama es {type(other).__name__}"):
        decoder_from_llama(other)


# --- Cargarlo ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def llama_folder(tmp_path_factory):
    """Un Llama diminuto con pesos al azar y su tokenizador, como se guardan para publicarlos."""
    from tokenizers import Tokenizer, models

    folder = tmp_path_factory.mktemp("llama")
    llama_of().save_pretrained(folder)
    words = Tokenizer(models.WordLevel({"hola": 0, "mundo": 1, "?": 2}, unk_token="?"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, unk_token="?").save_pretrained(folder)
    return folder


def test_from_a_folder_by_variable(llama_folder, monkeypatch):
    monkeypatch.setenv("CURSO_LLAMA", str(llama_folder))
    model, tokenizer = load_llama()
    ids = torch.tensor([tokenizer.encode("hola").ids])
    with torch.no_grad():
        close(model(ids)[0], llama_of()(ids).logits, torch.float32)


@pytest.mark.parametrize(("name", "error", "said"), [
    ("otro.gguf", ModelUnavailableError, "«otro.gguf» es un GGUF"),
    (7, TypeError, "model_name = 7, y tiene que ser un nombre"),
    ("usuario/modelo", ModelUnavailableError, "usuario/modelo.*no hay conexión.*CURSO_LLAMA"),
    ("ni/una/carpeta", ModelUnavailableError, "HuggingFaceTB/SmolLM2-360M-Instruct o usuario/modelo"),
])  # fmt: skip
def test_a_name_that_gives_nothing(monkeypatch, tmp_path, name, error, said):
    """Y de la red tampoco viene."""
    cut_network(monkeypatch)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "vacía"))
    with pytest.raises(error, match=said):
        load_llama(name)


# --- Escribir ---------------------------------------------------------------------------------------


@few
@given(seed=seeds, temperature=st.sampled_from([0.3, 1.0, 2.5]), k=st.sampled_from([1, 3, 40]),
       p=st.sampled_from([0.01, 0.5, 0.9, 1.0]))  # fmt: skip
def test_cuts_are_transformers(seed, temperature, k, p):
    torch.manual_seed(seed)
    scores = torch.randn(4, 2, 13) * 3
    warped = scores / temperature
    flat = transformers.TopKLogitsWarper(top_k=min(k, 13))(None, warped.flatten(0, 1))
    flat = transformers.TopPLogitsWarper(top_p=p)(None, flat) if p < 1 else flat
    ours = next_token_probabilities(scores, temperature, top_k=k, top_p=p)
    close(ours, flat.softmax(dim=-1).view_as(ours), torch.float32)
    best = next_token_probabilities(scores, temperature=0)
    assert torch.equal(best, F.one_hot(scores.argmax(-1), 13).float())


def test_ties_keep_exactly_k():
    chances = next_token_probabilities(torch.zeros(5), top_k=2)
    assert chances.tolist() == [0.5, 0.5, 0, 0, 0]


@pytest.mark.parametrize("wrong", [
    {"temperature": -1}, {"temperature": float("nan")}, {"top_k": 0}, {"top_k": True}, {"top_k": 1.5},
    {"top_p": 0}, {"top_p": 1.1}, {"top_p": float("nan")},
])  # fmt: skip
def test_impossible_cuts(wrong):
    [(name, _)] = wrong.items()
    with pytest.raises(ValueError, match=f"{name} = "):
        next_token_probabilities(torch.zeros(3), **wrong)


def test_generate_is_llamas_and_the_cache_changes_nothing():
    llama = llama_of()
    model, prompt = decoder_from_llama(llama), torch.randint(31, (3, 5))
    theirs = llama.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=9, do_sample=False,
        eos_token_id=None, pad_token_id=0,
    )[:, 5:]  # fmt: skip
    assert torch.equal(generate(model, prompt, 9), theirs)
    assert torch.equal(generate(model, prompt, 9, cache=False), theirs)
    draws = [
        generate(model, prompt, 9, temperature=1.5, top_p=0.9, cache=cache,
                 generator=torch.Generator().manual_seed(4))
        for cache in (True, False)
    ]  # fmt: skip
    assert torch.equal(*draws)
    assert not torch.equal(draws[0], theirs)


def test_end_stops_each_sentence():
    """Quien acaba repite la marca de fin; cuando acaban todas, se para. La del principio no cuenta."""
    model, prompt = decoder_from_llama(llama_of()), torch.randint(31, (3, 5))
    end = generate(model, prompt, 9)[0, 2].item()
    for start in (prompt, prompt.index_fill(1, torch.tensor([0]), end)):
        free = generate(model, start, 9)
        written = generate(model, start, 9, end=end)
        for row, plain in zip(written.tolist(), free.tolist()):
            stop = plain.index(end) if end in plain else len(plain)
            assert row[: stop + 1] == plain[: len(row)][: stop + 1]
            assert set(row[stop:]) <= {end}
    alone = generate(model, prompt[:1], 9, end=end)
    assert alone.shape[1] == generate(model, prompt[:1], 9)[0].tolist().index(end) + 1
