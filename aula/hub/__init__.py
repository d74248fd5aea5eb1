"""El aula de un solo ordenador, con JupyterHub: ``python curso.py aula``."""
