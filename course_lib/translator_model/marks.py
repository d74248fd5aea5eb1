"""Las marcas: los tokens que no son palabras, y sus ids, en los dos vocabularios del curso."""

# El del traductor. El id de una marca es su lugar.
PAD_TOKEN, UNKNOWN_TOKEN, BOS_TOKEN, EOS_TOKEN = MARKS = ("<pad>", "<unk>", "<s>", "</s>")
PAD, UNKNOWN, BOS, EOS = range(4)  # relleno, desconocido, inicio y fin

# El del juguete de la lección 10. El relleno es el mismo, y así vale el mismo entrenamiento.
TOY_MARKS = ("<relleno>", "<inicio>", "<fin>")
TOY_BOS, TOY_EOS = 1, 2
