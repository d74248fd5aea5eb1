"""El traductor: qué devuelve, qué hace con lo raro, y que sus archivos son los que deben."""

import pickle
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import few
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file

from course_lib import Transformer, causal_mask, padding_mask, probes
from course_lib import translator as translator_module
from course_lib.translator import (
    FOLDER, TranslatorError, TranslatorWarning, load_translator, read_translator, words_of,
)  # fmt: skip
from course_lib.translator_model.checks import (
    LONGEST_SEEN, doubtful_words, looks_spanish, read_sentence,
)  # fmt: skip
from course_tools.training.phrase_book import phrase_pairs
from course_tools.training.train_translator import FINISHING, RECIPE, WITH_PHRASES

SENTENCE = "I gave the dog a bone because it was hungry."


@pytest.fixture(scope="module")
def translator():
    return load_translator()


def quietly(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TranslatorWarning)
        return function(*arguments, **options)


# --- Los archivos ---------------------------------------------------------------------------------


def test_it_is_small_and_only_safetensors():
    files = {path.name: path.stat().st_size for path in FOLDER.iterdir() if path.is_file()}
    assert sum(files.values()) <= 8e6
    kinds = {path.rpartition(".")[2] for path in files}
    assert kinds == {"safetensors", "json", "md", "py"}, "ni pickle ni nada que se ejecute al leer"


def test_the_card_says_what_the_files_are(translator):
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    parameters = sum(parameter.numel() for parameter in translator.model.parameters())
    files = ("model.safetensors", "config.json", "tokenizer.json")
    size = sum((FOLDER / name).stat().st_size for name in files) / 1e6
    facts = [
        f"{parameters:,} parámetros".replace(",", "\u202f"),
        f"ocupan {size:.1f} MB",
        f"BPE, {translator.tokenizer.get_vocab_size()} tokens",
        f"si pasan de {LONGEST_SEEN} tokens",
        f"no admite más de {translator.max_sequence_len - 1}",
        f"{RECIPE['epochs']} épocas de lotes de unos {RECIPE['max_tokens']} tokens",
        f"subida de {RECIPE['warmup_steps']} pasos",
        f"dropout {RECIPE['dropout']}",
        f"semilla {RECIPE['seed']}",
        f"{FINISHING['epochs']} épocas más",
        f"en las {FINISHING['whole_epochs']} últimas",
        f"Muon, hasta {FINISHING['peak_of_matrices'] * 1000:g}e-3",
        f"Adam, hasta {FINISHING['peak'] * 1000:g}e-3",
        f"a {FINISHING['joined'] * 100:.0f} de cada 100 parejas les sigue otra",
        f"salen hasta {WITH_PHRASES['phrases']} frases",
        f"unas {len(phrase_pairs(1, WITH_PHRASES['phrases'])) // 100 / 10:.1f}".replace(".", " ") + "00",
        f"el libro de frases: {WITH_PHRASES['epochs']} épocas más",
        f"{WITH_PHRASES['fraction'] * 100:.0f} de cada 100 frases de Tatoeba",
        f"Muon, hasta {WITH_PHRASES['peak_of_matrices'] * 10000:g}e-4",
        f"Adam, hasta {WITH_PHRASES['peak'] * 10000:g}e-4",
        f"subida de {WITH_PHRASES['warmup_steps']} pasos",
        f"media móvil {WITH_PHRASES['average']}",
        f"{len(probes.aligned_pairs())} parejas de frases",
        f"{len(probes.gender_pairs())} y {len(probes.gender_controls())} parejas",
        "Tatoeba (tatoeba.org), CC BY 2.0 FR",
    ]
    assert [fact for fact in facts if fact not in card] == []


def test_it_is_the_course_transformer(translator):
    assert type(translator.model) is Transformer
    assert translator.model is load_translator().model  # se carga una vez
    stored = load_file(FOLDER / "model.safetensors")
    parameters = dict(translator.model.named_parameters())
    assert stored.keys() == parameters.keys()
    assert all(torch.equal(stored[name].float(), parameters[name]) for name in stored)
    tied = translator.model.output_projection.weight
    assert tied is translator.model.decoder.output_embedding.table.weight
    assert tied is translator.model.encoder.input_embedding.table.weight


