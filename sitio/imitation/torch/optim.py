"""Los optimizadores: cómo se mueve cada número con su gradiente."""

import numpy as np
from torch.overrides import lacking, refuse

allowed = [True, False]  # lo que entrena tarda: la página, primero, lo deja sin hacer; y si se ha pedido
__getattr__ = lacking("torch.optim")


class Optimizer:
    """Lo común: los grupos de parámetros, con sus ajustes, y lo que se recuerda de cada uno."""

    def __init__(self, params, **defaults):
        allowed[1] = not allowed[0]
        params = list(params) if allowed[0] else refuse("torch.optim")
        if not params:
            raise ValueError("optimizer got an empty parameter list")
        groups = params if isinstance(params[0], dict) else [{"params": params}]
        self.defaults, self.state = defaults, {}
        self.param_groups = [defaults | one | {"params": list(one["params"])} for one in groups]

    def zero_grad(self, set_to_none=True):
        for group in self.param_groups:
            for one in group["params"]:
                one.grad = None

    def step(self):
        for group in self.param_groups:
            for one in group["params"]:
                if one.grad is not None:
                    kept = self.state.setdefault(id(one), {"step": 0})
                    kept["step"] += 1
                    self.move(one.array, one.grad.array, kept, **{name: group[name] for name in self.defaults})


class SGD(Optimizer):
    def __init__(self, params, lr=1e-3, momentum=0, weight_decay=0):
        super().__init__(params, lr=lr, momentum=momentum, weight_decay=weight_decay)

    def move(self, x, grad, kept, lr, momentum, weight_decay):
        grad = grad + weight_decay * x if weight_decay else grad
        if momentum:
            kept["buffer"] = grad = momentum * kept["buffer"] + grad if "buffer" in kept else grad.copy()
        x -= lr * grad


class Adam(Optimizer):
    apart = False  # si lo que encoge los pesos no pasa por el gradiente

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0):
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)

    def move(self, x, grad, kept, lr, betas, eps, weight_decay):
        if weight_decay and self.apart:
            x *= 1 - lr * weight_decay
        elif weight_decay:
            grad = grad + weight_decay * x
        mean, square = kept.setdefault("moments", (np.zeros_like(x), np.zeros_like(x)))
        mean += (grad - mean) * (1 - betas[0])
        square *= betas[1]
        square += (1 - betas[1]) * grad * grad
        first, second = (1 - beta ** kept["step"] for beta in betas)
        x -= lr / first * mean / (np.sqrt(square) / second**0.5 + eps)


class AdamW(Adam):
    apart = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2):
        super().__init__(params, lr, betas, eps, weight_decay)
