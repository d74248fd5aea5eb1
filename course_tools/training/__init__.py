"""Cómo se entrenó el traductor del curso.

- ``train_translator``: el programa; si se corta, la misma orden sigue. Sus pasos los enseña una
  lección: están en ``course_lib.training``.
- ``sentences`` y ``tokens``: cómo cambia las frases y cómo las parte. ``checkpoints``: lo que guarda.
- ``phrase_book``: los saludos, las horas, los precios… que se le añadieron; sus palabras y sus moldes,
  en ``phrase_book.json``.
"""
