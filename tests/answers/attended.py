"""Respuestas de la lección 00: a quién mira más un token."""

import numpy as np
import torch

from answers import odd, right, wrong

# --- Buenas ---------------------------------------------------------------------------------------


@right("0.1")
def attended_argmax(weights, tokens, position):
    return tokens[weights[position].argmax()]


@right("0.1")
def attended_item(w, words, i):
    row = w[i, :]
    best = torch.argmax(row).item()
    return words[best]


@right("0.1")
def attended_loop(weights, tokens, position):
    best, who = -1.0, None
    for weight, token in zip(weights[position], tokens):
        if weight > best:
            best, who = weight, token
    return who


@right("0.1")
def attended_max_key(weights, tokens, position):
    row = weights[position].tolist()
    return tokens[max(range(len(row)), key=row.__getitem__)]


@right("0.1")
def attended_index(weights, tokens, position):
    row = weights[position].tolist()
    return tokens[row.index(max(row))]


@right("0.1")
def attended_numpy(weights, tokens, position):
    return np.array(tokens)[np.argmax(weights.numpy()[position])]


@right("0.1")
def attended_topk(weights, tokens, position):
    _, order = torch.topk(weights[position], k=1)
    return tokens[order[0]]


@right("0.1")
def attended_sorted(weights, tokens, position):
    pairs = sorted(zip(weights[position].tolist(), tokens), reverse=True)
    return pairs[0][1]


@right("0.1")
def attended_all_rows(weights, tokens, position):
    return [tokens[i] for i in weights.argmax(dim=-1)][position]


@right("0.1")
def attended_args(*args):
    table, names, p = args
    return names[int(table[p].max(dim=0).indices)]


@right("0.1")
def attended_transposed_column(weights, tokens, position):
    return tokens[weights.T[:, position].argsort()[-1]]


class Reader:
    __name__ = "attended_object"

    def __call__(self, weights, tokens, position):
        return tokens[weights.log()[position].argmax()]


right("0.1")(Reader())


@right("0.1")
def attended_dictionary_by_place(weights, tokens, position):
    row = dict(enumerate(weights[position].tolist()))
    return tokens[max(row, key=row.get)]


@right("0.1")
def attended_where(weights, tokens, position):
    row = weights[position]
    return [token for token, weight in zip(tokens, row) if weight == row.max()][0]


# --- Malas ----------------------------------------------------------------------------------------


@wrong("0.1", "columna")
def attended_column(weights, tokens, position):
    return tokens[weights[:, position].argmax()]


@wrong("0.1", "columna")
def attended_column_by_dim(weights, tokens, position):
    return tokens[weights.argmax(dim=0)[position]]


@wrong("0.1", "columna")
def attended_loop_over_rows(weights, tokens, position):
    best = 0
    for i in range(len(tokens)):
        if weights[i][position] > weights[best][position]:
            best = i
    return tokens[best]


@wrong("0.1", "toda-la-tabla")
def attended_flat(weights, tokens, position):
    return tokens[weights.argmax()]


@wrong("0.1", "toda-la-tabla")
def attended_whole_column(weights, tokens, position):
    return tokens[weights.argmax() % len(tokens)]


@wrong("0.1", "toda-la-tabla")
def attended_whole_row(weights, tokens, position):
    row, column = np.unravel_index(np.argmax(weights.numpy()), weights.shape)
    return tokens[row]


@wrong("0.1", "una-fila-fija")
def attended_first_row(weights, tokens, position):
    return tokens[weights[0].argmax()]


@wrong("0.1", "una-fila-fija")
def attended_last_row(weights, tokens, position):
    return tokens[weights[-1].argmax()]


@wrong("0.1", "fila-de-al-lado")
def attended_one_based(weights, tokens, position):
    return tokens[weights[position - 1].argmax()]


@wrong("0.1", "fila-de-al-lado")
def attended_next_row(weights, tokens, position):
    return tokens[weights[position + 1].argmax()]


@wrong("0.1", "media-de-las-filas")
def attended_most_popular(weights, tokens, position):
    return tokens[weights.sum(dim=0).argmax()]


@wrong("0.1", "diagonal")
def attended_diagonal(weights, tokens, position):
    return tokens[torch.diag(weights).argmax()]


