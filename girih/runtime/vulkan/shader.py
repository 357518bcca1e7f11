"""SPIR-V modules on a driver: buffers as they are given, one pipeline for each number of buffers in arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from girih.arguments.views import address
from girih.diagnostics import Diagnostic, InternalError, LaunchError
from girih.runtime.device import ShaderArguments, ShaderBuffer, ShaderEntry
from girih.runtime.vulkan.addresses import DeviceAddress
from girih.runtime.vulkan.device import Device
from girih.runtime.vulkan.kept import KeptPipelines
from girih.runtime.vulkan.launch import (
    ONCE,
    Dispatch,
    HostSpan,
    LaunchManner,
    Placement,
    execute,
    faults_in_words,
)
from girih.runtime.vulkan.needs import beyond_limits, lacking
from girih.runtime.vulkan.opened import current_device
from girih.runtime.vulkan.pipeline import PipelineDescription, Slot
from girih.runtime.vulkan.report import refuse
from girih.spirv.module import Module

__all__ = ["VulkanShader"]

_ADVICE = (
    "the fault may be the driver's; try another driver (GIRIH_VULKAN_DRIVER), or the module without debug information"
)


class VulkanShader:
    """An entry point on the driver of this machine.

    `times` are the seconds that the device took for each execution of the latest launch, none where it does not say.
    With `robust`, accesses outside of buffers stay harmless, as far as the device has robustBufferAccess. The driver is
    looked for at the first launch.
    """

    def __init__(self, entry: ShaderEntry, *, robust: bool, manner: LaunchManner = ONCE) -> None:
        self.entry = entry
        self.times: tuple[float, ...] = ()
        self._robust, self._manner = robust, manner
        self._code = code_of(entry.module)
        self._kept = KeptPipelines()
        self.call: Callable[..., object] = self.settle

    def __reduce__(self) -> tuple[object, ...]:
        return _shader_again, (self.entry, self._robust, self._manner)

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """None: no launch leaves any."""
        return ()

    def with_options(self, options: Mapping[str, Any]) -> VulkanShader:
        """This executor with options of a launch, which shares its pipelines."""
        made = VulkanShader(self.entry, robust=self._robust, manner=LaunchManner.of(options))
        made._kept = self._kept
        return made

    def settle(self, *arguments: object) -> NoReturn:
        """Shaders on a driver take buffers, not the arguments of their function: `launch`. Raises `InternalError`."""
        raise InternalError(f"@{self.entry.name} was called with the arguments of its function on a driver")

    def launch(self, grid: tuple[int, int, int], arguments: ShaderArguments) -> None:
        """Run the shader and wait for it; the bytes of what it writes are changed.

        Raises `LaunchError` where no driver opens, the device lacks what the module needs, or the launch fails; then
        the buffers are as they were.
        """
        device = current_device(self.entry.name, self.entry.function.span)
        with (
            device.lock,
            faults_in_words(device, self.entry.function.called, self._manner.seconds, self.entry.function.span),
        ):
            self._launch(device, grid, arguments)

    def _launch(self, device: Device, grid: tuple[int, int, int], arguments: ShaderArguments) -> None:
        slots = tuple(Slot(one.set, one.binding, len(one.buffers), one.uniform) for one in arguments.bindings)
        description = PipelineDescription(
            self._code, self.entry.name, slots, -(-len(arguments.push_constants) // 4) * 4, robust=self._robust
        )
        pipeline = self._kept.known(device, description)
        if pipeline is None:
            self._check(device, description)
            pipeline = self._kept.made(device, description, _ADVICE, self.entry.function.span)
        spans = [
            _span(device, one, written=binding.written) for binding in arguments.bindings for one in binding.buffers
        ]
        spans += [_span(device, one, written=True, by_address=True) for one in arguments.by_address]
        placement = Placement.of(device, spans)
        try:
            placement.upload()
            ranges = iter(placement.ranges)
            pipeline.bind([[next(ranges) for _ in binding.buffers] for binding in arguments.bindings])
            push = arguments.push_constants.ljust(description.push_bytes, b"\0")
            dispatch = Dispatch(pipeline, grid, push, self._manner)
            self.times = execute(device, dispatch)
            placement.download(spans, [one.start if one.written else 0 for one in spans])
        finally:
            placement.release()

    def _check(self, device: Device, description: PipelineDescription) -> None:
        """Raise `LaunchError` with all that the device lacks."""
        entry, span = self.entry, self.entry.function.span
        problems = lacking(entry.module, device.physical, span)
        problems += beyond_limits(
            device.physical, description, local_size=entry.local_size, shared_bytes=entry.shared_bytes, span=span
        )
        if problems:
            raise LaunchError(problems)


def code_of(module: Module) -> bytes:
    """The module as drivers take it, little-endian."""
    return replace(module, byte_order="little").to_bytes()


def _span(device: Device, buffer: ShaderBuffer, *, written: bool, by_address: bool = False) -> HostSpan:
    """The bytes of a buffer. Raises `LaunchError` for one that another device has, or none."""
    home = buffer.home
    if by_address and not isinstance(home, DeviceAddress):
        refuse("bind.vulkan_address", f"{buffer.place} has no address on {device.name}: it is a buffer of another "
               "target", "make it for this target: girih.Buffer(array, target='vulkan')")  # fmt: skip
    if isinstance(home, DeviceAddress) and home.device is not device:
        refuse("bind.vulkan_address", f"{buffer.place} has no address on {device.name}: it belongs to a device that "
               "was lost, or that another process opened",
               "make the buffer anew, and write its address anew where it stands")  # fmt: skip
    own = home.buffer if isinstance(home, DeviceAddress) else None
    return HostSpan(address(buffer.bytes), buffer.bytes.size, written, buffer.place, by_address, own)


def _shader_again(entry: ShaderEntry, robust: bool, manner: LaunchManner) -> VulkanShader:
    return VulkanShader(entry, robust=robust, manner=manner)
