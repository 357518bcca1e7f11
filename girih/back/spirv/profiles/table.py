"""The profiles that girih knows, by name."""

from __future__ import annotations

from girih.back.spirv.profiles.hopper import HOPPER
from girih.back.spirv.profiles.khr import KHR
from girih.back.spirv.profiles.lavapipe import LAVAPIPE
from girih.back.spirv.profiles.minimal import MINIMAL
from girih.back.spirv.profiles.profile import Profile
from girih.diagnostics import nearest

PROFILES = {one.name: one for one in (HOPPER, KHR, LAVAPIPE, MINIMAL)}
"""The profiles by their names."""


def profile_named(name: str) -> Profile:
    """The profile of a name, such as `nvidia-hopper`. Raises `ValueError`, with the nearest name, if there is none."""
    profile = PROFILES.get(name)
    if profile is not None:
        return profile
    near = nearest(name, PROFILES)
    meant = f" (did you mean {near!r}?)" if near else ""
    raise ValueError(f"there is no profile {name!r}{meant}; the profiles are {', '.join(map(repr, PROFILES))}")
