"""Lo que comparten todas las pruebas: el progreso, apagado; un JupyterLab; y cuáles se hacen."""

import os
import re

import pytest
from helpers_browser import VIEWPORT, find_chromium, open_lab
from xdist.scheduler import LoadScopeScheduling

# Con varios procesos a la vez, que los hilos que esperan no quiten el procesador a los demás.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ["CURSO_PROGRESO"] = "no"  # ninguna prueba resuelve ejercicios en nombre de nadie


@pytest.fixture(scope="session")
def shared_lab():
    """Se abre una vez: tarda lo que varias pruebas. Cada archivo lo pide con `lab`."""
    if find_chromium() is None:
        stop = pytest.fail if os.environ.get("CI") else pytest.skip
        stop("Falta Chromium: instálalo o pon su ruta en la variable CHROMIUM.")
    with open_lab() as lab:
        yield lab


@pytest.fixture(scope="module")
def lab(shared_lab):
    """El JupyterLab de este proceso, como recién abierto, para todas las pruebas de un archivo."""
    shared_lab.page.set_viewport_size(VIEWPORT)
    yield shared_lab
    shared_lab.close()


class ByLesson(LoadScopeScheduling):
    """Cada archivo, en un solo proceso; y las lecciones abiertas en JupyterLab, cada una en uno."""

    def _split_scope(self, nodeid):
        lesson = re.search(r"test_lessons\.py::\w+\[(.+)\]$", nodeid)
        return lesson[1] if lesson else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByLesson(config, log)
