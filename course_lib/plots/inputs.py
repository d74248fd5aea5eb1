"""Lo que reciben las gráficas, comprobado, y cómo se escriben sus números y sus etiquetas."""

import textwrap
from unicodedata import category

import numpy as np

from course_lib.checks import is_whole


def as_array(x, name, ndim, finite=False):
    """Copia en numpy de un tensor, un array o una lista, comprobada. Con ``finite``, tampoco −∞."""
    array = as_numbers(x, name)
    if array.size == 0:
        raise ValueError(f"plots: {name} está vacío: su forma es {array.shape}.")
    if ndim is not None and array.ndim != ndim:
        advice = f" Elige uno del lote, por ejemplo {name}[0]." if array.ndim == ndim + 1 else ""
        raise ValueError(f"plots: {name} tiene forma {array.shape} y tiene que tener {ndim} eje(s).{advice}")
    bad = ~np.isfinite(array) if finite else np.isnan(array) | np.isposinf(array)
    if bad.any():
        sign = "" if finite else "+"
        raise ValueError(f"plots: {name} contiene {bad.sum()} NaN o {sign}∞. Busca de dónde salen.")
    return array


def as_numbers(x, name):
    """Copia en numpy de lo que son números: también de listas de tensores, y sin su gradiente."""
    try:
        plain = _plain(x)
        if not np.iscomplexobj(plain):
            return np.array(plain, dtype=float)
    except (TypeError, ValueError, RuntimeError, OverflowError):  # con textos, huecos, filas desiguales…
        pass
    raise ValueError(
        f"plots: {name} es {type(x).__name__} y tiene que ser un tensor, un array o una lista de "
        "números reales, con todas las filas iguales."
    )


def _plain(x):
    if hasattr(x, "detach"):
        x = x.detach().cpu().to_dense()
        return (x if x.is_complex() else x.double()).numpy()
    one = hasattr(x, "__array__") or isinstance(x, (str, bytes, dict)) or not hasattr(x, "__iter__")
    return x if one else [_plain(part) for part in x]


def as_series(series, name, ndim, finite=False):
    """De un diccionario de nombre → vector, los nombres, que se pueden dibujar, y los arrays."""
    check_named(series, name)
    arrays = [as_array(x, visible(key), ndim, finite) for key, x in series.items()]
    return list(map(visible, series)), arrays


def check_named(series, name):
    """Comprueba que es un diccionario y tiene algo."""
    if not hasattr(series, "items") or not len(series):
        raise ValueError(
            f"plots: {name} = {series!r:.40}, y tiene que ser un diccionario con alguna serie, como "
            '{"una": [1, 2]}.'
        )


def check_weights(array, name):
    """Comprueba que son pesos: de 0 a 1."""
    if array.min() < -1e-6 or array.max() > 1 + 1e-6:
        raise ValueError(
            f"plots: {name} va de {array.min():.2f} a {array.max():.2f}, y los pesos van de 0 a 1. "
            'Si son puntuaciones, usa plot_heatmap(…, kind="scores").'
        )


def check_labels(labels, count, name):
    """Las etiquetas como textos; si faltan, los números de orden. Comprueba que hay ``count``."""
    labels = range(count) if labels is None else getattr(labels, "tolist", lambda: labels)()
    labels = [visible(label) for label in labels]
    if len(labels) != count:
        raise ValueError(f"plots: {name} tiene {len(labels)} etiquetas y hacen falta {count}.")
    return labels


def index_in(index, count, name):
    """Un índice entre 0 y ``count`` − 1, también contado desde el final; ``None``, si no hay."""
    i = index.item() if hasattr(index, "item") and np.size(index) == 1 else index
    if not (i is None or is_whole(i, -count) and i < count):
        raise ValueError(f"plots: {name} = {i!r:.40} y tiene que ser un entero de 0 a {count - 1}.")
    return i if i is None else int(i) % count


def visible(label):
    """Una etiqueta como texto; lo que no se puede dibujar, con su código."""
    text = str(label)
    coded = lambda c: category(c)[0] == "C" and (c != "\n" or text.isspace())  # noqa: E731
    return "".join(ascii(c)[1:-1] if coded(c) else c for c in text)


def fitted(text, width):
    """Un texto, en varias líneas si hace falta."""
    return text if max(map(len, text.split("\n"))) <= width else textwrap.fill(text, width)


def short_label(label):
    """Una etiqueta que cabe; entera está en la descripción."""
    return label if len(label) <= 16 else label[:15] + "…"


def number_text(value, decimals):
    """Un número redondeado, con el signo menos de verdad y sin «−0.00»."""
    if not np.isfinite(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) >= 1e12:
        return f"{value:.2g}".replace("-", "−")
    return f"{round(float(value), decimals) + 0.0:.{decimals}f}".replace("-", "−")


def ends_text(values):
    """Entre qué números va una curva: «de 0.00 a 1.00»."""
    return f"de {number_text(values[0], 2)} a {number_text(values[-1], 2)}"


def every_value(values, labels, decimals=2):
    """Cada valor con su etiqueta, en su orden."""
    return ", ".join(f"«{a}» {number_text(x, decimals)}" for a, x in zip(labels, values, strict=True))


def top_values(values, labels, decimals=2, count=2):
    """Los mayores valores con su etiqueta.

    Los que se escriben igual son un empate: si no caben todos en la cuenta, se dice quiénes son o,
    si pasan de tres, cuántos. Así no se da por mayor al primero que lo parece.
    """
    rounded = np.round(values, decimals) + 0.0  # sin −0
    parts = []
    for value in np.unique(rounded)[::-1]:
        if count <= 0:
            break
        tied, number = np.flatnonzero(rounded == value), number_text(value, decimals)
        names = [f"«{labels[i]}»" for i in tied]
        if len(names) <= count:
            parts += [f"{name} {number}" for name in names]
        elif len(names) <= 3:
            parts.append(f"{', '.join(names[:-1])} y {names[-1]}, {number}")
        else:
            parts.append(f"{len(names)} con {number}")
        count -= len(names)
    return ", ".join(parts)
