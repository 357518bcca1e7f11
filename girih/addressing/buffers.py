"""The checks of NumPy arrays that are loaded or stored: component types, memory order, writability, room.

Each check notes what is wrong in a `RuleReport`, and raises nothing itself.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

from girih.addressing.access import Access
from girih.addressing.errors import I64_HIGH, RuleReport, rule, what_it_is

AnyArray = NDArray[np.generic]

MATRIX = rule("load_store.matrix", "the matrix is a NumPy array of the right shape", "girih")
COMPONENT = rule(
    "load_store.component",
    "components are integers or floats of 1, 2, 4 or 8 bytes in the machine's byte order, bfloat16 and float8 included",
    "girih",
)
BUFFER = rule("load_store.buffer", "the buffer is a NumPy array, contiguous in memory", "girih")
SAME_TYPE = rule(
    "load_store.component_type",
    "buffer and matrix have the same component type: an index counts components of the matrix",
    "002 3.X Cooperative Matrix Layout, 003 Memref type",
)
READ_ONLY = rule("load_store.read_only", "a buffer that is stored to is writable", "girih")
ELEMENT_OFFSET = rule(
    "load_store.element_offset", "the element offset is an integer from 0", "001 8.X coopMatLoadTensorNV"
)
ALIGNMENT = rule(
    "load_store.alignment",
    "the base, element offset times element size, is a multiple of 16 bytes",
    "001 8.X, Issue (1)",
)
TOO_SMALL = rule(
    "load_store.buffer_too_small",
    "every element reached lies in the buffer",
    "001 8.X matrixCoordToTensorElement, 002 3.X Cooperative Matrix Layout, 003 Memref type",
)


def is_component(dtype: np.dtype[np.generic]) -> bool:
    """Whether a cooperative matrix may have these components: types of NumPy, and those of `ml_dtypes`, of kind `V`."""
    if not dtype.isnative or dtype.itemsize not in (1, 2, 4, 8):
        return False
    if dtype.kind == "V":
        return dtype.fields is None and dtype.subdtype is None and dtype.type is not np.void
    return dtype.kind in "iuf"


def check_matrix(
    report: RuleReport, matrix: object, shape: tuple[int, int] | None = None, name: str = "matrix"
) -> bool:
    """Whether `matrix` is an array `[rows, columns]` of components, of `shape` if given; notes what is wrong."""
    if not isinstance(matrix, np.ndarray):
        report.add(MATRIX, f"the {name} is {what_it_is(matrix)}", "pass a NumPy array")
        return False
    fits = matrix.ndim == 2 and matrix.size > 0 if shape is None else matrix.shape == shape
    if not fits:
        fix = "pass an array [rows, columns] that is not empty" if shape is None else f"pass one of shape {list(shape)}"
        report.add(MATRIX, f"the {name} has shape {list(matrix.shape)}", fix)
    check_component(report, matrix.dtype, name)
    return fits and is_component(matrix.dtype)


def check_component(report: RuleReport, dtype: np.dtype[np.generic], name: str) -> None:
    """Note a type that the components of a matrix cannot have."""
    if not is_component(dtype):
        fix = "use an integer or float type of NumPy or ml_dtypes"
        if not dtype.isnative:
            fix = "convert it to the byte order of this machine: array.astype(array.dtype.newbyteorder('='))"
        report.add(COMPONENT, f"the {name} has elements of type {dtype}", fix)


def check_buffer(report: RuleReport, buffer: object, store: bool) -> bool:
    """Whether `buffer` is a contiguous array of numbers; notes it otherwise, and where a store may not write."""
    if isinstance(buffer, np.ma.MaskedArray):
        report.add(BUFFER, "the buffer is a masked array; masks say nothing to a load or store", "pass array.filled()")
        return False
    if not isinstance(buffer, np.ndarray) or buffer.ndim == 0 or buffer.dtype.hasobject:
        what = what_it_is(buffer)
        if isinstance(buffer, np.ndarray):
            what = f"a {buffer.ndim}-d array of {buffer.dtype}"
        report.add(BUFFER, f"the buffer is {what}", "pass a NumPy array of numbers with at least one axis")
        return False
    if store and not buffer.flags.writeable:
        report.add(READ_ONLY, "the buffer is read-only", "store into an array that you own")
    if not (buffer.flags.c_contiguous or buffer.flags.f_contiguous):
        report.add(
            BUFFER,
            f"the buffer has gaps: its shape is {list(buffer.shape)}, its strides are {list(buffer.strides)} bytes",
            "pass the array that it is a part of, and say where with the layout",
        )
        return False
    return True


def check_native(report: RuleReport, buffer: AnyArray) -> bool:
    """Whether the bytes of a buffer are in the machine's order, as those of a matrix are; notes it otherwise."""
    if not buffer.dtype.isnative:
        check_component(report, buffer.dtype, "buffer")
    return buffer.dtype.isnative


