"""El sitio web: hacerlo, servirlo, y abrir sus páginas como quien lee."""

import atexit
import contextlib
import functools
import http.server
import json
import re
import shutil
import tempfile
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from helpers_browser import PHONE, ROOT
from prose import Piece, clean

pytest.importorskip("sphinx", reason="Falta lo del sitio web: lo instala «curso.py probar».")
from sphinx.util.docutils import docutils_namespace  # noqa: E402

from sitio import build as site  # noqa: E402

NOTEBOOKS = ROOT / "notebooks"
LAPTOP = {"width": 1280, "height": 800}
MISSING = ["myst.xref_missing", "toc", "image.not_readable"]  # lo que falta si no se hace entero


def build(folder, *documents):
    """Hace el sitio en `folder`, o solo esas páginas. Devuelve cuántos avisos ha dado Sphinx."""
    settings = {"include_patterns": documents, "suppress_warnings": MISSING} if documents else {}
    with docutils_namespace():
        return site.build(folder, **settings)


SMALL = ["index.md", "glosario.md", "en_seis_minutos.md", "clases/05_atencion.ipynb"]
SMALL += [f"{name}.ipynb" for name in (
    "03_softmax_y_escalado", "05_atencion", "07_multicabeza_a_mano", "09_encoder_decoder"
)]  # fmt: skip


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@functools.cache
def small_site():
    """Un sitio de unas pocas páginas, que se hace una vez, y cómo estaban los cuadernos antes de hacerlo."""
    place = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    before, folder = contents(NOTEBOOKS), Path(place, "_sitio")
    build(folder, *SMALL)
    return folder, before


def tried():
    """Los códigos que se prueban: los que no son ideogramas ni sílabas, y de todos, uno de cada dieciséis."""
    others = [*range(0x3400), *range(0xF900, 0x20000)]
    return sorted({*others, *range(0, 0x110000, 16)})


# --- Los programas de la página, solos ------------------------------------------------------------

PLACE = "http://localhost/sitio/"
# Una página que pide las piezas a la prueba, y se las queda.
PAGE = """<!doctype html><meta charset="utf-8"><script>
    const kept = {};
    globalThis.asked = [];
    globalThis.load = async names => {
        asked.push(...names);
        return Object.fromEntries(await Promise.all(names.map(async name => {
            kept[name] ??= fetch(name).then(async answer => new Uint8Array(await answer.arrayBuffer()));
            return [name, await kept[name]];
        })));
    };
</script>"""


@contextlib.contextmanager
def open_programs(browser, names, pieces):
    """Una página con esos programas de sitio/web, y las piezas que da la prueba."""

    def answer(route):
        name = route.request.url.removeprefix(PLACE)
        kind = "application/octet-stream" if name in pieces else "text/html"
        route.fulfill(body=pieces.get(name, PAGE), content_type=kind)

    with contextlib.closing(browser.new_context()) as context:
        page = context.new_page()
        page.route(f"{PLACE}**", answer)
        page.goto(PLACE)
        for name in names:
            page.add_script_tag(path=ROOT / f"sitio/web/{name}.js")
        yield page


def many(page, program, values):
    """Lo que da ``program`` con muchos valores. Van y vuelven en un texto: de uno en uno tardan mucho más."""
    text = f"async text => JSON.stringify(await ({program})(JSON.parse(text)))"
    return json.loads(page.evaluate(text, json.dumps(values)))


