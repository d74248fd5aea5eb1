"""Los archivos que enseña JupyterLab: al estudiar, lo que es del curso no se cambia; al editar, solo a mano."""

import asyncio
import json

from jupyter_server.files.handlers import FilesHandler
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError

from course_tools import homework
from course_tools.cells import FOLDED, tagged
from course_tools.foreign import Unreadable
from course_tools.opening import copies, desk

DECKS = "notebooks/clases/"
COURSE = ("notebooks", "imagenes", "course_lib", "course_checkers", "course_tools")

# Lo que en un cuaderno pone JupyterLab por su cuenta, y «curso.py cuadernos» otra vez.
UNWRITTEN = "outputs", "execution_count", "kernelspec", "language_info", "widgets", "trusted", FOLDED


def _of_course(path):
    return path.strip("/").split("/")[0] in COURSE


def by_hand(part):
    """De un cuaderno, o de algo suyo, lo que se escribe a mano."""
    if isinstance(part, list):
        return [by_hand(one) for one in part]
    if isinstance(part, dict):
        return {key: by_hand(one) for key, one in part.items() if key not in UNWRITTEN}
    return part


def say_homework(name, cells):
    """Pone en una clase lo que pide ``tarea.toml``, si está al lado de los cuadernos; o qué no se entiende de él."""
    path = copies.student_folder() / copies.FOLDER / "tarea.toml"
    try:
        if path.is_file():
            homework.read(path, homework.known()).put(cells, name[:2])
    except (Unreadable, OSError) as problem:
        for cell in (cell for cell in cells if tagged(cell, "salida")):
            cell["source"] += f"\n\n**Para casa:** no ha podido ser. {problem}"


class Contents(AsyncLargeFileManager):
    """Lo que trae guardado un cuaderno del curso es del curso: sus exploradores se ven sin ejecutarlo."""

    def mark_trusted_cells(self, nb, path=""):
        if _of_course(path) and ".." not in path:
            self.notary.mark_cells(nb, True)
        else:
            super().mark_trusted_cells(nb, path)


class EditedContents(Contents):
    """El curso, para cambiarlo: abrir un cuaderno, ejecutarlo o presentarlo no escribe en él."""

    async def save(self, model, path=""):
        if model.get("type") == "notebook" and _of_course(path) and await self.file_exists(path):
            found = await self.get(path)
            if by_hand(found["content"]) == by_hand(model.get("content")):
                return await self.get(path, content=False)
        return await super().save(model, path)


class CourseContents(Contents):
    """Las lecciones y sus soluciones, de solo lectura; tus copias, no."""

    # Las figuras pueden estar al otro lado de un enlace, que el de siempre no sigue desde tornado 6.5.9.
    files_handler_class = FilesHandler
    files_handler_params = {"path": "."}  # lo pide tornado; de lo demás se ocupa ``get``

    _saving = asyncio.Lock()  # dos páginas, de una en una
    unsaved = None  # qué cuadernos ha dicho cada página que no ha guardado aún, al ir a cerrar

    def is_writable(self, path):
        return not _of_course(path) and super().is_writable(path)

    async def get(self, path, content=True, **options):
        """Lo pedido. La raíz lleva además, en ``course``, lo que enseña el panel del curso.

        Un cuaderno dice ya qué kernel tiene: si lo añade JupyterLab, lo da por cambiado.
        """
        if path.strip("/") == desk.CLOSING:
            return {**await self._note(desk.CLOSING), "unsaved": self.unsaved or {}}
        model = await super().get(path, content, **options)
        if not path.strip("/"):
            model["course"] = await asyncio.to_thread(desk.desk)
        if content and path.strip("/").startswith(DECKS) and model["type"] == "notebook":
            await asyncio.to_thread(say_homework, model["name"], model["content"]["cells"])
        if content and model["type"] == "notebook":
            from ipykernel.ipkernel import IPythonKernel  # tarda: al arrancar no hace falta

            spec = self.parent.kernel_spec_manager.get_kernel_spec("python3")
            model["content"]["metadata"].update(
                kernelspec={
                    "display_name": spec.display_name,
                    "language": spec.language,
                    "name": "python3",
                },
                language_info=IPythonKernel.language_info,
            )
        return model

    async def save(self, model, path=""):
        """Guarda lo pedido; por dónde va quien estudia y lo que falta por guardar, como dice ``desk``."""
        name = path.strip("/")
        if name == desk.NAME:
            desk.keep(model["content"])
        elif name == desk.CLOSING:
            said = json.loads(model["content"])
            self.unsaved = {**(self.unsaved or {}), said["who"]: said["unsaved"]}
        else:
            return await self._write(model, path)
        return await self._note(name)

    async def _write(self, model, path):
        """Guarda lo que parte de lo que hay en el disco, que la página dice con su huella, ``hash``.

        Raises:
            HTTPError: si es del curso, o si entre tanto lo ha cambiado otra página.
        """
        if _of_course(path):
            raise HTTPError(403, f"{path} es del curso, y aquí no se cambia")
        base = model.pop("hash", None)
        async with self._saving:
            if base and await self.file_exists(path):
                found = await super().get(path, content=False, require_hash=True)
                if found["hash"] != base:
                    raise HTTPError(409, f"{path} ha cambiado en el disco")
            return await super().save(model, path)

    async def _note(self, name):
        """Lo que se contesta de un archivo que no lo es."""
        root = await super().get("", content=False)
        return {**root, "name": name, "path": name, "type": "file"}