def damaged(name, before="", after=""):
    """Estropea un archivo: cambia un trozo suyo o, si no se dice cuál, escribe otra cosa."""

    def spoil(folder):
        text = (folder / name).read_text("utf-8").replace(before, after) if before else after
        (folder / name).write_text(text, "utf-8")

    return spoil


SPOILED = {
    "sin pesos": lambda folder: (folder / "model.safetensors").unlink(),
    "tokenizador roto": damaged("tokenizer.json", after="{"),
    "otra configuración": damaged("config.json", after="[]"),
    "sin palabras": lambda folder: (folder / "words.json").unlink(),
    "pesos rotos": damaged("model.safetensors", after="\0" * 100),
    "sobran pesos": damaged("config.json", '"Nx": 3', '"Nx": 2'),
    "otras marcas": damaged("tokenizer.json", '"</s>"', '"<fin>"'),
}


@pytest.mark.parametrize("how", SPOILED)
def test_damaged_files_say_so(tmp_path, how):
    folder = shutil.copytree(FOLDER, tmp_path / "traductor")
    SPOILED[how](folder)
    with pytest.raises(TranslatorError, match="faltan o están dañados .* Vuelve a descargar"):
        read_translator(folder)


# --- Qué devuelve ---------------------------------------------------------------------------------


def test_fields(translator):
    found = translator.translate(SENTENCE)
    m_E, m_D = len(found.source_tokens), len(found.target_tokens)
    assert found.source_tokens[-1] == found.target_tokens[-1] == "</s>"
    assert found.seen_tokens == ["<s>", *found.target_tokens[:-1]]
    assert found.steps[0] == f"<s> → {found.target_tokens[0]}"
    assert found.cross_attention.shape == (2, 4, m_D, m_E)
    assert found.encoder_attention.shape == (3, 4, m_E, m_E)
    assert found.decoder_attention.shape == (2, 4, m_D, m_D)
    for weights in (found.cross_attention, found.encoder_attention, found.decoder_attention):
        torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    assert (found.decoder_attention[..., ~causal_mask(m_D)] == 0).all()
    assert not found.cross_attention.requires_grad
    assert found.confidence == pytest.approx(found.log_probabilities.mean().item())


@torch.inference_mode()
def test_numbers_are_the_models(translator):
    """Los pesos y las probabilidades, con las piezas del modelo y un paso cada vez."""
    found = translator.translate(SENTENCE)
    ids = translator.tokenizer.encode(SENTENCE).ids + [translator.eos]
    written = [translator.tokenizer.token_to_id("<s>")]
    source = torch.tensor([ids])
    for step in range(len(found.target_tokens)):
        logits, weights = translator.model(source, torch.tensor([written]), need_weights=True)
        log_probabilities = logits[0, -1].log_softmax(-1)
        best = log_probabilities.argmax().item()
        torch.testing.assert_close(found.log_probabilities[step], log_probabilities[best])
        cross = torch.stack(weights["cross"])[:, 0, :, -1]
        torch.testing.assert_close(found.cross_attention[:, :, step], cross)
        written.append(best)
    assert translator.tokenizer.decode(written[1:]) == found.text
    assert written[-1] == translator.eos


def test_align_reads_what_it_is_given(translator):
    translated = translator.translate(SENTENCE)
    again = translator.align(SENTENCE, translated.text)
    assert again.target_tokens == translated.target_tokens
    torch.testing.assert_close(again.cross_attention, translated.cross_attention)
    other = quietly(translator.align, SENTENCE, "Mañana vuelan los gatos azules.")
    assert other.confidence < translated.confidence - 2


# --- De tokens a palabras -------------------------------------------------------------------------


def test_words_of():
    tokens = ["¿", "Dón", "##de", "está", "Zor", "##bl", "##ax", "?", "10", ":", "35", "</s>"]
    assert words_of(tokens) == [
        ("Dónde", [1, 2]), ("está", [3]), ("Zorblax", [4, 5, 6]), ("10", [8]), ("35", [10]),
    ]  # fmt: skip
    assert words_of(["<s>", "¡", "!"]) == []


