"""What vectors say about the memory of their arguments is so."""

from __future__ import annotations

import numpy as np
import pytest

import girih
from tests.ops import vectors

TEXT = """
func @f(%A: memref<f32x2x3>, %B: memref<f32x?x?, strided<?,?>>, %C: memref<f32x?>, %G: group<memref<f32x2>x2>) {}
func @c(%A: memref<f32x3x2>, %B: memref<f32x?x?, strided<1,?>>) attributes {order="C"} {}
"""


def bound(text: str) -> list[object]:
    launch = vectors.parse_vector(text)
    function = girih.parse(TEXT).function(launch.function)
    assert function is not None
    return vectors.bind(function, launch.arguments)


def test_arrays_lie_as_their_vector_says() -> None:
    matrix, turned, rest, group = bound(
        "f(A=random(2, 3), B=array(random(2, 3, below=9), order='C'), C=view('A', (3,), offset=1, strides=(2,)),"
        " G=[view('A', (2,)), view('B', (2,), offset=2)])"
    )
    assert isinstance(matrix, np.ndarray) and matrix.strides == (4, 8) and abs(matrix).max() <= 1
    assert isinstance(turned, np.ndarray) and turned.flags.c_contiguous and set(turned.flat) <= set(range(9))
    assert isinstance(rest, np.ndarray) and np.array_equal(rest, matrix[1]) and np.shares_memory(rest, matrix)
    assert isinstance(group, list) and np.array_equal(group[1], turned.reshape(-1)[2:4])


def test_arrays_of_a_kernel_of_order_c_have_its_axes() -> None:
    first, second = bound("c(A=[[1, 2, 3], [4, 5, 6]], B=array(zeros(4, 5), offset=1))")
    assert isinstance(first, np.ndarray) and first.shape == (2, 3) and first.flags.c_contiguous
    assert isinstance(second, np.ndarray) and second.strides == (20, 4) and second.ctypes.data % 128 == 4


def test_a_vector_without_a_right_side_expects_nothing() -> None:
    expected = vectors.parse_vector("f(A=zeros(4))").expected
    assert not expected.findings and not expected.arrays
    with pytest.raises(ValueError, match="expected `==`"):
        vectors.parse_vector("f(A=zeros(4)) gives A=zeros(4)")
