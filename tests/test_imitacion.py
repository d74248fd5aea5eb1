"""La imitación de torch que la página usa: el mismo veredicto y, casi siempre, el mismo informe."""

import json
import os
import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from helpers_answers import ALL as ANSWERS
from helpers_answers import EXERCISES, report_of
from helpers_browser import ROOT
from helpers_sitio import FRAMES, ODD
from tools.page_cells import write_pieces
from torch import nn

from course_checkers.engine import catalog
from course_checkers.engine.questions import tidy
from course_lib.bert import extract_embeddings, load_bert
from course_lib.translator import load_translator
from course_tools.cells import checked
from sitio import exercises

JUDGE = ROOT / "tests/tools/judge.py"
ALIKE = 0.98  # los informes que tienen que ser iguales, letra a letra
REFUSED = 0.01  # las respuestas de las que se puede decir «en la página no está»
TIES = 3  # en otro procesador, los empates de redondeo pueden caer en otras
# Las que tienen otro texto, y las que no están imitadas.
OTHERS = (ROOT / "tests/otros_informes.txt").read_text(encoding="utf-8").splitlines()
OTHERS = [line for line in OTHERS if not line.startswith("#")]


@pytest.fixture(scope="module")
def imitated(tmp_path_factory):
    """Un Python con la imitación en lugar de torch: recibe un programa y da lo que escribe."""
    place = tmp_path_factory.mktemp("imitada") / "site-packages"
    place.mkdir()
    for path in (ROOT / "sitio/imitation").iterdir():  # con page.py, que hace de página
        (place / path.name).symlink_to(path)
    pieces = place.with_name("piezas")
    write_pieces(pieces)

    def run(*program):
        environment = os.environ | {"PYTHONPATH": f"{place}{os.pathsep}{ROOT}", "CURSO_PIEZAS": str(pieces)}
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            [sys.executable, *map(str, program)], env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    return run


def compared(found, real):
    """Las que tienen otro veredicto, otro informe o no están imitadas."""
    refused = [name for name, one in found.items() if one[2]]
    other = [name for name, one in found.items() if not one[2] and one[0] != real[name].ok]
    told = [
        name
        for name, one in found.items()
        if not one[2] and one[0] == real[name].ok and one[1] != str(real[name])
    ]
    return other, told, refused


def judged(imitated, chosen):
    """Con otro veredicto; y con otro informe, de las que no están escritas."""
    real = {f"{a.exercise} · {a.name}": a for a in ANSWERS if chosen(a)}
    found = json.loads(imitated(JUDGE, "--estas", json.dumps(list(real))))
    assert found.keys() == real.keys()
    other, *told = compared(found, {name: report_of(answer) for name, answer in real.items()})
    return other, [name for some in told for name in some if name not in OTHERS]


def test_almost_every_report_is_the_same():
    assert len(set(OTHERS)) == len(OTHERS) <= (1 - ALIKE + REFUSED) * len(ANSWERS)
    assert set(OTHERS) <= {f"{a.exercise} · {a.name}" for a in ANSWERS}


@pytest.mark.lenta
@pytest.mark.turnos
@pytest.mark.parametrize("lesson", sorted({number.split(".")[0] for number in EXERCISES}, key=int))
def test_the_verdicts_of_a_lesson_are_those_of_torch(imitated, lesson):
    """En el proceso que ya las ha juzgado con torch. Cada día, dentro del navegador, unas pocas."""
    other, told = judged(imitated, lambda a: a.exercise.startswith(f"{lesson}."))
    assert other == []
    assert len(told) <= TIES, told


# --- Las operaciones, una a una -------------------------------------------------------------------

# Programas cortos: los dos dan lo mismo, o el mismo error.
OPERATIONS = (ROOT / "tests/operaciones.txt").read_text(encoding="utf-8").splitlines()
HEAD = "import numpy as np, torch, math; import torch.nn.functional as F; from torch import nn; torch.manual_seed(0); "
HEAD += "x = torch.randn(2, 3, 4); m = torch.randn(4, 5); v = torch.arange(6); b = x > 0; "
TOLD = """
def told(line, space):
    try:
        value = eval(line, space)
    except Exception as error:
        return type(error).__mro__[-4 if isinstance(error, IndexError) else -3].__name__, str(error).split("\\n")[0][:90]
    return plain(value)

def plain(value):
    if isinstance(value, torch.Tensor):
        numbers = value.detach().double() if value.dtype != torch.bool else value
        return [str(value.dtype), list(value.shape), numbers.tolist()]
    if isinstance(value, (tuple, list)):
        return [plain(one) for one in value]
    return value if isinstance(value, (int, float, bool, str, type(None))) else str(value)
"""


