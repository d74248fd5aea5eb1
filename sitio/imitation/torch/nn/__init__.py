"""Los módulos de torch."""

from torch.nn import functional, init, modules, utils
from torch.overrides import NAMES as _names
from torch.overrides import lacking as _lacking

globals().update({name: one for name, one in vars(modules.module).items() if name in _names["nn"]})
__getattr__ = _lacking("torch.nn")
__all__ = [name for name in dir() if name[0] != "_"]
