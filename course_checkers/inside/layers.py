"""Encontrar las capas de una multicabeza que ha escrito otra persona y ponerles los mismos pesos.

Con los mismos pesos, dos módulos que hacen la misma cuenta dan los mismos números, se llamen como se
llamen sus capas y estén repartidas como estén: cuatro, una por cabeza, o las tres de entrada en una.
"""

import math
import re
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import nn

ROLES = ("query", "key", "value", "output")
WORDS = {
    "query": "q|bq|wq|qw|qs|query|queries|toq|consulta|consultas|qlinear|linearq|qproj|projq|qlayer|qfc|fcq",
    "key": "k|bk|wk|kw|ks|key|keys|tok|clave|claves|llave|llaves|klinear|lineark|kproj|projk|klayer|kfc|fck",
    "value": "v|bv|wv|vw|vs|value|values|val|vals|tov|valor|valores|vlinear|linearv|vproj|projv|vlayer|vfc|fcv",
    "output": "o|bo|wo|ow|out|output|outputs|salida|final|unify|unifyheads|too|toout|oproj|outproj|fcout|"
    "fco|ofc|linearout|outlinear|lineal|projo|projout|combine|merge|mix|mezcla|concat|w0|wout",
}
WORD_ROLE = {word: role for role, words in WORDS.items() for word in words.split("|")}
# Los módulos de torch que solo guardan otros, o parámetros sueltos.
CONTAINERS = (nn.ModuleList, nn.ModuleDict, nn.Sequential, nn.ParameterList, nn.ParameterDict)
CONTAINERS += (nn.MultiheadAttention,)


class Layer(NamedTuple):
    """Una matriz, y su sesgo si lo tiene."""

    path: str
    weight: torch.Tensor
    bias: torch.Tensor | None
    linear: bool  # de nn.Linear, y entonces es (salida, entrada); si no, no se sabe
    home: str  # "" si torch la ve; si no, dónde está: "lista" o "tensor"
    owner: object = None


class Seen(NamedTuple):
    """Lo que se ve de una capa: todo menos sus números."""

    path: str
    shape: tuple
    linear: bool
    biased: bool
    home: str


def seen(layer):
    shape = () if layer.weight is None else tuple(layer.weight.shape)
    return Seen(layer.path, shape, layer.linear, layer.bias is not None, layer.home)


def layers_of(thing, path="", home="", known=None):
    """Todas las capas que hay en un módulo, también las que torch no ve."""
    known = set() if known is None else known
    if id(thing) in known:
        return
    known.add(id(thing))

    def inside(items):
        for name, value in items:
            yield from layers_of(value, f"{path}.{name}", home or "lista", known)

    if isinstance(thing, nn.Linear):
        yield Layer(path, thing.weight, thing.bias, True, home, thing)
    elif isinstance(thing, nn.Module):
        if isinstance(thing, nn.MultiheadAttention):
            bias = thing.in_proj_bias
            yield Layer(f"{path}.in_proj", thing.in_proj_weight, bias, True, home)
            known |= {id(thing.in_proj_weight), id(bias)}
        elif thing.__module__.startswith("torch.nn.modules.") and not isinstance(thing, CONTAINERS):
            if isinstance(thing, nn.modules.conv._ConvNd):
                yield Layer(path, thing.weight, None, False, home)
            return  # una normalización, un nn.Dropout…
        for name, value in {**thing._parameters, **thing._modules, **thing._buffers}.items():
            yield from layers_of(value, f"{path}.{name}", home, known)
        plain = vars(nn.Module())
        yield from inside(pair for pair in vars(thing).items() if pair[0] not in plain)
    elif isinstance(thing, torch.Tensor) and thing.is_floating_point():
        home = home if isinstance(thing, nn.Parameter) else "tensor"
        yield Layer(path, thing, None, False, home)
    elif isinstance(thing, list | tuple | dict):
        items = thing.items() if isinstance(thing, dict) else enumerate(thing)
        yield from inside(items)
    elif getattr(type(thing), "__module__", "torch").split(".")[0] not in ("torch", "builtins"):
        yield from inside(getattr(thing, "__dict__", {}).items())


def role_of(path):
    """De quién es una capa, por su nombre, o ``None``."""
    for part in reversed(path.split(".")):
        apart = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", part).lower()
        words = [word for word in re.split(r"[\W_]+", apart) if word]
        roles = {WORD_ROLE[word] for word in words if word in WORD_ROLE}
        roles = roles or {WORD_ROLE[word] for word in ["".join(words)] if word in WORD_ROLE}
        if len(roles) > 1:
            roles -= {"output"}
        if len(roles) == 1:
            return roles.pop()
    return None


