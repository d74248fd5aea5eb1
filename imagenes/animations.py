"""Las animaciones: el producto escalar de dos vectores que giran.

El ángulo entre dos vectores va de 0° a 180°: el segundo vector hace ese
recorrido de ida y de vuelta, y nunca pasa de ahí.
"""

from io import BytesIO

import numpy as np
from matplotlib import style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.patches import Arc, FancyBboxPatch
from matplotlib.patheffects import withStroke
from PIL import Image

from course_lib.plots import palette as c

ANGLES = range(0, 181, 3)  # grados; de vuelta, los mismos al revés
FRAME_MS, PAUSE_MS = 60, 900  # duración normal y en 0°, 90° y 180°
COLOURS, APART = 64, 16  # de la paleta común: cuántos, y cuánto difieren entre sí

WIDTH, HEIGHT = 800, 420  # píxeles
PLANE = (10, 10, 450, 300)  # izquierda, abajo, ancho y alto del plano
CURVE = (515, 52, 250, 172)

SIGNS = {
    1: (c.PURPLE, "positivo: hacia el mismo lado"),
    0: (c.GREY, "cero: perpendiculares"),
    -1: (c.ORANGE, "negativo: hacia lados opuestos"),
}


def sign_at(degrees):
    """Signo exacto del producto escalar, sin depender de cos(90°) en coma flotante."""
    return (degrees < 90) - (degrees > 90)


def cos_sin(degrees):
    """Coseno y seno redondeados: los mismos en cualquier procesador, y cos 90° es exactamente 0."""
    theta = np.radians(degrees)
    return np.round(np.cos(theta), 9), np.round(np.sin(theta), 9)


def reading(norms, degrees):
    """Los textos de cos θ y de u·v; tantos decimales, que el segundo sale también del primero."""
    decimals = 4 if norms == (1, 1) else 1
    cosine, _ = cos_sin(degrees)
    texts = f"{cosine:.4f}", f"{norms[0] * norms[1] * cosine:.{decimals}f}"
    return tuple(text.replace("-", "−") for text in texts)


