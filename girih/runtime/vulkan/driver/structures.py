"""Vulkan's structures in memory, and what its results mean.

Written by tools/generate_vulkan.py from Khronos' registry vk.xml, Vulkan 1.4.359; names are Vulkan's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import (
    Structure,
    c_char,
    c_char_p,
    c_float,
    c_int32,
    c_size_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import ClassVar

RESULTS: Mapping[int, tuple[str, str]] = {
    2: ("VK_TIMEOUT", "timeout"),
    -1: ("VK_ERROR_OUT_OF_HOST_MEMORY", "out of host memory"),
    -2: ("VK_ERROR_OUT_OF_DEVICE_MEMORY", "out of device memory"),
    -3: ("VK_ERROR_INITIALIZATION_FAILED", "initialization failed"),
    -4: ("VK_ERROR_DEVICE_LOST", "device lost"),
    -5: ("VK_ERROR_MEMORY_MAP_FAILED", "memory map failed"),
    -6: ("VK_ERROR_LAYER_NOT_PRESENT", "layer not present"),
    -7: ("VK_ERROR_EXTENSION_NOT_PRESENT", "extension not present"),
    -8: ("VK_ERROR_FEATURE_NOT_PRESENT", "feature not present"),
    -9: ("VK_ERROR_INCOMPATIBLE_DRIVER", "incompatible driver"),
    -10: ("VK_ERROR_TOO_MANY_OBJECTS", "too many objects"),
    -12: ("VK_ERROR_FRAGMENTED_POOL", "fragmented pool"),
    -13: ("VK_ERROR_UNKNOWN", "unknown"),
    -1000069000: ("VK_ERROR_OUT_OF_POOL_MEMORY", "out of pool memory"),
    -1000161000: ("VK_ERROR_FRAGMENTATION", "fragmentation"),
    -1000012000: ("VK_ERROR_INVALID_SHADER_NV", "invalid shader"),
    -1000174001: ("VK_ERROR_NOT_PERMITTED", "not permitted"),
}
"""The name of each result that is a failure, and its meaning."""


class TypedStructure(Structure):
    """A structure that begins with its type and the address of the next one; the type is set where it is made."""

    S_TYPE: ClassVar[int]
    HEAD = (("sType", c_uint32), ("pNext", c_void_p))

    def __init__(self, *values: object, **named: object) -> None:
        super().__init__(self.S_TYPE, None, *values, **named)


class VkApplicationInfo(TypedStructure):
    """VkApplicationInfo (Vulkan 1.4.359)."""

    S_TYPE = 0
    _fields_ = (
        *TypedStructure.HEAD, ("pApplicationName", c_char_p), ("applicationVersion", c_uint32),
        ("pEngineName", c_char_p), ("engineVersion", c_uint32), ("apiVersion", c_uint32),
    )  # fmt: skip


class VkInstanceCreateInfo(TypedStructure):
    """VkInstanceCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 1
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32), ("pApplicationInfo", c_void_p), ("enabledLayerCount", c_uint32),
        ("ppEnabledLayerNames", c_void_p), ("enabledExtensionCount", c_uint32), ("ppEnabledExtensionNames", c_void_p),
    )  # fmt: skip


class VkExtensionProperties(Structure):
    """VkExtensionProperties (Vulkan 1.4.359)."""

    _fields_ = (
        ("extensionName", c_char * 256), ("specVersion", c_uint32),
    )  # fmt: skip


