"""Los módulos de torch."""

from torch import NAMES as _names
from torch.nn import functional, init, modules, utils

globals().update({name: one for name, one in vars(modules.module).items() if name in _names["nn"]})


def __getattr__(name):
    from torch import known

    known("nn", name, f"module 'torch.nn' has no attribute '{name}'")


__all__ = [name for name in dir() if name[0] != "_"]
