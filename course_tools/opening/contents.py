"""Los archivos que enseña JupyterLab al estudiar: lo que es del curso se abre sin poder cambiarlo."""

import asyncio

from jupyter_server.files.handlers import FilesHandler
from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

from course_tools.opening import desk

COURSE = ("notebooks", "imagenes", "course_lib", "course_checkers", "course_tools")


class CourseContents(AsyncLargeFileManager):
    """Las lecciones y sus soluciones, de solo lectura; tus copias, no."""

    # Las figuras pueden estar al otro lado de un enlace, que el de siempre no sigue desde tornado 6.5.9.
    files_handler_class = FilesHandler
    files_handler_params = {"path": "."}  # lo pide tornado; de lo demás se ocupa ``get``

    def is_writable(self, path):
        return path.strip("/").split("/")[0] not in COURSE and super().is_writable(path)

    async def get(self, path, content=True, **options):
        """Lo pedido. La raíz lleva además, en ``course``, lo que enseña el panel del curso.

        Un cuaderno dice ya qué kernel tiene: si lo añade JupyterLab, lo da por cambiado.
        """
        model = await super().get(path, content, **options)
        if not path.strip("/"):
            model["course"] = await asyncio.to_thread(desk.desk)
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
        """Guarda lo pedido; por dónde va quien estudia, donde dice ``desk``."""
        if path.strip("/") != desk.NAME:
            return await super().save(model, path)
        desk.keep(model["content"])
        root = await super().get("", content=False)
        return {**root, "name": desk.NAME, "path": desk.NAME, "type": "file"}
