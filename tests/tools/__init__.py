"""Lo que usa quien mantiene el curso: ejecutar los cuadernos, medir, grabar y puntuar."""
