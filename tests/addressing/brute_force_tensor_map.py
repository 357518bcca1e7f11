"""Tensor copies as plain loops over elements, written from the text of 004 and the measured facts.

Nothing here uses the walks, the swizzles or the byte arithmetic of `girih.addressing`: only the parameters of its maps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from girih.addressing.tensor_map.model import TensorMap

BITS = {
    "u8": 8, "u16": 16, "u32": 32, "s32": 32, "u64": 64, "s64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64,
    "f32_ftz": 32, "b32": 32, "b64": 64, "b4x16": 4, "b4x16_p64": 4, "b6x16_p32": 6, "b6p2x16": 6,
}  # fmt: skip
SPANS = {"none": 0, "32B": 32, "64B": 64}
FLOATS = ("f16", "bf16", "f32", "f64", "f32_ftz")
Bytes = NDArray[np.uint8]


def swizzled(name: str, address: int) -> int:
    """The driver's words: chunks of 16, 32 or 64 bytes change places in a line of 128 bytes, depending on the line."""
    line, inside = divmod(address, 128)
    chunk, turns = {
        "none": (16, 1), "32B": (16, 2), "64B": (16, 4), "128B": (16, 8),
        "128B_atom_32B": (32, 4), "128B_atom_32B_flip_8B": (32, 4), "128B_atom_64B": (64, 2),
    }[name]  # fmt: skip
    number, rest = divmod(inside, chunk)
    if name.endswith("flip_8B") and line % 2:
        rest = rest + 8 if rest % 16 < 8 else rest - 8
    return line * 128 + (number ^ (line % turns)) * chunk + rest


def tiled_rows(given: TensorMap, start: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The coordinates of every row of the box but the inner one, in the order of shared memory."""
    sizes, steps = given.box_dim, given.element_strides
    inner = 0 if given.interleave != "none" else 1
    ranges = []
    for dimension in range(inner, len(sizes)):
        if given.interleave != "none" and dimension == len(sizes) - 2:
            ranges.append([start[dimension]])
        else:
            ranges.append([start[dimension] + step for step in range(0, sizes[dimension], steps[dimension])])
    for outer in product(*reversed(ranges)):
        yield outer[::-1]


def im2col_rows(given: TensorMap, start: Sequence[int], offsets: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """The coordinates of every pixel but the channel, in order: the walk of the cursor, pixel by pixel."""
    spatial = len(given.global_dim) - 2
    first = 0 if given.interleave != "none" else 1
    low = given.lower_corner
    high = [given.global_dim[first + axis] - 1 + given.upper_corner[axis] for axis in range(spatial)]
    step = given.element_strides[first : first + spatial]
    cursor, image = list(start[first : first + spatial]), start[-1]
    for _ in range(given.pixels_per_column):
        pixel = [position + offset for position, offset in zip(cursor, offsets, strict=True)]
        yield (*pixel, start[-2], image) if given.interleave != "none" else (*pixel, image)
        for axis in range(spatial):
            cursor[axis] += step[axis]
            if cursor[axis] <= high[axis]:
                break
            cursor[axis] = low[axis]
        else:
            image += given.element_strides[-1]


@dataclass
class Piece:
    """One element of a copy: the bit where it lies in global memory (None: outside) and in the unswizzled box."""

    source: int | None
    place: int


def pieces(given: TensorMap, rows: Iterator[tuple[int, ...]], start: int, store: bool) -> Iterator[Piece]:
    """Every element of a copy, in order."""
    bits = BITS[given.dtype]
    room = 8 if given.dtype == "b6p2x16" else bits
    slice_bytes = {"none": 0, "16B": 16, "32B": 32}[given.interleave]
    count = given.box_dim[0] if given.box_dim else given.channels_per_pixel
    extent = given.global_dim[0]
    if store:
        extent = -(-extent * bits // 128) * 128 // bits
    if slice_bytes:
        start, count, extent = 0, slice_bytes * 8 // bits, slice_bytes * 8 // bits
    group = {"b4x16_p64": 128, "b6x16_p32": 128}.get(given.dtype, 16 * room)
    pitch = slice_bytes or SPANS.get(given.swizzle, 128) or count * group // 16 // 8
    strides = (slice_bytes, *given.global_strides) if slice_bytes else given.global_strides
    sizes = given.global_dim if slice_bytes else given.global_dim[1:]
    for number, row in enumerate(rows):
        outside = any(not 0 <= position < size for position, size in zip(row, sizes, strict=True))
        base = sum(position * stride for position, stride in zip(row, strides, strict=True))
        for step in range(count):
            here = start + step
            missing = outside or not 0 <= here < extent
            place = number * pitch * 8 + step // 16 * group + step % 16 * room
            yield Piece(None if missing else base * 8 + here * bits, place)


def read_bits(memory: Bytes, position: int, bits: int) -> int:
    """`bits` bits from bit `position` on, little-endian."""
    first, last = position // 8, (position + bits + 7) // 8
    return int.from_bytes(memory[first:last].tobytes(), "little") >> position % 8 & (1 << bits) - 1


def write_bits(memory: Bytes, position: int, bits: int, value: int) -> None:
    """The inverse of `read_bits`."""
    first, last = position // 8, (position + bits + 7) // 8
    mask = (1 << bits) - 1 << position % 8
    old = int.from_bytes(memory[first:last].tobytes(), "little")
    new = old & ~mask | value << position % 8
    memory[first:last] = np.frombuffer(new.to_bytes(last - first, "little"), np.uint8)


@dataclass
class Image:
    """Shared memory after a load, by absolute address."""

    values: dict[int, int]
    sources: dict[int, int]
    transaction_bits: int = 0


def load(given: TensorMap, memory: Bytes, rows: Iterator[tuple[int, ...]], start: int, shared_address: int) -> Image:
    """A load, byte by byte."""
    image, bits = Image({}, {}), BITS[given.dtype]
    for piece in pieces(given, rows, start, store=False):
        image.transaction_bits += bits
        nan = int.from_bytes(b"\xf7\x7f" * 4, "little") & (1 << bits) - 1
        fill = nan if given.oob_fill == "nan" else 0
        value = fill if piece.source is None else read_bits(memory, piece.source, bits)
        bit = 0
        while bit < bits:
            width = min(8 - (piece.place + bit) % 8, bits - bit)
            address = swizzled(given.swizzle, shared_address + (piece.place + bit) // 8)
            part = (value >> bit & (1 << width) - 1) << (piece.place + bit) % 8
            image.values[address] = image.values.get(address, 0) | part
            image.sources[address] = -1 if piece.source is None else (piece.source + bit) // 8
            bit += width
    return image


def shared_value(given: TensorMap, shared: Bytes, piece: Piece, shared_address: int) -> int:
    """An element of the box in shared memory, which starts at `shared_address`."""
    value = 0
    for byte in range(max(1, BITS[given.dtype] // 8)):
        address = swizzled(given.swizzle, shared_address + piece.place // 8 + byte)
        value |= int(shared[address - shared_address]) << 8 * byte
    return value >> piece.place % 8 & (1 << BITS[given.dtype]) - 1


def store(
    given: TensorMap,
    shared: Bytes,
    memory: Bytes,
    rows: Iterator[tuple[int, ...]],
    start: int,
    shared_address: int,
    operation: Callable[[int, int], int] = lambda old, new: new,
) -> None:
    """A store or a reduction, element by element."""
    bits = BITS[given.dtype]
    for piece in pieces(given, rows, start, store=True):
        if piece.source is not None:
            value = shared_value(given, shared, piece, shared_address)
            write_bits(memory, piece.source, bits, operation(read_bits(memory, piece.source, bits), value))
