"""A GPU of this machine, or an architecture by its name, as the device of a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from girih.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from girih.back.llvm.nvptx.machine.architecture import NvidiaArchitecture
    from girih.diagnostics import Diagnostic
    from girih.ir.core import Function
    from girih.ir.limits import DeviceLimits
    from girih.runtime.device import ExecutionSummary, Executor


@dataclass(frozen=True, slots=True)
class CudaTarget:
    """A target of CUDA: this machine's current GPU for the empty name, one by number, or an architecture."""

    name: str

    @staticmethod
    def named(name: str) -> CudaTarget:
        """The target of a name. Raises `ValueError` for a name that is not known."""
        if name and not name.isdigit():
            from girih.back.llvm.nvptx.machine.architecture import architecture_named

            architecture_named(name)
        return CudaTarget(name)

    def executor(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> Executor:
        """The kernel, compiled. Raises `CompileError` for one that the target refuses."""
        from girih.back.llvm.nvptx.compile import compile_kernel
        from girih.runtime.cuda.executor import CudaExecutor

        kernel = compile_kernel(function, self._architecture(), checks=settings["checks"] == "bounds", limits=limits)
        return CudaExecutor(function, kernel)

    def emit(self, function: Function, form: str, settings: Mapping[str, str], limits: DeviceLimits) -> str | bytes:
        """The kernel as `ptx`, as `llvm`, or the remarks on it as text."""
        from girih.back.llvm.nvptx.compile import compile_kernel, lower

        checks = settings["checks"] == "bounds"
        if form == "remarks":
            return "\n\n".join(remark.render() for remark in self.remarks(function, settings, limits))
        if form == "llvm":
            return lower(function, self._architecture(), checks=checks, limits=limits).text
        return compile_kernel(function, self._architecture(), checks=checks, limits=limits).ptx

    def remarks(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> tuple[Diagnostic, ...]:
        from girih.back.llvm.nvptx.compile import lower

        checks = settings["checks"] == "bounds"
        return lower(function, self._architecture(), checks=checks, limits=limits).kernel.remarks

    def summary(self) -> ExecutionSummary:
        """The summary of how the device executes the language."""
        from girih.runtime.device import ExecutionSummary

        return ExecutionSummary({}, {}, {})

    def _architecture(self) -> NvidiaArchitecture:
        from girih.back.llvm.nvptx.machine.architecture import architecture_named, architecture_of
        from girih.runtime.cuda.device import current_number, opened

        if self.name and not self.name.isdigit():
            return architecture_named(self.name)
        found = architecture_of(opened(int(self.name or current_number())).capability)
        assert found is not None
        return found