class VkPhysicalDeviceLimits(Structure):
    """VkPhysicalDeviceLimits (Vulkan 1.4.359)."""

    _fields_ = (
        ("maxImageDimension1D", c_uint32), ("maxImageDimension2D", c_uint32), ("maxImageDimension3D", c_uint32),
        ("maxImageDimensionCube", c_uint32), ("maxImageArrayLayers", c_uint32), ("maxTexelBufferElements", c_uint32),
        ("maxUniformBufferRange", c_uint32), ("maxStorageBufferRange", c_uint32), ("maxPushConstantsSize", c_uint32),
        ("maxMemoryAllocationCount", c_uint32), ("maxSamplerAllocationCount", c_uint32),
        ("bufferImageGranularity", c_uint64), ("sparseAddressSpaceSize", c_uint64),
        ("maxBoundDescriptorSets", c_uint32), ("maxPerStageDescriptorSamplers", c_uint32),
        ("maxPerStageDescriptorUniformBuffers", c_uint32), ("maxPerStageDescriptorStorageBuffers", c_uint32),
        ("maxPerStageDescriptorSampledImages", c_uint32), ("maxPerStageDescriptorStorageImages", c_uint32),
        ("maxPerStageDescriptorInputAttachments", c_uint32), ("maxPerStageResources", c_uint32),
        ("maxDescriptorSetSamplers", c_uint32), ("maxDescriptorSetUniformBuffers", c_uint32),
        ("maxDescriptorSetUniformBuffersDynamic", c_uint32), ("maxDescriptorSetStorageBuffers", c_uint32),
        ("maxDescriptorSetStorageBuffersDynamic", c_uint32), ("maxDescriptorSetSampledImages", c_uint32),
        ("maxDescriptorSetStorageImages", c_uint32), ("maxDescriptorSetInputAttachments", c_uint32),
        ("maxVertexInputAttributes", c_uint32), ("maxVertexInputBindings", c_uint32),
        ("maxVertexInputAttributeOffset", c_uint32), ("maxVertexInputBindingStride", c_uint32),
        ("maxVertexOutputComponents", c_uint32), ("maxTessellationGenerationLevel", c_uint32),
        ("maxTessellationPatchSize", c_uint32), ("maxTessellationControlPerVertexInputComponents", c_uint32),
        ("maxTessellationControlPerVertexOutputComponents", c_uint32),
        ("maxTessellationControlPerPatchOutputComponents", c_uint32),
        ("maxTessellationControlTotalOutputComponents", c_uint32),
        ("maxTessellationEvaluationInputComponents", c_uint32), ("maxTessellationEvaluationOutputComponents", c_uint32),
        ("maxGeometryShaderInvocations", c_uint32), ("maxGeometryInputComponents", c_uint32),
        ("maxGeometryOutputComponents", c_uint32), ("maxGeometryOutputVertices", c_uint32),
        ("maxGeometryTotalOutputComponents", c_uint32), ("maxFragmentInputComponents", c_uint32),
        ("maxFragmentOutputAttachments", c_uint32), ("maxFragmentDualSrcAttachments", c_uint32),
        ("maxFragmentCombinedOutputResources", c_uint32), ("maxComputeSharedMemorySize", c_uint32),
        ("maxComputeWorkGroupCount", c_uint32 * 3), ("maxComputeWorkGroupInvocations", c_uint32),
        ("maxComputeWorkGroupSize", c_uint32 * 3), ("subPixelPrecisionBits", c_uint32),
        ("subTexelPrecisionBits", c_uint32), ("mipmapPrecisionBits", c_uint32), ("maxDrawIndexedIndexValue", c_uint32),
        ("maxDrawIndirectCount", c_uint32), ("maxSamplerLodBias", c_float), ("maxSamplerAnisotropy", c_float),
        ("maxViewports", c_uint32), ("maxViewportDimensions", c_uint32 * 2), ("viewportBoundsRange", c_float * 2),
        ("viewportSubPixelBits", c_uint32), ("minMemoryMapAlignment", c_size_t),
        ("minTexelBufferOffsetAlignment", c_uint64), ("minUniformBufferOffsetAlignment", c_uint64),
        ("minStorageBufferOffsetAlignment", c_uint64), ("minTexelOffset", c_int32), ("maxTexelOffset", c_uint32),
        ("minTexelGatherOffset", c_int32), ("maxTexelGatherOffset", c_uint32), ("minInterpolationOffset", c_float),
        ("maxInterpolationOffset", c_float), ("subPixelInterpolationOffsetBits", c_uint32),
        ("maxFramebufferWidth", c_uint32), ("maxFramebufferHeight", c_uint32), ("maxFramebufferLayers", c_uint32),
        ("framebufferColorSampleCounts", c_uint32), ("framebufferDepthSampleCounts", c_uint32),
        ("framebufferStencilSampleCounts", c_uint32), ("framebufferNoAttachmentsSampleCounts", c_uint32),
        ("maxColorAttachments", c_uint32), ("sampledImageColorSampleCounts", c_uint32),
        ("sampledImageIntegerSampleCounts", c_uint32), ("sampledImageDepthSampleCounts", c_uint32),
        ("sampledImageStencilSampleCounts", c_uint32), ("storageImageSampleCounts", c_uint32),
        ("maxSampleMaskWords", c_uint32), ("timestampComputeAndGraphics", c_uint32), ("timestampPeriod", c_float),
        ("maxClipDistances", c_uint32), ("maxCullDistances", c_uint32), ("maxCombinedClipAndCullDistances", c_uint32),
        ("discreteQueuePriorities", c_uint32), ("pointSizeRange", c_float * 2), ("lineWidthRange", c_float * 2),
        ("pointSizeGranularity", c_float), ("lineWidthGranularity", c_float), ("strictLines", c_uint32),
        ("standardSampleLocations", c_uint32), ("optimalBufferCopyOffsetAlignment", c_uint64),
        ("optimalBufferCopyRowPitchAlignment", c_uint64), ("nonCoherentAtomSize", c_uint64),
    )  # fmt: skip


