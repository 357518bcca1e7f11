"""Profiles: what the tables say of devices is consistent, and names that are not there are told."""

from __future__ import annotations

import pytest

from girih.back.spirv.profiles.features import FEATURES
from girih.back.spirv.profiles.profile import MatrixShape
from girih.back.spirv.profiles.table import PROFILES, profile_named
from girih.ir.types import NUMBERS


def test_profiles_say_what_features_permit() -> None:
    for name, profile in PROFILES.items():
        assert profile_named(name) is profile
        assert profile.features <= set(FEATURES), name
        sizes = profile.least_subgroup_size, profile.subgroup_size, profile.most_subgroup_size
        assert list(sizes) == sorted(sizes)
        assert all(size.bit_count() == 1 for size in sizes)
        assert profile.source
        assert bool(profile.matrices) == profile.has("matrices")


def test_shapes_of_matrices_need_the_features_that_permit_them() -> None:
    words = {*NUMBERS, "u8", "u16", "u32"}
    for profile in PROFILES.values():
        for shape in profile.matrices:
            assert {shape.a, shape.b, shape.c, shape.result} <= words
            assert shape.scope in ("subgroup", "work_group")
            assert bool(shape.work_items) == (shape.scope == "work_group")
            assert not shape.flexible or profile.has("matrix_flexible")
            assert shape.scope == "subgroup" or profile.has("matrix_work_group")
    hopper = profile_named("nvidia-hopper").matrices
    assert MatrixShape(16, 16, 16, "f16", "f16", "f32", "f32") in hopper
    assert len(set(hopper)) == len(hopper)


def test_a_name_that_is_none_is_told_with_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"no profile 'lavapype' \(did you mean 'lavapipe'\?\); the profiles are"):
        profile_named("lavapype")
