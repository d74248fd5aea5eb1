"""De los trozos que escribe el traductor a palabras enteras, para enseñarlos."""

from course_lib.translator_model.marks import BOS_TOKEN, EOS_TOKEN


def shown_tokens(tokens):
    """Los tokens sin la marca de espacio, y con ``##`` los que siguen a otro de la misma palabra."""
    shown, previous = [], " "
    for token in tokens:
        joined = not token.startswith(("▁", "<")) and _in_word(token) and _in_word(previous)
        shown.append(f"##{token}" if joined else token.removeprefix("▁") or "▁")
        previous = token
    return shown


def words_of(tokens):
    """Junta los trozos de cada palabra y deja fuera los signos y las marcas.

    Args:
        tokens: como los de ``Translation``: ``["un", "perr", "##ito", ".", "</s>"]``.

    Returns:
        Lista de ``(palabra, índices)``: ``[("un", [0]), ("perrito", [1, 2])]``.
    """
    words = []
    for i, token in enumerate(tokens):
        if token.startswith("##"):
            words[-1] = (words[-1][0] + token[2:], [*words[-1][1], i])
        elif token not in (BOS_TOKEN, EOS_TOKEN) and _in_word(token):
            words.append((token, [i]))
    return words


def whole_words(tokenizer):
    """Los tokens que son una palabra entera, o su principio: → conjunto de textos sin «▁»."""
    return {token[1:] for token in tokenizer.get_vocab() if token[0] == "▁" and token[1:]}


def _in_word(token):
    return token == "'" or any(map(str.isalnum, token))
