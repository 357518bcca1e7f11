"""The profile of NVIDIA's Hopper GPUs (H100, H200)."""

from __future__ import annotations

from collections.abc import Iterator

from girih.back.spirv.profiles.profile import MatrixShape, Profile

# The component types of a product: factors, then addend and result. NVIDIA's driver lists factors of 16 bits with 16
# rows, 8 or 16 columns, and factors of 8 bits with 32 in between.
_FLOATS = (("f16", "f16"), ("f16", "f32"), ("bf16", "f32"))
_INTEGERS = (("i8", "i32"), ("u8", "u32"))

# Flexible granularities for each number of work-items: what llama.cpp asks of the driver before it takes the way of
# VK_NV_cooperative_matrix2, which an H200 of driver 580.159.04 goes, so that the device's own divide these.
_WORK_GROUPS = {128: (32, 16), 256: (32, 32)}


def _shapes() -> Iterator[MatrixShape]:
    for types, inner in ((_FLOATS, (16, 8)), (_INTEGERS, (32,))):
        for factor, sum_ in types:
            row = factor, factor, sum_, sum_
            yield MatrixShape(16, 16, inner[0], *row)
            for k in inner:
                yield MatrixShape(16, 8, k, *row)
            yield MatrixShape(16, 16, inner[0], *row, flexible=True)
            for work_items, (m, n) in _WORK_GROUPS.items():
                yield MatrixShape(m, n, inner[0], *row, scope="work_group", flexible=True, work_items=(work_items,))


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
        "round16", "round32", "round64", "denormals16", "denormals32", "denormals64",
        "special16", "special32", "special64", "explicit_shared", "bfloat16",
        "matrices", "matrix_work_group", "matrix_flexible", "matrix_reductions", "matrix_conversions",
        "matrix_per_element", "matrix_tensors", "matrix_blocks",
    }),
    matrices=tuple(_shapes()),
    source="NVIDIA H200, driver 580.159.04: shaders that ran on 2026-11-21, and what llama.cpp asks of it",
)  # fmt: skip
"""What Hopper GPUs have; float8 of matrices is left out until a driver was asked."""
