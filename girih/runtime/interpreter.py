"""The interpreter as the device of a target: its executors, and the summary of how it executes the language."""

from __future__ import annotations

from collections.abc import Mapping

from girih.interpreter.executor import InterpreterExecutor
from girih.interpreter.machine.numbers import dtype
from girih.ir.core import Function
from girih.ir.limits import DeviceLimits
from girih.ir.types import EIGHT_BIT_FLOATS, F32, SCALARS, Boolean, MatrixScope, Number
from girih.runtime.device import ExecutionSummary


class InterpreterDevice:
    """NumPy on this machine, every access checked."""

    __slots__ = ()

    def executor(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> InterpreterExecutor:
        """The interpreter's executor of a kernel; there is one way of checking, so settings change nothing."""
        return InterpreterExecutor(function, limits)

    def summary(self) -> ExecutionSummary:
        """The summary of how the interpreter executes the language."""
        return ExecutionSummary(
            {"executed by": "NumPy on one thread, a batch of work-groups at a time"},
            {name: _of_type(type) for name, type in SCALARS.items()},
            {
                MatrixScope.SUBGROUP.value: "one array for each subgroup",
                MatrixScope.WORK_GROUP.value: "one array for each work-group",
            },
        )


def _of_type(type: Number | Boolean) -> str:
    """The type in which NumPy computes for a scalar type, in words."""
    if type in EIGHT_BIT_FLOATS:
        return f"{dtype(type)} of NumPy, products of matrices in float32"
    # NumPy computes these in float32, and every other type as it is.
    rounded = isinstance(type, Number) and type.family != "integer" and type.size < F32.size
    return f"{dtype(type)} of NumPy" + (", rounded after every operation" if rounded else "")
