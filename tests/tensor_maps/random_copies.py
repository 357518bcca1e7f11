"""Programs with random legal copies, whose results are those of the loops of the brute force.

`python -m tests.tensor_maps.random_copies cpu 100` compares so many copies of every kind on a target.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

import girih
from girih.addressing import TensorMap
from tests.addressing import brute_force_tensor_map as brute
from tests.addressing import random_tensor_maps as maps
from tests.addressing.random_tensor_maps import Bytes, Random, below, chosen
from tests.tensor_maps import golden
from tests.tensor_maps.golden import Launch, Make, placed
from tests.tensor_maps.programs import number_type

WINDOW = 1 << 16
PHASE = 384
"""Where boxes begin in local memory, modulo 1024: in the middle of every swizzle."""
BACKGROUND = 0xA5
DATA_BYTES = {"b4x16_p64": 8, "b6x16_p32": 12}
"""How many of every 16 bytes of local memory have a meaning."""


def on(target: str) -> Make:
    """Kernels for a target; the interpreter makes copies at once or later, as the size of the tensor says."""
    make = golden.target(target)
    if target != "interpreter":
        return make

    def at_any_time(text: str) -> Launch:
        one = girih.loads(text, target)["copy"]
        return lambda given, *rest: one.options(choices=girih.Choices(len(given.array)))(given, *rest)

    return at_any_time


@cache
def program(copy: str, type: str, rank: int, mode: str, operands: int, data: int = 16) -> str:
    """A copy at `PHASE`: local memory is `W` before, and `V` are those of its bytes that have a meaning after it."""
    names = [f"%c{number}" for number in range(operands)]
    coordinates, offsets = (names[:rank], names[rank:]) if ".im2col" in copy and "load" in copy else (names, [])
    place = f"%map[{', '.join(coordinates)}]" + (f", [{', '.join(offsets)}]" if offsets else "")
    line = f"{copy} {place}, %box" if "load" in copy else f"{copy} %box, {place}"
    parameters = "".join(f", {name}: index" for name in names)
    size, chunks = WINDOW - PHASE, WINDOW // 16
    part = f"memref<i8x{data}x{chunks},strided<1,16>"
    return f"""
