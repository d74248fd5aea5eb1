"""La gramática de la lección 10, comprobada con reglas escritas aparte: leen las frases, no las tablas."""

import functools
import re
from collections import Counter

import pytest
from prose import is_in

from course_tools.grammar import (
    ADJECTIVES, BOS, EOS, MARKS, NOUNS, VERBS, is_reserved, sentence_pairs, toy_vocabulary,
)  # fmt: skip
from course_lib.training import PAD


@functools.cache
def set_of(reserved):
    return sentence_pairs(4000, seed=7, reserved=reserved)


def every_pair():
    return set_of(False) + set_of(True)


# --- Lo que se sabe de cada lengua sin mirar la gramática -----------------------------------------


def each_word(text):
    return set(text.split())


FEMININE = each_word(
    "vaca gallina niña reina mujer casa silla manzana nube flor foto carta vacas gallinas niñas "
    "reinas mujeres casas sillas manzanas nubes flores fotos cartas"
)
GENDER_AND_NUMBER = {
    "el": "ms", "la": "fs", "los": "mp", "las": "fp", "lo": "ms", "un": "ms", "una": "fs",
    "unos": "mp", "unas": "fp", "este": "ms", "esta": "fs", "estos": "mp", "estas": "fp",
    "mi": ".s", "mis": ".p",
}  # fmt: skip
ENGLISH_NUMBER = dict(zip(("the", "a", "an", "some", "this", "these", "my"), ".sspsp."))
ENGLISH_ADJECTIVES = each_word("old small strange big elegant red white black yellow expensive green")

# El principio de las palabras españolas que traducen cada inglesa.
STEMS = {
    "dog": "perro", "cat": "gato", "boy": "niño", "king": "rey", "man": "hombre", "men": "hombre",
    "cow": "vaca", "hen": "gallina", "girl": "niña", "queen": "reina", "woman": "mujer",
    "women": "mujer", "book": "libro", "hat": "sombrero", "bone": "hueso", "pencil": "lápi",
    "clock": "reloj", "map": "mapa", "train": "tren", "house": "casa", "chair": "silla",
    "apple": "manzana", "cloud": "nube", "flower": "flor", "photo": "foto", "letter": "carta",
    "old": "viej", "small": "pequeñ", "strange": "extrañ", "big": "grande", "elegant": "elegante",
    "red": "roj", "white": "blanc", "black": "negr", "yellow": "amarill", "expensive": "car",
    "green": "verde", "see": "ve", "want": "qu", "look": "busc", "find": "enc", "lose": "p",
    "paint": "pint", "keep": "guard", "give": "d", "show": "m", "buy": "compr", "sell": "vend",
    "send": "env", "the": "[el]", "a": "un", "an": "un", "some": "un", "this": "est",
    "these": "est", "my": "mi", "and": "y$", "not": "no$", "it": "l[oa]$", "him": "le$",
    "her": "le$", "them": "l[aeo]s$",
}  # fmt: skip

ENGLISH_PHRASE = rf"(?:the|an?|some|this|these|my) (?:(?:{'|'.join(ENGLISH_ADJECTIVES)}) )?\w+"
SPANISH_PHRASE = (
    r"(?:el|la|los|las|una?|un[oa]s|est[ea]|est[oa]s|mis?) \w+"
    r"(?: (?:(?:viej|pequeñ|extrañ|roj|blanc|negr|amarill|car)[oa]|grande|elegante|verde)s?)?"
)
ENGLISH = re.compile(
    rf"(?:(?P<pronoun>I|we|they)|(?P<subject>{ENGLISH_PHRASE})) "
    rf"(?P<verb>\w+)(?: for)?(?: (?P<whom>him|her|them))? (?P<object>{ENGLISH_PHRASE})"
    r"(?: and (?P<negation>does not |do not )?(?P<second>\w+)(?: for)? (?P<it>it|them))?"
)
SPANISH = re.compile(
    rf"(?:(?P<subject>{SPANISH_PHRASE}) )?(?:(?P<whom>les?) )?"
    rf"(?P<verb>\w+) (?P<object>{SPANISH_PHRASE})"
    r"(?: y (?P<negation>no )?(?P<it>lo|la|los|las) (?P<second>\w+))?"
)


