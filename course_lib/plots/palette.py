"""Los colores y la letra del curso: una sola familia para figuras y gráficas.

Los tonos son los de Okabe e Ito, que se distinguen con cualquier tipo de
daltonismo (Okabe y Ito, «Color Universal Design», 2008). Cada papel de la
atención tiene siempre el mismo color.
"""

BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
ORANGE = "#E69F00"
SKY = "#56B4E9"
PURPLE = "#CC79A7"
YELLOW = "#F0E442"

INK = "#1F2933"  # texto y líneas
GREY = "#6B7785"  # lo secundario
MIST = "#E8ECF0"  # fondos de bloque y rejillas
PAPER = "#FFFFFF"  # fondo: opaco, para que se lea también en una página oscura

QUERY = BLUE  # las queries, Q
KEY = VERMILION  # las keys, K
VALUE = GREEN  # los values, V

CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)

FONT = "DejaVu Sans"  # viene con matplotlib: igual en todas las máquinas

SEQUENTIAL = "Blues"  # pesos: de 0 a 1
DIVERGING = "PuOr"  # puntuaciones: negativas y positivas
