"""Un ejercicio por archivo, con su número: ``l05_1_…`` es el 5.1. Las frases, en ``l05.txt``."""
