"""The devices of OpenCL on this machine, and what each has."""

from __future__ import annotations

import struct
from ctypes import c_void_p
from dataclasses import field
from functools import lru_cache

from girih.lazy_dataclass import dataclass
from girih.runtime.opencl.api import ALL_DEVICES, Api
from girih.runtime.opencl.library import libraries

# CL/cl.h and CL/cl_ext.h: what clGetDeviceInfo is asked for.
_KIND, _WORK_GROUP, _ARGUMENT_BYTES, _SHARED = 0x1000, 0x1004, 0x1017, 0x1023
_SINGLE, _HALF, _DOUBLE = 0x101B, 0x1033, 0x1032
_NAME, _DRIVER, _VERSION, _EXTENSIONS, _MODULES = 0x102B, 0x102D, 0x102F, 0x1030, 0x105B
_SHARED_ADDRESSES, _PROGRESS, _SUBGROUP_SIZES = 0x1053, 0x105D, 0x4108
_PLATFORM_NAME = 0x0902

_DENORMALS, _TO_NEAREST, _FUSED, _DIVIDES = 1 << 0, 1 << 2, 1 << 5, 1 << 7
"""Bits of cl_device_fp_config."""

_KINDS = {1 << 1: "processor", 1 << 2: "GPU", 1 << 3: "accelerator"}


@dataclass(frozen=True, slots=True)
class OpenClDevice:
    """A device and what it has.

    `modules` are the versions of SPIR-V that it takes, such as `SPIR-V_1.2`; none for a driver that takes no SPIR-V.
    `subgroup_sizes` are those that a kernel may ask for; none where it may not ask.
    `exact_division` says that f32 can be divided, and roots taken, as exactly as the language asks.
    """

    api: Api = field(repr=False, compare=False)
    handle: c_void_p = field(repr=False, compare=False)
    name: str
    platform: str
    driver: str
    version: str
    kind: str
    modules: tuple[str, ...]
    extensions: frozenset[str]
    subgroup_sizes: tuple[int, ...]
    work_group_items: int
    shared_bytes: int
    argument_bytes: int
    has_f16: bool
    has_f64: bool
    has_addresses: bool
    exact_division: bool

    def has(self, *extensions: str) -> bool:
        """Whether the device has all of some extensions of OpenCL."""
        return self.extensions.issuperset(extensions)

    @property
    def flaw(self) -> str | None:
        """Why no kernel of girih can run here, in words; None where kernels can."""
        if not self.modules:
            return "its driver takes no SPIR-V (CL_DEVICE_IL_VERSION is empty)"
        if not self.subgroup_sizes:
            return "its driver lets no kernel ask for a subgroup size (cl_intel_required_subgroup_size)"
        return None


@lru_cache(maxsize=1)
def devices() -> tuple[OpenClDevice, ...]:
    """All devices, those first on which kernels can run, each once."""
    found: dict[tuple[str, str, str], OpenClDevice] = {}
    for api in libraries():
        for platform in api.listed("clGetPlatformIDs"):
            title = _words(api.info("clGetPlatformInfo", platform, _PLATFORM_NAME))
            for handle in api.listed("clGetDeviceIDs", platform, ALL_DEVICES):
                device = _device(api, handle, title)
                found.setdefault((device.platform, device.name, device.driver), device)
    return tuple(sorted(found.values(), key=lambda one: one.flaw is not None))


def _device(api: Api, handle: c_void_p, platform: str) -> OpenClDevice:
    def asked(what: int) -> bytes:
        return api.info("clGetDeviceInfo", handle, what)

    single = _number(asked(_SINGLE))
    return OpenClDevice(
        api,
        handle,
        name=_words(asked(_NAME)),
        platform=platform,
        driver=_words(asked(_DRIVER)),
        version=_words(asked(_VERSION)),
        kind=_KINDS.get(_number(asked(_KIND)) & 0b1110, "device"),
        modules=tuple(_words(asked(_MODULES)).split()),
        extensions=frozenset(_words(asked(_EXTENSIONS)).split()),
        subgroup_sizes=_numbers(asked(_SUBGROUP_SIZES)),
        work_group_items=_number(asked(_WORK_GROUP)),
        shared_bytes=_number(asked(_SHARED)),
        argument_bytes=_number(asked(_ARGUMENT_BYTES)),
        has_f16=bool(_number(asked(_HALF)) & _TO_NEAREST),
        has_f64=bool(_number(asked(_DOUBLE)) & _TO_NEAREST),
        has_addresses=bool(_number(asked(_SHARED_ADDRESSES)) & 1),
        exact_division=bool(single & _DIVIDES),
    )


def _words(content: bytes) -> str:
    return content.split(b"\0")[0].decode(errors="replace").strip()


def _number(content: bytes) -> int:
    return int.from_bytes(content, "little")


def _numbers(content: bytes) -> tuple[int, ...]:
    return tuple(size for (size,) in struct.iter_unpack("=Q", content) if size)
