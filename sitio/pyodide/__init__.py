"""Pyodide, que es Python para el navegador, y NumPy para él, tal como se publican.

- ``vendor``: los trae otra vez, y comprueba su huella.
"""
