"""Views of arrays around an axis: right for every layout, held against what NumPy makes of the same strides."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from girih.functions.layouts import AxisView, facing, lines, memory_order, packed_steps, split


@st.composite
def layouts(draw: st.DrawFn) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """An array with numbers that differ, in any order of axes, with gaps or steps here and there."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    gaps = [draw(st.sampled_from([0, 0, 1])) for _ in sizes]
    steps = [draw(st.sampled_from([1, 1, 1, 2])) for _ in sizes]
    whole = [size * step + gap for size, step, gap in zip(sizes, steps, gaps, strict=True)]
    array = np.arange(np.prod(whole), dtype=np.int32).reshape(whole)
    cut = array[tuple(slice(0, size * step, step) for size, step in zip(sizes, steps, strict=True))]
    return cut.transpose(draw(st.permutations(range(len(sizes)))))


def viewed(
    array: np.ndarray[tuple[int, ...], np.dtype[np.int32]], view: AxisView
) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    made = array.transpose(view.axes).reshape(view.shape)
    assert np.may_share_memory(made, array), "a view moves no element"
    assert made.base is not None
    return made


@given(layouts(), st.data())
def test_a_view_around_an_axis(array: np.ndarray[tuple[int, ...], np.dtype[np.int32]], data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, array.ndim - 1))
    steps = [step // 4 for step in array.strides]
    view = split(array.shape, steps, axis)
    if view is None:
        return
    made = viewed(array, view)
    place = len(view.shape) - 1 if len(view.shape) == 2 else 1
    assert view.shape[place] == array.shape[axis]
    # Each line along the axis of the array is one of the view.
    ours = made.swapaxes(place, -1).reshape(-1, array.shape[axis])
    theirs = np.moveaxis(array, axis, -1).reshape(-1, array.shape[axis])
    assert sorted(map(tuple, ours.tolist())) == sorted(map(tuple, theirs.tolist()))
    size = made.shape[-1]
    assert size <= 1 or made.strides[-1] == 4


@given(layouts())
def test_lines(array: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> None:
    view = lines(array.shape, [step // 4 for step in array.strides])
    if view is None:
        return
    made = viewed(array, view)
    assert made.shape[1] <= 1 or made.strides[1] == 4
    assert sorted(made.ravel().tolist()) == sorted(array.ravel().tolist())


@given(layouts())
def test_packed_arrays_have_views(array: np.ndarray[tuple[int, ...], np.dtype[np.int32]]) -> None:
    order = memory_order(array.shape, [step // 4 for step in array.strides])
    steps = packed_steps(array.shape, order)
    assert lines(array.shape, steps) is not None
    for axis in range(array.ndim):
        assert split(array.shape, steps, axis) is not None


def test_what_a_matrix_faces() -> None:
    assert facing((3, 4), (4, 1)) == "rows"
    assert facing((3, 4), (9, 1)) == "rows"
    assert facing((3, 4), (1, 3)) == "columns"
    assert facing((3, 4), (8, 2)) is None
    assert facing((3, 4), (-4, 1)) is None
    assert facing((3, 4), (0, 1)) is None
    assert facing((1, 4), (7, 1)) == "rows"
    assert facing((3, 1), (1, 9)) == "rows"
