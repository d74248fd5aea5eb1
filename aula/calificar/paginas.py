"""Lo que se lee: la devolución de cada persona y el informe de la clase. HTML que se abre solo.

Todo lo que viene de una entrega pasa por ``escape``: nombres, textos, código y salidas.
"""

import re
import unicodedata
from collections import Counter
from html import escape
from pathlib import Path

import entregas

STYLE = (Path(__file__).parent / "estilo.css").read_text(encoding="utf-8")
HEAD = r"""<!doctype html>
<html lang="es"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
"""
# Lo que la comprobación dice cuando no sabe qué error es: solo lo que se ve.
UNNAMED = {
    "error",
    "otro",
    "respuesta",
    "respuesta-ilegible",
    "falta",
    "no-acaba",
    "memoria",
    "tarda",
}
UNNAMED |= {"se-cierra", "no-se-confirma", "no-se-puede"}
SIGNS = {
    "ok": ("✓", "good", "está bien"),
    "no": ("✗", "bad", "todavía no"),
    "none": ("○", "soft", "sin hacer"),
}


def page(title, *parts):
    """Una página entera, sin nada de fuera."""
    return (
        f"{HEAD}<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join([*parts, "</body></html>\n"])
    )


def listed(items, kind="ul"):
    """Una lista; si no hay nada, nada."""
    return f"<{kind}>{''.join(f'<li>{item}</li>' for item in items)}</{kind}>" if items else ""


def state(exercise):
    return "ok" if exercise["ok"] else "none" if exercise["unsolved"] else "no"


def write(people, folder, told_of, with_names):
    """Escribe las devoluciones y el informe de la clase."""
    pages, used = folder / "devoluciones", set()
    pages.mkdir(exist_ok=True)
    for person in people:
        name = slug(person["name"], used)
        (pages / f"{name}.html").write_text(feedback(person, told_of(person)), encoding="utf-8")
    for old in pages.glob("*.html"):  # de alguien que ya no está entre las entregas
        if old.stem not in used:
            old.unlink()
    (folder / "clase.html").write_text(class_report(people, with_names), encoding="utf-8")