@wrong("0.1", "siempre-it")
def attended_always_it(weights, tokens, position):
    it = tokens.index("it")
    return tokens[weights[it].argmax()]


@wrong("0.1", "sin-sí-mismo")
def attended_not_itself(weights, tokens, position):
    row = weights[position].clone()
    row[position] = 0
    return tokens[row.argmax()]


@wrong("0.1", "sin-sí-mismo")
def attended_others(weights, tokens, position):
    others = [i for i in range(len(tokens)) if i != position]
    return tokens[max(others, key=lambda i: weights[position, i])]


@wrong("0.1", "sin-las-marcas")
def attended_no_marks(weights, tokens, position):
    pairs = [(w, t) for w, t in zip(weights[position], tokens) if not t.startswith("[")]
    return max(pairs, key=lambda pair: pair[0])[1]


@wrong("0.1", "sin-las-marcas")
def attended_no_ends(weights, tokens, position):
    return tokens[weights[position][1:-1].argmax() + 1]


@wrong("0.1", "sin-las-marcas")
def attended_no_first(weights, tokens, position):
    row = weights[position].clone()
    row[0] = -1
    return tokens[row.argmax()]


@wrong("0.1", "sin-las-marcas")
def attended_no_last(weights, tokens, position):
    return tokens[weights[position, :-1].argmax()]


@wrong("0.1", "sin-las-marcas", "uno-antes")
def attended_no_ends_no_shift(weights, tokens, position):
    return tokens[weights[position][1:-1].argmax()]


@wrong("0.1", "sin-las-marcas", "uno-antes")
def attended_no_first_no_shift(weights, tokens, position):
    best = 0
    row = weights[position][1:]
    for i in range(len(row)):
        if row[i] > row[best]:
            best = i
    return tokens[best]


@wrong("0.1", "sin-sí-mismo", "sin-las-marcas")
def attended_only_other_words(weights, tokens, position):
    row = weights[position].clone()
    row[position] = row[0] = row[-1] = 0
    return tokens[row.argmax()]


@wrong("0.1", "solo-lo-anterior")
def attended_past(weights, tokens, position):
    return tokens[weights[position, : position + 1].argmax()]


@wrong("0.1", "solo-lo-anterior", "sin-sí-mismo")
def attended_strict_past(weights, tokens, position):
    return tokens[weights[position, :position].argmax()]


@wrong("0.1", "solo-lo-posterior")
def attended_future(weights, tokens, position):
    return tokens[weights[position, position:].argmax() + position]


@wrong("0.1", "tokens-repetidos")
def attended_dictionary(weights, tokens, position):
    row = dict(zip(tokens, weights[position].tolist()))
    return max(row, key=row.get)


@wrong("0.1", "tokens-repetidos")
def attended_counter(weights, tokens, position):
    total = {}
    for token, weight in zip(tokens, weights[position]):
        total[token] = total.get(token, 0) + weight
    return max(total, key=total.get)


@wrong("0.1", "tokens-repetidos", "el-que-menos")
def attended_dictionary_least(weights, tokens, position):
    row = {token: float(weight) for token, weight in zip(tokens, weights[position])}
    return min(row, key=row.get)


@wrong("0.1", "el-que-menos")
def attended_least(weights, tokens, position):
    return tokens[weights[position].argmin()]


@wrong("0.1", "el-que-menos")
def attended_sorted_wrong_way(weights, tokens, position):
    return tokens[weights[position].argsort()[0]]


@wrong("0.1", "el-segundo")
def attended_second(weights, tokens, position):
    return tokens[weights[position].topk(2).indices[1]]


@wrong("0.1", "sin-mirar-los-pesos")
def attended_loop_keeps_the_last(weights, tokens, position):
    for i in range(len(tokens)):
        if weights[position][i] <= weights[position].max():
            best = i
    return tokens[best]


@wrong("0.1", "devuelve-la-posición")
def attended_returns_index(weights, tokens, position):
    return weights[position].argmax()


@wrong("0.1", "devuelve-la-posición")
def attended_returns_int(weights, tokens, position):
    return int(np.argmax(weights[position].tolist()))


@wrong("0.1", "sin-mirar-los-pesos")
def attended_next_token(weights, tokens, position):
    return tokens[(position + 1) % len(tokens)]


@wrong("0.1", "devuelve-la-posición")
def attended_torch_max(weights, tokens, position):
    return weights[position].max(dim=0)


