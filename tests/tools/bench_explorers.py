"""Cuánto tardan los exploradores en obedecer a la mano, al lado de un bucle con matplotlib.

    python curso.py medir

En un JupyterLab de verdad, en Chromium. De cada cambio se mide desde que llega hasta que está en el
fotograma siguiente; en medio hay, de media, medio fotograma de espera (8 ms a 60 por segundo). Al
lado, «solo trabajo» es lo que ocupa al navegador: calcular, dibujar y recolocar. La referencia es lo
que se escribe si no se piensa: `interact` de ipywidgets y una figura de matplotlib.
"""

import textwrap
from statistics import median

import pytest
from helpers_browser import show, write
from nbformat.v4 import new_code_cell

from course_lib.model_files.senses import sealed
from tools.bench_support import registered, seconds

LOOP_LIMIT = 1 / 5  # del bucle con matplotlib
ROUNDS = 41
CROSS = '["dog", "bone"], ["<inicio>", "perro"], ["perro", "hueso"], [[[0.9, 0.1], [0.2, 0.8]]]'
# Cada explorador, lo que se toca y cómo.
EXPLORERS = {
    "AttentionExplorer()": ("[role=radio][tabindex='0']", "key"),
    "BlocksExplorer(block=1)": ("input[type=checkbox]", "click"),
    f"CrossAttentionExplorer({CROSS})": ("input[type=range]", "range"),
    "GeometryExplorer()": (".exp-handle", "key"),
    "InfluenceExplorer()": ("input[type=checkbox]", "click"),
    'LearningExplorer("escala")': ("input[type=range]", "range"),
    "LlmExplorer()": (".l-knobs input", "range"),
    "MaskExplorer()": (".m-cell", "click"),
    "MultiHeadExplorer(station=6)": ("input[type=checkbox]", "click"),
    "QKVExplorer()": ("select[aria-label=Cabeza]", "select"),
    "SeeExplorer()": (".s-stage", "key"),
    "SoftmaxExplorer()": ("input[type=range]", "range"),
}
LOOP = """
import matplotlib.pyplot as plt
import torch
from ipywidgets import FloatSlider, interact

def draw(temperature):
    plt.figure(figsize=(4, 3))
    plt.bar(["1", "2", "3"], torch.softmax(torch.tensor([1.0, 2.0, 3.0]) / temperature, dim=-1))
    plt.ylim(0, 1)
    plt.show()

interact(draw, temperature=FloatSlider(value=1, min=0.1, max=10));
"""

# Cambia algo muchas veces y dice cuánto tarda cada una: solo el trabajo, y hasta que se ve.
CHANGE = """async ([selector, kind, rounds]) => {
    const root = document.querySelector('.exp');
    const say = (node, name, key) => node.dispatchEvent(
        key ? new KeyboardEvent(name, {key, bubbles: true}) : new Event(name, {bubbles: true}));
    const act = {
        click: node => node.click(),
        key: (node, i) => say(node, 'keydown', i % 2 ? 'ArrowUp' : 'ArrowDown'),
        range: (node, i) => { node.stepUp(i % 2 ? -1 : 1); say(node, 'input'); },
        select: (node, i) => { node.selectedIndex = i % node.length; say(node, 'change'); },
    }[kind];
    const pause = ms => new Promise(done => setTimeout(done, ms));
    const times = [];
    for (let i = 0; i < rounds; i++) {
        await pause(150 + 17 * i % 40);  // que no coincida siempre con el mismo momento del fotograma
        const node = root.querySelector(selector);
        const start = performance.now();
        act(node, i);
        root.getBoundingClientRect();  // obliga a recolocar
        const worked = performance.now() - start;
        await new Promise(done => requestAnimationFrame(() => {
            const channel = new MessageChannel();  // después de pintar
            channel.port1.onmessage = done;
            channel.port2.postMessage(null);
        }));
        times.push([worked, performance.now() - start]);
    }
    return times;
}"""

# Mueve el control del bucle y espera a que la figura nueva se vea.
MOVE = """async rounds => {
    const image = () => document.querySelector('.jp-OutputArea img')?.src;
    const frame = () => new Promise(done => requestAnimationFrame(done));
    const times = [];
    for (let i = 0; i < rounds; i++) {
        await new Promise(done => setTimeout(done, 200));
        const [before, start] = [image(), performance.now()];
        document.querySelector('.noUi-handle').dispatchEvent(
            new KeyboardEvent('keydown', {key: i % 2 ? 'Left' : 'Right', bubbles: true}));
        while (!image() || image() === before) await frame();
        await document.querySelector('.jp-OutputArea img').decode();
        await frame();
        times.push(performance.now() - start);
    }
    return times;
}"""


@pytest.fixture(scope="module")
def table(request):
    return registered(
        request,
        "Medidas de los exploradores",
        "Desde el cambio hasta que se ve, en milisegundos de reloj; medianas de "
        f"{ROUNDS} cambios. «Solo trabajo» no cuenta la espera al fotograma siguiente.",
    )


@pytest.fixture(scope="module")
def loop(lab):
    """Lo que tarda el bucle con matplotlib."""
    faults = lab.faults(write(lab, new_code_cell(textwrap.dedent(LOOP).strip())))
    assert [fault for fault in faults if "no se describe" not in fault] == []  # su figura, no
    times = lab.page.evaluate(MOVE, ROUNDS)
    lab.close()
    return median(times)


@pytest.mark.parametrize("code", EXPLORERS, ids=lambda code: code.split("(")[0])
def test_a_change_is_seen(benchmark, table, loop, lab, code):
    if code == "SeeExplorer()" and not sealed("dinov2"):
        pytest.skip("sin «python curso.py abrir --ver-y-oir»")
    show(lab, code)
    times = benchmark.pedantic(lab.page.evaluate, (CHANGE, [*EXPLORERS[code], ROUNDS]), rounds=1)
    assert lab.messages == []
    lab.close()
    worked, seen = (median(column) for column in zip(*times))
    name = code.split("(")[0]
    size = f"solo trabajo: {ms(worked)}"
    table.add(benchmark, f"`{name}`: un cambio", size, ms(seen), ms(loop), seen / loop, LOOP_LIMIT)


def ms(milliseconds):
    return seconds(milliseconds / 1000)
