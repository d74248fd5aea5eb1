"""La imitación de torch que la página usa: el mismo veredicto y, casi siempre, el mismo informe."""

import json
import os
import subprocess
import sys
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F
from helpers_answers import ALL as ANSWERS
from helpers_answers import EXERCISES, every_day, report_of
from helpers_browser import ROOT
from torch import nn

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
    (place / "torch").symlink_to(ROOT / "sitio/imitation/torch")

    def run(*program):
        environment = os.environ | {"PYTHONPATH": f"{place}{os.pathsep}{ROOT}"}
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
    real = {f"{a.exercise} · {a.name}": a for a in ANSWERS if chosen(a) and a.exercise != "2.2"}
    found = json.loads(imitated(JUDGE, "--estas", json.dumps(list(real))))
    assert found.keys() == real.keys()
    other, *told = compared(found, {name: report_of(answer) for name, answer in real.items()})
    return other, [name for some in told for name in some if name not in OTHERS]


def test_almost_every_report_is_the_same():
    assert len(set(OTHERS)) == len(OTHERS) <= (1 - ALIKE + REFUSED) * len(ANSWERS)
    assert set(OTHERS) <= {f"{a.exercise} · {a.name}" for a in ANSWERS}


def test_the_verdicts_of_every_day_are_those_of_torch(imitated, pytestconfig):
    if pytestconfig.getoption("todo"):
        pytest.skip("De noche se juzgan todas.")
    some = every_day()
    other, told = judged(imitated, lambda a: (a.exercise, a.name) in some)
    assert other == []
    assert len(told) <= TIES, told


@pytest.mark.lenta
@pytest.mark.parametrize("lesson", sorted({number.split(".")[0] for number in EXERCISES}, key=int))
def test_the_verdicts_of_a_lesson_are_those_of_torch(imitated, lesson):
    """Todas. En el proceso que ya las ha juzgado con torch, que así las juzga una vez."""
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


@pytest.mark.parametrize("seed", [0, 7, 123])
@pytest.mark.parametrize("size", [1, 5, 15, 16, 17, 40])
def test_the_same_chance(imitated, seed, size, request):
    if size == 1 and seed == 0:
        program = (
            "import torch, json; print(json.dumps([[torch.manual_seed(s) and 0, torch.randn(n).tolist(), "
            "torch.rand(n).tolist(), torch.randperm(n).tolist(), torch.randint(0, 50, (n,)).tolist()] "
            "for s in (0, 7, 123) for n in (1, 5, 15, 16, 17, 40)]))"
        )
        request.config.same_chance = json.loads(imitated("-c", program))
    place = [0, 7, 123].index(seed) * 6 + [1, 5, 15, 16, 17, 40].index(size)
    found = request.config.same_chance[place][1:]
    torch.manual_seed(seed)
    assert close(found[0], torch.randn(size).tolist())
    assert found[1:] == [
        torch.rand(size).tolist(),
        torch.randperm(size).tolist(),
        torch.randint(0, 50, (size,)).tolist(),
    ]


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


def test_the_exercises_that_need_bert_are_those(imitated):
    """Las preguntas que no lo piden se pueden comprobar sin él; las que lo piden, no."""
    program = (
        "import sys; sys.modules['transformers'] = sys.modules['course_lib.bert'] = None\n"
        "from course_checkers.engine import catalog\n"
        "for module in catalog.modules():\n"
        "    for one in getattr(module, 'QUESTIONS', ()):\n"
        "        try: one.right, [wrong.compute() for wrong in one.wrong]\n"
        "        except ImportError: print(one.number)\n"
    )
    assert set(imitated("-c", program).split()) | {"2.2"} == exercises.NEED_BERT
    assert "2.2" in EXERCISES


def test_the_readme_says_how_many_are_done_in_the_page():
    cells = [json.loads(p.read_text("utf-8"))["cells"] for p in ROOT.glob("notebooks/[0-9]*.ipynb")]
    here = sum(len(exercises.exercises(lesson)) for lesson in cells)
    every = sum(checked(cell) is not None for lesson in cells for cell in lesson)
    assert f"{here} de los {every} ejercicios" in (ROOT / "README.md").read_text("utf-8")
