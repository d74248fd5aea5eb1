"""Lo que el traductor comprueba: lo que has escrito, antes de leerlo, y lo que ha salido.

Un error es de lo que no se puede traducir. Un aviso, de lo que se traduce con algo que saber.
"""

import re
import unicodedata
from functools import cache

from course_lib.model_files.sentences import listed, remedy, usual, why_broken
from course_lib.translator_model.marks import EOS, UNKNOWN

LONGEST_SEEN = 39  # tokens de la frase más larga del entrenamiento


class TranslatorError(ValueError):
    """El traductor no puede con esa frase, o no se puede cargar; ``reason`` dice por qué y qué hacer."""

    def __init__(self, reason, who=""):
        super().__init__(reason, who)
        self.reason, self.who = reason, who

    def __str__(self):
        return f"{self.who}: {self.reason}" if self.who else self.reason


class TranslatorWarning(UserWarning):
    """Hay traducción, pero con algo que conviene saber: ``note``."""

    def __init__(self, note):
        super().__init__(note)
        self.note = note

    def __str__(self):
        return f"traductor: {self.note}"


# --- Lo que has escrito ---------------------------------------------------------------------------


def read_sentence(tokenizer, sentence, room, what="la frase", spanish=False):
    """Limpia un texto y lo convierte en ids, o dice qué tiene de malo.

    Args:
        tokenizer: el del traductor.
        sentence: lo que se ha escrito.
        room: tokens que caben, con la marca de fin.
        what: cómo se llama en los errores.
        spanish: si es una traducción, y no una frase inglesa.

    Returns:
        ``(texto, ids, avisos)``: el texto que se lee, sus ids con la marca de fin y una lista de
        frases.

    Raises:
        TypeError: si no es un texto.
        TranslatorError: si no hay nada que leer o no cabe.
    """
    if not isinstance(sentence, str):
        raise TypeError(
            f"translate: {what} es {type(sentence).__name__} ({sentence!r:.40}) y tiene que ser "
            f"un texto.{remedy(sentence)}"
        )
    if reason := why_broken(what, sentence):
        raise TranslatorError(reason, "translate")
    whole = unicodedata.normalize("NFC", sentence)
    text = " ".join(whole.split())
    if not text:
        language = "español" if spanish else "inglés"
        raise TranslatorError(f"{what} está vacía. Escribe una frase en {language}.", "translate")
    notes = []
    if tags := TAG.findall(text):
        text = " ".join(TAG.sub(" ", text).split())
        notes.append(f"{', '.join(f'«{tag}»' for tag in tags[:3])}: las etiquetas no se leen.")
    text, changed, lost = _known(tokenizer, text)
    if not any(map(str.isalnum, text)):
        raise TranslatorError(
            f"en {sentence[:40]!r} no hay ninguna palabra que el modelo pueda leer. "
            "Conoce las letras del inglés y del español.",
            "translate",
        )
    if changed:
        notes.append(f"se ha leído {', '.join(changed)}.")
    if lost:
        notes.append(f"el modelo no conoce {listed(lost, whole)}: no lo ha leído.")
    words = text.split()
    if len(words) > 1 and text.isupper() and any(len(word) > 2 for word in words):
        text = text.capitalize()
        notes.append("la frase está toda en mayúsculas: se ha leído en minúsculas.")
    if not spanish:  # todas las frases que ha visto empiezan por mayúscula, y «I» lo es siempre
        capital = text[0].upper()
        text = (capital if _reads(tokenizer, capital) else text[0]) + text[1:]
        text = re.sub(r"\bi\b", "I", text)
    ids = [*tokenizer.encode(text).ids, EOS]
    if len(ids) > room:
        raise TranslatorError(
            f"{what} tiene {len(ids)} tokens y caben {room}. Traduce una frase cada vez.",
            "translate",
        )
    if not spanish and looks_spanish(text):
        notes.append("esta frase parece española, y el modelo traduce del inglés al español.")
    if not spanish and len(ids) > LONGEST_SEEN:
        notes.append(
            f"la frase tiene {len(ids)} tokens y el modelo aprendió con frases de {LONGEST_SEEN} "
            "como mucho: en las más largas se pierde. Pártela."
        )
    return text, ids, notes


TAG = re.compile(r"</?[a-zA-Z][^<>]*>")  # de HTML: «<b>», «</p>»


