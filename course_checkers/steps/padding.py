"""Las formas de mirar el relleno: qué tokens se toman por tokens de verdad, y a qué se aplica."""

import torch

from course_checkers.engine import Case, told, ways
from course_checkers.steps.mask_notation import MaskExercise, permissions


def from_the_end(real):
    """Cuántos tokens de verdad hay desde cada uno hasta el final."""
    return real.flip(-1).cumsum(-1).flip(-1)


def before(real, end):
    return (torch.arange(real.shape[-1]) < end).expand_as(real)


# Qué tokens se toman por tokens de verdad, (B, L) → (B, L). Después, mirando a las demás frases.
REAL_OPTIONS = ways(
    told(__file__, "real", permissions),
    torch.clone,
    ("relleno-delante", lambda real: before(real, real.sum(-1, keepdim=True))),
    ("relleno-delante", lambda real: from_the_end(real) > 0, lambda real: real.cumprod(-1) > 0),
    ("corta-en-el-primer-cero", lambda real: before(real, real.int().argmin(-1, keepdim=True))),
    ("al-contrario", lambda real: real.flip(-1)),
    ("primera-frase", lambda real: real[:1].expand_as(real)),
    ("última-frase", lambda real: real[-1:].expand_as(real)),
    ("mezcla-frases", lambda real: real.all(0).expand_as(real), lambda real: real.any(0).expand_as(real)),
    ("mezcla-frases", lambda real: before(real, real.sum(-1).max())),
    ("frases-cambiadas", lambda real: real.flip(0)),
    ("nada-permitido", torch.zeros_like),
)
OF_EACH = {"relleno-delante", "corta-en-el-primer-cero", "al-contrario"}
OF_OTHERS = {  # los que no miran el relleno de cada frase
    option.value for option in REAL_OPTIONS for m in option.mistakes if m.id not in OF_EACH
}


def either_side(column, row):
    return column | row


# A qué se aplica: a las columnas (keys), a las filas (queries) o a las dos.
SIDE_OPTIONS = ways(
    told(__file__, "side", permissions),
    lambda column, row: column,
    ("tapa-filas", lambda column, row: row),
    ("filas-y-columnas", lambda column, row: column & row),
    ("filas-o-columnas", either_side),
)


def applied(tokens, side):
    """De qué tokens se miran, (B, L), las casillas permitidas."""
    return tokens if side is None else side(tokens[:, None, None], tokens[:, None, :, None])


def lot(rows, name=""):
    """Una prueba: de cada frase, una fila de ``attention_mask``, como «1110»."""
    return Case(name, (torch.tensor([list(map(int, row)) for row in rows.split()]),))


CASES = (
    lot("11111 11100", "2 frases de 5 y 3 tokens"),
    lot("110000 111100 100000", "3 frases de 2, 4 y 1 tokens en 6 columnas"),
    lot("111 110 100", "3 frases de 3, 2 y 1 tokens"),
    lot("1110", "1 frase de 3 tokens y un relleno"),
    lot("001111 011111", "2 frases con el relleno delante"),
    lot("111 111", "2 frases sin relleno"),
    lot("1110 0000", "2 frases, una sin ningún token"),
    lot("0111111 1111000", "2 frases, con el relleno delante y detrás"),
)


class PaddedMask(MaskExercise):
    """Lo que comparten las dos que salen de ``attention_mask``. ``mask`` recibe los pasos, por orden."""

    names = ("attention_mask",)
    letters = ("B L",)
    extra = (
        lot("110 111", "2 frases de 2 y 3 tokens"),  # las de los enunciados
        lot("110", "1 frase de 2 tokens y un relleno"),
        lot("1" * 70 + " " + "0" * 37 + "1" * 33, "2 frases de 70 y 33 tokens"),
    )
    tiny = tuple(map(lot, ("10", "11", "01", "110", "10 11")))

    def compute(self, choice, attention_mask):
        return {"output": self.mask(*(choice[axis] for axis in self.axes), attention_mask)}
