"""Lo primero que se ejecuta con la cuenta de quien entra: su copia al día, y JupyterLab."""

import os
import sys

from course_tools.opening import copies

try:
    told, written = copies.update()
except (OSError, copies.CopiesError) as error:  # el disco lleno: se abre lo que hay
    told, written = [f"No se han podido poner al día las lecciones: {error}"], []
print(*told, sep="\n", flush=True)

# De aquí en adelante, lo que carga cada servidor, cuarenta veces: esta biblioteca solo comprueba
# direcciones IRI, que aquí no hay, y tarda más de un segundo en cargarse.
sys.modules["rfc3987_syntax"] = None

if written:  # firmados: JupyterLab muestra los exploradores sin volver a ejecutarlos
    import nbformat
    from nbformat.sign import NotebookNotary

    os.makedirs(os.path.expanduser("~/.local/share/jupyter"), mode=0o700, exist_ok=True)
    notary = NotebookNotary()
    for path in written:
        notary.sign(nbformat.reads(path.read_text(encoding="utf-8"), 4))

from jupyterhub.singleuser import main  # noqa: E402 — después de lo de arriba

sys.argv[1:1] = [f"--ServerApp.root_dir={copies.student_folder()}"]
main()
