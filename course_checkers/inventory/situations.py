"""Lo que se pregunta en el inventario: de cada concepto, la cuenta que da su respuesta, dicha en pocas letras.

Cada función recibe ``use`` y los números de una forma, los de ``items.toml``. ``use("5.1")`` es la cuenta de
ese ejercicio o de esa línea: la buena o, para calcular una respuesta mala, la de quien comete su error. Si el
concepto no tiene función, su cuenta es la que dice ``items.toml``, tal cual.
"""

import torch

def table(rows):
    return torch.tensor(rows, dtype=torch.float64)


def number(value):
    """Un número, con los decimales que hacen falta, dos como mucho."""
    return f"{float(value):z.2f}".rstrip("0").rstrip(".").replace("-", "−")


def vector(values):
    if not torch.as_tensor(values).shape:
        return number(values)
    return f"({', '.join(map(number, torch.as_tensor(values).flatten()))})"


def permissions(row):
    """Una fila de permisos: sí, no…, de izquierda a derecha."""
    return " ".join("1" if allowed else "0" for allowed in row.flatten().tolist())


def places(moved):
    """Los que se han movido, contados desde 1; y si son todos o ninguno, con palabras."""
    found = [f"#{place}" for place, one in enumerate(moved.tolist(), 1) if one]
    return "todas" if len(found) == len(moved) else ", ".join(found) or "ninguna"


def compared(after, before):
    """Qué le ha pasado a un número: con nombres que dice ``items.toml``."""
    return "igual" if torch.isclose(after, before) else "sube" if after > before else "baja"


def hidden_weight(use, scores, hidden, look):
    """Cuánto pesa uno de los que se pueden mirar: la 5.1, con d_k = 1 y, de values, la identidad."""
    keep = torch.ones(1, len(scores), dtype=torch.bool)
    keep[0, hidden - 1] = False
    Q, K, V = (table(one)[None, None] for one in ([[1]], [[x] for x in scores], torch.eye(len(scores)).tolist()))
    return number(use("5.1")(Q, K, V, keep).flatten()[look - 1])


# --- Puntuar --------------------------------------------------------------------------------------


def medida(use, q, keys):
    return max(keys, key=lambda name: float(use("1.a")(table(q), table(keys[name]))))


def pregunta_y_responde(use, Q, K, asks, answers):
    return number(use("1.c")(table(Q), table(K))[asks - 1, answers - 1])


def orden(use, before, after, word):
    """Si la salida de una palabra es la de antes, la de quien estaba en su sitio u otra."""
    vectors = {name: table([3.0, 1, 0, 2]).roll(place) + place for place, name in enumerate(before)}
    positions, out = table([[0, 5, 1, 3], [4, 0, 2, 1], [1, 1, 6, 0]]), []
    for order in (before, after):
        X = use("2.c")(torch.stack([vectors[name] for name in order]), positions)
        out.append(torch.softmax(X @ X.T / 8, dim=-1) @ X)
    old, now = out[0], out[1][after.index(word)]
    if torch.allclose(now, old[before.index(word)]):
        return "la-suya"
    return "la-del-sitio" if torch.allclose(now, old[after.index(word)]) else "otra"


# --- Repartir -------------------------------------------------------------------------------------


def diferencias(use, scores, weights, now):
    """Con ``scores`` salen esos pesos: cuánto pesa la última con las de ahora."""
    assert [number(w) for w in torch.softmax(table(scores), dim=-1)] == [number(w) for w in weights]
    return number(use("3.1")(table([now]))[0, -1])


def reparto(use, scores, key, more, look):
    after = list(scores)
    after[key - 1] += more
    before, now = (use("3.1")(table([row]))[0, look - 1] for row in (scores, after))
    return compared(now, before)


