"""The profile of a device: what its driver says, in the words of `girih.back.spirv.profiles`."""

from __future__ import annotations

from girih.back.spirv.profiles.opencl import ALWAYS, OPENCL_PROFILES
from girih.back.spirv.profiles.profile import Profile
from girih.diagnostics import CompileError, nearest
from girih.runtime.opencl.devices import OpenClDevice, devices
from girih.runtime.opencl.report import INSTALL, no_device
from girih.source import NOWHERE, Span

_POINTER_BYTES = 32 * 8
"""What 32 pointers take of the bytes of all parameters of a kernel."""


def profile_of(device: OpenClDevice) -> Profile:
    """The profile of a device: subgroups, limits, and the features that its extensions tell."""
    told = {
        "float16": device.has_f16,
        "float64": device.has_f64,
        "exact_quotients": device.exact_division,
        "exact_roots": device.exact_division,
        "buffer_int64_atomics": device.has("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"),
        "shared_int64_atomics": device.has("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"),
        "float32_atomic_add": device.has("cl_ext_float_atomics"),
    }
    sizes = sorted(device.subgroup_sizes)
    usual = 16 if 16 in sizes else sizes[-1]
    return Profile(
        name="this machine's device",
        says=device.name,
        subgroup_size=usual,
        least_subgroup_size=sizes[0],
        most_subgroup_size=sizes[-1],
        work_group_items=device.work_group_items,
        shared_bytes=device.shared_bytes,
        push_bytes=max(device.argument_bytes - _POINTER_BYTES, 0),
        features=ALWAYS | {name for name, there in told.items() if there},
        environment="opencl",
        source=f"{device.name}, {device.platform}, driver {device.driver}",
    )


def able_device(span: Span = NOWHERE) -> OpenClDevice:
    """The first device on which kernels can run. Raises `CompileError` where there is none."""
    able = next((one for one in devices() if one.flaw is None), None)
    if able is None:
        named = ", ".join(f"opencl:{one}" for one in OPENCL_PROFILES)
        hint = f"{INSTALL}; to compile for another machine, name a kind of device: {named}"
        raise CompileError([no_device([f"{one.name}: {one.flaw}" for one in devices()], hint, span)])
    return able


def chosen_profile(name: str, span: Span = NOWHERE) -> Profile:
    """The profile of a name, or of this machine's device for the empty one.

    Raises `CompileError` where this machine has no device that is able, and `ValueError` for a name that is none.
    """
    if not name:
        return profile_of(able_device(span))
    known = OPENCL_PROFILES.get(name)
    if known is None:
        near = nearest(name, OPENCL_PROFILES)
        meant = f" (did you mean {near!r}?)" if near else ""
        there = ", ".join(map(repr, OPENCL_PROFILES))
        raise ValueError(f"there is no profile {name!r} of OpenCL{meant}; the profiles are {there}")
    return known
