"""Los módulos que aún no están en su lección: nombre → lección."""

OLD = {
    "positions": "2",
    "scaling": "3",
    "softmax": "5",
}
