"""Names of SPIR-V that several rooms ask for: opcodes, storage classes, execution models, decorations, sets.

What only one chapter of rules needs stands there. Names that texts list are tuples, in the order of the specification.
"""

from __future__ import annotations

TERMINATORS = frozenset({
    "OpBranch", "OpBranchConditional", "OpSwitch", "OpKill", "OpReturn", "OpReturnValue", "OpUnreachable",
    "OpTerminateInvocation", "OpIgnoreIntersectionKHR", "OpTerminateRayKHR", "OpEmitMeshTasksEXT", "OpAbortKHR",
})  # fmt: skip
"""Instructions that end a block (SPIR-V 2.2.5)."""

VARIABLES = frozenset({"OpVariable", "OpUntypedVariableKHR"})
"""Instructions that declare variables."""

IMAGE_TYPES = frozenset({"OpTypeImage", "OpTypeSampler", "OpTypeSampledImage"})
"""Types of images and of what samples them."""

BLOCK_DECORATIONS = ("Block", "BufferBlock")
"""Decorations of structs that are the whole of a buffer (SPIR-V 3.20)."""

LAID_OUT = frozenset({"StorageBuffer", "Uniform", "PushConstant", "PhysicalStorageBuffer"})
"""Storage classes of memory with an explicit layout, always (Vulkan, "Offset and Stride Assignment")."""

RESOURCES = frozenset({"UniformConstant", "Uniform", "StorageBuffer"})
"""Storage classes of variables that descriptors stand behind; they may be arrays of resources, which are not in memory
(Vulkan, "Shader Resource Interface")."""

WORK_GROUP_MODELS = ("GLCompute", "TaskNV", "MeshNV", "TaskEXT", "MeshEXT")
"""Execution models with a local size, in Vulkan."""

RAY_MODELS = ("RayGenerationKHR", "IntersectionKHR", "AnyHitKHR", "ClosestHitKHR", "MissKHR", "CallableKHR")
"""Execution models of ray tracing."""

STORED_16 = (
    "StorageBuffer16BitAccess", "UniformAndStorageBuffer16BitAccess", "StoragePushConstant16", "StorageInputOutput16",
    "WorkgroupMemoryExplicitLayout16BitAccessKHR",
)  # fmt: skip
"""Capabilities with which numbers of 16 bits are stored, and not computed with (SPV_KHR_16bit_storage)."""

NON_SEMANTIC = "NonSemantic."
"""How the names of sets begin whose instructions mean nothing for what runs (SPV_KHR_non_semantic_info)."""

DEBUG_SETS = frozenset({"DebugInfo", "OpenCL.DebugInfo.100"})
"""Sets of debug instructions, which mean nothing either, that are not called non-semantic."""