def answers(lines):
    space = {}
    exec(HEAD + TOLD, space)
    return [space["told"](line, dict(space)) for line in lines]


def close(a, b):
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, float) and isinstance(b, float):
        return a == b or a != a and b != b or abs(a - b) <= 1e-5 * (1 + abs(b))
    return a == b


def test_each_operation_is_that_of_torch(imitated, tmp_path):
    lines = [line for line in OPERATIONS if line and not line.startswith("#")]
    program = tmp_path / "programa.py"
    every = f"import json, sys\nspace = {{}}\nexec({HEAD + TOLD!r}, space)\n"
    every += f"json.dump([space['told'](line, dict(space)) for line in {lines!r}], sys.stdout)"
    program.write_text(every, encoding="utf-8")
    found = json.loads(imitated(program))
    wanted = json.loads(json.dumps(answers(lines)))
    other = [(line, f, w) for line, f, w in zip(lines, found, wanted) if not close(f, w)]
    assert other == [], "\n".join(f"{line}\n  {f}\n  {w}" for line, f, w in other)


CHANCE = (
    "[[torch.manual_seed(s) and 0, torch.randn(n).tolist(), torch.rand(n).tolist(), torch.randperm(n).tolist(), "
    "torch.randint(0, 50, (n,)).tolist()] for s in (0, 7, 123) for n in (1, 5, 15, 16, 17, 40)]"
)


def test_the_same_chance(imitated):
    found = json.loads(imitated("-c", f"import torch, json; print(json.dumps({CHANCE}))"))
    for (_, normal, *others), (_, its, *theirs) in zip(found, eval(CHANCE), strict=True):
        assert close(normal, its)
        assert others == theirs


def test_the_names_are_those_of_torch():
    """Si torch cambia, aquí se dice qué nombres sobran en ``names.txt`` y cuáles le faltan."""
    rooms = {"torch": torch, "Tensor": torch.Tensor, "nn": nn, "nn.functional": F, "nn.Module": nn.Module}
    lines = (ROOT / "sitio/imitation/torch/names.txt").read_text(encoding="utf-8").split()
    written = {room: set(names.split(",")) for room, _, names in (line.partition(":") for line in lines)}
    assert list(written) == list(rooms)
    for room, thing in rooms.items():
        found = {name: getattr(thing, name, None) for name in dir(thing) if name[0] != "_"}
        own = {name for name, one in found.items() if not isinstance(one, ModuleType)}
        alien = {n for n in own if str(getattr(found[n], "__module__", "")).startswith("transformers")}
        assert own - alien - written[room] == set(), room
        assert {name for name in written[room] if not hasattr(thing, name)} == set(), room


LACKING = {  # lo que se pide → cómo se dice que no está
    "torch.fft": "torch.fft",
    "torch.zeros(2).svd": "torch.Tensor.svd",
    "torch.zeros(2).untyped_storage().resize_": "torch.UntypedStorage.resize_",
    "torch.nn.LSTM": "torch.nn.LSTM",
    "torch.nn.Linear(2, 3).half": "torch.nn.Module.half",
    "torch.nn.functional.grid_sample": "torch.nn.functional.grid_sample",
    "torch.nn.init.constant_": "torch.nn.init.constant_",
    "torch.linalg.svd": "torch.linalg.svd",
}


def test_what_is_not_imitated_says_so(imitated):
    program = (
        "import torch\n"
        f"for look in {[*LACKING, 'torch.nothing']}:\n"
        "    try: eval(look)\n"
        "    except AttributeError as error: print(error)\n"
    )
    *said, unknown = imitated("-c", program).splitlines()
    assert [line.split("«")[1].split("»")[0] for line in said] == [*LACKING.values()]
    assert unknown == "module 'torch' has no attribute 'nothing'"


# --- BERT -----------------------------------------------------------------------------------------

TEXTS = [frame.format(odd, odd) for odd in ODD for frame in FRAMES]
READ = """
import json, sys
sys.path.insert(0, {tools!r})
import numpy as np, judge
judge.with_bert()
from course_lib.bert import extract_embeddings, load_bert
found = extract_embeddings({sentences!r})
numbers = {{name: getattr(found, name) for name in {names!r}}}
np.savez({path!r}, **{{name: one.array for name, one in numbers.items()}},
    **{{f"hidden-{{i}}": one.array for i, one in enumerate(found.hidden_states)}},
    **{{f"attention-{{i}}": one.array for i, one in enumerate(found.attentions)}})
json.dump([load_bert().plain_tokenizer({texts!r})["input_ids"], found.tokens], sys.stdout)
"""
VECTORS = ("input_ids", "attention_mask", "token_embeddings", "positional_encodings", "encoder_input")


