"""Lo que torch carga sin que el curso lo use, y no hace falta que cargue.

La primera ``torch.testing.assert_close`` de un proceso importa los tensores repartidos entre varios
ordenadores, ``torch.distributed.tensor``, y con ellos ``sympy``: dos segundos y 60 MiB en cada
lección. Sin ellos compara igual. Si torch le cambia el nombre, esto deja de tener efecto y nada más.
"""

import torch.testing

torch.testing._comparison._HAS_DTENSOR = False
