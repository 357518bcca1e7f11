"""The limits of a device that the rules ask about."""

from __future__ import annotations

from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """The limits of a target: sizes in work-items, memory and alignment in bytes. Defaults hold if none is named."""

    subgroup_sizes: tuple[int, ...] = (8, 16, 32, 64)
    work_group_items: int = 1024
    local_memory_bytes: int = 64 * 1024
    alignment: int = 128
    matrix_components: int = 1024 * 1024
    """The largest number of components of a cooperative matrix; devices have far lower limits."""
    local_alignment: int = 1024
    """The largest alignment that an `alloca` may ask for; that of a parameter is `alignment`."""


DEFAULT_LIMITS = DeviceLimits()
"""The limits that hold if no target is named."""