def _known(tokenizer, text):
    """Cambia un signo que el modelo no conoce por los que dicen lo mismo, o sin tilde, o lo quita."""
    changed, lost, kept = {}, {}, ""
    reads = cache(lambda sign: sign == " " or _reads(tokenizer, sign))
    for sign in text:
        if reads(sign):
            kept += sign
            continue
        bare = [x if reads(x) else unicodedata.normalize("NFKD", x)[0] for x in usual(sign)]
        said = "".join(bare)
        if all(map(reads, said)) and " " not in said:
            changed[f"«{sign}» como «{said}»"] = None
            kept += said if sign.isalpha() or sign.isdecimal() else f"\0{said}\1"
        else:
            lost[sign] = None
    kept = re.sub("[\0\1]", "", APART.sub(" ", kept))
    return re.sub(r"\s+([.,;:!?])", r"\1", " ".join(kept.split())), list(changed), list(lost)


# Dónde empieza y acaba lo cambiado que va aparte: «2½», «№5» → «2 1/2», «No 5»; pero «m²» → «m2».
APART = re.compile(r"(?<=\d)\0(?=\w)|(?<=\w)\0(?=[^\W\d])|(?<=\w)\x01\0?(?=\w)")


def _reads(tokenizer, character):
    return UNKNOWN not in tokenizer.encode(character).ids


# Palabras de las más corrientes de cada lengua que la otra no tiene.
SPANISH = """el la los las un una de del que y en es está están por con para se su mi tu yo él ella al
lo le te nos hay pero como más muy qué cómo dónde soy eres tengo tiene quiero puedo puede estoy estaba
eso esto este esta aquí cuando nada todo ya si era fue ha voy va vamos buenos buenas gracias hola"""
ENGLISH = """the an of that and in is are by with for not his her my your i he she it to there but as
more very what how where am was were have has do does did you we they this on at be their our can will
would if all so up good who when from like want know go"""


def looks_spanish(text):
    """Dice si un texto parece español y no inglés, por sus signos y sus palabras más corrientes."""
    words = re.findall(r"\w+", text.lower())
    spanish, english = (sum(w in known.split() for w in words) for known in (SPANISH, ENGLISH))
    signs = any(sign in text for sign in "¿¡ñáéíóú")
    return (signs or spanish > 0) and spanish >= 2 * english


# --- Lo que ha salido -----------------------------------------------------------------------------

NUMBER = re.compile(r"(?<![\d:])\d[\d.,]*\d(?![\d:])")  # de dos cifras o más, y no una hora


def doubtful_words(translation, known):
    """Lo que conviene comprobar: lo que debía copiarse y no está, y lo que el modelo no conoce.

    La mayúscula de la primera palabra no dice si es un nombre.

    Args:
        translation: una ``Translation``.
        known: las palabras inglesas que el modelo ha visto y no se copian (``words.json``), y los
            tokens que son palabras enteras.

    Returns:
        ``(cambiados, desconocidas)``: dos listas. En la primera, los números y los nombres propios
        que no están igual en la traducción; en la segunda, las demás palabras que no están en
        ``known`` ni se han copiado.
    """
    written = {_plain(word) for word, _ in translation.target_words}
    figures = {_value(number) for number in NUMBER.findall(translation.text)}
    changed = [n for n in NUMBER.findall(translation.source) if _value(n) not in figures]
    unknown = []
    for place, (word, _) in enumerate(translation.source_words):
        word = word.partition("'")[0]
        forms = {word, word.lower(), word.lower().removesuffix("s")}
        if not word.isalpha() or forms & known or _plain(word) in written:
            continue
        (changed if place and word[0].isupper() else unknown).append(word)
    return tuple([f"«{word}»" for word in dict.fromkeys(words)] for words in (changed, unknown))


def _value(number):
    """El valor de un número, escrito a la inglesa o a la española: «1,250.00» y «1.250» son 1250."""
    whole, _, decimals = re.fullmatch(r"(\d[\d.,]*?)([.,](\d{1,2}))?", number).groups(default="")
    return re.sub(r"\D", "", whole), decimals.rstrip("0")


def _plain(word):
    """La palabra sin tildes y en minúsculas."""
    return unicodedata.normalize("NFKD", word).encode("ascii", "ignore").decode().casefold()
