"""Un explorador sin página: guarda su estado, y la celda siguiente lo lee."""

from contextlib import nullcontext

import traitlets


class AnyWidget(traitlets.HasTraits):
    """Lo que ``course_lib.explorers`` pide a un ``anywidget.AnyWidget``."""

    hold_sync = staticmethod(nullcontext)
