"""The memory of a launch: what is copied, what is shared, what comes back, and what has been written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from girih.arguments.arrays import Bound, BoundMemRef, ParameterSpec, bind, uninitialized
from girih.arguments.memory import ElementView
from girih.ir.types import C32, F32, I16, MemRef, Type

VECTOR = MemRef.packed(F32, (None,))
FREE = MemRef(F32, (None, None), (None, None))


def spec(type: Type, name: str = "A", **promises: Any) -> ParameterSpec:
    return ParameterSpec(name, type, **promises)


def data(bound: Bound, position: int = 0) -> np.ndarray[Any, Any]:
    value = bound.values[position]
    assert isinstance(value, BoundMemRef)
    assert value.elements is not None
    return value.elements.data


def fortran(*shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return np.zeros(shape, dtype, order="F")


def unaligned(size: int, dtype: Any, past: int, boundary: int) -> np.ndarray[Any, Any]:
    """An array that starts `past` bytes after a multiple of `boundary`."""
    item = np.dtype(dtype).itemsize
    room = np.zeros(size * item + 2 * boundary, np.uint8)
    skip = (past - room.ctypes.data) % boundary
    return room[skip : skip + size * item].view(dtype)


def test_what_is_not_written_is_not_copied() -> None:
    values = fortran(100, 100)
    view = data(bind([spec(FREE)], [values[::2]]))
    assert np.shares_memory(view, values)
    assert not view.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1


def test_the_caller_sees_nothing_before_commit_and_only_written_arrays_after() -> None:
    a, b = np.zeros(4, np.float32), np.zeros(4, np.float32)
    bound = bind([spec(VECTOR, "A", written=True), spec(VECTOR, "B")], [a, b])
    data(bound)[:] = 1
    assert a.tolist() == [0] * 4
    bound.commit()
    assert a.tolist() == [1] * 4
    assert b.tolist() == [0] * 4


def test_gaps_are_neither_read_nor_written() -> None:
    wide = np.arange(40, dtype=np.float32).reshape(8, 5, order="F")
    before = wide.copy()
    bound = bind([spec(FREE, written=True)], [wide[2:5, 1:4]])
    flat = data(bound)
    assert flat.size == 1 + 2 + 2 * 8
    assert flat[3] == 0
    flat[:] = -1
    wide[6, 2] = 99
    bound.commit()
    assert (wide[2:5, 1:4] == -1).all()
    before[2:5, 1:4] = -1
    before[6, 2] = 99
    assert (wide == before).all()


def test_the_same_array_twice_is_one_memory() -> None:
    values = np.zeros(4, np.float32)
    bound = bind([spec(VECTOR, "A", written=True), spec(VECTOR, "B")], [values, values])
    data(bound, 0)[2] = 5
    assert data(bound, 1)[2] == 5
    bound.commit()
    assert values.tolist() == [0, 0, 5, 0]


def test_overlapping_arrays_share_element_by_element() -> None:
    values = np.arange(6, dtype=np.float32)
    bound = bind([spec(VECTOR, "A"), spec(VECTOR, "B", written=True)], [values[:4], values[2:]])
    data(bound, 1)[0] = 50
    assert data(bound, 0).tolist() == [0, 1, 50, 3]
    bound.commit()
    assert values.tolist() == [0, 1, 50, 3, 4, 5]


def test_overlap_through_a_third_array() -> None:
    values = np.zeros(10, np.float32)
    parts = [values[0:4], values[6:10], values[3:7]]
    bound = bind([spec(VECTOR, name, written=True) for name in "ABC"], parts)
    data(bound, 2)[:] = [1, 2, 3, 4]
    assert data(bound, 0).tolist() == [0, 0, 0, 1]
    assert data(bound, 1).tolist() == [4, 0, 0, 0]
    bound.commit()
    assert values.tolist() == [0, 0, 0, 1, 2, 3, 4, 0, 0, 0]


def test_different_element_types_share_bytes() -> None:
    values = np.zeros(2, np.complex64)
    types = [MemRef.packed(C32, (2,)), MemRef.packed(F32, (3,))]
    bound = bind([spec(types[0], "Z"), spec(types[1], "X", written=True)], [values, values.view(np.float32)[1:]])
    data(bound, 1)[:] = [1, 2, 3]
    assert data(bound, 0).tolist() == [1j, 2 + 3j]
    bound.commit()
    assert values.tolist() == [1j, 2 + 3j]


def test_interleaved_arrays_do_not_disturb_each_other() -> None:
    values = np.zeros(6, np.float32)
    step = MemRef(F32, (None,), (None,))
    bound = bind([spec(step, "A", written=True), spec(step, "B")], [values[::2], values[1::2]])
    data(bound, 0)[::2] = 1
    assert data(bound, 1)[::2].tolist() == [0, 0, 0]
    bound.commit()
    assert values.tolist() == [1, 0, 1, 0, 1, 0]


def test_private_memory_keeps_the_alignment() -> None:
    for past in (0, 4, 64, 68):
        bound = bind([spec(VECTOR, written=True)], [unaligned(4, np.float32, past, 128)])
        assert data(bound).ctypes.data % 128 == past


# Uninitialized arrays


def view(bound: Bound, position: int = 0) -> ElementView:
    value = bound.values[position]
    assert isinstance(value, BoundMemRef)
    assert value.elements is not None
    return value.elements


def written(elements: ElementView) -> list[bool]:
    """Whether each element was written."""
    missing = elements.unwritten(slice(None))
    return [True] * elements.data.size if missing is None else (~missing).tolist()


def test_uninitialized_arrays_are_followed() -> None:
    values = np.full(4, 9, np.float32)
    bound = bind([spec(VECTOR, written=True), spec(VECTOR, "B")], [uninitialized(values), np.zeros(2, np.float32)])
    assert written(view(bound)) == [False] * 4
    assert view(bound, 1).marks is None
    data(bound)[1] = 1
    bound.commit()
    assert values.tolist() == [9, 1, 9, 9]


def test_writes_through_another_argument_count() -> None:
    values = np.zeros(6, np.float32)
    bound = bind([spec(VECTOR, "A"), spec(VECTOR, "B", written=True)], [uninitialized(values[2:]), values])
    assert written(view(bound, 1)) == [True, True, False, False, False, False]
    view(bound, 1).mark(3)
    assert written(view(bound, 0)) == [False, True, False, False]


def test_uninitialized_arrays_with_gaps() -> None:
    values = np.zeros(6, np.float32)
    bound = bind([spec(MemRef(F32, (3,), (2,)))], [uninitialized(values[::2])])
    assert written(view(bound)) == [False, True] * 2 + [False]


def test_arrays_of_other_types_and_at_odd_distances_share_marks() -> None:
    room = unaligned(24, np.int8, 0, 64)
    floats, shifted, pairs = room[:16].view(np.float32), room[2:22].view(np.int16), room[8:24].view(np.complex64)
    types = MemRef.packed(F32, (None,)), MemRef.packed(I16, (None,)), MemRef.packed(C32, (None,))
    bound = bind(
        [spec(types[0], "A", written=True), spec(types[1], "B"), spec(types[2], "C")],
        [uninitialized(floats), shifted, pairs],
    )
    a, b, c = (view(bound, position) for position in range(3))
    assert (written(a), written(b)) == ([False] * 4, [False] * 7 + [True] * 3)
    assert written(c) == [False, True]
    a.mark(np.array([1, 2]))
    assert written(b) == [False] + [True] * 4 + [False] * 2 + [True] * 3
    assert written(c) == [False, True]
    a.mark(3)
    assert written(c) == [True, True]
