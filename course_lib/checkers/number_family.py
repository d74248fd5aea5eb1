"""Lo que queda por llevar al motor: las frases en el código y las formas con pocos errores."""

from itertools import combinations, product

from course_lib.checkers.engine.mistakes import Mistake, Option, repeats


def mistakes_in(texts, consequence=None):
    """De líneas «nombre · lección y sección · qué está mal», los errores por su nombre."""
    fields = (line.split(" · ", 2) for line in texts.split("\n") if line)
    return {id: Mistake(id, text, read, consequence) for id, read, text in fields}


def steps(known, right, *errors):
    """Las formas de dar un paso: la buena y, de cada error, las formas de cometerlo."""
    return [Option(right), *(Option(way, known[id]) for id, *ways in errors for way in ways)]


def few_errors(axes, most):
    """Las formas de cometer un error, dos… hasta ``most``, cada uno en un paso."""
    for errors in range(1, most + 1):
        for chosen in combinations(axes, errors):
            for options in product(*(axes[axis][1:] for axis in chosen)):
                if not repeats(choice := dict(zip(chosen, options))):
                    yield choice