def test_bert_is_that_of_the_course(imitated, tmp_path):
    """Los mismos trozos y, con pesos de 16 bits, casi los mismos números."""
    sentences, path = ["I gave the dog a bone because it was old", "The cat"], str(tmp_path / "visto.npz")
    given = {"tools": str(JUDGE.parent), "sentences": sentences, "names": VECTORS, "path": path, "texts": TEXTS}
    (tmp_path / "programa.py").write_text(READ.format(**given), encoding="utf-8")
    ids, tokens = json.loads(imitated(tmp_path / "programa.py"))
    real = extract_embeddings(sentences)
    assert tokens == real.tokens
    wanted = load_bert().plain_tokenizer(TEXTS)["input_ids"]
    assert [ascii(text) for text, a, b in zip(TEXTS, ids, wanted, strict=True) if a != b] == []
    wanted = {name: getattr(real, name) for name in VECTORS}
    wanted |= {f"hidden-{i}": one for i, one in enumerate(real.hidden_states)}
    wanted |= {f"attention-{i}": one for i, one in enumerate(real.attentions)}
    with np.load(path) as found:
        assert set(found) == set(wanted)
        for name, numbers in wanted.items():
            rows = numbers[..., :12, :] if "attention" in name else numbers
            for b, length in enumerate((12, 4)):  # sin el relleno
                mine, its = (x[b, ..., :length, :] if x.ndim > 2 else x[b, :length] for x in (found[name], rows.numpy()))
                assert abs(mine - its).max() <= 3e-3, (name, b)


TRANSLATED = """
import json, os, sys
sys.path.insert(0, {tools!r})
import page_cells
page, found = page_cells.prepared(os.environ["CURSO_PIEZAS"]), {{}}
from course_lib import load_translator
ours = load_translator()
found["read"] = [[ids := ours.tokenizer.encode(text).ids, ours.tokenizer.decode(ids)] for text in {texts!r}]
for sentence in {sentences!r}:
    one = ours.translate(sentence)
    found[sentence] = [one.text, one.target_tokens, one.cross_attention.tolist(), one.log_probabilities.tolist()]
json.dump(found, sys.stdout)
"""


def test_the_translator_is_that_of_the_course(imitated, tmp_path):
    """Los mismos trozos, las mismas traducciones y los mismos pesos."""
    sentences = ["I gave my dog a bone.", "She doesn't know where the old bridge is, and I'm sorry."]
    texts = [*sentences, *TEXTS]
    program = TRANSLATED.format(tools=str(JUDGE.parent), texts=texts, sentences=sentences)
    (tmp_path / "programa.py").write_text(program, encoding="utf-8")
    found, real = json.loads(imitated(tmp_path / "programa.py")), load_translator()
    read = [[ids := real.tokenizer.encode(text).ids, real.tokenizer.decode(ids)] for text in texts]
    assert [ascii(text) for text, one, its in zip(texts, found["read"], read, strict=True) if one != its] == []
    for sentence in sentences:
        one, (text, tokens, *numbers) = real.translate(sentence), found[sentence]
        assert (text, tokens) == (one.text, one.target_tokens)
        for mine, its in zip(numbers, (one.cross_attention, one.log_probabilities), strict=True):
            torch.testing.assert_close(torch.tensor(mine), its, atol=1e-4, rtol=1e-4)


QUESTIONS = """
import json, os, sys
sys.path.insert(0, {tools!r})
import page_cells
here, pieces = page_cells.prepared(), page_cells.read_pieces(os.environ["CURSO_PIEZAS"])
rounds, found = 0, []
for asked in {asked!r}:
    while "need" in (told := json.loads(here.check(json.dumps(asked)))):
        here.give({{name: pieces[name] for name in told["need"]}})
        rounds += 1
    found.append([told["head"], *told["findings"]])
json.dump([rounds, found], sys.stdout)
"""
OF_BERT = ("5.2", "0.2", "1.3", "2.3", "3.4", "6.4", "7.4", "8.4", "9.3", "12.4")


@pytest.mark.lenta
def test_the_questions_about_bert_are_judged_in_the_page_as_always(imitated, tmp_path):
    """La buena y las malas que se conocen; BERT llega cuando hace falta, en pocas veces."""
    questions = {one.number: one for module in catalog.modules() for one in getattr(module, "QUESTIONS", ())}
    asked, wanted = [], []
    for number in OF_BERT:
        one = questions[number]
        for value in [one.right, *(tidy(wrong.value()) for wrong in one.wrong)]:
            value = float(f"{value:.4g}") if isinstance(value, float) else value
            text = f"# Ejercicio {number}\nanswer = {value!r}\n"
            check = f'check_answer("{number}", answer)'
            kept = {"lesson": [], "before": {}, "undone": {}}
            asked.append(kept | {"number": number, "answer": text, "check": check})
            report = one.check(value)
            wanted.append([report.head, *map(str, report.findings)])
    program = QUESTIONS.format(tools=str(JUDGE.parent), asked=asked)
    (tmp_path / "programa.py").write_text(program, encoding="utf-8")
    rounds, found = json.loads(imitated(tmp_path / "programa.py"))
    assert [(a["answer"], f, w) for a, f, w in zip(asked, found, wanted, strict=True) if f != w] == []
    assert 2 <= rounds <= 1 + 2 * len(OF_BERT)  # una pregunta lee una o dos veces


