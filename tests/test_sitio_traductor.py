"""El traductor dentro de la página: los mismos trozos, textos, números, avisos y respuestas que en Python."""

import unicodedata
import warnings

import pytest
import torch
from helpers_browser import ROOT
from helpers_sitio import ASK, FRAMES, ODD, many, open_programs, tried
from playwright.sync_api import Error
from test_translator import DOUBTS

from course_lib import probes
from course_lib.explorers.cross import CrossAttentionExplorer
from course_lib.translator import TranslatorError, TranslatorWarning, load_translator
from course_lib.translator_model.checks import read_sentence
from course_lib.translator_model.pieces import shown_tokens
from sitio.pieces import translator_pieces

SCRIPTS = ("cuentas", "bpe", "comprobaciones", "traductor")
CLOSE = 1e-5

TOKENIZER = """() => {
    globalThis.tokenizer = async () => {
        const {'traductor/tokenizador': file} = await load(['traductor/tokenizador']);
        return new course.Tokenizer(JSON.parse(new TextDecoder().decode(file)));
    };
}"""

SPLIT = """async texts => {
    const one = await tokenizer();
    return texts.map(text => one.encode(text)).map(ids => [ids, one.decode(ids)]);
}"""

# Lo que se lee de cada frase, o por qué no se lee.
READ = """async texts => {
    const [one, {'traductor/datos': file}] = [await tokenizer(), await load(['traductor/datos'])];
    const facts = JSON.parse(new TextDecoder().decode(file));
    return texts.map(text => {
        try {
            const {text: read, ids, notes} = course.readSentence(one, text, facts);
            return [read, ids, notes];
        } catch (error) {return error.message;}
    });
}"""

# Lo que sale de cada frase, o por qué no sale.
TRANSLATE = """async sentences => {
    const translate = await course.loadTranslator(load);
    return sentences.map(sentence => {
        try {
            return translate(sentence);
        } catch (error) {return {error: error.message};}
    });
}"""

AWKWARD = [
    "", "   ", "\n\t", "\x1c\x1f", "\u200b\u200b", "\ufeff", "...", "¿?", "😀", "你好", "Привет", "'", '"', "'\"", "\\",
    "<b>", "«—»", "'😀\\\u00a0\u2028\t\x07\ud7ff\u0378\U000f0000", "\u200b" * 50, "🦴" * 50, "<s> </s>", "°", "_",
    "the dog " * 70, "? " * 20 + "no", "x", "Buffalo " * 12,
    "I see " + "the dog and " * 20 + "the cat.", "<s> </s> hi", "<<b>b>dog", "<b>Hello</b><br/>, my <i>friend</i>.",
    "I love you 😀.", "I 😀 love 你 you 好, 日, 本 and 語!", "2 < 3 and 3 > 1.", "½ of the cakes", "ﬁve ¼ ② dogs",
    "THE DOG IS VERY HUNGRY.", "I AM", "OK", "TOM AND I ARE HERE", "Ñ", "ÑANDÚ ÉL", "ñandú", "İstanbul is big.",
    "Straße", "The Straße is ẞig.", "Zoë is naïve.", "hello, i'm here and i am i.", "éi íi i_i i1 i", "iPhones are big.",
    "El perro de la casa tiene hambre.", "¿Dónde está?", "Buenos días.", "Their son died.", "The café is shut.",
    "Soy sauce tastes good.", "Ñoño", "Der Hund schläft im Garten.", "Le chat est noir.", "Kumusta ka na?",
    "“Stop…” — she said, ‘I won’t’.", "  What   is\tthis ?", "a\u00a0b\u3000c\u0085d\x1ce", "e\u0301t\u0301 cafe\u0301",
    "Tom met Kowalski on May 25.", "It costs $1,250.50, or 1.250,5, or 10:45, or 3.14.",
    "The platypus and the axolotls.", "The room is 4205.", "Zorblaxia's dog isn't here, is it?",
    "We know Brunhilde, Xochitl and Wojciech very well.", "Dracorex bit Zzyzx near Ghqwrt in 1789 and 12,345.",
    "ΑΒΓ dog δεζ", "٣ dogs", "१२ cats and 12 cats",
    "The 𝐝𝐨𝐠 eats.", "Ａｂｃ dogs", "x\u0338 = y", "Call +34 912 345 678 now.", "¡Hello! ¿Tom?", "'Tis the dogs' bone.",
    "a\u202eb", "half \ud83d emoji", "2½ cups of ﬂour№5 dog™ 10² m² 5㎏", "One<br>two.", "123 456 789", "HELLO", "The gato y la mesa.",
]  # fmt: skip

