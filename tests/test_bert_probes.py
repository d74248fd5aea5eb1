"""Las frases con las que se interroga a un BERT, y lo que se mide en ellas."""

import re
from statistics import correlation

import pytest
import torch

from course_checkers.engine import Case
from course_checkers.lessons.l12_2_intervention import Intervention
from course_lib import encoder_from_bert, extract_embeddings, load_bert
from course_lib.probes import (
    PROBES, Pair, attention_between, changed_heads, find_word, hooked, load_probes, place_and_content,
    read_versions, word_vectors,
)  # fmt: skip

each_language = pytest.mark.parametrize("probes", PROBES.values(), ids=PROBES)
ENGLISH = PROBES["en"]


def all_pairs(probes):
    return [*probes.living, *probes.things, *probes.both_living]


# --- Las frases -----------------------------------------------------------------------------------


@each_language
def test_pairs_are_enough_complete_and_different(probes):
    """Las que pide la lección: 12 parejas y 20 frases, o más."""
    assert len(probes.living) >= 12
    assert len(probes.varied) >= 20
    assert len(probes.living) % 2 == 0, "se parte en dos mitades"
    pairs = all_pairs(probes)
    assert all(isinstance(pair, Pair) and all(pair) for pair in pairs)
    for group in (probes.living, probes.things, probes.both_living):
        assert len({(pair.first, pair.second) for pair in group}) == len(group)
    assert all(pair.first != pair.second for pair in pairs)
    assert all(pair.first_adjective != pair.second_adjective for pair in pairs)
    living = {pair.first for pair in probes.living}
    assert living.isdisjoint(pair.second for pair in probes.living)
    assert all(len(adjectives) == 2 for adjectives in probes.neutral)


@each_language
def test_only_the_adjective_changes_in_a_pair(probes):
    for form in [*probes.forms, "shuffled"]:
        for pair in all_pairs(probes):
            one = probes.sentence(pair, pair.first_adjective, form).split()
            other = probes.sentence(pair, pair.second_adjective, form).split()
            changed = [(a, b) for a, b in zip(one, other, strict=True) if a != b]
            assert changed == [(pair.first_adjective, pair.second_adjective)]
            for word in (probes.query(form), pair.first, pair.second):
                assert one.count(word) == 1


def test_forms_in_words():
    dog = ENGLISH.living[0]
    assert ENGLISH.sentence(dog, "old") == "The dog chewed the bone because it was old"
    passive = "The bone was chewed by the dog because it was old"
    assert ENGLISH.sentence(dog, "old", "passive") == passive
    assert "was not old" in ENGLISH.sentence(dog, "old", "negated")
    assert (ENGLISH.query(), ENGLISH.query("name"), ENGLISH.query("shuffled")) == ("it", "Mary", "it")


def test_shuffled_has_the_same_words_in_another_order():
    moved = 0
    for pair in ENGLISH.living:
        plain, mixed = (ENGLISH.sentence(pair, "old", f).split() for f in ("active", "shuffled"))
        assert sorted(plain) == sorted(mixed)
        moved += plain != mixed
    assert moved == len(ENGLISH.living)
    assert mixed == ENGLISH.sentence(pair, "old", "shuffled").split(), "siempre el mismo orden"
    with pytest.raises(ValueError, match="forma 'nada'.*active, passive, .*shuffled"):
        ENGLISH.sentence(ENGLISH.living[0], "old", "nada")


@each_language
def test_every_word_with_groups_is_once_in_each_of_its_sentences(probes):
    for groups in (probes.senses, probes.topics):
        for word, (one, other) in groups.items():
            assert len(one) == len(other) == 3
            assert len({*one, *other}) == 6
            for sentence in (*one, *other):
                assert re.findall(r"\w+", sentence.lower()).count(word) == 1, sentence


def test_spanish_nouns_do_not_show_the_answer_by_their_gender():
    """Todos masculinos y singulares: el artículo «El» vale para los dos."""
    for pair in all_pairs(PROBES["es"]):
        for adjective in (pair.first_adjective, pair.second_adjective):
            assert not re.search(r"(a|as|os)$", adjective), adjective


def test_english_nouns_are_whole_tokens_of_the_course_model():
    vocabulary = load_bert().tokenizer.get_vocab()
    for pair in all_pairs(ENGLISH):
        assert {pair.first, pair.second} <= vocabulary.keys()


def test_load_probes():
    assert load_probes() is ENGLISH, "el modelo del curso es inglés"
    assert load_probes("es") is PROBES["es"]
    with pytest.raises(ValueError, match="language = 'fr'.*en, es"):
        load_probes("fr")


# --- Lo que se mide -------------------------------------------------------------------------------


