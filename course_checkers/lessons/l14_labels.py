"""Las etiquetas del código de Llama: de cada instrucción de transformers, el paso del curso que es."""

from pkgutil import resolve_name

from course_checkers.engine.mistakes import lines, texts_of
from course_tools.listing import Listing, ran, statements


def told(name):
    """De una función, sus etiquetas, con lo que es cada una, y las de cada instrucción, por su número."""
    clues, found = {}, {}
    for label, (numbers, clue) in lines(texts_of(__file__))[name].items():
        clues[label] = clue
        for first, _, last in (one.partition("-") for one in numbers.split(", ") if label != "dónde"):
            for number in range(int(first), int(last or first) + 1):
                found.setdefault(number, []).append(label)
    return clues, found


def read_llama(name, labels=None, run=None):
    """Enseña una función de transformers y, al lado, la del curso; y mira las etiquetas que le pones.

    Args:
        name: la función, como ``"LlamaAttention.forward"``.
        labels: etiqueta → los números de sus instrucciones, o ``...`` si aún no los sabes. Sin
            ``labels`` se enseñan las buenas, y qué es cada una.
        run: si se da, se enseña solo lo que se ejecuta al llamarla.
    """
    (clues, right), (where, ours) = told(name), lines(texts_of(__file__))[name]["dónde"]
    function, own = resolve_name(f"{where}:{name}"), ours.partition(":")[2]
    code, known = statements(function), told(own)[1]
    yours = {i + 1: [] for i in (ran(function, run) if run else range(len(code)))}
    shown = list(yours)
    for label, numbers in (labels or {}).items():
        if label not in clues:
            raise ValueError(f"read_llama: «{label}» no es una etiqueta de {name}.")
        for number in [] if numbers is ... else numbers if isinstance(numbers, list) else [numbers]:
            yours.setdefault(number, []).append(label)
    wrong = [(n, x) for n, given in yours.items() for x in given if x not in right.get(n, ())]
    said = [f"✗ La {n} no es «{label}», que es: {clues[label]}" for n, label in wrong]
    if missing := [str(number) for number in shown if not yours[number]]:
        said.append(f"Sin etiqueta: {', '.join(missing)}.")
    if not any(yours.values()):
        named = labels or dict.fromkeys(sum(map(right.get, shown), []))
        ask = ["○ Cambia cada «...» por los números de sus líneas, como [1, 2]."] * bool(labels)
        said = ask + [f"«{label}»: {clues[label]}" for label in named]
    tags = right if labels is None else yours
    rows = [(n, " + ".join(tags[n]), code[n - 1].text) for n in shown]
    mine = enumerate(statements(resolve_name(ours)), 1)
    beside = [(chr(96 + n), " + ".join(known[n]), one.text) for n, one in mine]
    foot = "\n".join(said) or "✓ Las etiquetas son esas." * bool(labels)
    return Listing({f"transformers · {name}": rows, f"el curso · {own}": beside}, foot)
