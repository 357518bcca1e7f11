"""Arrays in the memory of a fake driver, as libraries have them: by DLPack, the CUDA array interface, torch's own."""

from __future__ import annotations

import ctypes
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from girih.arguments import devices
from tests.runtime.cuda.fake import FakeDriver

CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class GpuMemory:
    """The elements of an array in the memory of a device, in the order that the array has them."""

    def __init__(self, fake: FakeDriver, content: NDArray[Any], device: int = 0) -> None:
        self.fake, self.device = fake, device
        self.shape, self.dtype, self.strides = content.shape, content.dtype, content.strides
        self.size = max(content.nbytes, 1)
        self.address = fake.allocate(self.size, device)
        if content.size:
            flat = np.asarray(content, order="K").ravel(order="K")
            ctypes.memmove(self.address, flat.ctypes.data, content.nbytes)

    @property
    def content(self) -> NDArray[Any]:
        """The elements as they are now; whoever looks has waited for the device."""
        room = (ctypes.c_uint8 * self.size).from_address(self.address)
        return np.ndarray(self.shape, self.dtype, bytes(room), strides=self.strides).copy()


class ByDlpack(GpuMemory):
    """An array of a library that exports DLPack: with versions, or as older ones do."""

    versioned = True
    read_only = False
    deleted = False
    strided = True
    kind = devices.CUDA

    def __init__(self, fake: FakeDriver, content: NDArray[Any], device: int = 0, **words: Any) -> None:
        super().__init__(fake, content, device)
        vars(self).update(words)
        self.streams: list[int] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, self.device

    def __dlpack__(self, stream: int | None = None, **versions: object) -> object:
        if versions and not self.versioned:
            raise TypeError("__dlpack__ has no argument max_version")
        if self.deleted:
            raise RuntimeError("the array has been deleted")
        assert stream is not None
        self.streams.append(stream)
        rank = len(self.shape)
        sizes = (ctypes.c_int64 * rank)(*self.shape)
        steps = (ctypes.c_int64 * rank)(*(step // self.dtype.itemsize for step in self.strides))
        tensor = devices._Tensor()
        tensor.data, tensor.device_type, tensor.device_id, tensor.ndim = self.address, self.kind, self.device, rank
        tensor.code, tensor.bits, tensor.lanes = self._code(), 8 * self.dtype.itemsize, 1
        tensor.shape = ctypes.cast(sizes, ctypes.POINTER(ctypes.c_int64))
        together = self.strides == np.empty(self.shape, self.dtype).strides
        if self.strided or not together:
            tensor.strides = ctypes.cast(steps, ctypes.POINTER(ctypes.c_int64))
        self.held: Any = (sizes, steps, tensor)
        if not self.versioned:
            return capsule_of(ctypes.addressof(tensor), b"dltensor")
        whole = devices._Versioned()
        whole.major, whole.minor, whole.flags, whole.tensor = 1, 0, int(self.read_only), tensor
        self.held = (*self.held, whole)
        return capsule_of(ctypes.addressof(whole), b"dltensor_versioned")

    def _code(self) -> int:
        special = {ml_dtypes.bfloat16: 4, ml_dtypes.float8_e4m3fn: 10, ml_dtypes.float8_e5m2: 12}
        return special.get(self.dtype.type) or CODES[self.dtype.kind]


def capsule_of(address: int, name: bytes) -> object:
    """A capsule with an address, for whose memory or function it does nothing."""
    make = ctypes.pythonapi.PyCapsule_New
    make.argtypes, make.restype = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p), ctypes.py_object
    made: object = make(address, name, None)
    return made


class ByInterface(GpuMemory):
    """An array of a library that has the CUDA array interface alone, as Numba's."""

    read_only = False
    stream: int | None = None

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"version": 3, "shape": self.shape, "typestr": self.dtype.str, "data": (self.address, self.read_only),
                "strides": self.strides, "stream": self.stream}  # fmt: skip


