"""Comprobaciones de los ejercicios: dicen qué has hecho mal, no solo que está mal.

Cada ``check_*`` recibe tu función (o tu clase), la ejecuta con entradas pensadas para distinguir
unos errores de otros y devuelve un ``Report``: ``.ok`` y, si algo falla, ``.findings``.

De abajo arriba, en cuatro cuartos:

- ``inside``: lo que acompaña al código de quien aprende, también en la jaula, sin ninguna respuesta.
- ``engine``: el motor: ejecuta la respuesta, la compara y busca qué errores explican lo que da.
- ``steps``: los pasos de la atención, con los errores que se cometen en cada uno.
- ``lessons``: un archivo por ejercicio, y otro con las preguntas de cada lección.
"""

import re
from importlib import import_module

from course_lib import lazy

# Nombre público → módulo. Se importa al usarlo.
_MODULE_OF = {
    "check_attended_token": "lessons.l00_1_attended",
    "check_dot_product": "lessons.l01_1_dot_product",
    "check_cosine_similarity": "lessons.l01_2_cosine",
    "check_positional_encoding": "lessons.l02_1_positions",
    "check_encoder_input": "lessons.l02_2_encoder_input",
    "check_projections": "lessons.l02_4_projections",
    "check_softmax": "lessons.l03_1_softmax",
    "check_scaling": "lessons.l03_2_scaling",
    "check_causal_mask": "lessons.l04_1_causal_mask",
    "check_padding_mask": "lessons.l04_2_padding_mask",
    "check_decoder_mask": "lessons.l04_3_decoder_mask",
    "check_scaled_dot_product_attention": "lessons.l05_1_attention",
    "check_split_heads": "lessons.l06_1_split_heads",
    "check_multi_head_attention": "lessons.l06_2_multi_head",
    "check_einsum": "lessons.l07_1_einsum",
    "check_attention_by_hand": "lessons.l07_2_by_hand",
    "check_shift_right": "lessons.l08_1_shift_right",
    "check_masked_self_attention": "lessons.l08_2_masked_self_attention",
    "check_cross_attention": "lessons.l09_1_cross_attention",
    "check_add_and_norm": "lessons.l09_2_add_and_norm",
    "check_next_token_loss": "lessons.l10_1_loss",
    "check_greedy": "lessons.l10_2_writing",
    "check_alignment": "lessons.l11_1_alignment",
    "check_previous_token_score": "lessons.l12_1_previous_token",
    "check_swapped_head": "lessons.l12_2_swapped_head",
    "check_online_softmax": "lessons.l13_1_online_softmax",
    "check_cached_attention": "lessons.l13_2_cache",
    "check_grouped_query_attention": "lessons.l13_3_grouped",
    "check_rotary": "lessons.l14_1_rotary",
    "check_rms_norm": "lessons.l14_2_rms_norm",
    "check_sampling": "lessons.l14_3_sampling",
    "read_llama": "lessons.l14_labels",
    "check_induction_score": "lessons.l15_1_induction",
    "check_logit_lens": "lessons.l15_2_logit_lens",
    "check_patching": "lessons.l15_3_patching",
    "check_answer": "engine.questions",
    "your_line": "engine.lines",
    "Questions": "engine.asking",
    "Prediction": "engine.prediction",
    "reveal": "engine.prediction",
    "my_pieces": "engine.mine",
    "show_progress": "engine.progress",
    "forget_progress": "engine.progress",
    "without_progress": "engine.closing",
}

__all__ = list(_MODULE_OF)
_find, __dir__ = lazy(__name__, _MODULE_OF)


def __getattr__(name):
    """De un ejercicio, la comprobación que hace de su clase el catálogo; lo demás, con su nombre en su módulo."""
    where = _MODULE_OF.get(name, "")
    if not re.match(r"lessons\.l\d+_\d", where):
        return _find(name)
    from course_checkers.engine.catalog import exercises

    [check] = exercises(import_module(f"{__name__}.{where}"))
    return check
