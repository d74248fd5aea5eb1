"""Los archivos que enseña JupyterLab al estudiar: lo que es del curso se abre sin poder cambiarlo."""

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

COURSE = ("notebooks", "imagenes", "course_lib")


class CourseContents(AsyncLargeFileManager):
    """Las lecciones y sus soluciones, de solo lectura; tus copias, no."""

    def is_writable(self, path):
        return path.strip("/").split("/")[0] not in COURSE and super().is_writable(path)
