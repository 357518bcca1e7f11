"""The OpenCL device of this machine, or a kind of device by its profile, as the device of a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from girih.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from girih.back.spirv.machine.emitted import EmittedKernel
    from girih.diagnostics import Diagnostic
    from girih.ir.core import Function
    from girih.ir.limits import DeviceLimits
    from girih.runtime.device import ExecutionSummary, Executor


@dataclass(frozen=True, slots=True)
class OpenClTarget:
    """A target of OpenCL: this machine's device for the empty name, otherwise the devices of a profile.

    Kernels are compiled for the profile; launches are always on this machine's device.
    """

    profile: str

    @staticmethod
    def named(name: str) -> OpenClTarget:
        """The target of a profile's name. Raises `ValueError` for a name that is not known."""
        if name:
            from girih.runtime.opencl.profile import chosen_profile

            chosen_profile(name)
        return OpenClTarget(name)

    def executor(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> Executor:
        """The kernel, compiled. Raises `CompileError` for one that the target refuses."""
        from girih.runtime.opencl.executor import OpenClExecutor

        return OpenClExecutor(function, self.profile, settings["checks"], limits)

    def emit(self, function: Function, form: str, settings: Mapping[str, str], limits: DeviceLimits) -> str | bytes:
        """The kernel as `spirv`, a module that keeps all rules, or the remarks on it as text.

        Raises `CompileError` for a kernel that the target refuses.
        """
        from girih.runtime.opencl.executor import emitted_spirv

        if form == "remarks":
            return "\n\n".join(remark.render() for remark in self.remarks(function, settings, limits))
        return emitted_spirv(self._emitted(function, settings, limits))

    def remarks(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> tuple[Diagnostic, ...]:
        """The remarks on a kernel, which is compiled for them. Raises `CompileError` as `emit` does."""
        return self._emitted(function, settings, limits).remarks

    def summary(self) -> ExecutionSummary:
        """The summary of how the device executes the language."""
        from girih.runtime.opencl.summary import summary_of

        return summary_of(self.profile)

    def _emitted(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> EmittedKernel:
        from girih.runtime.opencl.executor import compiled

        return compiled(function, self.profile, limits, checks=settings["checks"] == "bounds")
