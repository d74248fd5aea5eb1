"""Lo que TransformerLens dice de SmolLM2: con eso se compara, cada noche, la lección 15.

    python -m venv OTRO
    OTRO/bin/pip install -r tests/requirements-lens.txt
    OTRO/bin/python tests/tools/lens_reference.py CARPETA

Lo guarda en ``tests/transformer_lens.json``. CARPETA es la de SmolLM2, la que dice
``course_lib.model_files.smollm.smollm_folder()``. No usa nada del curso: por eso sirve para comprobarlo.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import torch

FILE = Path(__file__).parents[1] / "transformer_lens.json"
ASKED = [
    ("The capital of France is", " Paris", " Rome"), ("The capital of Japan is", " Tokyo", " Madrid"),
    ("The opposite of hot is", " cold", " small"),
]  # fmt: skip
TWICE = " The council of Zarnow sold seven copper bells."


@torch.no_grad()
def reference(folder):
    """Atribuciones, lente, pesos y tablas QK y OV: listas de números, con tres decimales."""
    from transformer_lens.model_bridge import TransformerBridge

    model = TransformerBridge.boot_transformers(str(folder), device="cpu", dtype=torch.float32)
    model.set_use_attn_result(True)
    gain, table = model.ln_final.weight, model.W_U  # (d_model,) y (d_model, V)

    def ids(text):
        return torch.tensor(model.tokenizer(text, add_special_tokens=False).input_ids)

    origin = ", ".join(f"{name} {version(name)}" for name in ("transformer-lens", "transformers", "torch"))
    told = {"de": origin, "piezas": {}, "lente": {}}
    for text, want, other in ASKED:
        logits, cache = model.run_with_cache(ids(text)[None])
        dense = torch.stack([cache[f"blocks.{i}.hook_mlp_out"][0, -1:] for i in range(30)])
        heads = cache.stack_head_results(layer=30, pos_slice=-1).unflatten(0, (30, 9))[:, :, 0]
        parts = torch.cat([heads, dense], dim=1)  # (30, 10, d_model)
        want, other = ids(want)[0], ids(other)[0]
        towards = gain * (table[:, want] - table[:, other])
        scaled = cache.apply_ln_to_stack(parts.flatten(0, 1)[:, None], layer=-1, pos_slice=-1)[:, 0]
        ahead = logits[0, -1, want] - logits[0, -1, other]
        told["piezas"][text] = [want.item(), other.item(), ahead.item(), (scaled @ towards).tolist()]
        names = [f"blocks.{i}.hook_resid_pre" for i in range(30)] + ["blocks.29.hook_resid_post"]
        seen = torch.stack([cache[name][0, -1] for name in names])[None]
        told["lente"][text] = model.unembed(model.ln_final(seen))[0].softmax(-1)[:, want].tolist()
    twice = ids(TWICE).repeat(2)
    _, cache = model.run_with_cache(twice[None])
    q, k = (cache[f"blocks.18.attn.hook_{name}"][0] for name in "qk")  # antes de girar
    wrote = cache["blocks.23.attn.hook_v"][0, :, 2 // 3] @ model.blocks[23].attn.W_O[2]
    told["QK de la 18,6"] = (q[:, 6] @ k[:, 6 // 3].T / 8).tril().flatten().tolist()
    wrote = wrote * (wrote.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * gain
    told["OV de la 23,2"] = (wrote @ table[:, twice]).flatten().tolist()
    told["pesos de la 18,6"] = cache["blocks.18.attn.hook_pattern"][0, 6].flatten().tolist()
    return json.loads(json.dumps(told), parse_float=lambda number: round(float(number), 3))


if __name__ == "__main__":
    FILE.write_text(json.dumps(reference(sys.argv[1]), ensure_ascii=False) + "\n", encoding="utf-8")
