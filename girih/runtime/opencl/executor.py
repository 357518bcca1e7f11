"""Kernels of the tensor language on a device of OpenCL: compiled for it, launched on NumPy arrays.

A launch with checks whose check fails raises `KernelError` and leaves the caller's arrays as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from girih.arguments import arrays
from girih.back.spirv.machine.emitted import EmittedKernel
from girih.diagnostics import CompileError, Diagnostic, InternalError, KernelError, LaunchError, errors
from girih.ir.core import Function
from girih.ir.limits import DeviceLimits
from girih.runtime.emitted.narrow import suits_narrow
from girih.runtime.opencl.api import OpenClError
from girih.runtime.opencl.devices import OpenClDevice
from girih.runtime.opencl.launch import OpenClKernel
from girih.runtime.opencl.profile import able_device, chosen_profile
from girih.runtime.opencl.report import INSTALL, refuse
from girih.runtime.opencl.session import OpenClSession, session_of

ENVIRONMENT = "universal1.2"
"""The environment whose rules emitted modules keep: the version of SPIR-V that OpenCL 2.2 has."""


def compiled(
    function: Function, profile: str, limits: DeviceLimits, *, checks: bool, wide: bool = False
) -> EmittedKernel:
    """A kernel as a module for a profile by name, or for this machine's device.

    Raises `CompileError` for one that its devices cannot execute.
    """
    from girih.back.spirv.machine.compile import compile_kernel

    return compile_kernel(function, chosen_profile(profile, function.span), checks=checks, wide=wide, limits=limits)


def emitted_spirv(kernel: EmittedKernel) -> bytes:
    """The bytes of a module that is written. Raises `InternalError` for one that breaks a rule."""
    from girih.spirv.judge.validate import validate

    problems = errors(validate(kernel.module, ENVIRONMENT))
    if problems:
        first = problems[0]
        what = f"the module of @{kernel.function.name} breaks {len(problems)} rules, the first: {first.code}"
        raise InternalError(f"{what}: {first.message}")
    return kernel.module.to_bytes()


class OpenClExecutor:
    """A kernel on this machine's device, compiled for it or for a profile; wide when a launch asks for it."""

    __slots__ = ("_checks", "_emitted", "_function", "_kernels", "_limits", "_profile", "_specs", "call")

    def __init__(self, function: Function, profile: str, checks: str, limits: DeviceLimits) -> None:
        self._function, self._profile, self._checks, self._limits = function, profile, checks, limits
        self._specs = arrays.specifications(function)
        self._emitted = {False: self._compiled(wide=False)}
        self._kernels: dict[bool, tuple[OpenClSession, OpenClKernel]] = {}
        self.call: Callable[..., object] = self._launch

    def __reduce__(self) -> tuple[object, ...]:
        return OpenClExecutor, (self._function, self._profile, self._checks, self._limits)

    @property
    def remarks(self) -> tuple[Diagnostic, ...]:
        """None: no launch leaves any."""
        return ()

    @property
    def subgroup_size(self) -> int:
        """The subgroup size of launches."""
        return self._emitted[False].subgroup_size

    def with_options(self, options: Mapping[str, Any]) -> OpenClExecutor:
        """This executor itself, since there are no options of a launch."""
        return self

    def settle(self, result: object, grid: tuple[int, int, int], arguments: Sequence[object]) -> None:
        """Nothing: `call` gives None."""

    def _compiled(self, *, wide: bool) -> EmittedKernel:
        return compiled(self._function, self._profile, self._limits, checks=self._checks == "bounds", wide=wide)

    def _launch(self, grid: tuple[int, int, int], *arguments: object) -> None:
        """Run the kernel and wait for it.

        Raises `LaunchError` for wrong arguments and where the driver cannot run it, and `KernelError` for what a check
        found; then arrays are as they were.
        """
        accepted = arrays.accept(self._specs, arguments)
        if 0 in grid:
            return
        span = self._function.span
        try:
            device = able_device(span)
        except CompileError as error:
            (told,) = error.diagnostics
            raise LaunchError([Diagnostic(told.code, told.message, span, hint=INSTALL)]) from None
        kernel = self._kernel(device, wide=not suits_narrow(self._function, grid, accepted))
        try:
            found = kernel.launch(grid, accepted)
        except OpenClError as error:
            refuse(error, "bind.opencl_launch", span)
        if found is not None:
            raise KernelError([found])

    def _kernel(self, device: OpenClDevice, *, wide: bool) -> OpenClKernel:
        """The kernel as the driver of a device has built it. Raises `LaunchError` where the driver refuses it."""
        if wide not in self._emitted:
            self._emitted[wide] = self._compiled(wide=wide)
        emitted = self._emitted[wide]
        self._check(device, emitted)
        try:
            session = session_of(device)
            known = self._kernels.get(wide)
            if known is None or known[0] is not session:
                known = self._kernels[wide] = session, OpenClKernel(session, emitted)
        except OpenClError as error:
            refuse(error, "bind.opencl_module", self._function.span)
        return known[1]

    def _check(self, device: OpenClDevice, emitted: EmittedKernel) -> None:
        """Raise `LaunchError` for a kernel that was compiled for devices with more than this one has."""
        problems = []
        if emitted.subgroup_size not in device.subgroup_sizes:
            sizes = ", ".join(map(str, device.subgroup_sizes))
            problems.append(f"subgroups of {emitted.subgroup_size} work-items, and {device.name} has those of {sizes}")
        if emitted.local_size > device.work_group_items:
            most = device.work_group_items
            problems.append(f"work-groups of {emitted.local_size} work-items, and {device.name} has at most {most}")
        if emitted.shared_bytes > device.shared_bytes:
            most = device.shared_bytes
            problems.append(f"{emitted.shared_bytes} bytes of local memory, and {device.name} has {most}")
        if problems:
            hint = "load it for target='opencl', which compiles for this machine's device"
            told = [f"@{emitted.entry} is compiled for {problem}" for problem in problems]
            raise LaunchError([Diagnostic("bind.opencl_module", one, self._function.span, hint=hint) for one in told])
