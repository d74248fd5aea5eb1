"""El motor: buscar qué errores explican una respuesta, ejecutarla, medirla y contarlo."""
