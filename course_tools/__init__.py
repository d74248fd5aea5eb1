"""Lo que abre el curso y lo que entrena sus modelos: nada de esto lo enseña una lección.

- ``opening``: lo que abre el curso a quien estudia: su copia de las lecciones y JupyterLab.
- ``cells``: qué es cada celda de una lección, como lo dicen sus etiquetas.
- ``alike``: qué respuestas se parecen más de lo que da el azar.
- ``bare``: lo que se quita a una respuesta para compararla: nombres, espacios, comentarios y orden.
- ``code``: qué crea, qué cambia y qué necesita el código de una celda, como lo lee Jupyter.
- ``outside``: una instrucción de una celda, escrita para que valga fuera de su cuaderno.
- ``listing``: código ajeno, con sus instrucciones numeradas, cuáles se ejecutan y sus etiquetas.
- ``grammar``: el juguete que se entrena en un minuto, una gramática de dos lenguas.
- ``foreign``: lo que escriben otros programas: nombres, zips y cuadernos.
- ``homework``: la tarea, qué se pide, cuánto vale y hasta cuándo.
- ``notebook``: las celdas de un cuaderno y, si en él falta un nombre, la que lo crea.
- ``renewed``: una celda de antes, con los nombres de ahora.
- ``download_models``: la orden que deja listos BERT y SmolLM2, o los descarga si su paquete falta.
- ``record_learning``: la orden que graba los entrenamientos que enseña un explorador.
- ``write_smollm``: cómo se escribe SmolLM2 para que se lea sin copiarlo.
- ``senses``: los modelos que miran y escuchan, puestos con una orden.
- ``training``: el programa que entrenó el traductor.
"""
