"""Which threads of a CTA do something."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from tests.back.nvptx.ptx_machine.types import Array


class Mask:
    """Some threads of a CTA: `on` is true for each. `whole`: these are all that have not ended."""

    def __init__(self, on: Array, live: int) -> None:
        self.on = on
        self.count = int(np.count_nonzero(on))
        self.whole = self.count == live

    @cached_property
    def index(self) -> Array:
        """The numbers of the threads."""
        return np.flatnonzero(self.on)

    @cached_property
    def warps(self) -> Array:
        """The numbers of the warps that these threads are of."""
        return np.unique(self.index // 32)

    def chosen(self, value: Array) -> Array:
        """What these threads have of a value of all, or of one that all have."""
        if value.size == 1:
            return np.broadcast_to(value, (self.count,))
        return value if self.count == len(self.on) else value[self.index]

    def spread(self, values: Array, old: Array) -> Array:
        """What all threads have: these one value each, the others what they had."""
        if self.count == len(self.on):
            return values
        found = np.zeros(len(self.on), values.dtype) if self.whole else np.broadcast_to(old, self.on.shape).copy()
        found[self.index] = values
        return found
