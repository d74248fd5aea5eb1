"""Los módulos, donde torch los tiene. De las convoluciones, solo el nombre, por si se pregunta."""

from types import SimpleNamespace

from torch.nn.modules import module
from torch.nn.modules.module import Dropout, Linear, Module  # noqa: F401

conv = SimpleNamespace(_ConvNd=type("_ConvNd", (module.Module,), {}))
