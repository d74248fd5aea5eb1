"""Las formas de mirar el relleno: qué tokens se toman por tokens de verdad, y a qué se aplica."""

import torch

from course_lib.checkers.engine.exercise import Case
from course_lib.checkers.engine.mistakes import told, ways
from course_lib.checkers.steps.mask_notation import permissions


def from_the_end(real):
    """Cuántos tokens de verdad hay desde cada uno hasta el final."""
    return real.flip(-1).cumsum(-1).flip(-1)


def before(real, end):
    return (torch.arange(real.shape[-1]) < end).expand_as(real)


# Qué tokens se toman por tokens de verdad, (B, L) → (B, L). Después, mirando a las demás frases.
REAL_OPTIONS = ways(
    told(__file__, "real", permissions),
    torch.clone,
    (
        "relleno-delante",
        lambda real: before(real, real.sum(-1, keepdim=True)),
        lambda real: from_the_end(real) > 0,
        lambda real: real.cumprod(-1) > 0,
    ),
    ("corta-en-el-primer-cero", lambda real: before(real, real.int().argmin(-1, keepdim=True))),
    ("al-contrario", lambda real: real.flip(-1)),
    ("primera-frase", lambda real: real[:1].expand_as(real)),
    ("última-frase", lambda real: real[-1:].expand_as(real)),
    (
        "mezcla-frases",
        lambda real: real.all(0).expand_as(real),
        lambda real: real.any(0).expand_as(real),
        lambda real: before(real, real.sum(-1).max()),
    ),
    ("frases-cambiadas", lambda real: real.flip(0)),
    ("nada-permitido", torch.zeros_like),
)
OF_EACH = {"relleno-delante", "corta-en-el-primer-cero", "al-contrario"}
OF_OTHERS = {  # los que no miran el relleno de cada frase
    option.value for option in REAL_OPTIONS for m in option.mistakes if m.id not in OF_EACH
}


def columns(column, row):
    return column


def either_side(column, row):
    return column | row


# A qué se aplica: a las columnas (keys), a las filas (queries) o a las dos.
SIDE_OPTIONS = ways(
    told(__file__, "side", permissions),
    columns,
    ("tapa-filas", lambda column, row: row),
    ("filas-y-columnas", lambda column, row: column & row),
    ("filas-o-columnas", either_side),
)


def applied(tokens, side):
    """De qué tokens se miran, (B, L), las casillas permitidas."""
    return tokens if side is None else side(tokens[:, None, None], tokens[:, None, :, None])


def lots(*tables):
    """Las pruebas: cada tabla es un ``attention_mask``."""
    return tuple(Case(name, (torch.tensor(table),)) for name, table in tables)


CASES = lots(
    ("2 frases de 5 y 3 tokens", [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]),
    (
        "3 frases de 2, 4 y 1 tokens en 6 columnas",
        [[1] * 2 + [0] * 4, [1] * 4 + [0] * 2, [1] + [0] * 5],
    ),
    ("3 frases de 3, 2 y 1 tokens", [[1, 1, 1], [1, 1, 0], [1, 0, 0]]),
    ("1 frase de 3 tokens y un relleno", [[1, 1, 1, 0]]),
    ("2 frases con el relleno delante", [[0, 0, 1, 1, 1, 1], [0, 1, 1, 1, 1, 1]]),
    ("2 frases sin relleno", [[1, 1, 1], [1, 1, 1]]),
    ("2 frases, una sin ningún token", [[1, 1, 1, 0], [0, 0, 0, 0]]),
    ("2 frases, con el relleno delante y detrás", [[0] + [1] * 6, [1] * 4 + [0] * 3]),
)
EXTRA = lots(
    ("2 frases de 2 y 3 tokens", [[1, 1, 0], [1, 1, 1]]),  # las de los enunciados
    ("1 frase de 2 tokens y un relleno", [[1, 1, 0]]),
    ("2 frases de 70 y 33 tokens", [[1] * 70, [0] * 37 + [1] * 33]),
)
TINY = lots(
    *(("", table) for table in ([[1, 0]], [[1, 1]], [[0, 1]], [[1, 1, 0]], [[1, 0], [1, 1]]))
)
