"""El módulo, el parámetro y las capas que los ejercicios usan."""

import functools
import math
from collections import OrderedDict, namedtuple
from contextlib import AbstractContextManager

from torch import creation, types
from torch.core import FUNCTIONS, Tensor, methods
from torch.nn import functional as F
from torch.nn import init
from torch.overrides import known, refuse

PRE_HOOKS = {}
Loaded = namedtuple("_IncompatibleKeys", ("missing_keys", "unexpected_keys"))


class Parameter(Tensor):
    """Un tensor que se aprende: el módulo que lo guarda lo ve."""

    def __init__(self, data=None, requires_grad=True, *, array=None, dtype=None, edges=()):
        data = Tensor(array=array, dtype=dtype) if data is None and array is not None else data
        data = creation.full((0,), 0.0) if data is None else data
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter data must be a tensor, not {type(data).__name__}")
        super().__init__(array=data.array, dtype=data.dtype)
        self.requires_grad = requires_grad


class UninitializedParameter(Parameter):
    pass


class Buffer(Tensor):
    def __init__(self, data, *, persistent=True):
        super().__init__(array=data.array, dtype=data.dtype)


class Hook(AbstractContextManager):
    """Un gancho, que se puede quitar."""

    def __init__(self, table, function):
        self.table, self.id = table, max(table, default=-1) + 1
        table[self.id] = function

    def remove(self):
        self.table.pop(self.id, None)

    def __exit__(self, *_):
        self.remove()


register_module_forward_pre_hook = functools.partial(Hook, PRE_HOOKS)


class Module:
    """Lo que tiene parámetros y otros módulos, y una cuenta: ``forward``."""

    def __init__(self, *given, **options):
        write = super().__setattr__
        write("training", True)
        for name in ("_parameters", "_buffers", "_modules", "_forward_pre_hooks", "_forward_hooks"):
            write(name, {})
        write("_non_persistent_buffers_set", set())

    def forward(self, *given):
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *given, **options):
        for hook in [*PRE_HOOKS.values(), *self._forward_pre_hooks.values()]:
            changed = hook(self, given)
            if changed is not None:
                given = changed if isinstance(changed, tuple) else (changed,)
        found = self.forward(*given, **options)
        for hook in list(self._forward_hooks.values()):
            other = hook(self, given, found)
            found = found if other is None else other
        return found

    # Lo que guarda.

    def __setattr__(self, name, value):
        homes = self.__dict__
        kind = isinstance(value, Parameter) and "parameter" or isinstance(value, Module) and "module"
        if kind:
            if "_modules" not in homes:
                raise AttributeError(f"cannot assign {kind}{'s' * (kind == 'parameter')} before Module.__init__() call")
            self._forget(name)
            homes[f"_{kind}s"][name] = value
            return
        for home in ("_parameters", "_modules", "_buffers"):
            if name in homes.get(home, ()):
                expected = {"_parameters": "parameter", "_modules": "child module"}.get(home)
                if expected and value is not None:
                    said = "torch.nn.Parameter" if expected == "parameter" else "torch.nn.Module"
                    given = "torch.FloatTensor" if isinstance(value, Tensor) else type(value).__name__
                    raise TypeError(f"cannot assign '{given}' as {expected} '{name}' ({said} or None expected)")
                homes[home][name] = value
                return
        super().__setattr__(name, value)

    def _forget(self, name):
        for home in ("_parameters", "_modules", "_buffers"):
            self.__dict__[home].pop(name, None)
        self.__dict__.pop(name, None)

    def __getattr__(self, name):
        for home in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(home, ()):
                return self.__dict__[home][name]
        known("nn.Module", name, f"'{type(self).__name__}' object")

    def register_buffer(self, name, tensor, persistent=True):
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._buffers[name] = tensor
        if not persistent:
            self._non_persistent_buffers_set.add(name)

    # Lo que se le pregunta.

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        memo = set() if memo is None else memo
        if id(self) not in memo:
            if remove_duplicate:
                memo.add(id(self))
            yield prefix, self
            for name, one in self._modules.items():
                if one is not None:
                    yield from one.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def _named(self, home, prefix="", recurse=True):
        seen = set()
        for path, one in self.named_modules(prefix=prefix) if recurse else [(prefix, self)]:
            for name, value in one.__dict__[home].items():
                if value is not None and id(value) not in seen:
                    seen.add(id(value))
                    yield (f"{path}.{name}" if path else name), value

    def state_dict(self, *given, prefix="", **options):
        found = OrderedDict()
        for path, one in self.named_modules(remove_duplicate=False):
            lead = prefix + (f"{path}." if path else "")
            for name, value in {**one._parameters, **one._buffers}.items():
                if value is not None and name not in one._non_persistent_buffers_set:
                    found[lead + name] = value.detach()
        return found

    def load_state_dict(self, state, strict=True, assign=False):
        own = self.state_dict()
        missing, strange = [n for n in own if n not in state], [n for n in state if n not in own]
        if strict and (missing or strange):
            raise RuntimeError(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n missing {missing}, unexpected {strange}"
            )
        parts = dict(self.named_parameters()) | dict(self.named_buffers())
        with creation.no_grad():
            for name in own.keys() & state.keys():
                if assign and name in parts:
                    parts[name].data = state[name]
                else:
                    own[name].copy_(state[name])
        return Loaded(missing, strange)

    def train(self, mode=True):
        for one in self.modules():
            one.__dict__["training"] = mode
        return self

    def requires_grad_(self, on=True):
        for one in self.parameters():
            one.requires_grad_(on)
        return self

    def zero_grad(self, set_to_none=True):
        for one in self.parameters():
            one.grad = None

    def to(self, *given, **options):
        for home in ("_parameters", "_buffers"):
            for _, one in self._named(home):
                if one.dtype.is_floating_point:
                    one.data = one.detach().to(*given, **options)
        return self

    cpu = to

    def __repr__(self):
        inside = [f"  ({n}): " + repr(one).replace("\n", "\n  ") for n, one in self._modules.items()]
        body = "\n" + "\n".join(inside) + "\n" if inside else self.extra_repr()
        return f"{type(self).__name__}({body})"


