"""`BoundTensorMap`: a tensor map together with the array that it describes, as a kernel takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from girih.addressing.errors import RuleReport, rule, what_it_is
from girih.addressing.tensor_map.copies import inner_extent
from girih.addressing.tensor_map.element_type import FROM_NUMPY
from girih.addressing.tensor_map.parameters import MapParameters
from girih.addressing.tensor_map.rules import ADDRESS_ALIGNED, alignment

if TYPE_CHECKING:
    from girih.addressing.tensor_map.model import TensorMap

BOUND_ARRAY = rule("tensor_map.bound_array", "what is bound to a map is a NumPy array", "girih")
BOUND_TYPE = rule(
    "tensor_map.bound_type", "the elements of a bound array are bytes, or of the width of the map's", "004 5.5.1"
)
BOUND_LAYOUT = rule(
    "tensor_map.bound_layout", "a bound array lies in memory without gaps, or as the map says", "004 5.5"
)
BOUND_SIZE = rule("tensor_map.bound_size", "a bound array holds every byte of the tensor", "004 5.5")


def tensor_bytes(given: MapParameters, store: bool = False) -> int:
    """The bytes from the address of the map to the end of its tensor; with `store` to the end of what stores touch.

    A store overwrites the padding of rows up to the next 16 bytes.
    """
    first = 0 if given.slice_bytes else 1
    outer = sum((given.global_dim[d] - 1) * given.strides[d] for d in range(first, given.rank))
    return outer + inner_extent(given, store)


@dataclass(frozen=True, eq=False)
class BoundTensorMap:
    """A tensor map and the array that holds its tensor, made by `TensorMap.bind`: the argument of a kernel.

    `array` is the NumPy array that was given, whose first byte is at the address of the map.
    """

    tensor_map: TensorMap
    array: NDArray[Any]

    def __repr__(self) -> str:
        return f"<{self.tensor_map!r} bound to an array of {self.array.dtype}, shape {self.array.shape}>"

    @property
    def writable(self) -> bool:
        """Whether the array may be written."""
        return bool(self.array.flags.writeable)

    def memory(self, store: bool = False) -> NDArray[np.uint8]:
        """The bytes of the array from its first byte to the end of the tensor, in place; uint8 with one axis.

        With `store` they reach to the end of what stores touch, the padding of the last row, and may be written where
        the array may be. Raises `AddressingError` where that is past the end of the array that it is part of.
        """
        size = tensor_bytes(self.tensor_map, store)
        if _is_whole(self.array) and size <= self.array.nbytes:
            # Every launch asks for it: without gaps, that is two views.
            whole: NDArray[np.uint8] = np.asarray(self.array).reshape(-1, order="A").view(np.uint8)[:size]
            if not store:
                whole.flags.writeable = False
            return whole
        room = room_of(self.array)
        report = RuleReport("BoundTensorMap.memory")
        if size > room:
            if store:
                message = f"stores reach over {size} bytes, with the padding of the last row; the array holds {room}"
                report.add(BOUND_SIZE, message, "allocate rows of a multiple of 16 bytes, padding included")
            else:
                message = f"the tensor reaches over {size} bytes, the array holds only {room} since it was bound"
                report.add(BOUND_SIZE, message, "bind the array again after it was resized")
        report.done()
        first: NDArray[Any] = as_strided(self.array, (1,), (self.array.itemsize,))
        return as_strided(first.view(np.uint8), (size,), (1,), writeable=store and self.writable)


def bound(given: TensorMap, array: object) -> BoundTensorMap:
    """A map with an array. Raises one `AddressingError` with every rule that is broken."""
    report = RuleReport("TensorMap.bind")
    if not isinstance(array, np.ndarray):
        report.add(BOUND_ARRAY, f"the array is {what_it_is(array)}", "pass a NumPy array, np.asarray(...) say")
        report.done()
        raise AssertionError
    if isinstance(array, np.ma.MaskedArray):
        report.add(BOUND_ARRAY, "the array is masked, and a tensor has no mask", "pass array.data or array.filled(...)")
    _check_type(given, array, report)
    if _check_layout(given, array, report):
        size, room = tensor_bytes(given), array.nbytes if _is_whole(array) else room_of(array)
        if size > room:
            message = f"the tensor reaches over {size} bytes, the array holds {room}"
            report.add(BOUND_SIZE, message, "pass the whole array, or describe a smaller tensor")
    multiple, why = alignment(given)
    start = address_of(array)
    if start % multiple:
        message = f"the array starts {start % multiple} bytes after a multiple of {multiple}{why}"
        report.add(ADDRESS_ALIGNED, message, f"let it start at a multiple of {multiple} bytes")
    report.done()
    return BoundTensorMap(given, array)


def _check_type(given: TensorMap, array: NDArray[Any], report: RuleReport) -> None:
    bits = given.element.bits
    known = array.dtype.name in FROM_NUMPY and array.dtype.isnative
    if known and (array.itemsize == 1 or array.itemsize * 8 == bits):
        return
    wanted = "bytes, uint8" if bits % 8 else f"elements of {bits // 8} bytes, or bytes, uint8"
    report.add(BOUND_TYPE, f"the array is of {array.dtype}, the map of {given.dtype}", f"pass an array of {wanted}")


def _check_layout(given: TensorMap, array: NDArray[Any], report: RuleReport) -> bool:
    """Whether the memory of the array, from its first byte on, is that of the map."""
    if not array.size:
        return True
    described = array.shape[::-1] == given.global_dim and array.itemsize * 8 == given.element.bits
    if described and not given.slice_bytes:
        steps = (array.itemsize, *given.global_strides)
        strides = array.strides[::-1]
        if all(size == 1 or have == want for size, have, want in zip(given.global_dim, strides, steps, strict=True)):
            return True
    # A transposed array of the tensor's shape is without gaps, but its elements lie elsewhere.
    transposed = described and array.shape != given.global_dim and not array.flags.c_contiguous
    if not transposed and _is_whole(array):
        return True
    message = f"the array has shape {array.shape} and strides {array.strides} in bytes, which the map does not"
    report.add(BOUND_LAYOUT, message, "bind an array without gaps, or make the map with TensorMap.of(array, box)")
    return False


def _is_whole(array: NDArray[Any]) -> bool:
    """Whether an array lies in memory without gaps."""
    return bool(array.flags.c_contiguous or array.flags.f_contiguous)


def room_of(array: NDArray[Any]) -> int:
    """The bytes from the first element of an array to the end of the array that it is part of."""
    owner: NDArray[Any] = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    last = sum((size - 1) * max(0, step) for size, step in zip(owner.shape, owner.strides, strict=True))
    return address_of(owner) + int(last) + owner.itemsize - address_of(array)


def address_of(array: NDArray[Any]) -> int:
    """The address of the first element of an array."""
    return int(array.__array_interface__["data"][0])
