"""Con qué números empieza un parámetro."""

import functools
import inspect
import math

from torch.creation import no_grad
from torch.overrides import MODES, lacking, named, told


def fans(tensor):
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    inside = math.prod(tensor.shape[2:])
    return tensor.shape[1] * inside, tensor.shape[0] * inside


def starts(function):
    """Lo oye quien escuche, con sus argumentos por su nombre, como en torch."""
    done, names = no_grad(function), inspect.signature(function)

    @functools.wraps(function)
    def start(*given, **options):
        if not MODES:
            return done(*given, **options)
        return told(start, (), names.bind(*given, **options).arguments)

    return start


own = {
    "uniform_": lambda tensor, a=0.0, b=1.0, generator=None: tensor.uniform_(a, b, generator=generator),
    "normal_": lambda tensor, mean=0.0, std=1.0, generator=None: tensor.normal_(mean, std, generator=generator),
    "xavier_uniform_": lambda tensor, gain=1.0, generator=None: tensor.uniform_(
        -(limit := gain * math.sqrt(6 / sum(fans(tensor)))), limit, generator=generator),
    "zeros_": lambda tensor: tensor.zero_(),
    "ones_": lambda tensor: tensor.fill_(1.0),
}  # fmt: skip
globals().update({name: starts(named(function, name)) for name, function in own.items()})


@starts
def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    fan = fans(tensor)[mode != "fan_in"]
    gain = math.sqrt(2 / (1 + a * a) if nonlinearity == "leaky_relu" else 2)
    limit = math.sqrt(3) * gain / math.sqrt(fan)
    return tensor.uniform_(-limit, limit, generator=generator)


__getattr__ = lacking("torch.nn.init")