def check_same_type(report: RuleReport, buffer: AnyArray, dtype: np.dtype[np.generic]) -> None:
    """Note a buffer whose elements are not the matrix's components."""
    if buffer.dtype != dtype:
        report.add(
            SAME_TYPE,
            f"the buffer has elements of type {buffer.dtype}, the matrix of {dtype}",
            f"reinterpret the bytes with buffer.view({dtype}), or convert the numbers with buffer.astype({dtype})",
        )


def check_base(report: RuleReport, element_offset: object, size: int, unit: str) -> int:
    """The element offset as an `int`; notes an illegal one, and a base that is not a multiple of 16 bytes."""
    offset = report.integer("element_offset", element_offset, 0, I64_HIGH // max(size, 1), ELEMENT_OFFSET)
    if offset * size % 16:
        step = 16 // np.gcd(size, 16)
        report.add(
            ALIGNMENT,
            f"element_offset = {offset} {unit} of {size} bytes = {offset * size} bytes is not a multiple of 16",
            f"use a multiple of {step}, and move the rest into the offsets of the slice",
        )
    return offset


def check_room(report: RuleReport, access: Access, offset: int, length: int, unit: str) -> None:
    """Note elements past the end of a buffer of `length` elements."""
    highest = int(access.element.max())
    if highest >= 0 and offset + highest >= length:
        place = np.unravel_index(int(access.element.argmax()), access.shape)
        report.add(
            TOO_SMALL,
            f"element {list(map(int, place))} is {unit} {offset + highest} of a buffer of {length} {unit}s",
            f"pass a buffer of at least {offset + highest + 1} {unit}s, or a clamp mode and the true dimensions",
        )


def check_room_in_bytes(report: RuleReport, access: Access, offset: int, row: AnyArray, size: int) -> None:
    """Note components of `size` bytes past the end of a buffer of another type, which is given as one row."""
    highest = int(access.element.max())
    end = offset * row.itemsize + (highest + 1) * size
    if highest >= 0 and end > row.nbytes:
        place = np.unravel_index(int(access.element.argmax()), access.shape)
        report.add(
            TOO_SMALL,
            f"element {list(map(int, place))} begins at byte {end - size} of a buffer of {row.nbytes} bytes",
            f"pass a buffer of at least {-(-end // row.itemsize)} elements, or a clamp mode and the true dimensions",
        )


def in_memory_order(buffer: AnyArray) -> AnyArray:
    """A view of a contiguous array as one row, in the order of its memory."""
    plain = np.asarray(buffer)
    return plain.reshape(-1) if plain.flags.c_contiguous else plain.T.reshape(-1)


def component_of_bits(bits: int, dtype: np.dtype[np.generic]) -> AnyArray:
    """The component whose bit pattern is the low bits of `bits`, which is widened by zeros, as a 0-d array."""
    size = dtype.itemsize
    pattern = (bits & (2 ** (8 * size) - 1)).to_bytes(size, sys.byteorder)
    return np.frombuffer(pattern, dtype)[0:1].reshape(())
