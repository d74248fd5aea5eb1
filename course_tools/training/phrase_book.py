"""El libro de frases del curso: saludos, horas, precios, familia, clase… en inglés y en español.

Las palabras y los moldes están en ``phrase_book.json``, escritos para el curso. Un molde es
«inglés => español», con huecos:

- ``{animal}``: una palabra de esa lista, y su traducción; ``{animal+}``, en plural; ``{animal2}``,
  otra distinta.
- ``{un@animal}``, ``{color@animal}``: la palabra concuerda con la del hueco, en género, o en
  persona si es un verbo; en inglés, ``{a@animal}`` es *a* o *an*, e ``{is@quien}``, *is* o *are*.
- ``{hace*}``: un verbo en gerundio.
- ``[Hi|Hello]``: dos maneras de decirlo en inglés. Si llevan traducción, ``[red = rojo|…]``, va a
  los ``{}`` del español, por orden.

Una palabra es «inglés|plural = español|plural género». Los plurales regulares no se escriben. Un
verbo da sus formas: en inglés, tres; en español, las seis del presente, el gerundio y, si lo lleva,
``= complemento``.
"""

import json
import random
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

PATH = Path(__file__).with_name("phrase_book.json")
SLOT = re.compile(r"\{(?:([\w']+)@)?(\w+?)(\d?)([+*]?)\}")
CHOICE = re.compile(r"\[([^\]]*)\]")
# En masculino y femenino, en singular y plural.
DETERMINERS = {
    "el": ("el", "la", "los", "las"),
    "un": ("un", "una", "unos", "unas"),
    "ningún": ("ningún", "ninguna", "ningunos", "ningunas"),
    "este": ("este", "esta", "estos", "estas"),
    "ese": ("ese", "esa", "esos", "esas"),
    "al": ("al", "a la", "a los", "a las"),
    "del": ("del", "de la", "de los", "de las"),
}
PLURAL_VERBS = {"is": "are", "has": "have", "es": "son"}


class Word(NamedTuple):
    """Una palabra: sus formas en las dos lenguas y con qué concuerda lo que la acompaña."""

    english: list
    spanish: list
    feminine: bool = False
    person: int = 0  # de 1 (yo) a 6 (ellos); 0, si no es quien hace algo
    rest: str = ""  # el complemento de un verbo, en español

    @property
    def verb(self):
        return len(self.spanish) >= 6


def english_plural(word):
    if re.search(r"(s|sh|ch|x)$", word):
        return word + "es"
    return re.sub(r"(?<=[^aeiou])y$", "ie", word) + "s"


def spanish_plural(word):
    if word[-1] in "aeiouáéó":
        return word + "s"
    plain = {"á": "a", "é": "e", "í": "i", "ó": "o", "ú": "u"}
    word = re.sub("[áéíóú](?=[ns]$)", lambda accented: plain[accented[0]], word)
    return re.sub("z$", "c", word) + "es"


def read_word(text):
    """«dog = perro m» → ``Word``."""
    english, spanish, *rest = text.split(" = ")
    # El final dice el género («m», «f») o la persona.
    marks = re.fullmatch(r"(.*?) ?(?:\b([mf]))?(?: ?\b([1-6]))?", spanish)
    forms = marks[1].split("|")
    english = english.split("|")
    if len(english) == 1:
        head, _, last = english[0].rpartition(" ")
        english.append(f"{head} {english_plural(last)}".strip())
    if len(forms) == 1 and forms[0]:
        head, _, tail = forms[0].partition(" ")  # «oficina de correos», «oficinas de correos»
        forms.append(f"{spanish_plural(head)} {tail}".strip())
    return Word(english, forms, marks[2] == "f", int(marks[3] or 0), *rest)


@cache
def read_book():
    """Las listas de palabras y los moldes: ``({lista: [Word]}, [molde])``."""
    book = json.loads(PATH.read_text(encoding="utf-8"))
    lists = {}

    def words(name):
        if name not in lists:
            entries = "; ".join(book["palabras"][name]).split("; ")
            nested = [words(e[1:]) if e[0] == "@" else [read_word(e)] for e in entries]
            lists[name] = [word for group in nested for word in group]
        return lists[name]

    for name in book["palabras"]:
        words(name)
    return lists, [mould for theme in book["frases"].values() for mould in theme]


