"""The profile of NVIDIA's Hopper GPUs (H100, H200)."""

from __future__ import annotations

from collections.abc import Iterator

from girih.back.spirv.profiles.profile import MatrixShape, Profile

# As listed by the driver: VkCooperativeMatrixPropertiesKHR, then VkCooperativeMatrixFlexibleDimensionsPropertiesNV,
# whose granularities depend on the number of work-items.
_FLOATS = (("f16", "f16"), ("f16", "f32"))
_BFLOATS = (("bf16", "f32"),)
_INTEGERS = (("u8", "u32"), ("i8", "i32"))
_WORK_GROUPS = {32: (16, 16), 64: (16, 16), 128: (32, 16), 256: (32, 32)}


def _shapes() -> Iterator[MatrixShape]:
    for factor, total in _FLOATS:
        for shape in ((16, 16, 16), (16, 8, 16), (16, 8, 8)):
            yield MatrixShape(*shape, factor, factor, total, total)
    for factor, total in _INTEGERS:
        for shape in ((16, 16, 32), (16, 8, 32)):
            yield MatrixShape(*shape, factor, factor, total, total)
    for factor, total in _BFLOATS:
        yield MatrixShape(16, 16, 16, factor, factor, total, total)
    for factor, total in (*_FLOATS, *_INTEGERS, *_BFLOATS):
        k = 32 if (factor, total) in _INTEGERS else 16
        yield MatrixShape(16, 16, k, factor, factor, total, total, flexible=True)
        for work_items, (m, n) in _WORK_GROUPS.items():
            yield MatrixShape(
                m, n, k, factor, factor, total, total, scope="work_group", flexible=True, work_items=(work_items,)
            )


HOPPER = Profile(
    name="nvidia-hopper",
    says="NVIDIA H100 and H200",
    subgroup_size=32,
    least_subgroup_size=32,
    most_subgroup_size=32,
    work_group_items=1024,
    shared_bytes=49152,
    push_bytes=256,
    features=frozenset({
        "int8", "int16", "int64", "float16", "float64", "storage8", "storage16", "addresses",
        "vote", "ballot", "shuffle", "arithmetic", "extended_subgroups",
        "buffer_int64_atomics", "shared_int64_atomics", "float32_atomic_add", "fused",
        "round16", "round32", "round64", "denormals16", "folds_narrowing",
        "exact_quotients", "exact_double_roots",
        "special16", "special32", "special64", "explicit_shared", "bfloat16",
        "matrices", "matrix_work_group", "matrix_flexible", "matrix_reductions", "matrix_conversions",
        "matrix_per_element", "matrix_tensors", "matrix_blocks",
    }),
    matrices=tuple(_shapes()),
    source="NVIDIA H200, driver 580.159.04, Vulkan 1.4, 2026-11-23",
)  # fmt: skip
"""What Hopper GPUs have. Of 2^20 quotients of f32, and roots of f64, none was rounded wrong; of roots of f32 one in six
was, by one ulp. This driver lists no matrices of 8-bit floats, and makes no promise on subnormal f32."""
