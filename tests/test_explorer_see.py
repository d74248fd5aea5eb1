"""El explorador que mira y escucha: sus cuentas, lo que guarda y lo que hace en un navegador."""

import io
import wave
from unittest import mock

import pytest
import torch
from helpers_browser import PHONE
from helpers_explorers import IN_JS, SHOW, ask, near, refuses, says

from course_lib import hearing, seeing
from course_lib.explorers import SeeExplorer, sensed
from course_lib.explorers.base import esm
from course_lib.explorers.see import compute
from course_lib.model_files import senses

TINY = """import torch
from course_lib import seeing
torch.manual_seed(2)
model = seeing.VisionTransformer(6, 24, 12, places=4).eval()
for tensor in model.parameters(): torch.nn.init.normal_(tensor, std=0.6)
real, seeing.load_vision = seeing.load_vision, lambda: model"""
COMPUTE = """Promise.all(value.map(async ([saved, ...rest]) =>
    module.compute(await module.inflate(saved), ...rest)))"""
MICROPHONE = """Object.defineProperty(navigator, 'mediaDevices', {value: {getUserMedia: async () => {
    const studio = new AudioContext(), tone = studio.createOscillator();
    tone.start();
    return tone.connect(studio.createMediaStreamDestination()).stream;
}}})"""


@pytest.fixture
def tiny(monkeypatch):
    """Dos modelos que no son los de verdad, y que están siempre."""
    monkeypatch.setattr(seeing, "load_vision", None)  # al acabar, el de antes
    exec(TINY, space := {})
    weights = torch.randn(6, 8, 4, 150, generator=torch.Generator().manual_seed(1)).softmax(-1)[..., :100] / 2
    for layer, head in hearing.ALIGNMENT:
        weights[layer, head, range(4), [5, 30, 60, 90]] = 0.4
    heard = hearing.Heard("El gato maúlla.", "es", [" El", " gato", " maúlla", "."], weights, [1.0] * 4)
    with wave.open(file := io.BytesIO(), "wb") as out:
        out.setparams((1, 2, 8000, 0, "NONE", ""))
        out.writeframes((9000 * torch.sin(torch.arange(24_000) / 3)).short().numpy().tobytes())
    monkeypatch.setattr(hearing, "load_whisper", lambda: ("modelo", "tokenizador"))
    monkeypatch.setattr(hearing, "transcribe", mock.Mock(return_value=heard))
    monkeypatch.setattr(hearing, "read_sound", mock.Mock(return_value=torch.randn(32_000)))
    monkeypatch.setattr(sensed, "mp3", lambda _: sensed.address("audio/wav", file))
    return space["model"], heard


@torch.no_grad()
def test_its_numbers_are_those_of_the_model(tiny):
    model, heard = tiny
    seen = torch.stack(model(seeing.read_picture("gata"))[1])[:, 0, :, 1:]
    picture, sound = SeeExplorer(), SeeExplorer(sound="servicio")
    asked = [(picture, 3, 1, 119), (picture, 3, 5, 120), (picture, 7, -1, 1), (picture, 11, 2, 255)]
    asked += [(sound, 3, -1, 0), (sound, 0, 2, 3), (sound, 3, 1, 2)]
    with mock.patch.object(type(model), "forward", side_effect=AssertionError):  # no vuelve a mirar
        for explorer, layer, head, row in asked:
            explorer.layer, explorer.head, explorer.row = layer, head, row
            given = seen if explorer is picture else heard.weights
            heads = hearing.ALIGNMENT if explorer is sound else [(layer, each) for each in range(6)]
            true = torch.stack([given[one][row] for one in (heads if head < 0 else [(layer, head)])]).mean(0)
            if explorer is sound:
                true = torch.cat([1 - true.sum()[None], true])  # delante, lo de fuera
            found = compute(explorer.saved, explorer._heads(), row)
            error = true[1:].max().item() / 400
            torch.testing.assert_close(torch.tensor(found["weights"]), true[1:], atol=error, rtol=0)
            assert found["rest"] == pytest.approx(true[0].item(), abs=1e-5)
            assert f"({max(found['weights']):.2f}), " in repr(explorer)
    assert (len(picture.saved["rows"]), sound.data["when"]) == (64, [0.1, 0.6, 1.2, 1.8])
    assert len(str(picture.get_state()).encode()) < 200_000


def test_what_it_does_not_take_is_said(tiny, monkeypatch, tmp_path):
    for name, value, wanted in (("layer", 12, "0 y 11"), ("head", 6, "−1 y 5"), ("row", 256, "0 y 255")):
        refuses(SeeExplorer, name, value, f"{name} = {value}, y tiene que ser un entero entre {wanted}")
    hearing.transcribe.return_value = hearing.Heard("", "es", [], torch.zeros(6, 8, 0, 10), [])
    wrong = {"«nada.png» no está ahí": ["nada.png"], "no se oye ninguna palabra": ["", "servicio"]}
    for reason, made in ({"«lo que has dado» no es una fotografía": [b"hola"]} | wrong).items():
        assert SeeExplorer(*made).error.startswith(reason)
        assert reason in repr(SeeExplorer(*made, layer=2))
    monkeypatch.undo()
    monkeypatch.setattr(senses, "FOLDER", tmp_path)
    sensed.loaded.cache_clear()
    assert SeeExplorer().error.startswith("Falta el modelo dinov2, o está dañado. «python curso.py abrir")


