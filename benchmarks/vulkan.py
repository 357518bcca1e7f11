"""A Vulkan driver as the peer of shaders: modules run on it, and it says how long that takes.

The driver is loaded without Vulkan's loader, through the interface that drivers have for loaders, and called by ctypes;
no binding is needed. Structures are those of Vulkan 1.3 in C; a name in its words is that of the specification.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from ctypes import (
    Structure,
    addressof,
    byref,
    c_char_p,
    c_float,
    c_int32,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

LAVAPIPE = "libvulkan_lvp.so"
"""Mesa's driver for the CPU, as Linux distributions install it (`mesa-vulkan-drivers`)."""

_LOADER_INTERFACE = 5
_API_VERSION = 1 << 22 | 3 << 12
_ALL = 2**64 - 1
_STORAGE_BUFFER, _COMPUTE_STAGE, _COMPUTE_BIND_POINT = 7, 32, 1
_BUFFER_USAGE_STORAGE = 32
_HOST_VISIBLE_AND_COHERENT = 6
_FEATURES = {"VkPhysicalDeviceVulkan11Features": (49, 12), "VkPhysicalDeviceVulkan12Features": (51, 47)}
"""Structures of features: their `sType` and how many switches they have. All that the driver has are asked for."""

Array = NDArray[Any]


def _structure(name: str, *fields: tuple[str, Any]) -> type[Structure]:
    return type(name, (Structure,), {"_fields_": list(fields)})


def _typed(name: str, *fields: tuple[str, Any]) -> type[Structure]:
    return _structure(name, ("sType", c_uint32), ("pNext", c_void_p), *fields)


def _words(*names: str) -> list[tuple[str, Any]]:
    return [(name, c_uint32) for name in names]


_Application = _typed(
    "VkApplicationInfo", ("name", c_char_p), *_words("version"), ("engine", c_char_p), *_words("e", "api")
)
_Instance = _typed(
    "VkInstanceCreateInfo", *_words("flags"), ("application", c_void_p), *_words("layers"), ("layer_names", c_void_p),
    *_words("extensions"), ("extension_names", c_void_p),
)  # fmt: skip
_Features = _typed("VkPhysicalDeviceFeatures2", ("switches", c_uint32 * 55))
_Queue = _typed("VkDeviceQueueCreateInfo", *_words("flags", "family", "count"), ("priorities", c_void_p))
_Device = _typed(
    "VkDeviceCreateInfo", *_words("flags", "queue_count"), ("queues", c_void_p), *_words("layers"),
    ("layer_names", c_void_p), *_words("extensions"), ("extension_names", c_void_p), ("features", c_void_p),
)  # fmt: skip
_Buffer = _typed(
    "VkBufferCreateInfo", *_words("flags"), ("size", c_uint64), *_words("usage", "sharing", "n"), ("f", c_void_p)
)
_Needed = _structure("VkMemoryRequirements", ("size", c_uint64), ("alignment", c_uint64), *_words("types"))
_Memory = _typed("VkMemoryAllocateInfo", ("size", c_uint64), *_words("type"))
_Module = _typed("VkShaderModuleCreateInfo", *_words("flags"), ("size", c_size_t), ("code", c_char_p))
_Binding = _structure(
    "VkDescriptorSetLayoutBinding", *_words("binding", "type", "count", "stages"), ("samplers", c_void_p)
)
_SetLayout = _typed("VkDescriptorSetLayoutCreateInfo", *_words("flags", "count"), ("bindings", c_void_p))
_Range = _structure("VkPushConstantRange", *_words("stages", "offset", "size"))
_Layout = _typed(
    "VkPipelineLayoutCreateInfo", *_words("flags", "sets"), ("set_layouts", c_void_p), *_words("ranges"),
    ("range_list", c_void_p),
)  # fmt: skip
_Stage = _typed(
    "VkPipelineShaderStageCreateInfo", *_words("flags", "stage"), ("module", c_uint64), ("entry", c_char_p),
    ("constants", c_void_p),
)  # fmt: skip
_Pipeline = _typed(
    "VkComputePipelineCreateInfo", *_words("flags"), ("stage", _Stage), ("layout", c_uint64), ("base", c_uint64),
    ("base_index", c_int32),
)  # fmt: skip
_PoolSize = _structure("VkDescriptorPoolSize", *_words("type", "count"))
_Pool = _typed("VkDescriptorPoolCreateInfo", *_words("flags", "sets", "sizes"), ("size_list", c_void_p))
_Sets = _typed("VkDescriptorSetAllocateInfo", ("pool", c_uint64), *_words("count"), ("layouts", c_void_p))
_BufferRange = _structure("VkDescriptorBufferInfo", ("buffer", c_uint64), ("offset", c_uint64), ("range", c_uint64))
_Write = _typed(
    "VkWriteDescriptorSet", ("set", c_uint64), *_words("binding", "element", "count", "type"), ("images", c_void_p),
    ("buffers", c_void_p), ("texels", c_void_p),
)  # fmt: skip
_CommandPool = _typed("VkCommandPoolCreateInfo", *_words("flags", "family"))
_Commands = _typed("VkCommandBufferAllocateInfo", ("pool", c_uint64), *_words("level", "count"))
_Begin = _typed("VkCommandBufferBeginInfo", *_words("flags"), ("inherited", c_void_p))
_Submission = _typed(
    "VkSubmitInfo", *_words("waits"), ("wait_list", c_void_p), ("stages", c_void_p), *_words("commands"),
    ("command_list", c_void_p), *_words("signals"), ("signal_list", c_void_p),
)  # fmt: skip


