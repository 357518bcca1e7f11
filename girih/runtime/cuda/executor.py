"""A kernel on GPUs of this machine as something that a program calls, with its options."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from girih.arguments.report import DeviceReach
from girih.diagnostics import Diagnostic
from girih.ir.core import Function
from girih.ir.limits import DeviceLimits
from girih.runtime.cuda.architectures import usual_architecture
from girih.runtime.cuda.kernel import CudaKernel
from girih.runtime.cuda.place import are_on_device, place_of
from girih.runtime.cuda.quick import QuickCalls
from girih.runtime.cuda.report import faults_in_words
from girih.runtime.cuda.variant import SmallerTiles

if TYPE_CHECKING:
    from girih.addressing import TensorMap

ENVIRONMENT = "GIRIH_SYNCHRONOUS"


class CudaExecutor:
    """A kernel for a target of CUDA by what is behind its colon: nothing, a number, or an architecture.

    Raises `CompileError` for a kernel that the target refuses.
    """

    __slots__ = ("_checks", "_kernel", "_limits", "_name", "_synchronous", "call")

    def __init__(
        self, function: Function, name: str, checks: str, limits: DeviceLimits, *, synchronous: bool | None = None
    ) -> None:
        self._name, self._checks, self._limits = name, checks, limits
        self._synchronous = _chosen(synchronous)
        self._kernel = CudaKernel(function, name, checks, limits)
        # Refusals come when a program is loaded, also where there is no GPU.
        self._kernel.first(usual_architecture(name))
        self.call: Callable[..., object] = self._call

    def __reduce__(self) -> tuple[object, ...]:
        kernel = self._kernel
        smaller = {one.parts: one.function for one in kernel.smaller}
        how = self._name, self._checks, self._limits, self._synchronous
        return _again, (kernel.function, *how, kernel.tile, smaller)

    def divide(self, tile: tuple[int, int], smaller: Mapping[tuple[int, int], Function]) -> None:
        """Take kernels that do the same with smaller tiles, by the parts along x and y that each tile is cut into."""
        self._kernel.tile = tile
        self._kernel.smaller = tuple(
            SmallerTiles(function, parts, (tile[0] // parts[0], tile[1] // parts[1]))
            for parts, function in smaller.items()
        )

    @property
    def subgroup_size(self) -> int:
        """The subgroup size of launches."""
        return self._kernel.subgroup_size

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """None: no launch leaves any."""
        return ()

    def with_options(self, options: Mapping[str, Any]) -> CudaExecutor:
        """This executor with options of a launch; it shares what is compiled and loaded."""
        made = CudaExecutor.__new__(CudaExecutor)
        for name in ("_checks", "_kernel", "_limits", "_name"):
            setattr(made, name, getattr(self, name))
        made._synchronous = _chosen(options.get("synchronous"))
        made.call = made._call
        return made

    def _call(self, grid: tuple[int, int, int], *arguments: object) -> QuickCalls | None:
        """Launch the kernel; what launches it from now on, once that is made."""
        kernel, quick = self._kernel, self._kernel.quick
        if self._synchronous:
            kernel.launch(grid, arguments, synchronous=True)
            return None
        if quick.call is None or quick.call(grid, *arguments) is not None:
            kernel.launch(grid, arguments, synchronous=False)
        return None if quick.call is None else quick

    def settle(self, result: object, grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        """Do nothing: what a launch found was raised."""

    def synchronize(self) -> None:
        """Wait for all launches of the kernel. Raises `KernelError` for what was found on their streams."""
        self._kernel.synchronize()

    def reach(self, arguments: Sequence[object]) -> DeviceReach:
        """The device that a launch with these arguments is on. Raises `LaunchError`."""
        function = self._kernel.function
        with faults_in_words(function.called, function.span):
            return place_of(self._kernel.number, arguments, function.span).reach

    def tensor_maps(self, arguments: Sequence[object]) -> Mapping[str, TensorMap]:
        """The maps that a launch with these arguments makes, by name. Raises `LaunchError`."""
        reach = self.reach(arguments) if are_on_device(arguments) else None
        return self._kernel.tensor_maps(usual_architecture(self._name), arguments, reach)


def _chosen(synchronous: bool | None) -> bool:
    """Whether launches are waited for: as it was said, or as the environment says when a program is loaded."""
    return os.environ.get(ENVIRONMENT) == "1" if synchronous is None else synchronous


def _again(
    function: Function, name: str, checks: str, limits: DeviceLimits, synchronous: bool | None,
    tile: tuple[int, int], smaller: Mapping[tuple[int, int], Function],
) -> CudaExecutor:  # fmt: skip
    made = CudaExecutor(function, name, checks, limits, synchronous=synchronous)
    made.divide(tile, smaller)
    return made
