"""Lo que usa quien da clase.

- ``sheets``: lo que se imprime para cada clase, con la orden «hojas».
- ``calificar``: califica una clase.
- ``hub``: el aula de un solo ordenador, con JupyterHub: abrirla, su informe, y lo que se recoge y se devuelve.
- ``cgroups``: los límites de lo que ejecuta cada estudiante del Hub, y cada entrega.
- ``costs``: la cuenta de lo que cuesta el aula en Kubernetes.
- ``publish``: la copia de cada lección que se abre en Colab, y la página con las puertas.
- ``first_cell``: la primera celda de esa copia, en la que se escribe; no se importa.
- ``colab``: lo que esa celda prepara.
"""
