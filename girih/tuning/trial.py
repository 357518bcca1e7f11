"""One trial: a kernel with some definitions, checked against the interpreter's result, and timed.

A `TrialRequest` can be sent to another process, and so can what `measure` returns.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from girih.api import Kernel, Launch, compile_module, loads
from girih.bench.measuring.timing import Effort, interleaved
from girih.bench.measuring.work import TOLERANCES, WrongResultError, compare
from girih.decorated.python_kernel import PythonKernel
from girih.diagnostics import CompileError, KernelError, LaunchError
from girih.ir.core import Module, Order
from girih.lazy_dataclass import dataclass
from girih.tuning.result import Trial

EFFORT = Effort(0.005, 7)
"""The least seconds of a sample, and the number of samples, of a trial."""


@dataclass(frozen=True, slots=True)
class TextKernel:
    """A kernel of a text, before its definitions have values."""

    text: str
    filename: str
    name: str
    target: str
    order: Order
    checks: str
    grid: tuple[int, int, int] | None
    options: Mapping[str, object]

    @staticmethod
    def of(kernel: Kernel) -> TextKernel:
        """What a loaded kernel was loaded from."""
        source, checks = kernel.ir.span.source, kernel.resolved.settings.get("checks", "bounds")
        order: Order = "C" if kernel.ir.order == "C" else "F"
        return TextKernel(source.text, source.name, kernel.name, kernel.target, order, checks, kernel.grid,
                          kernel._options)  # fmt: skip

    def define(self, **definitions: object) -> Kernel:
        """The kernel with values of definitions. Raises `CompileError`."""
        program = loads(self.text, self.target, definitions, self.filename, order=self.order, checks=self.checks)
        kernel = program[self.name]
        if self.options:
            kernel = kernel.options(**self.options)
        return kernel if self.grid is None or kernel.grid is None else kernel[self.grid]


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """A kernel, the definitions to try, the arguments to time, those to check, and the results that are right."""

    kernel: TextKernel | PythonKernel
    definitions: Mapping[str, object]
    arguments: tuple[object, ...]
    checked: tuple[object, ...]
    expected: tuple[object, ...]
    grid: Any = None

    def built(self) -> Kernel | PythonKernel:
        """The kernel with the definitions. Raises `CompileError` and `ValueError`."""
        kernel = self.kernel.define(**self.definitions)
        return kernel if self.grid is None else kernel[self.grid]


def measure(request: TrialRequest) -> Trial:
    """Check and time a request; what is wrong with it is in the trial."""
    tried = request.definitions
    try:
        kernel = request.built()
        _check(launched(kernel, request.checked), request.expected)
        seconds = interleaved({"": call_of(kernel, request.arguments)}, EFFORT, time.perf_counter).median("")
    except (CompileError, LaunchError, ValueError, TypeError) as error:
        return Trial(tried, "refused", None, str(error))
    except WrongResultError as error:
        return Trial(tried, "wrong", None, str(error))
    except KernelError as error:
        return Trial(tried, "failed", None, str(error))
    return Trial(tried, "timed", seconds)


def launched(kernel: Kernel | PythonKernel, arguments: Sequence[object]) -> tuple[object, ...]:
    """Copies of the arguments as the kernel leaves them."""
    values = copied(arguments)
    kernel(*values)
    kernel.synchronize()
    return values


def interpreted(kernel: Kernel | PythonKernel, arguments: Sequence[object]) -> tuple[object, ...]:
    """Copies of the arguments as the interpreter leaves them. Raises `KernelError` for what it finds."""
    values = copied(arguments)
    launch: Launch = kernel.bind(*values)
    reference = compile_module(Module((launch.kernel.ir,)), "interpreter")[launch.kernel.name]
    reference[launch.grid](*launch.arguments.values())
    return values


def call_of(kernel: Kernel | PythonKernel, arguments: Sequence[object]) -> Callable[[], None]:
    """A launch on copies of the arguments that is over when it returns."""
    launch = kernel.bind(*copied(arguments))

    def call() -> None:
        launch.run()
        launch.kernel.synchronize()

    return call


def copied(arguments: Sequence[object]) -> tuple[Any, ...]:
    """The arguments with memory of their own, in the same order and with the same gaps."""
    return tuple(map(_copied, arguments))


def _copied(value: object) -> Any:
    if isinstance(value, np.ndarray):
        return _copied_array(value)
    if isinstance(value, list):
        return [_copied(one) for one in value]
    clone = getattr(value, "clone", None)
    return clone() if callable(clone) else copy.deepcopy(value)


def _copied_array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.flags.forc or any(stride < 0 for stride in array.strides) or not array.size:
        return array.copy("K")
    reach = sum((n - 1) * stride for n, stride in zip(array.shape, array.strides, strict=True)) + array.itemsize
    made = np.ndarray(array.shape, array.dtype, np.zeros(reach, np.uint8), 0, array.strides)
    made[...] = array
    return made


def _check(found: Sequence[object], expected: Sequence[object]) -> None:
    """Compare arguments after a launch with the interpreter's. Raises `WrongResultError`."""
    for number, (ours, theirs) in enumerate(zip(found, expected, strict=True), 1):
        for a, b in zip(_arrays(ours), _arrays(theirs), strict=True):
            both_nan = (a != a) & (b != b)
            equal = both_nan | (a == b)
            finite = np.abs(np.where(np.isfinite(b), b, 0)) if a.dtype.kind not in "iu" else np.zeros(1)
            bound = TOLERANCES.get(_element(a), 0.0) * float(finite.max(initial=0))
            compare(np.where(equal, 0, a), np.where(equal, 0, b), bound, f"argument {number}", "the interpreter")


def _arrays(value: object) -> list[np.ndarray[Any, Any]]:
    if isinstance(value, list):
        return [array for one in value for array in _arrays(one)]
    for name in ("get", "cpu"):
        if callable(fetch := getattr(value, name, None)):
            return [np.asarray(fetch())]
    return [value] if isinstance(value, np.ndarray) else []


def _element(array: np.ndarray[Any, Any]) -> str:
    names = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "complex64": "c32",
             "complex128": "c64", "float8_e4m3fn": "f8e4m3", "float8_e5m2": "f8e5m2"}  # fmt: skip
    return names.get(array.dtype.name, "")
