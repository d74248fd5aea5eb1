"""Tus piezas, juntas: las de ``mi_biblioteca.py`` y, donde falta una, la del curso, que da lo mismo.

``python curso.py mi_biblioteca`` dice cuáles hay y las comprueba.
"""

import traceback
from types import SimpleNamespace

import torch
import torch.nn.functional as F

import course_lib
from course_checkers.engine import lines
from course_checkers.engine.catalog import exercises, modules
from course_tools.opening import library

BROKEN = "Tu {} no se puede usar: {}. En su lugar va la de course_lib."


def add_and_norm(x, sublayer_output, weight, bias, eps=1e-5):
    return F.layer_norm(x + sublayer_output, x.shape[-1:], weight, bias, eps)


def cached_attention(query, key, value, kept_keys, kept_values):
    keys, values = torch.cat([kept_keys, key], 2), torch.cat([kept_values, value], 2)
    mask = course_lib.causal_mask(keys.shape[2])[-query.shape[2] :]
    return course_lib.scaled_dot_product_attention(query, keys, values, mask)[0], keys, values


def grouped_attention(query, key, value):
    key, value = (x.repeat_interleave(query.shape[1] // x.shape[1], dim=1) for x in (key, value))
    return course_lib.scaled_dot_product_attention(query, key, value)[0]


# Las que hacen falta para montar los modelos del curso, y las del curso, que reciben lo mismo.
PIECES = {
    "my_encoder_input": lambda token, place, kind, *norm: add_and_norm(token + place, kind, *norm),
    "my_projections": lambda x, *given: tuple(x @ W + b for W, b in zip(given[:3], given[3:])),
    "my_softmax": lambda scores: scores.softmax(-1),
    "my_scaling": lambda query, key: query @ key.mT / query.shape[-1] ** 0.5,
    "my_causal_mask": lambda length: course_lib.causal_mask(length),
    "my_padding_mask": lambda attention_mask: course_lib.padding_mask(attention_mask),
    "my_attention": lambda *given: course_lib.scaled_dot_product_attention(*given),
    "my_split_heads": lambda x, heads: x.unflatten(-1, (heads, -1)).transpose(1, 2),
    "my_add_and_norm": add_and_norm,
    "my_cached_attention": cached_attention,
    "my_grouped_query_attention": grouped_attention,
    "my_rotary": lambda x, positions, base: course_lib.rotary(x, positions, base),
    "my_rms_norm": lambda x, weight, eps: F.rms_norm(x, x.shape[-1:], weight, eps),
}


def ours():
    """Las del curso: las de los ejercicios, y las líneas de los caminos (``lines``)."""
    return PIECES | {name: one.right for name, one in lines.lines().items()}


def usable(found):
    """De lo que hay, lo que se puede usar: nombre → valor."""
    return {piece.name: value for piece, value in found.items() if not isinstance(value, str)}


def load():
    """Lo que hay en tu biblioteca, ya ejecutado: pieza → su valor o, si no se puede, por qué.

    Cada pieza se ejecuta por su lado: lo que una estropee no estropea las demás.
    """
    found, spaces = {}, []
    try:
        _, pieces = library.read()
    except OSError:
        return {}
    for piece in pieces:
        spaces.append({"__name__": library.MODULE} | usable(found))
        try:
            code = compile("\n" * piece.line + piece.code, str(library.place()), "exec")
            exec(code, spaces[-1])
            found[piece] = spaces[-1][piece.name]
        except (Exception, SystemExit) as error:
            found[piece] = story(error, piece)
    for space in spaces:  # lo que una necesita de las que van detrás, o de las que faltan
        space |= {n: value for n, value in (ours() | usable(found)).items() if n not in space}
    return found


def story(error, piece):
    """Qué le pasa a una pieza y en qué línea del archivo."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(library.place())]
    line = getattr(error, "lineno", None) or (lines or [piece.line + 1])[-1]
    if isinstance(error, KeyError) and error.args == (piece.name,):
        return f"ya no define {piece.name}"
    return f"línea {line} de {library.MODULE}.py, {type(error).__name__}: {error}"[:300]


def my_pieces(*names):
    """Tus piezas para montar un modelo, y las del curso que falten; dice cuántas son tuyas.

    Args:
        names: cuáles, como ``"my_attention"``, o una línea, ``"scale"``; sin ninguna, todas las de ejercicios.

    Returns:
        Un objeto con una función por pieza: ``pieces.my_attention(…)``.

    Raises:
        ValueError: si alguna no es de las que usan las lecciones.
    """
    names, known = names or tuple(PIECES), ours()
    if unknown := set(names) - set(known):
        raise ValueError(f"my_pieces: no hay ninguna pieza {min(unknown)!r}: son {', '.join(known)}.")
    found = load()
    for piece, value in found.items():
        if piece.name in names and isinstance(value, str):
            print(BROKEN.format(piece.name, value))
    mine = {name: value for name, value in usable(found).items() if name in names}
    missing = [name for name in names if name not in mine]
    rest = f"; de course_lib, {', '.join(missing)}" if missing else ""
    print(f"{len(mine)} de {len(names)} piezas son tuyas{rest}.")
    return SimpleNamespace(**{name: mine.get(name, known[name]) for name in names})


def main():
    """Dice qué piezas hay y las comprueba, como en su lección."""
    known = {e.number: e for module in modules() for e in exercises(module)}
    found = load()
    for piece, value in found.items():
        what = f"{piece.number} · {piece.name}" + " (cambiada a mano)" * piece.edited
        if isinstance(value, str):
            print(f"✗ {what}: no se puede usar. Mira {value}.")
        elif piece.name in lines.lines():
            print(what, lines.check(lines.lines()[piece.name], value), sep="\n  ")
        elif piece.number in known:
            print(what, known[piece.number].check(value), sep="\n  ")
    if not found:
        print(f"Todavía no hay ninguna pieza en {library.place()}.")
    mine = len(usable(found).keys() & PIECES.keys())
    verb = "es tuya" if mine == 1 else "son tuyas"
    print(f"De las {len(PIECES)} piezas con las que se montan los modelos, {mine} {verb}.")


if __name__ == "__main__":
    main()
