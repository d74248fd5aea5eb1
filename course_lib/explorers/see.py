"""La atención, vista y oída: adónde mira un trozo de una fotografía, y a qué segundo cada token."""

import base64
import zlib

import torch
import traitlets

from course_lib.explorers import sensed
from course_lib.explorers.base import AskingExplorer, esm
from course_lib.explorers.declared import SHARED, Whole, last

STRONGEST = 5  # los que se nombran
NOTHING = {"sizes": (12, 12, 448)}  # si no se ha podido mirar nada, lo que se mediría


def compute(saved, heads, row):
    """Dice a qué mira una fila, de media con esas cabezas.

    Returns:
        Diccionario: ``weights``, los C pesos; ``top``, los cinco mayores; y ``rest``, lo que mira fuera.
    """
    raw = bytearray(zlib.decompress(base64.b64decode(saved["numbers"])))
    whole = torch.frombuffer(raw, dtype=torch.uint8).double().view(len(saved["heads"]), len(saved["rows"]), -1)
    whole = whole[[saved["heads"].index(pair) for pair in heads], saved["rows"].index(row)]
    rest, most = ((256 * whole[:, :2] + whole[:, 2:4]) / 65_535).unbind(-1)
    weights = (most[:, None] * whole[:, 4:] / 255).mean(0)
    weights = [round(weight, 9) for weight in weights.tolist()]
    top = sorted(range(len(weights)), key=lambda j: -weights[j])[:STRONGEST]
    return {"weights": weights, "top": top, "rest": rest.mean().item()}


class SeeExplorer(AskingExplorer):
    """A qué mira cada trozo de una fotografía, en DINOv2; o cada token que Whisper oye en un sonido.

    Args:
        picture, sound: la fotografía, como en ``read_picture``, o el sonido, como en ``read_sound``; lo que
            no se puede leer, se dice en su sitio.
        layer: la capa.
        head: la cabeza; −1 es la media: de todas las de la capa o, en un sonido, de las ocho que lo siguen.
        row: el trozo, por filas desde 0, o el token.
    """

    _esm = esm("see")
    data = traitlets.Dict().tag(**SHARED)  # lo que se dibuja
    saved = traitlets.Dict().tag(**SHARED)  # lo que da `packed`
    # Sin kernel, solo lo que viaja.
    layer = Whole(0, last("data.sizes.0"), 3, key="capa", page={"of": "saved.heads.*.0"})
    head = Whole(-1, last("data.sizes.1"), key="cabeza", page={"of": "saved.heads.*.1", "or": -1})
    row = Whole(0, last("data.sizes.2"), key="fila", page={"of": "saved.rows.*"})
    recorded = traitlets.Any(None).tag(**SHARED, from_json=lambda value, _: value and bytes(value))  # un WAV
    _failed = "No he podido oírlo"

    def __init__(self, picture="gata", sound=None, **state):
        first = {"head": 1, "row": 119} if sound is None else {}
        try:
            first["data"] = self._read(sensed.look, picture) if sound is None else self._read(sensed.hear, sound)
        except traitlets.TraitError as problem:
            first |= {"data": NOTHING, "error": problem.reason}
        super().__init__(**first | state)
        self._fill()

    def _read(self, sense, source):
        data, self._rest, self._seen = sensed.read(sense, source)
        return data

    def _heads(self):
        every = [[self.layer, head] for head in range(self.data["sizes"][1])]
        return self.data.get("following", every) if self.head < 0 else [[self.layer, self.head]]

    @traitlets.observe("layer", "head", "row")
    def _fill(self, _change=None):
        """Guarda lo que se mira: de un sonido, todos los tokens; de una fotografía, un trozo de cada cuatro."""
        kept, heads, rows = self.saved, self._heads(), range(self.data["sizes"][2])
        if "image" not in self.data or all(pair in kept.get("heads", ()) for pair in heads) and self.row in kept["rows"]:
            return
        if "side" in self.data:
            side, heads = self.data["side"], [[self.layer, head] for head in range(self.data["sizes"][1])]
            rows = [i for i in rows if not (i // side - self.row // side) % 2 and not (i - self.row) % 2]
        else:
            heads = self.data["following"] + [pair for pair in heads if pair not in self.data["following"]]
        self.saved = sensed.packed(self._rest, self._seen, heads, list(rows))

    def _take(self, _asked):
        if self.recorded is None:
            return
        recorded, self.recorded = self.recorded, None
        data = self._read(sensed.hear, recorded)
        with self.hold_trait_notifications():
            self.data, self.saved, self.head, self.row = data, {}, -1, 0
        self._fill()

    def describe(self):
        if "image" not in self.data:
            return f"Lo que se ve y lo que se oye: {self.error}"
        found, step = compute(self.saved, self._heads(), self.row), self.data.get("step", 0)
        name = (lambda j: f"{step * j:.2f} s") if step else self._place
        best = ", ".join(f"{name(j)} ({found['weights'][j]:.2f})" for j in found["top"][:3])
        who = f"«{self.data['tokens'][self.row].strip()}»" if step else self._place(self.row)
        which = f"capa {self.layer}, " + (f"cabeza {self.head}" if self.head >= 0 else "media de las cabezas")
        which = "las ocho cabezas que lo siguen" if step and self.head < 0 else which
        rest = f"al {'silencio que lo sigue' if step else 'token del principio'}, {found['rest']:.2f}"
        return f"«{self.data['name']}», {which}: {who} mira sobre todo a {best}; y {rest}."

    def _place(self, patch):
        return f"fila {patch // self.data['side']}, columna {patch % self.data['side']}"
