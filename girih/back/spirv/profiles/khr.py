"""The profile of a device with the matrices of VK_KHR_cooperative_matrix, and no other extension for matrices."""

from __future__ import annotations

from girih.back.spirv.profiles.profile import MatrixShape, Profile

# AMD's RDNA3 as Mesa's driver RADV lists it: src/amd/vulkan/radv_physical_device.c of Mesa 24.0, functions
# radv_GetPhysicalDeviceCooperativeMatrixPropertiesKHR and radv_get_physical_device_properties (float controls), with
# the compiler ACO. Products of signed with unsigned integers, which the language has not, are left out.
_FLOATS = ("f16", "f32")
_INTEGERS = (("u8", "u32", False), ("u8", "i32", False), ("u8", "i32", True), ("i8", "i32", False), ("i8", "i32", True))

KHR = Profile(
    name="khr",
    says="devices with KHR_cooperative_matrix alone, such as AMD's RDNA3",
    subgroup_size=64,
    least_subgroup_size=32,
    most_subgroup_size=64,
    work_group_items=1024,
    shared_bytes=65536,
    push_bytes=256,
    features=frozenset({
        "int8", "int16", "int64", "float16", "float64", "storage8", "storage16", "addresses",
        "vote", "ballot", "shuffle", "arithmetic", "extended_subgroups",
        "buffer_int64_atomics", "shared_int64_atomics", "float32_atomic_add",
        "round16", "round32", "round64", "special16", "special32", "special64", "denormals16", "explicit_shared",
        "matrices",
    }),
    matrices=(
        *(MatrixShape(16, 16, 16, "f16", "f16", sums, sums) for sums in _FLOATS),
        *(MatrixShape(16, 16, 16, one, one, sums, sums, saturating=saturating) for one, sums, saturating in _INTEGERS),
    ),
    source="Mesa 24.0, RADV with ACO, RDNA3, by its source",
)  # fmt: skip
"""What RDNA3 has with Mesa's driver; quotients, roots and fused products are computed as if nothing were promised."""
