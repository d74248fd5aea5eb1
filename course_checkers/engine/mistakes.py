"""Los errores que comete la gente: sus frases, que están en archivos de texto, y las formas de darlos.

Al lado de cada módulo, un ``.txt`` tiene las frases de sus errores, una por línea y por apartados:

    [5.2]
    orden-de-la-pareja · 05 §2 · Devuelves (pesos, salida): en este curso el orden es (salida, pesos).

Son el nombre del error, que no cambia nunca, la lección y la sección donde se explica, y la frase.
Si un error se dice de varias formas, detrás del nombre va cuál: ``otra-capa#4``. Lo que va
como ``{number}`` se mide en la respuesta.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from course_checkers.engine.report import Finding

LESSONS = Path(__file__).parents[1] / "lessons"  # donde están los ejercicios, sus frases y sus preguntas


@dataclass(frozen=True)
class Mistake:
    """Un error que comete la gente.

    Args:
        id: nombre estable.
        text: qué está mal, en una frase.
        read: dónde se explica, como ``"03 §5"``.
        consequence: de un ``Look``, la frase que dice, con un número, qué le ha hecho a la salida.
            Sin ella se dice dónde se aparta más de la buena.
    """

    id: str
    text: str
    read: str = ""
    consequence: Callable | None = None

    def saying(self, **numbers):
        """El mismo, con la frase completa: con lo que se ha medido en la respuesta."""
        return replace(self, text=self.text.format(**numbers))

    def found(self, story=""):
        """Lo que se dice en un informe, con su consecuencia en la salida."""
        return Finding(self.id, self.text, story, self.read)


@dataclass(frozen=True)
class Option:
    """Una forma de dar un paso. Sin ``mistake``, es buena; con una tupla, son varios a la vez."""

    value: object
    mistake: Mistake | tuple[Mistake, ...] | None = None

    @property
    def mistakes(self):
        if isinstance(self.mistake, tuple):
            return self.mistake
        return (self.mistake,) if self.mistake else ()


def texts_of(file):
    """El archivo de frases de un módulo: el suyo o, si es de una lección, el de la lección."""
    own = Path(file).with_suffix(".txt")
    return own if own.exists() else own.with_name(own.name.split("_")[0] + ".txt")


@cache
def lines(path):
    """Las frases de un archivo: apartado → nombre → (dónde se explica, frase)."""
    found, section = {}, None
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if header := re.fullmatch(r"\[(.+)\]", line):
            section = found.setdefault(header[1], {})
        elif line and not line.startswith("#"):
            name, read, text = re.fullmatch(r"(.+?) · ?(.*?) ?· (.+)", line).groups()
            section[name] = (read, text)
    return found


def told(file, section, consequence=None, **others):
    """Los errores de un apartado del archivo de frases de un módulo: nombre → ``Mistake``.

    Args:
        file: el ``__file__`` del módulo.
        section: el apartado, como ``"5.1"``.
        consequence: la de todos (véase ``Mistake``).
        others: la de los que tienen otra: nombre, con ``_`` por ``-``, → consecuencia.
    """
    others = {name.replace("_", "-"): story for name, story in others.items()}
    return {
        name: Mistake(name.split("#")[0], text, read, others.get(name, consequence))
        for name, (read, text) in lines(texts_of(file))[section].items()
    }


def messages(file, section):
    """Las frases de un apartado, y nada más: nombre → frase."""
    return {name: text for name, (_, text) in lines(texts_of(file))[section].items()}


def ways(known, right, *wrong):
    """Las formas de dar un paso: la buena, o varias en una lista, y las malas.

    Args:
        known: los errores, por su nombre (véase ``told``).
        right: la buena; o una lista, si hay varias que valen.
        wrong: de cada error, ``(nombre, forma, forma…)``. El nombre puede ser una tupla, si esa
            forma son varios errores a la vez, o el propio ``Mistake``.
    """
    found = [Option(way) for way in (right if isinstance(right, list) else [right])]
    for name, *forms in wrong:
        if isinstance(name, tuple):
            mistake = tuple(known.get(one, one) for one in name)
        else:
            mistake = known[name] if isinstance(name, str) else name
        found += [Option(form, mistake) for form in forms]
    return found


def stepping(known):
    """``ways``, con los errores que un módulo conoce."""
    return partial(ways, known)


def mistakes(choice):
    """Los errores de un miembro de la familia, por el orden de sus pasos."""
    return list(dict.fromkeys(m for option in choice.values() for m in option.mistakes))


def repeats(choice):
    """Si un mismo error aparece en dos pasos: sería contarlo una vez y cometerlo dos."""
    return sum(len(option.mistakes) for option in choice.values()) > len(mistakes(choice))
