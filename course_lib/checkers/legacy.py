"""Los módulos que aún no están en su lección: nombre → lección."""

OLD = {
    "attended": "0",
    "vectors": "1",
    "masks": "4",
    "decoder": "8",
    "cross": "9",
    "next_token_loss": "10",
    "writing": "10",
    "alignment": "10",
    "decoder_passes": "10",
    "head_scores": "11",
    "silenced_head": "11",
    "looking_back": "11",
}