def parts(pair):
    """Los trozos de las dos frases de un par: dos diccionarios con las mismas claves."""
    english = ENGLISH.fullmatch(" ".join(pair.english))
    spanish = SPANISH.fullmatch(" ".join(pair.spanish))
    assert english, f"{pair}: el inglés no es de la gramática"
    assert spanish, f"{pair}: el español no es de la gramática"
    for name in spanish.groupdict():
        assert bool(english[name]) == bool(spanish[name]), f"{pair}: falta o sobra {name}"
    return english.groupdict(), spanish.groupdict()


def features(noun):
    return ("f" if noun in FEMININE else "m") + ("p" if noun.endswith("s") else "s")


def agrees(word, wanted):
    return all(a in (b, ".") for a, b in zip(word, wanted))


def english_number(noun):
    return "p" if noun.endswith("s") or noun in ("men", "women") else "s"


def spanish_person(verb):
    return next(
        person
        for ending, person in (("mos", "we"), ("n", "p"), ("o", "I"), ("oy", "I"), ("", "s"))
        if verb.endswith(ending)
    )


def phrase_words(phrase):
    """(determinante, nombre, adjetivo o None) de un grupo en español."""
    determiner, noun, *adjective = phrase.split()
    return determiner, noun, adjective[0] if adjective else None


def every_phrase():
    for pair in every_pair():
        english, spanish = parts(pair)
        for name in ("subject", "object"):
            if english[name]:
                yield english[name], spanish[name]


# --- El español -----------------------------------------------------------------------------------


def test_determiners_and_adjectives_agree_with_their_noun():
    endings = {"o": "ms", "a": "fs", "os": "mp", "as": "fp", "e": ".s", "es": ".p"}
    for _, phrase in every_phrase():
        determiner, noun, adjective = phrase_words(phrase)
        assert agrees(GENDER_AND_NUMBER[determiner], features(noun)), phrase
        if adjective:
            ending = re.search(r"[aeo]s?$", adjective)[0]
            assert agrees(endings[ending], features(noun)), phrase


def test_verbs_agree_with_the_subject():
    for pair in every_pair():
        english, spanish = parts(pair)
        if spanish["subject"]:
            person = features(phrase_words(spanish["subject"])[1])[1]
        else:
            person = {"I": "I", "we": "we", "they": "p"}[english["pronoun"]]
        for verb in filter(None, (spanish["verb"], spanish["second"])):
            assert spanish_person(verb) == person, str(pair)


def test_the_pronoun_agrees_with_the_object_and_goes_before_the_verb():
    pronouns = Counter()
    for pair in every_pair():
        _, spanish = parts(pair)
        if spanish["it"]:
            wanted = features(phrase_words(spanish["object"])[1])
            assert GENDER_AND_NUMBER[spanish["it"]] == wanted, str(pair)
            pronouns[spanish["it"]] += 1
    assert len(pronouns) == 4
    assert min(pronouns.values()) > 100


def test_to_whom():
    for pair in every_pair():
        english, spanish = parts(pair)
        wanted = {None: None, "him": "le", "her": "le", "them": "les"}[english["whom"]]
        assert spanish["whom"] == wanted
        if {"give", "gives", "show", "shows"} & set(pair.english):
            assert english["whom"], f"{pair}: falta a quién"


# --- El inglés ------------------------------------------------------------------------------------


def test_english_phrases():
    for phrase, spanish in every_phrase():
        determiner, *adjective, noun = phrase.split()
        assert set(adjective) <= ENGLISH_ADJECTIVES
        number = english_number(noun)
        assert agrees(ENGLISH_NUMBER[determiner], number), phrase
        assert number == features(phrase_words(spanish)[1])[1], f"{phrase} → {spanish}"
        if determiner in ("a", "an"):
            assert (determiner == "an") == (phrase.split()[1][0] in "aeiou"), phrase


