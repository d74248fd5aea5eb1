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


def series(i, looks):
    """El color de la serie i y cuál de sus cuatro trazos o tramas: en 24, ninguna pareja se repite."""
    return CYCLE[i % 6], looks[(i + i // 12) % 4]


FONT = "DejaVu Sans"  # viene con matplotlib: igual en todas las máquinas

# Los mismos, y los que solo usan las hojas de estilo, con el nombre que tienen en ellas: de día y de
# noche. Un CSS no importa: los escribe otra vez, y test_plots dice en qué línea uno no es el de aquí.
DAY = {"q": QUERY, "k": KEY, "v": VALUE, "mute": GREY, "ink": INK, "mist": MIST, "bar": BLUE}
DAY |= {"ring": "#B35900", "soft": "#5B6773", "box": "#F4F6F8", "line": "#D5DBE1", "paper": PAPER}
DAY |= {"rule": "#B8C1CA", "good": "#00795A", "bad": "#B34700", "site": "#0B5A8F"}
NIGHT = {"q": SKY, "k": "#F0853F", "v": "#2CC79B", "mute": "#9AA5B1", "ink": "#E6EBF0", "bar": SKY}
NIGHT |= {"ring": ORANGE, "soft": "#A3AFBB", "box": "#1E252D", "line": "#39434D"}
NIGHT |= {"paper": "#14191F", "good": NIGHT["v"], "bad": NIGHT["k"]}

SEQUENTIAL = "Blues"  # pesos: de 0 a 1
DIVERGING = "PuOr"  # puntuaciones: negativas y positivas
