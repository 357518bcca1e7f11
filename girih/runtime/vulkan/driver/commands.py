"""Vulkan's commands as functions of Python: found by name, typed, and asked for their result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ctypes import CFUNCTYPE, c_float, c_int32, c_size_t, c_uint32, c_uint64, c_void_p, cast
from typing import Any

from girih.runtime.vulkan.driver.faults import VulkanFault

_TYPES: Mapping[str, Any] = {"p": c_void_p, "h": c_uint64, "u": c_uint32, "z": c_size_t, "f": c_float}
"""Types of parameters: pointers and dispatchable handles, other handles and sizes of 64 bits, 32 bits."""

COMMANDS: Mapping[str, str] = {
    "vkEnumerateInstanceVersion": "p",
    "vkEnumerateInstanceExtensionProperties": "ppp",
    "vkCreateInstance": "ppp",
    "vkEnumeratePhysicalDevices": "ppp",
    "vkEnumerateDeviceExtensionProperties": "pppp",
    "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR": "ppp",
    "vkGetPhysicalDeviceCooperativeMatrixFlexibleDimensionsPropertiesNV": "ppp",
    "vkCreateDevice": "pppp",
    "vkCreateBuffer": "pppp",
    "vkAllocateMemory": "pppp",
    "vkBindBufferMemory": "phhh",
    "vkMapMemory": "phhhup",
    "vkCreateShaderModule": "pppp",
    "vkCreateDescriptorSetLayout": "pppp",
    "vkCreatePipelineLayout": "pppp",
    "vkCreatePipelineCache": "pppp",
    "vkGetPipelineCacheData": "phpp",
    "vkCreateComputePipelines": "phuppp",
    "vkCreateDescriptorPool": "pppp",
    "vkAllocateDescriptorSets": "ppp",
    "vkCreateCommandPool": "pppp",
    "vkAllocateCommandBuffers": "ppp",
    "vkResetCommandPool": "phu",
    "vkBeginCommandBuffer": "pp",
    "vkEndCommandBuffer": "p",
    "vkCreateFence": "pppp",
    "vkResetFences": "pup",
    "vkQueueSubmit": "puph",
    "vkWaitForFences": "pupuh",
    "vkCreateQueryPool": "pppp",
    "vkGetQueryPoolResults": "phuuzphu",
    "vkDeviceWaitIdle": "p",
}
"""The commands that have a result, with their parameters."""

SILENT_COMMANDS: Mapping[str, str] = {
    "vkDestroyInstance": "pp",
    "vkGetPhysicalDeviceProperties2": "pp",
    "vkGetPhysicalDeviceFeatures2": "pp",
    "vkGetPhysicalDeviceMemoryProperties": "pp",
    "vkGetPhysicalDeviceQueueFamilyProperties": "ppp",
    "vkDestroyDevice": "pp",
    "vkGetDeviceQueue": "puup",
    "vkGetBufferMemoryRequirements": "php",
    "vkDestroyBuffer": "php",
    "vkFreeMemory": "php",
    "vkDestroyShaderModule": "php",
    "vkDestroyDescriptorSetLayout": "php",
    "vkDestroyPipelineLayout": "php",
    "vkDestroyPipelineCache": "php",
    "vkDestroyPipeline": "php",
    "vkDestroyDescriptorPool": "php",
    "vkUpdateDescriptorSets": "pupup",
    "vkDestroyCommandPool": "php",
    "vkDestroyFence": "php",
    "vkDestroyQueryPool": "php",
    "vkCmdBindPipeline": "puh",
    "vkCmdBindDescriptorSets": "puhuupup",
    "vkCmdPushConstants": "phuuup",
    "vkCmdDispatch": "puuu",
    "vkCmdCopyBuffer": "phhup",
    "vkCmdPipelineBarrier": "puuuupupup",
    "vkCmdResetQueryPool": "phuu",
    "vkCmdWriteTimestamp": "puhu",
}
"""The commands that cannot fail."""

ADDRESS_COMMANDS: Mapping[str, str] = {"vkGetBufferDeviceAddress": "pp"}
"""The commands whose result is an address."""

INSTANCE_LESS = ("vkEnumerateInstanceVersion", "vkEnumerateInstanceExtensionProperties", "vkCreateInstance")
"""The commands that there are before an instance is made."""


class VulkanCommands:
    """The commands of one driver; `instance` is the handle through which most of them are found, 0 before there is one.

    `find` is vkGetInstanceProcAddr, by a handle and a name.
    """

    def __init__(self, find: Callable[[int | None, bytes], int | None], instance: int | None = None) -> None:
        self._find, self._instance = find, instance
        self._known: dict[str, Any] = {}

    def of_instance(self, instance: int) -> VulkanCommands:
        """The commands of an instance of this driver."""
        return VulkanCommands(self._find, instance)

    def has(self, name: str) -> bool:
        """Whether the driver has a command."""
        return self._address(name) is not None

    def __call__(self, name: str, *arguments: object) -> int:
        """Call a command. Raises `VulkanFault` for a failure, and where the driver has no such command.

        The result is Vulkan's: 0, or a number above it that is no failure; an address; 0 of a command without one.
        """
        command = self._known.get(name)
        if command is None:
            command = self._known[name] = self._typed(name)
        result = command(*arguments)
        if result is None:
            return 0
        if result < 0:
            raise VulkanFault(name, result)
        return int(result)

    def _address(self, name: str) -> int | None:
        return self._find(None if name in INSTANCE_LESS else self._instance, name.encode())

    def _typed(self, name: str) -> Any:
        for table, result in ((COMMANDS, c_int32), (SILENT_COMMANDS, None), (ADDRESS_COMMANDS, c_uint64)):
            if name in table:
                address = self._address(name)
                if address is None:
                    raise VulkanFault(name, _NOT_THERE)
                made = CFUNCTYPE(result, *(_TYPES[letter] for letter in table[name]))
                return cast(address, made)
        raise KeyError(name)


_NOT_THERE = -7
"""VK_ERROR_EXTENSION_NOT_PRESENT: what a command means that a driver lacks."""