class Tensor(GpuMemory):
    """A tensor of torch, as far as a launch looks at it."""

    requires_grad = False
    conjugated = False
    freed = False

    def __dlpack_device__(self) -> tuple[int, int]:
        return devices.CUDA, self.device

    def __dlpack__(self, **_: object) -> object:
        raise AssertionError("a tensor says all about itself")

    def data_ptr(self) -> int:
        return 0 if self.freed else self.address

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.dtype.itemsize for step in self.strides)

    def is_conj(self) -> bool:
        return self.conjugated

    def is_neg(self) -> bool:
        return False


Tensor.__module__ = "torch"


def torch_module(fake: FakeDriver, stream: int = 0, device: int = 0) -> Any:
    """The module torch, with a current stream and device."""
    made = ModuleType("torch")
    chosen = SimpleNamespace(stream=stream, device=device)
    vars(made).update(
        Tensor=Tensor,
        chosen=chosen,
        cuda=SimpleNamespace(
            is_initialized=lambda: True,
            current_stream=lambda number: SimpleNamespace(cuda_stream=chosen.stream),
            current_device=lambda: chosen.device,
        ),
    )
    return made


class TorchType:
    """A type of torch's numbers, which is known by its name."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.itemsize = np.dtype(getattr(ml_dtypes, name, name)).itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"


class _Table(ctypes.Structure):
    """DLPackExchangeAPI."""

    _fields_ = (
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("older", ctypes.c_void_p),
        ("functions", ctypes.c_void_p * 3), ("tell", ctypes.c_void_p), ("stream_of", ctypes.c_void_p),
    )  # fmt: skip


class Exchanged(Tensor):
    """A tensor whose type has DLPack's table of functions, as torch's have."""

    negated = False

    def is_neg(self) -> bool:
        return self.negated

    def tell(self) -> Any:
        """What the table tells of it."""
        self.__dlpack_type__ = np.dtype(getattr(ml_dtypes, self.dtype.name, self.dtype.name))
        as_dlpack = ByDlpack.__new__(ByDlpack)
        known = {"dtype": self.__dlpack_type__, "versioned": False, "streams": [], "address": self.data_ptr()}
        vars(as_dlpack).update(vars(self) | known)
        capsule = as_dlpack.__dlpack__(stream=1)
        self.held = (as_dlpack, capsule)
        return as_dlpack.held[2]


Exchanged.__module__ = "torch"


def give_table(fake: FakeDriver, torch: Any, *, major: int = 1) -> list[object]:
    """Let `Exchanged` have a table, and the driver tell addresses of functions; what must be kept meanwhile."""

    def tell(tensor: Any, out: int) -> int:
        told = tensor.tell()
        ctypes.memmove(out, ctypes.addressof(told), ctypes.sizeof(told))
        return 0

    def stream_of(kind: int, device: int, out: int) -> int:
        ctypes.c_void_p.from_address(out).value = torch.chosen.stream
        return 0 if kind == devices.CUDA else -1

    def current(out: int) -> int:
        ctypes.c_void_p.from_address(out).value = fake.stack[-1] if fake.stack else None
        return 0

    def launch(*given: Any) -> int:
        result: int = int(fake.cuLaunchKernel(*(0 if one is None else one for one in given))[0])
        return result

    held: list[Any] = [
        ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(tell),
        ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(stream_of),
        ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(current),
        ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3)(launch),
    ]
    table = _Table(major, 3)
    table.tell, table.stream_of, *addresses = (ctypes.cast(one, ctypes.c_void_p).value or 0 for one in held)
    fake.addresses = dict(zip(("cuCtxGetCurrent", "cuLaunchKernel"), addresses, strict=True))
    vars(torch)["Tensor"] = Tensor
    Exchanged.__dlpack_c_exchange_api__ = capsule_of(ctypes.addressof(table), b"dlpack_exchange_api")  # type: ignore[attr-defined]
    return [*held, table]