def test_what_is_recorded_is_heard_and_not_kept(tiny):
    explorer = SeeExplorer(sound="servicio", row=3)
    explorer.set_state({"recorded": memoryview(b"RIFF")})
    ask(explorer)
    assert hearing.read_sound.call_args[0][0].getvalue() == b"RIFF"
    assert (explorer.recorded, explorer.row, explorer.error) == (None, 0, "")
    hearing.read_sound.side_effect, before = ValueError("read_sound: no se oye nada"), explorer.data
    explorer.recorded = b"RIFF"
    ask(explorer)
    assert (explorer.error, explorer.data, explorer.recorded) == ("no se oye nada", before, None)


@pytest.fixture
def page(browser):
    """Una página como la del sitio, sin kernel, en un teléfono."""
    with browser.new_context(viewport=PHONE, has_touch=True) as context:
        yield context.new_page()


def test_a_picture_obeys_the_finger_and_the_keys_on_what_is_saved(page, tiny):
    """Sin kernel se ven una capa y un trozo de cada cuatro: los demás no se ofrecen."""
    explorer = SeeExplorer()
    page.evaluate(SHOW, [explorer.get_state()])
    says(page, "El trozo de la fila 7, columna 7, mira sobre todo al de la fila")
    stage = page.get_by_role("slider", name="«gata», en 16 × 16 trozos")
    stage.press("ArrowRight")
    stage.press("ArrowDown")
    assert stage.get_attribute("aria-valuetext") == "fila 9, columna 9"
    box, explorer.row = stage.bounding_box(), 31
    page.touchscreen.tap(box["x"] + 0.98 * box["width"], box["y"] + 0.02 * box["height"])
    says(page, "fila 1, columna 15, mira")
    best = compute(explorer.saved, [[3, 1]], 31)
    rows = page.get_by_role("table", name="Lo que más mira").get_by_role("row").all_inner_texts()
    assert rows == [f"{explorer._place(j)}\t{best['weights'][j]:.3f}" for j in best["top"]]
    assert stage.evaluate("node => [scrollY, getComputedStyle(node).touchAction]") == [0, "none"]
    assert page.get_by_role("slider", name="capa").is_disabled()
    page.evaluate("models[0].widget_manager = {}")  # como con kernel, que lo calcula
    stage.press("ArrowLeft")
    page.get_by_text("Calculando…").wait_for()
    kept = explorer.saved, SeeExplorer(sound="servicio").saved
    cases = [[one, one["heads"][:most], n] for one in kept for n in one["rows"] for most in (1, 8)]
    assert page.evaluate(IN_JS, [esm("see"), COMPUTE, cases]) == [near(compute(*case)) for case in cases]


def test_a_sound_is_heard_word_by_word_and_recorded(page, tiny):
    page.evaluate(SHOW, [SeeExplorer(sound="servicio").get_state()])
    says(page, "«El» mira sobre todo a 0.10 s (0.4")
    words = page.get_by_role("group", name="Lo que ha escrito").get_by_role("button")
    words.first.press("ArrowRight")
    says(page, "«gato» mira sobre todo a 0.60 s")
    assert words.nth(1).evaluate("node => node === document.activeElement")
    box = page.get_by_alt_text("Espectrograma").bounding_box()
    page.touchscreen.tap(box["x"] + 0.7 * box["width"], box["y"] + 9)
    says(page, "«maúlla» mira sobre todo a 1.20 s")
    assert page.locator("option").all_inner_texts()[1::7] == ["capa 3, cabeza 1", "capa 5, cabeza 6"]
    page.get_by_role("button", name="Oírlo").tap()
    for word in ("gato", "maúlla", "."):
        page.locator(".s-now", has_text=word).wait_for()
    page.get_by_role("button", name="▶ Oírlo").wait_for()
    record = page.get_by_role("button", name="Grabar")
    assert not record.is_visible()
    page.evaluate("[models[0].widget_manager = {}, models[0].set('row', 1)]")  # como con kernel
    record.click()
    page.get_by_text("El navegador no deja usar el micrófono").wait_for()
    page.evaluate(MICROPHONE)
    record.click()
    page.wait_for_timeout(700)
    page.get_by_role("button", name="Parar y leerlo").click()
    page.wait_for_function("models[0].get('recorded') && models[0].get('request').serial")
    recorded = page.evaluate("[...new Uint8Array(models[0].get('recorded').buffer)]")
    with wave.open(io.BytesIO(bytes(recorded))) as sound:
        assert sound.getparams()[:3] == (1, 2, 16_000)
        assert max(memoryview(sound.readframes(160_000)).cast("h")) > 5_000


def test_with_a_kernel_there_is_everything(lab, shown):
    explorer, page = shown(*TINY.split("\n"), "SeeExplorer()"), lab.page
    explorer.get_by_role("slider", name="trozos").press("ArrowRight")
    says(page, "fila 7, columna 8, mira")
    explorer.get_by_role("slider", name="capa").press("End")
    assert lab.prints("print(explorer.layer, explorer.row, explorer.saved['heads'][0])", "11 120 [11, 0]")
    says(page, lab.ask("print(explorer)").split("sobre todo a ")[1].split(",")[0])
    lab.ask("seeing.load_vision = real")


@pytest.mark.lenta
@pytest.mark.skipif(not all(map(senses.sealed, ("whisper", "dinov2"))), reason="sin «abrir --ver-y-oir»")
def test_with_the_real_models():
    picture, sound = SeeExplorer(), SeeExplorer(sound="servicio", row=1)
    assert "cabeza 1: fila 7, columna 7 mira sobre todo a fila 8, columna 7 (0.96)" in repr(picture)
    assert "las ocho cabezas que lo siguen: «número» mira sobre todo a 0." in repr(sound)
    assert max(len(str(one.get_state()).encode()) for one in (picture, sound)) < 140_000
    assert 10_000 < len(sound.data["audio"]) < 60_000