class VkPhysicalDeviceSparseProperties(Structure):
    """VkPhysicalDeviceSparseProperties (Vulkan 1.4.359)."""

    _fields_ = (
        ("residencyStandard2DBlockShape", c_uint32), ("residencyStandard2DMultisampleBlockShape", c_uint32),
        ("residencyStandard3DBlockShape", c_uint32), ("residencyAlignedMipSize", c_uint32),
        ("residencyNonResidentStrict", c_uint32),
    )  # fmt: skip


class VkPhysicalDeviceProperties(Structure):
    """VkPhysicalDeviceProperties (Vulkan 1.4.359)."""

    _fields_ = (
        ("apiVersion", c_uint32), ("driverVersion", c_uint32), ("vendorID", c_uint32), ("deviceID", c_uint32),
        ("deviceType", c_int32), ("deviceName", c_char * 256), ("pipelineCacheUUID", c_uint8 * 16),
        ("limits", VkPhysicalDeviceLimits), ("sparseProperties", VkPhysicalDeviceSparseProperties),
    )  # fmt: skip


class VkPhysicalDeviceProperties2(TypedStructure):
    """VkPhysicalDeviceProperties2 (Vulkan 1.4.359)."""

    S_TYPE = 1000059001
    _fields_ = (
        *TypedStructure.HEAD, ("properties", VkPhysicalDeviceProperties),
    )  # fmt: skip


class VkPhysicalDeviceFeatures(Structure):
    """VkPhysicalDeviceFeatures (Vulkan 1.4.359)."""

    _fields_ = (
        ("robustBufferAccess", c_uint32), ("fullDrawIndexUint32", c_uint32), ("imageCubeArray", c_uint32),
        ("independentBlend", c_uint32), ("geometryShader", c_uint32), ("tessellationShader", c_uint32),
        ("sampleRateShading", c_uint32), ("dualSrcBlend", c_uint32), ("logicOp", c_uint32),
        ("multiDrawIndirect", c_uint32), ("drawIndirectFirstInstance", c_uint32), ("depthClamp", c_uint32),
        ("depthBiasClamp", c_uint32), ("fillModeNonSolid", c_uint32), ("depthBounds", c_uint32),
        ("wideLines", c_uint32), ("largePoints", c_uint32), ("alphaToOne", c_uint32), ("multiViewport", c_uint32),
        ("samplerAnisotropy", c_uint32), ("textureCompressionETC2", c_uint32), ("textureCompressionASTC_LDR", c_uint32),
        ("textureCompressionBC", c_uint32), ("occlusionQueryPrecise", c_uint32), ("pipelineStatisticsQuery", c_uint32),
        ("vertexPipelineStoresAndAtomics", c_uint32), ("fragmentStoresAndAtomics", c_uint32),
        ("shaderTessellationAndGeometryPointSize", c_uint32), ("shaderImageGatherExtended", c_uint32),
        ("shaderStorageImageExtendedFormats", c_uint32), ("shaderStorageImageMultisample", c_uint32),
        ("shaderStorageImageReadWithoutFormat", c_uint32), ("shaderStorageImageWriteWithoutFormat", c_uint32),
        ("shaderUniformBufferArrayDynamicIndexing", c_uint32), ("shaderSampledImageArrayDynamicIndexing", c_uint32),
        ("shaderStorageBufferArrayDynamicIndexing", c_uint32), ("shaderStorageImageArrayDynamicIndexing", c_uint32),
        ("shaderClipDistance", c_uint32), ("shaderCullDistance", c_uint32), ("shaderFloat64", c_uint32),
        ("shaderInt64", c_uint32), ("shaderInt16", c_uint32), ("shaderResourceResidency", c_uint32),
        ("shaderResourceMinLod", c_uint32), ("sparseBinding", c_uint32), ("sparseResidencyBuffer", c_uint32),
        ("sparseResidencyImage2D", c_uint32), ("sparseResidencyImage3D", c_uint32),
        ("sparseResidency2Samples", c_uint32), ("sparseResidency4Samples", c_uint32),
        ("sparseResidency8Samples", c_uint32), ("sparseResidency16Samples", c_uint32),
        ("sparseResidencyAliased", c_uint32), ("variableMultisampleRate", c_uint32), ("inheritedQueries", c_uint32),
    )  # fmt: skip