class TurningDotProduct:
    """El plano con u y v, y al lado la curva u·v = ‖u‖‖v‖ cos θ con el punto del momento."""

    def __init__(self, norm_u, norm_v):
        self.norm_u, self.norm_v = norm_u, norm_v
        self.unit = (1.3 * norm_v + 1.22 * norm_u) / PLANE[2]  # lo que mide un píxel en el plano
        self.moving = []
        self.figure = Figure(figsize=(WIDTH / 100, HEIGHT / 100), dpi=100, facecolor=c.PAPER)
        FigureCanvasAgg(self.figure)
        self._plane()
        self._readout()
        self._curve()

    def _axes(self, left, bottom, width, height):
        return self.figure.add_axes((left / WIDTH, bottom / HEIGHT, width / WIDTH, height / HEIGHT))

    def _plane(self):
        u, v, unit = self.norm_u, self.norm_v, self.unit
        ax = self.plane = self._axes(*PLANE)
        ax.set(xlim=(-1.3 * v, 1.22 * u), ylim=(-80 * unit, (PLANE[3] - 80) * unit))
        ax.axis("off")
        for tick in np.arange(-4, 4.5, 0.5 if max(u, v) == 1 else 1):
            ax.axvline(tick, color=c.MIST, lw=1, zorder=0)
            ax.axhline(tick, color=c.MIST, lw=1, zorder=0)
        cosines, sines = cos_sin(np.arange(181))
        ax.axhline(0, color=c.GREY, lw=1, zorder=1)
        ax.plot(v * cosines, v * sines, ":", color=c.GREY, lw=1.5, zorder=1)
        self._vector(u, 0, c.QUERY, zorder=4)
        self._letter(u + 18 * unit, 0, "u")
        self.below = -22 * unit
        (self.drop,) = ax.plot([], [], "--", color=c.GREY, lw=1.5, zorder=2)
        (self.projection,) = ax.plot([], [], lw=9, solid_capstyle="butt", zorder=3)
        ax.text(
            0,
            -55 * unit,
            "proyección de v sobre u: ‖v‖ cos θ",
            size=13,
            color=c.INK,
            ha="center",
            va="center",
            bbox={"fc": c.PAPER, "ec": "none", "pad": 2},
        )

    def _vector(self, x, y, colour, zorder):
        arrow = {
            "arrowstyle": "-|>,head_width=0.45,head_length=0.9",
            "mutation_scale": 16,
            "color": colour,
            "lw": 4.5,
            "shrinkA": 0,
            "shrinkB": 0,
            "joinstyle": "miter",
        }
        return self.plane.annotate("", (x, y), (0, 0), zorder=zorder, arrowprops=arrow)

    def _letter(self, x, y, letter, size=20, **options):
        return self.plane.text(
            x,
            y,
            letter,
            size=size,
            color=c.INK,
            ha="center",
            va="center",
            **{"weight": "bold", "zorder": 6, **options},
        )

    def _readout(self):
        def text(x, y, words, **options):
            place = (x / WIDTH, y / HEIGHT)
            return self.figure.text(*place, words, color=c.INK, va="center", **options)

        text(24, 388, f"‖u‖ = {self.norm_u}     ‖v‖ = {self.norm_v}", size=17)
        self.theta = text(300, 388, "", size=17)
        self.cosine = text(480, 388, "", size=17)
        self.product = text(24, 345, "", size=20, weight="bold")
        self.pill = FancyBboxPatch(
            (480 / WIDTH, 268 / HEIGHT),
            300 / WIDTH,
            36 / HEIGHT,
            mutation_aspect=WIDTH / HEIGHT,
            boxstyle="round,pad=0,rounding_size=0.012",
            lw=2,
            transform=self.figure.transFigure,
        )
        self.figure.add_artist(self.pill)
        self.verdict = text(630, 285, "", size=13, ha="center")

    def _curve(self):
        ax = self.curve = self._axes(*CURVE)
        top = self.norm_u * self.norm_v
        angles = np.arange(0, 181)
        values = top * cos_sin(angles)[0]
        ax.plot(angles, values, color=c.INK, lw=2.5, zorder=2)
        for sign in (1, -1):
            ax.fill_between(
                angles, values, where=sign * values >= 0, color=SIGNS[sign][0], alpha=0.3, lw=0
            )
        ax.axhline(0, color=c.GREY, lw=1)
        ax.set(
            xlim=(0, 180),
            ylim=(-1.2 * top, 1.2 * top),
            xticks=range(0, 181, 45),
            yticks=(-top, 0, top),
        )
        ax.set_xticklabels([f"{x}°" for x in range(0, 181, 45)])
        ax.set_yticklabels([f"−{top}", "0", f"{top}"])
        ax.tick_params(labelsize=12, pad=8, labelcolor=c.INK, color=c.GREY)
        ax.set_title("u·v según el ángulo θ", size=13, color=c.INK, pad=5)
        ax.spines[["top", "right"]].set_visible(False)
        ax.spines[["left", "bottom"]].set_color(c.GREY)
        (self.stem,) = ax.plot([], [], color=c.GREY, lw=1.5, ls="--", zorder=3)
        (self.point,) = ax.plot([], [], "o", ms=13, mec=c.INK, mew=2, zorder=4, clip_on=False)

    def _move_plane(self, degrees, colour):
        v, unit = self.norm_v, self.unit
        cosine, sine = cos_sin(degrees)
        x, y = v * cosine, v * sine
        for artist in self.moving:
            artist.remove()
        aside = cos_sin(degrees + 60 * cosine)  # la letra se aparta del eje en 0° y en 180°
        self.moving = [
            self._vector(x, y, c.KEY, zorder=5),
            self._letter(x + 22 * unit * aside[0], y + 22 * unit * aside[1], "v"),
            self.plane.add_patch(
                Arc((0, 0), 96 * unit, 96 * unit, theta2=degrees, color=c.INK, lw=2, zorder=3)
            ),
        ]
        if degrees > 32:  # con menos no cabe la letra
            half = cos_sin(degrees / 2)
            halo = [withStroke(linewidth=5, foreground=c.PAPER)]
            self.moving.append(
                self._letter(
                    66 * unit * half[0],
                    66 * unit * half[1],
                    "θ",
                    size=17,
                    weight="normal",
                    zorder=2.5,
                    path_effects=halo,
                )
            )
        self.drop.set_data([x, x], [y, self.below])
        self.projection.set(data=([0, x], [self.below] * 2), color=colour)

    def frame(self, degrees):
        """La imagen RGB para un ángulo en grados enteros."""
        u, v = self.norm_u, self.norm_v
        colour, verdict = SIGNS[sign_at(degrees)]
        self._move_plane(degrees, colour)
        cosine, product = reading((u, v), degrees)
        factor = f"({cosine})" if cosine.startswith("−") else cosine
        self.theta.set_text(f"θ = {degrees}°")
        self.cosine.set_text(f"cos θ = {cosine}")
        self.product.set_text(f"u·v = ‖u‖ ‖v‖ cos θ = {u} · {v} · {factor} = {product}")
        self.pill.set(facecolor=to_rgba(colour, 0.3), edgecolor=colour)
        self.verdict.set_text(verdict)
        value = u * v * cos_sin(degrees)[0]
        self.stem.set_data([degrees] * 2, [0, value])
        self.point.set(data=([degrees], [value]), markerfacecolor=colour)
        self.figure.canvas.draw()
        return Image.fromarray(np.asarray(self.figure.canvas.buffer_rgba())).convert("RGB")


def common_palette(frames):
    """Los colores más frecuentes, comunes a los fotogramas: ninguno baila de uno a otro."""
    width, height = frames[0].size
    sample = Image.new("RGB", (width, height * 5))
    for row in range(5):
        sample.paste(frames[row * (len(frames) - 1) // 4], (0, row * height))
    chosen = []
    for _, colour in sorted(sample.getcolors(width * height * 5), reverse=True):
        far = all(
            max(abs(a - b) for a, b in zip(colour, other, strict=True)) >= APART for other in chosen
        )
        if far and len(chosen) < COLOURS:
            chosen.append(colour)
    shared = Image.new("P", (1, 1))
    shared.putpalette([channel for colour in chosen for channel in colour])
    return shared


def turning_dot_product(norms=(1, 1)):
    """Los bytes del GIF: v gira de 0° a 180° y vuelve, u queda fijo."""
    with style.context(["default", {"font.family": c.FONT}]):  # pase lo que pase fuera
        drawing = TurningDotProduct(*norms)
        frames = [drawing.frame(angle) for angle in ANGLES]
    shared = common_palette(frames)
    frames = [frame.quantize(palette=shared, dither=Image.Dither.NONE) for frame in frames]
    there_and_back = list(range(len(ANGLES))) + list(range(len(ANGLES) - 2, 0, -1))
    durations = [PAUSE_MS if ANGLES[i] in (0, 90, 180) else FRAME_MS for i in there_and_back]
    first, *others = (frames[i] for i in there_and_back)
    buffer = BytesIO()
    first.save(
        buffer,
        "GIF",
        save_all=True,
        append_images=others,
        duration=durations,
        loop=0,
        optimize=True,
    )
    return buffer.getvalue()
