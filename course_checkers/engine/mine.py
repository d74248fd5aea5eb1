"""Tus piezas, juntas: las de ``mi_biblioteca.py`` y, donde falta una, la del curso, que da lo mismo.

``python curso.py mi_biblioteca`` dice cuáles hay y las comprueba.
"""

import contextlib
import traceback
from types import SimpleNamespace

import torch
import torch.nn.functional as F

import course_lib
from course_checkers.engine.catalog import modules
from course_tools.opening import library

BROKEN = "Tu {} no se puede usar: {}. En su lugar va la de course_lib."


def projections(x, W_Q, W_K, W_V, b_Q, b_K, b_V):
    return x @ W_Q + b_Q, x @ W_K + b_K, x @ W_V + b_V


def encoder_input(token_vectors, position_vectors, type_vectors, gamma, beta, eps):
    return add_and_norm(token_vectors + position_vectors, type_vectors, gamma, beta, eps)


def add_and_norm(x, sublayer_output, weight, bias, eps=1e-5):
    return F.layer_norm(x + sublayer_output, x.shape[-1:], weight, bias, eps)


def cached_attention(query, key, value, kept_keys, kept_values):
    keys, values = torch.cat([kept_keys, key], 2), torch.cat([kept_values, value], 2)
    mask = course_lib.causal_mask(keys.shape[2])[-query.shape[2] :]
    return course_lib.scaled_dot_product_attention(query, keys, values, mask)[0], keys, values


def rms_norm(x, weight, eps):
    return F.rms_norm(x, x.shape[-1:], weight, eps)


# Las que usan las lecciones para montar un modelo, y las del curso.
PIECES = {
    "my_encoder_input": encoder_input,
    "my_projections": projections,
    "my_padding_mask": lambda attention_mask: course_lib.padding_mask(attention_mask),
    "my_attention": lambda *given: course_lib.scaled_dot_product_attention(*given),
    "my_split_heads": lambda x, heads: x.unflatten(-1, (heads, -1)).transpose(1, 2),
    "my_add_and_norm": add_and_norm,
    "my_cached_attention": cached_attention,
    "my_rotary": lambda x, positions, base: course_lib.rotary(x, positions, base),
    "my_rms_norm": rms_norm,
}


def load():
    """Lo que hay en tu biblioteca, ya ejecutado: pieza → su valor o, si no se puede, por qué.

    Cada pieza se ejecuta por su lado: lo que una estropee no estropea las demás.
    """
    try:
        _, pieces = library.read()
    except OSError:
        return {}
    found, spaces = {}, []
    for piece in pieces:
        ready = {one.name: value for one, value in found.items() if not isinstance(value, str)}
        space = {"__name__": library.MODULE} | ready
        try:
            code = compile("\n" * piece.line + piece.code, str(library.place()), "exec")
            exec(code, space)
            found[piece] = space[piece.name]
        except (Exception, SystemExit) as error:
            found[piece] = story(error, piece)
        spaces.append(space)
    ready = {one.name: value for one, value in found.items() if not isinstance(value, str)}
    for space in spaces:  # lo que una necesita de las que van detrás, o de las que faltan
        space |= {name: value for name, value in (PIECES | ready).items() if name not in space}
    return found


def story(error, piece):
    """Qué le pasa a una pieza y en qué línea del archivo."""
    if isinstance(error, KeyError) and error.args == (piece.name,):
        return f"ya no define {piece.name}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(library.place())]
    line = getattr(error, "lineno", None) or (lines[-1] if lines else piece.line)
    return f"línea {line} de {library.MODULE}.py, {type(error).__name__}: {error}"[:300]


def my_pieces(*names):
    """Tus piezas para montar un modelo, y las de ``course_lib`` que falten; dice cuántas son tuyas.

    Args:
        names: cuáles, como ``"my_attention"``; sin ninguna, todas las que usan las lecciones.

    Returns:
        Un objeto con una función por pieza: ``pieces.my_attention(…)``.

    Raises:
        ValueError: si alguna no es de las que usan las lecciones.
    """
    names = names or tuple(PIECES)
    if unknown := [name for name in names if name not in PIECES]:
        raise ValueError(
            f"my_pieces: no hay ninguna pieza {unknown[0]!r}. Hay: {', '.join(PIECES)}."
        )
    mine = {}
    for piece, value in load().items():
        if piece.name in names and isinstance(value, str):
            print(BROKEN.format(piece.name, value))
        elif piece.name in names:
            mine[piece.name] = value
    missing = [name for name in names if name not in mine]
    rest = f"; de course_lib, {', '.join(missing)}" if missing else ""
    print(f"{len(mine)} de {len(names)} piezas son tuyas{rest}.")
    return SimpleNamespace(**{name: mine.get(name, PIECES[name]) for name in names})


def main():
    """Dice qué piezas hay y las comprueba, como en su lección."""
    exercises = {e.number: e for module in modules() for e in getattr(module, "EXERCISES", ())}
    found = load()
    for piece, value in found.items():
        what = f"{piece.number} · {piece.name}" + " (cambiada a mano)" * piece.edited
        if isinstance(value, str):
            print(f"✗ {what}: no se puede usar. Mira {value}.")
        elif piece.number not in exercises:
            print(f"○ {what}: no es de ningún ejercicio del curso.")
        else:
            print(what, exercises[piece.number].check(value), sep="\n  ")
    if not found:
        print(f"Todavía no hay ninguna pieza en {library.place()}.")
    names = {piece.name for piece, value in found.items() if not isinstance(value, str)}
    print(f"{len(names & set(PIECES))} de {len(PIECES)} piezas de los modelos son tuyas.")


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