class VkPhysicalDeviceFeatures2(TypedStructure):
    """VkPhysicalDeviceFeatures2 (Vulkan 1.4.359)."""

    S_TYPE = 1000059000
    _fields_ = (
        *TypedStructure.HEAD, ("features", VkPhysicalDeviceFeatures),
    )  # fmt: skip


class VkExtent3D(Structure):
    """VkExtent3D (Vulkan 1.4.359)."""

    _fields_ = (
        ("width", c_uint32), ("height", c_uint32), ("depth", c_uint32),
    )  # fmt: skip


class VkQueueFamilyProperties(Structure):
    """VkQueueFamilyProperties (Vulkan 1.4.359)."""

    _fields_ = (
        ("queueFlags", c_uint32), ("queueCount", c_uint32), ("timestampValidBits", c_uint32),
        ("minImageTransferGranularity", VkExtent3D),
    )  # fmt: skip


class VkMemoryType(Structure):
    """VkMemoryType (Vulkan 1.4.359)."""

    _fields_ = (
        ("propertyFlags", c_uint32), ("heapIndex", c_uint32),
    )  # fmt: skip


class VkMemoryHeap(Structure):
    """VkMemoryHeap (Vulkan 1.4.359)."""

    _fields_ = (
        ("size", c_uint64), ("flags", c_uint32),
    )  # fmt: skip


class VkPhysicalDeviceMemoryProperties(Structure):
    """VkPhysicalDeviceMemoryProperties (Vulkan 1.4.359)."""

    _fields_ = (
        ("memoryTypeCount", c_uint32), ("memoryTypes", VkMemoryType * 32), ("memoryHeapCount", c_uint32),
        ("memoryHeaps", VkMemoryHeap * 16),
    )  # fmt: skip


class VkCooperativeMatrixPropertiesKHR(TypedStructure):
    """VkCooperativeMatrixPropertiesKHR (Vulkan 1.4.359)."""

    S_TYPE = 1000506001
    _fields_ = (
        *TypedStructure.HEAD, ("MSize", c_uint32), ("NSize", c_uint32), ("KSize", c_uint32), ("AType", c_int32),
        ("BType", c_int32), ("CType", c_int32), ("ResultType", c_int32), ("saturatingAccumulation", c_uint32),
        ("scope", c_int32),
    )  # fmt: skip


class VkCooperativeMatrixFlexibleDimensionsPropertiesNV(TypedStructure):
    """VkCooperativeMatrixFlexibleDimensionsPropertiesNV (Vulkan 1.4.359)."""

    S_TYPE = 1000593001
    _fields_ = (
        *TypedStructure.HEAD, ("MGranularity", c_uint32), ("NGranularity", c_uint32), ("KGranularity", c_uint32),
        ("AType", c_int32), ("BType", c_int32), ("CType", c_int32), ("ResultType", c_int32),
        ("saturatingAccumulation", c_uint32), ("scope", c_int32), ("workgroupInvocations", c_uint32),
    )  # fmt: skip


class VkDeviceQueueCreateInfo(TypedStructure):
    """VkDeviceQueueCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 2
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32), ("queueFamilyIndex", c_uint32), ("queueCount", c_uint32),
        ("pQueuePriorities", c_void_p),
    )  # fmt: skip


class VkDeviceCreateInfo(TypedStructure):
    """VkDeviceCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 3
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32), ("queueCreateInfoCount", c_uint32), ("pQueueCreateInfos", c_void_p),
        ("enabledLayerCount", c_uint32), ("ppEnabledLayerNames", c_void_p), ("enabledExtensionCount", c_uint32),
        ("ppEnabledExtensionNames", c_void_p), ("pEnabledFeatures", c_void_p),
    )  # fmt: skip


