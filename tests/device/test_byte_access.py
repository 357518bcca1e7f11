"""Loads and stores of numbers at byte offsets: what they move, and every way in which they are wrong."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from girih.ir.core import Value
from girih.ir.types import BF16, BOOL, F8E4M3, F16, F32, F64, I8, I16, I32, I64, INDEX, Boolean, Number
from tests.cases import every_case
from tests.device.building import BYTES, LANES, Body, Code, findings, kernel

TYPES: dict[Number | Boolean, Any] = {
    I8: np.int8, I16: np.int16, I32: np.int32, I64: np.int64, F16: np.float16, F32: np.float32, F64: np.float64,
    BF16: ml_dtypes.bfloat16, F8E4M3: ml_dtypes.float8_e4m3fn,
}  # fmt: skip
BUFFERS = {"a": BYTES, "r": BYTES}


def copy(type: Number | Boolean, count: int, shift: int = 0, alignment: int | None = None) -> Code:
    """Code in which each work-item copies `count` numbers, which begin at a multiple of their size plus `shift`."""
    size = type.size if isinstance(type, Number) else 1

    def code(body: Body, a: Value, r: Value) -> None:
        place = body.plus(body.times(body.lane(), size * count), shift)
        numbers = body.load(a, place, *[type] * count, alignment=alignment or (1 if shift else size))
        body.store(r, place, *numbers, alignment=alignment or (1 if shift else size))

    return code


def test_numbers_of_all_widths_side_by_side_and_at_any_byte() -> None:
    random = np.random.default_rng(1)
    with every_case() as case:
        for type, dtype in TYPES.items():
            for count, shift in [(1, 0), (2, 0), (3, 0), (4, 0), (1, 1), (3, 3)]:
                with case(f"{count} {type} at {shift}"):
                    size = np.dtype(dtype).itemsize
                    a = random.integers(-128, 127, LANES * size * count + shift, np.int8)
                    r = np.zeros_like(a)
                    kernel(copy(type, count, shift), BUFFERS)(a, r)
                    np.testing.assert_array_equal(r[shift:], a[shift:])
                    assert not r[:shift].any()


def test_a_bool_is_a_byte_that_is_not_0() -> None:
    a = np.array([0, 1, 2, 255, 128, 0, 3, 1], np.uint8).view(np.int8)
    r = np.full(8, 7, np.int8)
    kernel(copy(BOOL, 1), BUFFERS)(a, r)
    assert r.tolist() == [0, 1, 1, 1, 1, 0, 1, 1]


# --- outside ---------------------------------------------------------------------------------


def far(offset: int, count: int = 1) -> Code:
    """Code in which work-item 3 loads and stores numbers from some byte on, the others at their place."""

    def code(body: Body, a: Value, r: Value) -> None:
        lane = body.lane()
        three = body.one("equal", BOOL, a=lane, b=body.constant(3))
        place = body.one("select", INDEX, condition=three, a=body.constant(offset), b=body.times(lane, 4 * count))
        body.store(r, place, *body.load(a, place, *[I32] * count))

    return code


@pytest.mark.parametrize("offset", [-1, -4, 29, 32, 2**31, 2**63 - 1, 1 - 2**63])
def test_an_access_outside(offset: int) -> None:
    a, r = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    load, store = findings(kernel(far(offset), BUFFERS), a.view(np.int8), r.view(np.int8))
    assert load.message == f"a load outside its memory: bytes {offset} to {offset + 3} of %a, which has 32"
    assert store.message == f"a store outside its memory: bytes {offset} to {offset + 3} of %r, which has 32"
    assert (load.code, load.argument, load.index, load.shape) == ("run.out_of_bounds", "a", (offset,), (32,))
    assert (load.lane, load.count, load.severity) == (3, 1, "error")
    assert load.span.text == "byte_load"
    assert not r.any()


def test_the_whole_access_must_be_inside() -> None:
    a, r = np.zeros(128, np.int8), np.zeros(128, np.int8)
    kernel(far(48, 4), BUFFERS)(a, r)
    found, _ = findings(kernel(far(116, 4), BUFFERS), a, r)
    assert found.message == "a load outside its memory: bytes 116 to 131 of %a, which has 128"
    with every_case() as case:
        for size in range(4):
            with case(f"a buffer of {size} bytes"):
                few = np.zeros(size, np.int8)
                assert findings(kernel(far(0), BUFFERS), few, few.copy())[0].count == LANES


# --- unwritten, misaligned -------------------------------------------------------------------


def local(width: int, written: int, shift: int = 0) -> Code:
    """Code in which each work-item writes bytes of its own of %s, 16 of them, and then reads numbers there."""

    def code(body: Body, r: Value, s: Value) -> None:
        mine = body.times(body.lane(), 16)
        for place in range(written):
            body.store(s, body.plus(mine, place), body.constant(place, I8))
        numbers = body.load(s, body.plus(mine, shift), *[I32] * width)
        body.store(r, mine, numbers[-1])

    return code


def test_bytes_that_were_never_written() -> None:
    r = np.zeros(128, np.int8)
    kernel(local(4, 16), {"r": BYTES}, {"s": 128})(r)
    assert r.view(np.int32)[::4].tolist() == [0x0F0E0D0C] * 8
    for width, written, shift, first in [(1, 3, 0, 0), (2, 7, 0, 4), (4, 6, 0, 4), (1, 4, 2, 2), (2, 8, 1, 5)]:
        (found,) = findings(kernel(local(width, written, shift), {"r": BYTES}, {"s": 128}), r)
        assert found.message == f"a load of %s before it is written: bytes {first} to {first + 3} of 128"
        assert (found.code, found.index, found.count) == ("run.uninitialized", (first,), LANES)


def test_local_memory_of_several_work_groups() -> None:
    def code(body: Body, r: Value, s: Value) -> None:
        group = body.one("group_id", INDEX, axis=0)
        place = body.times(body.lane(), 2)
        (mine,) = body.add("cast", I16, a=body.plus(body.times(group, 100), body.lane()))
        body.store(s, place, mine)
        body.store(r, body.plus(body.times(group, 16), place), *body.load(s, place, I16))

    r = np.zeros(3 * 8, np.int16)
    kernel(code, {"r": BYTES}, {"s": 18})[3](r.view(np.int8))
    assert r.reshape(3, 8).tolist() == [[100 * group + lane for lane in range(8)] for group in range(3)]


def test_an_access_that_is_less_aligned_than_it_promises() -> None:
    a, r = np.zeros(64, np.int8), np.zeros(64, np.int8)
    for shift, alignment in [(0, 4), (2, 2), (4, 4), (1, 1)]:
        kernel(copy(I32, 1, shift, alignment), BUFFERS)(a, r)
    load, store = findings(kernel(copy(I32, 1, 2, 4), BUFFERS), a, r)
    assert load.message == "a load of %a is less aligned than it promises, to 4 bytes: byte 2 of 64"
    assert (load.code, load.index, load.shape, load.count) == ("run.misaligned", (2,), (64,), LANES)
    assert store.message == "a store of %r is less aligned than it promises, to 4 bytes: byte 2 of 64"
    (found, _) = findings(kernel(copy(F32, 1, 0, 16), BUFFERS), a, r)
    assert (found.index, found.lane, found.count) == ((4,), 1, 6)
