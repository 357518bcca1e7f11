"""What a kernel permits is done in the interpreter where the choices say so, and never without a seed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

import girih
from girih.api import Kernel, Program
from girih.interpreter.machine.permissions import in_tf32
from tests.interpreter.launching import Array, fortran


def rounded_exactly(value: float) -> float:
    """A number of f32 in tf32, by exact rationals."""
    if value == 0 or not math.isfinite(value):
        return value
    exponent = max(math.frexp(value)[1] - 1, -126)
    unit = Fraction(2) ** (exponent - 10)
    nearest = round(Fraction(abs(value)) / unit) * unit
    return math.copysign(math.inf if nearest >= 2**128 else float(nearest), value)


def test_numbers_are_rounded_to_tf32() -> None:
    bits = np.random.default_rng(1).integers(0, 2**32, 3000, np.uint64).astype(np.uint32)
    halfway = (bits & np.uint32(0xFFFFE000)) | np.uint32(0x1000)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.4028235e38, -(2.0**-136)], np.float32)
    array = np.concatenate((bits.view(np.float32), halfway.view(np.float32), special))
    expected = np.array([rounded_exactly(float(x)) for x in array], np.float32)
    np.testing.assert_array_equal(in_tf32(array), expected)
    assert np.signbit(in_tf32(np.full(1, -0.0, np.float32)))[0]


PRODUCTS = """
func @gemm(%A: memref<{a}x8x8>, %B: memref<f32x8x8>, %C: memref<f32x8x8>) {attributes} {
    %one = constant 1.0 : f32
    %zero = constant 0.0 : f32
    gemm %one, %A, %B, %zero, %C
}
func @gemv(%A: memref<{a}x8x8>, %B: memref<f32x8x8>, %C: memref<f32x8x8>) {attributes} {
    %one = constant 1.0 : f32
    %zero = constant 0.0 : f32
    %b = subview %B[0:8, 0] : memref<f32x8>
    %c = subview %C[0:8, 0] : memref<f32x8>
    gemv %one, %A, %b, %zero, %c
}
func @ger(%A: memref<{a}x8x8>, %B: memref<f32x8x8>, %C: memref<f32x8x8>) {attributes} {
    %one = constant 1.0 : f32
    %zero = constant 0.0 : f32
    %a = subview %A[0:8, 0] : memref<{a}x8>
    %b = subview %B[0:8, 0] : memref<f32x8>
    ger %one, %a, %b, %zero, %C
}
func @mul_add(%A: memref<{a}x8x8>, %B: memref<f32x8x8>, %C: memref<f32x8x8>) {attributes} {
    %0 = constant 0 : index
    %zero = constant 0.0 : coopmatrix<f32x8x8,matrix_acc>
    parallel {
        %a = cooperative_matrix_load %A[%0,%0] : coopmatrix<{a}x8x8,matrix_a>
        %b = cooperative_matrix_load %B[%0,%0] : coopmatrix<f32x8x8,matrix_b>
        %c = cooperative_matrix_mul_add %a, %b, %zero : coopmatrix<f32x8x8,matrix_acc>
        cooperative_matrix_store %c, %C[%0,%0]
    }
}
"""
TF32 = 'attributes {allow=["tf32"]}'
FINE = np.float32(1 + 2.0**-9 + 2.0**-12)
"""A number between two of tf32."""


def program(attributes: str, target: str) -> Program:
    return girih.loads(PRODUCTS.replace("{attributes}", attributes).replace("{a}", "f32"), target=target)


def results(kernel: Kernel) -> set[tuple[float, ...]]:
    """What a product of a matrix full of FINE and the unit matrix may be."""
    found = set()
    for seed in (None, *range(12)) if kernel.target == "interpreter" else (None,):
        A, B, C = np.full((8, 8), FINE, order="F"), np.eye(8, dtype=np.float32, order="F"), fortran(8, 8) * 0
        launched = kernel.options(choices=girih.Choices(seed)) if seed is not None else kernel
        launched[1](A, B, C)
        found.add(tuple(C.ravel().tolist()))
    return found


def test_products_of_f32_are_computed_in_tf32_where_that_is_permitted_and_chosen() -> None:
    coarse = rounded_exactly(float(FINE))
    assert coarse != float(FINE)
    plain, other, permitted = (program(a, "interpreter") for a in ("", 'attributes {allow=["contract"]}', TF32))
    compiled = program(TF32, "cpu")
    for name in ("gemm", "gemv", "ger", "mul_add"):
        (exact,) = results(plain[name])
        assert results(other[name]) == {exact}, name
        assert results(permitted[name]) == {exact, tuple(coarse if x else 0.0 for x in exact)}, name
        # The CPU multiplies numbers of f32 as they are.
        assert results(compiled[name]) == {exact}, name


def test_products_of_other_types_are_not_computed_in_tf32() -> None:
    text = PRODUCTS.replace("{a}", "f64").replace("f32", "f64").replace("{attributes}", TF32)
    kernel = girih.loads(text, target="interpreter")["gemm"]
    fine = 1 + 2.0**-30
    for seed in range(6):
        A, B, C = np.full((8, 8), fine, order="F"), np.eye(8, order="F"), np.zeros((8, 8), order="F")
        kernel.options(choices=girih.Choices(seed))[1](A, B, C)
        np.testing.assert_array_equal(C, fine)
    # Factors of f16 are those of an f32 product, but have few bits enough.
    mixed = girih.loads(PRODUCTS.replace("{attributes}", TF32).replace("{a}", "f16"), target="interpreter")["gemm"]
    half = np.float16(1 + 2.0**-10)
    seen: set[float] = set()
    for seed in range(12):
        D: Array = np.zeros((8, 8), np.float32, order="F")
        ones = np.full((8, 8), FINE, order="F")
        mixed.options(choices=girih.Choices(seed))[1](np.asfortranarray(np.eye(8, dtype=np.float16) * half), ones, D)
        seen.add(float(D[0, 0]))
    assert seen == {float(np.float32(half) * FINE), float(np.float32(half) * np.float32(rounded_exactly(float(FINE))))}