methods(Module, {
    "register_forward_hook": lambda self, hook: Hook(self._forward_hooks, hook),
    "register_forward_pre_hook": lambda self, hook: Hook(self._forward_pre_hooks, hook),
    "register_parameter": lambda self, name, param: self._parameters.update({name: param}),
    "add_module register_module": lambda self, name, module: self._modules.update({name: module}),
    "modules": lambda self: (one for _, one in self.named_modules()),
    "named_children": lambda self: ((name, one) for name, one in self._modules.items() if one is not None),
    "children": lambda self: (one for _, one in self.named_children()),
    "named_parameters": lambda self, prefix="", recurse=True, remove_duplicate=True:
        self._named("_parameters", prefix, recurse),
    "parameters": lambda self, recurse=True: (value for _, value in self.named_parameters(recurse=recurse)),
    "named_buffers": lambda self, prefix="", recurse=True: self._named("_buffers", prefix, recurse),
    "buffers": lambda self, recurse=True: (value for _, value in self.named_buffers(recurse=recurse)),
    "eval": lambda self: self.train(False),
    "double": lambda self: self.to(types.float64),
    "extra_repr": lambda self: "",
    "__delattr__": lambda self, name: self._forget(name),
})  # fmt: skip


# --- Los que guardan otros ------------------------------------------------------------------------


class Numbered(Module):
    """Los que se guardan por su puesto, como en una lista: en ``_home``."""

    def __init__(self, values=None, modules=None):
        super().__init__()
        self.extend(values or modules or [])

    def extend(self, values):
        for one in values:
            self.append(one)
        return self

    def __getitem__(self, key):
        every = list(self)
        return type(self)(every[key]) if isinstance(key, slice) else every[key]

    __len__ = lambda self: len(getattr(self, self._home))  # noqa: E731
    __iter__ = lambda self: iter(getattr(self, self._home).values())  # noqa: E731


class ModuleList(Numbered):
    _home = "_modules"

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def __setitem__(self, key, module):
        self._modules[str(range(len(self))[key])] = module


class Sequential(ModuleList):
    def __init__(self, *modules):
        if len(modules) == 1 and isinstance(modules[0], dict):
            Module.__init__(self)
            for name, one in modules[0].items():
                self.add_module(name, one)
        else:
            super().__init__(modules[0] if len(modules) == 1 and isinstance(modules[0], list) else modules)

    def forward(self, input):
        for one in self:
            input = one(input)
        return input