def raiz(use, score, width, heads):
    Q = torch.full((1, heads, 1, width // heads), score * heads / width, dtype=torch.float64)
    return number(use("5.1", "scores")(Q, torch.ones_like(Q), Q, None)[0, 0])


def anchura(use, before, after):
    """Cuántas veces se ensanchan las puntuaciones, ya divididas, de vectores al azar."""
    torch.manual_seed(0)
    spread = []
    for d_k in (before, after):
        Q, K = torch.randn(2, 4000, d_k, dtype=torch.float64)
        spread.append(use("3.c")((Q * K).sum(dim=-1), d_k).std())
    return "×" + number(2.0 ** round(float((spread[1] / spread[0]).log2())))


def fila_propia(use, tokens, moved):
    """Qué filas de pesos cambian si cambia la key de un token."""
    torch.manual_seed(0)
    Q, K = torch.randn(2, tokens, 4, dtype=torch.float64)
    other = K.clone()
    other[moved - 1] += 1
    before, after = (torch.softmax(use("1.c")(Q, one), dim=-1) for one in (K, other))
    return places((before != after).any(dim=-1))


# --- Máscaras -------------------------------------------------------------------------------------


def futuro(use, tokens, row):
    return permissions(use("4.a")(tokens)[row - 1])


def tapar(use, scores, hidden, look):
    return hidden_weight(use, scores, hidden, look)


def fuga(use, scores, hidden, rise, look):
    return hidden_weight(use, [x + rise * (k == hidden - 1) for k, x in enumerate(scores)], hidden, look)


def relleno(use, real, padded):
    """La fila de un token de verdad y la columna de uno de relleno."""
    length = real + padded
    mask = use("4.2")(torch.tensor([[1] * real + [0] * padded])).expand(1, 1, length, length)[0, 0]
    return f"{permissions(mask[0])}; {permissions(mask[:, -1])}"


def dos_mascaras(use, real, row):
    keep = torch.tensor(real, dtype=torch.bool)[None]
    joined = use("4.c")(use("4.a")(len(real)), keep)
    return permissions(joined.expand(len(real), -1)[row - 1])


def pasado(use, tokens, moved):
    """Qué salidas cambian si cambia un token, con la máscara causal."""
    torch.manual_seed(0)
    X = torch.randn(tokens, 4, dtype=torch.float64)
    other, mask = X.clone(), use("4.1")(tokens).reshape(tokens, tokens).bool()
    other[moved - 1] += 1
    before, after = (torch.softmax((x @ x.T).masked_fill(~mask, -torch.inf), dim=-1) @ x for x in (X, other))
    return places((before != after).any(dim=-1))


# --- Mezclar y sumar ------------------------------------------------------------------------------


def mezcla(use, weights, V):
    return vector(use("5.a")(use("3.1")(table([weights]).log()), table(V)))


def empate(use, V):
    """Dos keys empatan, y las demás quedan muy lejos."""
    return vector(use("5.a")(use("3.1")(table([[0, 0] + [-1000] * (len(V) - 2)])), table(V)))


def quien_trae(use, weights, norms):
    def brought(name):
        return float(use("5.a")(table([[weights[name]]]), table([[norms[name]]])).norm())

    return max(weights, key=brought)


# --- Varias cabezas y dos frases ------------------------------------------------------------------


def cabezas(use, tokens, heads, width, token):
    numbers = torch.arange(1, tokens * width + 1).reshape(1, tokens, width)
    return vector(use("6.a")(numbers, heads)[0, 0, token - 1])


def escribe(use, first, second, W_O):
    each = use("6.d")(table([first, second])[None, :, None, None], table(W_O))
    return vector(each.sum(dim=1))


def cruzada(use, decoder, encoder):
    torch.manual_seed(0)
    x, y = (torch.randn(1, length, 4, dtype=torch.float64) for length in (decoder, encoder))
    weights = use("9.1", "weights")(x, y, *torch.randn(3, 4, 4, dtype=torch.float64))
    return f"{weights.shape[-2]} × {weights.shape[-1]}"
