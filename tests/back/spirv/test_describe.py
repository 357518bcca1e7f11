"""tools/describe_vulkan.py: what a driver has otherwise than a table."""

from __future__ import annotations

from dataclasses import replace

from girih.back.spirv.profiles.hopper import HOPPER
from tools.describe_vulkan import described, differences


def test_differences_are_told_one_by_one() -> None:
    assert differences(HOPPER, HOPPER) == []
    one, *others = HOPPER.matrices
    other = replace(HOPPER, name="other", push_bytes=128, features=HOPPER.features - {"fused"}, matrices=tuple(others))
    assert differences(other, HOPPER) == [
        "push_bytes: 128 and not 256",
        "no feature: fused",
        f"no shape: {one}",
    ]
    assert differences(HOPPER, other)[1:] == ["one more feature: fused", f"one more shape: {one}"]
    assert described(other)["features"] == sorted(other.features)
