"""Respuestas de 10.2, escribir token a token el más probable."""

import itertools

import numpy as np
import torch

from answers import odd, right, wrong

# --- Buenas ---------------------------------------------------------------------------------------


@right("10.2")
def loop_with_break(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        token = next_scores(ids).argmax().item()
        ids.append(token)
        if token == eos:
            break
    return ids[1:]


@right("10.2")
def while_loop(next_scores, bos, eos, longest):
    written, token = [], bos
    while token != eos and len(written) < longest:
        token = int(torch.argmax(next_scores([bos] + written)))
        written.append(token)
    return written


@right("10.2")
def tensors_inside(next_scores, bos, eos, longest):
    out = torch.tensor([bos])
    while len(out) - 1 < longest and (len(out) == 1 or out[-1] != eos):
        out = torch.cat([out, next_scores(out).softmax(-1).argmax(-1, keepdim=True)])
    return out[1:]


@right("10.2")
def with_numpy(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        ids.append(np.argmax(next_scores((bos, *ids)).numpy()))
        if ids[-1] == eos:
            return ids
    return ids


@right("10.2")
def recursive(next_scores, bos, eos, longest):
    def go(ids):
        if len(ids) > longest or (len(ids) > 1 and ids[-1] == eos):
            return ids[1:]
        return go([*ids, next_scores(ids).topk(1).indices[0].item()])

    return go([bos])


@right("10.2")
def by_hand(scores_of, start, end, most):
    ids = [start]
    while len(ids) <= most:
        scores = scores_of(ids).tolist()
        best = 0
        for i, score in enumerate(scores):
            if score > scores[best]:
                best = i
        ids.append(best)
        if best == end:
            break
    del ids[0]
    return tuple(ids)


@right("10.2")
def cut_at_the_end(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        ids.append(next_scores(ids).max(dim=0).indices.item())
    ids = ids[1:]
    return ids[: ids.index(eos) + 1] if eos in ids else ids


@right("10.2")
def tokens_as_tensors(*arguments):
    next_scores, bos, eos, longest = arguments
    ids = []
    while len(ids) < longest:
        ids.append(next_scores([torch.tensor(bos), *ids]).argmax())
        if ids[-1] == eos:
            break
    return ids


# --- Malas ----------------------------------------------------------------------------------------


@wrong("10.2", "con-inicio")
def returns_bos(next_scores, bos, eos, longest):
    ids = [bos]
    while ids[-1] != eos and len(ids) <= longest:
        ids.append(next_scores(ids).argmax().item())
    return ids


@wrong("10.2", "con-inicio", "un-token-menos")
def counts_bos(next_scores, bos, eos, longest):
    ids = [bos]
    while len(ids) < longest:
        ids.append(next_scores(ids).argmax().item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "un-token-menos")
def one_less(next_scores, bos, eos, longest):
    ids = [bos]
    while ids[-1] != eos and len(ids) < longest:
        ids.append(next_scores(ids).argmax().item())
    return ids[1:]


@wrong("10.2", "un-token-menos")
def range_minus_one(next_scores, bos, eos, longest):
    ids = []
    for _ in range(1, longest):
        ids.append(next_scores([bos, *ids]).argmax().item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "un-token-más")
def one_more(next_scores, bos, eos, longest):
    ids = []
    while len(ids) <= longest:
        ids.append(next_scores([bos, *ids]).argmax().item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "un-token-más")
def range_plus_one(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest + 1):
        if len(ids) > 1 and ids[-1] == eos:
            break
        ids.append(int(next_scores(ids).argmax()))
    return ids[1:]


@wrong("10.2", "sin-límite")
def never_looks_at_longest(next_scores, bos, eos, longest):
    ids = [bos]
    while True:
        ids.append(next_scores(ids).argmax().item())
        if ids[-1] == eos:
            return ids[1:]


@wrong("10.2", "sin-límite")
def cuts_too_late(next_scores, bos, eos, longest):
    ids, token = [], None
    while token != eos:
        token = next_scores([bos, *ids]).argmax().item()
        ids.append(token)
    return ids[:longest]


@wrong("10.2", "límite-fijo")
def twenty(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(20):
        ids.append(next_scores(ids).argmax().item())
        if ids[-1] == eos:
            break
    return ids[1:]


@wrong("10.2", "no-para")
def never_stops(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        ids.append(next_scores(ids).argmax().item())
    return ids[1:]


@wrong("10.2", "para-en-otro")
def compares_with_bos(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        token = next_scores([bos, *ids]).argmax().item()
        ids.append(token)
        if token == bos:
            break
    return ids


@wrong("10.2", "no-para", "sin-límite")
def forever(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in itertools.count():
        ids.append(next_scores(ids).argmax().item())
    return ids


@wrong("10.2", "para-en-otro")
def the_end_is_two(next_scores, bos, eos, longest):
    ids = []
    while len(ids) < longest:
        ids.append(next_scores([bos, *ids]).argmax().item())
        if ids[-1] == 2:
            break
    return ids


@wrong("10.2", "para-en-otro")
def the_end_is_sep(next_scores, bos, eos, longest):
    ids, sep = [bos], 102
    for _ in range(longest):
        ids.append(next_scores(ids).argmax().item())
        if ids[-1] == sep:
            break
    return ids[1:]


@wrong("10.2", "para-al-repetir")
def stops_on_repetition(next_scores, bos, eos, longest):
    ids = []
    while len(ids) < longest:
        token = next_scores([bos, *ids]).argmax().item()
        repeated = token in ids
        ids.append(token)
        if token == eos or repeated:
            break
    return ids


@wrong("10.2", "para-tarde")
def looks_late(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        token = next_scores(ids).argmax().item()
        stop = eos in ids[1:]
        ids.append(token)
        if stop:
            break
    return ids[1:]


@wrong("10.2", "sin-fin")
def without_the_end(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        token = next_scores([bos, *ids]).argmax().item()
        if token == eos:
            break
        ids.append(token)
    return ids


@wrong("10.2", "sin-fin", "sin-límite")
def without_end_or_limit(next_scores, bos, eos, longest):
    ids = [bos]
    while (token := next_scores(ids).argmax().item()) != eos:
        ids.append(token)
    return ids[1:]


@wrong("10.2", "sin-fin", "con-inicio")
def without_end_with_start(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        token = next_scores(ids).argmax().item()
        if token == eos:
            return ids
        ids.append(token)
    return ids


@wrong("10.2", "fin-de-más")
def always_adds_the_end(next_scores, bos, eos, longest):
    ids = []
    while len(ids) < longest:
        token = next_scores([bos, *ids]).argmax().item()
        if token == eos:
            break
        ids.append(token)
    return [*ids, eos]


@wrong("10.2", "rellena")
def pads_the_rest(next_scores, bos, eos, longest):
    ids = []
    while len(ids) < longest and eos not in ids:
        ids.append(next_scores([bos, *ids]).argmax().item())
    return ids + [0] * (longest - len(ids))


@wrong("10.2", "rellena")
def like_a_batch(next_scores, bos, eos, longest):
    ids, done = [bos], False
    for _ in range(longest):
        token = eos if done else next_scores(ids).argmax().item()
        done = done or token == eos
        ids.append(token)
    return ids[1:]


@wrong("10.2", "cambia-el-último")
def forces_the_end(next_scores, bos, eos, longest):
    ids = []
    while len(ids) < longest:
        ids.append(next_scores([bos, *ids]).argmax().item())
        if ids[-1] == eos:
            return ids
    ids[-1] = eos
    return ids


@wrong("10.2", "sin-el-último")
def drops_the_last(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        ids.append(next_scores(ids).argmax().item())
        if ids[-1] == eos:
            break
    return ids[1:-1]


@wrong("10.2", "solo-uno")  # noqa: RET503
def returns_in_the_loop(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        ids.append(next_scores(ids).argmax().item())
        return ids[1:]


@wrong("10.2", "solo-uno")
def a_single_step(next_scores, bos, eos, longest):
    return next_scores([bos]).argmax()


@wrong("10.2", "solo-el-último")
def returns_the_token(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        token = next_scores(ids).argmax().item()
        ids.append(token)
        if token == eos:
            break
    return token


@wrong("10.2", "solo-si-acaba")  # noqa: RET503
def returns_only_at_the_end(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        ids.append(next_scores(ids).argmax().item())
        if ids[-1] == eos:
            return ids[1:]


@wrong("10.2", "al-revés")
def reversed_output(next_scores, bos, eos, longest):
    ids = [bos]
    while len(ids) <= longest and (len(ids) == 1 or ids[-1] != eos):
        ids.append(next_scores(ids).argmax().item())
    return ids[:0:-1]


@wrong("10.2", "cuántos")
def how_many(next_scores, bos, eos, longest):
    ids = [bos]
    while len(ids) <= longest and (len(ids) == 1 or ids[-1] != eos):
        ids.append(next_scores(ids).argmax().item())
    return len(ids) - 1


@wrong("10.2", "sobran-ejes")
def with_a_batch(next_scores, bos, eos, longest):
    ids = torch.tensor([[bos]])
    for _ in range(longest):
        best = next_scores(ids).argmax().view(1, 1)
        ids = torch.cat([ids, best], dim=1)
        if best.item() == eos:
            break
    return ids[:, 1:]


@wrong("10.2", "no-da-todo")
def only_the_last_token(next_scores, bos, eos, longest):
    ids, token = [], bos
    while token != eos and len(ids) < longest:
        token = next_scores([token]).argmax().item()
        ids.append(token)
    return ids


@wrong("10.2", "no-da-todo")
def last_token_alone(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        ids.append(next_scores(ids[-1]).argmax().item())
        if ids[-1] == eos:
            break
    return ids[1:]


@wrong("10.2", "sin-inicio")
def forgets_bos(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        ids.append(next_scores(ids or [bos]).argmax().item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "sin-inicio")
def starts_empty(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        ids.append(next_scores(ids).argmax().item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "siempre-el-inicio")
def never_feeds_back(next_scores, bos, eos, longest):
    ids, seen = [], [bos]
    while len(ids) < longest:
        ids.append(next_scores(seen).argmax().item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "siempre-el-inicio")
def computes_once(next_scores, bos, eos, longest):
    scores, ids = next_scores([bos]), []
    for _ in range(longest):
        ids.append(scores.argmax().item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "no-da-lo-último")
def one_behind(next_scores, bos, eos, longest):
    ids, seen = [], [bos]
    for _ in range(longest):
        token = next_scores(seen).argmax().item()
        if ids:
            seen.append(token if False else ids[-1])
        ids.append(token)
        if token == eos:
            break
    return ids


@wrong("10.2", "entra-al-revés")
def inserts_in_front(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        ids.insert(0, next_scores(ids).argmax().item())
        if ids[0] == eos:
            break
    return ids[::-1][1:]


@wrong("10.2", "inicio-dos-veces")
def bos_twice(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        ids.append(next_scores([bos] + ids).argmax().item())
        if ids[-1] == eos:
            break
    return ids[1:]


@wrong("10.2", "inicio-otro-id")
def starts_with_one(next_scores, bos, eos, longest):
    ids = [1]
    for _ in range(longest):
        ids.append(next_scores(ids).argmax().item())
        if ids[-1] == eos:
            break
    return ids[1:]


@wrong("10.2", "inicio-otro-id")
def starts_with_the_end(next_scores, bos, eos, longest):
    ids = [eos]
    while len(ids) <= longest:
        ids.append(next_scores(ids).argmax().item())
        if ids[-1] == eos:
            break
    return ids[1:]


@wrong("10.2", "el-que-menos")
def the_lowest(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        ids.append(next_scores([bos, *ids]).argsort()[0].item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "el-segundo")
def the_second(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        ids.append(next_scores([bos, *ids]).topk(2).indices[1].item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "se-salta-el-0")
def never_pad(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        scores = next_scores([bos, *ids])
        scores[0] = -torch.inf
        ids.append(scores.argmax().item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "id-corrido")
def off_by_one_id(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        ids.append(next_scores([bos, *ids]).argmax().item() + 1)
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "el-mayor-sin-signo")
def largest_magnitude(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        ids.append(next_scores([bos, *ids]).abs().argmax().item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "prohíbe-el-fin")
def forbids_the_end(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        scores = next_scores([bos, *ids])
        scores[eos] = -1e9
        ids.append(scores.argmax().item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "no-repite")
def never_repeats(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        scores = next_scores([bos, *ids])
        scores[ids] = -torch.inf
        if scores.isinf().all():
            scores[0] = 0.0
        ids.append(scores.argmax().item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "guarda-la-puntuación")
def keeps_the_score(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        ids.append(next_scores(ids).max().item())
        if ids[-1] == eos:
            break
    return ids[1:]


# --- Malas, con dos errores o más -----------------------------------------------------------------


@wrong("10.2", "no-para", "un-token-menos", "con-inicio")
def three_at_once(next_scores, bos, eos, longest):
    ids = [bos]
    while len(ids) < longest:
        ids.append(next_scores(ids).argmax().item())
    return ids


@wrong("10.2", "no-da-todo", "sin-fin")
def last_only_without_end(next_scores, bos, eos, longest):
    ids, token = [], bos
    for _ in range(longest):
        token = next_scores([token]).argmax().item()
        if token == eos:
            break
        ids.append(token)
    return ids


@wrong("10.2", "no-da-todo", "no-para")
def last_only_never_stops(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        ids.append(int(next_scores([ids[-1]]).argmax()))
    return ids[1:]


@wrong("10.2", "sin-inicio", "un-token-más")
def without_start_and_one_more(next_scores, bos, eos, longest):
    ids = []
    while len(ids) <= longest:
        ids.append(next_scores(ids).argmax().item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "el-que-menos", "con-inicio")
def lowest_with_start(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        ids.append(next_scores(ids).argmin().item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "inicio-otro-id", "para-en-otro")
def marks_of_bert(next_scores, bos, eos, longest):
    ids = [101]
    for _ in range(longest):
        ids.append(next_scores(ids).argmax().item())
        if ids[-1] == 102:
            break
    return ids[1:]


@wrong("10.2", "el-que-menos", "no-para")
def lowest_and_never_stops(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        ids.append(next_scores(ids).min(dim=0).indices.item())
    return ids[1:]


@wrong("10.2", "no-da-todo")
def a_window_of_four(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        ids.append(next_scores(ids[-4:]).argmax().item())
        if ids[-1] == eos:
            break
    return ids[1:]


@wrong("10.2", "solo-si-acaba")
def empty_if_too_long(next_scores, bos, eos, longest):
    ids, token = [bos], None
    while token != eos:
        if len(ids) > longest:
            return []
        token = next_scores(ids).argmax().item()
        ids.append(token)
    return ids[1:]


@wrong("10.2", "azar")
def samples(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        ids.append(torch.multinomial(next_scores([bos, *ids]).softmax(-1), 1).item())
        if ids[-1] == eos:
            break
    return ids


@wrong("10.2", "none")
def no_return(next_scores, bos, eos, longest):
    ids = [bos]
    while ids[-1] != eos and len(ids) <= longest:
        ids.append(next_scores(ids).argmax().item())


@wrong("10.2", "tipo")
def a_text(next_scores, bos, eos, longest):
    ids = [bos]
    while ids[-1] != eos and len(ids) <= longest:
        ids.append(next_scores(ids).argmax().item())
    return " ".join(map(str, ids[1:]))


# --- Raras ----------------------------------------------------------------------------------------


@odd("10.2")
def the_third(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        ids.append(next_scores([bos, *ids]).argsort()[-3].item())
        if ids[-1] == eos:
            break
    return ids


@odd("10.2")
def only_even(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        ids.append(2 * next_scores([bos, *ids])[::2].argmax().item())
        if ids[-1] == eos:
            break
    return ids


@odd("10.2")
def always_the_same(next_scores, bos, eos, longest):
    return [4, 3, eos]


@odd("10.2")
def two_by_two(next_scores, bos, eos, longest):
    ids = []
    while len(ids) < longest - 1:
        ids += next_scores([bos, *ids]).topk(2).indices.tolist()
        if eos in ids[-2:]:
            break
    return ids


@odd("10.2")
def nothing(next_scores, bos, eos, longest):
    return []


@odd("10.2")
def with_the_end_in_sight(next_scores, bos, eos, longest):
    ids = [bos]
    for _ in range(longest):
        ids.append(next_scores([*ids, eos]).argmax().item())
        if ids[-1] == eos:
            break
    return ids[1:]


@odd("10.2")
def with_a_repetition_penalty(next_scores, bos, eos, longest):
    ids = []
    while len(ids) < longest and eos not in ids:
        scores = next_scores([bos, *ids])
        scores[list(set(ids))] -= 0.3
        ids.append(scores.argmax().item())
    return ids


# --- Lo que promete el enunciado ------------------------------------------------------------------


@right("10.2")
def drops_every_start_mark(next_scores, bos, eos, longest):
    ids = [bos]
    while len(ids) <= longest and (len(ids) == 1 or ids[-1] != eos):
        ids.append(int(next_scores(ids).argmax()))
    return [token for token in ids if token != bos]


@wrong("10.2", "prohíbe-el-inicio")
def forbids_the_start_mark(next_scores, bos, eos, longest):
    ids = []
    while len(ids) < longest and eos not in ids:
        scores = next_scores([bos, *ids])
        scores[bos] = -torch.inf
        ids.append(int(scores.argmax()))
    return ids


@wrong("10.2", "para-en-el-inicio")
def stops_at_any_mark(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        ids.append(int(next_scores([bos, *ids]).argmax()))
        if ids[-1] in (bos, eos):
            break
    return ids


@wrong("10.2", "compara-con-is")
def compares_with_is(next_scores, bos, eos, longest):
    ids = []
    for _ in range(longest):
        token = next_scores([bos, *ids]).argmax().item()
        ids.append(token)
        if token is eos:
            break
    return ids


@wrong("10.2", "límite-propio")
def at_most_twenty(next_scores, bos, eos, longest):
    ids = []
    for _ in range(min(longest, 20)):
        ids.append(int(next_scores([bos, *ids]).argmax()))
        if ids[-1] == eos:
            break
    return ids


WRITTEN = {}


@odd("10.2")
def remembers_by_marks(next_scores, bos, eos, longest):
    if (bos, eos, longest) not in WRITTEN:
        WRITTEN[bos, eos, longest] = while_loop(next_scores, bos, eos, longest)
    return WRITTEN[bos, eos, longest]
