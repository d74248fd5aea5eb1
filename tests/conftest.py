"""Lo que comparten las pruebas de un mismo proceso: el progreso, apagado, y un JupyterLab."""

import os
import re

import pytest
from test_browser import find_chromium, open_lab
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


class ByLesson(LoadScopeScheduling):
    """Cada archivo, en un solo proceso; y las lecciones abiertas en JupyterLab, cada una en uno."""

    def _split_scope(self, nodeid):
        lesson = re.search(r"test_lessons\.py::\w+\[(.+)\]$", nodeid)
        return lesson[1] if lesson else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    return ByLesson(config, log)
