"""Dibuja las figuras del curso.

python -m imagenes.draw              las vuelve a dibujar todas
python -m imagenes.draw sdpa         solo las que empiezan así
python -m imagenes.draw --comprobar  dice cuáles no coinciden con su código
"""

import sys
from functools import partial
from pathlib import Path

from imagenes import attention, blocks, layers, matrices, scenes, serving, shapes, today, writing
from imagenes.alignment import ENGLISH, SPANISH, WEIGHTS, aligned_translation
from imagenes.animations import turning_dot_product

HERE = Path(__file__).resolve().parent

TURN = (
    "u queda fijo, v gira de 0° a 180° y vuelve; al lado, la curva de u·v según el ángulo con el "
    "punto del momento: positivo antes de 90°, cero en 90° y negativo después."
)
SDPA = (
    "Bloque Scaled Dot-Product Attention, de abajo arriba: Q y K entran en MatMul, siguen "
    "Escala, Máscara (opcional) y SoftMax, y un segundo MatMul con V da la salida; cada paso "
    "lleva su forma, en la caja o junto a la flecha"
)
HEADS = (
    "Bloque Multi-Head Attention, de abajo arriba: query, key y value pasan por h proyecciones, h "
    "atenciones en paralelo, Concat y una capa lineal W_O; cada paso lleva su forma, en la caja o "
    "junto a la flecha"
)
TRANSFORMER = (
    "Arquitectura del Transformer: a la izquierda el encoder y a la derecha el decoder, cada uno "
    "con una capa que se repite N veces, con sus embeddings y posiciones abajo y la probabilidad "
    "del siguiente token arriba. La capa del encoder es multicabeza y red densa; la del decoder, "
    "multicabeza enmascarada, multicabeza encoder–decoder y red densa. Tras cada pieza, suma y "
    "normaliza, con un atajo desde su entrada. La salida del encoder entra como K y V en la "
    "multicabeza encoder–decoder"
)

# Los números de los textos alternativos salen de las tablas que se dibujan.
HUNGRY, OLD = map(dict, scenes.TWO_SENTENCES)
OTHERS = max(weight for token, weight in HUNGRY.items() if token not in ("dog", "bone"))


def looks(spanish, english):
    """El peso que una palabra española da a una inglesa."""
    return WEIGHTS[SPANISH.index(spanish)][ENGLISH.index(english)] / 100


