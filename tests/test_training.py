"""Entrenar: el desplazamiento, la pérdida, la velocidad, los lotes, y el traductor entero en pequeño."""

import random
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from course_lib import Transformer, padding_mask
from course_lib.training import PAD, learning_rate, pad_ids, shift_right, target_loss
from course_lib.translator import read_translator
from course_tools.training import train_translator as trainer


def test_shift_right():
    ids = torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]])
    assert shift_right(ids, bos=2).tolist() == [[2, 5, 6, 7], [2, 8, 3, 0]]


def test_target_loss_is_the_plain_one_without_padding():
    torch.manual_seed(0)
    model = Transformer(9, 11, 24, 20, 3, 1, Nx_decoder=2).eval()
    assert pad_ids([[], [1, 2]]).dtype == torch.long
    source = pad_ids([[4, 5, 3], [6, 3], [7, 8, 5, 4, 3]])
    target = pad_ids([[4, 9, 10, 3], [5, 3], [6, 6, 6, 6, 6, 3]])
    loss, hits, tokens = target_loss(model, source, target, bos=2, smoothing=0.1)
    logits, _ = model(source, shift_right(target, 2), padding_mask(source != PAD))
    expected = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD, label_smoothing=0.1)
    torch.testing.assert_close(loss, expected)
    assert tokens == 12
    assert hits == ((logits.argmax(-1) == target) & (target != PAD)).sum()


def test_learning_rate_rises_and_falls():
    rates = [learning_rate(step, 100, 0.5, 10) for step in range(100)]
    assert rates[:10] == pytest.approx([0.05 * n for n in range(1, 11)])
    assert rates.index(max(rates)) in (9, 10)
    assert all(a > b for a, b in zip(rates[10:], rates[11:]))
    assert rates[55] == pytest.approx(0.25)  # a mitad de la bajada, la mitad
    assert 0 < rates[-1] < 0.001
    assert learning_rate(500, 100, 0.5, 10) == 0


# --- El traductor ---------------------------------------------------------------------------------

NOUNS = {"dog": "perro", "cat": "gato", "horse": "caballo", "boy": "niño", "wolf": "lobo"}
VERBS = {"sees": "ve", "hears": "oye", "wants": "quiere", "has": "tiene"}
PAIRS = [
    (f"The {a} {verb} a {b}.", f"El {NOUNS[a]} {VERBS[verb]} un {NOUNS[b]}.")
    for a in NOUNS
    for verb in VERBS
    for b in NOUNS
] + [("Tom is Ann.", "Tom es Ann."), ("I have 12 dogs!", "¡Tengo 12 perros!")]
SMALL = {
    "vocab_size": 120, "dim_embedding": 24, "max_sequence_len": 32, "heads": 3, "Nx": 1,
    "Nx_decoder": 2, "increment": 2,
}  # fmt: skip
QUICK = {**trainer.RECIPE, "epochs": 4, "max_tokens": 200, "warmup_steps": 5, "average": 0.9}


def weights(folder):
    return load_file(folder / "model.safetensors")


def test_trains_stops_and_goes_on_as_if_nothing(tmp_path, monkeypatch):
    """Cortado a media época y seguido después, da los mismos pesos, bit a bit."""
    trainer.train(PAIRS, PAIRS[:9], tmp_path / "seguido", SMALL, QUICK)
    real, calls = trainer.learning_rate, []

    def cut(*arguments):
        calls.append(arguments)
        if len(calls) == 10:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(trainer, "learning_rate", cut)
    with pytest.raises(KeyboardInterrupt):
        trainer.train(PAIRS, PAIRS[:9], tmp_path / "cortado", SMALL, QUICK)
    assert not (tmp_path / "cortado" / "model.safetensors").exists()
    trainer.train(PAIRS, PAIRS[:9], tmp_path / "cortado", SMALL, QUICK)
    whole, resumed = weights(tmp_path / "seguido"), weights(tmp_path / "cortado")
    assert whole.keys() == resumed.keys()
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    for name, pairs, configuration, recipe in (
        ("receta", PAIRS, SMALL, {**QUICK, "peak": 1e-3}),
        ("medidas", PAIRS, {**SMALL, "heads": 4}, QUICK),
        ("frases", PAIRS[1:], SMALL, QUICK),
    ):
        with pytest.raises(ValueError, match=f"otro entrenamiento: cambian {name}. Elige otra"):
            trainer.train(pairs, PAIRS[:9], tmp_path / "cortado", configuration, recipe)


def test_goes_on_from_other_weights(tmp_path):
    """Sin moverse (velocidad 0), salen los mismos pesos; y otra partida es otro entrenamiento."""
    first, second = tmp_path / "primero", tmp_path / "segundo"
    trainer.train(PAIRS, PAIRS[:9], first, SMALL, QUICK)
    still = {**QUICK, "epochs": 1, "peak": 0.0, "peak_of_matrices": 0.0}
    trainer.train(PAIRS[:60], PAIRS[:9], second, recipe=still, start=first)  # otras frases
    for name in ("config.json", "tokenizer.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()
    before, after = weights(first), weights(second)
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name], after[name]) for name in before)
    with pytest.raises(ValueError, match="otro entrenamiento: cambian partida. Elige otra"):
        trainer.train(PAIRS[:60], PAIRS[:9], second, SMALL, still)
    with pytest.raises(ValueError, match="vacía: no hay un traductor que se pueda leer. Con --desde"):
        trainer.train(PAIRS, PAIRS[:9], second, recipe=still, start=tmp_path / "vacía")


