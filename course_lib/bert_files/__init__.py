"""De dónde salen los archivos de un BERT, y cómo los lee transformers.

- ``embedded``: el modelo del curso, con la huella de cada archivo; ``python -m
  course_lib.bert_files`` lo descarga si su paquete no se puede instalar.
- ``hub``: cualquier otro, de Hugging Face.
- ``folders``: una carpeta, leída con transformers.
"""

ENVIRONMENT_VARIABLE = "CURSO_BERT"


class ModelUnavailableError(RuntimeError):
    """El modelo pedido no se puede cargar; el mensaje dice por qué y qué hacer."""
