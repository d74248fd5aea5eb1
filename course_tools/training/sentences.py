"""Las frases de un entrenamiento: leerlas, apartar las de validar, variarlas en cada época y repartirlas."""

import random
import re
from collections import Counter
from pathlib import Path


def read_pairs(path):
    """Lee un archivo de frases: → lista de pares ``(inglés, español)``.

    Raises:
        ValueError: si no es UTF-8 o si a una línea le falta el tabulador o una de las dos
            frases; el mensaje dice cuál.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise ValueError(f"{path}: no es un texto en UTF-8. Guárdalo en UTF-8 y repite.") from None
    pairs = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        english, _, rest = line.partition("\t")
        spanish = rest.partition("\t")[0]
        if not english.strip() or not spanish.strip():
            raise ValueError(
                f"{path}, línea {number}: cada línea es «inglés, tabulador, español» y esta es "
                f"{line[:60]!r}."
            )
        pairs.append((english.strip(), spanish.strip()))
    if not pairs:
        raise ValueError(f"{path}: no tiene ninguna frase.")
    return pairs


def hold_out(pairs, sentences=1500):
    """Aparta parejas para validar: → ``(para entrenar, para validar)``.

    Elige frases inglesas al azar, siempre las mismas, y se lleva todas sus traducciones: lo
    que se valida no se ha visto. De un archivo pequeño aparta una décima parte.
    """
    english = sorted({pair[0] for pair in pairs})
    chosen = set(random.Random(0).sample(english, min(sentences, max(1, len(english) // 10))))
    return [p for p in pairs if p[0] not in chosen], [p for p in pairs if p[0] in chosen]


NAME = re.compile(r"\b[A-Z][a-z]+\b")
NUMBER = re.compile(r"\b[0-9]{2,}\b")
SYLLABLES = re.findall(
    r"\w+",
    "KA LO MI TRE VAN SA DOR EL BRI NA ZO KE FIN LU PA GER ROD WEN SHI CHA MU RO BEL YA SON TON LEY "
    "MAR VI OS HAN QUI FER JO XI BAR THE GAR DU STE PO LIN NI AL SKI WAR CU TA PHI GO RI DEN HU MAS",
)


def proper_names(pairs):
    """Las palabras que se escriben (casi) siempre con mayúscula: → conjunto."""
    words = Counter(word for pair in pairs for text in pair for word in re.findall(r"\w+", text))
    return {w for w in words if NAME.fullmatch(w) and words[w.lower()] * 100 < words[w]}


def seen_words(pairs, whole, least=2):
    """Las palabras inglesas que el modelo ha visto y que no se copian: → lista ordenada.

    Sirve para avisar de las demás. Un nombre propio que se escribe igual en las dos lenguas no
    está: ese, o se copia, o está mal.

    Args:
        pairs: lista de pares.
        whole: las que no hace falta apuntar, porque son un solo token.
        least: cuántas veces se ha de ver, al menos.
    """
    lower, capital, copied = Counter(), Counter(), Counter()
    for english, spanish in pairs:
        written = set(re.findall(r"\w+", spanish))
        for word in re.findall(r"[^\W\d_]+", english):
            if word.islower():
                lower[word] += 1
            else:
                capital[word] += 1
                copied[word] += word in written
    seen = {word for word, count in lower.items() if count >= least}
    for word, count in capital.items():
        if count >= least and word.lower() not in seen and 2 * copied[word] < count:
            seen.add(word)
    return sorted(word for word in seen if not {word, word.lower()} & whole)


def vary(pair, rng, names, invented_names=0.0, no_full_stop=0.0):
    """Cambia a veces un par, para que el modelo aprenda a copiar lo que no conoce.

    Un nombre propio que está igual en las dos lenguas puede pasar a ser otro
    inventado; un número, otro número; y un punto final puede desaparecer de las dos.

    Args:
        pair: ``(inglés, español)``.
        rng: un ``random.Random``.
        names: los nombres propios que se pueden cambiar (``proper_names``).
        invented_names, no_full_stop: probabilidad de cada cambio.
    """
    english, spanish = pair
    for pattern in (NAME, NUMBER):
        for word in sorted(set(pattern.findall(english)) & set(pattern.findall(spanish))):
            if (pattern is NUMBER or word in names) and rng.random() < invented_names:
                if pattern is NAME:
                    new = "".join(rng.choices(SYLLABLES, k=rng.randint(2, 3)))
                    new = (new + rng.choice(("", "", "n", "s", "tt", "k"))).capitalize()
                else:
                    new = str(rng.randint(1, 9)) + "".join(
                        rng.choices("0123456789", k=len(word) - 1)
                    )
                english = re.sub(rf"\b{word}\b", new, english)
                spanish = re.sub(rf"\b{word}\b", new, spanish)
    if english.endswith(".") and spanish.endswith(".") and rng.random() < no_full_stop:
        english, spanish = english[:-1], spanish[:-1]
    return english, spanish


def join(pairs, rng, fraction, longest=24):
    """A veces junta dos parejas en una: así ve más frases largas.

    Args:
        pairs: lista de pares.
        rng: un ``random.Random``.
        fraction: probabilidad de que a una pareja le siga otra, elegida al azar.
        longest: no junta dos si, en alguna de las lenguas, pasan de estas palabras.
    """
    new = []
    for english, spanish in pairs:
        if rng.random() < fraction:
            more = rng.choice(pairs)
            both = f"{english} {more[0]}", f"{spanish} {more[1]}"
            if max(len(text.split()) for text in both) <= longest:
                english, spanish = both
        new.append((english, spanish))
    return new


def batches_by_length(pairs, max_tokens, seed):
    """Junta frases de longitud parecida, para gastar poco en relleno, y baraja los lotes.

    Args:
        pairs: lista de ``(ids de origen, ids de destino)``.
        max_tokens: lo más que mide un lote: frases por tokens de la más larga.
        seed: semilla del barajado.

    Returns:
        Lista de lotes; cada lote, una lista de índices de ``pairs``.
    """
    rng = random.Random(seed)
    order = list(range(len(pairs)))
    rng.shuffle(order)  # entre las de igual longitud, el orden cambia en cada época
    order.sort(key=lambda i: (len(pairs[i][1]), len(pairs[i][0])))
    batches, batch, longest = [], [], 0
    for i in order:
        longest = max(longest, len(pairs[i][0]), len(pairs[i][1]))
        if batch and longest * (len(batch) + 1) > max_tokens:
            batches.append(batch)
            batch, longest = [], max(len(pairs[i][0]), len(pairs[i][1]))
        batch.append(i)
    batches.append(batch)
    rng.shuffle(batches)
    return batches