@dataclass(eq=False)
class Weights:
    """Los pesos que se ponen a todo el mundo: de cada papel, (salida, entrada) y sesgo."""

    heads: int
    width: int
    matrix: dict = field(default_factory=dict)
    bias: dict = field(default_factory=dict)

    @property
    def d_k(self):
        return self.width // self.heads


def draw_weights(heads, width, seed):
    generator = torch.Generator().manual_seed(seed)
    weights = Weights(heads, width)
    for role in ROLES:
        wide = torch.randn(heads * width, width, generator=generator) * 1.2 / width**0.5
        if role == "output":
            wide = torch.cat([wide[i * width : (i + 1) * width] for i in range(heads)], dim=1)
        weights.matrix[role] = wide
        weights.bias[role] = torch.randn(heads * width, generator=generator) * 0.5
    return weights


FUSED = {"qkv": ROLES[:3], "kv": ROLES[1:3]}  # las que van juntas en una matriz


@dataclass
class Plan:
    """Qué es cada capa: papel → clase, y capa → cómo se llena."""

    kind: dict = field(default_factory=dict)
    layers: dict = field(default_factory=dict)  # nombre sin números → (papel, clase, ejes)
    has_bias: dict = field(default_factory=dict)
    guessed: tuple = ()  # las capas cuyo papel no dice su nombre
    by_head: bool = False  # si las tres en una van cabeza a cabeza, y no una detrás de otra
    turned: bool = False  # si los nn.Parameter cuadrados son (entrada, salida)
    unknown: tuple = ()
    homes: dict = field(default_factory=dict)

    def roles(self, path):
        """Los papeles de una capa, por su nombre."""
        role = self.layers.get(path, self.layers.get(bare(path), ("",)))[0]
        return FUSED.get(role, (role,))


def shapes(heads, width):
    """Forma (salida, entrada) → clase."""
    d, d_k, all_d = width, width // heads, heads * width
    usual = {(d, d): "entera", (3 * d, d): "qkv", (2 * d, d): "kv", (d_k, d): "cabeza"}
    wide = {(all_d, d): "ancha", (d, all_d): "ancha-salida"}
    return usual | {(d_k, d_k): "trozo"} | wide | {(d, d_k): "estrecha"}


