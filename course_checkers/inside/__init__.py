"""Lo que acompaña al código de quien aprende allí donde se ejecuta: también en la jaula de ``aula``.

Aquí se lee, se prepara y se llama, y no se juzga nada: no hay ninguna respuesta buena, y nada de aquí
importa el resto de ``course_checkers``, que en la jaula no está.
"""
