"""The interpreter as the device of a target: it makes executors, and says how it executes the language."""

from __future__ import annotations

from collections.abc import Mapping

from girih.interpreter.executor import InterpreterExecutor
from girih.interpreter.machine.numbers import dtype
from girih.ir.core import Function
from girih.ir.limits import DeviceLimits
from girih.ir.types import F32, SCALARS, Boolean, MatrixScope, Number
from girih.runtime.device import ExecutionSummary


class InterpreterDevice:
    """NumPy on this machine, every access checked."""

    __slots__ = ()

    def executor(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> InterpreterExecutor:
        """What interprets a kernel; there is one way of checking, so settings change nothing."""
        return InterpreterExecutor(function, limits)

    def summary(self) -> ExecutionSummary:
        """How the interpreter executes the language."""
        return ExecutionSummary(
            {"executed by": "NumPy on one thread, a batch of work-groups at a time"},
            {name: _of_type(type) for name, type in SCALARS.items()},
            {
                MatrixScope.SUBGROUP.value: "one array for each subgroup",
                MatrixScope.WORK_GROUP.value: "one array for each work-group",
            },
        )


def _of_type(type: Number | Boolean) -> str:
    """What NumPy computes with for a scalar type."""
    # NumPy computes with these in float32; all others it computes as they are.
    rounded = isinstance(type, Number) and type.family != "integer" and type.size < F32.size
    return f"{dtype(type)} of NumPy" + (", rounded after every operation" if rounded else "")
