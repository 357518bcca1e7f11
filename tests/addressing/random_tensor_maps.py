"""Random legal tensor maps with operands, and the comparison of every kind of copy with the loops of the brute force.

`python -m tests.addressing.random_tensor_maps 5000` compares so many maps of every kind.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.addressing.tensor_map.model import TensorMap
from tests.addressing import brute_force_tensor_map as brute

Random = np.random.Generator
Bytes = NDArray[np.uint8]
PLAIN = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "bf16", "f32", "f64", "f32_ftz", "b32", "b64")
PADDED = ("b4x16_p64", "b6x16_p32", "b6p2x16")
WIDTHS = {"none": (16, 32, 48, 80), "32B": (16, 32), "64B": (16, 48, 64), "128B": (16, 64, 112, 128)}
NOISE = np.random.default_rng(0).integers(0, 256, 1 << 18, dtype=np.uint8)
"""What shared memory holds before stores."""
LIMITS = {3: (-9, 9), 4: (-4, 4), 5: (-3, 3)}


def below(random: Random, low: int, high: int) -> int:
    return int(random.integers(low, high + 1))


def chosen(random: Random, values: tuple[str, ...]) -> str:
    return values[below(random, 0, len(values) - 1)]


def common(random: Random, dtype: str, rank: int, interleave: str, store: bool) -> dict[str, Any]:
    """The parameters that both modes share; strides are now and then permuted, and overlap in loads."""
    bits = brute.BITS[dtype]
    swizzles: tuple[str, ...] = ("none", "32B", "64B", "128B")
    blackwell = dtype.startswith("b4") or dtype.startswith("b6") or random.random() < 0.3
    if dtype in PADDED:
        swizzles = ("none", "128B", "128B_atom_32B")
    elif blackwell:
        swizzles += ("128B_atom_32B", "128B_atom_64B") + (() if store else ("128B_atom_32B_flip_8B",))
    step = {"b4x16": 2}.get(dtype, 128 if dtype in PADDED else 1)
    most = 12 if interleave != "none" else 1600 // bits // step
    dims = [step * below(random, 1, max(2, most))]
    dims += [below(random, 1 + (random.random() < 0.8) * 2, 9) for _ in range(rank - 1)]
    slice_bytes = {"none": 0, "16B": 16, "32B": 32}[interleave]
    unit = 32 if dtype in PADDED or interleave == "32B" else 16
    row = -(-(dims[0] * (slice_bytes or 1) * (8 if slice_bytes else bits) // 8 + 1) // unit) * unit
    strides, size = [0] * (rank - 1), row
    order = [int(number) for number in random.permutation(rank - 1)] if random.random() < 0.3 else list(range(rank - 1))
    for position in order:
        size += unit * below(random, 0, 2)
        strides[position] = size
        size *= dims[position + 1]
    if not store and random.random() < 0.15:
        strides = [unit * below(random, 0, 9) for _ in strides]
    return {
        "dtype": dtype,
        "global_dim": dims,
        "global_strides": strides,
        "interleave": interleave,
        "swizzle": chosen(random, swizzles),
        "oob_fill": "nan" if dtype in brute.FLOATS and random.random() < 0.4 else "zero",
        "architecture": "sm_100a" if blackwell else "sm_90a",
    }


def inner_count(random: Random, shared: dict[str, Any]) -> int:
    """Elements of the inner box dimension: a multiple of 16 bytes within the span of the swizzle."""
    if shared["dtype"] in PADDED:
        return 128
    if shared["interleave"] != "none":
        return below(random, 1, 2) * 128 // brute.BITS[shared["dtype"]]
    width = WIDTHS[shared["swizzle"][:4] if shared["swizzle"] != "none" else "none"]
    return int(random.choice(width)) * 8 // brute.BITS[shared["dtype"]]


def start_of(random: Random, given: TensorMap, store: bool) -> int:
    """A start in dimension 0: a multiple of 16 bytes around the tensor."""
    if given.interleave != "none":
        return position_of(random, given.global_dim[0], store)
    step = 128 if given.dtype in PADDED else 128 // brute.BITS[given.dtype]
    return step * position_of(random, -(-given.global_dim[0] // step), store)


def position_of(random: Random, size: int, store: bool) -> int:
    """A start along a dimension: mostly inside, near the beginning more often than not."""
    if random.random() < 0.1:
        return below(random, 0 if store else -3, size + 2)
    return below(random, 0, (size - 1) // 2)


def tiled(random: Random, dtype: str, store: bool) -> tuple[TensorMap, list[int]]:
    interleave = chosen(random, ("none", "none", "none", "16B", "32B")) if dtype not in PADDED else "none"
    rank = below(random, 1 if interleave == "none" else 3, 5)
    shared = common(random, dtype, rank, interleave, store)
    box = [inner_count(random, shared), *(below(random, 1, 4) for _ in range(rank - 1))]
    steps = [below(random, 1, 8) if random.random() < 0.2 else 1 for _ in range(rank)]
    given = TensorMap.tiled(box_dim=box, element_strides=steps, **shared)
    rest = [position_of(random, size, store) for size in given.global_dim[1:]]
    return given, [start_of(random, given, store), *rest]


def im2col(random: Random, dtype: str, store: bool) -> tuple[TensorMap, list[int], list[int]]:
    interleave = chosen(random, ("none", "none", "none", "16B", "32B")) if dtype not in PADDED else "none"
    rank = below(random, 3, 5)
    shared = common(random, dtype, rank, interleave, store)
    first = 0 if interleave != "none" else 1
    low_limit, high_limit = (0, 0) if store else LIMITS[rank]
    lower, upper = [], []
    for size in shared["global_dim"][first : first + rank - 2]:
        low = below(random, low_limit, high_limit or min(2, size - 1))
        high = below(random, max(LIMITS[rank][0], low - size + 1), high_limit) if low - size + 1 <= high_limit else 0
        lower.append(low)
        upper.append(max(high, low - size + 1))
    given = TensorMap.im2col(
        lower_corner=lower,
        upper_corner=upper,
        channels_per_pixel=inner_count(random, shared),
        pixels_per_column=below(random, 1, 24),
        element_strides=[below(random, 1, 8) if random.random() < 0.3 else 1 for _ in range(rank)],
        **shared,
    )
    sizes = given.global_dim[first : first + rank - 2]
    base = [below(random, lo, size - 1 + hi) for lo, size, hi in zip(lower, sizes, upper, strict=True)]
    image = position_of(random, given.global_dim[-1], store)
    if interleave != "none":
        return given, [*base, position_of(random, given.global_dim[-2], store), image], offsets_of(random, rank)
    return given, [start_of(random, given, store), *base, image], offsets_of(random, rank)


def offsets_of(random: Random, rank: int) -> list[int]:
    return [below(random, 0, 3) for _ in range(rank - 2)]


def memory_of(random: Random, given: TensorMap) -> Bytes:
    """Random bytes, as many as the tensor can touch."""
    inner = given.global_dim[0] * ({"16B": 16, "32B": 32}.get(given.interleave, 0) * 8 or brute.BITS[given.dtype]) // 8
    outer = sum((size - 1) * stride for size, stride in zip(given.global_dim[1:], given.global_strides, strict=True))
    return random.integers(0, 256, outer + -(-inner // 16) * 16, dtype=np.uint8)


def address_of(random: Random, given: TensorMap) -> int:
    return below(random, 0, 9) * (128 if given.swizzle != "none" else 16)


def compare_image(given: TensorMap, image: Any, expected: brute.Image, address: int) -> None:
    assert image.transaction_bytes * 8 == expected.transaction_bits, given
    written = {address + int(place) for place in np.flatnonzero(image.written)}
    assert written == set(expected.values), given
    for place, value in expected.values.items():
        assert int(image.bytes[place - address]) == value, (given, place)
        assert int(image.source[place - address]) == expected.sources[place], (given, place)
    assert not image.bytes[~image.written].any() and (image.source[~image.written] == -2).all()


def tiled_load(random: Random, dtype: str) -> None:
    given, start = tiled(random, dtype, store=False)
    memory, address = memory_of(random, given), address_of(random, given)
    expected = brute.load(given, memory, brute.tiled_rows(given, start), start[0], address)
    compare_image(given, given.load(memory, start, shared_address=address), expected, address)


def im2col_load(random: Random, dtype: str) -> None:
    given, start, offsets = im2col(random, dtype, store=False)
    memory, address = memory_of(random, given), address_of(random, given)
    expected = brute.load(given, memory, brute.im2col_rows(given, start, offsets), start[0], address)
    compare_image(given, given.load(memory, start, offsets, address), expected, address)


def compare_store(random: Random, given: TensorMap, rows: Any, start: list[int], copy: Callable[..., None]) -> None:
    """`copy(shared, memory, address)` against the loop."""
    memory, address = memory_of(random, given), address_of(random, given)
    shared = NOISE[below(random, 0, 4096) :]
    expected = memory.copy()
    brute.store(given, shared, expected, rows, start[0], address)
    copy(shared, memory, address)
    assert np.array_equal(memory, expected), (given, start)


def tiled_store(random: Random, dtype: str) -> None:
    given, start = tiled(random, dtype, store=True)
    rows = brute.tiled_rows(given, start)
    compare_store(random, given, rows, start, lambda s, m, a: given.store(s, m, start, a))


def im2col_store(random: Random, dtype: str) -> None:
    given, start, offsets = im2col(random, dtype, store=True)
    rows = brute.im2col_rows(given, start, [0] * len(offsets))
    compare_store(random, given, rows, start, lambda s, m, a: given.store(s, m, start, a))


def matrix(random: Random, dtype: str, store: bool) -> tuple[TensorMap, int, list[int]]:
    shared = common(random, dtype, 2, "none", store) | {"architecture": "sm_100a"}
    given = TensorMap.tiled(box_dim=[inner_count(random, shared), 1], **shared)
    rows = [position_of(random, given.global_dim[1], store) for _ in range(4)]
    return given, start_of(random, given, store), rows


def gather4(random: Random, dtype: str) -> None:
    given, column, rows = matrix(random, dtype, store=False)
    memory, address = memory_of(random, given), address_of(random, given)
    expected = brute.load(given, memory, iter([(row,) for row in rows]), column, address)
    compare_image(given, given.gather4(memory, column, rows, address), expected, address)


def scatter4(random: Random, dtype: str) -> None:
    given, column, rows = matrix(random, dtype, store=True)
    pairs = iter([(row,) for row in rows])
    compare_store(random, given, pairs, [column], lambda s, m, a: given.scatter4(s, m, column, rows, a))


INTEGER_OPERATIONS: dict[str, Callable[[int, int, int], int]] = {
    "add": lambda old, new, bits: (old + new) % 2**bits,
    "and": lambda old, new, _: old & new,
    "or": lambda old, new, _: old | new,
    "xor": lambda old, new, _: old ^ new,
    "min": lambda old, new, _: min(old, new),
    "max": lambda old, new, _: max(old, new),
    "inc": lambda old, new, _: 0 if old >= new else old + 1,
    "dec": lambda old, new, _: new if old == 0 or old > new else old - 1,
}


def reduce(random: Random, dtype: str) -> None:
    """Unsigned integers, whose arithmetic Python shares; rows may overlap, so that elements are reduced twice."""
    del dtype
    given, start = tiled(random, chosen(random, ("u32", "u32", "u64")), store=True)
    names = ("add", "and", "or", "xor", "min", "max") + (("inc", "dec") if given.dtype == "u32" else ())
    if random.random() < 0.3:
        given = replace(given, global_strides=tuple(32 * below(random, 0, 5) for _ in given.global_strides))
    name, bits = chosen(random, names), brute.BITS[given.dtype]
    memory, address = memory_of(random, given), address_of(random, given)
    shared = NOISE[below(random, 0, 4096) :]
    expected, rows = memory.copy(), brute.tiled_rows(given, start)
    combine = INTEGER_OPERATIONS[name]
    brute.store(given, shared, expected, rows, start[0], address, lambda old, new: combine(old, new, bits))
    given.reduce(name, shared, memory, start, address)
    assert np.array_equal(memory, expected), (given, name, start)


def one_of(*copies: Callable[[Random, str], None]) -> Callable[[Random, str], None]:
    return lambda random, dtype: copies[below(random, 0, len(copies) - 1)](random, dtype)


KINDS: dict[str, tuple[Callable[[Random, str], None], tuple[str, ...]]] = {
    "tiled_load": (tiled_load, PLAIN),
    "im2col_load": (im2col_load, PLAIN),
    "tiled_store": (tiled_store, PLAIN),
    "im2col_store": (im2col_store, PLAIN),
    "gather4": (gather4, (*PLAIN, "b4x16", "b4x16_p64", "b6x16_p32")),
    "scatter4": (scatter4, (*PLAIN, "b4x16", "b6p2x16")),
    "reduce": (reduce, ("u32",)),
    "b4x16": (one_of(tiled_load, im2col_load, tiled_store, im2col_store), ("b4x16",)),
    "b4x16_p64": (one_of(tiled_load, im2col_load), ("b4x16_p64",)),
    "b6x16_p32": (one_of(tiled_load, im2col_load), ("b6x16_p32",)),
    "b6p2x16": (one_of(tiled_store, im2col_store), ("b6p2x16",)),
}
"""Every kind of copy, and the element types it is compared for."""


def compare(kind: str, count: int, seed: int = 0) -> None:
    """Compare `count` random maps of one kind with the loops; raises AssertionError at the first difference."""
    copy, types = KINDS[kind]
    for number in range(count):
        random = np.random.default_rng([seed, number, *kind.encode()])
        copy(random, chosen(random, types))


if __name__ == "__main__":
    for name in KINDS if len(sys.argv) < 3 else sys.argv[2:]:
        compare(name, int(sys.argv[1]), seed=1)
        print(f"{name}: {sys.argv[1]} maps equal")
