"""Lo que comparten las pruebas de un mismo proceso: el progreso, apagado, y un JupyterLab."""

import os

import pytest
from test_browser import find_chromium, open_lab

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