func @copy(%map: tensor_map<{type},{rank},{mode}>{parameters}, %W: memref<i8x{WINDOW}>, %V: {part}>) {{
    %one = constant 1 : i8
    %zero = constant 0 : i8
    %window = alloca {{alignment=1024}} : memref<i8x{WINDOW},local>
    axpby %one, %W, %zero, %window
    %box = subview %window[{PHASE}:{size}] : memref<i8x{size},local>
    {line}
    %chunks = expand %window[0 -> 16 x {chunks}] : memref<i8x16x{chunks},local>
    %data = subview %chunks[0:{data}, 0:{chunks}] : {part},local>
    axpby %one, %data, %zero, %V
}}
"""


def run(make: Make, copy: str, given: TensorMap, operands: list[int], memory: Bytes, window: Bytes) -> Bytes:
    """Local memory after a copy; `memory` changes in place. `window` is local memory before."""
    data = DATA_BYTES.get(given.dtype, 16)
    made = make(program(copy, number_type(given), given.rank, given.mode, len(operands), data))
    after = np.full((WINDOW // 16, 16), BACKGROUND, np.uint8)
    made(given.bind(memory), *operands, window.view(np.int8), after.view(np.int8).T[:data])
    return after.reshape(-1)


Rows = Iterator[tuple[int, ...]]


def compare_load(make: Make, copy: str, given: TensorMap, operands: list[int], rows: Rows, random: Random) -> None:
    memory = placed(maps.memory_of(random, given), given)
    expected = np.full(WINDOW, BACKGROUND, np.uint8)
    image = brute.load(given, memory, rows, operands[0], PHASE)
    assert max(image.values) < WINDOW
    for address, value in image.values.items():
        expected[address] = value
    after = run(make, copy, given, operands, memory, np.full(WINDOW, BACKGROUND, np.uint8))
    assert np.array_equal(after, expected), (copy, given, operands)


def compare_store(
    make: Make,
    copy: str,
    given: TensorMap,
    operands: list[int],
    rows: Rows,
    random: Random,
    combine: Callable[[int, int], int] = lambda old, new: new,
) -> None:
    memory = placed(maps.memory_of(random, given), given)
    window = maps.NOISE[below(random, 0, 4096) :][:WINDOW].copy()
    expected = memory.copy()
    brute.store(given, window[PHASE:], expected, rows, operands[0], PHASE, combine)
    run(make, copy, given, operands, memory, window)
    assert np.array_equal(memory, expected), (copy, given, operands)


def tiled(random: Random, dtype: str, *, store: bool) -> tuple[TensorMap, list[int]]:
    """A map in tiled mode whose box fits local memory, and coordinates."""
    while True:
        given, start = maps.tiled(random, dtype, store=store)
        if given.rows * given.row_pitch <= WINDOW - 1024:
            return given, start


def tiled_load(make: Make, random: Random, dtype: str) -> None:
    given, start = tiled(random, dtype, store=False)
    compare_load(make, "tensor_copy_load", given, start, brute.tiled_rows(given, start), random)


def im2col_load(make: Make, random: Random, dtype: str) -> None:
    given, start, offsets = maps.im2col(random, dtype, store=False)
    rows = brute.im2col_rows(given, start, offsets)
    compare_load(make, "tensor_copy_load.im2col", given, [*start, *offsets], rows, random)


def gather4(make: Make, random: Random, dtype: str) -> None:
    given, column, rows = maps.matrix(random, dtype, store=False)
    pairs: Rows = iter([(row,) for row in rows])
    compare_load(make, "tensor_copy_load.gather4", given, [column, *rows], pairs, random)


def tiled_store(make: Make, random: Random, dtype: str) -> None:
    given, start = tiled(random, dtype, store=True)
    compare_store(make, "tensor_copy_store", given, start, brute.tiled_rows(given, start), random)


def im2col_store(make: Make, random: Random, dtype: str) -> None:
    given, start, offsets = maps.im2col(random, dtype, store=True)
    rows = brute.im2col_rows(given, start, [0] * len(offsets))
    compare_store(make, "tensor_copy_store.im2col", given, start, rows, random)


def scatter4(make: Make, random: Random, dtype: str) -> None:
    given, column, rows = maps.matrix(random, dtype, store=True)
    pairs: Rows = iter([(row,) for row in rows])
    compare_store(make, "tensor_copy_store.scatter4", given, [column, *rows], pairs, random)


def integer_reduce(make: Make, random: Random, dtype: str) -> None:
    """Unsigned integers, whose arithmetic Python shares."""
    if random.random() < 0.5:
        given, start = tiled(random, dtype, store=True)
        rows, mode = brute.tiled_rows(given, start), ""
    else:
        given, start, offsets = maps.im2col(random, dtype, store=True)
        rows, mode = brute.im2col_rows(given, start, [0] * len(offsets)), ".im2col"
    names = ("add", "and", "or", "xor", "min", "max") + (("inc", "dec") if dtype == "u32" else ())
    name, bits = chosen(random, names), brute.BITS[dtype]
    combine = maps.INTEGER_OPERATIONS[name]
    copy = f"tensor_copy_reduce.{name}{mode}"
    compare_store(make, copy, given, start, rows, random, lambda old, new: combine(old, new, bits))


def number_reduce(make: Make, random: Random, dtype: str) -> None:
    """Signed integers and floating-point numbers, as `girih.addressing` combines them; NaN is any NaN."""
    given, start = tiled(random, dtype, store=True)
    names = ("add",) if dtype == "f32" else ("min", "max") if dtype == "s64" else ("add", "min", "max")
    name = chosen(random, names)
    memory = placed(maps.memory_of(random, given), given)
    window = maps.NOISE[below(random, 0, 4096) :][:WINDOW].copy()
    expected = memory.copy()
    given.reduce(name, window[PHASE:], expected, start, PHASE)
    run(make, f"tensor_copy_reduce.{name}", given, start, memory, window)
    assert np.array_equal(values_of(dtype, memory), values_of(dtype, expected), equal_nan=dtype[0] != "s"), (
        given,
        name,
    )


def values_of(dtype: str, memory: Bytes) -> NDArray[np.generic]:
    """The numbers that bytes hold."""
    bits = brute.BITS[dtype]
    whole = memory[: len(memory) // (bits // 8) * (bits // 8)]
    if dtype == "bf16":
        return (whole.view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    return whole.view({"s": "i", "f": "f"}[dtype[0]] + str(bits // 8))


KINDS = {
    "tiled_load": (tiled_load, maps.PLAIN),
    "im2col_load": (im2col_load, maps.PLAIN),
    "gather4": (gather4, (*maps.PLAIN, "b4x16", "b4x16_p64", "b6x16_p32")),
    "tiled_store": (tiled_store, maps.PLAIN),
    "im2col_store": (im2col_store, maps.PLAIN),
    "scatter4": (scatter4, (*maps.PLAIN, "b4x16", "b6p2x16")),
    "integer_reduce": (integer_reduce, ("u32", "u64")),
    "number_reduce": (number_reduce, ("s32", "s64", "f16", "bf16", "f32")),
    "packed_load": (tiled_load, ("b4x16", "b4x16_p64", "b6x16_p32")),
    "packed_column": (im2col_load, ("b4x16", "b4x16_p64", "b6x16_p32")),
    "packed_store": (tiled_store, ("b4x16", "b6p2x16")),
}
"""Every kind of copy, and the element types it is compared for; `integer_reduce` may overlap with itself."""


def compare(make: Make, kind: str, count: int, seed: int = 0) -> None:
    """Compare so many random copies of a kind; raises AssertionError at the first difference."""
    copy, types = KINDS[kind]
    for number in range(count):
        random = np.random.default_rng([seed, number, *kind.encode()])
        copy(make, random, types[number % len(types)])


if __name__ == "__main__":
    for name in KINDS if len(sys.argv) < 4 else sys.argv[3:]:
        compare(on(sys.argv[1]), name, int(sys.argv[2]), seed=1)
        print(f"{name}: {sys.argv[2]} copies equal")