def test_find_word():
    tokens = ["[CLS]", "the", "blick", "##et", "saw", "the", "cat", "##s", "cat", "[SEP]"]
    assert find_word(tokens, "saw") == slice(4, 5)
    assert find_word(tokens, "cat") == slice(8, 9), "«cats» no es «cat»"
    assert find_word(["x", *load_bert().tokenizer.tokenize("blicket")], "blicket").start == 1
    for word, times in (("the", 2), ("dog", 0)):
        with pytest.raises(ValueError, match=f"«{word}» está {times} veces en «.CLS. the"):
            find_word(tokens, word)


def run_alone(sentence):
    """Lo que da el modelo de Hugging Face con una frase sola, sin lote ni relleno."""
    bert = load_bert()
    inputs = bert.tokenizer(sentence, return_tensors="pt")
    with torch.no_grad():
        output = bert.model(**inputs, output_attentions=True, output_hidden_states=True)
    return bert.tokenizer.convert_ids_to_tokens(inputs["input_ids"][0]), output


SENTENCES = ("The dog saw a cat", "Later that day the old dog chewed the blicket", "dog")
KEYS = (("cat", "The"), ("blicket", "old"), ("dog", "dog"))


def test_attention_between_against_single_sentences():
    """Con bucles y frase a frase: el lote y el relleno no cambian nada."""
    found = attention_between(SENTENCES, "dog", KEYS)
    assert found.shape == (3, 2, 6, 12)
    for n, (sentence, words) in enumerate(zip(SENTENCES, KEYS)):
        tokens, output = run_alone(sentence)
        for k, word in enumerate(words):
            pieces = load_bert().tokenizer.tokenize(word)
            start = next(i for i in range(99) if tokens[i : i + len(pieces)] == pieces)
            for layer in range(6):
                for head in range(12):
                    row = output.attentions[layer][0, head, tokens.index("dog")]
                    total = sum(row[start + i] for i in range(len(pieces)))
                    assert abs(found[n, k, layer, head] - total) < 1e-5


def test_attention_from_a_word_in_pieces_is_the_mean_of_its_rows():
    sentence = "The blicket saw a cat"
    tokens, output = run_alone(sentence)
    size = len(load_bert().tokenizer.tokenize("blicket"))
    assert size > 1
    rows = [output.attentions[2][0, 5, 2 + i, tokens.index("cat")] for i in range(size)]
    found = attention_between([sentence], "blicket", [("cat",)])[0, 0, 2, 5]
    torch.testing.assert_close(found, sum(rows) / size, atol=1e-5, rtol=0)


def test_attention_between_needs_one_group_of_keys_for_each_sentence():
    with pytest.raises(ValueError, match="hay 2 frases y 1 grupos de keys"):
        attention_between(["The dog saw a cat", "The dog"], "dog", [("cat",)])
    with pytest.raises(ValueError, match="«bone» está 0 veces"):
        attention_between(["The dog saw a cat"], "dog", [("bone",)])


@pytest.mark.parametrize("word", ["dog", "blicket"])
def test_word_vectors_against_single_sentences(word):
    """De una palabra partida, la media de sus trozos."""
    sentences = [sentence for sentence in SENTENCES if word in sentence]
    vectors, pieces = word_vectors(iter(sentences), word), load_bert().tokenizer.tokenize(word)
    assert vectors.shape == (7, len(sentences), 384)
    for n, sentence in enumerate(sentences):
        tokens, output = run_alone(sentence)
        start = tokens.index(pieces[0])
        for layer, state in enumerate(output.hidden_states):
            expected = state[0, start : start + len(pieces)].mean(dim=0)
            torch.testing.assert_close(vectors[layer, n], expected, atol=1e-5, rtol=1e-4)


def test_read_versions():
    """Las frases van de dos en dos, y las posiciones, comprobadas con el texto de los tokens."""
    read, places = read_versions(ENGLISH, ENGLISH.living[:3])
    assert places.shape == (3, 6)
    expected = [(pair.first, pair.second) for pair in ENGLISH.living[:3] for _ in range(2)]
    for tokens, (it, first, second), nouns in zip(read.tokens, places.T.tolist(), expected):
        assert tokens[it] == "it"
        assert (tokens[first], tokens[second]) == nouns
    for i, pair in enumerate(ENGLISH.living[:3]):
        assert pair.first_adjective in read.tokens[2 * i]
        assert pair.second_adjective in read.tokens[2 * i + 1]


# --- Las dos correlaciones ------------------------------------------------------------------------


