"""One trial: a kernel with some definitions, checked against the interpreter's result, and timed.

A `TrialRequest` can be sent to another process, and so can what `measure` returns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from girih.api import Kernel, compile_module, loads
from girih.bench.measuring.timing import Effort, interleaved
from girih.bench.measuring.work import WrongResultError
from girih.decorated.python_kernel import PythonKernel
from girih.diagnostics import CompileError, KernelError, LaunchError
from girih.ir.core import Module, Order
from girih.lazy_dataclass import dataclass
from girih.tuning.arrays import compare_all, copied, on_host
from girih.tuning.result import Trial

EFFORT = Effort(0.005, 7)
"""The least seconds of a sample, and the number of samples, of a trial."""


@dataclass(frozen=True, slots=True)
class TextKernel:
    """A kernel of a text, before its definitions have values; `definitions` are those that it was loaded with."""

    text: str
    filename: str
    name: str
    target: str
    order: Order
    checks: str
    grid: tuple[int, int, int] | None
    options: Mapping[str, object]
    definitions: Mapping[str, object]

    @staticmethod
    def of(kernel: Kernel) -> TextKernel:
        """What a loaded kernel was loaded from."""
        source, checks = kernel.ir.span.source, kernel.resolved.settings.get("checks", "bounds")
        order: Order = "C" if kernel.ir.order == "C" else "F"
        return TextKernel(source.text, source.name, kernel.name, kernel.target, order, checks, kernel.grid,
                          kernel._options, source.definitions)  # fmt: skip

    def define(self, **definitions: object) -> Kernel:
        """The kernel with values of definitions. Raises `CompileError`."""
        every = {**self.definitions, **definitions}
        program = loads(self.text, self.target, every, self.filename, order=self.order, checks=self.checks)
        kernel = program[self.name]
        if self.options:
            kernel = kernel.options(**self.options)
        return kernel if self.grid is None or kernel.grid is None else kernel[self.grid]


@dataclass(frozen=True, slots=True)
class TrialRequest:
    """A kernel, the definitions to try, the arguments to time, those to check, and the results that are right.

    `names` are those of the arguments, for messages.
    """

    kernel: TextKernel | PythonKernel
    definitions: Mapping[str, object]
    arguments: tuple[object, ...]
    checked: tuple[object, ...]
    expected: tuple[object, ...]
    names: tuple[str, ...] = ()
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
        compare_all(launched(kernel, request.checked), request.expected, request.names)
        seconds = interleaved({"": call_of(kernel, request.arguments)}, EFFORT, time.perf_counter).median("")
    except (CompileError, LaunchError, ValueError, TypeError) as error:
        return Trial(tried, "refused", None, str(error))
    except WrongResultError as error:
        return Trial(tried, "wrong", None, str(error))
    except KernelError as error:
        return Trial(tried, "failed", None, str(error))
    except Exception as error:
        # One candidate that a compiler or a driver fails on does not end the search.
        return Trial(tried, "failed", None, f"{type(error).__name__}: {error}")
    return Trial(tried, "timed", seconds)


def launched(kernel: Kernel | PythonKernel, arguments: Sequence[object]) -> tuple[object, ...]:
    """Copies of the arguments, on the host, as the kernel leaves them."""
    values = copied(arguments)
    kernel(*values)
    kernel.synchronize()
    return on_host(values)


def interpreted(kernel: Kernel | PythonKernel, arguments: Sequence[object]) -> tuple[object, ...]:
    """Copies of the arguments, on the host, as the interpreter leaves them. Raises `KernelError` for what it finds."""
    values = on_host(arguments)
    in_interpreter(kernel)(*values)
    return values


def in_interpreter(kernel: Kernel | PythonKernel) -> Kernel | PythonKernel:
    """The kernel on the same grid for the interpreter, without options, which may be those of its target alone."""
    if isinstance(kernel, PythonKernel):
        return PythonKernel(kernel.definition.for_target("interpreter", {}), kernel.grid)
    reference = compile_module(Module((kernel.ir,)), "interpreter")[kernel.name]
    return reference if kernel.grid is None else reference[kernel.grid]


def call_of(kernel: Kernel | PythonKernel, arguments: Sequence[object]) -> Callable[[], None]:
    """A launch on copies of the arguments that is over when it returns."""
    launch = kernel.bind(*copied(arguments))

    def call() -> None:
        launch.run()
        launch.kernel.synchronize()

    return call
