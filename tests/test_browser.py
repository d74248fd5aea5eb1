"""Un JupyterLab de verdad, en Chromium: lo que en él ve mal un estudiante, se dice."""

import re


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
