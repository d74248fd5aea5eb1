"""Hace el sitio web del curso en la carpeta _sitio, con lo que los cuadernos tienen guardado.

Es la orden «python curso.py sitio». Lo que deja es para darlo a leer: sin las notas de las clases ni las
soluciones, si no se piden. Con «--ver», hace otro entero en _sitio_local, lo sirve y lo abre; con «--zip»,
deja además un zip de la carpeta. No ejecuta los cuadernos ni usa la red.
"""

import argparse
import base64
import errno
import functools
import hashlib
import http.server
import json
import re
import shutil
import sys
import webbrowser
from collections import Counter
from pathlib import Path

from PIL import Image

from course_tools import homework
from course_tools.foreign.zips import zipped
from sitio import scorm

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_sitio"
LOCAL = ROOT / "_sitio_local"  # el que abre «--ver»: entero, y no es para publicarlo
SCRATCH = ROOT / "_sitio.nuevo"  # se hace aquí; si algo falla, el de antes sigue entero
UNUSED = (  # lo que dejan Sphinx y el tema, y ninguna página usa
    "_sources", ".doctrees", ".buildinfo", "objects.inv", "_static/locales",
    "_static/scripts/*.map", "_static/scripts/fontawesome.js*", "_static/vendor", "_static/*-macros.html",
)  # fmt: skip
INLINE = re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)[^>]*>(.*?)</script>", re.S)
# Lo que de Sphinx no hace falta: uno que hace programas.
PLURAL = re.compile(r"Documentation\.PLURAL_EXPR = new Function\(.*?\);", re.S)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
BRACE = re.compile(r"[{}]")
NOT = re.compile(r":not\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
# De las clases que pone Bootstrap, las que usa el tema.
BOOTSTRAP = {"show", "fade", "tooltip", "tooltip-inner", "tooltip-arrow", "bs-tooltip-auto"}
WORD = re.compile(r"[\w-]+")
LINK = re.compile(r'<link rel="stylesheet" href="([^"]*)estilo\.css[^"]*">')
ADDRESS = re.compile(r"""url\((['"]?)([\w./-]+\.\w+)\1\)""")
# Lo que vale una variable: si nadie la pide, sobra.
VARIABLE = re.compile(r"""(--[\w-]+): ?(?:"[^"]*"|'[^']*'|[^"';{}])*(?:;|(?=}))""")
NAMED = re.compile(r"[.#](-?[A-Za-z_][\w-]*)")
PLAIN = re.compile(r'<span class="[npw]">([^<]*)</span>')  # en el código, lo que lleva el color de todo
PICTURE = re.compile(r'src="data:image/png;base64,([^"]+)"')
IMAGE = re.compile(r'(<img(?![^>]* width=)[^>]*)src="((?:\.\./)*_(?:images|static)/[^"]+)"')
LOOK = re.compile(r'<(div|code|span) style="([^"]+)">')
GIF = re.compile(r'<img[^>]*src="([^"]+)\.gif"[^>]*>')
NAMES = {  # lo que el tema y sus amigos no dicen en español, y oye quien usa un lector de pantalla
    ' aria-label="Toggle hidden content"': "",  # tapa el nombre que se ve
    'title="Link to this heading"': 'title="Enlace a este título"',
    'title="Toggle primary sidebar"': 'title="Índice del curso" aria-label="Índice del curso"',
    'title="Toggle secondary sidebar"': 'title="En esta página" aria-label="En esta página"',
    'aria-label="Main"': 'aria-label="Índice del curso"',
    'aria-label="Page"': 'aria-label="En esta página"',
    '<summary><span class="toctree': '<summary aria-label="Ver sus páginas"><span class="toctree',
    '__start sidebar-primary__section"': '__start sidebar-primary__section" role="region" aria-label="El curso"',
    '<th class="head"><p></p></th>': "<td></td>",  # la esquina de una tabla no nombra nada
}
POLICY = {"default-src": ["'none'"], "base-uri": ["'none'"]}  # nada de fuera
POLICY |= {f"{what}-src": ["'self'"] for what in ("script", "font", "connect")} | {"form-action": ["'self'"]}
POLICY |= {"style-src": ["'self'", "'unsafe-inline'"], "img-src": ["'self'", "data:"], "media-src": ["data:"]}


def build(site, **settings):
    """Hace el sitio en la carpeta `site`. Devuelve cuántos avisos ha dado Sphinx.

    `settings` cambia los ajustes de conf.py. Al lado de `site` queda «jupyter_execute», que no es de él.
    """
    from sphinx.application import Sphinx

    app = Sphinx(
        ROOT / "notebooks", ROOT / "sitio", site, site / ".doctrees", "html", settings, status=None,
        warning=sys.stderr, freshenv=True,
    )  # fmt: skip
    app.models = write_pieces(site / "modelos")
    app.build()
    for path in {path for pattern in UNUSED for path in site.glob(pattern)}:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    replace(site / "_static/doctools.js", PLURAL, "Documentation.PLURAL_EXPR = n => +(n !== 1);")
    pages = {path: path.read_text(encoding="utf-8") for path in site.glob("**/*.html")}
    whole = "\n".join(pages.values())
    for theirs in () if settings else NAMES:
        if theirs not in whole:
            raise SystemExit(f"Ninguna página tiene ya {theirs}: revisa NAMES, en sitio/build.py.")
    style, words = join_styles(site, app.styles, whole)
    for path, text in pages.items():
        for theirs, ours in NAMES.items():
            text = text.replace(theirs, ours)
        text = PLAIN.sub(r"\1", text)
        text = PICTURE.sub(functools.partial(keep_picture, site, path), text)
        text = IMAGE.sub(functools.partial(reserve_room, path), text)
        text = GIF.sub(functools.partial(keep_still, path), text)
        text = once(dressed(text, style, words))
        path.write_text(protect(text), encoding="utf-8")
    (site / ".nojekyll").touch()  # que GitHub Pages no esconda lo que empieza por «_»
    if app.config.html_baseurl:
        names = sorted(path.relative_to(site).as_posix() for path in pages if path.stem != "404")
        urls = "".join(f"<url><loc>{app.config.html_baseurl}{name}</loc></url>\n" for name in names)
        start = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
        (site / "sitemap.xml").write_text(f"{start}{urls}</urlset>\n", encoding="utf-8")
    return app._warncount


def replace(path, pattern, text):
    """Cambia en un archivo lo que dice `pattern`, que tiene que estar."""
    changed, found = pattern.subn(text, path.read_text(encoding="utf-8"))
    if not found:
        raise SystemExit(f"{path.name} ya no tiene {pattern.pattern}: revisa sitio/build.py.")
    path.write_text(changed, encoding="utf-8")


def join_styles(site, names, pages):
    """Las hojas de estilo, en una, sin las reglas de lo que ninguna página tiene; y las palabras de los programas."""
    theme = ["basic.css", "styles/pydata-sphinx-theme.css"]
    paths = [site / "_static" / name.removeprefix("_static/") for name in [*theme, *names]]
    text = "\n".join(path.read_text(encoding="utf-8") for path in dict.fromkeys(paths))
    words = set(BOOTSTRAP)
    for path in {*site.glob("_static/**/*.js")} - {site / "_static/scripts/bootstrap.js"}:
        words |= set(WORD.findall(path.read_text(encoding="utf-8")))
    for path in {*paths, *site.glob("_static/styles/*.css")}:
        path.unlink()
    return pruned(COMMENT.sub("", text), words.union(WORD.findall(pages))), words


def dressed(page, style, words):
    """La página, con las reglas que usa escritas en ella: se dibuja sin esperar a otro archivo."""
    words = words.union(WORD.findall(page))
    style = pruned(style, words)

    def asked_for(variable):
        return variable[0] if variable[1] in words or f"({variable[1]}" in style else ""

    while (left := VARIABLE.sub(asked_for, style)) != style:
        style = left

    def written(found):
        there = ADDRESS.sub(lambda address: f"url({found[1]}{address[2]})", style)
        return f"<style>\n{there}</style>"

    text = LINK.sub(written, page)
    if "estilo.css" in text:
        raise SystemExit("Una página pide estilo.css de otra manera: revisa sitio/plantillas.")
    return text


def pruned(text, words):
    """Las reglas de una hoja de estilo cuyas clases y nombres están en `words`."""
    kept, at = [], 0
    while (start := text.find("{", at)) >= 0:
        depth, end = 1, start + 1
        while depth:
            found = BRACE.search(text, end)
            depth, end = depth + (1 if found[0] == "{" else -1), found.end()
        *before, head = text[at:start].split(";")  # antes, otra orden
        inside = text[start + 1 : end - 1]
        if head.lstrip().startswith(("@media", "@supports", "@layer")):
            inside = pruned(inside, words)
            used = bool(inside)
        elif head.lstrip().startswith("@"):
            used = "vendor/fontawesome" not in inside
        else:
            used = any(words.issuperset(NAMED.findall(one)) for one in NOT.sub("", head).split(","))
        kept += [f"{' '.join(head.split())}{{{' '.join(inside.split())}}}\n"] if used else []
        at = end
    return "".join(kept)


def once(page):
    """La página, con el aspecto que se repite en muchas etiquetas escrito una vez."""
    looks = Counter(look for _, look in LOOK.findall(page))
    names = {look: f"aspecto-{n}" for n, (look, many) in enumerate(looks.items()) if many >= 10}

    def named(found):
        return f'<{found[1]} class="{names[found[2]]}">' if found[2] in names else found[0]

    text = LOOK.sub(named, page)
    rules = "".join(f".{name}{{{look}}}" for look, name in names.items())
    return text.replace("</head>", f"<style>{rules}</style></head>", 1) if names else page


def keep_picture(site, page, found):
    """Saca de una página una imagen escrita en ella, con su tamaño, para que no la haga esperar."""
    data = base64.b64decode(found[1])
    path = site / "_images" / f"{hashlib.sha256(data).hexdigest()[:16]}.png"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    up = "../" * (len(page.relative_to(site).parts) - 1)
    return f'loading="lazy" src="{up}_images/{path.name}"'


def reserve_room(page, found):
    """Una imagen con su tamaño: la página le guarda el sitio y la trae cuando hace falta."""
    path = page.parent / found[2]
    if path.suffix == ".svg":
        start = re.search(r"<svg[^>]*>", path.read_text(encoding="utf-8"))[0]
        sizes = [re.search(rf'\b{side}="([\d.]+)(pt|px)?"', start) for side in ("width", "height")]
        if not all(sizes):
            return found[0]
        width, height = (float(one[1]) * (4 / 3 if one[2] == "pt" else 1) for one in sizes)
    else:
        with Image.open(path) as picture:
            width, height = picture.size
    return f'{found[1]}src="{found[2]}" width="{width:.0f}" height="{height:.0f}" loading="lazy"'


def keep_still(page, found):
    """Una animación, y su primera imagen para quien ha pedido que nada se mueva."""
    with Image.open(page.parent / f"{found[1]}.gif") as picture:
        picture.convert("RGB").save(page.parent / f"{found[1]}.png")
    still = f'<source media="(prefers-reduced-motion: reduce)" srcset="{found[1]}.png">'
    return f"<picture>{still}{found[0]}</picture>"


def protect(page):
    """La página con su norma de seguridad: los programas escritos en ella, por su huella."""
    digests = (hashlib.sha256(script.encode()).digest() for script in INLINE.findall(page))
    allowed = [f"'sha256-{base64.b64encode(one).decode()}'" for one in digests]
    rules = POLICY | {"script-src": POLICY["script-src"] + allowed}
    if 'class="course-explorer"' in page or 'class="exercise"' in page:  # BERT y Python
        rules["script-src"] += ["'wasm-unsafe-eval'"]
    if 'class="exercise"' in page:  # Python, en su hilo
        rules["script-src"] += ["blob:"]
        rules["worker-src"] = ["blob:"]
    policy = "; ".join(" ".join([name, *values]) for name, values in rules.items())
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return page.replace("<head>", f"<head>\n    {meta}", 1)


# Una pieza son sus bytes, en una cadena de un programa: pesa lo mismo que ellos, y la trae igual un
# `script`, que los lee con `charset="x-user-defined"`, que un `fetch`.
ESCAPES = {b"\\": b"\\\\", b"'": b"\\'", b"\n": b"\\n", b"\r": b"\\r"}


def write_pieces(folder):
    """Escribe en piezas los modelos, Python y los cuadernos, y cuánto mide cada una. → su versión, que es su carpeta."""
    from sitio.exercises import lesson_pieces, python_pieces
    from sitio.pieces import bert_pieces, translator_pieces

    pieces = bert_pieces() | translator_pieces() | python_pieces()
    pieces |= lesson_pieces(ROOT / "notebooks")
    pieces["indice"] = json.dumps({name: len(data) for name, data in pieces.items()}).encode()
    version = hashlib.sha256(b"".join(pieces.values())).hexdigest()[:8]
    for name, data in pieces.items():
        path = folder / version / f"{name}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        for byte, escaped in ESCAPES.items():
            data = data.replace(byte, escaped)
        path.write_bytes(b"course.piece('%s', '%s');\n" % (name.encode(), data))
    return version


def serve(site):
    """Sirve el sitio solo en este ordenador y lo abre en el navegador, hasta Ctrl+C."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=site)
    handler.func.log_message = lambda *_: None
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        address = f"http://127.0.0.1:{server.server_port}/"
        print(f"El sitio está en {address} (Ctrl+C para cerrarlo).", flush=True)
        webbrowser.open(address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("\nCerrado.")


def zip_site(path, without=(), task=None):
    """Un zip del sitio, siempre igual, sin las carpetas `without`. Con una tarea, un paquete SCORM."""
    there = {file.relative_to(SITE): file for file in sorted(SITE.glob("**/*")) if file.is_file()}
    there = {name: file for name, file in there.items() if not {*without} & {*name.parts}}
    kept = {name.as_posix(): file.read_bytes() for name, file in there.items()}
    files = scorm.package(kept, task) if task else {f"{SITE.name}/{name}": kept[name] for name in kept}
    path.write_bytes(zipped(files))
    print(f"Y en {path.name}, de {path.stat().st_size / 1e6:.0f} MB.")


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="curso.py sitio", description=__doc__.partition("\n")[0])
    for name, what in {
        "--ver": "hace uno entero, con notas y soluciones, en _sitio_local; lo sirve y lo abre",
        "--zip": "deja además dos zip: con los modelos y sin ellos",
        "--con-notas": "también las notas de las clases",
        "--con-soluciones": "también las soluciones",
        "--scorm": "deja dos paquetes que dan nota en Moodle: entero y ligero",
    }.items():
        parser.add_argument(name, action="store_true", help=what)
    options, task = homework.asked(parser, arguments, "los que se piden, como 5.1; si no, todos")
    print("Hago el sitio con los cuadernos como están guardados: de veinte segundos a tres minutos.")
    own = options.ver and not (options.zip or options.scorm)
    site = LOCAL if own else SITE
    try:
        problems = make(site, task, own or options.con_notas, own or options.con_soluciones)
        if options.zip:
            zip_site(SITE.with_suffix(".zip"))
            zip_site(SITE.with_name("_sitio_sin_modelos.zip"), {"modelos"})
        if options.scorm:
            zip_site(SITE.with_name("_sitio_scorm.zip"), task=task)
            zip_site(SITE.with_name("_sitio_scorm_ligero.zip"), {"bert", "traductor"}, task)
    except OSError as error:
        told = f"No puedo escribir {site.name} en {ROOT} ({error.strerror}): copia el curso a una "
        told += "carpeta tuya y repite allí la orden."
        if error.errno == errno.ENOSPC:
            told = f"No queda sitio en el disco para {site.name}: libera unos 300 MB y repite la orden."
        raise SystemExit(told) from None
    if options.ver:
        serve(site)
    return 1 if problems else 0


def make(site, task, notes=False, solutions=False):
    """Hace el sitio en SCRATCH y lo pone en `site`. Devuelve cuántos avisos ha dado Sphinx."""
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir()
    settings = {} if notes else {"class_notes": False}
    settings |= {} if solutions else {"exclude_patterns": ["soluciones"]}
    settings |= {"homework": task} if task.said else {}
    problems = build(SCRATCH / site.name, **settings)
    if site.exists():
        shutil.rmtree(site)
    (SCRATCH / site.name).rename(site)
    shutil.rmtree(SCRATCH)
    size = sum(path.stat().st_size for path in site.glob("**/*") if path.is_file())
    print(f"Está en {site.name} y ocupa {size / 1e6:.0f} MB. Ábrelo por {site.name}/index.html.")
    if notes or solutions:
        print("Lleva las notas de las clases o las soluciones: para publicarlo sin ellas, hazlo sin opciones.")
    return problems


if __name__ == "__main__":
    sys.exit(main())
