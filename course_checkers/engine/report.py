"""Lo que contesta una comprobación: qué se ha encontrado, con qué consecuencia y dónde leer."""

from dataclasses import dataclass, replace
from html import escape

from course_checkers.engine.places import linked, onward

PRINTED = 20_000  # las letras que se guardan de lo que escribe el código


def cut(text, most=500):
    """Un texto que viene de fuera: corto, y con letras que se pueden escribir en cualquier sitio."""
    short = str.__getitem__(text, slice(most)).encode("utf-8", "replace").decode()
    return short + "…" * (str.__len__(text) > most)


@dataclass(frozen=True)
class Finding:
    """Algo que está mal.

    Args:
        id: nombre estable, para las notas y las pruebas. Por ejemplo, ``"escala-d_k"``.
        text: qué está mal, en una frase.
        consequence: qué le ha hecho a tu salida, con un número de tu salida.
        read: dónde se explica: lección y sección, como ``"03 §5"``.
    """

    id: str
    text: str
    consequence: str = ""
    read: str = ""

    def short(self):
        """El mismo, sin frases enormes: en ellas hay nombres y números de quien aprende."""
        return replace(self, text=cut(self.text, 2000), consequence=cut(self.consequence, 2000))

    def saying(self, **numbers):
        """El mismo, con la consecuencia completa: con lo que se ha medido en la respuesta."""
        return replace(self, consequence=self.consequence.format(**numbers))

    def __str__(self):
        where = f"Mira {self.read}." if self.read else ""
        return " ".join(filter(None, (self.text, self.consequence, where)))


@dataclass(frozen=True)
class Report:
    """El resultado de una comprobación. ``ok`` dice si está bien; ``findings``, lo que no.

    Se puede mostrar en un cuaderno, imprimir o usar en una prueba: ``assert report.ok, report``.

    Args:
        exercise: número del ejercicio, como ``"5.1"``.
        title: su nombre.
        findings: lo que está mal, de lo más importante a lo menos.
        notes: lo que está bien y conviene saber.
        unsolved: si nadie ha escrito nada todavía.
        printed: lo que tu código escribe con ``print`` en la primera prueba.
        counted: si, estando bien, cuenta como tuyo: entonces acaba con un enlace a lo siguiente.
    """

    exercise: str
    title: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    unsolved: bool = False
    printed: str = ""
    counted: bool = False

    @property
    def ok(self):
        return not self.findings and not self.unsolved

    def __bool__(self):
        return self.ok

    @property
    def head(self):
        name = f"Ejercicio {self.exercise} · {self.title}"
        if self.unsolved:
            return f"○ {name}: aún sin resolver."
        return f"✓ {name}: está bien." if self.ok else f"✗ {name}: todavía no."

    def __str__(self):
        lines = [self.head]
        lines += [f"  {number}. {finding}" for number, finding in enumerate(self.findings, 1)]
        lines += [f"  Nota: {note}" for note in self.notes]
        if self.printed:
            lines += ["  Tu código escribe:", *(f"    {line}" for line in self.printed_lines())]
        return "\n".join(lines)

    __repr__ = __str__

    def printed_lines(self, most=8):
        lines, whole = self.printed.rstrip("\n").splitlines(), len(self.printed) < PRINTED
        count = f"{len(lines) - most} líneas más" if whole else "mucho más"
        more = [f"… y {count}"] if len(lines) > most or not whole else []
        return [*(cut(line, 200) for line in lines[:most]), *more]

    def _repr_html_(self):
        """Lo mismo, como lo enseña un cuaderno. Todo lo que viene de fuera es texto."""
        items = "".join(
            f"<li><strong>{escape(finding.text)}</strong> {escape(finding.consequence)}"
            + (f" <em>Mira {linked(finding.read)}.</em>" if finding.read else "")
            + "</li>"
            for finding in self.findings
        )
        parts = [f"<p><strong>{escape(self.head)}</strong></p>", f"<ol>{items}</ol>" if items else ""]
        parts += [f"<p>Nota: {linked(note)}</p>" for note in self.notes]
        if self.printed:
            lines = escape("\n".join(self.printed_lines()))
            parts.append(f"<p>Tu código escribe:</p><pre>{lines}</pre>")
        if self.counted:
            parts.append(onward(self.exercise))
        return f"<div>{''.join(parts)}</div>"


def without_echo(findings):
    """Los mismos, sin repetir una consecuencia que ya se ha contado."""
    told, kept = set(), []
    for finding in findings:
        story = "" if finding.consequence in told else finding.consequence
        told.add(story)
        kept.append(Finding(finding.id, finding.text, story, finding.read))
    return kept


def either(alternatives):
    """Varias explicaciones que dan lo mismo: no se elige por nadie."""
    if len(alternatives) > 3:
        return Finding("ambiguo", "Tu salida sale de varios errores juntos, y no sé de cuáles.")
    ways = (", y además: ".join(m.text.rstrip(".") for m in way) for way in alternatives)
    text = "; ".join(f"({letter}) {way}" for letter, way in zip("abc", ways))
    where = ", ".join(dict.fromkeys(m.read for way in alternatives for m in way if m.read))
    return Finding("ambiguo", f"Hay más de una forma de llegar a tu salida: {text}.", read=where)