def test_the_phrase_book_joins_part_of_the_pairs(tmp_path, monkeypatch):
    """Cada época, otra parte de las frases y otras del libro; y nunca las que se apartan."""
    asked, seen = [], []

    def book(seed, each, excluded):
        asked.append((seed, each, excluded))
        return [(f"Good night, Ann {seed}.", "Buenas noches, Ann.")] * 7 if each else []

    monkeypatch.setattr(trainer, "phrase_pairs", book)
    monkeypatch.setattr(trainer, "vary", lambda pair, *others: seen.append(pair) or pair)
    recipe = {**QUICK, "epochs": 2, "fraction": 0.25, "phrases": 3}
    excluded = ["the DOG sees a cat", "Ann is Tom."]
    trainer.train(PAIRS, PAIRS[:9], tmp_path, SMALL, recipe, excluded=excluded)
    assert asked == [(seed, 3, excluded) for seed in (1, 1000, 1001)]
    part = round(0.25 * (len(PAIRS) - 1))
    first, second = seen[: part + 7], seen[part + 7 :]
    assert len(first) == len(second) == part + 7
    assert set(first[:part]) < set(PAIRS) > set(second[:part])
    assert set(first[:part]) != set(second[:part])
    assert {english for english, _ in first[part:]} == {"Good night, Ann 1000."}
    seen.clear()
    trainer.train(PAIRS, PAIRS[:9], tmp_path / "todas", SMALL, {**QUICK, "epochs": 1}, excluded=excluded)
    assert seen == [pair for pair in PAIRS if pair[0] != "The dog sees a cat."]


def test_words_seen():
    pairs = [
        ("Nobody saw Ann's platypus in Spain.", "Nadie vio al ornitorrinco de Ann en España."),
        ("Nobody saw Ann in Spain, said Bob.", "Nadie vio a Ann en España, dijo Bob."),
        ("Wow, a dog.", "Ah, un perro."),
        ("He is a dog.", "Es un perro."),
    ]
    # «Ann» se copia; «platypus» y «Wow» salen una vez; «saw» es un solo token.
    assert trainer.seen_words(pairs, {"saw", "a"}) == ["Nobody", "Spain", "dog", "in"]
    assert {"Bob", "Ann"}.isdisjoint(trainer.seen_words(pairs, set(), 1))
    assert {"platypus", "Wow", "said"} < set(trainer.seen_words(pairs, set(), 1))


def test_joined_pairs():
    rng = random.Random(0)
    assert trainer.join(PAIRS, rng, 0.0) == PAIRS
    spanish_of = dict(PAIRS)
    assert len(spanish_of) == len(PAIRS)
    joined = trainer.join(PAIRS, rng, 1.0)
    for (english, spanish), (both, ambas) in zip(PAIRS, joined, strict=True):
        other = both.removeprefix(f"{english} ")
        assert ambas == f"{spanish} {spanish_of[other]}"
    assert len({both for both, _ in joined}) > len(PAIRS) / 2
    # «The dog sees a cat.» tiene cinco palabras: dos no caben en nueve, y en diez, sí.
    assert trainer.join(PAIRS[:100], rng, 1.0, longest=9) == PAIRS[:100]
    assert all(len(a.split()) == 10 for a, _ in trainer.join(PAIRS[:100], rng, 1.0, longest=10))
    for pair in (("Go.", "Ve " * 6), ("Go " * 6, "Ve.")):  # basta con que no quepa una lengua
        assert trainer.join([pair], rng, 1.0, longest=9) == [pair]
    half = trainer.join(PAIRS * 20, rng, 0.3)
    changed = sum(a != b for a, b in zip(PAIRS * 20, half)) / len(half)
    assert abs(changed - 0.3) < 0.05


def test_pairs_that_do_not_fit_are_left_out(tmp_path, capsys):
    long = ("The dog " * 40, "El perro.")
    recipe = {**QUICK, "epochs": 1}
    trainer.train([*PAIRS, long], [long, *PAIRS[:9]], tmp_path, SMALL, recipe)
    assert (tmp_path / "model.safetensors").exists()
    told = "".join(capsys.readouterr())
    assert "1 parejas de 10 pasan de 32 tokens: no se usan" in told
    assert f"1 parejas de {len(PAIRS) + 1} pasan" in told
    with pytest.raises(ValueError, match="Ninguna pareja cabe en 32 tokens"):
        trainer.train(PAIRS, [long], tmp_path / "otra", SMALL, recipe)


