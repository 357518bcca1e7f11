"""The profiles of devices of OpenCL. A feature of Vulkan's list is here what stands beside it."""

from __future__ import annotations

from girih.back.spirv.profiles.profile import Profile

ALWAYS = frozenset({
    # OpenCL C 3.0, 6.3.1: integers of 8 to 64 bits, in registers and in memory; f16 in memory.
    "int8", "int16", "int64", "storage8", "storage16", "addresses",
    # OpenCL C 3.0, 7.4: `fma` is rounded once. Shared memory is an array of bytes.
    "fused", "explicit_shared",
    # Groups, SPV_INTEL_subgroups: all types of numbers.
    "vote", "ballot", "shuffle", "arithmetic", "extended_subgroups",
})  # fmt: skip
"""What every device has on which kernels of the language can run."""

# OpenCL 3.0, "Device Queries": the least CL_DEVICE_MAX_PARAMETER_SIZE is 1024 bytes, of which 32 pointers take 256.
PARAMETER_BYTES = 1024 - 32 * 8

OPENCL_MINIMAL = Profile(
    name="minimal",
    says="OpenCL 3.0 with SPIR-V 1.2, subgroups of 16 and SPV_INTEL_subgroups",
    subgroup_size=16,
    least_subgroup_size=16,
    most_subgroup_size=16,
    work_group_items=256,
    shared_bytes=32768,
    push_bytes=PARAMETER_BYTES,
    features=ALWAYS,
    environment="opencl",
    source="OpenCL 3.0.17, the full profile; cl_intel_required_subgroup_size, cl_intel_spirv_subgroups",
)
"""What the devices share on which Tiny Tensor Compiler's users run kernels."""

# As asked of Intel's runtime for OpenCL 2026.22.10.0.01 on a Xeon with AVX-512, on 2026-11-23. Its quotients of f32 are
# not promised to be rounded right (CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT is not set).
OPENCL_INTEL_CPU = Profile(
    name="intel-cpu",
    says="Intel's runtime for processors",
    subgroup_size=16,
    least_subgroup_size=4,
    most_subgroup_size=64,
    work_group_items=8192,
    shared_bytes=262144,
    push_bytes=3840 - 32 * 8,
    features=ALWAYS | {"float16", "float64", "buffer_int64_atomics", "shared_int64_atomics", "float32_atomic_add"},
    environment="opencl",
    source="intel-opencl-rt 2026.2.0 (driver 2026.22.10.0.01), 2026-11-23",
)
"""What Intel's runtime for processors has."""

OPENCL_PROFILES = {one.name: one for one in (OPENCL_MINIMAL, OPENCL_INTEL_CPU)}
"""The profiles of OpenCL by their names."""
