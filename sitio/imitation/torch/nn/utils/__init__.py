"""De ``torch.nn.utils``, el relleno de frases."""

from torch.nn.utils import rnn  # noqa: F401
from torch.overrides import lacking

__getattr__ = lacking("torch.nn.utils")
