"""The profile of a device that has what Vulkan 1.3 guarantees, and no more."""

from __future__ import annotations

from girih.back.spirv.profiles.profile import Profile

# Vulkan 1.3, "Feature Requirements" and "Limit Requirements": of types, 32 bits alone are certain. Which subgroup sizes
# a device has is not said; modules for this profile name one.
MINIMAL = Profile(
    name="minimal",
    says="what Vulkan 1.3 guarantees on every device",
    subgroup_size=32,
    least_subgroup_size=8,
    most_subgroup_size=64,
    work_group_items=128,
    shared_bytes=16384,
    push_bytes=128,
    features=frozenset({"addresses", "extended_subgroups"}),
    source='Vulkan 1.3.302, "Feature Requirements", "Limit Requirements"',
)
"""What every device of Vulkan 1.3 has."""
