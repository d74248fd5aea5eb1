"""Graba los exploradores en movimiento para el README, en un JupyterLab de verdad.

    python tests/tools/record_explorers.py

Deja en ``imagenes/capturas`` un GIF de cada uno, en bucle. Necesita Chromium.
"""

import io
import math
import sys
from pathlib import Path

from nbformat.v4 import new_code_cell
from PIL import Image, ImageOps

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helpers_browser import ROOT, open_lab, write  # noqa: E402

FOLDER = ROOT / "imagenes" / "capturas"
WIDTH = 900  # píxeles del GIF
COLORS = 160


def turn_the_query(page, explorer):
    """Lleva la query de «dog» a «hungry» y a «the», y vuelve."""
    plane = explorer.locator("svg").first.bounding_box()
    unit = plane["width"] / 6.8  # el plano va de −3,4 a 3,4
    x0, y0 = plane["x"] + plane["width"] / 2, plane["y"] + plane["height"] / 2
    angles = [math.radians(7.5 * k - 45) for k in range(31)]
    lengths = [math.sqrt(2) + k / 30 for k in range(31)]
    route = [(r * math.cos(t), r * math.sin(t)) for r, t in zip(lengths, angles)]
    page.mouse.move(x0 + route[0][0] * unit, y0 - route[0][1] * unit)
    page.mouse.down()
    for x, y in route + route[::-1]:
        page.mouse.move(x0 + x * unit, y0 - y * unit)
        page.wait_for_timeout(200)  # la frase espera a que la mano pare
        yield 1500 if (x, y) in (route[18], route[-1]) else 110
    page.mouse.up()


def read_the_heads(page, explorer):
    """Recorre los tokens y, después, otras cabezas."""
    tokens = explorer.get_by_role("radiogroup").first.get_by_role("radio")
    for position in (8, 4, 6, 2, 8):
        tokens.nth(position).hover()
        page.wait_for_timeout(300)
        yield 1400
    for head in (2, 8, 1):
        explorer.get_by_role("button", name=f"cabeza {head}", exact=True).click()
        page.wait_for_timeout(300)
        yield 1400


SCENES = {
    "geometria": ("GeometryExplorer()", turn_the_query),
    "atencion": ("AttentionExplorer()", read_the_heads),
}


def frame(explorer):
    picture = Image.open(io.BytesIO(explorer.screenshot())).convert("RGB")
    height = round(picture.height * WIDTH / picture.width)
    return picture.resize((WIDTH, height), Image.Resampling.LANCZOS)


def main():
    FOLDER.mkdir(exist_ok=True)
    with open_lab(ROOT) as lab:
        lab.page.set_viewport_size({"width": 1480, "height": 1100})
        for name, (code, scene) in SCENES.items():
            cell = new_code_cell(f"from course_lib.explorers import *\n{code}")
            assert lab.faults(write(lab, cell)) == []
            explorer = lab.page.locator(".exp")
            explorer.scroll_into_view_if_needed()
            frames, durations = [], []
            for duration in scene(lab.page, explorer):
                frames.append(frame(explorer))
                durations.append(duration)
            height = max(picture.height for picture in frames)
            frames = [ImageOps.pad(f, (WIDTH, height), color="white", centering=(0, 0)) for f in frames]
            palette = frames[0].quantize(COLORS, Image.Quantize.MAXCOVERAGE)
            frames = [picture.quantize(palette=palette, dither=0) for picture in frames]
            path = FOLDER / f"{name}.gif"
            options = {"append_images": frames[1:], "duration": durations, "loop": 0}
            frames[0].save(path, save_all=True, optimize=True, **options)
            print(f"{path.relative_to(ROOT)}: {len(frames)} imágenes, {path.stat().st_size} bytes")
            lab.close()


if __name__ == "__main__":
    main()
