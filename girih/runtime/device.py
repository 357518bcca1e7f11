"""What stands behind a target: the protocol that every target's own room fulfils. Imports nothing that is heavy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from girih.ir.core import Function
    from girih.ir.limits import DeviceLimits


class Executor(Protocol):
    """What runs one kernel."""

    call: Callable[..., object]
    """`call(grid, *arguments)` runs the kernel and waits for it; what it returns, if not None, goes to `settle`."""

    def settle(self, result: object, grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        """What is left to do after a call that returned something: mostly to raise what is to be raised."""

    def with_options(self, options: Mapping[str, Any]) -> Executor:
        """The executor with these options of a launch in place of its own; the target's row has checked them."""


class TargetDevice(Protocol):
    """The processor or interpreter that a target's name stands for.

    `settings` are those that the target's row has, as they were chosen, and `limits` are the row's: the kernel was
    checked against them, and its sizes are chosen by them.
    """

    def executor(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> Executor:
        """What runs a kernel. Raises `CompileError` for what the target refuses."""

    def summary(self) -> ExecutionSummary:
        """How the language is executed."""


@runtime_checkable
class EmittingDevice(TargetDevice, Protocol):
    """The device of a target whose row offers forms of the compiled kernel."""

    def emit(self, function: Function, form: str, settings: Mapping[str, str], limits: DeviceLimits) -> str | bytes:
        """A kernel in a form that the target's row offers. Raises `CompileError` for what the target refuses."""


@dataclass(frozen=True, slots=True)
class ExecutionSummary:
    """How a device executes the language, in words.

    `facts` are about the device itself, by what they are; `types` has each scalar type, and `matrices` each scope of a
    matrix, by its word in the language.
    """

    facts: Mapping[str, str]
    types: Mapping[str, str]
    matrices: Mapping[str, str]