KINDS = (
    "está vacía", "no hay ninguna palabra", "tokens y caben 127", "las etiquetas no se leen", ": no lo ha leído",
    "en mayúsculas", "parece española", "como mucho", "no ha sabido acabar", "muy poco seguro", "no está igual",
    "puede habérselo inventado",
)  # fmt: skip


@pytest.fixture(scope="module")
def page(browser):
    """Una página con los programas, que lee las piezas de `translator_pieces`."""
    with open_programs(browser, SCRIPTS, translator_pieces()) as page:
        page.evaluate(TOKENIZER)
        yield page


def first_sentences():
    lines = (ROOT / "tests/primeras_frases.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t")[1] for line in lines]


def translate(sentence):
    """Lo que hace Python con una frase: la traducción y los avisos, o el error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = load_translator().translate(sentence)
        except TranslatorError as error:
            return None, error.reason
    return found, [one.message.note for one in caught if one.category is TranslatorWarning]


def assert_same(page, sentences):
    """Compara lo que sale de unas frases, en la página y aquí. Devuelve todo lo que se dice."""
    said = []
    for sentence, there in zip(sentences, page.evaluate(TRANSLATE, sentences), strict=True):
        here, notes = translate(sentence)
        said += notes if here else [notes]
        if not here:
            assert there == {"error": notes}, ascii(sentence)
            continue
        assert (there["text"], there["source"]) == (here.text, here.source), ascii(sentence)
        assert there["notes"] == notes, ascii(sentence)
        assert there["sourceTokens"] == here.source_tokens
        assert there["targetTokens"] == here.target_tokens
        numbers = torch.tensor(there["crossAttention"]), torch.tensor(there["logProbabilities"])
        for one, other in zip(numbers, (here.cross_attention, here.log_probabilities)):
            torch.testing.assert_close(one, other, atol=CLOSE, rtol=0)
    return said


# --- Las piezas y los trozos ----------------------------------------------------------------------


def test_the_pieces_are_small_and_are_asked_for_once(page):
    pieces = translator_pieces()
    assert max(map(len, pieces.values())) <= 1.5e6
    page.evaluate(TRANSLATE, ["Hello."])
    page.evaluate("asked.length = 0")
    page.evaluate(TRANSLATE, ["Goodbye."])
    assert page.evaluate("asked") == []


def test_the_same_tokens(page):
    texts = [frame.format(odd, odd) for odd in ODD for frame in FRAMES]
    assert len(texts) >= 260
    mine = load_translator().tokenizer
    for text, (ids, decoded) in zip(texts, page.evaluate(SPLIT, texts), strict=True):
        assert ids == mine.encode(text).ids, ascii(text)
        assert decoded == mine.decode(ids), ascii(text)


@pytest.mark.lenta
def test_the_same_tokens_with_every_character(page):
    """También con los que ese navegador conoce y Python todavía no."""
    letters = [chr(code) for code in tried() if not 0xD800 <= code < 0xE000]
    mine = load_translator().tokenizer
    for start in range(0, len(letters), 50_000):
        texts = [f"a{letter}b {letter}" for letter in letters[start : start + 50_000]]
        here = [encoding.ids for encoding in mine.encode_batch(texts)]
        there = [ids for ids, _ in many(page, SPLIT, texts)]
        different = [ascii(text) for text, one, other in zip(texts, here, there) if one != other]
        assert different == []


# --- Las traducciones y los avisos ----------------------------------------------------------------


def test_the_same_translations(page):
    assert_same(page, first_sentences()[::10])


@pytest.mark.lenta
def test_the_same_translations_of_many_sentences(page):
    aligned = [pair.english for pair in probes.aligned_pairs()]
    gendered = [one.english for pair in probes.gender_pairs() for one in pair]
    long = ["a " * 126, "a " * 60, "zzzz " * 20, "!?" * 20 + "no"]
    assert_same(page, first_sentences()[::4] + aligned[::4] + gendered[::4] + long)


def test_the_same_reading(page):
    """Lo que viene de otros programas se cambia, se quita o se dice igual."""
    texts = [frame.format(odd, odd) for odd in ODD + AWKWARD for frame in FRAMES]
    for text, there in zip(texts, page.evaluate(READ, texts), strict=True):
        assert there == reading(text), ascii(text)


def test_the_same_warnings_and_errors_of_some(page):
    assert_same(page, AWKWARD[::5])


@pytest.mark.lenta
def test_the_same_warnings_and_errors(page):
    assert len(AWKWARD) >= 60
    said = assert_same(page, AWKWARD)
    assert [kind for kind in KINDS if not any(kind in text for text in said)] == []


@pytest.mark.lenta
def test_the_same_reading_with_every_character(page):
    """Con todos los que conoce este Python; el navegador puede conocer más."""
    letters = filter(is_shown, map(chr, range(0x110000)))
    texts = [f"{x} i{x}i {x}{x}at" for x in letters]
    for text, there in zip(texts, many(page, READ, texts), strict=True):
        assert there == reading(text), ascii(text)


def reading(text):
    try:
        return list(read_sentence(load_translator().tokenizer, text, 127))
    except TranslatorError as error:
        return error.reason


def is_shown(x):
    """Lo que Unicode ha asignado, sin los miles de ideogramas y de sílabas coreanas, que son iguales."""
    many = ("CJK UNIFIED", "HANGUL SYLLABLE", "TANGUT", "EGYPTIAN", "CUNEIFORM", "YI SYLLABLE")
    kind, name = unicodedata.category(x), unicodedata.name(x, "")
    return kind not in ("Cn", "Cs", "Co") and not name.startswith(many)


@pytest.mark.parametrize(("english", "spanish", "changed", "unknown"), DOUBTS)
def test_the_same_doubts(page, english, spanish, changed, unknown):
    translator = load_translator()
    found = translator.align(english, spanish)
    parts = {"source": found.source, "text": found.text}
    parts |= {"sourceTokens": found.source_tokens, "targetTokens": found.target_tokens}
    one, two = map(", ".join, (changed, unknown))
    expected = [f"comprueba {one}: no está igual en la traducción."] if one else []
    expected += [f"el modelo no conoce {two}: puede habérselo inventado."] if two else []
    said = "([parts, known]) => course.doubts(parts, new Set(known))"
    assert page.evaluate(said, [parts, sorted(translator.known)]) == expected


def test_the_same_shown_tokens(page):
    """Los que el modelo nunca escribe juntos, también."""
    tokens = ["s", "▁", "'", "s", "▁a", "'", "▁'", "b", "<s>", "c", "10", "5", "°", "d", "▁", "▁.", "é"]
    tokens += [*reversed(tokens), "</s>"]
    assert page.evaluate("course.shownTokens", tokens) == shown_tokens(tokens)


# --- Lo que se contesta al explorador -------------------------------------------------------------


def test_the_same_answers(page):
    """Como el explorador de Python, petición a petición: también tras un error."""
    enough = f"I saw {'the dog and ' * 11}the cat and me"  # 40 tokens
    asked = ["I love you 😀.", "", enough + ".", "...", enough]
    start = load_translator().translate("I gave my dog a bone.")
    explorer = CrossAttentionExplorer(
        start.source_tokens, start.seen_tokens, start.target_tokens, start.cross_attention[-1],
        sentence=start.source, head=2, step=3,
    )  # fmt: skip
    name = type(explorer).__name__
    names = ["sentence", "source_tokens", "seen", "predicted", "weights", "notes", "step", "head"]
    names += ["error"]
    requests = [{"serial": n, "sentence": text} for n, text in enumerate(asked, 4)]
    state = {name: getattr(explorer, name) for name in names}
    errors = set()
    for request, there in zip(requests, page.evaluate(ASK, [name, state, requests]), strict=True):
        explorer.request = request
        here = {name: getattr(explorer, name) for name in names}
        one, other = (torch.tensor(traits.pop("weights")) for traits in (there, here))
        torch.testing.assert_close(one, other, atol=1.01e-4, rtol=0)  # lo que cambia al redondear
        assert {name: there[name] for name in here} == here
        errors.add(there["error"][:20])
    assert len(errors) == 4  # vacía, demasiado larga, sin palabras y ninguno


def test_what_is_not_the_readers_mistake_is_not_hidden(page):
    """Si no llega una pieza, lo dice quien la ha pedido."""
    fails = "() => course.answers.CrossAttentionExplorer({get: () => ({sentence: 3})}, load)"
    with pytest.raises(Error, match="normalize"):
        page.evaluate(fails)
