"""Los módulos, donde torch los tiene."""

from torch.nn.modules import conv, module
from torch.nn.modules.module import Dropout, Linear, Module

__all__ = ["Dropout", "Linear", "Module", "conv", "module"]
