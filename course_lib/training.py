"""Entrenar un Transformer: desplazar, medir el error, ajustar la velocidad e igualar longitudes.

Lo que aquí hay sirve igual para el juguete que se entrena en un minuto que para el
traductor del curso (``course_tools.training``).

Fuente: Vaswani et al., «Attention Is All You Need» (2017), §3.1 y §5.
"""

import math

import torch
import torch.nn.functional as F

from course_lib.masks import padding_mask
from course_lib.translator_model.marks import PAD


def shift_right(target_ids, bos):
    """Lo que entra en el decoder: el destino, retrasado una posición, detrás de la marca de inicio.

    Así la posición i ve los tokens anteriores a i y tiene que acertar el i.

    Args:
        target_ids: lo que hay que predecir, con su marca de fin, ``(B, m_D)``.
        bos: id de la marca de inicio.

    Returns:
        Ids ``(B, m_D)``: ``bos`` y todos menos el último.

    Fuente: Vaswani et al. (2017), §3.1, «outputs (shifted right)».
    """
    return torch.cat([torch.full_like(target_ids[:, :1], bos), target_ids[:, :-1]], dim=1)


def smoothed_loss(logits, targets, smoothing=0.0):
    """Entropía cruzada media por token, en nats, con las etiquetas suavizadas.

    Con ``smoothing`` = ε el objetivo no es todo para el token bueno: le toca
    1 − ε, y ε se reparte por igual entre todo el vocabulario.

    Args:
        logits: ``(N, vocab_size)``.
        targets: ids ``(N,)``.
        smoothing: ε, de 0 a 1 (0.1 en el artículo).

    Returns:
        Un número (tensor sin ejes).

    Fuente: Vaswani et al. (2017), §5.4.
    """
    return F.cross_entropy(logits.float(), targets, label_smoothing=smoothing)


def target_loss(model, source_ids, target_ids, bos, smoothing=0.0):
    """Lo que se equivoca el modelo con *teacher forcing*: se le da siempre el pasado correcto.

    Args:
        model: un ``Transformer``.
        source_ids: origen, ``(B, m_E)``, con relleno ``PAD``.
        target_ids: destino con su marca de fin, ``(B, m_D)``, con relleno ``PAD``.
        bos: id de la marca de inicio.
        smoothing: véase ``smoothed_loss``.

    Returns:
        ``(pérdida, aciertos, tokens)``: la media por token, y cuántos tokens acierta de cuántos.
    """
    source_mask = padding_mask(source_ids != PAD)
    encoded, _ = model.encoder(source_ids, source_mask)
    # El relleno del destino va al final: la máscara causal ya impide que nadie lo mire.
    decoded, _ = model.decoder(shift_right(target_ids, bos), encoded, source_mask=source_mask)
    real = target_ids != PAD
    logits = model.output_projection(decoded[real])  # en el relleno no hay nada que predecir
    loss = smoothed_loss(logits, target_ids[real], smoothing)
    with torch.no_grad():  # en 32 bits: el máximo, en 16, tarda mucho más
        hits = (logits.float().argmax(-1) == target_ids[real]).sum()
    return loss, hits, real.sum()


def learning_rate(step, total_steps, peak, warmup_steps):
    """Velocidad de aprendizaje: sube en línea recta hasta ``peak`` y baja como un coseno hasta 0.

    Args:
        step: paso, desde 0.
        total_steps: pasos de todo el entrenamiento.
        peak: la mayor.
        warmup_steps: pasos de subida.

    Fuente: la subida, Vaswani et al. (2017), §5.3; la bajada, Loshchilov y Hutter,
    «SGDR» (2017), §3.
    """
    if step < warmup_steps:
        return peak * (step + 1) / warmup_steps
    progress = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    return peak * (1 + math.cos(math.pi * min(1.0, progress))) / 2


def pad_ids(sequences):
    """Iguala la longitud de unas listas de ids con relleno al final: → enteros ``(B, L)``."""
    return torch.nn.utils.rnn.pad_sequence(
        [torch.tensor(ids, dtype=torch.long) for ids in sequences], batch_first=True, padding_value=PAD
    )
