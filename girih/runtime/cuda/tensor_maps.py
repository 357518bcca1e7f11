"""Tensor maps as kernels for CUDA find them in their first parameter: as the engine reads them, and as descriptors."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.addressing.tensor_map.driver import CALL_OF, LISTS, encode_arguments
from girih.addressing.tensor_map.model import TensorMap
from girih.addressing.tensor_map.rules import is_encodable
from girih.arguments.arrays import Accepted, MapClaim
from girih.arguments.claims import Claim
from girih.back.llvm.nvptx.machine.kernel import MAP_ALIGNMENT, MAP_BYTES, PtxKernel
from girih.lazy_dataclass import dataclass
from girih.runtime.compiled.descriptor import descriptor
from girih.runtime.cuda.copies.lines import CopyOf, LineCopy
from girih.runtime.cuda.driver import call_in_c

_PROMOTION = 2
"""Of maps that a launch makes, lines of 128 bytes come to the L2 cache (CUDA driver API 13.0, cuda.h,
`CU_TENSOR_MAP_L2_PROMOTION_L2_128B`)."""

_C_TYPES: dict[str, Any] = {"cuuint64_t": ctypes.c_uint64, "cuuint32_t": ctypes.c_uint32, "int": ctypes.c_int}


@dataclass(frozen=True, slots=True)
class MadeMap:
    """A map that a launch makes of an argument: of the array of parameter number `parameter`, from byte `begin` of it.

    It belongs at byte `offset` of the first parameter of the kernel; `name` is the recipe's. With a `copy`
    it is of that one, which the launch makes.
    """

    name: str
    parameter: int
    offset: int
    begin: int
    tensor_map: TensorMap
    copy: LineCopy | None = None


def are_encodable(accepted: Sequence[Accepted], architecture: str) -> bool:
    """Whether the driver of a device with an architecture encodes all tensor maps among some arguments."""
    return all(is_encodable(item.tensor_map, architecture) for item in accepted if isinstance(item, MapClaim))


def with_maps(
    kernel: PtxKernel,
    slots: NDArray[np.int64],
    accepted: Sequence[Accepted],
    address: Callable[[Claim], int],
    made: Sequence[MadeMap] = (),
    copies: Mapping[CopyOf, int] = MappingProxyType({}),
) -> NDArray[np.int64]:
    """The words of the first parameter of a kernel: the slots, and its tensor maps behind them, in aligned memory.

    `address` gives that of an array on the device, and `made` are the maps that the launch makes itself, of which some
    are of `copies` at some addresses. Raises `CudaFault` where the driver refuses a map.
    """
    memory = aligned(kernel.parameter_bytes)
    memory[: slots.nbytes] = slots.view(np.uint8)
    for one in made:
        item = accepted[one.parameter]
        assert isinstance(item, Claim)
        begin = address(item) + one.begin if one.copy is None else copies[one.parameter, one.copy]
        encode(one.tensor_map, begin, int(memory.ctypes.data) + one.offset, _PROMOTION)
    for place in kernel.maps:
        item = accepted[place.parameter]
        assert isinstance(item, MapClaim)
        begin = address(item.claim)
        if place.encoded:
            encode(item.tensor_map, begin, int(memory.ctypes.data) + place.offset)
        described = descriptor(item.tensor_map, begin).view(np.uint8)
        memory[place.offset + MAP_BYTES :][: len(described)] = described
    return memory.view(np.int64)


def aligned(size: int) -> NDArray[np.uint8]:
    """So many bytes, zeros, where a tensor map may begin."""
    room = np.zeros(size + MAP_ALIGNMENT, np.uint8)
    skip = -room.ctypes.data % MAP_ALIGNMENT
    return room[skip : skip + size]


def encode(given: TensorMap, address: int, target: int, promotion: int = 0) -> None:
    """Let the driver write a map of the tensor at an address to 128 bytes at the aligned address `target`.

    `promotion` is the driver's number for how much comes to the L2 cache at a time. cuda-bindings would do so in
    memory that is not aligned. Raises `CudaFault` where the driver refuses the map.
    """
    found = _arguments(given, address, promotion)
    call_in_c(f"cuTensorMapEncode{CALL_OF[given.mode]}", ctypes.c_void_p(target), *found)


def _arguments(given: TensorMap, address: int, promotion: int) -> list[Any]:
    """The arguments of the driver's function behind the first, as C has them (CUDA driver API 13.0, cuda.h)."""
    found: list[Any] = []
    for name, value in encode_arguments(given, address).items():
        if isinstance(value, tuple):
            found.append((_C_TYPES[LISTS[name]] * max(1, len(value)))(*value))
        elif name == "global_address":
            found.append(ctypes.c_void_p(value))
        elif name == "l2_promotion":
            found.append(ctypes.c_uint32(promotion))
        else:
            found.append(ctypes.c_uint32(value))
    return found