@pytest.mark.lenta  # entrena de verdad
def test_it_learns_and_can_be_used(tmp_path):
    recipe = {**QUICK, "epochs": 60, "peak": 1e-2, "dropout": 0.0, "smoothing": 0.0}
    model, _ = trainer.train(PAIRS, PAIRS[:9], tmp_path, SMALL, recipe)
    translator = read_translator(tmp_path)
    right = [translator.translate(a).text == b for a, b in PAIRS[:30]]
    assert sum(right) >= 27
    half = translator.model.encoder.input_embedding.table.weight
    torch.testing.assert_close(half, model.encoder.input_embedding.table.weight, atol=1e-3, rtol=1e-3)
    assert half is translator.model.output_projection.weight  # una sola tabla, compartida


def test_read_pairs(tmp_path):
    path = tmp_path / "frases.tsv"
    path.write_text("Hi.\tHola.\n\nGo.\tVe.\tCC-BY, de Tatoeba\n", encoding="utf-8")
    assert trainer.read_pairs(path) == [("Hi.", "Hola."), ("Go.", "Ve.")]
    for bad in ("Hi. Hola.\n", "Hi.\t\n", "\tHola.\n"):
        path.write_text("Go.\tVe.\n" + bad, encoding="utf-8")
        with pytest.raises(ValueError, match="línea 2: cada línea es «inglés, tabulador, español»"):
            trainer.read_pairs(path)
    path.write_text("Hi.\tHola\u2028tú.\nGo.\tVe.\x85\n", encoding="utf-8")  # no acaban la línea
    assert len(trainer.read_pairs(path)) == 2
    path.write_bytes("\ufeffHi.\tHola, niño.\r\nGo.\tVe.\r\n".encode())  # como la guarda Windows
    assert trainer.read_pairs(path) == [("Hi.", "Hola, niño."), ("Go.", "Ve.")]
    path.write_bytes("Hi.\tHola, niño.\n".encode("latin-1"))
    with pytest.raises(ValueError, match="no es un texto en UTF-8"):
        trainer.read_pairs(path)
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(ValueError, match="no tiene ninguna frase"):
        trainer.read_pairs(path)


def test_held_out_sentences_are_not_trained_on():
    pairs = [(f"Number {n % 900}.", f"Número {n}.") for n in range(1000)]
    rest, held = trainer.hold_out(pairs, 50)
    assert sorted(rest + held) == sorted(pairs)
    assert not {english for english, _ in rest} & {english for english, _ in held}
    assert len({english for english, _ in held}) == 50
    assert trainer.hold_out(pairs, 50) == (rest, held)
    assert len({english for english, _ in trainer.hold_out(pairs)[1]}) == 90


@pytest.mark.parametrize(("words", "start", "recipe"), [
    (["--epocas", "2", "--semilla", "5"], None, trainer.RECIPE | {"epochs": 2, "seed": 5}),
    (["--en-32-bits"], None, trainer.RECIPE | {"bfloat16": False}),
    (["--desde", "otra"], "otra", trainer.FINISHING),
    (["--desde", "otra", "--libro", "--sin", "sin.tsv"], "otra", trainer.WITH_PHRASES),
])  # fmt: skip
def test_the_command_trains_with_one_file(tmp_path, monkeypatch, words, start, recipe):
    monkeypatch.chdir(tmp_path)
    called = []
    Path("frases.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS), encoding="utf-8")
    Path("sin.tsv").write_text("saludos\tGood night.\nhoras\tAt two.\n", encoding="utf-8")
    monkeypatch.setattr(trainer, "train", lambda *given, **more: called.append((given, more)))
    trainer.main(["frases.tsv", "--carpeta", "salida", *words])
    excluded = ["Good night.", "At two."] if "--sin" in words else ()
    more = {"recipe": recipe, "start": start, "excluded": excluded}
    assert called == [((*trainer.hold_out(PAIRS), "salida"), more)]


def test_the_command_says_what_is_wrong(tmp_path, capsys):
    place = ["--carpeta", str(tmp_path)]
    for words, code, said in ((["--validacion", "x"], 1, "no.tsv"), (["--libro"], 2, "--desde")):
        with pytest.raises(SystemExit) as stop:
            trainer.main([str(tmp_path / "no.tsv"), *words, *place])
        assert stop.value.code == code
        assert said in capsys.readouterr().err


def test_variations_change_both_sides_alike():
    names = trainer.proper_names([*PAIRS, ("He is here.", "He visto a Tom."), ("he", "tom y ella")])
    assert "Ann" in names
    assert not names & {"He", "Tom"}  # «tom» también está en minúscula
    rng = random.Random(0)
    english, spanish = trainer.vary(("I saw Ann.", "Vi a Ann."), rng, names, 1.0, 1.0)
    new = english.removeprefix("I saw ")
    assert spanish == f"Vi a {new}"
    assert new != "Ann"
    assert not new.endswith(".")
    english, spanish = trainer.vary(("Room 205.", "Sala 205."), rng, names, 1.0)
    number = english.removeprefix("Room ").removesuffix(".")
    assert spanish == f"Sala {number}."
    assert len(number) == 3
    assert number.isdigit()
    assert trainer.vary(("I saw Ann.", "Vi a Ann."), rng, names) == ("I saw Ann.", "Vi a Ann.")
