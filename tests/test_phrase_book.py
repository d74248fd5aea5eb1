"""El libro de frases: que concuerda, que no trae las frases que se guardan para medir, y sin faltas."""

import functools
import random
import re
from pathlib import Path

import pytest
from prose import is_in

from course_tools.training import phrase_book
from course_tools.training.phrase_book import (
    PATH, fill, phrase_pairs, plain, read_book, read_first_sentences, read_word,
)  # fmt: skip

FIRST = read_first_sentences(Path(__file__).with_name("primeras_frases.tsv"))


@functools.cache
def books():
    return [phrase_pairs(seed, 30, FIRST) for seed in (1, 1000, 1001)]


def pairs():
    return [pair for book in books() for pair in book]


@pytest.mark.lenta  # el cuaderno de frases no cambia si no se escribe otro
def test_the_first_sentences_are_not_in_the_book():
    assert len(FIRST) == 150
    assert len({plain(sentence) for sentence in FIRST}) == 150
    made = {plain(english) for english, _ in pairs()}
    assert not made & {plain(sentence) for sentence in FIRST}
    # Y no es por casualidad: sin apartarlas, saldrían.
    assert {plain(english) for english, _ in phrase_pairs(1)} & {plain(s) for s in FIRST}


def test_there_are_thousands_and_each_seed_gives_others():
    for book in books():
        assert len(book) == len(dict(book)) > 8000
    assert books()[0] == phrase_pairs(1, 30, FIRST)
    assert len(set(books()[0]) - set(books()[1])) > 2000


def test_nothing_is_left_to_fill():
    for english, spanish in pairs():
        for text in (english, spanish):
            assert not re.search(r"[{}\[\]|@=]|  | [.,?!]|^\s|\s$", text), text
            first = text.lstrip('¿¡"')[0]
            assert first.isupper() or first.isdigit(), text
        assert english.count("?") == spanish.count("?"), f"{english} → {spanish}"
        for opening, closing in ("¿?", "¡!"):
            assert spanish.count(opening) == spanish.count(closing), spanish


def test_every_list_is_used_and_every_mould_can_be_filled():
    lists, moulds = read_book()
    text = PATH.read_text(encoding="utf-8")
    for name in lists:
        assert re.search(rf"[{{@]{name}\d?[}}+*@]|@{name};|; @{name}\"", text), f"sobra {name}"
    rng = random.Random(0)
    for mould in moulds:
        english, _, spanish = mould.partition(" => ")
        with_translation = sum(" = " in options for options in re.findall(r"\[([^\]]*)\]", english))
        assert spanish.count("{}") == with_translation, mould
        fill(mould, rng)


def test_words_are_in_the_dictionaries():
    lists, _ = read_book()
    names = {
        part
        for name in ("nombre", "apellido", "ciudad", "país")
        for word in lists[name]
        for form in (*word.english, *word.spanish)
        for part in form.split()
    }
    for language, side in (("en_US", 0), ("es_ES", 1)):
        words = {word for pair in pairs() for word in re.findall(r"[^\W\d_]+", pair[side])} - names
        short = {"I", "m", "s", "re", "t", "d", "isn", "don", "doesn", "aren", "didn", "wasn"}
        short |= {"Mr", "Mrs", "o", "Dr"}
        short |= {"Escúchala", "Escúchalo", "Escúchalos", "Repítelo"}  # con el pronombre detrás
        wrong = {w for w in words - short if not is_in(language, w) and not is_in(language, w.lower())}
        assert wrong == set()


@pytest.mark.parametrize(("mould", "expected"), [
    ("My {casa+} are {alto}. => Mis {casa+} son {alto@casa+}.", "My chairs are tall. → Mis sillas son altas."),
    ("{a@pez} {pez} here. => {un@pez} {pez} aquí.", "An elephant here. → Un elefante aquí."),
    ("{quien} {come@quien}. => {quien} {come@quien}.", "They eat. → Ellos comen pan."),
    ("{quien} {is@quien} {come*}. => {quien} {está@quien} {come*}.", "They are eating. → Ellos están comiendo pan."),
    ("To the {casa}. => {al@casa} {casa}, {del@pez} {pez}.", "To the chair. → A la silla, del elefante."),
    ("I and {quien}, {quien}. => Yo y Inés y Ian y hielo y hijos, {quien}.", "I and they, they. → Yo e Inés y Ian y hielo e hijos, ellos."),
    ("[A = Un|A = Un] {pez}[.|.] => {} {pez}.", "A elephant. → Un elefante."),
])  # fmt: skip
def test_agreement(monkeypatch, mould, expected):
    words = {
        "casa": ["chair = silla f"],
        "pez": ["elephant = elefante m"],
        "alto": ["tall = alto"],
        "quien": ["they = ellos 6"],
        "come": ["eat|eats|eating = como|comes|come|comemos|coméis|comen|comiendo = pan"],
    }
    lists = {name: [read_word(word) for word in entries] for name, entries in words.items()}
    monkeypatch.setattr(phrase_book, "read_book", lambda: (lists, [mould]))
    assert " → ".join(fill(mould, random.Random(0))) == expected
    assert len(phrase_pairs(0)) == 1
    assert phrase_pairs(0, excluded=[expected.split(" → ")[0].upper()]) == []


FEMININE = "casa escuela biblioteca playa manzana llave hermana amiga clase película estación gallina"
MASCULINE = "libro coche parque hospital zapato hermano amigo tren museo mapa pez lápiz examen"


def test_articles_and_nouns_agree():
    """Leídas como texto, sin las tablas del libro."""
    gender = dict.fromkeys(FEMININE.split(), "f") | dict.fromkeys(MASCULINE.split(), "m")
    articles = dict.fromkeys(("el", "al", "del", "un", "este"), "m")
    articles |= dict.fromkeys(("la", "una", "esta"), "f")
    seen = 0
    for _, spanish in pairs():
        words = re.findall(r"\w+", spanish.lower())
        for article, noun in zip(words, words[1:]):
            if article in articles and noun in gender and (article, noun) != ("esta", "es"):
                assert articles[article] == gender[noun], spanish
                seen += 1
    assert seen > 500
