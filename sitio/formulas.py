"""Las fórmulas, en MathML: se leen igual sin JavaScript."""

import html
import re

from latex2mathml.converter import convert

MATH = {  # lo que quien escribe LaTeX espera, y lo que da latex2mathml
    "<mo>&#x0002F;</mo>": '<mo lspace="0" rspace="0">/</mo>',
    "<mo>&#x02016;</mo>": '<mo stretchy="false" lspace="0" rspace="0">‖</mo>',
    r'<mo stretchy="false">\[</mo><mn>\d+pt</mn><mo stretchy="false">\]</mo>': "",  # lo que se deja entre dos filas
    r"(<mi>\w{2,}</mi>)(?=<m(?:i|sub|sup)>)": r'\1<mspace width="0.17em"/>',  # cos θ, log p
}


def mathml(formula, display=False):
    """Una fórmula de LaTeX, dentro de la línea o, con `display`, en la suya. → MathML"""
    text = convert(formula.replace("{gathered}", "{matrix}"), display="block" if display else "inline")
    for theirs, ours in MATH.items():
        text = re.sub(theirs, ours, text)
    return text


def words(formula):
    """Lo que se lee de una fórmula, en una línea y sin LaTeX: «√2»; si no cabe en una, «…»."""
    text = mathml(formula)
    line = html.unescape(re.sub("<[^>]+>", "", text.replace("<msqrt>", "√")))
    return "…" if re.search("<m(frac|table)", text) else line
