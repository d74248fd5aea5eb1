"""La figura del curso: una de matplotlib que lleva su descripción y se ve nítida en un cuaderno."""

import base64
import html
import io
import warnings
from contextlib import contextmanager

from matplotlib import rc_context
from matplotlib.figure import Figure
from PIL import Image

from course_lib.plots import palette
from course_lib.plots.inputs import fitted, visible

DPI = 160  # el doble de lo que se muestra: nítido en un proyector
STYLE = {
    "font.family": palette.FONT,
    "font.size": 11,
    "text.color": palette.INK,
    "text.parse_math": False,  # un token con «$» es texto, no una fórmula
    "axes.edgecolor": palette.GREY,
    "axes.labelcolor": palette.INK,
    "axes.titlesize": 13,
    "axes.titlelocation": "left",
    "axes.titlepad": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": palette.INK,
    "ytick.color": palette.INK,
    "hatch.linewidth": 0.8,
}


@contextmanager
def drawing():
    """Dibuja con el estilo del curso; el signo que no está en la letra se ve como un recuadro."""
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")
        yield


@contextmanager
def canvas(width, height):
    """Una figura, en pulgadas, y sus ejes: lo que se dibuje en ellos lleva el estilo del curso."""
    with drawing():
        figure = CourseFigure(figsize=(width, height))
        yield figure, figure.subplots()


def titled(ax, title, **where):
    """Pone el título, si lo hay. Devuelve lo que dice de él la descripción."""
    if not title:
        return ""
    ax.set_title(fitted(visible(title), 90), **where)
    return f"Título: {visible(title)}. "


def add_legend(ax, drawn, names, loc=None, at=None, columns=1):
    """La leyenda, con cada nombre tal cual: matplotlib se calla los vacíos y los que empiezan por «_»."""
    where = {"loc": loc, "bbox_to_anchor": at, "ncols": columns}
    legend = ax.legend(drawn, ["·"] * len(drawn), frameon=False, **where)
    for text, name in zip(legend.get_texts(), names):
        text.set_text(fitted(name or "«»", 80))


class CourseFigure(Figure):
    """Una figura de matplotlib con su descripción en ``description``."""

    description = ""

    def __repr__(self):
        return self.description or super().__repr__()

    __str__ = __repr__

    def savefig(self, *args, **options):
        """Como la de matplotlib, con el estilo del curso."""
        with drawing():
            super().savefig(*args, **options)

    def _repr_mimebundle_(self, include=None, exclude=None):
        """PNG nítido y ligero, con la descripción como texto alternativo y como texto llano.

        Va dos veces: JupyterLab y ``nbconvert`` eligen el HTML, porque al PNG no le ponen el texto
        alternativo de los metadatos; un PDF y los visores que no aceptan el HTML, el PNG.
        """
        raw, small = io.BytesIO(), io.BytesIO()
        self.savefig(raw, format="png", dpi=DPI, bbox_inches="tight", pad_inches=0.12)
        picture = Image.open(raw).convert("RGB").quantize(256, dither=Image.Dither.NONE)
        picture.save(small, format="png", optimize=True)
        png = small.getvalue()
        width, height = (round(side / 2) for side in picture.size)
        element = (
            f'<img alt="{html.escape(self.description)}" style="max-width: 100%; height: auto" '
            f'src="data:image/png;base64,{base64.b64encode(png).decode()}" '
            f'width="{width}" height="{height}">'
        )
        data = {"text/html": element, "image/png": png, "text/plain": self.description}
        return data, {"image/png": {"alt": self.description, "width": width, "height": height}}

    def _ipython_display_(self):
        """Sin este método, el modo «inline» de matplotlib la dibujaría a su manera."""
        from IPython.display import display

        data, metadata = self._repr_mimebundle_()
        display(data, metadata=metadata, raw=True)


def describe(figure):
    """Cuenta con palabras lo que muestra una figura.

    Args:
        figure: una figura de este módulo, o cualquiera de matplotlib.

    Returns:
        Una descripción en español: la suya o, si no la tiene, sus títulos y ejes.
    """
    if getattr(figure, "description", ""):
        return figure.description
    parts = []
    for ax in figure.axes:
        names = (ax.get_title(), ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel())
        parts.append(", ".join(name for name in names if name) or "ejes sin título")
    return f"Figura con {len(parts)} gráfica(s): " + "; ".join(parts) + "."
