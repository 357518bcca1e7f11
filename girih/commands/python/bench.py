"""A kernel of a file of Python as `girih bench` measures it: the variant for its arguments, on each call the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from girih.commands.python.arguments import PythonArguments
from girih.commands.python.files import kernel_of
from girih.diagnostics import plural
from girih.front.python.signature import shown
from girih.ir.core import Function
from girih.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from girih.api import Kernel
    from girih.decorated.python_kernel import PythonKernel


@dataclass(frozen=True, slots=True)
class MeasuredPython:
    """A kernel in Python with what its arguments are made of."""

    kernel: PythonKernel
    given: PythonArguments
    seed: int

    @staticmethod
    def of(details: Mapping[str, Any]) -> MeasuredPython:
        """The kernel that a request names. Raises `click.UsageError` for wrong arguments, and `CompileError`."""
        kernel = kernel_of(details["file"], details["function"])
        given = PythonArguments.of(kernel.definition, details["arguments"], details["definitions"])
        lacking = [shown(p) for p in given.missing(kernel.definition, launched=True)]
        if lacking:
            raise click.UsageError(f"{kernel.name} needs {plural(len(lacking), 'value')} more: {', '.join(lacking)}")
        return MeasuredPython(kernel, given, int(details["seed"]))

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return self.kernel.name

    @property
    def function(self) -> Function:
        """The function of the variant for the arguments."""
        return self.on("interpreter", "bounds").ir

    def values(self) -> Sequence[object]:
        """The arguments of the variant; every call makes the same ones."""
        made = self.given.values(self.kernel.definition, self.seed)
        return list(self.kernel.on("interpreter", checks="bounds").bind(*made).arguments.values())

    def on(self, target: str, checks: str) -> Kernel:
        """The variant for the arguments, on a target with checks."""
        kernel = self.kernel.on(target, checks=checks)
        return kernel.variant(*self.given.values(self.kernel.definition, self.seed)).kernel
