"""Los exploradores guardados en las lecciones, y cómo se manejan en un navegador."""

from helpers_browser import ROOT
from tools import notebooks

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


def controls(explorer):
    """Los controles de un explorador que se manejan igual en todos."""
    return explorer.locator("input[type=range], input[type=checkbox], button:enabled").all()


def answers(page, explorer, control):
    """Dice si tocar un control con el teclado cambia lo que se lee: como mucho, en un segundo."""
    before = explorer.inner_text()
    control.focus()
    moves = control.evaluate("node => node.matches('select, [type=range]')")
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

# Lo que se sale de su explorador, salvo lo que se desliza dentro de su propia caja.
CUT = """() => [...document.querySelectorAll('.exp')].flatMap(root => {
    const right = Math.min(innerWidth, root.getBoundingClientRect().right) + 1;
    return [...root.querySelectorAll('*')].filter(node => {
        for (let up = node.parentElement; up !== root.parentElement; up = up.parentElement)
            if (['auto', 'scroll'].includes(getComputedStyle(up).overflowX)) return false;
        return node.getBoundingClientRect().right > right;
    }).map(node => `${root.className}: ${node.tagName} ${node.className} ${node.textContent.slice(0, 30)}`);
})"""
