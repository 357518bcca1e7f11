"""Kernels of PTX launched on a GPU as they are, to hold the machine against it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.addressing import BoundTensorMap
from girih.runtime.cuda.device import opened
from girih.runtime.cuda.driver import call, driver
from girih.runtime.cuda.tensor_maps import aligned, encode

Array = NDArray[Any]


def launch_on_gpu(
    text: str, entry: str, threads: int, given: Sequence[Array | BoundTensorMap | np.int32], shared_bytes: int = 0
) -> None:
    """Launch one CTA of a kernel and wait for it; arrays, also those of maps, are copied there and back."""
    arrays = [one.array if isinstance(one, BoundTensorMap) else one for one in given if not isinstance(one, np.int32)]
    with opened(0).current():
        module = call("cuModuleLoadData", text.encode() + b"\0")
        function = call("cuModuleGetFunction", module, entry.encode())
        if shared_bytes:
            wanted = driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            call("cuFuncSetAttribute", function, wanted, shared_bytes)
        places = iter([int(call("cuMemAlloc", one.nbytes)) for one in arrays])
        held: list[tuple[int, Array]] = []
        keep: list[Any] = []
        rooms: list[Array] = []
        for one in given:
            if isinstance(one, np.int32):
                keep.append(ctypes.c_int32(int(one)))
                continue
            place, array = next(places), one.array if isinstance(one, BoundTensorMap) else one
            call("cuMemcpyHtoD", place, array.ctypes.data, array.nbytes)
            held.append((place, array))
            if isinstance(one, BoundTensorMap):
                room = aligned(128)
                encode(one.tensor_map, place, room.ctypes.data)
                keep += [(ctypes.c_uint8 * 128).from_address(room.ctypes.data)]
                rooms.append(room)
            else:
                keep.append(ctypes.c_uint64(place))
        values = (ctypes.c_void_p * len(keep))(*(ctypes.addressof(one) for one in keep))
        call("cuLaunchKernel", function, 1, 1, 1, threads, 1, 1, shared_bytes, 0, ctypes.addressof(values), 0)
        call("cuCtxSynchronize")
        for place, array in held:
            call("cuMemcpyDtoH", array.ctypes.data, place, array.nbytes)
            call("cuMemFree", place)
        call("cuModuleUnload", module)
