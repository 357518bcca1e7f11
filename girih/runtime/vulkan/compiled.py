"""Kernels compiled for a profile, and the profile that a target means."""

from __future__ import annotations

from typing import TYPE_CHECKING

from girih.diagnostics import CompileError, Diagnostic, InternalError, errors
from girih.ir.core import Function
from girih.ir.limits import DeviceLimits
from girih.runtime.vulkan.driver.faults import NoDriverError
from girih.runtime.vulkan.report import NO_DRIVER_HINT
from girih.source import NOWHERE, Span

if TYPE_CHECKING:
    from girih.back.spirv.machine.emitted import EmittedKernel
    from girih.back.spirv.profiles.profile import Profile

ENVIRONMENT = "vulkan1.4"
"""The environment whose rules emitted modules keep."""


def chosen_profile(name: str, span: Span = NOWHERE) -> Profile:
    """The profile of a name, or of this machine's device for the empty one.

    Raises `CompileError` where this machine has no driver, and `ValueError` for a name that is none.
    """
    from girih.back.spirv.profiles.table import PROFILES, profile_named
    from girih.runtime.vulkan.opened import current_driver
    from girih.runtime.vulkan.profile import profile_of

    if name:
        return profile_named(name)
    try:
        return profile_of(current_driver().best)
    except NoDriverError as error:
        message = f"no Vulkan driver opens; tried: {'; '.join(error.tried)}"
        kinds = ", ".join(f"vulkan:{one}" for one in PROFILES)
        hint = f"{NO_DRIVER_HINT}; what is emitted needs none with a kind of device: {kinds}"
        raise CompileError([Diagnostic("bind.vulkan_driver", message, span, hint=hint)]) from None


def compiled(
    function: Function, profile: Profile, limits: DeviceLimits, *, checks: bool, wide: bool = False, even: bool = False
) -> EmittedKernel:
    """A kernel as a module for a profile. Raises `CompileError` for one that its devices cannot execute."""
    from girih.back.spirv.machine.compile import compile_kernel

    return compile_kernel(function, profile, checks=checks, wide=wide, even=even, limits=limits)


def emitted_spirv(kernel: EmittedKernel) -> bytes:
    """The bytes of a module that is written. Raises `InternalError` for one that breaks a rule."""
    from girih.spirv.judge.validate import validate

    problems = errors(validate(kernel.module, ENVIRONMENT))
    if problems:
        first = problems[0]
        what = f"the module of @{kernel.function.name} breaks {len(problems)} rules, the first: {first.code}"
        raise InternalError(f"{what}: {first.message}")
    return kernel.module.to_bytes()


def emitted_glsl(function: Function, profile: Profile, limits: DeviceLimits, *, checks: bool) -> str:
    """A kernel as GLSL. Raises `CompileError` for one that the devices of a profile cannot execute."""
    from girih.back.spirv.glsl.write import write_glsl
    from girih.back.spirv.machine.compile import recorded_kernel, written_module

    recorded = recorded_kernel(function, profile, checks=checks, limits=limits)
    # What a module needs of a device, the shader needs: it is refused alike.
    written_module(recorded)
    return write_glsl(recorded.code, profile)
