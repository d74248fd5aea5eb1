"""Máscaras: quién puede atender a quién.

En este curso una máscara es **booleana y True significa «puede atender»**. Es
el convenio de ``torch.nn.functional.scaled_dot_product_attention`` y el
contrario del de ``torch.nn.MultiheadAttention``. Los tres convenios que
encontrarás por ahí:

============ ======== ============== ===========================================
nombre       dtype    se atiende si  lo usan
============ ======== ============== ===========================================
``keep``     bool     es True        este curso, ``F.scaled_dot_product_attention``
``block``    bool     es False       ``nn.MultiheadAttention``, ``nn.Transformer``
``additive`` flotante vale 0         los dos, si la máscara es flotante (−∞ bloquea)
============ ======== ============== ===========================================

Las formas se combinan por difusión (*broadcasting*) hasta ``(B, h, L_q, L_k)``:
las filas son queries y las columnas, keys.
"""

import warnings
from functools import reduce

import torch

from course_lib.checks import as_tensor, check_decimals, check_whole, holds, is_autocast, is_whole
from course_lib.checks import kind_of as kind

CONVENTIONS = ("keep", "block", "additive")
BLOCKS = -746.0  # desde aquí hacia abajo, la exponencial es 0 en cualquier precisión


class MaskWarning(UserWarning):
    """La máscara es válida, pero seguramente no es la que querías."""


def causal_mask(length, device=None):
    """Deja que cada posición atienda a sí misma y al pasado, nunca al futuro.

    Fórmula: ``mask[i, j] = (j <= i)``.

    Args:
        length: número de tokens, L (entero, 1 o más).
        device: dónde se crea el tensor; por defecto, el de torch.

    Returns:
        Máscara booleana ``(L, L)``; True = puede atender.

    Raises:
        ValueError: si ``length`` no es un entero positivo.

    Fuente: Vaswani et al. (2017), §3.2.3.
    """
    if not is_whole(length, least=1):
        raise ValueError(
            f"causal_mask: length = {length!r}, y tiene que ser un entero de 1 en adelante: "
            "el número de tokens de la frase. Por ejemplo, causal_mask(5)."
        )
    return torch.ones(length, length, dtype=torch.bool, device=device).tril()


def window_mask(length, width, sinks=0, device=None):
    """Causal, y además cada posición ve solo las ``width`` últimas, contando la suya.

    Fórmula: ``mask[i, j] = (j <= i) and (i - j < width or j < sinks)``.

    Args:
        length: número de tokens, L.
        width: anchura de la ventana (entero, 1 o más).
        sinks: cuántos de los primeros tokens ve todo el mundo, esté donde esté.
        device: dónde se crea el tensor; por defecto, el de torch.

    Returns:
        Máscara booleana ``(L, L)``; True = puede atender.

    Raises:
        ValueError: si ``length`` o ``width`` no son enteros positivos, o ``sinks`` es negativo.

    Fuente: Beltagy et al., «Longformer» (2020), §3.1; los sumideros, Xiao et al. (2023), §3.
    """
    width = check_whole("window_mask", width=width)
    check_whole("window_mask", least=0, sinks=sinks)
    causal = causal_mask(length, device)
    return causal.triu(1 - width) | causal & (torch.arange(length, device=device) < sinks)


def padding_mask(attention_mask):
    """Impide que nadie atienda a los tokens de relleno (*padding*).

    Bloquea **columnas** (keys). Las filas del relleno siguen existiendo: sus
    salidas se calculan y después no se usan.

    Args:
        attention_mask: ``(B, L_k)``, la que da el tokenizador: 1 o True en los
            tokens de verdad, 0 o False en el relleno.

    Returns:
        Máscara booleana ``(B, 1, 1, L_k)``; True = puede atender. Los dos ejes
        de tamaño 1 valen para todas las cabezas y para todas las queries.

    Raises:
        ValueError: si no es una tabla de dos ejes o contiene algo distinto de 0 y 1.
    """
    given, (attention_mask, _) = attention_mask, as_tensor("", attention_mask)
    if attention_mask is None:
        raise ValueError(
            f"padding_mask: attention_mask = {given!r:.60} no es una tabla (B, L_k) de unos "
            'y ceros. ¿Has pedido al tokenizador padding=True y return_tensors="pt"?'
        )
    if attention_mask.dim() != 2:
        raise ValueError(
            f"padding_mask: attention_mask tiene forma {tuple(attention_mask.shape)} y tiene que "
            "ser (B, L_k): una fila por frase. Si tienes una sola frase, usa attention_mask[None]."
        )
    keep = attention_mask.bool()
    if not holds(((attention_mask == 0) | (attention_mask == 1)).all()):
        raise ValueError(
            f"padding_mask: attention_mask contiene {attention_mask.unique().tolist()[:5]}, y solo "
            "puede contener 1 (token de verdad) y 0 (relleno). Si tu máscara es aditiva (0 y −∞), "
            'conviértela antes con convert_mask(mask, "additive", "keep").'
        )
    return keep[:, None, None, :]


