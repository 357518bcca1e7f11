"""A driver of NVIDIA's in Python, for tests without a GPU: contexts, memory, streams, modules, capture, and failures.

Memory of its devices is memory of this process, at addresses that it hands out, and "machine code" is the text of PTX,
executed by `tests.back.nvptx.ptx_machine`. What a stream is asked for is done when somebody waits for it, as late as a
GPU may do it. Names and results are those of `cuda.bindings.driver`, which `test_cuda_bindings.py` compares them with.
"""

from __future__ import annotations

import ctypes
import re
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.back.nvptx.ptx_machine import PtxModule
from tests.runtime.cuda import fake_maps


class CUresult(IntEnum):
    """The results that are used, with the driver's numbers."""

    CUDA_SUCCESS = 0
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_INITIALIZED = 3
    CUDA_ERROR_NO_DEVICE = 100
    CUDA_ERROR_INVALID_DEVICE = 101
    CUDA_ERROR_INVALID_IMAGE = 200
    CUDA_ERROR_INVALID_CONTEXT = 201
    CUDA_ERROR_INVALID_PTX = 218
    CUDA_ERROR_INVALID_HANDLE = 400
    CUDA_ERROR_ILLEGAL_ADDRESS = 700
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701
    CUDA_ERROR_LAUNCH_FAILED = 719
    CUDA_ERROR_NOT_SUPPORTED = 801
    CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = 900
    CUDA_ERROR_STREAM_CAPTURE_ISOLATION = 905
    CUDA_ERROR_STREAM_CAPTURE_IMPLICIT = 906


class CUdevice_attribute(IntEnum):
    """The attributes that are asked for."""

    CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38
    CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR = 39
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR = 81
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97
    CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR = 106


class CUfunction_attribute(IntEnum):
    """Those of functions."""

    CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0
    CU_FUNC_ATTRIBUTE_NUM_REGS = 4
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8


class CUpointer_attribute(IntEnum):
    """Those of addresses."""

    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2


class CUmemorytype(IntEnum):
    """Where memory is."""

    CU_MEMORYTYPE_DEVICE = 2


class CUmemAllocationType(IntEnum):
    """What a pool allocates."""

    CU_MEM_ALLOCATION_TYPE_PINNED = 1


class CUmemLocationType(IntEnum):
    """Where a pool has its memory."""

    CU_MEM_LOCATION_TYPE_DEVICE = 1


class CUmemPool_attribute(IntEnum):
    """What a pool can be told."""

    CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4


class FakePoolProps:
    """What a pool is made of."""

    def __init__(self) -> None:
        self.allocType, self.location = 0, SimpleNamespace(type=0, id=-1)


class CUstreamCaptureMode(IntEnum):
    """The modes of capture."""

    CU_STREAM_CAPTURE_MODE_GLOBAL = 0
    CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1
    CU_STREAM_CAPTURE_MODE_RELAXED = 2


class CUjit_option(IntEnum):
    """Options of the assembler."""

    CU_JIT_INFO_LOG_BUFFER = 3
    CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4
    CU_JIT_ERROR_LOG_BUFFER = 5
    CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6
    CU_JIT_GENERATE_LINE_INFO = 13
    CU_JIT_LOG_VERBOSE = 12


class CUjitInputType(IntEnum):
    """What the assembler takes."""

    CU_JIT_INPUT_PTX = 1


OK = CUresult.CUDA_SUCCESS
Given = tuple[Any, ...]


class _Refused(Exception):
    def __init__(self, result: CUresult) -> None:
        super().__init__(result.name)
        self.result = result


@dataclass
class FakeGpu:
    """A GPU: what it says of itself, and the memory that it has."""

    name: str = "NVIDIA H200 (not really)"
    capability: tuple[int, int] = (9, 0)
    shared_bytes: int = 227 * 1024
    memory_bytes: int = 64 * 1024 * 1024
    threads: int = 1024
    multiprocessors: int = 132
    cache_bytes: int = 50 * 2**20
    registers: int = 32


@dataclass
class FakeStream:
    """A stream: what it has still to do, and what it has captured in place of doing it."""

    waiting: list[Callable[[], None]] = field(default_factory=list)
    captured: list[Callable[[], None]] | None = None


