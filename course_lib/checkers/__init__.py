"""Comprobaciones de los ejercicios: dicen qué has hecho mal, no solo que está mal.

Cada ``check_*`` recibe tu función (o tu clase), la ejecuta con entradas pensadas para distinguir
unos errores de otros y devuelve un ``Report``: ``.ok`` y, si algo falla, ``.findings``.
"""

from importlib import import_module

# Nombre público → módulo. Se importa al usarlo.
_MODULE_OF = {
    "check_attended_token": "attended",
    "check_dot_product": "vectors",
    "check_cosine_similarity": "vectors",
    "check_similarity_matrix": "vectors",
    "check_positional_encoding": "lessons.l02_1_positions",
    "check_encoder_input": "lessons.l02_2_encoder_input",
    "check_scaling": "lessons.l03_1_scaling",
    "check_causal_mask": "masks",
    "check_padding_mask": "masks",
    "check_decoder_mask": "masks",
    "check_softmax": "lessons.l05_1_softmax",
    "check_scaled_dot_product_attention": "lessons.l05_2_attention",
    "check_split_heads": "lessons.l06_1_split_heads",
    "check_multi_head_attention": "lessons.l06_2_multi_head",
    "check_einsum": "lessons.l07_1_einsum",
    "check_attention_by_hand": "lessons.l07_2_by_hand",
    "check_shift_right": "decoder",
    "check_masked_self_attention": "decoder",
    "check_cross_attention": "cross",
    "check_add_and_norm": "cross",
    "check_next_token_loss": "next_token_loss",
    "check_greedy": "writing",
    "check_alignment": "alignment",
    "check_previous_token_score": "head_scores",
    "check_without_head": "silenced_head",
    "check_effect_size": "head_scores",
    "check_answer": "engine.questions",
    "show_progress": "engine.progress",
    "forget_progress": "engine.progress",
    "without_progress": "engine.progress",
}

__all__ = list(_MODULE_OF)


def __getattr__(name):
    if name not in _MODULE_OF:
        raise AttributeError(f"course_lib.checkers no tiene «{name}». Tiene: {', '.join(__all__)}.")
    return getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)


def __dir__():
    return sorted([*globals(), *__all__])
