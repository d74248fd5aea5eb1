"""La figura del curso: una de matplotlib que lleva su descripción y se ve nítida en un cuaderno."""

import base64
import html
import io
import warnings

from matplotlib import rc_context
from matplotlib.figure import Figure
from PIL import Image

from course_lib.plots import palette

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


class CourseFigure(Figure):
    """Una figura de matplotlib con su descripción en ``description``."""

    description = ""

    def __repr__(self):
        return self.description or super().__repr__()

    __str__ = __repr__

    def _repr_mimebundle_(self, include=None, exclude=None):
        """PNG nítido y ligero, con la descripción como texto alternativo y como texto llano.

        Va dos veces: JupyterLab y ``nbconvert`` eligen el HTML, porque al PNG no le ponen el texto
        alternativo de los metadatos; un PDF y los visores que no aceptan el HTML, el PNG.
        """
        raw, small = io.BytesIO(), io.BytesIO()
        with rc_context(STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing")  # un emoji se ve como un recuadro
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
