"""El explorador de influencia: sus mapas, sus límites y lo que hace en un navegador."""

import itertools

import pytest
import torch
from helpers_explorers import agrees, in_js, says

from course_lib import causal_mask
from course_lib.explorers.influence import LAYERS, InfluenceExplorer, compute, influence_maps
from course_lib.transformer import EncoderLayer


def test_maps_are_those_of_touching_one_by_one():
    torch.manual_seed(3)
    layers = [EncoderLayer(2, 8).requires_grad_(False) for _ in range(2)]
    x = torch.randn(1, 5, 8)
    maps = influence_maps(layers, x)
    assert maps.shape == (2, 2, 5, 5)
    push = torch.randn(8, generator=torch.Generator().manual_seed(0))
    for masked, mask in enumerate((None, causal_mask(5))):
        for j in range(5):
            touched = x.clone()
            touched[0, j] += push
            before, after = x, touched
            for depth, layer in enumerate(layers):
                before, after = layer(before, mask)[0], layer(after, mask)[0]
                change = (after - before)[0].norm(dim=-1)
                torch.testing.assert_close(maps[depth, masked, :, j], change, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("layers", range(1, LAYERS + 1))
def test_every_state(layers, masked):
    explorer = InfluenceExplorer(layers=layers, masked=masked)
    last = len(explorer.tokens) - 1
    for token in range(last + 1):
        explorer.token = token
        result = compute(explorer.maps, layers, masked, token)
        assert result["moved"] == list(range(token if masked else 0, last + 1))
        assert result["leaks"] == ([] if masked else list(range(token)))
        assert f"mueve {len(result['moved'])} de 12" in explorer.describe()


def test_its_text_says_its_state():
    assert repr(InfluenceExplorer()) == (
        "Influencia tras 1 capa de BERT, con máscara causal: tocar «it» mueve 4 de 12 salidas, "
        "0 de ellas anteriores."
    )


@pytest.mark.parametrize("masked", [True, False])
def test_the_first_token_has_nothing_before(masked):
    text = InfluenceExplorer(masked=masked, token=0).describe()
    assert text.endswith("«[CLS]» mueve 12 de 12 salidas, y es el primero: antes no hay nada.")


# --- En un navegador ------------------------------------------------------------------------------


def test_javascript_computes_the_same(lab):
    states = itertools.product(range(1, LAYERS + 1), (True, False), range(12))
    maps = InfluenceExplorer().maps
    agrees(lab, "influence", compute, [[maps, *state] for state in states])


SENTENCES = """value.map(([moved, token, masked]) =>
    module.sentence({moved, leaks: moved.filter(i => i < token)}, [...'abcd'], token, masked))"""


def test_what_it_says_is_true_in_every_case(lab):
    """Con máscara o sin ella, en el primero, en medio o al final, se mueva lo que se mueva."""
    sets = [[i for i in range(4) if number >> i & 1] for number in range(16)]
    states = [[moved, t, masked] for moved in sets for t in range(4) for masked in (True, False)]
    texts = in_js(lab, "influence", SENTENCES, states)
    for (moved, token, masked), text in zip(states, texts, strict=True):
        leaks = sum(i < token for i in moved)
        names = f": {', '.join('abcd'[i] for i in moved)}" if moved else ""
        assert text.startswith(f"Tocar «{'abcd'[token]}» mueve {len(moved)} de 4 salidas{names}. ")
        assert ("Es el primero: antes no hay nada." in text) == (token == 0)
        assert ("el futuro no se escapa" in text) == (masked and token > 0 and not leaks)
        assert ("Ninguna va antes" in text) == (token > 0 and not leaks)
        assert (f"Van antes {leaks}: a ellas les llega el futuro." in text) == (leaks > 1)
        assert ("Va antes 1: a ella le llega el futuro." in text) == (leaks == 1)


def test_it_answers_to_the_hand_and_to_the_keys(lab, shown):
    explorer, page = shown("InfluenceExplorer()"), lab.page
    says(page, "«it» mueve 4 de 12")
    explorer.get_by_role("button", name="Tocar gave").click()
    says(page, "«gave» mueve 10 de 12")
    page.keyboard.press("ArrowRight")
    says(page, "«the» mueve 9 de 12")
    page.keyboard.press("End")
    says(page, "«[SEP]» mueve 1 de 12")
    explorer.get_by_label("máscara causal").uncheck()
    says(page, "Van antes 11: a ellas les llega el futuro.")
    layers = explorer.get_by_role("slider", name="capas")
    layers.focus()
    page.keyboard.press("ArrowRight")
    assert layers.get_attribute("aria-valuetext") == "2"
    names = explorer.locator("[role=button]").all_text_contents()  # el mapa lleva los nombres
    assert explorer.locator("svg").last.locator("text").all_text_contents() == names + names
