"""Las figuras del curso y el código que las dibuja: ``python -m imagenes.draw``.

- ``draw``: la orden, la lista de las figuras y sus textos alternativos.
- ``scenes``: el producto escalar, la fórmula, el mapa, la suma ponderada, el camino de la frase.
- ``animations``: dos vectores que giran.
- ``blocks``: los bloques de la arquitectura, con el que se señala.
- ``attention``: la atención entera, para una palabra que pregunta.
- ``layers``: las capas del encoder y del decoder, por dentro.
- ``example``: los números del ejemplo pequeño, paso a paso.
- ``matrices``: ese ejemplo, dibujado.
- ``writing``: lo que escribe en él una cabeza: un desplazamiento y un mapa.
- ``alignment``: una traducción, y a qué mira cada palabra al escribirse.
- ``today``: la atención de hoy.
- ``serving``: el lote continuo, y la máscara que comprueba lo propuesto.
- ``shapes``: el viaje de las formas por la multicabeza, y un ``einsum`` con sus letras.
- ``strokes``: los trazos que comparten todas.

Lo que no sale de aquí: ``insignias`` se hace a mano; ``muestras`` es de otros, y dice de quién; ``capturas`` y ``exploradores``, con
``tests/tools/record_explorers.py`` y ``tests/tools/explorer_pictures.py``.
"""