def combine_masks(*masks):
    """Junta varias máscaras: se puede atender donde **todas** lo permiten.

    Args:
        masks: máscaras booleanas (True = puede atender) cuyas formas se puedan
            combinar por difusión; ``None`` significa «sin restricción».

    Returns:
        La conjunción (Y lógico), con la forma común, o ``None`` si no hay ninguna.

    Raises:
        TypeError: si alguna no es booleana.
        ValueError: si sus formas no se pueden combinar.
    """
    masks = [mask for mask in masks if mask is not None]
    for mask in masks:
        _require_bool("combine_masks", mask)
    try:
        torch.broadcast_tensors(*masks)  # y no ``broadcast_shapes``, que carga ``sympy``
    except RuntimeError:
        shapes = " y ".join(str(tuple(mask.shape)) for mask in masks)
        raise ValueError(
            f"combine_masks: las formas {shapes} no se pueden combinar. Lleva cada máscara a "
            "(B, h, L_q, L_k), con 1 en los ejes que no distingue."
        ) from None
    return reduce(torch.logical_and, masks) if masks else None


def convert_mask(mask, source, target, dtype=torch.float32):
    """Traduce una máscara de un convenio a otro.

    Args:
        mask: máscara con cualquier forma.
        source: su convenio: ``"keep"``, ``"block"`` o ``"additive"``.
        target: el convenio que quieres.
        dtype: tipo flotante del resultado si ``target`` es ``"additive"``.

    Returns:
        Máscara con la misma forma. ``additive`` vale 0 donde se puede atender y −∞ donde no; al
        leerla, también bloquea un número muy negativo: −10⁴, −10⁹, el menor de su tipo…

    Raises:
        ValueError: si un convenio no existe, ``dtype`` no es flotante o una máscara aditiva contiene
            otros valores (son un sesgo, no una máscara).
        TypeError: si el dtype no corresponde al convenio de origen.
    """
    for name, value in (("source", source), ("target", target)):
        if value not in CONVENTIONS:
            raise ValueError(
                f"convert_mask: {name} = {value!r} no es un convenio. Elige uno de {CONVENTIONS}."
            )
    if target == "additive" and not getattr(dtype, "is_floating_point", False):
        raise ValueError(
            f"convert_mask: dtype = {dtype!r}, y −∞ solo cabe en un tipo flotante, como torch.float32."
        )
    if source == "additive":
        if not isinstance(mask, torch.Tensor) or mask.dtype == torch.bool or mask.is_complex():
            _, text = (None, None) if isinstance(mask, torch.Tensor) else as_tensor("mask", mask)
            raise TypeError(
                f"convert_mask: una máscara aditiva es un tensor flotante (0 y −∞) y esta es {kind(mask)}. "
                'Si es booleana, su convenio es "keep" o "block".' + f" Usa {text}." * bool(text)
            )
        if reason := _why_not(mask):
            raise ValueError(f"convert_mask: la máscara aditiva contiene {reason}")
        keep = mask == 0
    else:
        _require_bool("convert_mask", mask)
        keep = mask if source == "keep" else ~mask

    if target == "keep":
        return keep.clone() if keep is mask else keep
    if target == "block":
        return ~keep
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~keep, -torch.inf)


def check_mask(mask, scores_shape):
    """Comprueba que una máscara es booleana y sirve para esas puntuaciones.

    Avisa con ``MaskWarning`` de lo que es válido pero sospechoso: bloquear queries en lugar de keys,
    o un eje que puede ser el lote o las cabezas. Si no sirve, ``TypeError`` o ``ValueError``.

    Args:
        mask, scores_shape: booleana o ``None``, y ``(..., L_q, L_k)``.
    """
    if mask is None:
        return
    _require_bool("atención", mask)
    shape, target = tuple(mask.shape), tuple(scores_shape)
    L_q, L_k = target[-2:]
    try:
        mask.expand(target)
    except RuntimeError:
        raise ValueError(
            f"atención: la máscara tiene forma {shape} y no se difunde hasta la de las "
            f"puntuaciones, {target} (los dos últimos ejes son L_q = {L_q} queries y "
            f"L_k = {L_k} keys). {_hint(shape, target)}"
        ) from None
    doubt = ""
    if len(shape) >= 2 and shape[-1] == 1 < L_k and shape[-2] > 1:
        doubt = (
            "tamaño 1 en el eje de las keys: bloquea filas enteras (queries), no columnas. Para que "
            "nadie atienda al relleno usa padding_mask(attention_mask), que da (B, 1, 1, L_k)."
        )
    elif len(shape) == 3 and len(target) == 4 and shape[0] == target[0] == target[1] > 1:
        doubt = (
            f"tres ejes y B = h = {shape[0]}: el primero se toma como las cabezas. Si es el lote, usa "
            "mask.unsqueeze(1), de forma (B, 1, L_q, L_k)."
        )
    if doubt:
        warnings.warn(f"la máscara {shape} tiene {doubt}", MaskWarning, stacklevel=3)


