"""Lo que un entrenamiento guarda: sus puntos de control, para seguir si se corta, y los pesos al final."""

import hashlib
import json

import torch
from safetensors import safe_open
from safetensors.torch import save_file


def digest(data):
    """La huella de unos bytes: si cambia, es otro entrenamiento."""
    return hashlib.sha256(data).hexdigest()


def save_checkpoint(folder, model, averaged, optimizers, origin, state):
    """Guarda el punto de control: pesos, medias, momentos, de qué entrenamiento es y por dónde va."""
    tensors = {f"model.{name}": tensor for name, tensor in own_parameters(model).items()}
    tensors |= {f"averaged.{name}": tensor for name, tensor in own_parameters(averaged).items()}
    for k, optimizer in enumerate(optimizers):
        for i, values in optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{k}.{i}.{name}": tensor for name, tensor in values.items()}
    new = folder / "control.nuevo"
    save_file(tensors, new, {"origin": json.dumps(origin), "state": json.dumps(state)})
    new.replace(folder / "control.safetensors")  # si se corta a medias, queda el anterior


def resume(folder, model, averaged, optimizers, origin):
    """Carga el punto de control de ``folder``, si lo hay, y devuelve por dónde iba.

    Raises:
        ValueError: si es de otro entrenamiento.
    """
    path = folder / "control.safetensors"
    if not path.is_file():
        return {"epoch": 0, "step": 0, "total_steps": 0, "history": []}
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    saved = json.loads(metadata.get("origin", "{}"))
    different = [name for name, value in origin.items() if saved.get(name) != value]
    if different:
        raise ValueError(
            f"{path} es de otro entrenamiento: cambian {' y '.join(different)}. Elige otra carpeta o "
            "bórralo."
        )
    for prefix, module in (("model.", model), ("averaged.", averaged)):
        parameters = dict(module.named_parameters())
        with torch.no_grad():
            for name, parameter in parameters.items():
                parameter.copy_(tensors[prefix + name])
    moments = [{} for _ in optimizers]
    for name, tensor in tensors.items():
        if name.startswith("optimizer."):
            _, k, i, key = name.split(".")
            moments[int(k)].setdefault(int(i), {})[key] = tensor
    for optimizer, state in zip(optimizers, moments):
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": state, "param_groups": groups})
    return json.loads(metadata["state"])


def export(model, configuration, words, folder):
    """Guarda en ``folder`` los pesos, en 16 bits y sin repetir los compartidos, y lo demás."""
    half = {name: tensor.half() for name, tensor in own_parameters(model).items()}
    save_file(half, folder / "model.safetensors")
    text = json.dumps(configuration, indent=2)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")
    (folder / "words.json").write_text(json.dumps(words, separators=(",", ":")), encoding="utf-8")


def own_parameters(model):
    """Los parámetros, sin repetir los que comparten memoria."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}
