"""El inventario, para repartirlo: en papel, y para Moodle, en XML o en GIFT.

Los dos formatos son los que documenta Moodle: https://docs.moodle.org/en/Moodle_XML_format y
https://docs.moodle.org/en/GIFT_format. Con cada respuesta mala va, de comentario, su error.
"""

import html
import re
from xml.etree import ElementTree

from course_checkers.inventory import VERSION, items

TITLE = {"es": "Inventario de la atención", "en": "Attention inventory"}
PAGE = """<!doctype html><html lang="{language}"><meta charset="utf-8"><title>{title}</title>
<style>@page {{ size: A4; margin: 14mm }} body {{ font: 9.5pt/1.3 sans-serif }} h1 {{ font-size: 13pt; margin: 0 }}
main {{ columns: 2; column-gap: 8mm }} section {{ break-inside: avoid; margin: 0 0 2.6mm }} p {{ margin: 0 }}
ol {{ margin: .6mm 0 0; padding-left: 6mm; list-style: lower-alpha }} .key {{ font-weight: bold }}
footer {{ font-size: 8pt }}</style>
<h1>{title} · {form}</h1><p>{who}</p><main>{asked}</main><footer>CC BY 4.0 · Atención paso a paso · {version}</footer></html>
"""
WHO = {"es": "Nombre: ……………………………… Fecha: ……………… Diez minutos; lo que no sepas, en blanco. En las tablas, cada fila es de quien mira. Con dos decimales.",
       "en": "Name: ……………………………… Date: ……………… Ten minutes; leave blank what you do not know. In tables, each row is of the one that looks. Two decimals."}  # fmt: skip


def name_of(place, one):
    """El nombre de una pregunta en Moodle: por él se reconoce al volver (véase ``results``)."""
    return f"{one.form}{place:02} {one.concept}"


def paper(form, language="es", key=False):
    """Las preguntas, en una página web que se imprime en dos hojas; con ``key``, la buena en negrita y los errores."""
    asked = []
    for place, one in enumerate(items(form, language), 1):
        rows = [row(one, k, key) for k in range(len(one.answers))]
        asked.append(f"<section><p>{place}. {html.escape(one.question)}</p><ol>{''.join(rows)}</ol></section>")
    return PAGE.format(language=language, title=TITLE[language], form=form, who=WHO[language],
                       asked="".join(asked), version=f"v{VERSION}")  # fmt: skip


def row(one, k, key):
    text, mark = html.escape(one.answers[k]), ' class="key"' * (key and k == one.right)
    return f"<li{mark}>{text}{f' <small>{html.escape(one.mistakes[k])}</small>' * key}</li>"


def moodle(form, language="es"):
    """El cuestionario, en el XML de Moodle: una respuesta por pregunta, en este orden, y su error de comentario."""
    quiz = ElementTree.Element("quiz")
    category = ElementTree.SubElement(quiz, "question", type="category")
    text(category, "category", f"$course$/top/{TITLE[language]} · {form} · v{VERSION}")
    for place, one in enumerate(items(form, language), 1):
        asked = ElementTree.SubElement(quiz, "question", type="multichoice")
        text(asked, "name", name_of(place, one))
        text(asked, "questiontext", one.question, format="plain_text")
        for tag, value in (("defaultgrade", "1"), ("penalty", "0"), ("single", "true"), ("shuffleanswers", "false"),
                           ("answernumbering", "abc")):  # fmt: skip
            ElementTree.SubElement(asked, tag).text = value
        for k, said in enumerate(one.answers):
            fraction = "100" if k == one.right else "0"
            answer = text(asked, "answer", said, fraction=fraction, format="plain_text")
            text(answer, "feedback", one.mistakes[k], format="plain_text")
    ElementTree.indent(quiz)
    return ElementTree.tostring(quiz, encoding="unicode", xml_declaration=True) + "\n"


def text(parent, tag, words, **attributes):
    """Un elemento de Moodle: lo que dice va dentro de otro, ``text``."""
    node = ElementTree.SubElement(parent, tag, attributes)
    ElementTree.SubElement(node, "text").text = words
    return node


def gift(form, language="es"):
    """El cuestionario, en GIFT: la buena con ``=``, las demás con ``~`` y el error detrás de ``#``."""
    asked = []
    for place, one in enumerate(items(form, language), 1):
        ways = [
            f"\t{'=' if k == one.right else '~'}{plain(said)}{f'#{plain(why)}' * bool(why)}"
            for k, (said, why) in enumerate(zip(one.answers, one.mistakes))
        ]
        asked.append(f"::{plain(name_of(place, one))}::[plain]{plain(one.question)} {{\n" + "\n".join(ways) + "\n}\n")
    return "\n".join(asked)


def plain(words):
    """Un texto, con lo que en GIFT significa algo precedido de una barra."""
    return re.sub(r"([~=#{}:\\])", r"\\\1", words)
