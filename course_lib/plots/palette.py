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
# noche. Ninguna los escribe otra vez: se los pone delante `sheet`.
DAY = {"q": QUERY, "k": KEY, "v": VALUE, "mute": GREY, "ink": INK, "mist": MIST, "bar": BLUE}
DAY |= {"ring": "#B35900", "soft": "#5B6773", "box": "#F4F6F8", "line": "#D5DBE1", "paper": PAPER}
DAY |= {"rule": "#B8C1CA", "good": "#00795A", "bad": "#B34700", "site": "#0B5A8F"}
NIGHT = {"q": SKY, "k": "#F0853F", "v": "#2CC79B", "mute": "#9AA5B1", "ink": "#E6EBF0", "bar": SKY}
NIGHT |= {"ring": ORANGE, "soft": "#A3AFBB", "box": "#1E252D", "line": "#39434D"}
NIGHT |= {"paper": "#14191F", "rule": "#55616D", "good": NIGHT["v"], "bad": NIGHT["k"]}
NIGHT |= {"mist": "#28313B", "site": "#7CC4EE"}

# Las letras, el ancho del texto, el de lo que se mira, y lo que se redondea.
FORM = {"head": "'Source Serif 4', Georgia, serif"}
FORM |= {"text": "system-ui, sans-serif"}
FORM |= {"measure": "39rem", "wide": "68rem", "round": "0.4rem"}


def sheet(path, names=(*DAY, *FORM), day=":root", night=None):
    """La hoja de estilo de ``path`` con sus valores delante: los de ``names``, de día y, con ``night``, de noche."""
    text = path.read_text(encoding="utf-8")
    for where, look in [*([(night, NIGHT)] if night else []), (day, DAY | FORM)]:
        values = "".join(f"  --{name}: {look[name]};\n" for name in names if name in look)
        text = f"{where} {{\n{values}{'}' * (1 + where.count('{'))}\n{text}"
    return text


SEQUENTIAL = "Blues"  # pesos: de 0 a 1
DIVERGING = "PuOr"  # puntuaciones: negativas y positivas
