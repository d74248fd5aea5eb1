"""Los módulos que aún no están en su lección: nombre → lección."""

OLD = {
    "attended": "0",
    "vectors": "1",
    "positions": "2",
    "scaling": "3",
    "softmax": "5",
    "next_token_loss": "10",
    "alignment": "10",
    "head_scores": "11",
}