def slug(name, used):
    """Un nombre de archivo para una persona, que no tiene nadie más."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    base = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60] or "entrega"
    base = f"_{base}" if base in ("con", "prn", "aux", "nul") else base
    count, found = 1, base
    while found in used:
        count += 1
        found = f"{base}-{count}"
    used.add(found)
    return found


# --- La devolución --------------------------------------------------------------------------------


def feedback(person, told):
    """La página de una persona: de cada ejercicio, qué está bien, qué no y dónde leerlo."""
    results = [person["lessons"][number] for number in sorted(person["lessons"])]
    every = [exercise for result in results for exercise in result["exercises"]]
    total, most = sum(e["points"] * e["ok"] for e in every), sum(e["points"] for e in every)
    parts = [f"<h1>{escape(person['name'])}</h1>"]
    parts.append(
        f"<p><strong>{total} de {most} puntos.</strong></p>"
        if every
        else "<p>No hay nada que calificar.</p>"
    )
    if told:
        parts.append(
            f'<div class="box"><p>De tu entrega:</p>{listed(list(map(escape, told)))}</div>'
        )
    for result in results:
        lesson = entregas.lessons()[result["lesson"]]
        parts.append(f"<h2>{lesson.number} · {escape(lesson.title)}</h2>")
        parts += [told_exercise(exercise) for exercise in result["exercises"]]
    return page(f"Devolución: {person['name']}", *parts)


def told_exercise(exercise):
    """Lo que lee quien aprende de un ejercicio."""
    sign, look, words = SIGNS[state(exercise)]
    got, points = exercise["points"] * exercise["ok"], exercise["points"]
    head = f"{exercise['number']} · {escape(exercise['title'])}"
    parts = [
        f'<h3><span class="{look}">{sign}</span> {head} '
        f'<span class="soft">{words}, {got} de {points}</span></h3>'
    ]
    if state(exercise) == "no":
        parts.append(listed([told_finding(*finding) for finding in exercise["findings"]], "ol"))
    parts += [f"<p>Nota: {escape(note)}</p>" for note in exercise["notes"]]
    if exercise["printed"]:
        text = escape("\n".join(exercise["printed"]))
        parts.append(f"<p>Tu código escribe:</p><pre>{text}</pre>")
    if exercise["answer"] and state(exercise) != "none":
        code = escape(exercise["answer"])
        parts.append(f"<details><summary>Lo que has entregado</summary><pre>{code}</pre></details>")
    return "\n".join(parts)


def told_finding(_, text, consequence, read):
    where = f" <em>Mira {escape(entregas.section(read))}.</em>" if read else ""
    return f"<strong>{escape(text)}</strong> {escape(consequence)}{where}"


# --- El informe de la clase -----------------------------------------------------------------------


class Tally:
    """Lo que ha hecho la clase en un ejercicio: quién lo resuelve, quién no y quién no lo hace.

    De cada error, quién lo comete (cada persona, una vez), con qué frases y dónde se explica.
    """

    def __init__(self, title):
        self.title, self.people, self.texts, self.read = title, {}, {}, {}
        self.solved, self.failed, self.idle = [], [], []

    def add(self, name, exercise):
        {"ok": self.solved, "no": self.failed, "none": self.idle}[state(exercise)].append(name)
        for one, text, _, read in exercise["findings"] if state(exercise) == "no" else ():
            text = re.sub(r",? en la línea «.*?»(?=:)", "", text)  # es código de alguien
            if name not in self.people.setdefault(one, []):
                self.people[one].append(name)
            self.texts.setdefault(one, Counter())[text] += 1
            self.read.setdefault(one, Counter())[read] += bool(read)

    def ranked(self):
        """Los errores, de los que más gente comete a los que menos."""
        return sorted(self.people, key=lambda one: (-len(self.people[one]), one in UNNAMED, one))

    def section_of(self, one):
        """Dónde se explica un error."""
        return next((read for read, n in self.read[one].most_common(1) if n), "")


def tallies(people):
    """Por lección y ejercicio, lo que ha hecho la clase."""
    found = {}
    for person in people:
        for number, result in person["lessons"].items():
            lesson = found.setdefault(number, {})
            for exercise in result["exercises"]:
                tally = lesson.setdefault(exercise["number"], Tally(exercise["title"]))
                tally.add(person["name"], exercise)
    return dict(sorted(found.items()))


def again(found):
    """Las secciones a las que apuntan los errores: sección → quién se equivoca en lo que explica."""
    pointed = {}
    for lesson in found.values():
        for tally in lesson.values():
            for one, names in tally.people.items():
                if read := tally.section_of(one):
                    for part in read.split(", "):
                        pointed.setdefault(part, set()).update(names)
    return sorted(pointed.items(), key=lambda item: (-len(item[1]), item[0]))


def class_report(people, with_names):
    """Una página: qué ha resuelto la clase, qué ha entendido mal y qué volver a explicar."""
    found, many = tallies(people), len(people)
    parts = ["<h1>Qué ha entendido la clase</h1>"]
    anonymous = "" if with_names else " No dice quién: para verlo, está cada devolución."
    parts.append(f'<p class="soft">{many} {"entrega" if many == 1 else "entregas"}.{anonymous}</p>')
    if ranking := again(found):
        rows = [
            row(len(names), many, escape(entregas.section(read))) for read, names in ranking[:5]
        ]
        parts.append(
            '<div class="box"><p><strong>Para volver a explicar</strong>, por cuánta gente se equivoca en lo que '
            f"cuenta cada sección:</p>{table(rows)}</div>"
        )
    for number, lesson in found.items():
        parts.append(f"<h2>{number} · {escape(entregas.lessons()[number].title)}</h2>")
        parts += [told_tally(n, tally, with_names) for n, tally in lesson.items()]
    if not found:
        parts.append("<p>Ninguna entrega se ha podido calificar.</p>")
    return page("Qué ha entendido la clase", *parts)


def told_tally(number, tally, with_names):
    """Un ejercicio: cuántos lo resuelven y, de cada error, cuántos lo cometen y dónde se explica."""
    many = len(tally.solved) + len(tally.failed) + len(tally.idle)
    parts = [f"<h3>{number} · {escape(tally.title)}</h3>"]
    idle = f"; {len(tally.idle)} sin hacer" if tally.idle else ""
    parts.append(f"<p><strong>Resuelto por {len(tally.solved)} de {many}</strong>{idle}.</p>")
    rows = []
    for one in tally.ranked():
        texts, read = tally.texts[one].most_common(), tally.section_of(one)
        told = "<em>Sin nombre:</em> " * (one in UNNAMED) + escape(texts[0][0])
        told += f' <span class="soft">({escape(one)})</span>'
        if len(texts) > 1:
            others = listed([escape(text) for text, _ in texts[1:20]])
            told += f"<details><summary>Dicho de otras formas</summary>{others}</details>"
        if read:
            told += f'<br><span class="soft">{escape(entregas.section(read))}</span>'
        if with_names:
            told += f'<br><span class="soft">{escape(", ".join(tally.people[one]))}</span>'
        rows.append(row(len(tally.people[one]), many, told))
    first = max(5, sum(len(names) > 1 for names in tally.people.values()))
    parts.append(table(rows[:first]))
    if more := rows[first:]:
        parts.append(f"<details><summary>Otros {len(more)}</summary>{table(more)}</details>")
    return "\n".join(parts)


def row(count, many, told):
    """Una línea de la tabla: *12 de 40*, la barra y qué es."""
    bar = f'<span class="bar"><i style="width: {100 * count / many:.0f}%"></i></span>'
    return f"<tr><td>{count} de {many}{bar}</td><td>{told}</td></tr>"


def table(rows):
    return f"<table>{''.join(rows)}</table>" if rows else ""