class Driver:
    """The first device of a driver, by the file name of its library. Raises `OSError` where it is not installed."""

    def __init__(self, library: str = LAVAPIPE) -> None:
        self._library = ctypes.CDLL(library)
        self._library.vk_icdNegotiateLoaderICDInterfaceVersion(byref(c_uint32(_LOADER_INTERFACE)))
        self._address = self._library.vk_icdGetInstanceProcAddr
        self._address.restype, self._address.argtypes = c_void_p, (c_void_p, c_char_p)
        self._instance = c_void_p()
        application = _Application(0, None, b"girih", 1, b"girih", 1, _API_VERSION)
        self._call(
            "vkCreateInstance", byref(_Instance(1, None, 0, addressof(application))), None, byref(self._instance)
        )
        one, device = c_uint32(1), c_void_p()
        self._call("vkEnumeratePhysicalDevices", self._instance, byref(one), byref(device))
        self._physical, self._device, self._queue = device, c_void_p(), c_void_p()
        self._open()

    def _open(self) -> None:
        chain, kept = None, []
        for name, (number, count) in _FEATURES.items():
            kept.append(_typed(name, ("switches", c_uint32 * count))(number, chain))
            chain = addressof(kept[-1])
        features = _Features(1000059000, chain)
        self._call("vkGetPhysicalDeviceFeatures2", self._physical, byref(features))
        priority = c_float(1)
        queue = _Queue(2, None, 0, 0, 1, addressof(priority))
        # The switches of version 1.0 are the first member of the chain, in place of the pointer to them.
        device = _Device(3, addressof(features), 0, 1, addressof(queue))
        self._call("vkCreateDevice", self._physical, byref(device), None, byref(self._device))
        self._call("vkGetDeviceQueue", self._device, 0, 0, byref(self._queue))

    def _call(self, name: str, *arguments: object) -> None:
        address = self._address(self._instance, name.encode())
        result = ctypes.CFUNCTYPE(c_int32)(address)(*arguments)
        if result < 0 and name.startswith(("vkCreate", "vkAllocate", "vkBind", "vkMap", "vkBegin", "vkEnd", "vkQueue")):
            raise RuntimeError(f"{name} gives {result}")

    def _made(self, name: str, description: Structure) -> int:
        made = c_uint64()
        self._call(name, self._device, byref(description), None, byref(made))
        return made.value

    def _buffer(self, array: Array) -> tuple[int, c_void_p]:
        """A buffer with an array's bytes, and the address at which the host sees it."""
        buffer = self._made("vkCreateBuffer", _Buffer(12, None, 0, array.nbytes, _BUFFER_USAGE_STORAGE))
        needed, properties = _Needed(), (c_uint32 * 400)()
        self._call("vkGetBufferMemoryRequirements", self._device, c_uint64(buffer), byref(needed))
        self._call("vkGetPhysicalDeviceMemoryProperties", self._physical, properties)
        flags = [properties[1 + 2 * i] & _HOST_VISIBLE_AND_COHERENT for i in range(properties[0])]
        kind = next(i for i, f in enumerate(flags) if needed.types >> i & 1 and f == _HOST_VISIBLE_AND_COHERENT)
        memory, at = self._made("vkAllocateMemory", _Memory(5, None, needed.size, kind)), c_void_p()
        self._call("vkBindBufferMemory", self._device, c_uint64(buffer), c_uint64(memory), c_uint64(0))
        self._call("vkMapMemory", self._device, c_uint64(memory), c_uint64(0), c_uint64(_ALL), 0, byref(at))
        ctypes.memmove(at, array.ctypes.data, array.nbytes)
        return buffer, at

    def _pipeline(self, module: Path, count: int, push: int) -> tuple[int, int, int]:
        """The layout of the set, that of the pipeline, and the pipeline of a module with its own constants."""
        code = module.read_bytes()
        shader = self._made("vkCreateShaderModule", _Module(16, None, 0, len(code), code))
        bindings = (_Binding * count)(*[_Binding(i, _STORAGE_BUFFER, 1, _COMPUTE_STAGE) for i in range(count)])
        sets = c_uint64(self._made("vkCreateDescriptorSetLayout", _SetLayout(32, None, 0, count, addressof(bindings))))
        pushed = _Range(_COMPUTE_STAGE, 0, push)
        layout = self._made("vkCreatePipelineLayout", _Layout(30, None, 0, 1, addressof(sets), 1, addressof(pushed)))
        stage = _Stage(18, None, 0, _COMPUTE_STAGE, shader, b"main", None)
        pipeline = c_uint64()
        one = _Pipeline(29, None, 0, stage, layout)
        made = self._device, c_uint64(0), 1, byref(one), None, byref(pipeline)
        self._call("vkCreateComputePipelines", *made)
        return sets.value, layout, pipeline.value

    def _bound(self, layout: int, buffers: Sequence[int]) -> int:
        """A descriptor set with buffers at bindings 0, 1, ..."""
        size = _PoolSize(_STORAGE_BUFFER, len(buffers))
        pool = self._made("vkCreateDescriptorPool", _Pool(33, None, 0, 1, 1, addressof(size)))
        layouts, found = c_uint64(layout), c_uint64()
        wanted = _Sets(34, None, pool, 1, addressof(layouts))
        self._call("vkAllocateDescriptorSets", self._device, byref(wanted), byref(found))
        for binding, buffer in enumerate(buffers):
            whole = _BufferRange(buffer, 0, _ALL)
            write = _Write(35, None, found.value, binding, 0, 1, _STORAGE_BUFFER, None, addressof(whole))
            self._call("vkUpdateDescriptorSets", self._device, 1, byref(write), 0, None)
        return found.value

    def seconds(self, module: Path, grid: Sequence[int], arrays: Sequence[Array], push: bytes, turns: int) -> float:
        """The least time from submission until the queue is idle, in seconds, of several turns.

        `arrays` are bound at (0, 0), (0, 1), ...; they hold what the shader wrote when all turns are over.
        """
        buffers = [self._buffer(array) for array in arrays]
        set_layout, layout, pipeline = self._pipeline(module, len(arrays), len(push))
        bound = c_uint64(self._bound(set_layout, [buffer for buffer, _ in buffers]))
        pool, commands = self._made("vkCreateCommandPool", _CommandPool(39)), c_void_p()
        self._call("vkAllocateCommandBuffers", self._device, byref(_Commands(40, None, pool, 0, 1)), byref(commands))
        self._call("vkBeginCommandBuffer", commands, byref(_Begin(42)))
        self._call("vkCmdBindPipeline", commands, _COMPUTE_BIND_POINT, c_uint64(pipeline))
        sets = commands, _COMPUTE_BIND_POINT, c_uint64(layout), 0, 1, byref(bound), 0, None
        self._call("vkCmdBindDescriptorSets", *sets)
        self._call("vkCmdPushConstants", commands, c_uint64(layout), _COMPUTE_STAGE, 0, len(push), c_char_p(push))
        self._call("vkCmdDispatch", commands, *[*grid, 1, 1][:3])
        self._call("vkEndCommandBuffer", commands)
        submission = _Submission(4, None, 0, None, None, 1, addressof(commands))
        times = []
        for _ in range(turns):
            begin = time.perf_counter()
            self._call("vkQueueSubmit", self._queue, 1, byref(submission), c_uint64(0))
            self._call("vkQueueWaitIdle", self._queue)
            times.append(time.perf_counter() - begin)
        for array, (_, at) in zip(arrays, buffers, strict=True):
            ctypes.memmove(array.ctypes.data, at, array.nbytes)
        return min(times)