class VkBufferCreateInfo(TypedStructure):
    """VkBufferCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 12
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32), ("size", c_uint64), ("usage", c_uint32), ("sharingMode", c_int32),
        ("queueFamilyIndexCount", c_uint32), ("pQueueFamilyIndices", c_void_p),
    )  # fmt: skip


class VkMemoryRequirements(Structure):
    """VkMemoryRequirements (Vulkan 1.4.359)."""

    _fields_ = (
        ("size", c_uint64), ("alignment", c_uint64), ("memoryTypeBits", c_uint32),
    )  # fmt: skip


class VkMemoryAllocateInfo(TypedStructure):
    """VkMemoryAllocateInfo (Vulkan 1.4.359)."""

    S_TYPE = 5
    _fields_ = (
        *TypedStructure.HEAD, ("allocationSize", c_uint64), ("memoryTypeIndex", c_uint32),
    )  # fmt: skip


class VkMemoryAllocateFlagsInfo(TypedStructure):
    """VkMemoryAllocateFlagsInfo (Vulkan 1.4.359)."""

    S_TYPE = 1000060000
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32), ("deviceMask", c_uint32),
    )  # fmt: skip


class VkBufferDeviceAddressInfo(TypedStructure):
    """VkBufferDeviceAddressInfo (Vulkan 1.4.359)."""

    S_TYPE = 1000244001
    _fields_ = (
        *TypedStructure.HEAD, ("buffer", c_uint64),
    )  # fmt: skip


class VkBufferCopy(Structure):
    """VkBufferCopy (Vulkan 1.4.359)."""

    _fields_ = (
        ("srcOffset", c_uint64), ("dstOffset", c_uint64), ("size", c_uint64),
    )  # fmt: skip


class VkShaderModuleCreateInfo(TypedStructure):
    """VkShaderModuleCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 16
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32), ("codeSize", c_size_t), ("pCode", c_void_p),
    )  # fmt: skip


class VkDescriptorSetLayoutBinding(Structure):
    """VkDescriptorSetLayoutBinding (Vulkan 1.4.359)."""

    _fields_ = (
        ("binding", c_uint32), ("descriptorType", c_int32), ("descriptorCount", c_uint32), ("stageFlags", c_uint32),
        ("pImmutableSamplers", c_void_p),
    )  # fmt: skip


class VkDescriptorSetLayoutCreateInfo(TypedStructure):
    """VkDescriptorSetLayoutCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 32
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32), ("bindingCount", c_uint32), ("pBindings", c_void_p),
    )  # fmt: skip


class VkPushConstantRange(Structure):
    """VkPushConstantRange (Vulkan 1.4.359)."""

    _fields_ = (
        ("stageFlags", c_uint32), ("offset", c_uint32), ("size", c_uint32),
    )  # fmt: skip


class VkPipelineLayoutCreateInfo(TypedStructure):
    """VkPipelineLayoutCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 30
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32), ("setLayoutCount", c_uint32), ("pSetLayouts", c_void_p),
        ("pushConstantRangeCount", c_uint32), ("pPushConstantRanges", c_void_p),
    )  # fmt: skip


class VkSpecializationMapEntry(Structure):
    """VkSpecializationMapEntry (Vulkan 1.4.359)."""

    _fields_ = (
        ("constantID", c_uint32), ("offset", c_uint32), ("size", c_size_t),
    )  # fmt: skip


class VkSpecializationInfo(Structure):
    """VkSpecializationInfo (Vulkan 1.4.359)."""

    _fields_ = (
        ("mapEntryCount", c_uint32), ("pMapEntries", c_void_p), ("dataSize", c_size_t), ("pData", c_void_p),
    )  # fmt: skip


class VkPipelineShaderStageCreateInfo(TypedStructure):
    """VkPipelineShaderStageCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 18
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32), ("stage", c_int32), ("module", c_uint64), ("pName", c_char_p),
        ("pSpecializationInfo", c_void_p),
    )  # fmt: skip


class VkPipelineShaderStageRequiredSubgroupSizeCreateInfo(TypedStructure):
    """VkPipelineShaderStageRequiredSubgroupSizeCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 1000225001
    _fields_ = (
        *TypedStructure.HEAD, ("requiredSubgroupSize", c_uint32),
    )  # fmt: skip


class VkPipelineRobustnessCreateInfo(TypedStructure):
    """VkPipelineRobustnessCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 1000068000
    _fields_ = (
        *TypedStructure.HEAD, ("storageBuffers", c_int32), ("uniformBuffers", c_int32), ("vertexInputs", c_int32),
        ("images", c_int32),
    )  # fmt: skip


class VkComputePipelineCreateInfo(TypedStructure):
    """VkComputePipelineCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 29
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32), ("stage", VkPipelineShaderStageCreateInfo), ("layout", c_uint64),
        ("basePipelineHandle", c_uint64), ("basePipelineIndex", c_int32),
    )  # fmt: skip


