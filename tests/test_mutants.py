"""Los mutantes de cada noche: qué módulos tocan, y dónde se dice que está un mutante vivo."""

import datetime
import tomllib
from pathlib import Path

from tools import mutants

ROOT = Path(__file__).parents[1]

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]


def test_in_three_nights_every_module_is_changed():
    first = datetime.date(2026, 12, 30)
    nights = [mutants.of_tonight(first + datetime.timedelta(days=n)) for n in range(3)]
    modules = sorted(sum(nights, ()))
    assert modules == sorted(mutants.MODULES)
    assert SETTINGS["only_mutate"] == [f"course_lib/{module}.py" for module in modules]
    used = SETTINGS["only_mutate"] + SETTINGS["pytest_add_cli_args_test_selection"]
    assert all((ROOT / path).exists() for path in used)


def test_a_survivor_is_told_with_its_line():
    source = (ROOT / "course_lib/masks.py").read_text(encoding="utf-8").splitlines()
    start = next(n for n, line in enumerate(source, 1) if line.startswith("def causal_mask("))
    number, before = next(
        (n, line.strip()) for n, line in enumerate(source[start:], start + 1) if "torch." in line
    )
    diff = f"--- a\n+++ b\n@@ -1,9 +1,9 @@\n def\n-    {before}\n+    otra cosa"
    name = "course_lib.masks.x_causal_mask__mutmut_1"
    assert mutants.line_of("course_lib/masks.py", name, diff) == (number, "otra cosa")


def test_a_survivor_inside_a_class_too():
    path = "course_lib/attention.py"
    name = "course_lib.attention.xǁMultiHeadAttentionǁforward__mutmut_7"
    diff = "--- a\n+++ b\n@@ -1 +1 @@\n-    nada que esté\n+    otra cosa"
    line, _ = mutants.line_of(path, name, diff)
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    assert lines[line - 1].strip().startswith("def forward(")
