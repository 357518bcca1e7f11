"""Strided memrefs: packed strides, subviews, loads and stores."""

from __future__ import annotations

import numpy as np
import pytest

from girih.addressing import AddressingError, Strided


def test_without_strides_mode_0_is_innermost() -> None:
    memref = Strided((3, 4, 5))
    assert memref.strides == (1, 3, 12)
    assert memref.access().element[2, 1, 3] == 2 + 3 + 36
    assert memref.last == 59


def test_an_access_has_the_shape_of_the_memref() -> None:
    access = Strided((2, 3), (10, 2), 5).access()
    assert access.element.tolist() == [[5, 7, 9], [15, 17, 19]]
    assert access.counts() == {"in_bounds": 6}
    assert Strided((), (), 7).access().element == 7


def test_a_subview_moves_the_offset_and_keeps_the_strides() -> None:
    memref = Strided((8, 8)).subview((2, 3), (4, 2))
    assert memref == Strided((3, 2), (1, 8), 34)


def test_loads_are_those_of_the_array() -> None:
    array = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    for view in (array, array.transpose(2, 0, 1), array[:, 1:, ::2]):
        offset = (view.__array_interface__["data"][0] - array.__array_interface__["data"][0]) // 2
        memref = Strided(Strided.of(view).shape, Strided.of(view).strides, offset)
        assert np.array_equal(memref.load(array), view)


def test_a_store_changes_only_its_elements() -> None:
    buffer = np.zeros(20, np.float32)
    Strided((2, 3), (10, 2), 5).store(buffer, np.ones((2, 3), np.float32))
    assert np.flatnonzero(buffer).tolist() == [5, 7, 9, 15, 17, 19]


def test_a_refused_store_writes_nothing() -> None:
    buffer = np.zeros(19, np.float32)
    with pytest.raises(AddressingError, match="at least 20"):
        Strided((2, 3), (10, 2), 5).store(buffer, np.ones((2, 3), np.float32))
    assert not buffer.any()


def test_an_array_of_one_row_may_have_any_stride() -> None:
    assert Strided.of(np.zeros((1, 4), np.float32)[::-1]) == Strided((1, 4), (1, 1))
