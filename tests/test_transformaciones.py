"""Lo que torch hace con una cuenta —vectorizarla, derivarla, trazarla— vale en cada pieza del curso."""

import copy

import pytest
import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.autograd import forward_ad
from torch.export import Dim, export
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, stack_module_state, vmap
from torch.utils.checkpoint import checkpoint

from course_lib import attention, bert, decoder_only, flash, layers, masks, transformer

pytestmark = pytest.mark.filterwarnings("error:There is a performance drop", "ignore:.*torch.jit")
B, h, L, d_k, d, V = 2, 3, 5, 4, 12, 17
CONFIG = {
    "vocab_size": V, "hidden_size": d, "layer_norm_eps": 1e-5, "max_position_embeddings": 20,
    "num_attention_heads": h, "num_hidden_layers": 2, "intermediate_size": 30, "hidden_act": "gelu",
    "type_vocab_size": 2,
}  # fmt: skip


class Plain(nn.Module):
    """Una función, o una manera de llamar a un módulo, como módulo que da un tensor."""

    def __init__(self, call, module=None):
        super().__init__()
        self.call, self.module = call, module

    def forward(self, *inputs):
        return self.call(*inputs) if self.module is None else self.call(self.module, *inputs)


def attends(module, need_weights):
    return Plain(lambda module, x, mask: module(x, x, x, mask, need_weights)[0], module)


def reads(module, need_weights):
    return Plain(lambda module, x, mask: module(x, mask, need_weights)[0], module)


def grouped():
    return decoder_only.GroupedQueryAttention(h, d, kv_heads=1, rotary_base=100.0)


QKV, X, IDS = ("q", "k", "v", "mask"), ("x", "mask"), ("ids", "mask")
PIECES = {  # cada una: cómo se hace, y qué recibe
    "función": (lambda: Plain(lambda *a: attention.scaled_dot_product_attention(*a)[0]), QKV),
    "pesos": (lambda: Plain(lambda m, *a: m(*a)[1], attention.ScaledDotProductAttention(d_k)), QKV),
    "fundida": (lambda: Plain(lambda m, *a: m(*a, False)[0], attention.ScaledDotProductAttention(d_k)), QKV),
    "por bloques": (lambda: Plain(lambda *a: flash.flash_attention(*a, causal=True, block=2)), QKV),
    "multicabeza": (lambda: attends(attention.MultiHeadAttention(h, d), True), X),
    "multicabeza fundida": (lambda: attends(attention.MultiHeadAttention(h, d), False), X),
    "GQA": (lambda: attends(grouped(), True), X),
    "GQA fundida": (lambda: attends(grouped(), False), X),
    "capa": (lambda: reads(transformer.EncoderLayer(h, d), False), X),
    "encoder": (lambda: reads(transformer.Encoder(h, d, 2), True), X),
    "decoder": (lambda: Plain(lambda m, x, mask: m(x, x, None, mask)[0], transformer.Decoder(h, d, 2)), X),
    "suma y norma": (lambda: Plain(lambda m, x: m(x, x), layers.AddAndNorm(d)), ("x",)),
    "posición": (lambda: layers.PositionalEncoding(20, d), ("x",)),
    "posición aprendida": (lambda: layers.LearnedPositionalEncoding(20, d), ("x",)),
    "red densa": (lambda: layers.FeedForward(d, activation="gelu"), ("x",)),
    "RMSNorm": (lambda: layers.RMSNorm(d), ("x",)),
    "SwiGLU": (lambda: layers.SwiGLU(d, 7), ("x",)),
    "giro": (lambda: Plain(lambda x: layers.rotary(x, torch.arange(x.shape[-2]))), ("x",)),
    "embedding": (lambda: layers.Embedding(V, d), ("ids",)),
    "encoder entero": (lambda: reads(transformer.TransformerEncoder(V, d, 20, h, 1), False), IDS),
    "BERT": (lambda: reads(bert.BertEncoder(type("Config", (), CONFIG)), True), IDS),
    "Transformer": (
        lambda: Plain(lambda m, i, k: m(i, i, k, k)[0], transformer.Transformer(V, V, d, 20, h, 1)), IDS,
    ),
    "solo decoder": (lambda: reads(decoder_only.DecoderOnly(V, d, h, 1, kv_heads=1), True), IDS),
    "relleno": (lambda: Plain(lambda ids: masks.padding_mask(ids % 2).float()), ("ids",)),
    "aditiva": (
        lambda: Plain(lambda i: masks.convert_mask((i % 2).log(), "additive", "block").float()), ("ids",),
    ),
}  # fmt: skip


def piece(name):
    """La pieza y sus tensores, siempre los mismos. La primera frase no ve su último token."""
    torch.manual_seed(0)
    (make, names), mask = PIECES[name], torch.ones(B, 1, 1, L, dtype=torch.bool)
    mask[0, ..., -1] = False
    inputs = {"x": torch.randn(B, L, d), "ids": torch.randint(V, (B, L)), "mask": mask}
    inputs |= {one: torch.randn(B, h, L, d_k) for one in "qkv"}
    return make().eval(), tuple(inputs[one] for one in names)


