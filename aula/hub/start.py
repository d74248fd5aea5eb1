"""Lo primero que se ejecuta con la cuenta de quien entra: su copia al día, y JupyterLab."""

import contextlib
import os
import socket
import sys

from tornado.httpserver import HTTPServer

from course_tools.opening import copies

log = os.path.expanduser("~/.jupyterlab.log")  # lo que dice, a un archivo suyo
with contextlib.suppress(OSError), open(log, "w") as said:
    os.dup2(said.fileno(), 1)
    os.dup2(said.fileno(), 2)

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

door = socket.socket(fileno=int(sys.argv.pop(1)))  # la que abrió el Hub, que está fuera de la jaula
HTTPServer.listen = lambda server, *_, **__: server.add_socket(door)

from jupyterhub.singleuser import main  # noqa: E402 — después de lo de arriba

sys.argv[1:1] = [f"--ServerApp.root_dir={copies.student_folder()}"]
main()