def test_place_and_content_against_loops():
    generator = torch.Generator().manual_seed(0)
    weights, shuffled = torch.rand(2, 3, 4, 7, 7, generator=generator, dtype=torch.double)
    order = [3, 0, 4, 1, 2]
    place, content = place_and_content(weights, shuffled, torch.tensor(order))
    assert place.shape == content.shape == (3, 4)
    cells = [(i, j) for i in range(5) for j in range(5) if i != j]
    for layer in range(3):
        for head in range(4):
            w, s = weights[layer, head].tolist(), shuffled[layer, head].tolist()
            before = [w[i + 1][j + 1] for i, j in cells]
            same_place = [s[i + 1][j + 1] for i, j in cells]
            same_words = [s[order.index(i) + 1][order.index(j) + 1] for i, j in cells]
            assert abs(place[layer, head] - correlation(before, same_place)) < 1e-9
            assert abs(content[layer, head] - correlation(before, same_words)) < 1e-9


@pytest.mark.parametrize("after", [False, True])
def test_hooks_last_as_long_as_the_block_even_if_it_fails(after):
    first, second, x = torch.nn.Linear(3, 5), torch.nn.Linear(5, 2), torch.randn(4, 3)
    double = (lambda _, inputs, y: 2 * y) if after else (lambda _, inputs: (2 * inputs[0],))
    with hooked((first, double), (second, double), after=after):
        seen = second(first(x))
    expected = 2 * second(2 * first(x)) if after else second(2 * first(2 * x))
    torch.testing.assert_close(seen, expected)
    for bad in ((second, lambda *_: 1 / 0), (None, double)):  # falla al pasar, y al ponerlo
        with pytest.raises((ZeroDivisionError, AttributeError)):
            with hooked((first, double), bad, after=after):
                second(first(x))
        for each in (first, second):
            assert not (each._forward_hooks or each._forward_pre_hooks)


def swapped(said):
    return said.flip(0)


@pytest.mark.parametrize("chosen", [[(3, 1)], [(2, 8), (2, 3), (4, 0)]])
def test_changed_heads_and_exercise_12_2_against_hugging_face(chosen):
    """El modelo de Hugging Face, con *hooks* de torch puestos a mano, y el encoder del curso."""
    bert = load_bert()
    encoder = encoder_from_bert(bert).requires_grad_(False)
    read = extract_embeddings([f"I gave the dog a bone because it was {word}" for word in ("hungry", "old")])

    def by_hand(head):
        def hook(_, inputs):
            said = inputs[0].clone()
            said[..., 32 * head : 32 * head + 32] = inputs[0].flip(0)[..., 32 * head : 32 * head + 32]
            return (said,)

        return hook

    before = bert.model(read.input_ids).last_hidden_state
    places = [(bert.model.encoder.layer[i].attention.output.dense, by_hand(head)) for i, head in chosen]
    handles = [part.register_forward_pre_hook(hook) for part, hook in places]
    after = bert.model(read.input_ids).last_hidden_state
    for handle in handles:
        handle.remove()
    assert (after - before).norm() > 0.5
    with changed_heads(encoder, swapped, *chosen[1:]), changed_heads(encoder, swapped, chosen[0]):
        torch.testing.assert_close(encoder(read.input_ids)[0], after, atol=1e-5, rtol=0)  # una dentro de otra
    torch.testing.assert_close(encoder(read.input_ids)[0], before, atol=1e-5, rtol=0)
    if len(chosen) == 1:
        [(layer, head)] = chosen
        right = Intervention().trace({}, Case("", (encoder.encoder, read.encoder_input, layer, [head])))
        torch.testing.assert_close(right["output"], (after - before).norm(dim=-1), atol=1e-4, rtol=0)


def test_a_place_that_is_not_there_is_said_in_a_sentence():
    encoder = encoder_from_bert(load_bert())
    for model, place, said in (
        (encoder, (6, 0), "no hay capa 6: este modelo tiene 6 capas .*. Elige otra."),
        (encoder, (-1, 0), "no hay capa -1"),
        (torch.nn.Linear(2, 2), (0, 0), "no hay capa 0: este modelo tiene 0 capas"),
        (encoder, (2, 12), "no hay cabeza 12: esta atención tiene 12, desde la 0. Elige"),
    ):
        with pytest.raises(ValueError, match=said), changed_heads(model, swapped, (0, 0), place):
            pass
    with pytest.raises(ZeroDivisionError), changed_heads(encoder, lambda said: 1 / 0, (1, 1), (5, 2)):
        encoder(torch.tensor([[101, 102]]))
    assert not any(part._forward_pre_hooks for part in encoder.modules())


def test_before_reading_no_matrix_changes_it():
    """En la primera capa, *it* puntúa igual con *hungry* que con *old*; en la segunda, no."""
    read = extract_embeddings([f"I gave the dog a bone because it was {word}" for word in ("hungry", "old")])
    it, dog, bone = (read.tokens[0].index(word) for word in ("it", "dog", "bone"))
    gaps = [(layer[:, :, it, dog] / layer[:, :, it, bone]).log() for layer in read.attentions[:2]]
    torch.testing.assert_close(*gaps[0], atol=1e-5, rtol=0)
    assert (gaps[1][0] - gaps[1][1]).abs().max() > 0.1