def test_pieces_of_a_word_are_joined(translator):
    found = quietly(translator.translate, "Zorblaxia's dog isn't here, is it?")
    words = [word for word, _ in found.source_words]
    assert words == ["Zorblaxia's", "dog", "isn't", "here", "is", "it"]


def test_to_words_by_hand(translator):
    found = quietly(translator.translate, "Grandmother's umbrellas aren't waterproof, Zorblax.")
    assert any(len(index) > 1 for _, index in found.source_words)
    weights = found.cross_attention[1].mean(0)
    table = found.to_words(weights)
    for i, (_, rows) in enumerate(found.target_words):
        for j, (_, columns) in enumerate(found.source_words):
            expected = sum(weights[r, c] for r in rows for c in columns) / len(rows)
            assert table[i, j].item() == pytest.approx(expected.item(), abs=1e-6)
    torch.testing.assert_close(found.word_attention, table)
    with pytest.raises(ValueError, match="to_words: la matriz tiene forma .* de una cabeza"):
        found.to_words(found.cross_attention[1])
    for (word, source), row in zip(found.alignment, table):
        assert source == found.source_words[row.argmax()][0]
        assert word in found.text


# --- Lo raro --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "error", "said"), [
    *((empty, TranslatorError, "está vacía|no hay ninguna palabra")
      for empty in ("", "   ", "\n\t", "\u200b\u200b", "...", "¿?", "😀", "你好", "Привет")),
    *((wrong, TypeError, "tiene que ser un texto")
      for wrong in (None, 3, b"Hello", ["Hello"], Path("hello"), np.array(["Hello"]))),
    *((broken, TranslatorError, "un carácter roto") for broken in ("a\ud83d", "\udc00 dog", "\ud83d")),
    ("the dog " * 70, TranslatorError, "tiene .* tokens y caben 127"),
], ids=lambda x: ascii(x)[:20])  # fmt: skip
def test_what_cannot_be_translated(translator, given, error, said):
    with pytest.raises(error, match=said):
        translator.translate(given)


def test_what_it_says_is_the_same_in_another_process():
    """Un error y un aviso llevan aparte lo que dicen, y se copian enteros."""
    told = TranslatorError("la frase está vacía.", "translate"), TranslatorWarning("una nota.")
    error, warning = (pickle.loads(pickle.dumps(one)) for one in told)
    assert (str(error), error.reason) == ("translate: la frase está vacía.", "la frase está vacía.")
    assert (str(warning), warning.note) == ("traductor: una nota.", "una nota.")


@pytest.mark.parametrize(("order", "given", "said"), [
    *(("align", spanish, "la traducción está vacía. Escribe .* en español") for spanish in ("", " \n")),
    *(("translate", beam, "beam = .* entero de 1 a 16") for beam in (0, -1, 17, 2.0, True, "4")),
])  # fmt: skip
def test_what_cannot_go_with_a_sentence(translator, order, given, said):
    with pytest.raises(ValueError, match=said):
        getattr(translator, order)("Hello.", given)


@pytest.mark.parametrize(("sentence", "warning"), [
    ("I love you 😀.", "no conoce «😀»"),
    ("I \u200blove\ufffd you.", r"no conoce U\+200B \(espacio sin ancho, carácter 3\), U\+FFFD "),
    ("😀👍🦴🐶 dogs 日本", "«😀», «👍», «🦴», «🐶», «日» y 1 más: no"),
    ("THE DOG IS VERY HUNGRY.", "en mayúsculas: se ha leído en minúsculas"),
    ("El perro de la casa tiene hambre.", "parece española"),
    ("¿Dónde está?", "parece española"),
    ("Buenos días.", "parece española"),
    ("<b>Hello</b> my friend.", "«<b>», «</b>»: las etiquetas no se leen"),
    ("I see " + "the dog and " * 20 + "the cat.", "frases de 39 como mucho"),
])  # fmt: skip
def test_warnings(translator, sentence, warning):
    with pytest.warns(TranslatorWarning, match=warning) as told:
        found = translator.translate(sentence)
    assert found.text
    assert {one.filename for one in told} == {__file__}, "señala a quien lo ha pedido"


