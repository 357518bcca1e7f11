"""The features that a profile may have: the word, what it permits, and Vulkan's name of it."""

from __future__ import annotations

from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature: its word, what it permits, and what Vulkan calls it (structure.member, or a property)."""

    name: str
    says: str
    vulkan: str


FEATURES = {
    one.name: one
    for one in (
        Feature("int8", "arithmetic on integers of 8 bits", "VkPhysicalDeviceVulkan12Features.shaderInt8"),
        Feature("int16", "arithmetic on integers of 16 bits", "VkPhysicalDeviceFeatures.shaderInt16"),
        Feature("int64", "integers of 64 bits", "VkPhysicalDeviceFeatures.shaderInt64"),
        Feature("float16", "floats of 16 bits in registers", "VkPhysicalDeviceVulkan12Features.shaderFloat16"),
        Feature("float64", "floats of 64 bits", "VkPhysicalDeviceFeatures.shaderFloat64"),
        Feature("storage8", "elements of 8 bits in buffers",
                "VkPhysicalDeviceVulkan12Features.storageBuffer8BitAccess"),
        Feature("storage16", "elements of 16 bits in buffers",
                "VkPhysicalDeviceVulkan11Features.storageBuffer16BitAccess"),
        Feature("addresses", "64-bit addresses of buffers", "VkPhysicalDeviceVulkan12Features.bufferDeviceAddress"),
        Feature("vote", "votes of a subgroup", "subgroupSupportedOperations VOTE"),
        Feature("ballot", "ballots and broadcasts of a subgroup", "subgroupSupportedOperations BALLOT"),
        Feature("shuffle", "shuffles of a subgroup", "subgroupSupportedOperations SHUFFLE"),
        Feature("arithmetic", "sums and scans of a subgroup", "subgroupSupportedOperations ARITHMETIC"),
        Feature("extended_subgroups", "subgroup operations on 8, 16 and 64 bits",
                "VkPhysicalDeviceVulkan12Features.shaderSubgroupExtendedTypes"),
        Feature("buffer_int64_atomics", "atomic integers of 64 bits in buffers",
                "VkPhysicalDeviceVulkan12Features.shaderBufferInt64Atomics"),
        Feature("shared_int64_atomics", "atomic integers of 64 bits in shared memory",
                "VkPhysicalDeviceVulkan12Features.shaderSharedInt64Atomics"),
        Feature("float32_atomic_add", "atomic sums of f32 in buffers",
                "VkPhysicalDeviceShaderAtomicFloatFeaturesEXT.shaderBufferFloat32AtomicAdd"),
        Feature("fused", "a GLSL.std.450 Fma that rounds once, in f32 and f64", "none: what the hardware does"),
        Feature("exact_quotients", "quotients of f32 that are rounded right", "none: what the hardware does"),
        Feature("exact_roots", "roots of f32 that are rounded right", "none: what the hardware does"),
        Feature("exact_double_roots", "roots of f64 that are rounded right", "none: what the hardware does"),
        Feature("folds_narrowing", "what to beware of: a conversion to f16 and back that does not round",
                "none: what NVIDIA's compiler does (580.159.04)"),
        Feature("round16", "rounding to nearest even of 16 bits on demand", "shaderRoundingModeRTEFloat16"),
        Feature("round32", "rounding to nearest even of 32 bits on demand", "shaderRoundingModeRTEFloat32"),
        Feature("round64", "rounding to nearest even of 64 bits on demand", "shaderRoundingModeRTEFloat64"),
        Feature("denormals16", "subnormal f16 on demand", "shaderDenormPreserveFloat16"),
        Feature("denormals32", "subnormal f32 on demand", "shaderDenormPreserveFloat32"),
        Feature("denormals64", "subnormal f64 on demand", "shaderDenormPreserveFloat64"),
        Feature("special16", "infinities, NaN and signed zeros of f16 on demand",
                "shaderSignedZeroInfNanPreserveFloat16"),
        Feature("special32", "infinities, NaN and signed zeros of f32 on demand",
                "shaderSignedZeroInfNanPreserveFloat32"),
        Feature("special64", "infinities, NaN and signed zeros of f64 on demand",
                "shaderSignedZeroInfNanPreserveFloat64"),
        Feature("explicit_shared", "shared memory that is seen as several types",
                "VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR.workgroupMemoryExplicitLayout"),
        Feature("bfloat16", "bf16 in registers", "VkPhysicalDeviceShaderBfloat16FeaturesKHR.shaderBFloat16Type"),
        Feature("float8", "f8e4m3 and f8e5m2", "VkPhysicalDeviceShaderFloat8FeaturesEXT.shaderFloat8"),
        Feature("matrices", "cooperative matrices of a subgroup",
                "VkPhysicalDeviceCooperativeMatrixFeaturesKHR.cooperativeMatrix"),
        Feature("matrix_work_group", "matrices of a work-group",
                "VkPhysicalDeviceCooperativeMatrix2FeaturesNV.cooperativeMatrixWorkgroupScope"),
        Feature("matrix_flexible", "matrices of any multiple of a shape",
                "VkPhysicalDeviceCooperativeMatrix2FeaturesNV.cooperativeMatrixFlexibleDimensions"),
        Feature("matrix_reductions", "reductions of matrices",
                "VkPhysicalDeviceCooperativeMatrix2FeaturesNV.cooperativeMatrixReductions"),
        Feature("matrix_conversions", "conversions of matrices between uses",
                "VkPhysicalDeviceCooperativeMatrix2FeaturesNV.cooperativeMatrixConversions"),
        Feature("matrix_per_element", "functions of each element of a matrix",
                "VkPhysicalDeviceCooperativeMatrix2FeaturesNV.cooperativeMatrixPerElementOperations"),
        Feature("matrix_tensors", "matrices through tensor layouts and views",
                "VkPhysicalDeviceCooperativeMatrix2FeaturesNV.cooperativeMatrixTensorAddressing"),
        Feature("matrix_blocks", "decode functions",
                "VkPhysicalDeviceCooperativeMatrix2FeaturesNV.cooperativeMatrixBlockLoads"),
        Feature("matrix_blocked_layouts", "blocked-interleaved layouts (002)",
                "VK_ARM_... SPV_ARM_cooperative_matrix_layouts"),
    )
}  # fmt: skip
"""The features by their words."""

FLOAT_CONTROLS = {
    "round": "RoundingModeRTE",
    "denormals": "DenormPreserve",
    "special": "SignedZeroInfNanPreserve",
}
"""Execution modes for floats by the features that permit them, without the width; capabilities have the same names."""
