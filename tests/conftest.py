"""Lo que comparten todas las pruebas: el progreso, apagado; un JupyterLab; y cuáles se hacen."""

import os
import re
import sys
from collections import Counter
from datetime import date
from functools import partial

import pytest
from helpers_browser import VIEWPORT, find_chromium, open_browser, open_lab, show
from helpers_kernels import start
from nbval import kernel
from xdist.scheduler import LoadScopeScheduling

from course_tools.cells import BESIDE, tagged

# Con varios procesos a la vez, cada uno hace sus cuentas con un hilo; y donde haya más, que los que esperan
# no quiten el procesador a los demás.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ["CURSO_PROGRESO"] = "no"  # ninguna prueba resuelve ejercicios en nombre de nadie
os.environ.pop("CURSO_DESDE", None)  # cada prueba se pone en su carpeta
if sys.platform == "linux":  # en los demás, un proceso que ya ha importado torch no siempre se puede partir en dos
    kernel.start_new_kernel = start


@pytest.fixture(scope="session")
def browser():
    """El Chromium de este proceso, para lo que no necesita JupyterLab."""
    if find_chromium() is None:
        stop = pytest.fail if os.environ.get("CI") else pytest.skip
        stop("Falta Chromium: instálalo o pon su ruta en la variable CHROMIUM.")
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="session")
def shared_lab(browser):
    """Se abre una vez: tarda lo que varias pruebas. Cada archivo lo pide con `lab`."""
    with open_lab(browser=browser) as lab:
        yield lab


@pytest.fixture(scope="module")
def lab(shared_lab):
    """El JupyterLab de este proceso, como recién abierto, para todas las pruebas de un archivo."""
    shared_lab.page.set_viewport_size(VIEWPORT)
    yield shared_lab
    shared_lab.close()


@pytest.fixture
def shown(lab):
    """Escribe un cuaderno con un explorador y lo enseña. Al acabar, la consola no se ha quejado."""
    yield partial(show, lab)
    assert lab.messages == []
    lab.close()


@pytest.fixture
def alone(browser):
    """Abre unos exploradores o unas preguntas en una página suya, sin Jupyter: al acabar, la cierra."""
    from helpers_explorers import SHOW  # que lee todos los cuadernos

    opened = []

    def show_alone(*made, **options):
        opened.append(browser.new_page(**options))
        opened[-1].goto("about:blank")
        opened[-1].evaluate(SHOW, [one.get_state() for one in made])
        return opened[-1]

    yield show_alone
    for page in opened:
        page.close()


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """El archivo del progreso, que todavía no existe y en el que se apunta."""
    monkeypatch.setenv("CURSO_PROGRESO", str(tmp_path / "progreso.json"))
    monkeypatch.setattr("course_checkers.engine.closing._recording", True)
    return tmp_path / "progreso.json"


# --- Cuáles se hacen, y en qué orden --------------------------------------------------------------

# Lo que más tarda, primero: al final, todos los procesos acaban casi a la vez. Lo del navegador va en
# dos grupos, cada uno en un proceso con su JupyterLab; lo demás, archivo a archivo.
GROUPS = (
    ("navegador: exploradores", r"test_explorer_\w+\.py"),
    (
        "navegador: lecciones",
        r"test_(lessons|accesibilidad|slides|explorers|desk)\.py|::test_in_jupyter",
    ),
    ("sitio", r"test_sitio\w*\.py"),
    ("corpus", r"test_(answers|imitacion)\.py"),
    *((f"lección {n}", rf"notebooks/{n}_\w+\.ipynb") for n in (10, 14, 13, 12)),
    ("gráficas", r"test_plots\.py"),
    ("curso.py", r"test_curso\.py"),
    *((f"lección {n}", rf"notebooks/{n}_\w+\.ipynb") for n in ("08", "06", "03")),
    ("BERT", r"test_bert\.py"),
    ("traductor", r"test_translator\.py"),
    ("lección 11", r"notebooks/11_\w+\.ipynb"),
    ("prosa", r"test_(ortografia|glosario)\.py"),  # leen los mismos textos, y se leen una vez
    ("comprobaciones", r"test_checkers\.py"),
)

# De los cuadernos, los que se ejecutan cada día: las lecciones, sin lo que está al lado del camino,
# y así se ve que el camino solo da lo que tiene guardado. No la 07, la 10 ni de la 12
# en adelante, que entrenan modelos o los miden. Los demás comprueban lo mismo con otros ejercicios.
EVERY_DAY = r"notebooks/(0[0-689]_|11_)"

