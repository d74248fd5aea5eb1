"""El explorador del escalado: sus muestras, sus cuentas y lo que hace en un navegador."""

import itertools
import math
import statistics

import pytest
import torch
import traitlets
from helpers_browser import write
from nbformat.v4 import new_code_cell

from course_lib import scaled_dot_product_attention
from course_lib.explorers.base import HERE, esm
from course_lib.explorers.scaling import (
    DIVISORS,
    HEADS,
    KEYS,
    LEVEL,
    QUERIES,
    WIDTHS,
    ScalingExplorer,
    compute,
    draw,
    pack,
    unpack,
)

STATES = list(itertools.product(WIDTHS, DIVISORS))
NUMBERS = ("std", "theory", "largest", "entropy", "jacobian_mean", "jacobian_median")


def measure(rows):
    """Las medidas de unas filas de puntuaciones, sin torch y con otras fórmulas."""
    tops, entropies, norms = [], [], []
    for row in rows:
        powers = [math.exp(s - max(row)) for s in row]
        p = [power / sum(powers) for power in powers]
        log_sum = max(row) + math.log(sum(powers))
        tops.append(max(p))
        entropies.append(log_sum - sum(a * s for a, s in zip(p, row)))
        squares, cubes = sum(a**2 for a in p), sum(a**3 for a in p)
        norms.append(math.sqrt(max(0.0, squares - 2 * cubes + squares**2)))
    return {
        "std": statistics.stdev(s for row in rows for s in row),
        "largest": statistics.fmean(tops),
        "entropy": statistics.fmean(entropies),
        "jacobian_mean": statistics.fmean(norms),
        "jacobian_median": statistics.median_low(norms),
    }


# --- Las muestras ---------------------------------------------------------------------------------


def test_the_samples_are_small_and_exact():
    samples = unpack(pack())
    assert len(pack()) <= 120_000
    assert samples.shape == (len(WIDTHS), QUERIES, KEYS)
    assert samples.abs().max() < 15  # ninguna se ha recortado
    for d_k, sample in zip(WIDTHS, samples, strict=True):
        q, k = draw(d_k)
        assert q.shape == (QUERIES, 1, d_k)
        exact = (q * k).sum(dim=-1) / math.sqrt(d_k)
        assert (sample - exact).abs().max() <= LEVEL / 2 + 1e-9


def test_drawing_leaves_the_generator_of_torch_alone():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    draw(4)
    torch.testing.assert_close(torch.rand(3), expected, rtol=0, atol=0)


@pytest.mark.parametrize("d_k", WIDTHS)
def test_the_weights_are_those_of_the_library(d_k):
    q, k = draw(d_k)
    samples = unpack(pack())
    for divisor in DIVISORS:
        scale = math.sqrt(d_k) / DIVISORS[divisor][1](d_k)  # la biblioteca ya divide entre √d_k
        weights = scaled_dot_product_attention(q * scale, k, k)[1]
        largest = weights.max(dim=-1).values.mean().item()
        assert compute(samples, d_k, divisor)["largest"] == pytest.approx(largest, abs=2e-3)


# --- Las cuentas ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("d_k", "divisor"), STATES)
def test_compute(d_k, divisor):
    samples = unpack(pack())
    result = compute(samples, d_k, divisor)
    by = {"nada": 1, "sqrt(d_k)": d_k**0.5, "d_k": d_k, "sqrt(d_model)": (12 * d_k) ** 0.5}[divisor]
    rows = (samples[WIDTHS.index(d_k)] * math.sqrt(d_k) / by).tolist()
    for name, value in measure(rows).items():
        assert result[name] == pytest.approx(value, abs=1e-7), name
    assert result["theory"] == pytest.approx(math.sqrt(d_k) / by)
    assert result["std"] == pytest.approx(result["theory"], rel=0.05)
    assert 1 / KEYS <= result["largest"] <= 1
    assert 0 <= result["entropy"] <= math.log(KEYS)
    edges = [-math.inf, *(-12 + i / 2 for i in range(49)), math.inf]
    scores = sorted(x for row in rows for x in row)
    counts = [sum(a <= x < b for x in scores) for a, b in itertools.pairwise(edges)]
    assert sum(abs(a - b) for a, b in zip(result["histogram"], counts, strict=True)) <= 2
    assert sum(result["histogram"]) == QUERIES * KEYS


