"""The profile of lavapipe, Mesa's Vulkan driver for processors."""

from __future__ import annotations

from girih.back.spirv.profiles.profile import Profile

# As tools/describe_vulkan.py reads it from Mesa 22.3.6, llvmpipe with LLVM 15.0.6 and 256 bits, on 2026-11-23. Its Fma
# is a product and a sum, and it keeps no promise on subnormals.
LAVAPIPE = Profile(
    name="lavapipe",
    says="Mesa's driver for processors",
    subgroup_size=8,
    least_subgroup_size=8,
    most_subgroup_size=8,
    work_group_items=1024,
    shared_bytes=32768,
    push_bytes=128,
    features=frozenset({
        "int8", "int16", "int64", "float16", "float64", "storage8", "storage16", "addresses",
        "vote", "ballot", "shuffle", "arithmetic", "extended_subgroups",
        "buffer_int64_atomics", "shared_int64_atomics", "float32_atomic_add",
        "exact_quotients", "exact_roots", "exact_double_roots",
        "round16", "round32", "round64", "special16", "special32", "special64",
    }),
    source="Mesa 22.3.6, llvmpipe (LLVM 15.0.6, 256 bits), 2026-11-23",
)  # fmt: skip
"""What lavapipe has."""
