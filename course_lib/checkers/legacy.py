"""Los módulos que aún no están en su lección: nombre → lección."""

OLD = {
    "positions": "2",
    "scaling": "3",
    "masks": "4",
    "softmax": "5",
    "decoder": "8",
    "cross": "9",
    "writing": "10",
    "decoder_passes": "10",
    "silenced_head": "11",
    "looking_back": "11",
}