def test_what_the_lesson_says_is_seen():
    results = {state: compute(unpack(pack()), *state) for state in STATES}
    for d_k in WIDTHS:
        assert results[d_k, "sqrt(d_k)"]["std"] == pytest.approx(1, abs=0.04)
        ratio = results[d_k, "sqrt(d_k)"]["std"] / results[d_k, "sqrt(d_model)"]["std"]
        assert ratio == pytest.approx(math.sqrt(HEADS))
    assert results[1024, "nada"]["largest"] > 0.95
    assert results[1024, "nada"]["jacobian_median"] < 1e-4 < results[1024, "nada"]["jacobian_mean"]
    assert results[1024, "d_k"]["largest"] == pytest.approx(1 / 12, abs=0.01)
    assert results[1024, "d_k"]["jacobian_mean"] == pytest.approx(math.sqrt(11) / 12, abs=0.01)
    assert (
        len({tuple(results[1, name]["histogram"]) for name in DIVISORS}) == 2
    )  # con 1, tres iguales


# --- El control -----------------------------------------------------------------------------------


def test_its_text_says_its_state():
    assert repr(ScalingExplorer(d_k=64, divisor="d_k")) == (
        "Escalado con d_k = 64, entre d_k: desviación típica 0.13 (la teoría, 0.13), peso mayor 0.10, "
        "entropía 2.48, jacobiano 0.28 de media y 0.28 de mediana."
    )


def test_its_text_is_the_same_on_every_machine():
    """Ningún número está al borde de redondearse de otro modo."""
    samples = unpack(pack())
    for d_k, divisor in STATES:
        said = ScalingExplorer(d_k=d_k, divisor=divisor).describe()
        for change in (1 + 1e-9, 1 - 1e-9):
            result = compute(samples * change, d_k, divisor)
            for name, form in (("std", ".2f"), ("largest", ".2f"), ("entropy", ".2f"),
                               ("jacobian_mean", ".2f"), ("jacobian_median", ".2g")):  # fmt: skip
                assert f" {result[name]:{form}}" in said, (d_k, divisor, name)


@pytest.mark.parametrize("d_k", WIDTHS)
def test_every_state_is_accepted(d_k):
    explorer = ScalingExplorer()
    explorer.d_k = d_k
    for divisor in DIVISORS:
        explorer.divisor = divisor
        assert f"d_k = {d_k}, {DIVISORS[divisor][0]}" in explorer.describe()
    explorer.d_k = float(d_k)
    assert type(explorer.d_k) is int


@pytest.mark.parametrize(
    "value", [0, -1, 3, 2048, 0.5, math.nan, math.inf, "64", None, [64], torch.tensor([1, 2])]
)
def test_a_wrong_width_is_refused(value):
    explorer = ScalingExplorer(d_k=16)
    with pytest.raises(traitlets.TraitError, match=r"d_k = .* una potencia de 2 entre 1 y 1024"):
        explorer.d_k = value
    assert explorer.d_k == 16


@pytest.mark.parametrize("value", ["", "raíz", 8, None, ["nada"]])
def test_a_wrong_divisor_is_refused(value):
    explorer = ScalingExplorer(divisor="d_k")
    with pytest.raises(traitlets.TraitError, match=r"divisor = .* uno de estos: 'nada', "):
        explorer.divisor = value
    assert explorer.divisor == "d_k"


def test_the_samples_stay():
    explorer = ScalingExplorer()
    with pytest.raises(traitlets.TraitError, match="samples = 'AAAA'; .* no la cambies"):
        explorer.samples = "AAAA"
    assert explorer.samples == pack()


# --- En un navegador ------------------------------------------------------------------------------

COMPUTE_IN_JS = """async ([code, text, states]) => {
    const blob = new Blob([code], {type: 'text/javascript'});
    const module = await import(URL.createObjectURL(blob));
    const samples = module.unpack(text);
    const results = states.map(([d_k, divisor, shift]) =>
        module.compute(samples.map(x => x * shift), d_k, divisor));
    return [Array.from(samples), results, results.map(module.sentence)];
}"""

# Sin kernel: un estado guardado, y una página estrecha.
DRAW_ALONE = """async ([code, state]) => {
    const blob = new Blob([code], {type: 'text/javascript'});
    const {default: widget} = await import(URL.createObjectURL(blob));
    const listeners = {};
    const model = {
        get: name => state[name],
        set: (name, value) => { state[name] = value; listeners[`change:${name}`]?.(); },
        on: (name, listener) => { listeners[name] = listener; },
        off: name => { delete listeners[name]; },
        save_changes() {},
    };
    const el = document.createElement('div');
    const css = document.createElement('style');
    css.textContent = state.css;
    el.style.cssText = 'position: fixed; top: 0; left: 0; width: 340px';
    document.body.append(css, el);
    const stop = widget.render({model, el});
    const wide = el.scrollWidth;
    const radio = el.querySelector('input[value="sqrt(d_k)"]');
    radio.click();
    await new Promise(done => setTimeout(done, 300));
    const said = el.querySelector('[role=status]').textContent;
    stop();
    el.remove();
    css.remove();
    return [wide, state.divisor, said, Object.keys(listeners).length];
}"""


