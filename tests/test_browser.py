"""Un JupyterLab de verdad, en Chromium: lo que en él ve mal un estudiante, se dice."""

import re

import helpers_browser
import pytest
from helpers_browser import write
from nbformat.v4 import new_code_cell, new_markdown_cell


def test_menus_are_in_spanish(lab):
    menus = lab.page.locator(".lm-MenuBar-itemLabel").all_inner_texts()
    assert {"Archivo", "Editar", "Ver", "Ayuda"} <= set(menus)


def test_what_lesson_00_names_is_on_the_screen(lab):
    """Los menús, como *Menú* → *Orden*; un botón, como ▶▶ de la barra (*lo que dice de él*)."""
    path = "notebooks/00_empieza_aqui.ipynb"
    lab.restore(path)
    lab.open(path)
    text = "\n".join(cell.source for cell in lab.read(path).cells if cell.cell_type == "markdown")
    orders = re.findall(r"\*([^*]+)\* → \*([^*]+)\*", text)
    buttons = re.findall(r"de la barra \(\*([^*]+)\*\)", text)
    assert text.count(" → *") == len(orders) > 0
    assert buttons
    for menu, order in orders:
        lab.page.locator(".lm-MenuBar-itemLabel").get_by_text(menu, exact=True).click()
        shown = lab.page.locator(".lm-Menu-itemLabel:visible").all_inner_texts()
        lab.page.keyboard.press("Escape")
        assert order in shown
    for button in buttons:
        lab.page.locator(f'.jp-NotebookPanel-toolbar [title="{button}"]:visible').wait_for()
    lab.close()


@pytest.mark.lenta
def test_every_kind_of_fault_is_seen(lab, monkeypatch):
    monkeypatch.setattr(helpers_browser, "DRAWING_S", 5)  # los fallos no se van por esperar
    path = write(
        lab,
        new_markdown_cell(r"$a_b_c$, $\desconocida$ y $\frac{1$."),
        new_markdown_cell("![Una figura que no existe](../imagenes/no-existe.svg)"),
        new_markdown_cell("![Una figura de fuera](http://192.0.2.1/fuera.png)"),
        new_markdown_cell("![](../imagenes/sdpa.svg)"),
        new_code_cell("import warnings; warnings.warn('un aviso')"),
        new_code_cell("from IPython.display import Javascript; Javascript('console.error(\"mal\")')"),
        new_code_cell(
            "view = {'model_id': 'nadie', 'version_major': 2, 'version_minor': 0}\n"
            "display({'application/vnd.jupyter.widget-view+json': view}, raw=True)"
        ),
        new_code_cell("import time; time.sleep(2); 1 / 0"),  # lo que sigue ya espera, y no se ejecuta
        new_code_cell("2"),
    )
    report = "\n".join(lab.faults(path))
    lab.close()
    for expected in (
        "La celda de código 1 falla: .*un aviso",
        "La celda de código 4 falla: ZeroDivisionError",
        r"No se han ejecutado todas las celdas.*None\]",
        "La imagen no se ve: Una figura que no existe",
        "La imagen no se ve: Una figura de fuera",
        "La imagen no se describe: Image",
        "La fórmula no se entiende: a_b_c",
        r"La fórmula no se entiende: \\desconocida",
        r"La fórmula no se entiende:.* \$\\frac",
        "El control no se ve: ",
        "Pide algo de fuera: http://192.0.2.1/fuera.png",
        "La consola dice: .*mal",
    ):
        assert re.search(expected, report), f"Falta «{expected}»:\n{report}"