def test_english_verbs_and_pronouns():
    for pair in every_pair():
        english, _ = parts(pair)
        third = bool(english["subject"]) and english_number(english["subject"].split()[-1]) == "s"
        assert english["verb"].endswith("s") == third, str(pair)
        if english["second"]:
            if english["negation"]:
                assert english["negation"] == ("does not " if third else "do not "), str(pair)
            assert english["second"].endswith("s") == (third and not english["negation"]), str(pair)
            plural = english_number(english["object"].split()[-1]) == "p"
            assert english["it"] == ("them" if plural else "it"), str(pair)


def test_a_sentence_has_one_translation():
    translations = {}
    for pair in every_pair() + sentence_pairs(3000, seed=8):
        assert translations.setdefault(pair.english, pair.spanish) == pair.spanish


@pytest.mark.lenta
def test_words_are_in_the_dictionaries():
    english = {word for pair in every_pair() for word in pair.english}
    spanish = {word for pair in every_pair() for word in pair.spanish}
    assert [word for word in english if not is_in("en_US", word)] == []
    assert [word for word in spanish if not is_in("es_ES", word)] == []
    assert english.isdisjoint(spanish)
    assert set(toy_vocabulary()) == english | spanish | set(MARKS)


# --- El alineamiento ------------------------------------------------------------------------------


def test_every_word_is_aligned_with_what_it_translates():
    for pair in every_pair():
        assert len(pair.alignment) == len(pair.spanish)
        assert frozenset().union(*pair.alignment) == frozenset(range(len(pair.english)))
        assert sum(map(len, pair.alignment)) == len(pair.english), "una inglesa, una sola española"
        for word, sources in zip(pair.spanish, pair.alignment):
            english = [pair.english[j] for j in sorted(sources)]
            silent = {"I", "we", "they", "for", "do", "does"}
            (base,) = [w for w in english if w not in silent]
            forms = {base, base.removesuffix("s")}
            (stem,) = {STEMS[form] for form in forms if form in STEMS}
            assert re.match(stem, word), f"{pair}: {word} ← {english}"


# --- Los conjuntos --------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_sentences():
    assert sentence_pairs(50, seed=3) == sentence_pairs(50, seed=3)
    assert sentence_pairs(50, seed=3) != sentence_pairs(50, seed=4)
    assert sentence_pairs(50, seed=3) == sentence_pairs(200, seed=3)[:50]


@pytest.mark.parametrize("reserved", [False, True])
def test_sentences_do_not_repeat(reserved):
    assert len({pair.english for pair in set_of(reserved)}) == len(set_of(reserved)) == 4000


def met(pair):
    """Las parejas (adjetivo o verbo, nombre) de una frase inglesa, leídas en ella."""
    bases = {word.english: word.english for word in ADJECTIVES}
    bases |= {form: word.english[0] for word in (*NOUNS, *VERBS) for form in word.english}
    english, _ = parts(pair)
    for name in ("subject", "object"):
        _, *adjective, noun = (english[name] or "the dog").split()
        yield from ((bases[word], bases[noun]) for word in adjective)
    for name in ("verb", "second"):
        if english[name]:
            yield bases[english[name]], bases[english["object"].split()[-1]]


def test_training_has_no_reserved_pair_and_validation_has_some():
    seen = {couple for pair in set_of(False) for couple in met(pair)}
    nouns = {noun.english[0]: noun for noun in NOUNS}
    words = {a.english: a for a in ADJECTIVES} | {v.english[0]: v for v in VERBS}
    assert not [(word, noun) for word, noun in seen if is_reserved(words[word], nouns[noun])]
    for pair in set_of(True):
        assert pair.reserved
        assert set(pair.reserved) == set(met(pair)) - seen, str(pair)


def test_validation_asks_for_no_new_word():
    few = sentence_pairs(3000, seed=0)  # las de la lección
    seen = {word for pair in few for word in (*pair.english, *pair.spanish)}
    assert seen | set(MARKS) == set(toy_vocabulary())


def test_ids_of_the_marks():
    words = toy_vocabulary()
    assert [words[mark] for mark in MARKS] == [PAD, BOS, EOS]
    assert list(words.values()) == list(range(len(words)))
