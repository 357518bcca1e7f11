"""The executor that runs a kernel in the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from girih.analysis.sizes import possible_subgroup_sizes
from girih.diagnostics import Diagnostic
from girih.interpreter.launch import launch
from girih.interpreter.machine.choices import Choices
from girih.ir.core import Function
from girih.ir.limits import DeviceLimits


class InterpreterExecutor:
    """An executor of one kernel under the limits of its target.

    The options of its launches are `choices`, `max_steps` and `progress`; `remarks` are those of the latest one.
    """

    __slots__ = ("_function", "_limits", "_options", "call", "remarks")

    def __init__(self, function: Function, limits: DeviceLimits, options: Mapping[str, Any] | None = None) -> None:
        self._function = function
        self._limits = limits
        self._options = dict(options or {})
        self.call: Callable[..., object] = self._call
        self.remarks: tuple[Diagnostic, ...] = ()

    def __reduce__(self) -> tuple[object, ...]:
        return InterpreterExecutor, (self._function, self._limits, self._options)

    def _call(self, grid: tuple[int, int, int], *arguments: object) -> None:
        self.remarks = ()
        self.remarks = launch(self._function, grid, arguments, limits=self._limits, **self._options)

    @property
    def subgroup_size(self) -> int | None:
        """The subgroup size that launches choose first of all; None where no size is possible."""
        possible = possible_subgroup_sizes(self._function, self._limits)
        choices: Choices = self._options.get("choices") or Choices()
        return choices.again().subgroup_size(possible) if possible else None

    def settle(self, result: object, grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        """Do nothing: a launch in the interpreter is complete when its call returns."""

    def with_options(self, options: Mapping[str, Any]) -> InterpreterExecutor:
        """The executor with these options in place of its own."""
        return InterpreterExecutor(self._function, self._limits, options)