@pytest.mark.parametrize(("sentence", "read"), [
    ("My ﬂower in the oﬃce.", "My flower in the office."), ("Use 2½ cups.", "Use 2 1/2 cups."),
    ("№5 is a dog™.", "No 5 is a dog TM."), ("It is 5㎏, 3 m² and 10².", "It is 5 kg, 3 m2 and 10 2."),
    ("The Ｄｏｇ 𝐞𝐚𝐭𝐬 ②.", "The Dog eats 2."), ("The dřevo (½).", "The drevo (1/2)."),
])  # fmt: skip
def test_what_other_programs_write_is_read_and_said(translator, sentence, read):
    _, _, (first, *_) = found = read_sentence(translator.tokenizer, sentence, 127)
    assert found[0] == read
    odd = [sign for sign in dict.fromkeys(sentence) if not sign.isascii()]
    assert first.count(" como ") == len(odd)
    assert all(f"«{sign}» como «" in first for sign in odd)


@pytest.mark.lenta  # un Python nuevo, con sus filtros de avisos
def test_a_warning_is_given_every_time():
    """Aun en la misma línea, y sin que nadie toque los filtros de avisos."""
    program = (
        "from course_lib import load_translator\n"
        "for _ in range(2): load_translator().translate('Buenos días.')"
    )
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert told.stderr.count("<string>:2: TranslatorWarning: traductor: esta frase parece") == 2


DOUBTS = [  # la frase, su traducción, lo que cambia y lo que no se conoce; en la página, lo mismo
    ("Tom met Kowalski on May 25.", "Tom vio a Kowiciki el 52 de mayo.", ["«25»", "«Kowalski»"], []),
    ("Tom met Kowalski on May 25.", "Tom vio a Kowalski el 25 de mayo.", [], []),
    ("Tom read Kowalski's book.", "Tom leyó el libro de Kowálski.", [], []),
    ("It costs 1,250 euros.", "Cuesta 1.250 euros.", [], []),
    ("It costs 1,250 euros.", "Cuesta 125 euros.", ["«1,250»"], []),
    ("It costs $1,250.00.", "Cuesta 1250 dólares.", [], []),
    ("It costs $1,250.50.", "Cuesta 1.250,5 dólares.", [], []),
    ("It costs $1,250.50.", "Cuesta 1.250 dólares.", ["«1,250.50»"], []),
    ("Pi is 3.14.", "Pi es 3,14.", [], []),
    ("Call me at 10:45, on day 7.", "Llámame a las once menos cuarto, el día siete.", [], []),
    ("I saw Susan and Zorblax.", "Vi a Sussan y a Zorblax.", ["«Susan»"], []),
    ("Zorblax is here.", "El papel está aquí.", [], ["«Zorblax»"]),
    ("Zorblax is here.", "Zorblax está aquí.", [], []),
    ("The platypus and the axolotls eat.", "El pato come.", [], ["«platypus»", "«axolotls»"]),
    ("I rest on Wednesdays. Scientists rest.", "Descanso los miércoles. Ellos, no.", [], []),
    ("An Italian in Greece and Isn't it?", "Un italiano en Grecia. ¿No es así?", [], []),
    ("It costs $1,250.50, and 20 and 20.", "Cuesta 1.250 dólares.", ["«1,250.50»", "«20»"], []),
    ("Zorblax and Zorblax met Zorblax.", "El papel está aquí.", ["«Zorblax»"], ["«Zorblax»"]),
    ("I saw Kowalski's violins.", "Los vi.", ["«Kowalski»"], []),
    ("I saw ZORBLAX.", "Vi a Zorblax.", [], []),
]  # fmt: skip


@pytest.mark.parametrize(("english", "spanish", "changed", "unknown"), DOUBTS)
def test_doubtful_words(translator, english, spanish, changed, unknown):
    found = quietly(translator.align, english, spanish)
    assert doubtful_words(found, translator.known) == (changed, unknown)