# --- Las celdas de las lecciones ------------------------------------------------------------------

LESSONS = [name for name in exercises.RUNNABLE if " " not in name and exercises.runnable(name)]
ASKED = """
import json, sys
sys.path.insert(0, {tools!r})
import page_cells
page = page_cells.prepared()
page.ran.__globals__["LESSON"] = 0.5
given = dict(number="3.1", before={{}}, undone={{}})
for lesson, source, *check in {asked!r}:
    given |= dict(lesson=lesson, source=source, answer=source) | dict(zip(["check"], check))
    told = json.loads(page.check(json.dumps(given)))
    print(json.dumps(told["findings"] + [told["printed"]] + told["notes"] + told["refused"]))
"""


def test_a_cell_has_what_it_needs_or_says_what_is_missing(imitated, tmp_path):
    setup = "import torch\nfrom course_lib import causal_mask, decoder_from_llama\nfrom course_lib.plots import plot_rows\n"
    check, net = "check_softmax(my_softmax)", "torch.set_grad_enabled(False)\nnet = torch.nn.Linear(1, 1)"
    changes = ["kept = []", "kept.append(1)", "kept = 1 + kept[0]", "for kept in range(9): pass"]
    asked = [
        (changes[:2] + ["other = kept"], "kept"),
        (changes, "kept"),
        ([setup, "raise ValueError('no hace falta')", "m = causal_mask(2)"], "print(m.sum().item())\nm.shape"),
        ([setup], "decoder_from_llama"),
        ([setup, "opt = torch.fft.Adam([])"], "for opt in 'ab': pass\nopt"),
        ([setup, "opt = torch.fft.Adam([])"], "opt.step()"),
        (["n = 0", "while True:\n    n += 1", "m = n"], "m"),
        ([], "n = 0\nwhile True:\n    n += 1"),
        ([setup], "print('x' * 9)"),
        ([], "x = 1 +"),
        ([], "print('<b>')\nundefined"),
        ([setup, net, "net.apply(len)"], "def my_softmax(x): return x.softmax(-1) * net(x[..., :1])", check),
        ([setup], "def my_sofmax(x): return torch.softmax(x, -1)", check),
        ([setup], "exec('my_softmax = lambda x: x.softmax(-1) if torch.is_grad_enabled() else x')", check),
    ]
    program = ASKED.format(tools=str(JUDGE.parent), asked=asked)
    (tmp_path / "programa.py").write_text(program, encoding="utf-8")
    said = [json.loads(line) for line in imitated(tmp_path / "programa.py").splitlines()]
    assert [*said[:3], said[4]] == [["[1]\n"], ["8\n"], ["3\ntorch.Size([2, 2])\n"], ["'b'\n"]]
    assert said[3][0].startswith("«decoder_from_llama» no está, porque su celda se ha parado: ")
    assert "«opt» no está, porque su celda se ha parado: NotHere: en la página no está «torch.fft»" in said[5][0]
    assert "«m» no está, porque su celda se ha parado: Tu código tarda más de" in said[6][0]
    assert "tarda más de 0.5 s" in said[7][0]
    assert said[8] == ["xxxxxxxxx\n"]
    assert said[9][0].startswith("Python no entiende la línea 1")
    assert "no existe nada que se llame «undefined»" in said[10][0] and said[10][1] == "<b>\n"
    assert "porque su celda se ha parado" in said[11][0] and said[11][-1] == "torch.nn.Module.apply"
    assert "No encuentro «my_softmax»" in said[12][0] and said[13][0] == ""  # ni un error


def test_the_readme_says_how_many_are_done_in_the_page():
    books = [json.loads(p.read_text("utf-8"))["cells"] for p in ROOT.glob("notebooks/[0-9]*.ipynb")]
    here = sum(len(exercises.exercises(lesson)) for lesson in books)
    assert here == sum(checked(cell) is not None for lesson in books for cell in lesson)
    run = sum(len(exercises.runnable(name)) for name in LESSONS)
    said = f"los {here} ejercicios y {run} celdas de código"
    assert said in (ROOT / "README.md").read_text("utf-8")
