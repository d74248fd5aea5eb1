"""Lo que se pregunta en el inventario: de cada concepto, la cuenta que da su respuesta, dicha en pocas letras.

Cada función recibe ``use`` y los números de una forma, los de ``items.toml``. ``use("5.1")`` es la cuenta de
ese ejercicio o de esa línea: la buena o, para calcular una respuesta mala, la de quien comete su error.
"""

import torch

SITUATIONS = {}


def situation(function):
    """Apunta una situación, con el nombre del concepto."""
    SITUATIONS[function.__name__.replace("_", "-")] = function
    return function


def table(rows):
    return torch.tensor(rows, dtype=torch.float64)


def number(value):
    """Un número, con los decimales que hacen falta, dos como mucho."""
    return f"{float(value):z.2f}".rstrip("0").rstrip(".").replace("-", "−")


def vector(values):
    return f"({', '.join(map(number, torch.as_tensor(values).flatten()))})"


def permissions(row):
    """Una fila de permisos: sí, no…, de izquierda a derecha."""
    return " ".join("1" if allowed else "0" for allowed in row.flatten().tolist())


def places(moved):
    """Los que se han movido, contados desde 1; y si son todos o ninguno, con palabras."""
    found = [place for place, one in enumerate(moved.tolist(), 1) if one]
    return "todas" if len(found) == len(moved) else ", ".join(map(str, found)) or "ninguna"


def compared(after, before):
    """Qué le ha pasado a un número: con nombres que dice ``items.toml``."""
    return "igual" if torch.isclose(after, before) else "sube" if after > before else "baja"


def attention(use, Q, K, V, keep=None):
    """La salida de la 5.1, con tablas."""
    return use("5.1")(*(table(one)[None, None] for one in (Q, K, V)), keep)


# --- Puntuar --------------------------------------------------------------------------------------


@situation
def producto(use, q, k):
    return number(use("1.a")(table(q), table(k)))


@situation
def medida(use, q, keys):
    return max(keys, key=lambda name: float(use("1.a")(table(q), table(keys[name]))))


@situation
def pregunta_y_responde(use, Q, K, asks, answers):
    return number(use("1.c")(table(Q), table(K))[asks - 1, answers - 1])


@situation
def proyectar(use, x, W):
    return vector(use("2.a")(table(x), table(W)))


@situation
def posicion_sumada(use, x, p):
    return vector(use("2.c")(table(x), table(p)))


@situation
def orden(use, before, after, word):
    """Si la salida de una palabra es la de antes, la de quien estaba en su sitio u otra."""
    vectors = {name: table([3.0, 1, 0, 2]).roll(place) + place for place, name in enumerate(before)}
    positions = table([[0, 5, 1, 3], [4, 0, 2, 1], [1, 1, 6, 0]])
    out = {}
    for text in (tuple(before), tuple(after)):
        X = use("2.c")(torch.stack([vectors[name] for name in text]), positions)
        X = X[:, :4]
        out[text] = torch.softmax(X @ X.T / 8, dim=-1) @ X
    now = out[tuple(after)][after.index(word)]
    if torch.allclose(now, out[tuple(before)][before.index(word)]):
        return "la-suya"
    return "la-del-sitio" if torch.allclose(now, out[tuple(before)][after.index(word)]) else "otra"


# --- Repartir -------------------------------------------------------------------------------------


@situation
def diferencias(use, scores, add):
    return number(use("3.1")(table([scores]) + add)[0, -1])


@situation
def reparto(use, scores, rise, look):
    after = list(scores)
    after[rise - 1] += 1
    before, now = (use("3.1")(table([row]))[0, look - 1] for row in (scores, after))
    return compared(now, before)


@situation
def raiz(use, score, d_k):
    return number(use("3.c")(table(score), d_k))


@situation
def anchura(use, narrow, wide):
    """Cuántas veces se ensanchan las puntuaciones, ya divididas, de vectores al azar."""
    torch.manual_seed(0)
    spread = []
    for d_k in (narrow, wide):
        Q, K = torch.randn(2, 4000, d_k, dtype=torch.float64)
        spread.append(use("3.c")((Q * K).sum(dim=-1), d_k).std())
    return "×" + number(2.0 ** round(float((spread[1] / spread[0]).log2())))