def check_shapes(query, key, value, mask):
    """``query``, ``key``, ``value`` y ``mask`` encajan, o lo dice un ``ValueError`` o un ``TypeError``."""
    try:  # lo normal: de la misma forma y el mismo tipo, y entonces basta con mirar uno
        alike = query.shape == key.shape == value.shape and query.dtype == key.dtype == value.dtype
        alike = alike and query.is_floating_point() and query.dim() > 1
    except AttributeError:
        alike = False
    if alike:
        return check_mask(mask, (*query.shape[:-1], key.shape[-2]))
    named = {"query": query, "key": key, "value": value}
    check_decimals("atención", **named)
    for name, x in named.items():
        if x.dim() < 2:
            raise ValueError(
                f"atención: {name} necesita al menos dos ejes, (L, d). Formas: {_shapes(named)}."
            )
    if query.shape[-1] != key.shape[-1]:
        raise ValueError(
            f"atención: las queries miden {query.shape[-1]} y las keys {key.shape[-1]}: para "
            f"multiplicarlas tienen que medir lo mismo, d_k. Formas: {_shapes(named)}."
        )
    if key.shape[-2] != value.shape[-2]:
        raise ValueError(
            f"atención: hay {key.shape[-2]} keys y {value.shape[-2]} values: cada key lleva su value, "
            f"así que L_k tiene que coincidir. Formas: {_shapes(named)}."
        )
    leading = query.shape[:-2]
    try:
        if not leading == key.shape[:-2] == value.shape[:-2]:  # lo normal es que sean iguales
            torch.broadcast_shapes(*(x.shape[:-2] for x in named.values()))
            leading = torch.broadcast_shapes(query.shape[:-2], key.shape[:-2])
    except RuntimeError:
        raise ValueError(
            "atención: los ejes anteriores a (L, d) —lote y cabezas— no coinciden. "
            f"Formas: {_shapes(named)}."
        ) from None
    if not query.dtype == key.dtype == value.dtype and not is_autocast(query):
        dtypes = ", ".join(f"{name} {x.dtype}" for name, x in named.items())
        raise ValueError(f"atención: los tipos no coinciden: {dtypes}. Usa .to(dtype) en alguno.")
    check_mask(mask, (*leading, query.shape[-2], key.shape[-2]))


def _hint(shape, target):
    """Adivina qué quería quien pasó una máscara de forma ``shape``."""
    batch, L_k = target[0], target[-1]
    if len(shape) == 2 and len(target) > 2 and shape == (batch, L_k):
        return "Parece una attention_mask (B, L_k): pásala por padding_mask(attention_mask)."
    if len(shape) == 3 and len(target) == 4 and shape[0] == batch:
        return "Parece (B, L_q, L_k): usa mask.unsqueeze(1) para dejar sitio a las cabezas."
    if len(shape) > len(target):
        return "Le sobran ejes: quita los de tamaño 1, por ejemplo con mask.squeeze(1)."
    if shape[-2:] == (L_k, target[-2]):
        return "Está traspuesta: las filas son queries y las columnas, keys (mask.mT)."
    return "Cada eje tiene que valer 1 o lo mismo que en las puntuaciones."


def _require_bool(where, mask):
    if not isinstance(mask, torch.Tensor) or mask.dtype != torch.bool:
        raise TypeError(
            f"{where}: la máscara es {kind(mask)} y tiene que ser un tensor booleano, torch.bool "
            f"(True = puede atender). {_advice(mask)}"
        )


def _advice(mask):
    """Qué hacer con una máscara que no es booleana."""
    mask, text = as_tensor("mask", mask)
    if mask is None or mask.is_complex():
        return "¿Es lo que querías pasar?"
    if mask.dtype == torch.bool:
        return f"Usa {text}."
    if not (reason := _why_not(mask)) and (mask.is_floating_point() or holds((mask < 0).any())):
        return f'Parece aditiva (0 y −∞): usa convert_mask({text}, "additive", "keep").'
    if not holds(((mask == 0) | (mask == 1)).all()):
        return f"Contiene {reason}"
    yes = f"{text}.bool()" + f", o padding_mask({text}) si la da el tokenizador" * (mask.dim() == 2)
    return f"Si 1 significa «puede atender», usa {yes}; si significa «bloqueado», ~{text}.bool()."


def _why_not(mask):
    """Por qué una máscara aditiva no se puede convertir en booleana; si se puede, nada."""
    strange = (mask != 0) & ~(mask <= BLOCKS)
    if holds(~strange.any()):
        return ""
    value = mask[strange].flatten()[0].item()
    why = (
        "Es un sesgo y no se puede convertir en booleano sin perderlo: aquí no se suma, y en "
        "F.scaled_dot_product_attention(query, key, value, attn_mask=mask), sí."
    )
    if value > 0:
        why = f"¿Tiene el signo cambiado, o 1 significa «puede atender» (mask.bool())? Si no: {why}"
    elif value != value:
        why = "No es ni máscara ni sesgo: 0 por −∞ da NaN. Escribe el −∞ con masked_fill."
    return f"valores que no son 0 ni −∞ (por ejemplo, {value:.4g}). {why}"


def _shapes(named):
    return ", ".join(f"{name} {tuple(x.shape)}" for name, x in named.items())
