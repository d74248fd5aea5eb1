"""La cabeza de inducción: qué se repite, qué se mide y qué lee la que nace con dos capas; y lo que la 15 mide
dentro de SmolLM2, contra TransformerLens, una biblioteca del campo."""

import json

import pytest
import torch
from tools import lens_reference, notebooks

from course_checkers.lessons import l15_questions as question
from course_lib.decoder_only import DecoderOnly
from course_lib.induction import induction_score, learn_induction, repeated
from course_lib.llama import encode
from course_lib.probes import hooked


def test_what_is_seen_is_what_comes_again():
    ids, seen = repeated(3, torch.tensor([[2], [3], [5]]), 8, 50, torch.Generator().manual_seed(0))
    assert (ids.shape, seen.shape) == ((3, 8), (3, 7))
    for row, known, period in zip(ids.tolist(), seen.tolist(), (2, 3, 5)):
        assert row == [row[i % period] for i in range(8)]
        assert known == [i >= period for i in range(7)]


def test_the_score_is_the_weight_of_what_followed():
    weights = torch.rand(2, 3, 10, 10).softmax(-1)
    by_hand = sum(weights[..., i, i - 4] for i in range(5, 10)) / 5
    torch.testing.assert_close(induction_score(weights), by_hand)


def flat(model, head, inside=()):
    """La inducción media de la capa 1 si esa cabeza de la 0 dice su media; o si solo lo ven unas partes."""
    block, entered = model.layers[0].attention, []
    own = slice(head * block.dim_key, (head + 1) * block.dim_key)
    ids, _ = repeated(128, 12, 24, 64, torch.Generator().manual_seed(1))

    def hook(_, inputs):
        said = inputs[0].clone()
        said[..., own] = said[..., own].mean(dim=(0, 1))
        return (said,)

    placed = [(block.output_projection, hook)]
    if inside:
        with hooked(*placed, (inside[0], lambda _, inputs: entered.append(inputs[0]))):
            model(ids)
        placed = [(part, lambda _, inputs: (entered[0],)) for part in inside]
    with torch.no_grad(), hooked(*placed):
        return induction_score(model(ids, need_weights=True)[1][1]).mean().item()


@pytest.mark.lenta
@pytest.mark.parametrize(("seed", "head", "left"), [(0, 3, 0.58), (2, 1, 0.57)])
def test_with_other_seeds_too_it_reads_in_the_keys_what_the_other_wrote(seed, head, left):
    """Lo que dice 15a00014 de otras semillas; y, como en 6.3, que es por las keys y no por las queries."""
    torch.manual_seed(seed)
    model = DecoderOnly(64, 64, heads=4, Nx=2, rotary_base=100.0).double()
    list(learn_induction(model, every=400, seed=seed))
    reader = model.layers[1].attention
    assert flat(model, head) == pytest.approx(left, abs=0.02)
    assert flat(model, head, [reader.key_projection]) < 0.63
    assert flat(model, head, [reader.query_projection]) > 0.72


def test_it_says_what_is_wrong_with_every():
    with pytest.raises(ValueError, match="learn_induction: every = 0"):
        next(learn_induction(DecoderOnly(8, 8, 2, 1), every=0))


@pytest.mark.lenta
def test_the_question_has_the_numbers_of_the_model():
    from course_lib import causal_mask, load_llama

    model, tokenizer = load_llama()
    ids, mask = encode(tokenizer, question.TEXT), causal_mask(5)
    states = [model.embedding(ids)]
    with torch.no_grad():
        for layer in model.layers:
            states.append(layer(states[-1], mask)[0])
        last = torch.stack(states)[:, 0, -1]
        winners = [model.output_projection(x).argmax(-1) for x in (model.normalization(last), last)]
    wanted = tokenizer.encode(question.WORD).ids[0]
    assert len(states) == question.STATES
    assert tuple((w == wanted).sum().item() for w in winners) == question.WINS


# --- La lección 15, contra TransformerLens --------------------------------------------------------

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