# Lo que ejecuta la lección 16 o su clase: pide dos modelos que no vienen con el curso. Sin ellos se leen con lo
# guardado, y de eso se ocupan las demás pruebas.
NEEDS_SENSES = r"notebooks/(clases/)?16_|run_when_solved\[16_|test_reruns\.py::\w+\[((notebooks|clases)-16|16_)"

TURNS = 3  # en cuántas noches se hacen todos los casos de lo que va por turnos


def pytest_addoption(parser):
    parser.addoption(
        "--todo", action="store_true", help="también las pruebas lentas, que se hacen cada noche"
    )


def pytest_configure(config):
    """Qué tercio toca, si se hacen todas: el del día, o el que diga CURSO_NOCHE, que puede ser «todas»."""
    if config.option.todo and config.args_source is config.ArgsSource.TESTPATHS:
        os.environ.setdefault("CURSO_NOCHE", str(date.today().toordinal() % TURNS))


def pytest_report_header(config):
    if config.option.todo and (night := os.environ.get("CURSO_NOCHE", "todas")) != "todas":
        return f"Lo que va por turnos, un tercio: CURSO_NOCHE={night}. Con CURSO_NOCHE=todas, entero."
    return None


def pytest_itemcollected(item):
    """Lo que pide el navegador lleva su marca."""
    if "browser" in getattr(item, "fixturenames", ()):
        item.add_marker("navegador")


def pytest_collection_modifyitems(config, items):
    """Deja para la noche las pruebas lentas, salvo que se pidan, y pone delante las que más tardan."""
    for item in items:
        if hasattr(item, "output_timeout"):  # nbval: lo que espera una salida que ya ha salido
            item.output_timeout = 120  # los 5 segundos de siempre no bastan a un ordenador ocupado
    if (waiting := [item for item in items if re.search(NEEDS_SENSES, item.nodeid.replace("\\", "/"))]) and not senses():
        for item in waiting:
            item.add_marker(pytest.mark.skip(reason="sin «python curso.py abrir --ver-y-oir»"))
    everything = config.option.todo or "lenta" in config.option.markexpr
    left = set(other_nights(items) if everything else filter(is_slow, items))
    config.hook.pytest_deselected(items=[item for item in items if item in left])
    items[:] = [item for item in items if item not in left]
    order = [name for name, _ in GROUPS]
    items.sort(key=lambda item: [*order, group(item.nodeid)].index(group(item.nodeid)))


def senses():
    """Si están los modelos que miran y escuchan."""
    from course_lib.model_files.senses import sealed

    return all(map(sealed, ("dinov2", "whisper")))


def other_nights(items):
    """De cada prueba que va por turnos, los casos de otras dos noches."""
    night = os.environ.get("CURSO_NOCHE", "todas")
    turns, left = Counter(), []
    for item in items if night != "todas" else ():
        if item.get_closest_marker("turnos"):
            name = item.nodeid.split("[")[0]
            turns[name] += 1
            if turns[name] % TURNS != int(night) % TURNS and is_slow(item):
                left.append(item)
    return left


def is_slow(item):
    """Dice si es de la noche: una prueba, por su marca; la celda de un cuaderno, por dónde está."""
    if cell := getattr(item, "cell", None):
        place = item.nodeid.replace("\\", "/")
        return not re.match(EVERY_DAY, place) or tagged(cell, BESIDE)
    return item.get_closest_marker("lenta")


def group(nodeid):
    """Con qué otras va una prueba: siempre, con las de su archivo o su cuaderno."""
    found = (name for name, pattern in GROUPS if re.search(pattern, nodeid.replace("\\", "/")))
    return next(found, nodeid.rsplit("::", 1)[0])


class ByGroup(LoadScopeScheduling):
    """Cada grupo, en un solo proceso; si se hacen todas, las lecciones y las clases del navegador, una a una,
    y las respuestas, lección a lección, con torch y con su imitación."""

    def _split_scope(self, nodeid):
        one = re.search(r"test_(?:lessons|slides)\.py::\w+\[(\d\d_.+)\]$", nodeid)
        one = one or re.search(r"test_(?:answers|imitacion)\.py::\w+\[(\d+)(?:\.\d\b|\])", nodeid)
        return one[1] if one and self.config.option.todo else group(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByGroup(config, log)
