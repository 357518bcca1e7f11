"""The versions of Vulkan that have a capability, required or optional, without an extension.

Vulkan specification 1.4, appendix "Vulkan Environment for SPIR-V", table "List of SPIR-V Capabilities"; what
spirv-val 2026 takes as optional in Vulkan 1.0, such as Float16, is so here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from girih.spirv.grammar import Enumerant, grammar

_SINCE: Mapping[tuple[int, int], str] = {
    (1, 0): """
        Matrix Shader InputAttachment Sampled1D Image1D SampledBuffer ImageBuffer ImageQuery DerivativeControl
        Geometry Tessellation Float64 Int64 Int16 TessellationPointSize GeometryPointSize ImageGatherExtended
        StorageImageMultisample UniformBufferArrayDynamicIndexing SampledImageArrayDynamicIndexing
        StorageBufferArrayDynamicIndexing StorageImageArrayDynamicIndexing ClipDistance CullDistance ImageCubeArray
        SampleRateShading SparseResidency MinLod SampledCubeArray ImageMSArray StorageImageExtendedFormats
        InterpolationFunction StorageImageReadWithoutFormat StorageImageWriteWithoutFormat MultiViewport Int64Atomics
        TransformFeedback GeometryStreams Float16 Int8 BFloat16TypeKHR Float8EXT Float4EXT Float6EXT
        Float8UnsignedE8M0EXT MXInt8EXT BitcastExtractEXT PushConstantBanksNV
    """,
    (1, 1): """
        DeviceGroup MultiView GroupNonUniform GroupNonUniformVote GroupNonUniformArithmetic GroupNonUniformBallot
        GroupNonUniformShuffle GroupNonUniformShuffleRelative GroupNonUniformClustered GroupNonUniformQuad
        DrawParameters StorageUniformBufferBlock16 StorageUniform16 StoragePushConstant16 StorageInputOutput16
        VariablePointersStorageBuffer VariablePointers
    """,
    (1, 2): """
        ShaderNonUniform DenormPreserve DenormFlushToZero SignedZeroInfNanPreserve RoundingModeRTE RoundingModeRTZ
        VulkanMemoryModel VulkanMemoryModelDeviceScope StorageBuffer8BitAccess UniformAndStorageBuffer8BitAccess
        StoragePushConstant8 ShaderViewportIndex ShaderLayer PhysicalStorageBufferAddresses RuntimeDescriptorArray
        UniformTexelBufferArrayDynamicIndexing StorageTexelBufferArrayDynamicIndexing
        UniformBufferArrayNonUniformIndexing SampledImageArrayNonUniformIndexing StorageBufferArrayNonUniformIndexing
        StorageImageArrayNonUniformIndexing InputAttachmentArrayNonUniformIndexing
        UniformTexelBufferArrayNonUniformIndexing StorageTexelBufferArrayNonUniformIndexing
        InputAttachmentArrayDynamicIndexing
    """,
    (1, 3): """
        DotProduct DotProductInputAll DotProductInput4x8Bit DotProductInput4x8BitPacked DemoteToHelperInvocation
    """,
    (1, 4): "FloatControls2",
}


@cache
def _versions() -> Mapping[str, tuple[int, int]]:
    """The first versions by the first names of capabilities; the grammar of an older wheel may lack the newest."""
    known = grammar().kinds["Capability"].by_name
    named = ((name, version) for version, names in _SINCE.items() for name in names.split() if name in known)
    return {known[name].name: version for name, version in named}


def capability_version(capability: Enumerant) -> tuple[int, int] | None:
    """The first version of Vulkan that has a capability without an extension; None where none has."""
    return _versions().get(capability.name)
