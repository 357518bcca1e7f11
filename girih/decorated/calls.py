"""The calls of a kernel in Python on a grid, with options: each becomes the launch of a variant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from girih.decorated.calling import QuickCall, launcher, taken
from girih.decorated.grids import refuse_no_grid
from girih.decorated.keys import Key

if TYPE_CHECKING:
    from girih.api import Kernel
    from girih.decorated.definition import DecoratedFunction
    from girih.decorated.specialise import Specialised

MOST_KEYS = 256
"""The number of keys that are remembered."""


class KernelCalls:
    """The calls of a definition on a grid, None for its own, with options of launches.

    `quick` has what calls of some keys do.
    """

    def __init__(
        self, definition: DecoratedFunction, grid: tuple[int, int, int] | None, options: Mapping[str, object]
    ) -> None:
        self._definition, self._grid, self._options = definition, grid, options
        self.quick: dict[Key | None, QuickCall] = {}
        definition.variants.forgetful.add(self)

    def forget(self) -> None:
        """Let go of the variants that calls were made of; the next calls look them up again."""
        self.quick.clear()

    def look(self, arguments: Sequence[object], key: Key | None) -> None:
        """Look at all arguments, one for each parameter, and launch; a later call with this key will do the same.

        Raises `CompileError`, `LaunchError` and `KernelError`.
        """
        found, kernel = self._chosen(arguments)
        definition = self._definition
        self._refuse_no_grid(kernel)
        if key is not None:
            numpy = all(arguments[number].__class__ is np.ndarray for number in definition.arrays)
            launch = launcher(kernel, len(arguments), definition.runtime, found.turned, numpy=numpy)
            if len(self.quick) >= MOST_KEYS:
                self.quick.clear()
            self.quick[key] = QuickCall.of(launch, definition.watched())
        kernel(*taken(arguments, definition.runtime, found.turned))

    def ready(self, arguments: Sequence[object]) -> tuple[Kernel, Sequence[object]]:
        """The kernel of the variant for one argument of each parameter, and its own arguments. Raises `LaunchError`."""
        found, kernel = self._chosen(arguments)
        return kernel, taken(arguments, self._definition.runtime, found.turned)

    def on_grid(self, arguments: Sequence[object]) -> tuple[Kernel, Sequence[object]]:
        """As `ready`, for a launch. Raises `LaunchError` for a kernel without a grid that works on its work-group."""
        kernel, values = self.ready(arguments)
        self._refuse_no_grid(kernel)
        return kernel, values

    def _refuse_no_grid(self, kernel: Kernel) -> None:
        if self._grid is None and self._definition.options.grid is None:
            refuse_no_grid(kernel.ir, self._definition.parameters)

    def _chosen(self, arguments: Sequence[object]) -> tuple[Specialised, Kernel]:
        found, variant = self._definition.variant(arguments)
        kernel = variant.kernel
        if self._options:
            kernel = kernel.options(**self._options)
        return found, kernel if self._grid is None else kernel[self._grid]
