"""Kernels of the tensor language on a driver: compiled for its device, launched on NumPy arrays.

A launch with checks whose check fails raises `KernelError` and leaves the caller's arrays as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof, create_string_buffer
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.arguments import arrays
from girih.arguments.arrays import Accepted, GroupClaim
from girih.arguments.claims import Claim
from girih.back.spirv.machine.emitted import EmittedBinding, EmittedKernel
from girih.diagnostics import Diagnostic, InternalError, KernelError, LaunchError
from girih.ir.core import Function
from girih.ir.limits import DeviceLimits
from girih.ir.types import CoopMatrix, GroupType
from girih.ops.tile.linalg import Gemm
from girih.runtime.emitted.members import claims_of, group_records, member_block
from girih.runtime.emitted.narrow import are_even, suits_narrow
from girih.runtime.emitted.record import RECORD_BYTES, finding_in
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
from girih.runtime.vulkan.memory import Piece
from girih.runtime.vulkan.needs import beyond_limits, lacking
from girih.runtime.vulkan.opened import current_device
from girih.runtime.vulkan.pipeline import BoundRange, Pipeline, PipelineDescription, Slot, can_require
from girih.runtime.vulkan.shader import code_of

__all__ = ["Compile", "VulkanExecutor", "VulkanKernel"]

Compile = Callable[[bool, bool], EmittedKernel]
"""What makes the module of a kernel: with wide indices or narrow ones, for even sizes and strides or any."""


class VulkanKernel:
    """A kernel that is compiled, narrow for any sizes at once, and otherwise when a launch asks for it.

    It may be launched on any device. `variants` says whether modules for even sizes and strides are worth making.

    `times` are the seconds that the device took for each execution of the latest launch, none where it does not say.
    """

    def __init__(self, function: Function, compile: Compile, *, robust: bool, variants: bool) -> None:
        self.function = function
        self.times: tuple[float, ...] = ()
        self._specs = arrays.specifications(function)
        self._compile, self._robust = compile, robust
        self._variants = variants
        self._emitted = {(False, False): compile(False, False)}
        self._kept = KeptPipelines()

    def emitted(self, *, wide: bool, even: bool = False) -> EmittedKernel:
        """The module. Raises `CompileError` where there is no wide one."""
        known = self._emitted.get((wide, even))
        if known is None:
            known = self._emitted[wide, even] = self._compile(wide, even)
        return known

    def launch(self, grid: tuple[int, int, int], arguments: Sequence[object], manner: LaunchManner) -> None:
        """Run the kernel on a grid and wait for it; arrays are changed in place.

        Nothing runs where a size of the grid is 0. Raises `LaunchError` for wrong arguments and where the driver or its
        device cannot run it, and `KernelError` for what a check found; then arrays are as they were.
        """
        accepted = arrays.accept(self._specs, arguments)
        if 0 in grid:
            return
        even = self._variants and are_even(self.function, accepted)
        kernel = self.emitted(wide=not suits_narrow(self.function, grid, accepted), even=even)
        device = current_device(self.function.name, self.function.span)
        with device.lock, faults_in_words(device, self.function.called, manner.seconds, self.function.span):
            self._launch(device, kernel, grid, accepted, manner)

    def _launch(
        self,
        device: Device,
        kernel: EmittedKernel,
        grid: tuple[int, int, int],
        accepted: Sequence[Accepted],
        manner: LaunchManner,
    ) -> None:
        pipeline = self._pipeline(device, kernel)
        claims = [(item, claim) for item in accepted for claim in claims_of(item)]
        spans = [_span(item, claim) for item, claim in claims]
        placement = Placement.of(device, spans)
        try:
            placement.upload()
            ranges = dict(zip((id(claim) for _, claim in claims), placement.ranges, strict=True))
            bound = _Buffers(kernel, accepted, ranges, placement)
            pipeline.bind([[bound.range_of(one)] for one in kernel.bindings])
            push = b"" if kernel.members_in_buffer else member_block(kernel, accepted)
            self.times = execute(device, Dispatch(pipeline, grid, push, manner))
            self._raise_findings(device, kernel, bound)
            _download(placement, spans, [claim for _, claim in claims])
        finally:
            placement.release()

    def _raise_findings(self, device: Device, kernel: EmittedKernel, bound: _Buffers) -> None:
        if bound.findings is None:
            return
        content = create_string_buffer(RECORD_BYTES)
        device.memory.download([Piece(bound.findings.buffer, 0, addressof(content), RECORD_BYTES)])
        found = finding_in(content.raw, kernel)
        if found is not None:
            raise KernelError([found])

    def _pipeline(self, device: Device, kernel: EmittedKernel) -> Pipeline:
        """The pipeline of a module. Raises `LaunchError` where the device lacks something, or the driver refuses."""
        description = PipelineDescription(
            code_of(kernel.module),
            kernel.entry,
            tuple(Slot(0, one.binding) for one in kernel.bindings),
            0 if kernel.members_in_buffer else kernel.member_bytes,
            kernel.subgroup_size,
            self._robust,
        )
        known = self._kept.known(device, description)
        if known is not None:
            return known
        self._check(device, kernel, description)
        advice = "try another driver (GIRIH_VULKAN_DRIVER), or target='cpu'"
        return self._kept.made(device, description, advice, self.function.span)

    def _check(self, device: Device, kernel: EmittedKernel, description: PipelineDescription) -> None:
        span, physical = self.function.span, device.physical
        problems = lacking(kernel.module, physical, span)
        problems += beyond_limits(
            physical, description, local_size=(kernel.local_size, 1, 1), shared_bytes=kernel.shared_bytes, span=span
        )
        own = physical.value("VkPhysicalDeviceVulkan11Properties", "subgroupSize")
        if kernel.subgroup_size != own and not can_require(physical, kernel.subgroup_size):
            message = f"@{kernel.entry} is compiled for subgroups of {kernel.subgroup_size} work-items, and " \
                      f"{device.name} has subgroups of {own}"  # fmt: skip
            hint = "load it for target='vulkan', which compiles for this machine's device"
            problems.append(Diagnostic("bind.vulkan_limit", message, span, hint=hint))
        if problems:
            raise LaunchError(problems)


class _Buffers:
    """The buffers of a launch by the bindings of the module, and those that no argument is."""

    def __init__(
        self,
        kernel: EmittedKernel,
        accepted: Sequence[Accepted],
        ranges: Mapping[int, BoundRange],
        placement: Placement,
    ) -> None:
        self._kernel, self._accepted, self._ranges, self._placement = kernel, accepted, ranges, placement
        self.findings: BoundRange | None = None

    def range_of(self, binding: EmittedBinding) -> BoundRange:
        """The buffer of a binding; what no argument is gets its contents now."""
        item = None if binding.parameter is None else self._accepted[binding.parameter]
        match binding.kind, item:
            case "memref", Claim():
                return self._ranges[id(item)]
            case "group", GroupClaim():
                assert binding.parameter is not None
                type = self._kernel.function.parameters[binding.parameter].type
                assert isinstance(type, GroupType)
                return self._filled(group_records(type.memref, item, self._address))
            case "parameters", None:
                return self._filled(member_block(self._kernel, self._accepted))
            case "findings", None:
                self.findings = self._filled(bytes(RECORD_BYTES))
                return self.findings
        raise InternalError(f"@{self._kernel.entry} has a {binding.kind} at binding {binding.binding} that nothing is")

    def _address(self, claim: Claim) -> int:
        if claim.array is None:
            return 0
        bound = self._ranges[id(claim)]
        return bound.buffer.address + bound.offset

    def _filled(self, content: bytes) -> BoundRange:
        made = self._placement.take(len(content))
        if content:
            held = create_string_buffer(content, len(content))
            self._placement.device.memory.upload([Piece(made.buffer, 0, addressof(held), len(content))])
        return made


class VulkanExecutor:
    """A kernel on the driver of this machine, or compiled for a profile and launched on this machine's driver."""

    __slots__ = ("_checks", "_kernel", "_limits", "_manner", "_profile", "call")

    def __init__(
        self, function: Function, profile: str, checks: str, limits: DeviceLimits, manner: LaunchManner = ONCE
    ) -> None:
        from girih.runtime.vulkan.compiled import chosen_profile, compiled

        self._profile, self._checks, self._limits, self._manner = profile, checks, limits, manner
        chosen = chosen_profile(profile, function.span)
        checked = checks == "bounds"
        self.call: Callable[..., object] = self._call
        self._kernel = VulkanKernel(
            function,
            lambda wide, even: compiled(function, chosen, limits, checks=checked, wide=wide, even=even),
            robust=checked,
            variants=_has_matrices(function) and bool(chosen.matrices),
        )

    def __reduce__(self) -> tuple[object, ...]:
        return VulkanExecutor, (self._kernel.function, self._profile, self._checks, self._limits, self._manner)

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """None: no launch leaves any."""
        return ()

    @property
    def times(self) -> tuple[float, ...]:
        """The seconds of each execution of the latest launch; none before one, and where the device does not say."""
        return self._kernel.times

    @property
    def subgroup_size(self) -> int:
        """The subgroup size of launches."""
        return self._kernel.emitted(wide=False).subgroup_size

    def with_options(self, options: Mapping[str, Any]) -> VulkanExecutor:
        """This executor with options of a launch; it shares what is compiled."""
        made = VulkanExecutor.__new__(VulkanExecutor)
        for name in ("_checks", "_kernel", "_limits", "_profile"):
            setattr(made, name, getattr(self, name))
        made._manner = LaunchManner.of(options)
        made.call = made._call
        return made

    def _call(self, grid: tuple[int, int, int], *arguments: object) -> None:
        self._kernel.launch(grid, arguments, self._manner)

    def settle(self, result: object, grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        """Nothing: `call` gives None."""


def _has_matrices(function: Function) -> bool:
    """Whether a kernel loads matrices, for which drivers have a faster way where lines begin at even places."""
    ops = list(function.walk())
    if any(isinstance(op, Gemm) for op in ops):
        return True
    return any(isinstance(value.type, CoopMatrix) for op in ops for value in op.results)


def _span(item: Accepted, claim: Claim) -> HostSpan:
    size = 0 if claim.array is None else claim.extent * claim.dtype.itemsize
    return HostSpan(claim.start, size, claim.written, str(claim.place), isinstance(item, GroupClaim))


def _download(placement: Placement, spans: Sequence[HostSpan], claims: Sequence[Claim]) -> None:
    """Copy what was written into the caller's arrays: their elements, and not what lies between them."""
    spread: list[tuple[Claim, NDArray[np.uint8]]] = []
    targets: list[int] = []
    for claim in claims:
        if not claim.written or not claim.extent or claim.array is None:
            targets.append(0)
        elif claim.extent == claim.array.size:
            targets.append(claim.start)
        else:
            room = np.empty(claim.extent * claim.dtype.itemsize, np.uint8)
            spread.append((claim, room))
            targets.append(int(room.ctypes.data))
    placement.download(spans, targets)
    for claim, room in spread:
        assert claim.array is not None
        np.copyto(claim.array, claim.of_array(room.view(claim.dtype)))