# nombre del archivo → (función que lo dibuja, texto alternativo)
FIGURES = (
    {
        "producto-escalar-unitario.gif": (
            partial(turning_dot_product, norms=(1, 1)),
            "Animación del producto escalar de dos vectores de norma 1: " + TURN,
        ),
        "producto-escalar.svg": (
            scenes.still_dot_product,
            "Tres ángulos entre u, de norma 3, y v, de norma 2: con 30° el producto escalar es 5.2, "
            "con 90° es 0 y con 150° es −5.2; una barra marca la proyección de v sobre u.",
        ),
        "sombra.svg": (
            scenes.shadows,
            "Una query q, de norma 2, y tres keys, cada una con su sombra en la recta de q. A, larga y desviada, "
            "deja una sombra de 3: producto 6. B, corta y alineada, de 1: producto 2. C, hacia el otro lado, "
            "de −1: producto −2.",
        ),
        "relojes.svg": (
            scenes.clocks,
            "Tres agujas de reloj, en las posiciones 0 a 4: la del par 0 gira 57° por lugar; la del par 2, 18°, y la del par 4, 6°.",
        ),
        "sdpa.svg": (
            blocks.sdpa_block,
            f"{SDPA}, desde (B, L_q, d_k) hasta (B, L_q, d_v).",
        ),
        "sdpa-matmul-1.svg": (
            partial(blocks.sdpa_block, highlight="matmul-1"),
            f"{SDPA}. Señalado el primer MatMul: Q por K traspuesta da las puntuaciones (B, L_q, L_k).",
        ),
        "sdpa-escala.svg": (
            partial(blocks.sdpa_block, highlight="escala"),
            f"{SDPA}. Señalada la escala: las puntuaciones se dividen por la raíz de d_k.",
        ),
        "sdpa-mascara.svg": (
            partial(blocks.sdpa_block, highlight="mascara"),
            f"{SDPA}. Señalada la máscara opcional: pone −∞ donde no se debe atender.",
        ),
        "sdpa-softmax.svg": (
            partial(blocks.sdpa_block, highlight="softmax"),
            f"{SDPA}. Señalada la softmax: convierte cada fila de puntuaciones en pesos que suman 1.",
        ),
        "sdpa-matmul-2.svg": (
            partial(blocks.sdpa_block, highlight="matmul-2"),
            "Bloque Scaled Dot-Product Attention, con el segundo MatMul señalado: los pesos por V dan la "
            "salida (B, L_q, d_v).",
        ),
        "sdpa-formula.svg": (
            scenes.sdpa_formula,
            "Fórmula de la atención: softmax de Q por K traspuesta, partido por la raíz de d_k, y "
            "todo por V; cada pieza con su color: puntuaciones, escala, pesos y suma ponderada de "
            "values.",
        ),
        "mapa-del-curso.svg": (
            scenes.course_map,
            "Mapa del curso, de la lección 00 a la 16. Sobre la fórmula softmax(Q·Kᵀ partido por la "
            "raíz de d_k, más máscara)·V, el número de la lección que explica cada pieza: 01 el "
            "producto Q·Kᵀ, 02 las matrices Q, K y V, 03 la softmax y la raíz, 04 la máscara, 05 el "
            "producto por V y el conjunto; después, varias cabezas (06 a 08), el modelo completo (09 a 12) y "
            "la atención de hoy (13 a 16).",
        ),
        "softmax-suma-ponderada.svg": (
            scenes.weighted_sum,
            f"La salida de «it» como suma ponderada: cada token con su peso de atención (dog "
            f"{HUNGRY['dog']:.2f}, bone {HUNGRY['bone']:.2f} y los demás, {OTHERS:.2f} o menos), su "
            f"value como tira de colores y el producto de ambos; abajo, la suma de todos.",
        ),
        "it-cambia-de-idea.svg": (
            scenes.changes_its_mind,
            f"Dos gráficas de barras con los pesos de la fila «it» en la capa 3, cabeza 1: con «it was "
            f"hungry» el peso mayor va a {max(HUNGRY, key=HUNGRY.get)}, {HUNGRY['dog']:.2f}, y bone se "
            f"queda en {HUNGRY['bone']:.2f}; con «it was old» va a {max(OLD, key=OLD.get)}, "
            f"{OLD['bone']:.2f}, y dog se queda en {OLD['dog']:.2f}.",
        ),
        "camino-de-la-frase.svg": (
            scenes.sentence_path,
            "De la frase a Q, K y V: la frase se parte en tokens, cada token tiene su id, el id "
            "elige una fila de la tabla de tokens, se le suma la de su posición y sale X (BERT suma "
            "además el tipo y normaliza); tres copias de X, por W_Q, W_K y W_V, dan Q, K y V. Los "
            "vectores son tiras de colores: naranja lo negativo, morado lo positivo.",
        ),
        "multicabeza.svg": (
            blocks.multi_head_block,
            f"{HEADS}.",
        ),
        "multicabeza-proyeccion.svg": (
            partial(blocks.multi_head_block, highlight="proyeccion"),
            "Bloque Multi-Head Attention, con las proyecciones señaladas: cada cabeza lleva las d_model "
            "dimensiones a sus d_k (a d_v las de los values).",
        ),
        "multicabeza-concat.svg": (
            partial(blocks.multi_head_block, highlight="concat"),
            "Bloque Multi-Head Attention, con Concat señalado: las salidas de las h cabezas, una tras "
            "otra, dan (B, L_q, h·d_v).",
        ),
        "multicabeza-lineal.svg": (
            partial(blocks.multi_head_block, highlight="lineal"),
            "Bloque Multi-Head Attention, con la capa lineal W_O señalada: mezcla las cabezas y vuelve a "
            "d_model.",
        ),
        "transformer.svg": (
            blocks.transformer_architecture,
            f"{TRANSFORMER}. Son tres atenciones multicabeza.",
        ),
        "transformer-decoder-enmascarada.svg": (
            partial(blocks.transformer_architecture, highlight="decoder-enmascarada"),
            f"{TRANSFORMER}. Señalada la multicabeza enmascarada del decoder: ningún token ve a los "
            f"siguientes.",
        ),
        "transformer-encoder-decoder.svg": (
            partial(blocks.transformer_architecture, highlight="encoder-decoder"),
            f"{TRANSFORMER}. Señalada la multicabeza encoder–decoder: Q viene del decoder, K y V "
            f"del encoder.",
        ),
        "alineamiento.svg": (
            aligned_translation,
            f"«Le mandé una carta a mi hermano», la traducción que escribe el modelo, sobre «I sent my "
            f"brother a letter». Una línea une cada palabra con las que mira al escribirse, más gruesa "
            f"cuanto más peso: «carta» mira a «letter» con {looks('carta', 'letter'):.2f} y «hermano» "
            f"a «brother» con {looks('hermano', 'brother'):.2f}, cruzadas; «Le» y «mandé», a «sent»; "
            f"«mi», a «my»; «una» y «a» se reparten entre varias.",
        ),
    }
    | attention.figures()
    | matrices.figures()
    | writing.figures()
    | shapes.figures()
    | layers.FIGURES
    | today.FIGURES
    | serving.figures()
)


def render(name):
    """Los bytes de una figura."""
    draw, alt = FIGURES[name]
    return draw() if name.endswith(".gif") else draw(alt).as_svg().encode()


def stored(name):
    """Los bytes del archivo guardado; si es de texto, con los fines de línea de todas partes."""
    path = HERE / name
    content = path.read_bytes() if path.exists() else b""
    return content if name.endswith(".gif") else content.replace(b"\r\n", b"\n")


def alt_texts():
    """El contenido de textos_alternativos.md."""
    rows = "".join(f"\n## `{name}`\n\n{alt}\n" for name, (_, alt) in FIGURES.items())
    origin = "Lo escribe `draw.py`, a partir de su tabla `FIGURES`."
    return f"# Textos alternativos de las figuras\n\n{origin}\n{rows}".encode()


def main(arguments):
    check = "--comprobar" in arguments
    prefixes = tuple(word for word in arguments if word != "--comprobar") or ("",)
    makers = {name: partial(render, name) for name in FIGURES} | {
        "textos_alternativos.md": alt_texts
    }
    different = []
    for name, make in makers.items():
        if not name.startswith(prefixes):
            continue
        content = make()
        if stored(name) != content:
            different.append(name)
            if not check:
                (HERE / name).write_bytes(content)
    print(
        ("No coinciden: " if check else "Dibujadas de nuevo: ")
        + (", ".join(different) or "ninguna")
    )
    return int(check and bool(different))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
