"""Pone los modelos que miran y escuchan: «python curso.py abrir --ver-y-oir»."""