def axes_of(shape, heads, width):
    """Los ejes de una matriz de tres: (h, d_model, d_k) en algún orden, o ``None``."""
    named = {heads: "h", width: "d", width // heads: "k"}
    axes = tuple(named.get(size) for size in shape)
    return axes if sorted(filter(None, axes)) == ["d", "h", "k"] else None


def plan_of(found, heads, width, guess=None, turned=False, by_head=False):
    """Reconoce unas capas, vistas (``Seen``). ``guess`` reparte las que no dicen su papel."""
    kinds, plan, pending = shapes(heads, width), Plan(turned=turned, by_head=by_head), []
    biases = []
    for layer in found:
        shape, role = layer.shape, role_of(layer.path)
        kind, axes = kinds.get(shape), None
        if len(shape) == 3:
            axes = axes_of(shape, heads, width)
            kind = "ejes" if axes else None
        elif len(shape) == 2 and not layer.linear:
            unusual = {"output": ("cabeza", "ancha"), None: ()}.get(role, ("estrecha",))
            if turned if kind == "entera" else kind in (None, *unusual):
                kind, axes = kinds.get(shape[::-1]), "turned"
        if kind is None and math.prod(shape) in (width, 3 * width):
            biases.append((layer, role))
        elif kind is None:
            plan.unknown += ((layer.path.strip("."), shape),)
        else:
            pending.append((layer, role, kind, axes))
    settle(plan, pending, heads, guess)
    for layer, role in biases:
        roles = ROLES[:3] if math.prod(layer.shape) == 3 * width else (role,)
        if None not in roles:
            plan.layers[layer.path] = (roles, "sesgo", None)
            plan.has_bias |= dict.fromkeys(roles, True)
    return plan


def settle(plan, pending, heads, guess):
    """Da un papel a cada capa: el que dice su nombre o, si no lo dice, el que falta, por orden."""
    pieces = ("cabeza", "trozo")
    said = [(role, *FUSED.get(kind, ())) for _, role, kind, _ in pending]
    named = {role for roles in said for role in roles if role}
    free = [role for role in ROLES if role not in named]
    nameless = [item for item in pending if not item[1] and item[2] not in FUSED]
    flat = [layer for layer, _, kind, _ in nameless if kind in pieces]
    others = [layer for layer, _, kind, _ in nameless if kind not in pieces]
    if len(others) == 1 and "output" in free and (named - {"output"} or flat):
        order = ["output"]
    elif len(others) == 2 and len(free) == 4:
        order = ["query", "output"]
    else:
        order = list(guess or free)
    plan.guessed = tuple(order) if len(others) > 1 and not guess else ()
    for layer, role, kind, axes in pending:
        if kind in FUSED:
            role = kind
        elif role is None and kind in pieces:
            third = min(flat.index(layer) * 3 // len(flat), 2) if len(free) >= 3 else 0
            role = free[third] if free else None
        elif role is None:
            role = dict(enumerate(order)).get(others.index(layer))
        if role is None:
            plan.unknown += ((layer.path.strip("."), layer.shape),)
            continue
        key = bare(layer.path) if kind in (*pieces, "estrecha") else layer.path
        plan.layers[key] = (role, kind, axes)
        plan.homes[layer.path.strip(".")] = layer.home
        for each in FUSED.get(role, (role,)):
            plan.kind.setdefault(each, []).append(kind)
            plan.has_bias[each] = plan.has_bias.get(each, False) or layer.biased


def bare(path):
    return re.sub(r"\d+", "", path)


def fill(module, plan, weights):
    """Pone en las capas de ``module`` los pesos que se dan. Devuelve las capas de salida."""
    seen, outputs = {}, []
    d_k, width, heads = weights.d_k, weights.width, weights.heads
    with torch.no_grad():
        for layer in layers_of(module):
            key = layer.path if layer.path in plan.layers else bare(layer.path)
            if key not in plan.layers:
                continue
            role, kind, axes = plan.layers[key]
            number = seen[key] = seen.get(key, -1) + 1
            if kind == "sesgo":
                value = torch.cat([weights.bias[each][:width] for each in role])
                layer.weight.copy_(value.reshape(layer.weight.shape))
                continue
            rows = slice(number * d_k, (number + 1) * d_k)
            value, bias = piece(role, kind, rows, weights, plan)
            if kind == "ejes":
                names = ("d", "h", "k") if role == "output" else ("h", "k", "d")
                value = value.reshape([{"d": width, "h": heads, "k": d_k}[n] for n in names])
                value = value.permute([names.index(n) for n in axes])
            elif axes == "turned":
                value = value.T
            layer.weight.copy_(value)
            if layer.bias is not None:
                layer.bias.copy_(bias)
            if role == "output" and layer.owner is not None:
                outputs.append(layer.owner)
    return outputs


def piece(role, kind, rows, weights, plan):
    """La parte de los pesos que va en una capa, como (salida, entrada), y su sesgo."""
    width, heads = weights.width, weights.heads
    if role in FUSED:
        value = torch.cat([weights.matrix[each][:width] for each in FUSED[role]])
        bias = torch.cat([weights.bias[each][:width] for each in FUSED[role]])
        if plan.by_head:
            by_head = (len(FUSED[role]), heads, -1)
            value = value.unflatten(0, by_head).transpose(0, 1).flatten(0, 2)
            bias = bias.unflatten(0, by_head).transpose(0, 1).flatten()
        return value, bias
    matrix, bias = weights.matrix[role], weights.bias[role]
    if kind in ("cabeza", "trozo"):
        return matrix[rows, rows if kind == "trozo" else slice(width)], bias[rows]
    if kind == "estrecha":
        return matrix[:, rows], bias[:width] / (heads if len(plan.kind[role]) > 1 else 1)
    if kind == "ancha":
        return matrix, bias
    return (matrix if kind == "ancha-salida" else matrix[:width, :width]), bias[:width]


def effective(plan, weights, role):
    """La proyección de un papel, como una sola matriz (salida, entrada) y su sesgo, o ``None``."""
    kind, *more = plan.kind.get(role, ["entera"])
    d_k, heads = weights.d_k, weights.heads
    if kind == "trozo" or kind == "cabeza" and not more:
        rows = [slice(i * d_k, (i + 1) * d_k) if more else slice(d_k) for i in range(heads)]
        parts, biases = zip(*(piece(role, kind, each, weights, plan) for each in rows))
        matrix = torch.block_diag(*parts) if kind == "trozo" else torch.cat(parts)
        bias = torch.cat(biases)
    else:
        whole = "entera" if more and kind in ("cabeza", "estrecha") else kind
        matrix, bias = piece(role, whole, slice(d_k), weights, plan)
    return matrix, bias if plan.has_bias.get(role, False) else None
