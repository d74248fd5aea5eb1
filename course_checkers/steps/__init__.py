"""Las formas de dar cada paso que comparten varios ejercicios: la buena y las que se ven por ahí."""