# Lo que puede partir mal un tokenizador, y cómo se prueba: sola, dentro de una palabra y entre palabras.
ODD = [
    "", " ", "hello", "Hello, World!", "unaffable", "don't", "it's", "naïve", "ÑANDÚ", "Straße", "ẞ", "ﬁn",
    "Ǆungla", "İstanbul", "ISTANBUL ı", "ΣΊΣΥΦΟΣ", "ὈΔΥΣΣΕΎΣ", "οδός", "Ёлка", "Й", "Київ", "日本語", "中文字",
    "한국어", "ひらがな", "ガ", "が", "カ゛", "𠀀", "𪜀", "𫝀", "𫠠", "豈", "丽", "㐀", "〇", "العربية", "مَرْحَبًا", "שָׁלוֹם",
    "हिन्दी", "ไทย", "தமிழ்", "ខ្មែរ", "😀", "👨‍👩‍👧", "🇪🇸", "👍🏽", "❤️", "☺", "1️⃣", "a\u0301", "\u0301", "e\u0301\u0323",
    "q\u0307\u0323", "\u1e9b\u0323", "\u212b", "\u2126", "ª", "º", "½", "²", "①", "Ⅳ", "ﷺ", "\u00a0", "\u200b",
    "\u200c", "\u200d", "\u200e", "\u202e", "\ufeff", "\u00ad", "\u2060", "\u3000", "\u2003", "\u2028", "\u2029",
    "\u0085", "\u1680", "\u180e", "\t", "\n", "\r", "\x00", "\x07", "\x0b", "\x0c", "\x1b", "\x1c", "\x7f", "\x9f",
    "\ufffd", "\ufffc", "\ue000", "\U000f0000", "\uffff", "\u0378", "[SEP]", "[CLS]", "[PAD]", "[MASK]", "[UNK]",
    "[sep]", "[ SEP ]", "[SEP][SEP]", "x[MASK]y", "[[CLS]]", "[SEP", "[unused0]", "##", "##ing", "#", "ing ##ing",
    "“quotes”", "‘a’", "«sí»", "…", "—", "–", "-", "¿qué?", "¡oh!", "·", "€", "$", "^", "`", "~", "|", "+", "<b>",
    "&amp;", "a_b", "http://x.org/?q=1#z", "user@mail.com", "3.14159", "1,000,000", "x" * 99, "x" * 100, "x" * 101,
    "é" * 60, "é" * 101, "antidisestablishmentarianism", "supercalifragilisticexpialidocious", "ñ", "n\u0303",
    "\u1100\u1161\u11a8", "Å", "Ω", "K", "ŉ", "ǰ", "ΐ", "և", "ſ", "ᾳ", "ῼ", "Ⓐ", "𝐀𝐁", "𝔘", "Ａｂｃ", "ꭰ", "Ꭰ", "ა", "Ა",
    "'tis", "dogs'", "''", "it's'", "o'clock", "ñandú", "q\u0307", "\u212a", "°", "\ufeffa\ufeff", "\r\n", "\x1f", "<s>",
    "</s>", "<pad>x", "a<unk>b", "< s>", "<S>", "▁", "▁▁", "▁a", "a▁", " ▁", "▁'", "_", "„x", "a…b", "´", "€5", "$5",
    "1,250.50", "10:45", "2 < 3", "xxxxxxxxxxxxxxxxxxxxxxxxxxxx", "aaaaaaa", "lll", "ososos", "é è ê ë ü ö ô ç",
    "  dos  espacios  ", "a\tb", "a\u00a0b", "é'é",
]  # fmt: skip
FRAMES = ("{}", "ab{}cd", "The {} dog, {}")

# Lo que contesta la página a unas peticiones, una tras otra, desde un estado.
ASK = """async ([name, state, requests]) => {
    const model = {get: trait => state[trait]}, found = [];
    for (const request of requests) {
        Object.assign(state, {request, query: request.query ?? state.query});
        const answer = course.answers[name](model, load);
        const traits = await answer.then(some => ({...some, error: ''}), error => ({error: error.message}));
        Object.assign(state, traits);
        found.push({...state});
    }
    return found;
}"""


# --- El sitio, hecho ------------------------------------------------------------------------------


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serve(folder):
    """Sirve una carpeta en este ordenador. Da su dirección."""
    handler = functools.partial(Handler, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@contextlib.contextmanager
def reading(browser, address, path, broken="$^", route=None, script="", **options):
    """Abre una página. Al acabar, la consola no tiene errores y nada se ha pedido fuera del sitio.

    `broken` es la expresión de lo que se queja de lo que la prueba ha roto a propósito, y
    `route`, lo que hace con una dirección: de una carpeta, solo vale si se dice antes de abrir.
    `script` se ejecuta antes que nada de la página.
    """
    faults = []
    with contextlib.closing(browser.new_context(**{"viewport": LAPTOP} | options)) as context:
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda said: said.type == "error" and faults.append(said.text))
        ours = (address, "data:", "blob:")
        page.on("request", lambda asked: asked.url.startswith(ours) or faults.append(asked.url))
        if route:
            page.route(*route)
        page.add_init_script(script)
        page.goto(address + path)
        yield page
    faults = [fault for fault in faults if not re.search(broken, fault)]
    assert not faults, faults


OPEN_ALL = "document.querySelectorAll('details').forEach(node => { node.open = true; })"


SHIFTS = """globalThis.shift = 0;
new PerformanceObserver(list => list.getEntries().forEach(({value}) => { shift += value; }))
    .observe({type: 'layout-shift', buffered: true});"""
SCROLL = """async () => {
    await document.fonts.ready;  // la letra de las fórmulas, que llega una vez
    for (let top = 0; top < document.documentElement.scrollHeight; top += 600) {
        scrollTo(0, top);
        for (const _ of "abc") await new Promise(requestAnimationFrame);
    }
}"""


def explorers(page):
    """Abre lo plegado y baja hasta cada explorador y cada predicción. Los exploradores, vivos."""
    page.evaluate(OPEN_ALL)
    for place in page.locator(".course-explorer").all():
        if not place.evaluate("node => node.closest('[hidden]')"):  # los de otra escena
            place.evaluate("node => node.scrollIntoView()")
            place.locator(".exp").wait_for()
    return page.locator(".course-explorer[data-explorer$=Explorer]").all()


