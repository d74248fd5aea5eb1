"""Los módulos, donde torch los tiene."""

from torch.nn.modules import conv, module  # noqa: F401
from torch.nn.modules.module import Dropout, Linear, Module  # noqa: F401
