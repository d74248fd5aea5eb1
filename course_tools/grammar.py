"""Una gramática pequeña que escribe frases en inglés, su traducción y qué palabra traduce a cuál.

De «the old king looks for a red cloud and does not find it» hace «el rey viejo busca una nube roja
y no la encuentra».

Las frases dicen cosas absurdas, pero son correctas en las dos lenguas. Y obligan a hacer lo que
hace difícil traducir:

- concordar en género y número: *the* es «el», «la», «los» o «las», según un nombre que en inglés
  viene detrás y no dice su género;
- cambiar el orden: *red cloud*, «nube roja»; *find it*, «la encuentra»;
- traer el género de lejos: *it* es «lo» o «la», según lo que se ha nombrado antes;
- juntar palabras y quitarlas: *look for* es «buscar», y *I see* es «veo».

Cada frase inglesa tiene una sola traducción. Los tokens son palabras enteras, sin puntos ni más
mayúscula que la de *I*.

Una de cada seis parejas de palabras se reserva (``is_reserved``): ninguna frase de entrenamiento
contiene una, y todas las de validación contienen alguna. Así la validación pregunta por
combinaciones que nunca se han visto.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from course_lib.translator_model.marks import TOY_BOS as BOS
from course_lib.translator_model.marks import TOY_EOS as EOS
from course_lib.translator_model.marks import TOY_MARKS as MARKS

__all__ = ["BOS", "EOS", "SentencePair", "is_reserved", "sentence_pairs", "toy_vocabulary"]


# --- Las palabras ---------------------------------------------------------------------------------


class Noun(NamedTuple):
    """Un nombre. ``english`` y ``spanish``: en singular y en plural."""

    english: tuple
    spanish: tuple
    feminine: bool
    alive: bool  # los seres vivos hacen cosas; las cosas se dejan hacer


class Adjective(NamedTuple):
    """Un adjetivo. ``spanish``: en masculino, femenino y sus dos plurales."""

    english: str
    spanish: tuple
    only_things: bool


class Verb(NamedTuple):
    """Un verbo en presente. ``spanish``: con yo, nosotros, él o ella, ellos o ellas."""

    english: tuple  # sin -s y con ella
    spanish: tuple
    particle: str  # la palabra que lo acompaña: «look for»
    to_whom: str  # «gives him a book»: si se dice a quién nunca, a veces o siempre


TEXT = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8")
PARTS = [part.splitlines() for part in TEXT.split("\n\n")]
TABLES = {name.strip("[]"): [row.split() for row in rows] for name, *rows in PARTS}

NOUNS = [
    Noun((one, many), (uno, muchos), gender == "f", kind == "vivo")
    for one, many, uno, muchos, gender, kind in TABLES["nouns"]
]

ADJECTIVES = [
    Adjective(english, tuple(spanish), kind == "cosa")
    for english, *spanish, kind in TABLES["adjectives"]
]

VERBS = [
    Verb((base, third), tuple(spanish), particle.strip("-"), to_whom)
    for base, third, particle, *spanish, to_whom in TABLES["verbs"]
]

# En inglés, delante de singular y de plural; en español, en masculino, femenino y sus dos plurales.
DETERMINERS = [((one, many), tuple(spanish)) for one, many, *spanish in TABLES["determiners"]]
FIRST, FIRST_PLURAL, THIRD, THIRD_PLURAL = range(4)  # las personas, en el orden de Verb.spanish
PRONOUNS = [("I", FIRST), ("we", FIRST_PLURAL), ("they", THIRD_PLURAL)]  # basta con el verbo
TO_WHOM = [("him", "le"), ("her", "le"), ("them", "les")]
IT = (("it", "them"), ("lo", "la", "los", "las"))


def is_reserved(word, noun):
    """Dice si una pareja de palabras está reservada para la validación: una de cada seis.

    Args:
        word: un ``Adjective`` que acompaña al nombre, o un ``Verb`` del que es el objeto.
        noun: el ``Noun``.
    """
    table = ADJECTIVES if isinstance(word, Adjective) else VERBS
    return (table.index(word) + NOUNS.index(noun)) % 6 == 0


# --- La frase y su traducción ---------------------------------------------------------------------


@dataclass(frozen=True)
class SentencePair:
    """Una frase, su traducción y el alineamiento.

    Campos:

    - ``english``, ``spanish``: las palabras de cada una.
    - ``alignment``: por cada palabra española, el conjunto de las posiciones (desde 0) de las
      palabras inglesas que traduce: dos o tres si en español caben en una («busco», *I look for*).
    - ``reserved``: las parejas reservadas que contiene, en inglés: ``("red", "house")``.
    """

    english: tuple
    spanish: tuple
    alignment: tuple
    reserved: tuple = ()

    def __str__(self):
        return f"{' '.join(self.english)} → {' '.join(self.spanish)}"


@dataclass
class _Draft:
    """Una frase a medio escribir: apunta de qué palabras inglesas sale cada española."""

    english: list = field(default_factory=list)
    spanish: list = field(default_factory=list)
    alignment: list = field(default_factory=list)
    reserved: list = field(default_factory=list)

    def read(self, *words):
        """Añade palabras inglesas y devuelve sus posiciones."""
        start = len(self.english)
        self.english += words
        return frozenset(range(start, len(self.english)))

    def write(self, word, sources):
        """Añade una palabra española, que traduce las inglesas de ``sources``."""
        self.spanish.append(word)
        self.alignment.append(sources)

    def meet(self, word, noun):
        """Apunta que un adjetivo o un verbo va con este nombre."""
        if is_reserved(word, noun):
            base = word.english if isinstance(word, Adjective) else word.english[0]
            self.reserved.append((base, noun.english[0]))


def _noun_phrase(draft, rng, noun, plural):
    """«a red cloud», «una nube roja»: el adjetivo cambia de sitio y todo concuerda."""
    form = 2 * plural + noun.feminine
    (singular_word, plural_word), determiners = rng.choice(DETERMINERS)
    determiner = plural_word if plural else singular_word
    adjective = None
    if rng.random() < 0.5:
        adjective = rng.choice([a for a in ADJECTIVES if not (noun.alive and a.only_things)])
        draft.meet(adjective, noun)
    following = adjective.english if adjective else noun.english[plural]
    if determiner == "a" and following[0] in "aeiou":
        determiner = "an"
    draft.write(determiners[form], draft.read(determiner))
    if adjective:
        position = draft.read(adjective.english)
    draft.write(noun.spanish[plural], draft.read(noun.english[plural]))
    if adjective:
        draft.write(adjective.spanish[form], position)


def _subject(draft, rng):
    """Quién lo hace: → la persona del verbo y las palabras inglesas que en español no se dicen."""
    if rng.random() < 0.4:
        pronoun, person = rng.choice(PRONOUNS)
        return person, draft.read(pronoun)
    plural = rng.random() < 0.5
    _noun_phrase(draft, rng, rng.choice([n for n in NOUNS if n.alive]), plural)
    return (THIRD_PLURAL if plural else THIRD), frozenset()


def _sentence(rng):
    """Una frase: quién, qué hace con qué, a veces para quién y a veces qué más hace con ello."""
    draft = _Draft()
    person, unsaid = _subject(draft, rng)
    to_whom = rng.random() < 0.3
    excluded = "nunca" if to_whom else "siempre"
    verb = rng.choice([v for v in VERBS if v.to_whom != excluded])
    action = unsaid | draft.read(verb.english[person == THIRD], *verb.particle.split())
    if to_whom:  # «gives him», «le da»
        english, spanish = rng.choice(TO_WHOM)
        draft.write(spanish, draft.read(english))
    draft.write(verb.spanish[person], action)

    thing, plural = rng.choice([n for n in NOUNS if not n.alive]), rng.random() < 0.5
    draft.meet(verb, thing)
    _noun_phrase(draft, rng, thing, plural)
    if rng.random() < 0.7:
        _second_action(draft, rng, person, verb, thing, plural)
    return SentencePair(*map(tuple, (draft.english, draft.spanish, draft.alignment, draft.reserved)))


def _second_action(draft, rng, person, first, thing, plural):
    """«and does not find it», «y no la encuentra»: el pronombre va delante y concuerda."""
    verb = rng.choice([v for v in VERBS if v != first and v.to_whom != "siempre"])
    draft.meet(verb, thing)
    draft.write("y", draft.read("and"))
    negative = rng.random() < 0.5
    if negative:
        draft.write("no", draft.read("does" if person == THIRD else "do", "not"))
    has_ending = person == THIRD and not negative
    action = draft.read(verb.english[has_ending], *verb.particle.split())
    draft.write(IT[1][2 * plural + thing.feminine], draft.read(IT[0][plural]))
    draft.write(verb.spanish[person], action)


# --- Los conjuntos --------------------------------------------------------------------------------


def sentence_pairs(count, seed, reserved=False):
    """Frases distintas de la gramática, al azar.

    Args:
        count: cuántas.
        seed: la semilla; con la misma salen las mismas.
        reserved: False, frases sin ninguna pareja reservada (para entrenar); True, frases con
            alguna (para validar). Una frase no puede estar en los dos conjuntos.

    Returns:
        Lista de ``SentencePair``.
    """
    rng = random.Random(seed)
    pairs = {}
    while len(pairs) < count:
        pair = _sentence(rng)
        if bool(pair.reserved) == reserved:
            pairs[pair.english] = pair
    return list(pairs.values())


def toy_vocabulary():
    """Todas las palabras de las dos lenguas, cada una con su id: → diccionario.

    Los primeros ids son los de las marcas: relleno, inicio y fin.
    """
    words = ["an", "and", "do", "does", "not", "y", "no"]
    for names in (*NOUNS, *VERBS):
        words += [*names.english, *names.spanish]
    for adjective in ADJECTIVES:
        words += [adjective.english, *adjective.spanish]
    for english, spanish in (*DETERMINERS, IT):
        words += [*english, *spanish]
    words += [word for word, _ in PRONOUNS] + [v.particle for v in VERBS if v.particle]
    words += [word for pair in TO_WHOM for word in pair]
    return {word: number for number, word in enumerate([*MARKS, *sorted(set(words))])}
