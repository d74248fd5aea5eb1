"""Los exploradores guardados en las lecciones, y cómo se manejan en Python y en un navegador."""

import pytest
import traitlets
from helpers_browser import ROOT
from tools import notebooks

from course_lib.explorers.base import esm

FOLDER = ROOT / "course_lib" / "explorers"
WIDGETS = "application/vnd.jupyter.widget-state+json"


def saved_explorers(path):
    """Los exploradores y las predicciones guardados en un cuaderno: el estado de cada uno."""
    widgets = notebooks.read(path).metadata.get("widgets", {}).get(WIDGETS, {})
    states = [model["state"] for model in widgets.get("state", {}).values()]
    return [state for state in states if "_esm" in state]


def drawn(path):
    """Los exploradores, sin las predicciones, que se leen y no tienen foto."""
    return [one for one in saved_explorers(path) if one["_anywidget_id"].endswith("Explorer")]


SAVED = [path for path in notebooks.course_notebooks() if saved_explorers(path)]
LESSONS = [path for path in SAVED if not notebooks.is_deck(path) and drawn(path)]


# --- En Python ------------------------------------------------------------------------------------


def ask(explorer, **asked):
    """Pide como lo hace la página y comprueba que hay respuesta."""
    serial = explorer.answered + 1
    explorer.request = {"serial": serial, **asked}
    assert explorer.answered == serial


def refuses(kind, name, value, message):
    """Comprueba que ni al crearlo ni después admite ese valor, y que se queda como estaba."""
    explorer = kind()
    before = explorer.describe(), getattr(explorer, name)
    with pytest.raises(traitlets.TraitError, match=message):
        setattr(explorer, name, value)
    assert (explorer.describe(), getattr(explorer, name)) == before
    with pytest.raises(traitlets.TraitError, match=message):
        kind(**{name: value})


def near(value, **tolerance):
    """Lo mismo, con sus números a falta de un redondeo: lo de Python, para lo que da JavaScript."""
    if isinstance(value, dict):
        return {name: near(part, **tolerance) for name, part in value.items()}
    if isinstance(value, list):
        return [near(part, **tolerance) for part in value]
    tolerance = {"rel": 1e-9, "abs": 1e-9} | tolerance
    return pytest.approx(value, **tolerance) if isinstance(value, float) else value


# --- En un navegador ------------------------------------------------------------------------------


IN_JS = """async ([text, code, value]) => {
    const module = await import(URL.createObjectURL(new Blob([text], {type: 'text/javascript'})));
    return new Function('module', 'value', 'return ' + code)(module, value);
}"""


def in_js(lab, name, code, value):
    """Lo que vale una expresión de JavaScript con el `module` de un explorador y un `value`."""
    return lab.page.evaluate(IN_JS, [esm(name), code, value])


def agrees(lab, name, compute, cases, **tolerance):
    """Comprueba que con cada caso, los argumentos de `compute`, JavaScript da lo que Python."""
    cases = [list(case) for case in cases]
    found = in_js(lab, name, "value.map(all => module.compute(...all))", cases)
    for case, theirs in zip(cases, found, strict=True):
        assert theirs == near(compute(*case), **tolerance), case


def says(page, text):
    """Espera a que lo diga su frase, que no cambia hasta que la mano para."""
    page.wait_for_function("text => document.querySelector('.exp-say')?.textContent.includes(text)", arg=text)


def controls(explorer):
    """Los controles que se manejan igual en todos; al final, lo que se elige."""
    first = "input[type=range]:enabled, input[type=checkbox], button:enabled, [role=slider]"
    kinds = first, "input[type=radio]"
    return [control for kind in kinds for control in explorer.locator(kind).all()]


def answers(page, explorer, control):
    """Dice si tocar un control con el teclado cambia lo que se lee: como mucho, en un segundo."""
    before = explorer.inner_text()
    control.focus()
    moves = control.evaluate("node => node.matches('select, [type=range], [role=slider]')")
    page.keyboard.press("ArrowRight" if moves else "Space")
    for _ in range(20):
        if explorer.inner_text() != before:
            return True
        page.wait_for_timeout(50)
    return False


# Un modelo como el de los controles de Jupyter, para verlos en una página sin Jupyter.
SHOW = """async states => {
    for (const state of states) {
        const style = document.createElement('style');
        style.textContent = state._css;
        const el = document.createElement('div');
        document.body.append(style, el);
        const listeners = {};
        const model = {
            get: name => state[name],
            set: (name, value) => {
                if (JSON.stringify(value) === JSON.stringify(state[name])) return;
                state[name] = value;
                (listeners[`change:${name}`] ?? []).forEach(listener => listener());
            },
            on: (name, listener) => { (listeners[name] ??= []).push(listener); },
            off: (name, listener) => {
                listeners[name] = (listeners[name] ?? []).filter(other => other !== listener);
            },
            save_changes: () => {},
        };
        (window.models ??= []).push(model);
        const text = new Blob([state._esm], {type: 'text/javascript'});
        const module = await import(URL.createObjectURL(text));
        module.default.render({model, el});
    }
}"""

# Lo que se sale de su explorador, salvo lo que se desliza dentro de su propia caja y la tabla que no se ve.
CUT = """() => [...document.querySelectorAll('.exp')].flatMap(root => {
    const right = Math.min(innerWidth, root.getBoundingClientRect().right) + 1;
    return [...root.querySelectorAll('*')].filter(node => {
        for (let up = node.parentElement; up !== root.parentElement; up = up.parentElement)
            if (up.matches('.exp-unseen') || ['auto', 'scroll'].includes(getComputedStyle(up).overflowX)) return false;
        return node.getBoundingClientRect().right > right;
    }).map(node => `${root.className}: ${node.tagName} ${node.className} ${node.textContent.slice(0, 30)}`);
})"""
