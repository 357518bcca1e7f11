"""What needs a driver is marked `vulkan`, and is skipped where none opens."""

from __future__ import annotations

import pytest

from girih.runtime.vulkan.opened import can_launch


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs a driver on a machine that has none."""
    if item.get_closest_marker("vulkan") is not None and not can_launch():
        pytest.skip("no Vulkan driver opens on this machine")
