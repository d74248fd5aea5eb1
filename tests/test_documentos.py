"""Lo que nombran los documentos existe: cada enlace, cada ruta, cada orden. Y tres son cortos.

Una ruta con carpeta se busca desde la raíz y desde la carpeta del documento. Un nombre suelto, en
todo el curso; si no es un archivo, algún programa tiene que escribirlo (``notas.csv``).
"""

import importlib.util
import os
import re
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest
from prose import ROOT, course_files, documents, is_made

import curso

HERE = "tests/test_documentos.py"
EXTENSIONS = "py|ipynb|md|txt|tsv|csv|json|toml|yml|yaml|html|css|js|svg|gif|png|cfg|zip|safetensors|db"
WORDS = {"README.md": 2000, "CONTRIBUTING.md": 3200, "notebooks/guia_docente.md": 1600}

# Lo que no es de este curso, y nombra quien lo cuenta: de otras bibliotecas, y tuyo.
NOT_OURS = {
    "modeling_llama.py", "modeling_mistral.py", "modeling_qwen3.py",  # de transformers
    "otras.tsv", "lo-tuyo.yaml", "spa-eng.zip", "hub.db",
}  # fmt: skip
ON_GITHUB = "../../tree/", "../../releases/"  # páginas del repositorio, que no son archivos
CODE = re.compile(r"(?P<ticks>`+)(?!`)(.+?)(?<!`)(?P=ticks)(?!`)")
FENCE = re.compile(r"^[ >]*```.*?^[ >]*```", re.DOTALL | re.MULTILINE)
PATH = re.compile(rf"[\w.*{{}}…-]+(?:/[\w.*{{}}…-]*)+|\.?[\w*…-][\w.*…-]*\.(?:{EXTENSIONS})")


# --- Lo que nombra un documento -------------------------------------------------------------------


@cache
def written():
    """Los nombres que hay en los programas: entre ellos, los de lo que escriben."""
    code = {path for path in course_files() if path.endswith((".py", ".yml"))} - {HERE}
    texts = ((ROOT / path).read_text(encoding="utf-8") for path in code)
    return {name for text in texts for name in re.findall(r"[\w-]+(?:\.\w+)+", text)}


def read(document):
    return (ROOT / document).read_text(encoding="utf-8")


@cache
def anchors(document):
    """A dónde se puede ir dentro de un documento: sus títulos, como los escribe GitHub."""
    titles = re.findall(r"^#+ (.+?) *$", FENCE.sub("", read(document)), re.MULTILINE)
    kept = (re.sub(r"[^\w\s-]", "", title.lower()) for title in titles)
    return {title.replace(" ", "-") for title in kept}


def link_faults(text, document):
    folder = Path(document).parent
    for target in re.findall(r"\]\(([^)\s]+)\)", CODE.sub("", FENCE.sub("", text))):
        path, _, anchor = unquote(target).partition("#")
        if "{" in target or re.match(r"https?:|mailto:", target) or path.startswith(ON_GITHUB):
            continue
        whole = Path(os.path.normpath(folder / path)).as_posix() if path else document
        if whole not in course_files() and not any(one.startswith(f"{whole}/") for one in course_files()):
            yield f"el enlace a {target} no lleva a nada"
        elif anchor and whole.endswith(".md") and anchor not in anchors(whole):
            yield f"{whole} no tiene ningún apartado «{anchor}»"


def exists(path, folder):
    """Si una ruta, quizá con huecos (``NN_``, ``…``, ``*``), es de algo del curso."""
    pattern = re.sub(r"…|\*+", "*", path.rstrip("/")).replace("NN_", "[0-9][0-9]_")
    if "/" not in path:
        return pattern in written() or any(fnmatch(one, pattern) for one in course_names())
    places = (pattern, f"{folder}/{pattern}")
    return any(any(ROOT.glob(place)) for place in places)


@cache
def course_names():
    return {path.rpartition("/")[2] for path in course_files()}


def path_faults(text, document):
    said = [code for _, code in CODE.findall(FENCE.sub("", text))]
    tops = {path.partition("/")[0] for path in course_files() if "/" in path}
    for fence in FENCE.findall(text):  # en un bloque, lo que empieza por una carpeta del curso
        said += [word for word in fence.split() if word.partition("/")[0] in tops and "/" in word]
    for code in said:
        skip = is_made(code) or is_name(code) or code in NOT_OURS
        if PATH.fullmatch(code) and not skip and not exists(code, Path(document).parent.as_posix()):
            yield f"no existe {code}"


def is_name(code):
    """Un modelo de Hugging Face, «QUIEN/MODELO», o una cuenta como «h/d»."""
    return bool(re.fullmatch(r"[A-Z]\w+/[A-Z][\w.-]+|\w/\w", code))


def order_faults(text, document):
    for order in re.findall(r"python3? curso\.py (\w+)", text):
        if order not in ("abrir", "reponer", *curso.COMMANDS):
            yield f"no hay ninguna orden «curso.py {order}»"
    for module in re.findall(r"python3? -m ([\w.]+)", text):
        try:
            found = importlib.util.find_spec(module.rstrip("."))
        except ModuleNotFoundError:
            found = None
        if not found:
            yield f"no hay ningún módulo {module}"
    for program in re.findall(r"python3? (?!curso\.py)([\w./]+\.py)\b", text):
        if program not in course_files():
            yield f"no hay ningún programa {program}"


def faults(text, document):
    return [*link_faults(text, document), *path_faults(text, document), *order_faults(text, document)]


@pytest.mark.parametrize("document", documents())
def test_what_a_document_names_exists(document):
    assert faults(read(document), document) == []


@pytest.mark.parametrize(("document", "most"), WORDS.items())
def test_a_page_is_short(document, most):
    assert len(read(document).split()) <= most