# --- Cada una da pares: lo transformado y lo que tiene que dar -------------------------------------


def over_inputs(f, inputs):
    back = [x.flip(0) for x in inputs]
    for axis in (0, 1):
        both = vmap(f, in_dims=axis)(*(torch.stack(pair, axis) for pair in zip(inputs, back)))
        yield from zip(both, (f(*inputs), f(*back)), strict=True)
    nested = [torch.stack([torch.stack(pair), torch.stack(pair)]) for pair in zip(inputs, back)]
    yield vmap(vmap(f))(*nested)[1, 1], f(*back)
    *rest, last = inputs  # y solo la última, la máscara si la hay
    yield vmap(f, (*[None] * len(rest), 1))(*rest, torch.stack([last, back[-1]], 1))[1], f(*rest, back[-1])


def over_parameters(f, inputs):
    if not dict(f.named_parameters()):
        return
    stacked, buffers = stack_module_state([copy.deepcopy(f), f])
    yield vmap(lambda p, b: functional_call(f, (p, b), inputs))(stacked, buffers)[1], f(*inputs)
    loss, own = (lambda p, *one: functional_call(f, p, one).sum()), dict(f.named_parameters())
    apart = vmap(grad(loss), (None, *[0] * len(inputs)))(own, *(x[:, None] for x in inputs))
    whole = grad(loss)(own, *inputs)
    yield from ((apart[name].sum(0), whole[name]) for name in whole)


def derivatives(f, inputs):
    x, *rest = inputs
    if x.is_floating_point():
        f, (x, *rest) = f.requires_grad_(False).double(), [one.double() if one.is_floating_point() else one
                                                           for one in inputs]  # fmt: skip
        along, call = torch.linspace(-1, 1, x.numel()).view_as(x).double(), lambda x: f(x, *rest)
        loss, step = (lambda x: call(x).square().sum()), 1e-6 * along
        yield jvp(call, (x,), (along,))[1], (call(x + step) - call(x - step)) / 2e-6
        with forward_ad.dual_level():
            found = forward_ad.unpack_dual(call(forward_ad.make_dual(x, along))).tangent
        yield found, jvp(call, (x,), (along,))[1]
        yield jacfwd(call)(x), jacrev(call)(x)
        bend = (grad(loss)(x + step) - grad(loss)(x - step)) / 2e-6
        yield (hessian(loss)(x) * along).flatten(x.dim()).sum(-1), bend


def without_numbers(f, inputs):
    """En «meta» y con tensores falsos solo hay formas."""
    found = [copy.deepcopy(f).to("meta")(*(x.to("meta") for x in inputs))]
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        found.append(f(*map(mode.from_tensor, inputs)))
    yield from ((torch.zeros(one.shape), torch.zeros_like(f(*inputs))) for one in found)


def in_sixteen_bits(f, inputs):
    for kind in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", kind):
            found = f(*inputs)
        lower = [x.to(kind) if x.is_floating_point() else x for x in inputs]
        for one in (found, copy.deepcopy(f).to(kind)(*lower)):
            yield (one.float() - f(*inputs)).abs().max() < 0.2, torch.tensor(True)


def as_checkpoint(f, inputs):
    found = [f(*inputs), checkpoint(f, *inputs, use_reentrant=False)]
    yield found[1], found[0]
    own = list(f.parameters())
    if own:
        kept, again = (torch.autograd.grad(one.square().sum(), own, allow_unused=True) for one in found)
        yield from ((a, b) for a, b in zip(again, kept, strict=True) if b is not None)


def compiled(f, inputs):
    for options in ({"backend": "eager"}, {"backend": "aot_eager", "dynamic": True}):
        torch._dynamo.reset()
        yield torch.compile(f, fullgraph=True, **options)(*inputs), f(*inputs)


def exported(f, inputs):
    """Con una longitud que luego cambia: la de lo que se ve y la de la máscara."""
    axis = [{1: x.dim() == 3 or x.dim() == 2, 2: x.shape[1] == h, 3: x.dtype == torch.bool} for x in inputs]
    axis = [next(i for i, here in one.items() if here) for one in axis]
    length = Dim("L", min=2, max=18)
    shapes = {"inputs": tuple({i: length} for i in axis)}
    plain = Plain(lambda f, *inputs: f(*inputs), f).eval()
    program = export(plain, inputs, dynamic_shapes=shapes).module()
    longer = [torch.cat([x, x], i) for x, i in zip(inputs, axis, strict=True)]
    yield program(*longer), f(*longer)


EVERY_DAY = {derivatives: ("multicabeza", "solo decoder"), compiled: ("embedding",), exported: ()}


@pytest.mark.parametrize(("transform", "name"), [
    pytest.param(one, name, marks=[pytest.mark.lenta] * (name not in EVERY_DAY.get(one, PIECES)))
    for one in (over_inputs, over_parameters, without_numbers, in_sixteen_bits, as_checkpoint, *EVERY_DAY)
    for name in PIECES
])  # fmt: skip
def test_every_piece_stands_every_transformation(transform, name):
    for found, expected in transform(*piece(name)):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
