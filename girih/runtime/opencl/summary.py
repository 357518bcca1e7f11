"""The summary of how devices of OpenCL execute the language: this machine's, or those of a profile."""

from __future__ import annotations

from girih.back.spirv.profiles.features import FEATURES
from girih.back.spirv.profiles.opencl import OPENCL_PROFILES
from girih.back.spirv.profiles.profile import Profile
from girih.ir.types import BF16, EIGHT_BIT_FLOATS, F16, F64, PARTS, SCALARS, Boolean, MatrixScope, Number
from girih.runtime.device import ExecutionSummary
from girih.runtime.opencl.devices import OpenClDevice, devices
from girih.runtime.opencl.profile import profile_of

MATRICES = "arrays of each work-item, multiplied in loops"


def summary_of(name: str) -> ExecutionSummary:
    """The summary of a profile by name, for the empty name that of this machine's device and of all profiles."""
    there = devices()
    taken = next((one for one in there if one.flaw is None), None)
    facts = {f"device {number}": _device(one, taken) for number, one in enumerate(there)}
    facts = facts or {"device": "none; no driver is installed"}
    profile = OPENCL_PROFILES[name] if name else None if taken is None else profile_of(taken)
    if profile is not None:
        facts |= _sizes(profile)
    if not name:
        facts |= {f"opencl:{one.name}": f"{one.says}: {_features(one)}" for one in OPENCL_PROFILES.values()}
    types = {word: _type(type, profile) for word, type in SCALARS.items()}
    return ExecutionSummary(facts, types, {scope.value: MATRICES for scope in MatrixScope})


def _device(device: OpenClDevice, taken: OpenClDevice | None) -> str:
    what = f"{device.name}, {device.kind}, {device.platform}, {device.version}, driver {device.driver}"
    if device.flaw is not None:
        return f"{what}; not used, {device.flaw}"
    return f"{what}, taken" if device is taken else what


def _sizes(profile: Profile) -> dict[str, str]:
    least, most = profile.least_subgroup_size, profile.most_subgroup_size
    subgroups = str(least) if least == most else f"{least} to {most}, {profile.subgroup_size} where nobody asks"
    return {
        "subgroups": f"of {subgroups} work-items",
        "work-groups": f"of at most {profile.work_group_items} work-items",
        "memory": f"{profile.shared_bytes} bytes of local memory, {profile.push_bytes} bytes of parameters by value",
        "features": _features(profile),
        "source": profile.source,
    }


def _features(profile: Profile) -> str:
    return ", ".join(name for name in FEATURES if name in profile.features)


def _type(type: Number | Boolean, profile: Profile | None) -> str:
    if isinstance(type, Boolean):
        return "one bit; one byte in memory"
    if type in (F16, BF16):
        return "in f32, rounded after every operation"
    if type in EIGHT_BIT_FLOATS:
        return "moved as bits; converted by integer instructions"
    if type in PARTS:
        return f"two {PARTS[type]}"
    if type == F64 and profile is not None and not profile.has("float64"):
        return "the device has none"
    return "by the device"