def agree_in_spanish(text, noun, plural):
    """Un determinante o un adjetivo, como el nombre: «rojo», casa → «roja»."""
    if text in DETERMINERS:
        return DETERMINERS[text][2 * plural + noun.feminine]
    masculine, _, feminine = text.partition("/")
    form = (feminine or re.sub("o$", "a", masculine)) if noun.feminine else masculine
    return spanish_plural(form) if plural else form


def _agreement(first, chosen, word, plural, english):
    """Lo que va en ``{first@word}``."""
    if first in chosen:
        one = chosen[first]
        if one.verb:
            if english:
                return one.english[word.person in (3, 0)]
            return f"{one.spanish[word.person - 1]} {one.rest}".strip()
        return one.english[0] if english else agree_in_spanish(one.spanish[0], word, plural)
    if english and first == "a":
        return "an" if re.match("[aeiou](?!ni)|ho(n|ur)", word.english[0], re.IGNORECASE) else "a"
    if word.person:  # un verbo escrito en el molde, en tercera persona
        if word.person == 3:
            return first
        return PLURAL_VERBS.get(first) or (re.sub("s$", "", first) if english else first + "n")
    return agree_in_spanish(first, word, plural)


def fill(mould, rng):
    """Rellena un molde al azar: → ``(inglés, español)``."""
    lists, _ = read_book()
    english, spanish = mould.split(" => ")
    translations = []

    def choose(options):
        text, _, translation = rng.choice(options[1].split("|")).partition(" = ")
        if translation:
            translations.append(translation)
        return text

    english = CHOICE.sub(choose, english)
    for translation in translations:
        spanish = spanish.replace("{}", translation, 1)
    chosen = {}
    for first, name, number, _ in SLOT.findall(english + spanish):
        for list_name, key in ((first, first), (name, name + number)):
            if list_name in lists and key not in chosen:
                free = [word for word in lists[list_name] if word not in chosen.values()]
                chosen[key] = rng.choice(free)

    def put(slot, is_english):
        first, name, number, mark = slot.groups()
        # Una palabra que no es un hueco del molde («casa», «ella») es femenina.
        word = chosen.get(name + number, Word([name], [name], True))
        if first:
            return _agreement(first, chosen, word, mark == "+", is_english)
        forms = word.english if is_english else word.spanish
        if mark == "*":
            return forms[-1] if is_english else f"{forms[6]} {word.rest}".strip()
        text = forms[mark == "+"]
        return text if is_english else text.partition("/")[0]

    sides = [
        SLOT.sub(lambda slot, is_english=is_english: put(slot, is_english), text)
        for is_english, text in ((True, english), (False, spanish))
    ]
    sides[1] = re.sub(r"\by (?=[Hh]?[Ii](?![aeou]))", "e ", sides[1])  # «física e historia»
    return tuple(re.sub(r"^([¿¡\"]*)(\w)", lambda m: m[1] + m[2].upper(), s) for s in sides)


def plain(text):
    """Un texto sin mayúsculas ni signos: para ver si dos frases son la misma."""
    return " ".join(re.findall(r"[\w']+", text.lower().replace("’", "'")))


def phrase_pairs(seed, each=40, excluded=()):
    """Frases distintas de los moldes, al azar; de cada molde, ``each`` como mucho.

    Args:
        seed: la semilla; con la misma salen las mismas.
        each: cuántas de cada molde.
        excluded: frases inglesas que no pueden salir (se comparan con ``plain``).

    Returns:
        Lista de pares ``(inglés, español)``.
    """
    rng, pairs = random.Random(seed), {}
    forbidden = set(map(plain, excluded))
    for mould in read_book()[1]:
        made = dict(fill(mould, rng) for _ in range(2 * each))
        new = [p for p in made.items() if plain(p[0]) not in forbidden and p[0] not in pairs]
        pairs.update(new[:each])
    return list(pairs.items())


def read_first_sentences(path):
    """Las frases inglesas de un archivo de líneas «asunto, tabulador, inglés…»."""
    return [line.split("\t")[1] for line in path.read_text(encoding="utf-8").splitlines()]
