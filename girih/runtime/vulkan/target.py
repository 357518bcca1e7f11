"""The Vulkan driver of this machine, or a kind of device by its profile, as the device of a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from girih.lazy_dataclass import dataclass
from girih.runtime.device import ShaderEntry
from girih.runtime.vulkan.shader import VulkanShader

if TYPE_CHECKING:
    from girih.back.spirv.machine.emitted import EmittedKernel
    from girih.diagnostics import Diagnostic
    from girih.ir.core import Function
    from girih.ir.limits import DeviceLimits
    from girih.runtime.device import AddressedBuffer, ExecutionSummary, Executor


@dataclass(frozen=True, slots=True)
class VulkanDevice:
    """A target of Vulkan: this machine's driver for the empty name, otherwise the devices of a profile.

    Kernels are compiled for the profile; launches are always on this machine's driver.
    """

    profile: str

    @staticmethod
    def named(name: str) -> VulkanDevice:
        """The target of a profile's name. Raises `ValueError` for a name that is not known."""
        if name:
            from girih.back.spirv.profiles.table import profile_named

            profile_named(name)
        return VulkanDevice(name)

    def executor(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> Executor:
        """The kernel, compiled. Raises `CompileError` for one that the target refuses."""
        from girih.runtime.vulkan.executor import VulkanExecutor

        return VulkanExecutor(function, self.profile, settings["checks"], limits)

    def shader_executor(self, entry: ShaderEntry, settings: Mapping[str, str]) -> VulkanShader:
        """The executor of an entry point of a SPIR-V module; the driver is looked for at the first launch."""
        return VulkanShader(entry, robust=settings["checks"] == "bounds")

    def addressed_buffer(self, size: int) -> AddressedBuffer:
        """Memory of the device with an address. Raises `LaunchError` where there is none."""
        from girih.runtime.vulkan.addresses import DeviceAddress

        return DeviceAddress(size)

    def emit(self, function: Function, form: str, settings: Mapping[str, str], limits: DeviceLimits) -> str | bytes:
        """The kernel as `spirv`, a module that keeps all rules, as `glsl`, or the remarks on it as text.

        Raises `CompileError` for a kernel that the target refuses.
        """
        from girih.runtime.vulkan.compiled import chosen_profile, emitted_glsl, emitted_spirv

        if form == "remarks":
            return "\n\n".join(remark.render() for remark in self.remarks(function, settings, limits))
        if form == "glsl":
            profile = chosen_profile(self.profile, function.span)
            return emitted_glsl(function, profile, limits, checks=settings["checks"] == "bounds")
        return emitted_spirv(self._emitted(function, settings, limits))

    def remarks(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> tuple[Diagnostic, ...]:
        """The remarks on a kernel, which is compiled for them. Raises `CompileError` as `emit` does."""
        return self._emitted(function, settings, limits).remarks

    def summary(self) -> ExecutionSummary:
        """The summary of how the device executes the language."""
        from girih.runtime.vulkan.summary import summary_of

        return summary_of(self.profile)

    def _emitted(self, function: Function, settings: Mapping[str, str], limits: DeviceLimits) -> EmittedKernel:
        from girih.runtime.vulkan.compiled import chosen_profile, compiled

        profile = chosen_profile(self.profile, function.span)
        return compiled(function, profile, limits, checks=settings["checks"] == "bounds")
