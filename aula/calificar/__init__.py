"""Califica una clase, cada cuaderno en su jaula: ``python curso.py calificar``."""
