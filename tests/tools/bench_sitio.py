"""Cuánto tarda el sitio web: en abrirse, y en leer y traducir lo que alguien escribe.

    python curso.py medir tests/tools/bench_sitio.py

Cada página, en un navegador que no ha visto las demás, desde la carpeta.
"""

from statistics import median

import pytest
from helpers_sitio import build, explorers, reading

from tools.bench_support import registered, seconds

TWELVE = "The old man gave his dog a big bone in number {}"  # 13 tokens con [CLS] y [SEP]
SIXTY = " ".join(["The old man gave his dog a bone"] * 7) + " number {}"
ENGLISH = "My sister gave a good book to her friend number {}."

PAINTED = """() => performance.getEntriesByType('paint')
    .find(({name}) => name === 'first-contentful-paint').startTime"""

ASK = """async ([name, texts]) => {
    const kind = name === 'sentence' ? 'CrossAttention' : 'Attention';
    const { model } = document.querySelector(`.alive[data-explorer=${kind}Explorer]`);
    const times = [];
    for (const text of texts) {
        const serial = model.get('answered') + 1;
        const asked = name === 'sentences' ? [text, ''] : text;
        const start = performance.now();
        model.set('request', { serial, [name]: asked });
        model.save_changes();
        while (model.get('answered') < serial) await new Promise(done => setTimeout(done));
        times.push(performance.now() - start);
        if (model.get('error')) throw new Error(model.get('error'));
    }
    return times;
}"""


@pytest.fixture(scope="module")
def table(request):
    header = "qué se mide", "mide", "límite"
    return registered(request, "Medidas del sitio web", "De la carpeta.", header).rows


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("medida") / "_sitio"
    assert build(folder) == 0
    return folder


def test_opening(site, table, browser):
    times = []
    for path in sorted(site.glob("[01]*.html")):
        with reading(browser, f"{site.as_uri()}/", path.name) as page:
            times.append(page.evaluate(PAINTED))
    what = "una lección, desde el disco, hasta que se lee"
    table.append((what, f"{seconds(median(times) / 1000)}; la peor, {seconds(max(times) / 1000)}", "1 s"))


@pytest.mark.parametrize("lesson, name, what, sentences", [
    ("05_atencion", "sentences", "BERT, 13 tokens", TWELVE),
    ("05_atencion", "sentences", "BERT, 60 tokens", SIXTY),
    ("11_el_traductor", "sentence", "el traductor, 13 tokens", ENGLISH),
])  # fmt: skip
def test_a_typed_sentence(site, table, browser, lesson, name, what, sentences):
    with reading(browser, f"{site.as_uri()}/", f"{lesson}.html") as page:
        explorers(page)
        texts = [sentences.format(number) for number in range(2, 12)]
        first, *others = page.evaluate(ASK, [name, texts])
    table.append((f"{what}: la primera frase, con sus pesos", seconds(first / 1000), "3 s"))
    table.append((f"{what}: las siguientes", seconds(median(others) / 1000), "0.3 s"))
