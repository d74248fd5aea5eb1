"""El ejemplo pequeño: tres palabras y números enteros, para hacer la atención a mano.

Es el mismo en todo el curso. Lo que sale hasta las puntuaciones son enteros. Lo que viene después
se puede hacer con dos decimales, y también entonces cada número es el de la biblioteca.

Dos de los cuatro números de X son de una sola palabra: el segundo, de «hungry»; el cuarto, de
«dog». Así se ve qué ha recibido cada una: lo que la cabeza 0 escribe en el cuarto viene solo de
«dog». En un modelo de verdad ninguno tiene nombre.

- Cabeza 0: «hungry» mira a «dog», y «dog», a «hungry».
- Cabeza 1: cada una de las dos se mira, sobre todo, a sí misma.

Los pesos se han buscado para que esto pase. No los ha aprendido nadie.
"""

import torch

from course_lib.attention import MultiHeadAttention

TOKENS = ["the", "hungry", "dog"]  # L = 3
HEADS = 2  # h; d_model = 4 y d_k = d_v = 2

X = torch.tensor([  # (L, d_model): una fila por palabra
    [1.0, 0, 1, 0],
    [1, 1, 0, 0],
    [0, 0, 1, 1],
])  # fmt: skip

# (d_model, h·d_k): las dos primeras columnas son de la cabeza 0; las otras dos, de la 1.
W_Q = torch.tensor([
    [0.0, -1, 0, 1],
    [1, 0, -1, 0],
    [-1, 1, 1, 0],
    [0, 0, 0, 0],
])  # fmt: skip
W_K = torch.tensor([
    [0.0, 0, 0, 0],
    [0, 2, 0, 2],
    [-1, 0, 1, 0],
    [2, 0, 2, 0],
])  # fmt: skip
W_V = torch.tensor([
    [0.0, 0, 0, 1],
    [0, 1, 0, -1],
    [0, 0, 1, 0],
    [1, 0, 0, 0],
])  # fmt: skip
W_O = torch.tensor([  # (h·d_v, d_model): las dos primeras filas leen la cabeza 0
    [0.0, 0, 0, 1],
    [0, 1, 1, 0],
    [0, 1, 0, 0],
    [1, 0, 0, 0],
])  # fmt: skip

# La atención cruzada: el decoder ha escrito «el» y va a escribir «perro». Las matrices son las
# mismas, para no calcular otra vez K y V; en un Transformer cada atención tiene las suyas.
TARGET_TOKENS = ["<s>", "el"]  # m_D = 2
X_D = torch.tensor([  # (m_D, d_model)
    [2.0, 0, 1, 0],
    [0, 1, 0, 0],
])  # fmt: skip


def example_attention():
    """La multicabeza de la biblioteca con las matrices del ejemplo, sin sesgos.

    ``nn.Linear`` guarda sus pesos traspuestos: calcula x·Wᵀ, y aquí se escribe X·W.

    Returns:
        Un ``MultiHeadAttention`` de 2 cabezas y d_model = 4. Recibe ``X[None]``: ``(1, 3, 4)``.
    """
    attention = MultiHeadAttention(HEADS, X.shape[-1], bias=False)
    matrices = {"query": W_Q, "key": W_K, "value": W_V, "output": W_O}
    attention.load_state_dict({f"{name}_projection.weight": W.T for name, W in matrices.items()})
    return attention.eval()