@pytest.mark.parametrize(("written", "unsure", "english", "told"), [
    ("El pato es azul.", -99.0, "The platypus is blue.", "no conoce «platypus»: puede habérselo inventado"),
    ("El pato es azul.", -99.0, "This is Zorblax.", "comprueba «Zorblax»: no está igual"),
    # Si duda de todo, dice eso y basta.
    ("La habitación es 4250.", -9.0, "The room is 4205.", "comprueba «4205»: no está igual"),
])  # fmt: skip
def test_a_word_or_a_number_that_changes_is_told(translator, monkeypatch, written, unsure, english, told):
    ids = translator.tokenizer.encode(written).ids + [translator.eos]
    monkeypatch.setattr(translator_module, "greedy_search", lambda *arguments: ids)
    monkeypatch.setattr(translator_module, "UNSURE", unsure)
    with pytest.warns(TranslatorWarning, match=told):
        translator.translate(english)


# Ninguno está en sus frases ni en el libro de frases.
NAMES = """Ainhoa Akira Anselmo Bartholomew Brunhilde Candela Casimir Chidi Delphine Eloise Fergus Genoveva
Gwendolyn Hamish Ignacio Ingeborg Jolanta Kwame Lavinia Ludmila Magnus Mirela Nkechi Oriol Ottavia
Percival Quentin Ramona Roderick Saoirse Siobhan Tadeusz Thandiwe Ulrich Vikram Winifred Xochitl
Yevgenia Zorblax Zuleika"""


@pytest.mark.parametrize("sentence", ["{} is in the kitchen.", "We know {} very well."])
@pytest.mark.lenta
def test_an_unknown_name_is_copied_or_told(translator, sentence):
    copied = 0
    for name in NAMES.split():
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", TranslatorWarning)
            found = translator.translate(sentence.format(name))
        is_copied = name in [word for word, _ in found.target_words]
        assert is_copied != any(
            f"«{name}»" in str(one.message) or "muy poco seguro" in str(one.message) for one in told
        ), found
        copied += is_copied
    assert copied >= 24  # de 40


@pytest.mark.parametrize(("typed", "read"), [
    ("hello, i'm here", "Hello, I'm here"),
    ("  What   is\tthis ?", "What is this?"),
    ("I love you 😀.", "I love you."),
    ("iPhones are big.", "IPhones are big."),
    ("<b>Hello</b><br/>, Tom.", "Hello, Tom."),
    ("2 < 3 and 3 > 1.", "2 3 and 3 1."),  # no es una etiqueta; el signo no lo conoce
    ("ñandú", "ñandú"),  # no conoce la «Ñ»; la «ñ», sí
    ("Zoë is naïve.", "Zoe is naive."),
])  # fmt: skip
def test_what_is_read(translator, typed, read):
    assert quietly(translator.translate, typed).source == read


def test_typographic_signs_are_read_as_the_plain_ones(translator):
    one, two = "“Stop…” — she said, ‘I won’t’.", "\"Stop...\" - she said, 'I won't'."
    first, second = (quietly(translator.translate, text) for text in (one, two))
    assert first.source_tokens == second.source_tokens


def test_english_is_not_taken_for_spanish():
    pairs = probes.aligned_pairs()
    assert not any(looks_spanish(pair.english) for pair in pairs)
    assert sum(looks_spanish(pair.spanish) for pair in pairs) >= 70
    assert not any(map(looks_spanish, ("Their son died.", "Soy sauce tastes good.", "The café is shut.")))


@pytest.mark.lenta
@few
@given(st.text(max_size=60))
def test_anything_typed_ends_well(sentence):
    """O una traducción acabada a tiempo, o un error claro: nunca otra cosa."""
    translator = load_translator()
    for beam in (1, 3):
        try:
            found = quietly(translator.translate, sentence, beam)
        except TranslatorError:
            continue
        assert len(found.target_tokens) <= 2 * len(found.source_tokens) + 10
        assert "<unk>" not in found.target_tokens
        assert found.cross_attention.isfinite().all()


# --- Lo primero que se escribe ---------------------------------------------------------------------

