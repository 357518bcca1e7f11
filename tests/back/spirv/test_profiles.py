"""Profiles: what the tables say of devices is consistent, and names that are not there are told."""

from __future__ import annotations

import pytest

import girih
from girih.back.spirv.machine.compile import compile_kernel
from girih.back.spirv.profiles.capabilities import FEATURE_OF_CAPABILITY
from girih.back.spirv.profiles.features import FEATURES
from girih.back.spirv.profiles.profile import MatrixShape
from girih.back.spirv.profiles.table import PROFILES, profile_named
from girih.diagnostics import CompileError
from girih.ir.types import NUMBERS
from girih.spirv.grammar import grammar


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


def test_capabilities_need_features_that_there_are() -> None:
    known = grammar().kinds["Capability"]
    assert set(FEATURE_OF_CAPABILITY.values()) <= set(FEATURES)
    assert len({known.value(word) for word in FEATURE_OF_CAPABILITY}) == len(FEATURE_OF_CAPABILITY)


@pytest.mark.parametrize(
    ("profile", "text", "words"),
    [
        ("minimal", "func @f(%A: memref<f64x8>) { %0 = constant 0 : index\n%x = load %A[%0] : f64\nstore %x, %A[%0] }",
         "floats of 64 bits"),
        ("minimal", "func @f(%A: memref<i8x8>) { %0 = constant 0 : index\n %x = load %A[%0] : i8\n store %x, %A[%0] }",
         "elements of 8 bits in buffers"),
        ("lavapipe", "func @f(%A: memref<i32x8>) attributes {subgroup_size=16} { %n = subgroup_size : i32\n"
         "%0 = constant 0 : index\n store %n, %A[%0] }", "those of lavapipe have 8"),
    ],
)  # fmt: skip
def test_what_a_profile_lacks_is_refused_by_name(profile: str, text: str, words: str) -> None:
    with pytest.raises(CompileError, match=words) as raised:
        compile_kernel(girih.parse(text).functions[0], profile_named(profile))
    assert [one.code for one in raised.value.diagnostics] == ["run.target"]
