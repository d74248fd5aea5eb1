"""Los módulos de torch."""

from torch.nn import functional, init, modules, utils
from torch.nn.modules.module import (
    GELU,
    Buffer,
    CosineSimilarity,
    CrossEntropyLoss,
    Dropout,
    Embedding,
    Identity,
    LayerNorm,
    Linear,
    LogSoftmax,
    Module,
    ModuleDict,
    ModuleList,
    MSELoss,
    MultiheadAttention,
    Parameter,
    ParameterDict,
    ParameterList,
    ReLU,
    RMSNorm,
    Sequential,
    Sigmoid,
    SiLU,
    Softmax,
    Softplus,
    Tanh,
    Transformer,
    UninitializedParameter,
)


def __getattr__(name):
    from torch import known

    known("nn", name, f"module 'torch.nn' has no attribute '{name}'")


__all__ = [name for name in dir() if name[0] != "_"]