JUDGED = [
    line.split("\t")
    for line in Path(__file__).with_name("primeras_frases.tsv").read_text("utf-8").splitlines()
]


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.lenta)])
def test_the_first_sentences_are_translated_as_judged(translator, step):
    """Quien las ha juzgado leía español. Si una cambia, se juzga otra vez y se apunta."""
    new = {
        english: found
        for _, english, spanish, *_ in JUDGED[::step]
        if (found := quietly(translator.translate, english).text) != spanish
    }
    assert new == {}


def test_the_card_counts_the_first_sentences():
    verdicts = [verdict for _, _, _, verdict, *_ in JUDGED]
    assert set(verdicts) == {"bien", "mal"}
    assert len(verdicts) == 150
    good = verdicts.count("bien")
    assert good >= 135
    assert all(len(row) == 5 and row[4] for row in JUDGED if row[3] == "mal"), "falta por qué"
    card = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert f"{good} de 150" in card


# --- Las preguntas que se le hacen ----------------------------------------------------------------


def test_aligned_pairs_are_well_formed(translator):
    pairs = probes.aligned_pairs()
    assert len(pairs) == 72
    assert len({pair.english for pair in pairs}) == 72
    for pair in pairs:
        found = quietly(translator.align, pair.english, pair.spanish)
        assert len(found.target_words) == len(pair.gold)
        assert all(admissible and max(admissible) < len(found.source_words) for admissible in pair.gold)


def test_alignment_by_hand(translator):
    pairs = probes.aligned_pairs()[:5]
    table = probes.alignment_accuracy(translator, pairs)
    assert table.shape == (2, 5)
    right = total = 0
    for english, spanish, gold in pairs:
        found = translator.align(english, spanish)
        for i, (_, rows) in enumerate(found.target_words):
            looked = [
                sum(found.cross_attention[0, 2, r, c].item() for r in rows for c in columns)
                for _, columns in found.source_words
            ]
            right += looked.index(max(looked)) in gold[i]
            total += 1
    assert table[0, 2].item() == pytest.approx(right / total)
    found = quietly(translator.align, "Hello there.", "Hola, Ana.")
    with pytest.raises(ValueError, match="la traducción tiene 2 palabras y el alineamiento, 1"):
        probes.alignment_hits(found, [{0}], found.cross_attention[0, 0])


def test_gender_pairs_are_well_formed():
    pairs = probes.gender_pairs()
    assert len(pairs) >= 40
    for first, second in pairs:
        assert {first.gender, second.gender} == {"m", "f"}
        assert first.english.split()[:-1] == second.english.split()[:-1]
        assert first.english.index(first.noun) < first.english.index(second.noun)
    for first, second in probes.gender_controls():
        assert (first.gender, second.gender) == ("m", "f")
        assert first.english.replace(first.noun, second.noun) == second.english
        assert (first.masculine, first.feminine) == (second.masculine, second.feminine)


def test_chosen_gender(translator):
    example = probes.Gendered("", "", "f", "ancho", "ancha")
    for text, expected in {
        "La calle era ancha.": "f",
        "El río era ancho": "m",
        "Era grande.": None,
        "Ancho y ancha": None,
    }.items():
        assert probes.chosen_gender(translator.align("x", text), example) == expected


@torch.inference_mode()
def test_without_heads(translator):
    layer = translator.model.decoder.decoder.decoder_layers[1].cross_attention
    x, memory = torch.randn(2, 5, 192), torch.randn(2, 7, 192)
    mask = padding_mask(torch.tensor([[1] * 7, [1] * 4 + [0] * 3]))
    _, weights = layer(x, memory, memory, mask)
    values = layer.split_heads(layer.value_projection(memory))
    heads = weights @ values
    heads[:, [1, 3]] = 0.0
    expected = layer.output_projection(layer.concat_heads(heads))
    with probes.without_heads((layer, 1), (layer, 3)):
        torch.testing.assert_close(layer(x, memory, memory, mask)[0], expected)
    for head in (-1, layer.heads):
        with (
            pytest.raises(ValueError, match=f"no hay cabeza {head}: esta atención tiene"),
            probes.without_heads((layer, 0), (layer, head)),
        ):
            pass
