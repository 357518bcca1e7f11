"""Numbers of Vulkan's interface by their names in it (Khronos Vulkan-Headers, vulkan_core.h 1.4.359)."""

from __future__ import annotations

LOADER_INTERFACE = 5
"""The version of the interface that girih speaks to drivers (Vulkan-Loader, LoaderDriverInterface.md)."""

WHOLE_SIZE = 2**64 - 1

# VkQueueFlagBits
QUEUE_COMPUTE = 0x2

# VkPhysicalDeviceType: in words, the one that is taken first at first.
DEVICE_TYPES = {2: "discrete GPU", 1: "integrated GPU", 3: "virtual GPU", 0: "other device", 4: "CPU"}

# VkMemoryPropertyFlagBits
DEVICE_LOCAL, HOST_VISIBLE, HOST_COHERENT, HOST_CACHED = 0x1, 0x2, 0x4, 0x8

# VkMemoryAllocateFlagBits
ALLOCATE_WITH_ADDRESS = 0x2

# VkBufferUsageFlagBits
TRANSFER_SOURCE, TRANSFER_DESTINATION, UNIFORM_BUFFER, STORAGE_BUFFER = 0x1, 0x2, 0x10, 0x20
BUFFER_ADDRESS = 0x20000

# VkDescriptorType
UNIFORM_DESCRIPTOR, STORAGE_DESCRIPTOR = 6, 7

# VkShaderStageFlagBits, VkPipelineBindPoint
STAGE_COMPUTE, BIND_COMPUTE = 0x20, 1

# VkPipelineShaderStageCreateFlagBits
FULL_SUBGROUPS = 0x2

# VkPipelineRobustnessBufferBehavior
ROBUST_OFF, ROBUST_BUFFERS = 1, 2

# VkPipelineStageFlagBits
PIPELINE_COMPUTE, PIPELINE_TRANSFER, PIPELINE_HOST = 0x800, 0x1000, 0x4000

# VkAccessFlagBits
SHADER_READ, SHADER_WRITE, TRANSFER_READ, TRANSFER_WRITE, HOST_READ = 0x20, 0x40, 0x800, 0x1000, 0x2000

# VkCommandPoolCreateFlagBits, VkCommandBufferUsageFlagBits
TRANSIENT_COMMANDS, SUBMITTED_ONCE = 0x1, 0x1

# VkQueryType, VkQueryResultFlagBits
TIMESTAMPS, RESULTS_OF_64_BITS = 2, 0x1

# VkPipelineCacheHeaderVersion
CACHE_HEADER_ONE = 1

# VkInstanceCreateFlagBits, and the extensions that go with it (VK_KHR_portability_enumeration)
ENUMERATE_PORTABILITY = 0x1
PORTABILITY_OF_INSTANCE, PORTABILITY_OF_DEVICE = "VK_KHR_portability_enumeration", "VK_KHR_portability_subset"

# VkResult
TIMEOUT, INCOMPLETE = 2, 5
OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY, DEVICE_LOST = -1, -2, -4
OUT_OF_MEMORY = (OUT_OF_HOST_MEMORY, OUT_OF_DEVICE_MEMORY)

# VkScopeKHR
SCOPES = {2: "work_group", 3: "subgroup"}

# VkComponentTypeKHR: the words of the language for the types of components.
COMPONENTS = {
    0: "f16", 1: "f32", 2: "f64", 3: "i8", 4: "i16", 5: "i32", 6: "i64", 7: "u8", 8: "u16", 9: "u32", 10: "u64",
    1000141000: "bf16", 1000491002: "f8e4m3", 1000491003: "f8e5m2",
}  # fmt: skip

# VkSubgroupFeatureFlagBits
SUBGROUP_OPERATIONS = {
    "basic": 0x1, "vote": 0x2, "arithmetic": 0x4, "ballot": 0x8, "shuffle": 0x10, "shuffle_relative": 0x20,
    "clustered": 0x40, "quad": 0x80, "rotate": 0x200, "rotate_clustered": 0x400,
}  # fmt: skip
