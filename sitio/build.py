"""Hace el sitio web del curso en la carpeta _sitio, con lo que los cuadernos tienen guardado.

Es la orden «python curso.py sitio». Con «--ver», lo sirve y lo abre; con «--zip», deja además un
zip de la carpeta. No ejecuta los cuadernos ni usa la red.
"""

import argparse
import base64
import functools
import hashlib
import http.server
import json
import re
import shutil
import sys
import webbrowser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SITE = ROOT / "_sitio"
SCRATCH = ROOT / "_sitio.nuevo"  # se hace aquí; si algo falla, el de antes sigue entero
UNUSED = (  # lo que dejan Sphinx y el tema, y ninguna página usa
    "_sources", ".doctrees", ".buildinfo", "objects.inv", "_static/locales",
    "_static/scripts/*.map", "_static/scripts/fontawesome.js*", "_static/vendor", "_static/*-macros.html",
)  # fmt: skip
INLINE = re.compile(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)[^>]*>(.*?)</script>", re.S)
# Lo que del tema y de Sphinx no hace falta: un programa y unas letras de iconos, y uno que hace programas.
ICONS = re.compile(r"<script[^>]*scripts/fontawesome\.js[^>]*></script>")
LETTERS = re.compile(r"@font-face\{[^}]*vendor/fontawesome[^}]*\}")
PLURAL = re.compile(r"Documentation\.PLURAL_EXPR = new Function\(.*?\);", re.S)
NOT_FOUND = re.compile(r'Su b\\u00fasqueda no coincide[^"]*')
SUMMARY = re.compile("SHOW_SEARCH_SUMMARY: true")  # en una carpeta no se puede leer otra página
NAMES = {  # lo que el tema y sus amigos no dicen en español, y oye quien usa un lector de pantalla
    ' aria-label="Toggle hidden content"': "",  # tapa el nombre que se ve
    'title="Link to this heading"': 'title="Enlace a este título"',
    'title="Toggle primary sidebar"': 'title="Índice del curso" aria-label="Índice del curso"',
    'title="Toggle secondary sidebar"': 'title="En esta página" aria-label="En esta página"',
    'aria-label="Main"': 'aria-label="Índice del curso"',
    'aria-label="Page"': 'aria-label="En esta página"',
    '<summary><span class="toctree': '<summary aria-label="Ver sus páginas"><span class="toctree',
    '<div class="sidebar-primary-items__start sidebar-primary__section">': (
        '<div class="sidebar-primary-items__start sidebar-primary__section" role="region" '
        'aria-label="El curso">'
    ),
    '<th class="head"><p></p></th>': "<td></td>",  # la esquina de una tabla no nombra nada
}
POLICY = {  # nada de fuera; un explorador nace de un «blob:», que es como llega de su cuaderno
    "default-src": ["'none'"],
    "script-src": ["'self'", "blob:"],
    "style-src": ["'self'", "'unsafe-inline'"],
    "img-src": ["'self'", "data:"],
    "font-src": ["'self'"],
    "connect-src": ["'self'"],
    "form-action": ["'self'"],
    "base-uri": ["'none'"],
}


def build(site, **settings):
    """Hace el sitio en la carpeta `site`. Devuelve cuántos avisos ha dado Sphinx.

    `settings` cambia los ajustes de conf.py. Al lado de `site` queda «jupyter_execute», que no es de él.
    """
    from sphinx.application import Sphinx

    app = Sphinx(
        ROOT / "notebooks", ROOT / "sitio", site, site / ".doctrees", "html", settings, status=None,
        warning=sys.stderr, freshenv=True,
    )  # fmt: skip
    app.build()
    for path in {path for pattern in UNUSED for path in site.glob(pattern)}:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    replace(site / "_static/styles/pydata-sphinx-theme.css", LETTERS, "")
    replace(site / "_static/doctools.js", PLURAL, "Documentation.PLURAL_EXPR = n => +(n !== 1);")
    replace(
        site / "_static/translations.js", NOT_FOUND, "Ninguna página tiene todas esas palabras."
    )
    replace(
        site / "_static/documentation_options.js",
        SUMMARY,
        r"\g<0> && location.protocol !== 'file:'",
    )
    for page in site.glob("**/*.html"):
        replace(page, ICONS, "")
        text = page.read_text(encoding="utf-8")
        for theirs, ours in NAMES.items():
            text = text.replace(theirs, ours)
        page.write_text(protect(text), encoding="utf-8")
    write_pieces(site / "modelos")
    return app._warncount


def replace(path, pattern, text):
    """Cambia en un archivo lo que dice `pattern`, que tiene que estar."""
    changed, found = pattern.subn(text, path.read_text(encoding="utf-8"))
    if not found:
        raise SystemExit(f"{path.name} ya no tiene {pattern.pattern}: revisa sitio/build.py.")
    path.write_text(changed, encoding="utf-8")


def protect(page):
    """La página con su norma de seguridad: los programas escritos en ella, por su huella."""
    digests = (hashlib.sha256(script.encode()).digest() for script in INLINE.findall(page))
    allowed = [f"'sha256-{base64.b64encode(one).decode()}'" for one in digests]
    rules = POLICY | {"script-src": POLICY["script-src"] + allowed}
    policy = "; ".join(" ".join([name, *values]) for name, values in rules.items())
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    return page.replace("<head>", f"<head>\n    {meta}", 1)


def write_pieces(folder):
    """Escribe los modelos en piezas que una página trae como programas, y cuánto mide cada una."""
    from sitio.pieces import bert_pieces, translator_pieces

    pieces = bert_pieces() | translator_pieces()
    pieces["indice"] = json.dumps({name: len(data) for name, data in pieces.items()}).encode()
    for name, data in pieces.items():
        path = folder / f"{name}.js"
        path.parent.mkdir(parents=True, exist_ok=True)
        code = base64.b64encode(data).decode()
        path.write_text(f'course.piece("{name}", "{code}");\n', encoding="ascii")


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


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="curso.py sitio", description=__doc__.partition("\n")[0])
    parser.add_argument("--ver", action="store_true", help="al acabar, lo sirve y lo abre")
    parser.add_argument("--zip", action="store_true", help="deja además _sitio.zip")
    options = parser.parse_args(arguments)
    shutil.rmtree(SCRATCH, ignore_errors=True)
    print("Hago el sitio con los cuadernos como están guardados. Suele tardar medio minuto.")
    problems = build(SCRATCH / SITE.name)
    shutil.rmtree(SITE, ignore_errors=True)
    (SCRATCH / SITE.name).rename(SITE)
    shutil.rmtree(SCRATCH)
    size = sum(path.stat().st_size for path in SITE.glob("**/*") if path.is_file())
    print(f"Está en {SITE.name} y ocupa {size / 1e6:.0f} MB. Ábrelo por {SITE.name}/index.html.")
    if options.zip:
        print("Y en", Path(shutil.make_archive(SITE, "zip", ROOT, SITE.name)).name)
    if options.ver:
        serve(SITE)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