def rooms(browser, folder):
    """Lo que mide de alto cada explorador ya vivo, en un teléfono y en un portátil: nombre → píxeles."""
    found = {}
    for viewport in (PHONE, LAPTOP):
        for path in sorted(folder.glob("[0-9]*.html")):
            with reading(browser, f"{folder.as_uri()}/", path.name, viewport=viewport) as page:
                for place in explorers(page):
                    name = f"{path.stem[:2]}-{place.get_attribute('data-explorer')}"
                    page.wait_for_timeout(200)  # la frase espera a que la mano pare
                    height = place.evaluate("node => node.firstElementChild.scrollHeight")
                    found.setdefault(name, []).append(height)
    return found


ANSWERED = "({model}) => model.get('answered') === model.get('request').serial"


def ask(page, explorer, *sentences):
    """Escribe frases con el teclado y las pide. Devuelve lo que ha ido mal, cuando hay respuesta."""
    write(page, explorer, *sentences)
    page.wait_for_function(ANSWERED, arg=explorer.element_handle(), timeout=180_000)
    return "".join(explorer.locator(".exp-error:visible").all_inner_texts())


def write(page, explorer, *sentences):
    """Escribe frases con el teclado y pulsa Intro."""
    for box, sentence in zip(explorer.locator("input[type=text]").all(), sentences, strict=True):
        box.click()
        page.keyboard.press("ControlOrMeta+A")
        page.keyboard.press("Delete")
        page.keyboard.type(sentence)
    page.keyboard.press("Enter")


# --- Lo escrito en las páginas --------------------------------------------------------------------


class Reader(HTMLParser):
    """Las direcciones de una página y los sitios a los que se puede llegar en ella."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, _tag, attributes):
        for name, value in attributes:
            if name in ("href", "src"):
                self.addresses.append(value)
            elif name == "id":
                self.anchors.add(value)


class Prose(HTMLParser):
    """Lo que se lee en el artículo de una página, bloque a bloque: sin código, fórmulas ni dibujos."""

    BLOCKS = "p", "li", "td", "th", "h1", "h2", "h3", "h4", "summary", "figcaption", "div", "br"
    HIDDEN = "script", "style", "pre", "code", "svg", "math", "kbd"
    ELSEWHERE = "math", "headerlink", "course-explorer"  # se comprueba donde se escribe

    def __init__(self, text):
        super().__init__()
        self.blocks, self.hidden, self.code = [""], [], set()
        self.feed(re.search(r"<article.*</article>", text, re.DOTALL)[0])

    def handle_starttag(self, tag, attributes):
        look = dict(attributes).get("class") or ""
        if self.hidden and tag == self.hidden[-1][0]:
            self.hidden[-1][1] += 1
        elif not self.hidden and (tag in self.HIDDEN or look.startswith(self.ELSEWHERE)):
            self.hidden.append([tag, 1])
            self.blocks[-1] += "0" * (tag != "a")
        elif tag in self.BLOCKS:
            self.blocks.append("")
        elif tag == "em":
            self.blocks[-1] += "*"
        elif tag == "strong" and not self.blocks[-1].endswith(" "):  # en su columna
            self.blocks[-1] += "" if re.search(r"[«(¿¡*—]$", self.blocks[-1]) else " "

    def handle_endtag(self, tag):
        if self.hidden and tag == self.hidden[-1][0]:
            self.hidden[-1][1] -= 1
            if not self.hidden[-1][1]:
                self.hidden.pop()
        elif tag in self.BLOCKS:
            self.blocks.append("")
        elif tag == "em":
            self.blocks[-1] += "*"

    def handle_data(self, data):
        if self.hidden:
            self.code |= set(re.findall(r"\w+", data))  # un informe nombra lo que hay en el código
        else:
            self.blocks[-1] += data.replace("’", "'")


def prose(path):
    """Los trozos de prosa de una página hecha, como los de un documento."""
    read = Prose(path.read_text(encoding="utf-8"))
    texts = [re.sub(r"\w+\(\)", "0", " ".join(block.split())) for block in read.blocks]
    found = [Piece(path.name, None, n, clean(text)) for n, text in enumerate(texts, 1) if text]
    return found, read.code


def broken_links(folder):
    """Las direcciones de dentro del sitio que no llevan a ninguna parte: página → dirección."""
    pages = {path: Reader(path.read_text(encoding="utf-8")) for path in folder.rglob("*.html")}
    found = []
    for path, page in pages.items():
        for address in page.addresses:
            parts = urlsplit(urljoin(path.as_uri(), address))
            target = Path(unquote(parts.path))
            if parts.scheme != "file" or address in ("#", "/"):
                continue
            reached = not parts.fragment or unquote(parts.fragment) in pages[target].anchors
            if not (target.is_file() and reached):
                found.append(f"{path.relative_to(folder)} → {address}")
    return found