class VkPipelineCacheCreateInfo(TypedStructure):
    """VkPipelineCacheCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 17
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32), ("initialDataSize", c_size_t), ("pInitialData", c_void_p),
    )  # fmt: skip


class VkPipelineCacheHeaderVersionOne(Structure):
    """VkPipelineCacheHeaderVersionOne (Vulkan 1.4.359)."""

    _fields_ = (
        ("headerSize", c_uint32), ("headerVersion", c_int32), ("vendorID", c_uint32), ("deviceID", c_uint32),
        ("pipelineCacheUUID", c_uint8 * 16),
    )  # fmt: skip


class VkDescriptorPoolSize(Structure):
    """VkDescriptorPoolSize (Vulkan 1.4.359)."""

    _fields_ = (
        ("type", c_int32), ("descriptorCount", c_uint32),
    )  # fmt: skip


class VkDescriptorPoolCreateInfo(TypedStructure):
    """VkDescriptorPoolCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 33
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32), ("maxSets", c_uint32), ("poolSizeCount", c_uint32),
        ("pPoolSizes", c_void_p),
    )  # fmt: skip


class VkDescriptorSetAllocateInfo(TypedStructure):
    """VkDescriptorSetAllocateInfo (Vulkan 1.4.359)."""

    S_TYPE = 34
    _fields_ = (
        *TypedStructure.HEAD, ("descriptorPool", c_uint64), ("descriptorSetCount", c_uint32), ("pSetLayouts", c_void_p),
    )  # fmt: skip


class VkDescriptorBufferInfo(Structure):
    """VkDescriptorBufferInfo (Vulkan 1.4.359)."""

    _fields_ = (
        ("buffer", c_uint64), ("offset", c_uint64), ("range", c_uint64),
    )  # fmt: skip


class VkWriteDescriptorSet(TypedStructure):
    """VkWriteDescriptorSet (Vulkan 1.4.359)."""

    S_TYPE = 35
    _fields_ = (
        *TypedStructure.HEAD, ("dstSet", c_uint64), ("dstBinding", c_uint32), ("dstArrayElement", c_uint32),
        ("descriptorCount", c_uint32), ("descriptorType", c_int32), ("pImageInfo", c_void_p), ("pBufferInfo", c_void_p),
        ("pTexelBufferView", c_void_p),
    )  # fmt: skip


class VkCommandPoolCreateInfo(TypedStructure):
    """VkCommandPoolCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 39
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32), ("queueFamilyIndex", c_uint32),
    )  # fmt: skip


class VkCommandBufferAllocateInfo(TypedStructure):
    """VkCommandBufferAllocateInfo (Vulkan 1.4.359)."""

    S_TYPE = 40
    _fields_ = (
        *TypedStructure.HEAD, ("commandPool", c_uint64), ("level", c_int32), ("commandBufferCount", c_uint32),
    )  # fmt: skip


class VkCommandBufferBeginInfo(TypedStructure):
    """VkCommandBufferBeginInfo (Vulkan 1.4.359)."""

    S_TYPE = 42
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32), ("pInheritanceInfo", c_void_p),
    )  # fmt: skip


class VkMemoryBarrier(TypedStructure):
    """VkMemoryBarrier (Vulkan 1.4.359)."""

    S_TYPE = 46
    _fields_ = (
        *TypedStructure.HEAD, ("srcAccessMask", c_uint32), ("dstAccessMask", c_uint32),
    )  # fmt: skip


class VkSubmitInfo(TypedStructure):
    """VkSubmitInfo (Vulkan 1.4.359)."""

    S_TYPE = 4
    _fields_ = (
        *TypedStructure.HEAD, ("waitSemaphoreCount", c_uint32), ("pWaitSemaphores", c_void_p),
        ("pWaitDstStageMask", c_void_p), ("commandBufferCount", c_uint32), ("pCommandBuffers", c_void_p),
        ("signalSemaphoreCount", c_uint32), ("pSignalSemaphores", c_void_p),
    )  # fmt: skip


class VkFenceCreateInfo(TypedStructure):
    """VkFenceCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 8
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32),
    )  # fmt: skip


class VkQueryPoolCreateInfo(TypedStructure):
    """VkQueryPoolCreateInfo (Vulkan 1.4.359)."""

    S_TYPE = 11
    _fields_ = (
        *TypedStructure.HEAD, ("flags", c_uint32), ("queryType", c_int32), ("queryCount", c_uint32),
        ("pipelineStatistics", c_uint32),
    )  # fmt: skip
