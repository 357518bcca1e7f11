"""The CPU rounds a product together with a sum where a kernel permits it, and nowhere else."""

from __future__ import annotations

import re

import numpy as np

import girih
from girih.back.llvm.cpu.compile import lower
from tests.back.harness import TARGET, Compiled
from tests.cases import every_case

KERNELS = """
func @scalars(%A: memref<{t}x8>, %B: memref<{t}x8>, %C: memref<{t}x8>, %factor: {t}) attributes {{{a}}} {{
    %0 = constant 0 : index
    %8 = constant 8 : index
    foreach (%i)=(%0),(%8) {{
        %x = load %A[%i] : {t}
        %y = load %B[%i] : {t}
        %z = load %C[%i] : {t}
        %p = mul %x, %y : {t}
        %s = sub %p, %z : {t}
        store %s, %C[%i]
    }}
}}
func @reversed(%A: memref<{t}x8>, %B: memref<{t}x8>, %C: memref<{t}x8>, %factor: {t}) attributes {{{a}}} {{
    %0 = constant 0 : index
    %8 = constant 8 : index
    foreach (%i)=(%0),(%8) {{
        %x = load %A[%i] : {t}
        %z = load %C[%i] : {t}
        %p = mul %factor, %x : {t}
        %s = sub %z, %p : {t}
        store %s, %C[%i]
    }}
}}
func @axpby(%A: memref<{t}x8>, %B: memref<{t}x8>, %C: memref<{t}x8>, %factor: {t}) attributes {{{a}}} {{
    axpby %factor, %A, %factor, %C
}}
func @hadamard(%A: memref<{t}x8>, %B: memref<{t}x8>, %C: memref<{t}x8>, %factor: {t}) attributes {{{a}}} {{
    hadamard %factor, %A, %B, %factor, %C
}}
func @matrices(%A: memref<{t}x8>, %B: memref<{t}x8>, %C: memref<{t}x8>, %factor: {t}) attributes {{{a}}} {{
    %0 = constant 0 : index
    %1 = constant 1 : index
    %a = expand %A[0->8x1] : memref<{t}x8x1>
    %c = expand %C[0->8x1] : memref<{t}x8x1>
    parallel {{
        %x = cooperative_matrix_load %a[%0,%0] : coopmatrix<{t}x8x1,matrix_acc>
        %y = cooperative_matrix_load %c[%0,%0] : coopmatrix<{t}x8x1,matrix_acc>
        %s = cooperative_matrix_scale %factor, %x : coopmatrix<{t}x8x1,matrix_acc>
        %r = sub %s, %y : coopmatrix<{t}x8x1,matrix_acc>
        cooperative_matrix_store %r, %c[%0,%0]
    }}
}}
func @components(%A: memref<{t}x8>, %B: memref<{t}x8>, %C: memref<{t}x8>, %factor: {t}) attributes {{{a}}} {{
    %0 = constant 0 : index
    %a = expand %A[0->8x1] : memref<{t}x8x1>
    %c = expand %C[0->8x1] : memref<{t}x8x1>
    parallel {{
        %x = cooperative_matrix_load %a[%0,%0] : coopmatrix<{t}x8x1,matrix_acc>
        %y = cooperative_matrix_load %c[%0,%0] : coopmatrix<{t}x8x1,matrix_acc>
        %r = cooperative_matrix_apply (%i,%j,%p,%q)=%x,%y -> coopmatrix<{t}x8x1,matrix_acc> {{
            %pp = mul %p, %factor : {t}
            %s = sub %pp, %q : {t}
            yield (%s)
        }}
        cooperative_matrix_store %r, %c[%0,%0]
    }}
}}
"""
CONTRACT = 'allow=["contract"]'
FUSED = re.compile(r"contract |@llvm\.fma")


def test_products_are_fused_with_sums_only_where_that_is_permitted() -> None:
    with every_case() as case:
        for type in ("f32", "f64", "c32"):
            for attributes in ("", 'allow=["tf32"]', CONTRACT):
                for function in girih.parse(KERNELS.format(t=type, a=attributes)).functions:
                    with case(f"@{function.name} of {type}, {attributes}"):
                        text = lower(function, TARGET).text
                        assert bool(FUSED.search(text)) == (attributes == CONTRACT)


def test_a_result_is_that_of_two_roundings_or_of_one() -> None:
    """The numbers have 13 bits, and their products 26: f64 holds each result before it is rounded."""
    source = np.random.default_rng(3)
    A, B, C = (1 + source.integers(0, 4096, (3, 8)) / 4096).astype(np.float32)
    factor = np.float32(1 + 2.0**-12)
    a, b, c, f = (x.astype(np.float64) for x in (A, B, C, factor))
    once = {"scalars": a * b - c, "reversed": c - f * a, "matrices": f * a - c, "components": f * a - c}
    twice = {
        "scalars": A * B - C,
        "reversed": C - factor * A,
        "matrices": factor * A - C,
        "components": factor * A - C,
        "axpby": factor * A + factor * C,
        "hadamard": A * B * factor + factor * C,
    }
    with every_case() as case:
        for attributes in ("", CONTRACT):
            for function in girih.parse(KERNELS.format(t="f32", a=attributes)).functions:
                name, found = function.name, C.copy()
                with case(f"@{name}, {attributes}"):
                    Compiled(function)((1, 1, 1), A.copy(), B.copy(), found, factor)
                    if not attributes:
                        np.testing.assert_array_equal(found, twice[name])
                    elif name in once:
                        assert ((found == twice[name]) | (found == once[name].astype(np.float32))).all()
                    else:
                        np.testing.assert_allclose(found, twice[name], rtol=2.0**-22)
    assert all((once[name].astype(np.float32) != twice[name]).any() for name in once)
