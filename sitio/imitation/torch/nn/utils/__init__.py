"""De ``torch.nn.utils``, el relleno de frases y el recorte de los gradientes."""

from torch.linalg import vector_norm
from torch.nn.utils import rnn  # noqa: F401
from torch.overrides import lacking
from torch.shapes import stack


def clip_grad_norm_(parameters, max_norm, norm_type=2.0):
    grads = [one.grad for one in parameters if one.grad is not None]
    total = vector_norm(stack([vector_norm(one, norm_type) for one in grads]), norm_type)
    for one in grads:
        one.mul_((max_norm / (total + 1e-6)).clamp(max=1.0))
    return total


__getattr__ = lacking("torch.nn.utils")
