"""What the capabilities of a module need of a device: the word of a feature for each."""

from __future__ import annotations

from collections.abc import Mapping

# Vulkan 1.3.302, "SPIR-V Environment": capabilities that all devices have, and those that a module asks for only where
# the profile has them (controls of floats), are not here.
FEATURE_OF_CAPABILITY: Mapping[str, str] = {
    "Int8": "int8",
    "Int16": "int16",
    "Int64": "int64",
    "Float16": "float16",
    "Float64": "float64",
    "StorageBuffer8BitAccess": "storage8",
    "StorageBuffer16BitAccess": "storage16",
    "PhysicalStorageBufferAddresses": "addresses",
    "GroupNonUniformVote": "vote",
    "GroupNonUniformBallot": "ballot",
    "GroupNonUniformShuffle": "shuffle",
    "GroupNonUniformArithmetic": "arithmetic",
    "Int64Atomics": "buffer_int64_atomics",
    "AtomicFloat32AddEXT": "float32_atomic_add",
    "WorkgroupMemoryExplicitLayoutKHR": "explicit_shared",
    "BFloat16TypeKHR": "bfloat16",
    "BFloat16CooperativeMatrixKHR": "bfloat16",
    "Float8EXT": "float8",
    "Float8CooperativeMatrixEXT": "float8",
    "CooperativeMatrixKHR": "matrices",
    "CooperativeMatrixReductionsNV": "matrix_reductions",
    "CooperativeMatrixConversionsNV": "matrix_conversions",
    "CooperativeMatrixPerElementOperationsNV": "matrix_per_element",
    "CooperativeMatrixTensorAddressingNV": "matrix_tensors",
    "TensorAddressingNV": "matrix_tensors",
    "CooperativeMatrixBlockLoadsNV": "matrix_blocks",
    "CooperativeMatrixLayoutsARM": "matrix_blocked_layouts",
}
"""The feature that a capability needs."""
