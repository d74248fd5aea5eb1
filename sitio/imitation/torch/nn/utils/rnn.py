"""De ``torch.nn.utils.rnn``, el relleno de frases."""

import numpy as np

from torch.core import made
from torch.overrides import heard, lacking


@heard
def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    longest = max(len(one) for one in sequences)
    shape = (len(sequences), longest, *sequences[0].shape[1:])
    found = np.full(shape, padding_value, sequences[0].array.dtype)
    for row, one in zip(found, sequences):
        row[slice(longest - len(one), None) if padding_side == "left" else slice(len(one))] = one.array
    return made(found if batch_first else found.swapaxes(0, 1), dtype=sequences[0].dtype)


__getattr__ = lacking("torch.nn.utils.rnn")
