"""La cuenta de ``aula/COSTES.md``, de lo medido en un ordenador. Escribe la tabla al ejecutarlo."""

from math import ceil

# Medido con un estudiante solo, que no comparte nada; cómo, en COSTES.md.
ALONE_MIB = 728  # JupyterLab y el kernel con la lección que más ocupa, la 12, entera (PSS)
LESSON_CPU_S = 11.5  # segundos de procesador: abrirlos y ejecutar la 05 entera

# Elegido: lo que se reserva para cada uno (en values.yaml) y los nodos que se alquilan.
RESERVED_MIB, RESERVED_CORES = 768, 0.1
NODE_CORES, NODE_GIB = 16, 64
USABLE = 0.9  # de la memoria de un nodo; lo demás, para el sistema
PODS = 100  # de los 110 que admite un nodo de Kubernetes si no se cambia; lo demás, para el sistema


def count(students):
    """Los nodos de ``students`` a la vez, y en cuánto acaba el último si todos ejecutan a la vez."""
    fit = min(PODS, int(NODE_GIB * 1024 * USABLE / RESERVED_MIB), int(NODE_CORES / RESERVED_CORES))
    nodes = ceil(students / fit)
    return nodes, students * LESSON_CPU_S / (nodes * NODE_CORES)


def table():
    """La tabla, en Markdown."""
    yield "| a la vez | nodos | núcleos | GiB | el último acaba la 05 en |\n|---|---|---|---|---|"
    for students in (40, 400, 4000):
        nodes, seconds = count(students)
        cores, memory = nodes * NODE_CORES, nodes * NODE_GIB
        yield f"| {students} | {nodes} | {cores} | {memory} | {seconds:.0f} s |"


if __name__ == "__main__":
    print(*table(), sep="\n")
