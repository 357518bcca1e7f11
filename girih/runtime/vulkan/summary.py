"""The summary of how Vulkan devices execute the language: this machine's, or those of a profile."""

from __future__ import annotations

from girih.back.spirv.profiles.features import FEATURES
from girih.back.spirv.profiles.profile import MatrixShape, Profile
from girih.back.spirv.profiles.table import PROFILES
from girih.ir.types import BF16, EIGHT_BIT_FLOATS, F16, F64, I64, INDEX, PARTS, SCALARS, Boolean, MatrixScope, Number
from girih.runtime.device import ExecutionSummary
from girih.runtime.vulkan.driver.entry import Driver
from girih.runtime.vulkan.driver.faults import NoDriverError
from girih.runtime.vulkan.opened import current_driver
from girih.runtime.vulkan.profile import profile_of


def summary_of(name: str) -> ExecutionSummary:
    """The summary of a profile by name, for the empty name that of this machine's device and of all profiles."""
    driver = _driver()
    facts: dict[str, str] = {}
    if isinstance(driver, Driver):
        facts["driver here"] = driver.library
        for number, device in enumerate(driver.devices):
            what = f"{device.name}, {device.kind}, {device.driver}, Vulkan {'.'.join(map(str, device.version))}"
            facts[f"device {number}"] = what + (", taken" if device is driver.best else "")
    else:
        facts["driver here"] = f"none; tried: {driver}"
    here = profile_of(driver.best) if isinstance(driver, Driver) else None
    profile = PROFILES[name] if name else here
    if profile is not None:
        facts |= _sizes(profile)
    if not name:
        facts |= {f"vulkan:{one.name}": f"{one.says}: {_features(one)}" for one in PROFILES.values()}
    return ExecutionSummary(facts, _types(profile), {scope.value: _matrices(profile, scope) for scope in MatrixScope})


def _driver() -> Driver | str:
    try:
        return current_driver()
    except NoDriverError as error:
        return "; ".join(error.tried)


def _sizes(profile: Profile) -> dict[str, str]:
    least, most = profile.least_subgroup_size, profile.most_subgroup_size
    subgroups = str(least) if least == most else f"{least} to {most}, {profile.subgroup_size} where nobody asks"
    return {
        "subgroups": f"of {subgroups} work-items",
        "work-groups": f"of at most {profile.work_group_items} work-items",
        "memory": f"{profile.shared_bytes} bytes of local memory, {profile.push_bytes} bytes of parameters at once",
        "features": _features(profile),
        "source": profile.source,
    }


def _features(profile: Profile) -> str:
    return ", ".join(name for name in FEATURES if name in profile.features)


def _types(profile: Profile | None) -> dict[str, str]:
    return {name: _type(type, profile) for name, type in SCALARS.items()}


def _type(type: Number | Boolean, profile: Profile | None) -> str:
    if profile is None:
        return "as the device has it; a profile (`girih targets vulkan:minimal`) says more"
    if isinstance(type, Boolean):
        return "one bit; one byte in memory"
    if type in (F16, BF16):
        return "in f32, rounded after every operation"
    if type in EIGHT_BIT_FLOATS:
        return "moved as bits; converted by integer instructions"
    if type in PARTS:
        return f"two {PARTS[type]}"
    if type == F64 and not profile.has("float64"):
        return "the device has none"
    if type in (I64, INDEX) and not profile.has("int64"):
        return "in 32 bits where the range is known to fit"
    return "by the device"


def _matrices(profile: Profile | None, scope: MatrixScope) -> str:
    if profile is None:
        return "as the device has them"
    feature = "matrices" if scope is MatrixScope.SUBGROUP else "matrix_work_group"
    shapes = [one for one in profile.matrices if one.scope == _SCOPES[scope]]
    if not profile.has(feature) or not shapes:
        return "loops over arrays of each work-item"
    return "; ".join(dict.fromkeys(map(_shape, shapes)))


_SCOPES = {MatrixScope.SUBGROUP: "subgroup", MatrixScope.WORK_GROUP: "work_group"}


def _shape(one: MatrixShape) -> str:
    """A shape in words, such as `16x16x16 f16 to f32`."""
    of = "multiples of " if one.flexible else ""
    by = f" by {', '.join(map(str, one.work_items))} work-items" if one.work_items else ""
    factors = one.a if one.a == one.b else f"{one.a} {one.b}"
    sums = one.result if one.result == one.c else f"{one.c} {one.result}"
    saturating = ", saturating" if one.saturating else ""
    return f"{of}{one.m}x{one.n}x{one.k} {factors} to {sums}{by}{saturating}"