@situation
def fila_propia(use, tokens, moved):
    """Qué filas de pesos cambian si cambia la key de un token."""
    torch.manual_seed(0)
    Q, K = torch.randn(2, tokens, 4, dtype=torch.float64)
    other = K.clone()
    other[moved - 1] += 1
    before, after = (torch.softmax(use("1.c")(Q, one), dim=-1) for one in (K, other))
    return places((before != after).any(dim=-1))


# --- Máscaras -------------------------------------------------------------------------------------


@situation
def futuro(use, tokens, row):
    return permissions(use("4.a")(tokens)[row - 1])


@situation
def tapar(use, scores, hidden):
    keep = torch.ones(len(scores), dtype=torch.bool)
    keep[hidden - 1] = False
    return vector(torch.softmax(use("4.b")(table(scores), keep), dim=-1))


@situation
def fuga(use, scores, hidden, rise):
    """Los pesos después de cambiar lo prohibido: la 5.1, con d_k = 1 y, de values, la identidad."""
    keep = torch.ones(1, len(scores), dtype=torch.bool)
    keep[0, hidden - 1] = False
    changed = list(scores)
    changed[hidden - 1] += rise
    return vector(attention(use, [[1.0]], [[x] for x in changed], torch.eye(len(scores)).tolist(), keep))


@situation
def relleno(use, real, padded):
    """La fila de un token de verdad y la de uno de relleno."""
    length = real + padded
    given = torch.tensor([[1] * real + [0] * padded])
    mask = use("4.2")(given).expand(1, 1, length, length)[0, 0]
    return f"{permissions(mask[0])} · {permissions(mask[-1])}"


@situation
def dos_mascaras(use, real, row):
    keep = torch.tensor(real, dtype=torch.bool)[None]
    joined = use("4.c")(use("4.a")(len(real)), keep)
    return permissions(joined.expand(len(real), -1)[row - 1])


@situation
def pasado(use, tokens, moved):
    """Qué salidas cambian si cambia un token, con la máscara causal."""
    torch.manual_seed(0)
    X = torch.randn(tokens, 4, dtype=torch.float64)
    other, mask = X.clone(), use("4.1")(tokens).reshape(tokens, tokens).bool()
    other[moved - 1] += 1
    before, after = (torch.softmax((x @ x.T).masked_fill(~mask, -torch.inf), dim=-1) @ x for x in (X, other))
    return places((before != after).any(dim=-1))


# --- Mezclar y sumar ------------------------------------------------------------------------------


@situation
def mezcla(use, weights, V):
    return vector(use("5.a")(table([weights]), table(V)))


@situation
def empate(use, V):
    """Dos keys empatan, y las demás quedan muy lejos."""
    K = [[0], [0]] + [[-1000]] * (len(V) - 2)
    return vector(attention(use, [[1]], K, V))


@situation
def quien_trae(use, weights, norms):
    brought = {
        name: float(use("5.a")(table([[weights[name]]]), table([[norms[name]]])).norm()) for name in weights
    }
    return max(brought, key=brought.get)


@situation
def residual(use, x, change):
    return vector(use("5.c")(table(x), table(change)))


# --- Varias cabezas y dos frases ------------------------------------------------------------------


@situation
def cabezas(use, tokens, heads, width, token):
    numbers = 10 * torch.arange(1, tokens + 1)[:, None] + torch.arange(width)
    return vector(use("6.a")(numbers[None], heads)[0, 0, token - 1])


@situation
def escribe(use, first, second, W_O):
    each = use("6.d")(table([first, second])[None, :, None, None], table(W_O))
    return vector(each.sum(dim=1))


@situation
def cruzada(use, decoder, encoder):
    torch.manual_seed(0)
    x, y = (torch.randn(1, length, 4, dtype=torch.float64) for length in (decoder, encoder))
    weights = use("9.1", "weights")(x, y, *torch.randn(3, 4, 4, dtype=torch.float64))
    return f"{weights.shape[-2]} × {weights.shape[-1]}"
