"""Preguntas que se le hacen a un modelo entrenado: las frases, como datos; los efectos, con controles.

- ``sentences`` y ``words``: frases para un BERT, y lo que se mide en las palabras de cada una.
- ``translator``: al traductor, adónde mira y a qué nombre atribuye *it*.
- ``heads``: a cualquiera, qué pasa si por un sitio pasa otra cosa, o sin una cabeza.
"""

from course_lib.probes.heads import changed_heads, hooked, without_heads
from course_lib.probes.sentences import PROBES, Pair, Probes, load_probes
from course_lib.probes.translator import (
    Aligned, Gendered, aligned_pairs, alignment_accuracy, alignment_hits, chosen_gender,
    gender_controls, gender_pairs,
)  # fmt: skip
from course_lib.probes.words import (
    attention_between, find_word, place_and_content, read_versions, word_vectors,
)  # fmt: skip

__all__ = [
    "PROBES", "Aligned", "Gendered", "Pair", "Probes", "aligned_pairs", "alignment_accuracy",
    "alignment_hits", "attention_between", "changed_heads", "chosen_gender", "find_word",
    "gender_controls", "gender_pairs", "hooked", "load_probes", "place_and_content",
    "read_versions", "without_heads", "word_vectors",
]  # fmt: skip