@pytest.mark.navegador
def test_javascript_computes_the_same(lab):
    # Las 44 posturas, con las muestras tal cual y encogidas o estiradas: 220 estados.
    states = [(*state, shift) for state in STATES for shift in (1, 0, 0.37, 1.5, 3)]
    samples, results, sentences = lab.page.evaluate(COMPUTE_IN_JS, [esm("scaling"), pack(), states])
    mine = unpack(pack())
    assert samples == mine.flatten().tolist()
    for (d_k, divisor, shift), theirs, said in zip(states, results, sentences, strict=True):
        expected = compute(mine * shift, d_k, divisor)
        assert theirs.keys() == expected.keys()
        for name in NUMBERS:
            assert theirs[name] == pytest.approx(expected[name], rel=0, abs=1e-9), name
        for name in ("d_k", "divisor", "histogram"):
            assert theirs[name] == expected[name]
        assert said.startswith(f"Con d_k = {d_k}, {DIVISORS[divisor][0]}, la desviación típica es ")
        assert "NaN" not in said
        assert "undefined" not in said


@pytest.mark.navegador
def test_it_draws_without_a_kernel_in_a_narrow_page(lab):
    css = (HERE / "explorer.css").read_text(encoding="utf-8")
    state = {"d_k": 1024, "divisor": "nada", "samples": pack(), "css": css}
    wide, divisor, said, left = lab.page.evaluate(DRAW_ALONE, [esm("scaling"), state])
    assert wide <= 340
    assert divisor == "sqrt(d_k)"
    assert "cerca de 1" in said
    assert left == 0


@pytest.mark.navegador
def test_it_answers_to_the_mouse_and_to_the_keys(lab):
    path = write(
        lab,
        new_code_cell(
            "from course_lib.explorers.scaling import ScalingExplorer\n"
            "explorer = ScalingExplorer()\nexplorer"
        ),
    )
    assert lab.faults(path) == []
    page = lab.page
    explorer = page.locator(".exp-scaling")
    width = explorer.get_by_label("anchura, d_k")

    def row(name):
        return explorer.get_by_role("row", name=name).get_by_role("cell").all_inner_texts()

    def wait_for(text):
        page.wait_for_function(
            "text => document.querySelector('.exp-say').textContent.includes(text)", arg=text
        )

    assert row("divisor")[0] == "1.00"
    wait_for("se satura")

    # Las flechas mueven la barra, y no la celda.
    active = page.evaluate("lesson.content.activeCellIndex")
    width.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    assert width.get_attribute("aria-valuetext") == "1024"
    assert row("teoría")[:2] == ["32.00", "1.00"]
    assert "fuera de ±12" in explorer.get_by_role("img").get_attribute("aria-label")

    # Del divisor, el ratón elige uno, y la flecha, el siguiente.
    explorer.get_by_text("√d_k", exact=True).first.click()
    assert row("teoría")[:2] == ["1.00", "1.00"]
    assert row("desviación típica")[0] == row("desviación típica")[1]
    wait_for("cerca de 1 como a cualquier anchura")
    page.keyboard.press("ArrowDown")
    assert explorer.get_by_role("radio", name="d_k", exact=True).is_checked()
    assert row("divisor")[0] == "1024.00"
    wait_for("casi a partes iguales")
    assert page.evaluate("lesson.content.activeCellIndex") == active

    # El ratón lleva la barra al principio: con anchura 1 no hay nada que corregir.
    box = width.bounding_box()
    page.mouse.click(box["x"] + 2, box["y"] + box["height"] / 2)
    wait_for("se divide por 1")

    # El estado va a Python y vuelve de Python.
    assert lab.prints("print(explorer.d_k, explorer.divisor)", "1 d_k")
    lab.ask("explorer.d_k, explorer.divisor = 32, 'sqrt(d_model)'")
    wait_for("√12 veces menor")
    assert width.get_attribute("aria-valuetext") == "32"
    assert explorer.get_by_role("radio", name="√d_model").is_checked()
    assert lab.messages == []
    lab.close()
