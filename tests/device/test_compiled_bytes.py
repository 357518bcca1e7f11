"""Bytes of memory in compiled code: every way to lie in memory gives what the interpreter gives, and finds the same."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from girih.api import Kernel, compile_module
from girih.diagnostics import KernelError
from girih.ir.core import Value
from girih.ir.types import BF16, BOOL, F8E4M3, F16, F32, F64, I8, I16, I32, I64, INDEX, Number, Type
from tests.cases import every_case
from tests.device.building import BYTES, LANES, Body, Code, built, findings, kernel

MEMORY = 1024
"""The bytes of each buffer."""

Place = Callable[[Body, int, Value], Value]
"""The offset of each work-item, of accesses to so many bytes; the value is a buffer with numbers to index by."""


def _same(body: Body, width: int, _: Value) -> Value:
    return body.constant(3 * width)


def _neighbours(body: Body, width: int, _: Value) -> Value:
    return body.plus(body.times(body.lane(), width), 16)


def _unaligned(body: Body, width: int, _: Value) -> Value:
    return body.plus(body.times(body.lane(), width), 3)


def _spaced(body: Body, width: int, _: Value) -> Value:
    return body.times(body.lane(), 2 * width)


def _backwards(body: Body, width: int, _: Value) -> Value:
    return body.plus(body.times(body.lane(), -width), 7 * width)


def _anywhere(body: Body, width: int, indices: Value) -> Value:
    (number,) = body.load(indices, body.times(body.lane(), 4), I32)
    return body.times(body.one("cast", INDEX, a=number), width)


PLACES: dict[str, Place] = {
    "same": _same, "neighbours": _neighbours, "unaligned": _unaligned, "spaced": _spaced, "backwards": _backwards,
    "anywhere": _anywhere,
}  # fmt: skip
TYPES: tuple[Type, ...] = (I8, I16, I32, I64, F8E4M3, BF16, F16, F32, F64, BOOL)
PARAMETERS = {"a": BYTES, "r": BYTES, "indices": BYTES}


def copy(type: Type, count: int, source: Place, target: Place) -> Code:
    """Code in which each work-item copies `count` numbers from one place to another."""
    width = count * (type.size if isinstance(type, Number) else 1)

    def code(body: Body, a: Value, r: Value, indices: Value) -> None:
        body.store(r, target(body, width, indices), *body.load(a, source(body, width, indices), *[type] * count))

    return code


def numbers(type: Type) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    """The bytes of some numbers of a type."""
    random = np.random.default_rng(3)
    if type == F16:
        # Bytes at random would be signaling NaNs, which hardware makes quiet.
        return random.standard_normal(MEMORY // 2).astype(np.float16).view(np.int8)
    return random.integers(-128, 127, MEMORY).astype(np.int8)


def copied(target: str, type: Type, count: int, source: Place, to: Place) -> bytes:
    """What lies in the buffer of results after numbers were copied."""
    a, r = numbers(type), np.zeros(MEMORY, np.int8)
    indices = np.array([5, 2, 7, 0, 3, 6, 1, 4], np.int32).view(np.int8)
    launched = kernel(copy(type, count, source, to), PARAMETERS, target=target)
    if target == "interpreter":
        # The work-items race where all store to one place: the last one wins on both.
        launched = launched.options(races=False)
    launched(a, r, indices)
    return r.tobytes()


def alike(combinations: list[tuple[Type, int, str, str]]) -> None:
    """Compiled code moves what the interpreter moves."""
    with every_case() as case:
        for type, count, source, to in combinations:
            with case(f"{count} {type}, {source} to {to}"):
                given = (type, count, PLACES[source], PLACES[to])
                assert copied("cpu", *given) == copied("interpreter", *given)


def test_all_types_and_places() -> None:
    places = [("same", "anywhere"), ("neighbours", "spaced"), ("spaced", "neighbours"), ("anywhere", "same")]
    kinds = [(I8, 1), (I32, 4), (F16, 2), (BF16, 3), (F64, 1), (BOOL, 2)]
    alike([(*kind, *places[number % 4]) for number, kind in enumerate(kinds)])


@pytest.mark.long
def test_all_types_at_all_places() -> None:
    places = [(source, to) for source, to in product(PLACES, PLACES) if source == to or "neighbours" in (source, to)]
    combinations = product(TYPES, (1, 3, 4), places)
    # At any byte, numbers of f16 may be signaling NaNs.
    alike([(type, count, *ways) for type, count, ways in combinations if type != F16 or "unaligned" not in ways])


# --- indices with fewer bits -----------------------------------------------------------------


def narrow(type: Number) -> Code:
    """Code that copies numbers at lane + `start`, computed in a type that wraps around, then moved up by 2^(bits-1)."""
    half = 1 << 8 * type.size - 1

    def code(body: Body, a: Value, r: Value, start: Value) -> None:
        lane = body.one("cast", type, a=body.one("subgroup_local_id", I32))
        place = body.one("cast", INDEX, a=body.one("add", type, a=lane, b=start))
        (number,) = body.load(a, body.times(body.plus(place, half), 4), I32)
        body.store(r, body.times(body.lane(), 4), number)

    return code


def test_a_narrow_index_that_wraps_around_among_the_lanes() -> None:
    a = np.arange(1 << 16, dtype=np.int32)
    with every_case() as case:
        for type, start in [(I8, 0), (I8, 121), (I8, 127), (I8, -3), (I16, 7), (I16, 2**15 - 2), (I16, -(2**15))]:
            with case(f"{type} from {start}"):
                half = 1 << 8 * type.size - 1
                expected = [(start + lane + half) % (2 * half) for lane in range(LANES)]
                for target in ("interpreter", "cpu"):
                    r = np.zeros(LANES, np.int32)
                    program = kernel(narrow(type), {"a": BYTES, "r": BYTES, "start": type}, target=target)
                    program(a.view(np.int8), r.view(np.int8), start)
                    assert r.tolist() == expected
    text = kernel(narrow(I16), {"a": BYTES, "r": BYTES, "start": I16}, target="cpu").llvm_ir
    assert "load <8 x i32>" in text
    assert "masked.gather" in text


def test_lanes_behind_a_multiple_of_their_number_never_wrap_around() -> None:
    def code(body: Body, a: Value, r: Value, start: Value) -> None:
        number = body.one("mul", I32, a=start, b=body.constant(LANES, I32))
        place = body.one("add", I32, a=number, b=body.one("subgroup_local_id", I32))
        offset = body.times(body.one("zero_extend", INDEX, a=place), 4)
        body.store(r, offset, *body.load(a, offset, I32))

    launched = kernel(code, {"a": BYTES, "r": BYTES, "start": I32}, target="cpu")
    a, r = np.arange(4 * LANES, dtype=np.int32), np.zeros(4 * LANES, np.int32)
    launched(a.view(np.int8), r.view(np.int8), 3)
    assert r.tolist() == [0] * 3 * LANES + a[3 * LANES :].tolist()
    assert "masked.gather" not in launched.llvm_ir
    (found,) = findings(launched, a.view(np.int8), r.view(np.int8), -1)
    assert found.index == (4 * (2**32 - LANES),)


def counted(widening: str, factor: int, more: int) -> Code:
    """Code that loads a number at index * factor + lane + more, with an index of 32 bits from memory."""

    def code(body: Body, a: Value, r: Value, indices: Value) -> None:
        (number,) = body.load(indices, body.times(body.lane(), 4), I32)
        place = body.times(body.one(widening, INDEX, a=number), factor)
        place = body.one("add", INDEX, a=body.plus(place, more), b=body.lane())
        body.store(r, body.times(body.lane(), 2), *body.load(a, place, I16))

    return code


def test_narrow_indices_find_what_their_offsets_do() -> None:
    """Whether an offset is inside is asked of its index; sizes end in the middle of what indices reach."""
    indices = [[5, 2, 7, 0, 3, 6, 1, 4], [0, 1, 2, 3, 4, 5, 6, -1], [0, 2**31 - 1, 0, 0, 0, 0, 0, 0], [-(2**31)] * 8]
    with every_case() as case:
        for widening, factor, more in [("cast", 4, 0), ("cast", 18, 40), ("zero_extend", 3, 1)]:
            code = counted(widening, factor, more)
            programs = [kernel(code, PARAMETERS, target=target) for target in ("interpreter", "cpu")]
            reach = 7 * factor + more + 4 + 2
            for size, numbers_ in [*((reach + n, indices[0]) for n in range(-3, 5)), (0, indices[0]), (1, indices[0]),
                                   *((reach + 20, one) for one in indices[1:])]:  # fmt: skip
                with case(f"{widening} * {factor} + {more} of {size}: {numbers_}"):
                    told = [_told(program, size, numbers_) for program in programs]
                    assert told[0] == told[1]


def _told(program: Kernel, size: int, indices: list[int]) -> object:
    """What a launch of `counted` code finds, or computes."""
    a, r = np.arange(size).astype(np.int8), np.zeros(2 * LANES, np.int8)
    try:
        program(a, r, np.array(indices, np.int32).view(np.int8))
    except KernelError as error:
        found = error.findings[0]
        return found.code, found.message, found.argument, found.index, found.shape, found.lane
    return r.tolist()


# --- findings --------------------------------------------------------------------------------


def lane_at(offset: int, count: int, other: str) -> Code:
    """Code in which work-item 3 loads numbers at an offset, and the others where they lie in some way."""

    def code(body: Body, a: Value, r: Value, indices: Value) -> None:
        three = body.one("equal", BOOL, a=body.lane(), b=body.constant(3))
        there = PLACES[other](body, 4 * count, indices)
        place = body.one("select", INDEX, condition=three, a=body.constant(offset), b=there)
        body.store(r, body.times(body.lane(), 4), body.load(a, place, *[I32] * count)[-1])

    return code


def test_an_access_outside() -> None:
    indices = np.arange(LANES, dtype=np.int32)
    with every_case() as case:
        for offset, count, size in [
            (-1, 1, 64), (61, 1, 64), (64, 1, 64), (52, 4, 64), (2**63 - 1, 2, 64), (1 - 2**63, 1, 64), (0, 4, 15),
        ]:  # fmt: skip
            with case(f"{count} numbers at {offset} of {size}"):
                buffers = [np.zeros(size, np.int8), np.zeros(64, np.int8), indices.view(np.int8)]
                code = lane_at(offset, count, "same")
                told = [findings(kernel(code, PARAMETERS, target=t), *buffers)[0] for t in ("interpreter", "cpu")]
                assert told[0].message == told[1].message
                places = [(found.code, found.argument, found.index, found.shape, found.lane) for found in told]
                assert places[0] == places[1]


@pytest.mark.parametrize("way", ["same", "neighbours", "backwards", "spaced", "anywhere"])
def test_the_first_lane_outside_is_told(way: str) -> None:
    indices = np.arange(LANES, dtype=np.int32).view(np.int8)
    code = copy(I64, 2, PLACES[way], _neighbours)
    for size in (16, 47):
        told = [
            findings(kernel(code, PARAMETERS, target=target), np.zeros(size, np.int8), np.zeros(1024, np.int8), indices)
            for target in ("interpreter", "cpu")
        ]
        assert (told[0][0].message, told[0][0].lane) == (told[1][0].message, told[1][0].lane)


def test_arrays_inside_memory() -> None:
    def code(body: Body, a: Value, r: Value, index: Value) -> None:
        place = body.one("array_index", INDEX, index=index, size=6, text="v")
        robust = body.one("array_index", INDEX, index=index, size=4, text="w", robust=True)
        body.store(r, body.times(place, 0), *body.load(a, body.times(robust, 4), I32))

    launched = kernel(code, {"a": BYTES, "r": BYTES, "index": I32}, target="cpu")
    a, r = np.arange(8, dtype=np.int32), np.zeros(1, np.int32)
    launched(a.view(np.int8), r.view(np.int8), 5)
    assert r[0] == 5
    for index in (6, -1):
        (found,) = findings(launched, a.view(np.int8), r.view(np.int8), index)
        assert found.message == f"an index outside its array: index {index} of array `v`, which has 6 elements"


def test_nothing_is_looked_for_without_checks() -> None:
    module = built(copy(I32, 4, _neighbours, _anywhere), PARAMETERS)
    text = compile_module(module, "cpu", checks="off")["main"].llvm_ir
    assert "girih.found" not in text


def test_a_volatile_access_stays() -> None:
    def code(body: Body, a: Value, r: Value) -> None:
        place = body.times(body.lane(), 4)
        (number,) = body.add("byte_load", I32, memory=a, offset=place, alignment=4, volatile=True)
        body.add("byte_store", values=(number,), memory=r, offset=place, alignment=4, volatile=True)

    a, r = np.arange(LANES, dtype=np.int32), np.zeros(LANES, np.int32)
    launched = kernel(code, {"a": BYTES, "r": BYTES}, target="cpu")
    launched(a.view(np.int8), r.view(np.int8))
    assert r.tolist() == a.tolist()
    assert launched.llvm_ir.count('fence syncscope("singlethread")') == 4


# --- the last byte -----------------------------------------------------------------------------


@contextmanager
def before_the_end(size: int) -> Iterator[NDArray[np.int8]]:
    """Bytes right before a page that nobody may read or write."""
    page = mmap.PAGESIZE
    total = -(-size // page) * page
    memory = mmap.mmap(-1, total + page)
    beginning = np.frombuffer(memory, np.int8)
    guard = ctypes.c_void_p(beginning.ctypes.data + total)
    protect = ctypes.CDLL(None).mprotect
    assert protect(guard, ctypes.c_size_t(page), 0) == 0
    try:
        yield beginning[total - size : total]
    finally:
        assert protect(guard, ctypes.c_size_t(page), 3) == 0


def test_nothing_behind_the_memory_is_touched() -> None:
    """An access that reached further would end the process."""
    with every_case() as case:
        for type, count, way in [(I8, 3, "neighbours"), (I32, 1, "spaced"), (I16, 2, "anywhere"), (F64, 1, "same")]:
            with case(f"{count} {type}, {way}"):
                width = count * type.size
                size = {"neighbours": 16 + 8 * width, "spaced": 15 * width, "anywhere": 8 * width, "same": 4 * width}[
                    way
                ]
                launched = kernel(copy(type, count, PLACES[way], PLACES[way]), PARAMETERS, target="cpu")
                indices = np.array([5, 2, 7, 0, 3, 6, 1, 4], np.int32).view(np.int8)
                with before_the_end(size) as a, before_the_end(size) as r:
                    a[:] = 5
                    launched(a, r, indices)
                    assert r[-width:].tolist() == [5] * width
