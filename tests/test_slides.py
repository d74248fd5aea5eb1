"""Las diapositivas: las teclas que dice el README, y que se vea lo que no cabe."""

import re

import pytest
from helpers_browser import write
from helpers_slides import ACTIVE, deck, open_deck, slides
from nbformat.v4 import new_code_cell, new_markdown_cell

pytestmark = pytest.mark.navegador


def test_the_keys_of_the_readme(lab):
    kinds = "slide", "fragment", "slide", "subslide", "fragment", "subslide", "slide", "fragment"
    cells = [
        new(f"'{k}'", metadata={"slideshow": {"slide_type": kind}})
        for k, (new, kind) in enumerate(zip([new_markdown_cell, new_code_cell] * 4, kinds))
    ]
    second, third = 2, 6

    def press(key):
        before = page.evaluate(ACTIVE)
        page.keyboard.press(key)
        page.wait_for_function(f"{ACTIVE} !== {before}", polling=10)
        return page.evaluate(ACTIVE)

    with open_deck(lab, write(lab, *cells)) as page:
        assert [press("Space") for _ in cells[1:]] == list(range(1, len(cells)))
        assert press("Shift+Space") == len(cells) - 2
        page.keyboard.press("Escape")
        page.wait_for_function("!document.body.dataset.jpDeckMode")
        with deck(lab):
            page.evaluate(f"{ACTIVE} = {second}")
            assert press("ArrowRight") == third
            assert press("ArrowLeft") == second
            assert press("ArrowDown") == second + 1


def test_what_does_not_fit_is_seen(lab):
    def cell(new, source):
        return new(source, metadata={"slideshow": {"slide_type": "slide"}})

    path = write(
        lab,
        cell(new_markdown_cell, "# Cabe"),
        cell(new_markdown_cell, "Una línea más.\n\n" * 30),
        cell(new_code_cell, "x = 0\n" * 40),
        cell(new_code_cell, "y = " + "1 + " * 60 + "1"),
        cell(
            new_markdown_cell, "Mucho texto.\n\n" * 14 + "![Una figura alta](../imagenes/sdpa.svg)"
        ),
    )
    with open_deck(lab, path) as page:
        seen = list(slides(page, lab, path))
    report = "\n".join(fault for slide in seen for fault in slide["faults"])
    for expected in (
        "celda 2: no cabe, faltan",
        "celda 3: se sale .* a lo alto",
        "celda 4: se corta .* a lo ancho",
        "celda 5: la figura queda al",
    ):
        assert re.search(expected, report), f"Falta «{expected}»:\n{report}"
    assert "celda 1:" not in report


def test_a_hyphen_hides_a_cell(lab):
    """Por eso tools.notebooks no lo admite como tipo."""
    kinds = "slide", "-", "fragment"
    cells = [
        new_markdown_cell(kind, metadata={"slideshow": {"slide_type": kind}}) for kind in kinds
    ]
    path = write(lab, *cells)
    with open_deck(lab, path) as page:
        assert [slide["cells"] for slide in slides(page, lab, path)] == [[1, 3]]
