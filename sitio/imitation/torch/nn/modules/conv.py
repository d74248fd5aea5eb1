"""Las convoluciones, que aquí no están."""

from torch.nn.modules.module import Module


class _ConvNd(Module):
    pass
