"""Preguntas a un BERT sobre palabras: cuánto mira una a otra, y qué vector tiene en cada frase."""

import torch

from course_lib.bert import extract_embeddings, load_bert


def find_word(tokens, word):
    """Dice en qué posiciones está una palabra que aparece una sola vez.

    Args:
        tokens: los tokens de una frase, como los da ``extract_embeddings``.
        word: la palabra, entera.

    Returns:
        ``slice``: del primer trozo de la palabra al último.

    Raises:
        ValueError: si la palabra no está, o está más de una vez.
    """
    pieces = load_bert().plain_tokenizer.tokenize(word)
    ends = [(i, i + len(pieces)) for i in range(len(tokens) - len(pieces) + 1)]
    found = [
        slice(start, end)
        for start, end in ends
        if tokens[start:end] == pieces and not "".join(tokens[end : end + 1]).startswith("##")
    ]
    if len(found) != 1:
        raise ValueError(
            f"find_word: «{word}» está {len(found)} veces en «{' '.join(tokens)}», y tiene que estar una."
        )
    return found[0]


def attention_between(sentences, query, keys):
    """Cuánto mira una palabra a otras, en cada cabeza.

    Args:
        sentences: n frases.
        query: la palabra que mira, la misma en todas.
        keys: de cada frase, las k palabras miradas.

    Returns:
        ``(n, k, capas, h)``: el peso. Si el tokenizador parte una palabra, el de una key es la
        suma de los de sus trozos y el de la query, la media.

    Raises:
        ValueError: como en ``find_word``, o si no hay un grupo de keys por frase.
    """
    sentences = list(sentences)
    if len(sentences) != len(keys):
        raise ValueError(
            f"attention_between: hay {len(sentences)} frases y {len(keys)} grupos de keys, y tiene "
            "que haber uno por frase."
        )
    read = extract_embeddings(sentences)
    weights = torch.stack(read.attentions).transpose(0, 1)  # (n, capas, h, L, L)
    between = []
    for tokens, matrix, words in zip(read.tokens, weights, keys):
        row = matrix[:, :, find_word(tokens, query)].mean(dim=2)  # (capas, h, L)
        found = [row[:, :, find_word(tokens, word)].sum(dim=-1) for word in words]
        between.append(torch.stack(found))
    return torch.stack(between)


def word_vectors(sentences, word):
    """Los vectores de una palabra en varias frases, a la entrada y a la salida de cada capa.

    Args:
        sentences: n frases con la palabra, una vez cada una.
        word: la palabra, como en ``find_word``. Si el tokenizador la parte, se toma la media de sus trozos.

    Returns:
        ``(capas + 1, n, d_model)``.
    """
    read = extract_embeddings(list(sentences))
    states = torch.stack(read.hidden_states)  # (capas + 1, n, L, d_model)
    places = enumerate(find_word(tokens, word) for tokens in read.tokens)
    return torch.stack([states[:, i, place].mean(dim=1) for i, place in places], dim=1)


def read_versions(probes, pairs):
    """Lee las dos frases de cada pareja: con el adjetivo del primero y con el del segundo.

    Args:
        probes: las frases de un idioma.
        pairs: n parejas.

    Returns:
        ``(read, places)``: un ``BertEmbeddings`` de 2n frases, las dos de una pareja seguidas, y
        dónde están en cada una el pronombre y los dos sustantivos, ``(3, 2n)``. De una palabra
        partida, el primer trozo.
    """
    versions = [(pair, a) for pair in pairs for a in (pair.first_adjective, pair.second_adjective)]
    read = extract_embeddings([probes.sentence(*version) for version in versions])
    places = [
        [find_word(tokens, word).start for word in (probes.query(), pair.first, pair.second)]
        for tokens, (pair, _) in zip(read.tokens, versions)
    ]
    return read, torch.tensor(places).T


def place_and_content(weights, shuffled, order):
    """Si los pesos siguen a los sitios o a las palabras, cuando se barajan las palabras.

    Son dos correlaciones con los pesos de antes: la de los de después, casilla a casilla, y la
    de los de después una vez deshecha la baraja. Cuentan los pares de palabras distintas; las
    marcas, la primera y la última posición, no cuentan.

    Args:
        weights: ``(..., L, L)``, los pesos de antes.
        shuffled: ``(..., L, L)``, los de después.
        order: ``(L − 2,)``, qué palabra de antes hay en cada sitio.

    Returns:
        ``(place, content)``, las dos de forma ``(...)``.
    """
    before, after = weights[..., 1:-1, 1:-1], shuffled[..., 1:-1, 1:-1]
    back = torch.as_tensor(order).argsort()
    return _correlation(before, after), _correlation(before, after[..., back, :][..., back])


def _correlation(a, b):
    apart = ~torch.eye(a.shape[-1], dtype=torch.bool)
    a, b = a[..., apart], b[..., apart]
    a, b = a - a.mean(dim=-1, keepdim=True), b - b.mean(dim=-1, keepdim=True)
    return torch.cosine_similarity(a, b, dim=-1)
