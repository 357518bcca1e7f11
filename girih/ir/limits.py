"""What a device can do, as far as the rules ask."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviceLimits:
    """What a target can do; the defaults hold where no target is named."""

    subgroup_sizes: tuple[int, ...] = (8, 16, 32, 64)
    work_group_items: int = 1024
    local_memory_bytes: int = 64 * 1024
    alignment: int = 128
    matrix_components: int = 1024 * 1024
    """The most components of a cooperative matrix; a device has far less."""


DEFAULT_LIMITS = DeviceLimits()
"""The limits where no target is named."""
