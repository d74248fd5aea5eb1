"""La clase que escribe quien aprende: crearla, ver sus capas, ponerles unos pesos y llamarla (6.2)."""

import inspect

import torch
from torch import nn

from course_checkers.inside import layers
from course_checkers.inside.code import admits, is_stub, output_of


class WrittenClass:
    """Una clase, allí donde se ejecuta. Lo que se le pregunta lo contesta con datos.

    En lo que sigue, ``plan`` dice qué es cada una de sus capas y ``flipped``, si su constructor recibe
    antes la anchura.
    """

    def __init__(self, learner):
        self.learner = learner
        self.last = None  # la última instancia que se ha llamado dos veces

    def look(self):
        """Lo que se ve sin crearla: su nombre, de qué clase es, qué le falta y cómo se llama lo que recibe."""
        learner, forward = self.learner, getattr(self.learner, "forward", None)
        lacks = ""
        if learner is None or is_stub(forward):
            lacks = "todo"
        elif isinstance(learner, nn.Module):
            lacks = "instancia"
        elif not callable(learner):
            lacks = "no-es-clase"
        elif isinstance(learner, type) and not issubclass(learner, nn.Module):
            lacks = "no-es-modulo"
        elif forward is nn.Module.forward:
            lacks = "sin-forward"
        name, kind = getattr(learner, "__name__", ""), type(learner).__name__
        return {"name": name, "kind": kind, "lacks": lacks, "parameters": parameters(learner)}

    def build(self, heads, width, flipped=False):
        module = self.learner(width, heads) if flipped else self.learner(heads, width)
        if isinstance(module, nn.Module):
            module.eval()  # un nn.Dropout, aquí, estorba
            if any(isinstance(p, nn.UninitializedParameter) for p in module.parameters()):
                module(*(torch.zeros(1, 2, width) for _ in range(3)))  # las perezosas ya miden algo
        return module

    def create(self, flipped=False):
        """La crea con 4 cabezas y 12 de ancho. Dice qué sale, si admite tres entradas y qué capas tiene."""
        module = self.build(4, 12, flipped)
        if any(part is ... for part in (module if isinstance(module, tuple) else (module,))):
            return ...
        if not isinstance(module, nn.Module):
            return {"module": False, "kind": type(module).__name__}
        found = [tuple(layers.seen(layer)) for layer in layers.layers_of(module)]
        binds = admits(module.forward, ("query", "key", "value"))
        return {"module": True, "binds": binds, "layers": found}

    def run(self, plan, flipped, query, key, value, mask, weights, before=()):
        """Lo que devuelve con los pesos que se dan. Con ``before``, después de llamarla antes con eso."""
        if before and self.last:
            return called(self.last, query, key, value, mask)
        self.last = None
        module, refused = self.build(weights.heads, weights.width, flipped), []
        for layer in layers.fill(module, plan, weights):
            layer.register_forward_pre_hook(lambda layer, inputs: refused.append((layer, inputs)))
        try:
            if before:
                called(module, *before[:-1])
                self.last = module
            return called(module, query, key, value, mask)
        except Exception:
            # Si W_O no admite lo que le llega, es eso lo que se mira.
            layer, inputs = refused[-1] if refused else (None, ())
            x = next(iter(inputs), None)
            if isinstance(x, torch.Tensor) and x.shape[-1] != layer.in_features:
                return x.detach()
            raise

    def learns(self, plan, flipped, query, key, value, weights):
        """Adónde llega el gradiente: de cada capa, ``(nombre, dónde está, si llega)``, y de cada parámetro,
        ``(nombre, cuántos números, si llega, si es de una capa)``."""
        module = self.build(4, 12, flipped)
        layers.fill(module, plan, weights)
        output = output_of(module(query, key, value), tuple(query.shape))
        if output.requires_grad:
            (output * torch.randn_like(output)).sum().backward()
        found = [x for x in layers.layers_of(module) if x.path.strip(".") in plan.homes]
        ours = {id(x) for layer in found for x in (layer.weight, layer.bias)}
        reached = [(x.path, x.home, x.weight.grad is not None) for x in found]
        every = module.named_parameters()
        return reached, [(n, p.numel(), p.grad is not None, id(p) in ours) for n, p in every]

    def makes_layers(self, *given):
        """Si al llamarla usa capas que no tiene guardadas; recibe lo mismo que ``run``."""
        used = []
        handle = nn.modules.module.register_module_forward_pre_hook(lambda m, _: used.append(m))
        try:
            self.run(*given)
        except Exception:  # lo que interesa es hasta dónde ha llegado
            pass
        finally:
            handle.remove()
        outer = next((m for m in used if not isinstance(m, nn.Linear)), None)
        known = [layer.owner for layer in layers.layers_of(outer)] if outer is not None else []
        made = (module for module in used if isinstance(module, nn.Linear))
        return any(not any(layer is k for k in known) for layer in made)


def called(module, query, key, value, mask):
    if mask is not None and "mask" in inspect.signature(module.forward).parameters:
        return module(query, key, value, mask=mask)
    return module(query, key, value, *(() if mask is None else (mask,)))


def parameters(learner):
    try:
        return [name.lower() for name in inspect.signature(learner).parameters]
    except (TypeError, ValueError):
        return []
