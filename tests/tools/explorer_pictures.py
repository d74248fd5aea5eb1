"""Fotografía los exploradores guardados en las lecciones, para quien las lee sin JavaScript.

    python tests/tools/explorer_pictures.py

Deja en ``imagenes/exploradores`` un PNG de cada uno, tal como se abre, y en ``alturas.json``, lo que
mide de alto en el sitio, que así le guarda el sitio. Necesita Chromium.
"""

import io
import json
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from helpers_browser import FLAGS, ROOT, find_chromium  # noqa: E402
from helpers_explorers import LESSONS, SHOW, drawn  # noqa: E402
from helpers_sitio import build, rooms  # noqa: E402

FOLDER = ROOT / "imagenes" / "exploradores"
SIZE, MAX_BYTES = {"width": 860, "height": 1200}, 60_000
QUALITIES = [(scale, colors) for scale in (1.5, 1.25, 1) for colors in (64, 32)]


def pictures():
    """La foto de cada explorador guardado: ``{nombre del archivo: estado}``."""
    found = [(path.stem[:2], state) for path in LESSONS for state in drawn(path)]
    return {f"{n}-{state['_anywidget_id'].rpartition('.')[2]}.png": state for n, state in found}


def main():
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        for name, state in pictures().items():
            for scale, colors in QUALITIES:  # la mejor que cabe
                page = browser.new_page(viewport=SIZE, device_scale_factor=scale)
                page.set_content("<body style='margin: 0; background: white'>")
                page.evaluate(SHOW, [state])
                page.wait_for_timeout(500)  # la frase espera a que la mano pare
                picture = Image.open(io.BytesIO(page.locator(".exp").screenshot())).convert("RGB")
                page.close()
                picture = picture.quantize(colors, Image.Quantize.MAXCOVERAGE, dither=0)
                picture.save(FOLDER / name, optimize=True)
                if (FOLDER / name).stat().st_size <= MAX_BYTES:
                    break
        with tempfile.TemporaryDirectory() as folder:
            build(Path(folder) / "_sitio")
            heights = rooms(browser, Path(folder) / "_sitio")
        lines = ",\n".join(f'  "{name}": {json.dumps(both)}' for name, both in sorted(heights.items()))
        (FOLDER / "alturas.json").write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