@wrong("0.1", "devuelve-el-peso")
def attended_returns_weight(weights, tokens, position):
    return weights[position].max()


@wrong("0.1", "devuelve-el-peso")
def attended_returns_float(weights, tokens, position):
    return max(weights[position].tolist())


@wrong("0.1", "devuelve-quien-pregunta")
def attended_returns_asker(weights, tokens, position):
    return tokens[position]


@wrong("0.1", "uno-después")
def attended_plus_one(weights, tokens, position):
    return tokens[weights[position].argmax() + 1]


@wrong("0.1", "uno-antes")
def attended_minus_one(weights, tokens, position):
    return tokens[weights[position].argmax() - 1]


@wrong("0.1", "en-una-lista")
def attended_list(weights, tokens, position):
    return [tokens[i] for i in weights[position].topk(1).indices]


@wrong("0.1", "devuelve-una-pareja")
def attended_pair(weights, tokens, position):
    row = weights[position]
    return tokens[row.argmax()], row.max().item()


@wrong("0.1", "devuelve-una-pareja")
def attended_pair_first_weight(weights, tokens, position):
    return max(zip(weights[position], tokens))


@wrong("0.1", "devuelve-todos")
def attended_ranking(weights, tokens, position):
    return [tokens[i] for i in weights[position].argsort(descending=True)]


@wrong("0.1", "devuelve-la-fila")
def attended_row(weights, tokens, position):
    return weights[position]


@wrong("0.1", "columna", "el-que-menos")
def attended_column_least(weights, tokens, position):
    return tokens[torch.argmin(weights[:, position])]


@wrong("0.1", "columna", "devuelve-la-posición")
def attended_column_index(weights, tokens, position):
    return weights.T[position].argmax().item()


@wrong("0.1", "columna", "sin-sí-mismo")
def attended_column_others(weights, tokens, position):
    table = weights.clone()
    table.fill_diagonal_(0)
    return tokens[table.argmax(0)[position]]


@wrong("0.1", "fila-de-al-lado", "uno-antes")
def attended_all_one_based(weights, tokens, position):
    return tokens[weights[position - 1].argmax() - 1]


@wrong("0.1", "columna", "devuelve-el-peso")
def attended_column_weight(weights, tokens, position):
    return weights[:, position].max().item()


@wrong("0.1", "sin-sí-mismo", "el-segundo")
def attended_second_of_the_others(weights, tokens, position):
    order = [i for i in weights[position].argsort(descending=True).tolist() if i != position]
    return tokens[order[1]]


# --- Raras ----------------------------------------------------------------------------------------


@odd("0.1")
def attended_longest(weights, tokens, position):
    return max(tokens, key=len)


@odd("0.1")
def attended_third(weights, tokens, position):
    return tokens[weights[position].argsort(descending=True)[2 % len(tokens)]]


@odd("0.1")
def attended_sum(weights, tokens, position):
    return tokens[(weights[position] + weights[:, position]).argmax()]


@odd("0.1")
def attended_capitals(weights, tokens, position):
    return tokens[weights[position].argmax()].upper()


@odd("0.1")
def attended_none(weights, tokens, position):
    print(tokens[weights[position].argmax()])


@odd("0.1")
def attended_half(weights, tokens, position):
    return [token for token, weight in zip(tokens, weights[position]) if weight > 0.5]


@odd("0.1")
def attended_changes_its_input(weights, tokens, position):
    weights[position, position] = 0
    return tokens[weights[position].argmax()]


@odd("0.1")
def attended_word(weights, tokens, position):
    return tokens[weights[tokens.index(position)].argmax()]


@right("0.1")
def attended_any_length(weights, tokens, position):
    best, where = max((weight, -i) for i, weight in enumerate(weights[position].tolist()))
    return tokens[-where]


@odd("0.1")
def attended_nine_tokens(weights, tokens, position):
    row = [float(weights[position][i]) for i in range(min(len(tokens), 9))]
    return tokens[row.index(max(row))]


@odd("0.1")
def attended_first_rows(weights, tokens, position):
    return tokens[int(weights[:12][min(position, 11)].argmax())]


@odd("0.1")
def attended_without_the_last_of_two(weights, tokens, position):
    if len(tokens) < 3:
        return tokens[0]
    return tokens[int(weights[position].argmax())]