class Keyed(Module):
    """Los que se guardan por su nombre, como en un diccionario: en ``_home``."""

    def __init__(self, values=None):
        super().__init__()
        self.update(values or {})

    def update(self, values):
        for name, value in dict(values).items():
            self[name] = value

    __getitem__ = lambda self, name: getattr(self, self._home)[name]  # noqa: E731
    __len__ = Numbered.__len__
    __iter__ = lambda self: iter(getattr(self, self._home))  # noqa: E731
    __contains__ = lambda self, name: name in getattr(self, self._home)  # noqa: E731
    keys = lambda self: getattr(self, self._home).keys()  # noqa: E731
    values = lambda self: getattr(self, self._home).values()  # noqa: E731
    items = lambda self: getattr(self, self._home).items()  # noqa: E731


class ModuleDict(Keyed):
    _home = "_modules"
    __setitem__ = Module.add_module


class ParameterList(Numbered):
    _home = "_parameters"

    def append(self, value):
        self.register_parameter(str(len(self)), value if isinstance(value, Parameter) else Parameter(value))
        return self


class ParameterDict(Keyed):
    _home = "_parameters"

    def __setitem__(self, name, value):
        self.register_parameter(name, value if isinstance(value, Parameter) else Parameter(value))


# --- Las capas ------------------------------------------------------------------------------------


class Linear(Module):
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(FUNCTIONS["empty"](out_features, in_features, dtype=dtype))
        own = Parameter(FUNCTIONS["empty"](out_features, dtype=dtype)) if bias else None
        self.register_parameter("bias", own)
        self.reset_parameters()

    def reset_parameters(self):
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            limit = 1 / math.sqrt(self.in_features) if self.in_features else 0
            init.uniform_(self.bias, -limit, limit)

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class Embedding(Module):
    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, *, _weight=None, **options):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.weight = Parameter(FUNCTIONS["empty"](num_embeddings, embedding_dim) if _weight is None else _weight)
        if _weight is None:
            init.normal_(self.weight)

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True):
        made = cls(*embeddings.shape, _weight=embeddings)
        made.weight.requires_grad_(not freeze)
        return made

    def forward(self, input):
        return F.embedding(input, self.weight)


class LayerNorm(Module):
    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps = shape, eps
        self.register_parameter("weight", Parameter(FUNCTIONS["ones"](*shape)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(FUNCTIONS["zeros"](*shape)) if elementwise_affine and bias else None)

    def forward(self, input):
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class RMSNorm(Module):
    def __init__(self, normalized_shape, eps=None, elementwise_affine=True):
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape, self.eps = shape, eps
        self.register_parameter("weight", Parameter(FUNCTIONS["ones"](*shape)) if elementwise_affine else None)

    def forward(self, input):
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)


class Dropout(Module):
    def __init__(self, p=0.5, inplace=False):
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input):
        return F.dropout(input, self.p, self.training)


def layer(name, function, *settings):
    """Una capa que solo aplica una función, con lo que se le diga al crearla."""

    def __init__(self, *given, **options):
        Module.__init__(self)
        self.settings = {**dict(zip(settings, given)), **options}

    def forward(self, *inputs, **named):
        return function(*inputs, **named, **self.settings)

    __init__.__qualname__ = f"{name}.__init__"
    return type(name, (Module,), {"__init__": __init__, "forward": forward, "__module__": __name__})


Identity = layer("Identity", lambda input, **_: input)
ReLU = layer("ReLU", lambda input, inplace=False: F.relu(input), "inplace")
GELU = layer("GELU", F.gelu, "approximate")
SiLU = layer("SiLU", F.silu, "inplace")
Tanh, Sigmoid = layer("Tanh", F.tanh), layer("Sigmoid", F.sigmoid)
Softplus = layer("Softplus", F.softplus, "beta", "threshold")
CosineSimilarity = layer("CosineSimilarity", F.cosine_similarity, "dim", "eps")
Softmax = layer("Softmax", F.softmax, "dim")
LogSoftmax = layer("LogSoftmax", F.log_softmax, "dim")
CrossEntropyLoss = layer("CrossEntropyLoss", F.cross_entropy, "weight")
MSELoss = layer("MSELoss", F.mse_loss)


class Transformer(Module):
    def __init__(self, *given, **options):
        refuse("torch.nn.Transformer")

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        return creation.full((sz, sz), -math.inf, dtype=dtype).triu(1)


class MultiheadAttention(Module):
    def __init__(self, *given, **options):
        refuse("torch.nn.MultiheadAttention")