class FakeDriver:
    """The driver. `calls` are the names of the functions that were called, without those that only ask."""

    CUresult = CUresult
    CUdevice_attribute = CUdevice_attribute
    CUfunction_attribute = CUfunction_attribute
    CUpointer_attribute = CUpointer_attribute
    CUstreamCaptureMode = CUstreamCaptureMode
    CUmemorytype = CUmemorytype
    CUmemAllocationType = CUmemAllocationType
    CUmemLocationType = CUmemLocationType
    CUmemPool_attribute = CUmemPool_attribute
    CUmemPoolProps = FakePoolProps
    CUDA_MEMCPY2D = CUDA_MEMCPY3D = SimpleNamespace
    cuuint64_t = int
    CUjit_option = CUjit_option
    CUjitInputType = CUjitInputType

    def __init__(self, *gpus: FakeGpu) -> None:
        self.gpus = gpus or (FakeGpu(),)
        self.calls: list[str] = []
        self.failing: dict[str, Any] = {}
        self.lost: Any = None
        self.memory: dict[int, ctypes.Array[ctypes.c_char]] = {}
        self.allocated: Counter[int] = Counter()
        self.homes: dict[int, int] = {}
        self.pools: dict[int, int] = {}
        self.streams: dict[int, FakeStream] = {0: FakeStream()}
        self.events: dict[int, list[FakeStream]] = {}
        self.functions: dict[int, tuple[str, str]] = {}
        self.links: dict[int, list[Any]] = {}
        self.modules: list[bytes] = []
        self.launches: list[tuple[tuple[int, int, int], int, int]] = []
        self.addresses: dict[str, int] = {}
        self.maps: fake_maps.Encoded = {}
        self._by_name = fake_maps.functions(self.maps, "sm_{}{}a".format(*self.gpus[0].capability), self.calls)
        told = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int))
        self._by_name["cuStreamIsCapturing"] = told(self._is_capturing)
        self._thread = threading.local()
        self._lock = threading.RLock()
        self._next = 0x1000

    # --- how it answers --------------------------------------------------------------------

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        if not (name.startswith("cu") and name[2].isupper()):
            return found

        def called(*given: Any) -> Given:
            with self._lock:
                return self._called(name, found, given)

        return called

    def _called(self, name: str, function: Callable[..., Any], given: Given) -> Given:
        self.calls.append(name)
        if name in self.failing:
            return (self.failing[name],)
        if self.lost is not None and name not in ("cuGetErrorName", "cuGetErrorString", "cuCtxGetCurrent"):
            return (self.lost,)
        try:
            result = function(*given)
        except _Refused as refused:
            return (refused.result,)
        return (OK, *result) if isinstance(result, tuple) else (OK, result)

    def new(self) -> int:
        """A new handle."""
        self._next += 16
        return self._next

    def cuGetErrorName(self, result: Any) -> bytes:
        return str(result.name).encode()

    def cuGetErrorString(self, result: Any) -> bytes:
        return str(result.name).lower().replace("_", " ").encode()

    def cuGetProcAddress(self, name: bytes, version: int, flags: int) -> Given:
        assert version in (12000, 13000) and flags == 0
        known = self._by_name.get(name.decode())
        address = None if known is None else ctypes.cast(known, ctypes.c_void_p).value
        return address or self.addresses.get(name.decode(), 0), 0

    # --- devices ---------------------------------------------------------------------------

    def cuInit(self, flags: int) -> Given:
        assert flags == 0
        return ()

    def cuDriverGetVersion(self) -> int:
        return 13000

    def cuDeviceGetCount(self) -> int:
        return len(self.gpus)

    def cuDeviceGet(self, number: int) -> int:
        if not 0 <= number < len(self.gpus):
            raise _Refused(CUresult.CUDA_ERROR_INVALID_DEVICE)
        return number

    def cuDeviceGetName(self, size: int, device: int) -> bytes:
        return self.gpus[device].name.encode().ljust(size, b"\0")

    def cuDeviceGetAttribute(self, attribute: int, device: int) -> int:
        gpu, names = self.gpus[device], CUdevice_attribute
        return {
            names.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: gpu.multiprocessors,
            names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: gpu.capability[0],
            names.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: gpu.capability[1],
            names.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: gpu.shared_bytes,
            names.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: gpu.shared_bytes + 1024,
            names.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: gpu.cache_bytes,
            names.CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: 2048,
            names.CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: 32,
        }[CUdevice_attribute(attribute)]

    def cuDevicePrimaryCtxRetain(self, device: int) -> int:
        return 0xC0 + device

    @property
    def stack(self) -> list[int]:
        """The contexts of the calling thread, the current one last."""
        if not hasattr(self._thread, "stack"):
            self._thread.stack = []
        found: list[int] = self._thread.stack
        return found

    @property
    def current(self) -> int:
        """The number of the calling thread's current device."""
        if not self.stack:
            raise _Refused(CUresult.CUDA_ERROR_INVALID_CONTEXT)
        return self.stack[-1] - 0xC0

    def cuCtxPushCurrent(self, context: int) -> Given:
        self.stack.append(int(context))
        return ()

    def cuCtxPopCurrent(self) -> int:
        return self.stack.pop()

    def cuCtxGetCurrent(self) -> int:
        return self.stack[-1] if self.stack else 0

    def cuCtxGetDevice(self) -> int:
        return self.current

    def cuCtxSynchronize(self) -> Given:
        _ = self.current
        if any(stream.captured is not None for stream in self.streams.values()):
            raise _Refused(CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        for stream in self.streams.values():
            self._finish(stream)
        return ()

    # --- memory ----------------------------------------------------------------------------

    def allocate(self, size: int, device: int) -> int:
        """Memory of a device, as another library would allocate it; the address is a multiple of 512.

        No other has a part of the last 16 bytes: a device gives out larger pieces.
        """
        size = -(-size // 16) * 16
        if self.allocated[device] + size > self.gpus[device].memory_bytes:
            raise _Refused(CUresult.CUDA_ERROR_OUT_OF_MEMORY)
        self.allocated[device] += size
        room = ctypes.create_string_buffer(size + 512)
        address = -(-ctypes.addressof(room) // 512) * 512
        ctypes.memset(address, 0xA5, size)
        self.memory[address], self.homes[address] = room, device
        return address

    def free(self, address: int) -> None:
        """Free memory of a device."""
        room = self.memory.pop(address)
        self.allocated[self.homes.pop(address)] -= len(room) - 512

    def cuMemAlloc(self, size: int) -> int:
        self._refuse_in_capture()
        return self.allocate(size, self.current)

    def cuMemFree(self, address: int) -> Given:
        self._refuse_in_capture()
        self.free(int(address))
        return ()

    def cuMemHostAlloc(self, size: int, flags: int) -> int:
        assert flags == 3, "portable, and mapped to the device"
        self._refuse_in_capture()
        address = self.allocate(size, self.current)
        self.homes[address] = -1
        return address

    def cuMemHostGetDevicePointer(self, address: int, flags: int) -> int:
        assert flags == 0
        return address

    def cuPointerGetAttribute(self, attribute: int, address: int) -> int:
        for begin, room in self.memory.items():
            if begin <= address < begin + len(room) - 512 and self.homes[begin] >= 0:
                return 2
        raise _Refused(CUresult.CUDA_ERROR_INVALID_VALUE)

    def cuMemcpyHtoDAsync(self, target: int, source: int, size: int, stream: int) -> Given:
        self._check(target, size)
        # A device that reads all memory of the host, as some do, reads it when the copy has its turn.
        self._ask(stream, lambda: ctypes.memmove(target, source, size))
        return ()

    def cuMemcpyDtoHAsync(self, target: int, source: int, size: int, stream: int) -> Given:
        self._check(source, size)
        self._ask(stream, lambda: ctypes.memmove(target, source, size))
        return ()

    def cuMemcpyDtoDAsync(self, target: int, source: int, size: int, stream: int) -> Given:
        self._check(source, size)
        self._check(target, size)
        self._ask(stream, lambda: ctypes.memmove(target, source, size))
        return ()

    def cuMemcpy2DAsync(self, copy: Any, stream: int) -> Given:
        copy.srcHeight = copy.dstHeight = copy.Height
        copy.Depth = 1
        return self.cuMemcpy3DAsync(copy, stream)

    def cuMemcpy3DAsync(self, copy: Any, stream: int) -> Given:
        assert copy.srcMemoryType == copy.dstMemoryType == CUmemorytype.CU_MEMORYTYPE_DEVICE
        places = []
        for base, pitch, height in (
            (copy.srcDevice, copy.srcPitch, copy.srcHeight), (copy.dstDevice, copy.dstPitch, copy.dstHeight),
        ):  # fmt: skip
            if pitch < copy.WidthInBytes or height < copy.Height:
                raise _Refused(CUresult.CUDA_ERROR_INVALID_VALUE)
            places.append([base + (k * height + n) * pitch for k in range(copy.Depth) for n in range(copy.Height)])
            self._check(places[-1][0], places[-1][-1] - places[-1][0] + copy.WidthInBytes)
        width = copy.WidthInBytes
        pairs = list(zip(*places, strict=True))
        self._ask(stream, lambda: [ctypes.memmove(target, source, width) for source, target in pairs])
        return ()

    def cuMemPoolCreate(self, wanted: Any) -> int:
        assert wanted.allocType == CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        assert wanted.location.type == CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        handle = self.new()
        self.pools[handle] = wanted.location.id
        return handle

    def cuMemPoolSetAttribute(self, pool: int, attribute: int, value: int) -> Given:
        assert pool in self.pools and attribute == CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD and value > 0
        return ()

    def cuMemAllocFromPoolAsync(self, size: int, pool: int, stream: int) -> int:
        return self.allocate(size, self.pools[pool])

    def cuMemFreeAsync(self, address: int, stream: int) -> Given:
        self._check(int(address), 1)
        # A graph has the memory each time, so that here it stays.
        if self.streams[int(stream)].captured is None:
            self._ask(stream, lambda: self.free(int(address)))
        return ()

    def cuMemsetD8Async(self, target: int, value: int, size: int, stream: int) -> Given:
        self._check(target, size)
        self._ask(stream, lambda: ctypes.memset(target, value, size))
        return ()

    def _check(self, address: int, size: int) -> None:
        if not any(begin <= address and address + size <= begin + len(room) for begin, room in self.memory.items()):
            raise _Refused(CUresult.CUDA_ERROR_INVALID_VALUE)

    # --- streams ---------------------------------------------------------------------------

    def cuStreamCreate(self, flags: int) -> int:
        assert flags == 1, "it waits for no other stream"
        handle = self.new()
        self.streams[handle] = FakeStream()
        return handle

    def stream(self) -> int:
        """A new stream, as another library would make one."""
        handle = self.new()
        self.streams[handle] = FakeStream()
        return handle

    def cuStreamSynchronize(self, stream: int) -> Given:
        if self.streams[int(stream)].captured is not None:
            raise _Refused(CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        self._finish(self.streams[int(stream)])
        return ()

    def cuStreamIsCapturing(self, stream: int) -> int:
        if not stream and any(one.captured is not None for one in self.streams.values()):
            raise _Refused(CUresult.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
        return int(self.streams[int(stream)].captured is not None)

    def _is_capturing(self, stream: int | None, status: Any) -> int:
        """The same for machine code, as C has it."""
        answer: Any = self.cuStreamIsCapturing(stream or 0)
        result, *values = answer
        status[0] = values[0] if values else 0
        return int(result)

    def cuEventCreate(self, flags: int) -> int:
        assert flags == 2, "it takes no time"
        handle = self.new()
        self.events[handle] = []
        return handle

    def cuEventRecord(self, event: int, stream: int) -> Given:
        self.events[event] = [self.streams[int(stream)]]
        return ()

    def cuStreamWaitEvent(self, stream: int, event: int, flags: int) -> Given:
        assert flags == 0
        if self.streams[int(stream)].captured is not None:
            raise _Refused(CUresult.CUDA_ERROR_STREAM_CAPTURE_ISOLATION)
        before = list(self.events[event])

        def follow() -> None:
            for one in before:
                self._finish(one)

        self._ask(stream, follow)
        return ()

    def cuEventDestroy(self, event: int) -> Given:
        del self.events[event]
        return ()

    def cuThreadExchangeStreamCaptureMode(self, mode: int) -> int:
        before = getattr(self._thread, "mode", CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL)
        self._thread.mode = mode
        return int(before)

    def begin_capture(self, stream: int) -> None:
        """Begin to capture what a stream is asked for."""
        self.streams[stream].captured = []

    def end_capture(self, stream: int) -> Callable[[], None]:
        """The graph that was captured: each call asks the stream for all of it again."""
        captured = self.streams[stream].captured or []
        self.streams[stream].captured = None
        return lambda: self.streams[stream].waiting.extend(captured)

    def _refuse_in_capture(self) -> None:
        """Refuse what could wait for a stream that is captured, unless the thread has said that it knows."""
        relaxed = getattr(self._thread, "mode", None) == CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        if not relaxed and any(stream.captured is not None for stream in self.streams.values()):
            raise _Refused(CUresult.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)

    def _ask(self, handle: int, work: Callable[[], object]) -> None:
        stream = self.streams[int(handle)]
        (stream.waiting if stream.captured is None else stream.captured).append(lambda: (work(), None)[1])

    def _finish(self, stream: FakeStream) -> None:
        while stream.waiting:
            stream.waiting.pop(0)()
            if self.lost is not None:
                raise _Refused(self.lost)

    # --- modules and kernels ---------------------------------------------------------------

    def cuModuleLoadData(self, image: bytes) -> int:
        self._refuse_in_capture()
        if not image.lstrip().startswith(b"//"):
            raise _Refused(CUresult.CUDA_ERROR_INVALID_IMAGE)
        self.modules.append(image)
        return len(self.modules) - 1

    def cuModuleGetFunction(self, module: int, name: bytes) -> int:
        handle = self.new()
        self.functions[handle] = (self.modules[module].decode(), name.decode())
        return handle

    def cuFuncGetAttribute(self, attribute: int, function: int) -> int:
        gpu = self.gpus[self.current]
        return gpu.threads if attribute == 0 else gpu.registers

    def cuFuncSetAttribute(self, function: int, attribute: int, value: int) -> Given:
        assert attribute == CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        assert value <= self.gpus[self.current].shared_bytes
        return ()

    def cuLaunchKernel(
        self, function: int, x: int, y: int, z: int, block_x: int, block_y: int, block_z: int, shared: int, stream: int,
        parameters: int, extra: int,
    ) -> Given:  # fmt: skip
        _ = self.current
        assert extra == 0
        if y > 65535 or z > 65535 or min(x, y, z) < 1:
            raise _Refused(CUresult.CUDA_ERROR_INVALID_VALUE)
        text, entry = self.functions[function]
        values = parameter_values(text, entry, parameters)
        self.launches.append(((x, y, z), shared, int(stream)))
        self._ask(stream, lambda: self._execute(text, entry, (x, y, z), (block_x, block_y, block_z), shared, values))
        return ()

    def _execute(
        self, text: str, entry: str, grid: tuple[int, int, int], block: tuple[int, int, int], shared: int, values: bytes
    ) -> None:
        reachable = [
            np.ctypeslib.as_array((ctypes.c_uint8 * (len(room) - 512)).from_address(begin))
            for begin, room in self.memory.items()
        ]
        PtxModule.parse(text).launch(entry, grid, block, values, shared, reachable, maps=self.maps, copies="late")

    # --- the assembler ---------------------------------------------------------------------

    def cuLinkCreate(self, count: int, options: list[int], values: list[Any]) -> int:
        assert count == len(options) == len(values)
        _ = self.current
        for option, value in zip(options, values, strict=True):
            # As cuda-bindings has it: text is given by its bytes, everything else as a number.
            is_text = option in (CUjit_option.CU_JIT_ERROR_LOG_BUFFER, CUjit_option.CU_JIT_INFO_LOG_BUFFER)
            if not isinstance(value, bytearray if is_text else int):
                raise TypeError(f"{option} is {value!r}")
        handle = self.new()
        self.links[handle] = [dict(zip(options, values, strict=True)), b""]
        return handle

    def cuLinkAddData(
        self, state: int, kind: int, data: bytes, size: int, name: bytes, count: int, options: list[Any],
        values: list[Any],
    ) -> Given:  # fmt: skip
        assert kind == CUjitInputType.CU_JIT_INPUT_PTX and size == len(data) and data.endswith(b"\0")
        written, _ = self.links[state]
        if b".entry" not in data:
            says = b"ptxas fatal   : there is no kernel"
            written[CUjit_option.CU_JIT_ERROR_LOG_BUFFER][: len(says)] = says
            raise _Refused(CUresult.CUDA_ERROR_INVALID_PTX)
        self.links[state][1] = data[:-1]
        return ()

    def cuLinkComplete(self, state: int) -> Given:
        written, code = self.links[state]
        room = ctypes.create_string_buffer(code, len(code))
        self.links[state].append(room)
        says = b"ptxas info    : Compiling entry function 'f' for 'sm_90a'\nptxas info    : Used 9 registers"
        written[CUjit_option.CU_JIT_INFO_LOG_BUFFER][: len(says)] = says
        return ctypes.addressof(room), len(code)

    def cuLinkDestroy(self, state: int) -> Given:
        del self.links[state]
        return ()


def parameter_values(text: str, entry: str, addresses: int) -> bytes:
    """The values of a kernel's parameters, out of an array of their addresses, laid out as PTX lays them out."""
    found = re.search(rf"\.entry {re.escape(entry)}\((.*?)\)", text, re.DOTALL)
    assert found is not None, f"the module has no kernel {entry}"
    listed = [line for line in found[1].split(",") if line.strip()]
    places = (ctypes.c_void_p * len(listed)).from_address(addresses)
    values = b""
    for place, line in zip(places, listed, strict=True):
        array = re.search(r"\.align (\d+) \.b8 \S+?\[(\d+)\]", line)
        size = int(array[2]) if array else 8
        alignment = int(array[1]) if array else 8
        values += bytes(-len(values) % alignment) + ctypes.string_at(place or 0, size)
    return values
