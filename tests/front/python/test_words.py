"""Words give what NumPy gives, in whatever order arrays lie in memory."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import girih.language as gl
from girih.diagnostics import CompileError
from girih.front.python.facts import KernelOptions
from tests.cases import every_case
from tests.front.python.facts import run, translated

Floats = NDArray[np.float32]
SUBGROUP = KernelOptions(subgroup_size=8, work_group_size=(8, 1))


def drawn(*shape: int, order: str = "C", seed: int = 0) -> Floats:
    """Small whole numbers, whose products and sums are exact."""
    numbers = np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)
    return np.asarray(numbers, order="F" if order == "F" else "C")


def in_orders(count: int) -> list[tuple[str, ...]]:
    """All choices of an order for each of some arrays."""
    return list(product("CF", repeat=count))


def arrays(orders: tuple[str, ...], *shapes: tuple[int, ...]) -> list[Floats]:
    """An array of each shape, in its order."""
    return [drawn(*shape, order=order, seed=k) for k, (shape, order) in enumerate(zip(shapes, orders, strict=True))]


# --- collective words -------------------------------------------------------------------------


def products(A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32], C: gl.Matrix[gl.f32]) -> None:
    gl.gemm(2.0, A, B, 1.0, C)


def products_of_transposes(A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32], C: gl.Matrix[gl.f32]) -> None:
    gl.gemm(2.0, A.T, gl.transpose(B), 1.0, C.T)


def test_products_of_matrices() -> None:
    with every_case() as case:
        for orders in in_orders(3):
            A, B, C = (
                drawn(*s, order=o, seed=k)
                for k, (s, o) in enumerate(zip(((3, 4), (4, 5), (3, 5)), orders, strict=True))
            )
            with case("".join(orders)):
                wanted = C + 2 * A @ B
                run(products, A, B, C)
                np.testing.assert_array_equal(C, wanted)
                D = np.zeros_like(C.T, order="F" if orders[0] == "F" else "C")
                run(products_of_transposes, A.T, B.T, D)
                np.testing.assert_array_equal(D, 2 * (A @ B).T)


def others(
    A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32], C: gl.Matrix[gl.f32], x: gl.Vector[gl.f32], y: gl.Vector[gl.f32]
) -> None:
    gl.gemv(1.0, A, x, 0.0, y)
    gl.ger(1.0, y, x, 2.0, B)
    gl.axpby(1.0, A, 1.0, B)
    gl.sum(1.0, B, 0.0, y)
    gl.gemv(1.0, B.T, y, 1.0, x)
    gl.axpby(2.0, B, 0.0, C)


def test_the_other_collective_words() -> None:
    with every_case() as case:
        for orders in in_orders(3):
            A, B, C = (drawn(3, 4, order=o, seed=k) for k, o in enumerate(orders))
            x, y = drawn(4, seed=3), drawn(3, seed=4)
            with case("".join(orders)):
                y_ = A @ x
                B_ = A + 2 * B + np.outer(y_, x)
                y_ = B_.sum(1)
                x_ = x + B_.T @ y_
                run(others, A, B, C, x, y)
                for found, wanted in ((x, x_), (y, y_), (B, B_), (C, 2 * B_)):
                    np.testing.assert_array_equal(found, wanted)


def along_an_axis(A: gl.Array[gl.f32, Literal[3]], B: gl.Array[gl.f32, Literal[3]], axis: gl.constant) -> None:
    gl.cumsum(1.0, A, axis, 0.0, B)


def entries(A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32], C: gl.Matrix[gl.f32]) -> None:
    gl.hadamard(1.0, A, B, 1.0, C)


@pytest.mark.parametrize("order", "CF")
def test_words_that_go_through_arrays_together(order: str) -> None:
    for axis in range(3):
        A, B = drawn(2, 3, 4, order=order), drawn(2, 3, 4, order=order)
        run(along_an_axis, A, B, axis)
        np.testing.assert_array_equal(B, A.cumsum(axis))
    A, B, C = (drawn(3, 4, order=order, seed=k) for k in range(3))
    wanted = C + A * B
    run(entries, A, B, C)
    np.testing.assert_array_equal(C, wanted)


def test_arrays_in_different_orders_are_refused_where_that_matters() -> None:
    A, B = drawn(3, 4, order="F"), drawn(3, 4)
    refused(entries, "python.order", "`a` and `b` lie in memory in different orders", A, B, A)
    C, D = drawn(2, 3, 4, order="F"), drawn(2, 3, 4)
    refused(along_an_axis, "python.order", "`a` and `b` lie in memory in different orders", C, D, 1)
    refused(along_an_axis, "python.arguments", "`a` has 3 axes, counted from 0; `axis` is 3", C, C, 3)


def sizes_that_differ(A: gl.Matrix[gl.f32], x: gl.Vector[gl.f32]) -> None:
    gl.gemv(1.0, A, x[0:3], 0.0, x)


def ranks_that_differ(A: gl.Matrix[gl.f32], x: gl.Vector[gl.f32]) -> None:
    b: Any = x
    gl.gemm(1.0, A, b, 0.0, A)


def shapes_that_differ(A: gl.Matrix[gl.f32], x: gl.Vector[gl.f32]) -> None:
    gl.hadamard(1.0, A[0:2, 0:3], A[0:3, 0:2], 0.0, A[0:2, 0:3])


def copies(A: gl.Matrix[gl.f32], x: gl.Vector[gl.f32]) -> None:
    local = gl.local((3, 4), gl.f32)
    local[:, :] = A


def test_arrays_are_copied_by_a_word() -> None:
    refused(copies, "python.assignment", "the work-group copies an array with a word", drawn(3, 4), drawn(4))


def test_arrays_that_do_not_fit_are_named_as_the_user_does() -> None:
    """Also where the array lies transposed, and the instruction has its operands in another order."""
    A, x = drawn(3, 4), drawn(4)
    says = "the number of columns of `a` is known at run time only, `b` has 3 elements, and they are to be as many"
    refused(sizes_that_differ, "python.types", says, A, x)
    refused(ranks_that_differ, "python.types", "`b` of `gl.gemm` is a matrix, found a vector of f32", A, x)
    says = "`a` has 2 rows, `b` has 3 rows, and they are to be as many"
    refused(shapes_that_differ, "python.types", says, A, x)


def refused(function: Callable[..., object], code: str, says: str, *arguments: object) -> None:
    """A kernel is refused for one reason."""
    with pytest.raises(CompileError) as raised:
        translated(function, *arguments)
    (found,) = raised.value.diagnostics
    assert (found.code, found.message) == (code, says)
    assert found.span.file == __file__


# --- views ------------------------------------------------------------------------------------


def views(A: gl.Array[gl.f32, Literal[3]], out: gl.Array[gl.f32, Literal[3]], n: gl.index) -> None:
    part = gl.subview(A, (1, n, 0), (2, None, A.shape[2]))
    split = gl.expand(part, 1, (n, 2))
    turned = gl.expand(part, 1, (n, 2), order="F")
    for i, j, k in gl.foreach(2, 3, 2):
        out[i, j, k] = 100.0 * split[i, j, k] + turned[i, j, k]


def test_parts_and_axes_that_are_split() -> None:
    with every_case() as case:
        for orders in in_orders(2):
            with case("".join(orders)):
                A, out = drawn(4, 5, 6, order=orders[0]), drawn(2, 3, 2, order=orders[1])
                run(views, A, out, 3)
                part = A[1:3, 3, :]
                split, turned = part.reshape(2, 3, 2), part.reshape(2, 2, 3).transpose(0, 2, 1)
                np.testing.assert_array_equal(out, 100 * split + turned)


def joined(A: gl.Array[gl.f32, Literal[3]], out: gl.Matrix[gl.f32]) -> None:
    local = gl.local((2, 3, 4), gl.f32)
    for i, j, k in gl.foreach(2, 3, 4):
        local[i, j, k] = A[i, j, k]
    flat = gl.fuse(local, 1, 2)
    gl.axpby(1.0, flat, 0.0, out[0:2, 0:12])


def joined_first(A: gl.Array[gl.f32, Literal[3]], out: gl.Matrix[gl.f32]) -> None:
    local = gl.local((2, 3, 4), gl.f32, order="F")
    for i, j, k in gl.foreach(2, 3, 4):
        local[i, j, k] = A[i, j, k]
    gl.axpby(1.0, gl.fuse(local, 0, 1, order="F"), 0.0, out[0:6, 0:4])


@pytest.mark.parametrize("order", "CF")
def test_axes_that_are_joined(order: str) -> None:
    A = drawn(2, 3, 4, order=order)
    out = drawn(2, 12, order=order)
    run(joined, A, out)
    np.testing.assert_array_equal(out, A.reshape(2, 12))
    out = drawn(6, 4, order=order)
    run(joined_first, A, out)
    np.testing.assert_array_equal(out, A.reshape(6, 4, order="F"))


def wrongly_joined(A: gl.Matrix[gl.f32], out: gl.Vector[gl.f32]) -> None:
    gl.axpby(1.0, gl.fuse(A, 0, 1), 0.0, out)


def test_axes_that_do_not_lie_in_order_are_not_joined() -> None:
    refused(
        wrongly_joined, "python.order", "axes 0 to 1 do not lie in memory in order C, one behind the other",
        drawn(3, 4, order="F"), drawn(12),
    )  # fmt: skip
    A, out = drawn(3, 4), drawn(12)
    run(wrongly_joined, A, out)
    np.testing.assert_array_equal(out, A.reshape(12))


def with_gaps(A: gl.Matrix[gl.f32]) -> None:
    local = gl.local((4, 4), gl.f32, strides=(5, 1), alignment=64)
    gl.axpby(1.0, A[0:4, 0:4], 0.0, local)
    gl.axpby(1.0, local.T, 0.0, A[0:4, 0:4])


def test_local_memory_with_gaps() -> None:
    A = drawn(4, 4)
    wanted = A.T.copy()
    text = str(translated(with_gaps, A))
    assert "alloca {alignment=64} : memref<f32x4x4,strided<1,5>,local>" in text
    run(with_gaps, A)
    np.testing.assert_array_equal(A, wanted)


# --- matrices ---------------------------------------------------------------------------------


def tiles(A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32], C: gl.Matrix[gl.f32]) -> None:
    with gl.parallel():
        gl.prefetch(A[0:8, 2:6])
        a = gl.load(A[0:8, 2:6], "matrix_a")
        b = gl.load(B[1:5, 0:8], "matrix_b")
        c = gl.load(C.T[0:8, 0:8])
        gl.barrier("global")
        c = gl.dot(a, b, c)
        c = c - gl.max(c, axis=1)
        c = c + gl.min(c, axis=0)
        gl.store(c, C[0:8, 0:8])


def test_tiles_of_arrays() -> None:
    with every_case() as case:
        for orders in in_orders(3):
            A, B, C = (
                drawn(*s, order=o, seed=k)
                for k, (s, o) in enumerate(zip(((9, 7), (6, 8), (8, 9)), orders, strict=True))
            )
            with case("".join(orders)):
                wanted = C.copy()
                c = A[0:8, 2:6] @ B[1:5, 0:8] + C.T[0:8, 0:8]
                c = c - c.max(1, keepdims=True)
                c = c + c.min(0, keepdims=True)
                run(tiles, A, B, C, options=SUBGROUP)
                wanted[0:8, 0:8] = c
                np.testing.assert_array_equal(C, wanted)


def over_the_edge(A: gl.Matrix[gl.f32], C: gl.Matrix[gl.f32], i: gl.index) -> None:
    with gl.parallel():
        m = gl.load(A[i : i + 8, 0:4], checked="rows")
        gl.store(m, gl.checked(C)[2:10, 3:7])


def test_tiles_that_reach_over_the_edge() -> None:
    with every_case() as case:
        for orders in in_orders(2):
            A, C = drawn(10, 4, order=orders[0]), drawn(9, 5, order=orders[1], seed=1)
            with case("".join(orders)):
                m = np.zeros((8, 4), np.float32)
                m[0:5] = A[5:]
                wanted = C.copy()
                wanted[2:9, 3:5] = m[0:7, 0:2]
                run(over_the_edge, A, C, 5, options=SUBGROUP)
                np.testing.assert_array_equal(C, wanted)


def atomics(A: gl.Matrix[gl.f32], B: gl.Matrix[gl.f32]) -> None:
    with gl.parallel():
        m = gl.full((8, 4), 2.0, gl.f32)
        old = gl.atomic_add(A, (1, 2), m)
        gl.atomic_store(B, (0, 0), old)
        gl.atomic_max(B, (0, 0), gl.atomic_load(A, (2, 2), shape=(8, 4), checked="both"), checked="rows")
        if gl.subgroup_local_id() == 0:
            gl.atomic_add(A, (0, 1), 7.0)
            gl.atomic_min(A, (0, 0), gl.atomic_load(A, (0, 1)))


def test_atomic_accesses() -> None:
    with every_case() as case:
        for orders in in_orders(2):
            A, B = drawn(9, 6, order=orders[0]), drawn(8, 4, order=orders[1], seed=1)
            with case("".join(orders)):
                A_, B_ = A.copy(), B.copy()
                B_[:] = A_[1:9, 2:6]
                A_[1:9, 2:6] += 2
                below = np.zeros((8, 4), np.float32)
                below[0:7] = A_[2:9, 2:6]
                B_ = np.maximum(B_, below)
                A_[0, 1] += 7
                A_[0, 0] = min(A_[0, 0], A_[0, 1])
                run(atomics, A, B, options=SUBGROUP)
                np.testing.assert_array_equal(A, A_)
                np.testing.assert_array_equal(B, B_)


def softmax(A: gl.Matrix[gl.f32], bias: gl.f32) -> None:
    with gl.parallel():
        m = gl.load(A[0:8, 0:4])
        largest = gl.combine(gl.maximum, m, axis=1, shape=(8, 1))
        m = gl.apply(lambda i, j, x, top: gl.exp(x - top) + bias * gl.f32(i), m, largest, index=True)
        m = gl.apply(gl.exp, m * 0.5) / gl.sum(m, axis=1)
        A[0:8, 0:4] = gl.maximum(m, 0.25)


@pytest.mark.parametrize("order", "CF")
def test_functions_of_components_are_broadcast(order: str) -> None:
    A = drawn(8, 4, order=order)
    m = np.exp(A - A.max(1, keepdims=True)) + np.float32(2) * np.arange(8, dtype=np.float32)[:, None]
    wanted = np.maximum(np.exp(m * 0.5) / m.sum(1, keepdims=True), 0.25)
    run(softmax, A, 2.0, options=SUBGROUP)
    np.testing.assert_allclose(A, wanted, rtol=1e-5)


def turned(A: gl.Matrix[gl.f32], C: gl.Matrix[gl.f32]) -> None:
    with gl.parallel():
        m = gl.load(A[0:8, 0:4])
        a = gl.cast(m, gl.f32, use="matrix_a")
        C[0:8, 0:8] = a @ m.T


def test_the_transpose_of_a_matrix_is_a_factor() -> None:
    A, C = drawn(8, 4), drawn(8, 8)
    run(turned, A, C, options=SUBGROUP)
    np.testing.assert_array_equal(C, A @ A.T)


def test_a_star_leaves_functions_of_python_alone() -> None:
    space: dict[str, object] = {}
    exec("from girih.language import *", space)
    assert not {name for name in space if hasattr(builtins, name) and not name.startswith("__")}
    for name in gl.NAMED_AS_BUILTINS:
        assert hasattr(builtins, name) and getattr(gl, name) is not getattr(builtins, name)
