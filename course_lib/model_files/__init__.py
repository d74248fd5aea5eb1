"""Los archivos de un modelo: de dónde salen y cómo se leen; si no se puede, ``ModelUnavailableError``.

De la clase que se le diga:

- ``hub``: los de Hugging Face.
- ``folders``: los de una carpeta, leídos con transformers.

Y solo de BERT:

- ``embedded``: el modelo del curso, con la huella de cada archivo.
- ``sentences``: de las frases a los ids.
- ``weights``: cómo se llama cada peso en el encoder del curso.

Y solo de SmolLM2, ``smollm``: dónde está el LLM del curso. De los que miran y escuchan, ``senses``.
"""

from typing import NamedTuple


class Kind(NamedTuple):
    """Una clase de modelo. La dice quien la carga: ``course_lib.bert`` y ``course_lib.llama``."""

    model_type: str  # como la llama su configuración
    class_name: str  # la clase de transformers que lo lee
    examples: tuple  # algunos que se pueden pedir
    otherwise: str  # qué hacer si no se puede obtener


class ModelUnavailableError(RuntimeError):
    """El modelo pedido no se puede cargar; el mensaje dice por qué y qué hacer."""
