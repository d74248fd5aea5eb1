"""Los mutantes de cada noche: en tres, todos los módulos."""

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
