"""El paquete SCORM: un aula de mentira, hecha con scorm-again, lo abre y guarda lo que le manda."""

import shutil
import subprocess
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from helpers_browser import ROOT
from helpers_sitio import contents, reading, serve, small_site
from playwright.sync_api import expect
from test_sitio_ejercicios import DIVIDES, GOOD, checked, drawer, place, write

from course_tools.homework import Homework
from sitio import build

SCALING = "# Ejercicio 3.2\ndef my_scaling(query, key):\n    return query @ key.mT / query.size(-1) ** {}\n"
TASK = Homework({"3.1": 4, "3.2": 4, "3.3": 2}, True, frozenset({"3.3"}), title="Semana 3 <b>")
KEPT = """(({core, interactions: lines}) => [core.score.raw, core.lesson_status, ...refused,
    ...Object.values(lines).map(line => line.result)])(JSON.parse(localStorage.libro))"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("paquete") / "ligero.zip"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "SITE", small_site()[0])
        build.zip_site(path, {"bert", "traductor"}, TASK)
    shutil.unpack_archive(path, path.with_suffix(""))
    return path.with_suffix("")


def test_the_manifest_is_scorm_and_names_every_file(folder):
    parts = ElementTree.parse(folder / "imsmanifest.xml").iter()
    named = {one.get("href") for one in parts if one.tag.endswith("}file")}
    assert named | {"imsmanifest.xml"} == {path.relative_to(folder).as_posix() for path in contents(folder)}
    lint = shutil.which("xmllint") or pytest.skip("Falta xmllint: el esquema no se mira.")
    subprocess.run([lint, "--nonet", "--schema", "adlcp_rootv1p2.xsd", "imsmanifest.xml"], cwd=folder, check=True)


def test_each_account_keeps_its_own_in_a_shared_browser(browser, folder):
    shutil.copytree(ROOT / "tests/scorm_again", folder, dirs_exist_ok=True)
    with serve(folder) as address, reading(browser, address, "aula.html") as page:
        inside = page.frame_locator("#paquete").frame_locator("iframe")
        lesson, seen = SimpleNamespace(locator=inside.locator, keyboard=page.keyboard), []
        for account in ("7", "8", "7", "", "7"):
            page.goto(f"{address}aula.html?cuenta={account}")
            expect(inside.locator("#quien-dice")).not_to_be_empty()
            assert drawer(inside).get_by_role("textbox", name="¿Quién eres?").count() == (0 if account else 1)
            told = "a nombre de tu cuenta del aula." if account else "Dilo si"
            expect(inside.locator("#quien-dice")).to_contain_text(told)
            seen.append(place(lesson).get_by_role("textbox").input_value())
            write(lesson, f"# de {account}")
        assert [text.startswith("# de ") for text in seen] == [False, False, True, False, True]
        assert seen[2] == seen[4] == "# de 7"


@pytest.mark.lenta
def test_what_is_checked_reaches_the_gradebook_and_a_mark_never_goes_down(browser, folder):
    shutil.copytree(ROOT / "tests/scorm_again", folder, dirs_exist_ok=True)
    with serve(folder) as address, reading(browser, address, "aula.html") as page:
        said = (frame := page.frame_locator("#paquete")).get_by_role("status").first
        lesson = SimpleNamespace(locator=frame.frame_locator("iframe").locator, keyboard=page.keyboard)
        for number, text in (("3.1", GOOD), ("3.2", SCALING.format(1)), ("3.1", DIVIDES)):
            checked(lesson, text, number)
        for _ in "ab":  # como queda y, cerrado, al abrirlo otra vez
            expect(said).to_have_text("En el libro de notas: 50 de 100. Por hacer: 3.2, 3.3.")
            assert page.evaluate(KEPT) == ["50", "incomplete", "correct", "wrong"]
            page.reload()
        page.evaluate("expire(true)")
        checked(lesson, "# Ejercicio 3.3\nmy_deviation = 6\n", "3.3")
        expect(said).to_contain_text("no ha guardado")
        page.evaluate("expire(false)")
        checked(lesson, SCALING.format(0.5), "3.2")
        assert page.evaluate(KEPT) == ["100", "passed", "correct", "correct", "correct"]  # y no 125
        for mode, told in (("review", "repaso"), ("ninguno", "Ningún aula contesta")):
            page.goto(f"{address}aula.html?modo={mode}")
            expect(said).to_contain_text(told)
