"""What a run finds is said of the user's arrays: indices in the order of their axes, words of Python.

All ways lead through one place, `facts.elements.in_the_array`: calls, bound launches, and what a device finds later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest

import girih
import girih.language as gl


@girih.kernel(grid=lambda X: (1,), subgroup_size=8, work_group_size=(16, 1), target="interpreter")
def outside(X: gl.Matrix[gl.f32]) -> None:
    gl.axpby(0.0, X, 1.0, X)
    with gl.parallel():
        if gl.subgroup_linear_id() == 0 and gl.subgroup_local_id() == 0:
            X[3, 9] = 1.0
        gl.load(X[2:6, 3:7])


@girih.kernel(grid=lambda X: (1,), subgroup_size=8, work_group_size=(16, 1), target="interpreter")
def races(X: gl.Matrix[gl.f32]) -> None:
    with gl.parallel():
        if gl.subgroup_linear_id() == 0:
            X[1, 2] = X[1, 0]
        else:
            X[1, 0] = 2.0


@pytest.mark.parametrize("order", "CF")
def test_indices_are_those_of_the_user(order: str) -> None:
    X = np.zeros((4, 6), np.float32, order="F" if order == "F" else "C")
    with pytest.raises(girih.KernelError) as raised:
        outside(X)
    first, second = raised.value.findings
    assert (first.index, first.shape) == ((3, 9), (4, 6))
    assert first.message == "`store` outside `X`: index (3, 9) of shape (4, 6)"
    assert second.shape == (4, 6)
    assert second.message.startswith("`gl.load` outside `X`: index (")
    # The call is known by now, and goes another way.
    with pytest.raises(girih.KernelError) as again:
        outside(X)
    assert [f.message for f in again.value.findings] == [first.message, second.message]


@pytest.mark.parametrize("order", "CF")
def test_races_are_those_of_the_user(order: str) -> None:
    X = np.zeros((4, 6), np.float32, order="F" if order == "F" else "C")
    with pytest.raises(girih.KernelError) as raised:
        races(X)
    found = next(f for f in raised.value.findings if f.other is not None and f.other.kind != f.kind)
    assert found.other is not None
    assert found.index == found.other.index == (1, 0)
    assert found.hint == 'move one of the two behind the `if`; a `gl.barrier("global")` between them orders them'


@girih.kernel(subgroup_size=8, work_group_size=(8, 1), target="interpreter")
def local_array(X: gl.Matrix[gl.f32]) -> None:
    s = gl.local((4, 8), gl.f32)
    with gl.parallel():
        s[3, 9] = 1.0
        X[0, 0] = s[1, 2]


@girih.kernel(subgroup_size=8, work_group_size=(8, 1), target="interpreter")
def local_race(X: gl.Matrix[gl.f32]) -> None:
    s = gl.local((4, 8), gl.f32)
    with gl.parallel():
        s[1, 2] = X[0, 0]


@girih.kernel(subgroup_size=8, work_group_size=(8, 1), target="interpreter")
def permuted(T: gl.Array[gl.f32, Literal[3]]) -> None:
    with gl.parallel():
        T[1, 2, 9] = 0.0


@girih.kernel(target="interpreter")
def product(A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32], C: gl.Matrix[gl.f32]) -> None:
    gl.gemm(1.0, A, B, 0.0, C)


@girih.kernel(target="interpreter")
def slices(X: gl.Matrix[gl.f32], n: gl.index) -> None:
    gl.subview(X, (1, 2), (n, 3))


@girih.kernel(target="interpreter")
def split(X: gl.Matrix[gl.f32], n: gl.index) -> None:
    gl.expand(X, 1, (2, n))


@girih.kernel(target="interpreter")
def joined(X: gl.Matrix[gl.f32]) -> None:
    gl.fuse(X, 0, 1)


def zeros(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    return np.zeros(shape, np.float32)


FOUND: dict[str, tuple[girih.PythonKernel, tuple[object, ...], str, str]] = {
    "local array": (local_array, (zeros(4, 6),), "`store` outside `s`: index (3, 9) of shape (4, 8)", ""),
    "local race": (local_race, (zeros(4, 6),), "which writes the same value: index (1, 2) of shape (4, 8)",
                   "let each work-item write elements of its own"),
    "axes in any order": (permuted, (zeros(2, 4, 3).transpose(2, 0, 1),),
                          "`store` outside `T`: index (1, 2, 9) of shape (3, 2, 4)", ""),
    "shapes": (product, (zeros(4, 5), zeros(6, 7), zeros(4, 7)),
               "`gl.gemm`: the shapes do not go together",
               "computes C = alpha * A @ B + beta * C"),
    "subview": (slices, (zeros(4, 7), 9), "the slice for axis 0 is not inside `X`: offset, size (1, 9) in an axis", ""),
    "expand": (split, (zeros(4, 7), 9), "the sizes do not make axis 1 of `X`: 9 x 2 = 18, where the axis has 7", ""),
    "fuse": (joined, (zeros(4, 8)[:, :7],), "axes 0 and 1 of `X` do not lie without a gap", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", FOUND)
def test_what_is_found_is_said_in_words_of_python(name: str) -> None:
    kernel, arguments, message, hint = FOUND[name]
    ways: list[Callable[[], object]] = [lambda: kernel(*arguments), kernel.bind(*arguments).run]
    if "race" not in name:
        # Compiled code writes records, which become findings later, on devices in other launches.
        ways.append(lambda: kernel.on("cpu")(*arguments))
    for way in ways:
        with pytest.raises(girih.KernelError) as raised:
            way()
        found = raised.value.findings[0]
        assert message in found.message
        assert hint in (found.hint or "")
        assert "%" not in found.render()


def test_shapes_of_operands_are_listed_in_the_order_of_the_call() -> None:
    with pytest.raises(girih.KernelError) as raised:
        product(zeros(4, 5), zeros(5, 7), zeros(8, 4).T)
    assert raised.value.findings[0].message.endswith("; `A` is (4, 5), `B` is (5, 7), `C` is (4, 8)")
    with pytest.raises(girih.KernelError, match=r"do not go together: \(4, 7\) and \(4, 8\)"):
        product.on("cpu")(zeros(4, 5), zeros(5, 7), zeros(4, 8))


def test_remarks_are_those_of_the_user() -> None:
    @girih.kernel(target="interpreter")
    def half(X: gl.Matrix[gl.f32]) -> None:
        for i, j in gl.foreach(2, X.shape[1]):
            X[i, j] = 1.0

    X = zeros(4, 3)
    half(X)
    (remark,) = (r for r in half.variant(X).remarks if r.code == "run.untouched")
    assert remark.message == "no work-group wrote 6 of 12 elements of `X`, the first at index (2, 0) of shape (4, 3)"


def in_views(target: str) -> girih.PythonKernel:
    """A kernel that goes through views: a part of a column, and a tile of a tile."""

    @girih.kernel(target=target, subgroup_size=8, work_group_size=(8, 1))
    def kernel(X: gl.Matrix[gl.f32], i: gl.index, j: gl.index) -> None:
        X[4:8, 3][i] = 1.0
        with gl.parallel():
            tile = X[8:24, 0:16]
            tile[j : j + 8, 0:8] = gl.full((8, 8), 2.0, gl.f32)

    return kernel


OUTSIDE_OF_VIEWS = [
    ((4, 0), (4,), (4,)), ((-1, 0), (-1,), (4,)), ((0, 9), (16, 0), (16, 16)), ((0, -1), (-1, 0), (16, 16)),
]  # fmt: skip
"""Numbers for the kernel, and what is found: an index and the shape of the view, all of it inside of the array."""


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
@pytest.mark.parametrize("order", "CF")
def test_an_index_of_a_view_counts_within_it(order: Literal["C", "F"], target: str) -> None:
    X = np.zeros((32, 24), np.float32, order=order)
    kernel = in_views(target)
    kernel(X, 3, 8)
    expected = np.zeros_like(X)
    expected[7, 3] = 1
    expected[16:24, 0:8] = 2
    assert np.array_equal(X, expected)
    for numbers, index, shape in OUTSIDE_OF_VIEWS:
        with pytest.raises(girih.KernelError) as raised:
            kernel(X, *numbers)
        (found,) = raised.value.findings
        assert (found.code, found.index, found.shape) == ("run.out_of_bounds", index, shape)


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_a_known_index_behind_a_view_is_found(target: str) -> None:
    @girih.kernel(target=target)
    def kernel(X: gl.Vector[gl.f32]) -> None:
        X[2:6][4] = 1.0

    with pytest.raises(girih.KernelError, match=r"index \(4\) of shape \(4\)"):
        kernel(np.zeros(8, np.float32))


def test_tiles_of_a_part_of_checked_memory_reach_over_its_edge() -> None:
    X, Y = np.ones((20, 8), np.float32), np.zeros((32, 8), np.float32)

    @girih.kernel(subgroup_size=8, work_group_size=(8, 1))
    def kernel(X: gl.Matrix[gl.f32], Y: gl.Matrix[gl.f32], i: gl.index) -> None:
        with gl.parallel():
            rows = gl.checked(X)[8:40, :]
            Y[0:16, 0:8] = gl.load(rows[i : i + 16, 0:8])

    kernel(X, Y, 4)
    assert Y.sum() == 8 * 8


def test_indices_that_cannot_leave_a_view_need_none() -> None:
    @girih.kernel
    def kernel(X: gl.Matrix[gl.f32], i: gl.index) -> None:
        row, rest, part = X[i, :], X[2:, 1], X[4:8, :]
        row[i] = rest[3] + part[3, i]

    kernel(np.zeros((8, 8), np.float32), 1)
    (variant,) = kernel.variants.values()
    assert "subview" not in variant.text
