"""The protocols of the device behind a target, which every target's own package fulfils. Imports nothing heavy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from girih.diagnostics import Diagnostic
    from girih.ir.core import Function
    from girih.ir.limits import DeviceLimits


class Executor(Protocol):
    """The way of running one kernel."""

    call: Callable[..., object]
    """`call(grid, *arguments)` runs the kernel and waits for it; a result other than None must go to `settle`."""

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """What the latest launch left to be remarked: diagnostics of severity "warning" or "remark"."""

    def settle(self, result: object, grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        """Finish a call that returned `result`, which is not None: mostly, raise its exception."""

    def with_options(self, options: Mapping[str, Any]) -> Executor:
        """The executor with these options of a launch in place of its own; the target's row has checked them."""


@runtime_checkable
class SizedExecutor(Protocol):
    """An executor that knows the subgroup size of its launches before they begin."""

    @property
    def subgroup_size(self) -> int | None:
        """The subgroup size; None where it is not known."""


class TargetDevice(Protocol):
    """The processor or interpreter that a target's name stands for.

    `settings` are the chosen words of the settings in the target's row, and `limits` are the row's: the kernel was
    checked against them, and they bound the choice of its sizes.
    """

    def executor(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> Executor:
        """The executor of a kernel. Raises `CompileError` for a kernel that the target refuses."""

    def summary(self) -> ExecutionSummary:
        """The summary of how the device executes the language."""


@runtime_checkable
class EmittingDevice(TargetDevice, Protocol):
    """The device of a target whose row offers forms of the compiled kernel."""

    def emit(self, function: Function, form: str, settings: Mapping[str, str], limits: DeviceLimits) -> str | bytes:
        """The kernel in a form that the target's row offers. Raises `CompileError` for one that the target refuses."""


@runtime_checkable
class RemarkingDevice(TargetDevice, Protocol):
    """The device of a target whose row offers remarks."""

    def remarks(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> tuple[Diagnostic, ...]:
        """The remarks on a kernel, in source order. Raises `CompileError` for one that the target refuses."""


@dataclass(frozen=True, slots=True)
class ExecutionSummary:
    """The way in which a device executes the language, in words.

    `facts` describe the device itself, by the name of the fact; `types` describes each scalar type, and `matrices` each
    scope of a matrix, by its word in the language.
    """

    facts: Mapping[str, str]
    types: Mapping[str, str]
    matrices: Mapping[str, str]
