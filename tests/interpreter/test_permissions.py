"""What a kernel permits is done in the interpreter where the choices say so, and never without a seed."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import girih
from girih.analysis.contraction import products_in_sums
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
        %number = subgroup_linear_id : i32
        %none = constant 0 : i32
        %first = equal %number, %none : bool
        if %first {
            cooperative_matrix_store %c, %C[%0,%0]
        }
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


SUMS = """
func @add(%x: {t}, %y: {t}, %A: memref<{t}>) {attributes} {
    %a = load %A[] : {t}
    %p = mul %x, %y : {t}
    %s = add %a, %p : {t}
    store %s, %A[]
}
func @sub(%x: {t}, %y: {t}, %A: memref<{t}>) {attributes} {
    %a = load %A[] : {t}
    %p = mul %x, %y : {t}
    %s = sub %p, %a : {t}
    store %s, %A[]
}
func @from(%x: {t}, %y: {t}, %A: memref<{t}>) {attributes} {
    %a = load %A[] : {t}
    %p = mul %x, %y : {t}
    %zero = constant 0 : i32
    %one = constant 1 : i32
    for %k=%zero,%one {
        %s = sub %a, %p : {t}
        store %s, %A[]
    }
}
func @axpby(%x: {t}, %y: {t}, %A: memref<{t}>) {attributes} {
    %b = alloca : memref<{t},local>
    store %y, %b[]
    %one = constant 1.0 : {t}
    axpby %x, %b, %one, %A
}
func @matrix(%x: {t}, %y: {t}, %A: memref<{t}>) {attributes} {
    %a = load %A[] : {t}
    %b = alloca : memref<{t}x1x1,local>
    %0 = constant 0 : index
    parallel {
        %m = cooperative_matrix_construct %y : coopmatrix<{t}x1x1,matrix_acc>
        %n = cooperative_matrix_construct %a : coopmatrix<{t}x1x1,matrix_acc>
        %p = cooperative_matrix_scale %x, %m : coopmatrix<{t}x1x1,matrix_acc>
        %s = add %p, %n : coopmatrix<{t}x1x1,matrix_acc>
        %number = subgroup_linear_id : i32
        %none = constant 0 : i32
        %first = equal %number, %none : bool
        if %first {
            cooperative_matrix_store %s, %b[%0,%0]
        }
    }
    %s = load %b[0,0] : {t}
    store %s, %A[]
}
func @component(%x: {t}, %y: {t}, %A: memref<{t}>) {attributes} {
    %a = load %A[] : {t}
    %b = alloca : memref<{t}x1x1,local>
    %0 = constant 0 : index
    parallel {
        %m = cooperative_matrix_construct %y : coopmatrix<{t}x1x1,matrix_acc>
        %s = cooperative_matrix_apply (%i,%j,%z)=%m -> coopmatrix<{t}x1x1,matrix_acc> {
            %p = mul %x, %z : {t}
            %q = add %p, %a : {t}
            yield (%q)
        }
        %number = subgroup_linear_id : i32
        %none = constant 0 : i32
        %first = equal %number, %none : bool
        if %first {
            cooperative_matrix_store %s, %b[%0,%0]
        }
    }
    %s = load %b[0,0] : {t}
    store %s, %A[]
}
"""
CONTRACT = 'attributes {allow=["contract"]}'
SIGNS = {"sub": (1, -1), "from": (-1, 1)}
"""The signs of the product and of the summand, if they are not both positive."""


def sums(kernel: Kernel, x: Any, y: Any, a: Any, seeds: int) -> set[Any]:
    """What becomes of a number without a seed, and with some."""
    found = set()
    for seed in (None, *range(seeds)):
        A = np.array(a)
        (kernel if seed is None else kernel.options(choices=girih.Choices(seed)))[1](x, y, A)
        found.add(A[()])
    return found


def test_a_product_is_rounded_with_its_sum_where_that_is_permitted_and_chosen() -> None:
    for type, dtype, bits in (("f32", np.float32, 24), ("f64", np.float64, 53), ("f16", np.float16, 11)):
        x = dtype(1 + 2.0 ** -(bits // 2 + 1))
        plain, permitted = (
            girih.loads(SUMS.replace("{t}", type).replace("{attributes}", attributes), target="interpreter")
            for attributes in ('attributes {allow=["tf32"]}', CONTRACT)
        )
        for name in plain:
            if type == "f16" and name == "axpby":
                continue  # it computes in f32, where nothing is lost
            p, s = SIGNS.get(name, (1, 1))
            a = dtype(-p * s)
            exact = dtype(float(p * Fraction(float(x)) ** 2 + s * Fraction(float(a))))
            twice = dtype(p) * (x * x) + dtype(s) * a
            assert exact != twice
            assert sums(plain[name], x, x, a, 6) == {twice}, name
            assert sums(permitted[name], x, x, a, 10) == {twice, exact}, name


def test_parts_of_complex_products_are_rounded_with_their_sums() -> None:
    text = SUMS.replace("{t}", "c32").replace("1.0", "[1.0, 0.0]")
    x, y = np.complex64(1 + 2.0**-13 + 1j * (1 + 2.0**-12)), np.complex64(1 + 2.0**-13 - 1j / 3)
    plain, permitted = (
        girih.loads(text.replace("{attributes}", attributes), target="interpreter") for attributes in ("", CONTRACT)
    )
    exact = complex(x) * complex(y)
    for name in ("add", "sub", "from", "axpby", "matrix"):
        p, s = SIGNS.get(name, (1, 1))
        a = np.complex64(-p * s * exact)
        (rounded,) = sums(plain[name], x, y, a, 6)
        either = sums(permitted[name], x, y, a, 30)
        assert rounded in either and len(either) > 1, name
        assert all(abs(complex(z) - (p * exact + s * complex(a))) < 2.0**-22 for z in either), name


def test_products_go_into_sums_of_the_same_function_only() -> None:
    (function,) = girih.parse("""
func @f(%x: f32, %i: i32, %A: memref<f32x1x1>) {
    %p = mul %x, %x : f32
    %k = mul %i, %i : i32
    %l = add %k, %i : i32
    %s = add %p, %p : f32
    parallel {
        %0 = constant 0 : index
        %t = sub %x, %p : f32
        %m = cooperative_matrix_load %A[%0,%0] : coopmatrix<f32x1x1,matrix_acc>
        %n = cooperative_matrix_apply (%r,%c,%y)=%m -> coopmatrix<f32x1x1,matrix_acc> {
            %u = add %y, %p : f32
            %v = mul %y, %y : f32
            %w = add %v, %u : f32
            yield (%w)
        }
        cooperative_matrix_store %n, %A[%0,%0]
    }
}
""").functions
    found = {op.results[0].name: [name for name, _ in terms] for op, terms in products_in_sums(function).items()}
    assert found == {"s": ["a", "b"], "t": ["b"], "w": ["a"]}
