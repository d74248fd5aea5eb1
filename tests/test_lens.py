"""Lo que la lección 15 mide dentro de SmolLM2, contra TransformerLens, una biblioteca del campo."""

import json

import pytest
import torch
from tools import lens_reference, notebooks

from course_lib.llama import encode

CELLS = "15a00002", "15a00016", "15a00024", "atribucion-piezas", "tablas-mide"


def near(ours, theirs):
    torch.testing.assert_close(ours.flatten().float(), torch.tensor(theirs), atol=3e-3, rtol=1e-3)


@pytest.mark.lenta
@torch.no_grad()
def test_the_lesson_measures_what_transformer_lens_measures():
    """Piezas de un logit, lente, pesos, y QK y OV sin girar: con las funciones de la lección."""
    lesson, saved = {}, json.loads(lens_reference.FILE.read_text(encoding="utf-8"))
    nb = notebooks.read(notebooks.ROOT / "notebooks" / "15_dentro_de_un_llm.ipynb")
    cells = {cell.id: cell.source for cell in nb.cells}
    for name in CELLS:
        exec(cells[name], lesson)
    for text, (want, other, ahead, parts) in saved["piezas"].items():
        ids = encode(lesson["tokenizer"], text)
        added, bare, total = lesson["pieces"](ids, torch.tensor([want]), torch.tensor([other]))
        near(added, parts)
        near(torch.stack([total, added.sum() + bare]), [ahead, ahead])
        near(lesson["lens"](lesson["states_of"](ids)[:, 0, -1])[:, want], saved["lente"][text])
    states, ids = lesson["twice"](lens_reference.TWICE)
    near(lesson["tables"](states, ids, 18, 6)[0].tril(), saved["QK de la 18,6"])
    near(lesson["tables"](states, ids, 23, 2)[1], saved["OV de la 23,2"])
    near(lesson["model"](ids[None], need_weights=True)[1][18][0, 6], saved["pesos de la 18,6"])
