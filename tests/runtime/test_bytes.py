"""Memory as bytes: views of several types show the same bytes and the same marks."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from girih.arguments.memory import Memory
from girih.arguments.scalars import DTYPES
from girih.interpreter.machine.boxes import unwritten, write_boxes
from girih.ir.types import BF16, C64, F32, F64, I8, I16, I32, Number

NUMBERS = [type for type in DTYPES if isinstance(type, Number)]


def memory(size: int, *, tracked: bool = True) -> Memory:
    return Memory(np.zeros(size, np.uint8), np.zeros(size, np.bool_) if tracked else None, "m")


def missing(held: Memory, type: Number, places: Any = slice(None), first: int = 0) -> list[bool]:
    """Which elements have a byte that was never written."""
    view = held.view(DTYPES[type], first)
    found = view.unwritten(places)
    return [False] * view.data[places].size if found is None else found.ravel().tolist()


def test_a_view_is_made_once() -> None:
    held = memory(16)
    floats = held.view(np.dtype(np.float32))
    assert held.view(np.dtype(np.float32)) is floats
    assert held.view(np.dtype(np.float32), 4) is not floats
    assert held.view(np.dtype(np.int32)) is not floats
    assert floats.name == "m"


def test_a_memory_goes_with_the_last_view_of_it() -> None:
    held = memory(16)
    view, gone = held.view(np.dtype(np.float32)), weakref.ref(held.bytes)
    gc.disable()
    try:
        del held
        assert gone() is not None
        del view
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("type", NUMBERS, ids=str)
def test_an_element_was_written_where_all_its_bytes_were(type: Number) -> None:
    held = memory(3 * type.size)
    view = held.view(DTYPES[type])
    view.mark(1)
    assert missing(held, type) == [True, False, True]
    assert missing(held, I8) == [True] * type.size + [False] * type.size + [True] * type.size
    held.view(DTYPES[I8]).mark(slice(None, type.size - 1))
    assert missing(held, type, slice(0, 1)) == [True]
    held.view(DTYPES[I8]).mark(type.size - 1)
    assert missing(held, type) == [False, False, True]
    view.mark(np.array([[2]]))
    assert view.unwritten(slice(None)) is None


def test_types_share_bytes_and_marks() -> None:
    held = memory(8)
    held.view(DTYPES[F32]).data[1] = 1.5
    held.view(DTYPES[F32]).mark(1)
    assert held.view(DTYPES[I32]).data.tolist() == [0, 0x3FC00000]
    assert held.view(DTYPES[BF16]).data.astype(np.float32).tolist() == [0, 0, 0, 1.5]
    assert missing(held, I16) == [True, True, False, False]
    held.view(DTYPES[I8]).data[7] = 0x40
    assert held.view(DTYPES[F32]).data[1] == 6.0
    assert missing(held, F64) == [True]


def test_an_element_of_which_one_byte_was_written_is_not_written() -> None:
    held = memory(8)
    held.view(DTYPES[I8]).mark(5)
    assert missing(held, F32) == [True, True]
    assert missing(held, I8, [4, 5]) == [True, False]


@pytest.mark.parametrize("first", [1, 2, 3, 6])
def test_a_view_may_begin_at_any_byte(first: int) -> None:
    held = memory(15)
    view = held.view(DTYPES[F32], first)
    assert view.data.size == (15 - first) // 4
    view.data[:] = 2.5
    view.mark(slice(None))
    last = first + 4 * view.data.size
    assert held.bytes[first:last].view(np.float32).tolist() == [2.5] * view.data.size
    assert missing(held, I8) == [True] * first + [False] * (last - first) + [True] * (15 - last)
    assert missing(held, F32, first=first) == [False] * view.data.size


def test_views_begin_behind_the_end() -> None:
    held = memory(3)
    assert held.view(DTYPES[F32]).data.size == 0
    assert held.view(DTYPES[I8], 5).data.size == 0


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("type", [I8, BF16, F32, F64, C64], ids=str)
def test_boxes_of_elements(type: Number, first: int) -> None:
    held = memory(24 * type.size + first)
    view = held.view(DTYPES[type], first)
    ones = np.ones((1, 2, 3), DTYPES[type])
    write_boxes(view, np.array([5]), (2, 3), (1, 6), ones)
    assert np.flatnonzero(np.array(missing(held, type, first=first)) == 0).tolist() == [5, 6, 11, 12, 17, 18]
    assert unwritten(view, np.array([5]), (2, 3), (1, 6)) is None
    assert unwritten(view, np.array([5, 5]), (2, 3), (1, 6)) is None
    for offsets in (np.array([6]), np.array([5, 6])):
        found = unwritten(view, offsets, (2, 3), (1, 6))
        assert found is not None
        assert found[-1].tolist() == [[False] * 3, [True] * 3]


def test_marks_are_looked_at_until_all_bytes_were_written() -> None:
    held = memory(16)
    floats, small = held.view(DTYPES[F32]), held.view(DTYPES[I8])
    for _ in range(8):
        floats.mark(np.array([0, 1, 2]))
    assert (floats.followed is not None, floats.unwritten(slice(None)) is not None) == (True, True)
    write_boxes(small, np.array([12]), (4,), (1,), np.ones((1, 4), np.int8))
    for _ in range(4):
        floats.mark(np.array([0]))
    assert (floats.followed, small.followed) == (None, None)
    assert small.unwritten(slice(None)) is None


def test_what_is_not_followed_has_no_marks() -> None:
    view = memory(8, tracked=False).view(DTYPES[F32])
    view.mark(0)
    assert view.marks is None
    assert view.unwritten(slice(None)) is None
