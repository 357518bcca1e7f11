"""What only a GPU can show of fragments: that its `mma` does what the models of it do, and what comes of findings."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import girih
from girih import kernels
from tests.back.harness import copy_of, same
from tests.back.nvptx.test_fragments import GEMM, PRODUCTS, SHAPES, TYPES, WINDOW, of
from tests.cases import every_case

pytestmark = pytest.mark.cuda


def agrees(text: str, *arguments: Any) -> None:
    """Hold a launch on the GPU against the interpreter's."""
    expected, found = [copy_of(one) for one in arguments], [copy_of(one) for one in arguments]
    girih.loads(text, target="interpreter")["f"].options(races=False)[1](*expected)
    girih.loads(text, target="cuda")["f"][1](*found)
    for mine, wanted in zip(found, expected, strict=True):
        same(mine, wanted, 1e-5)


@pytest.mark.parametrize("types", PRODUCTS)
def test_products(types: tuple[str, str, str, str]) -> None:
    """Sums of small whole numbers, which have to be exact."""
    a, b, c, r = types
    with every_case() as case:
        for (m, n, k), turned in product(SHAPES, ("", ".t")):
            with case(f"{m} x {n} x {k} {turned}"):
                text = GEMM.format(a=a, b=b, c=c, r=r, m=m, n=n, k=k, ta=turned, tb=turned, more="")
                shapes = ((k, m), (n, k)) if turned else ((m, k), (k, n))
                agrees(text, of(a, *shapes[0]), of(b, *shapes[1]), of(c, m, n), of(r, m, n))


@pytest.mark.parametrize("type", ["f16", "f8e4m3", "f32"])
def test_sums_of_many_sizes_are_those_of_f32(type: str) -> None:
    """Products of very different sizes: a sum keeps what f32 keeps, within the roundings of tensor cores."""
    random = np.random.default_rng(5)
    a, b = of(type, 32, 64), of(type, 64, 32)
    scale = np.exp2(random.integers(-4, 5, (32, 64))).astype(np.float32)
    a = np.asfortranarray((a.astype(np.float32) * scale).astype(a.dtype))
    c, d = of("f32", 32, 32), of("f32", 32, 32)
    text = GEMM.format(a=type, b=type, c="f32", r="f32", m=32, n=32, k=64, ta="", tb="", more="")
    girih.loads(text, target="cuda")["f"][1](a, b, c, d)
    wide = a.astype(np.float64), b.astype(np.float64)
    wanted, size = wide[0] @ wide[1] + c, np.abs(wide[0]) @ np.abs(wide[1]) + np.abs(c)
    # Tensor cores keep 13 bits behind the largest product of f8, and 21 of f16 (about).
    assert (np.abs(d - wanted) <= size * (2.0**-12 if type == "f8e4m3" else 2.0**-20)).all()


@pytest.mark.parametrize("type", ["f16", "i8", "f64"])
@pytest.mark.parametrize("use", ["matrix_a", "matrix_b", "matrix_acc"])
def test_tiles_at_any_place(type: str, use: str) -> None:
    with every_case() as case:
        for (i, j), turn, rows in product(((0, 0), (16, 8), (1, 0), (48, 3), (-5, 40)), ("", ".t"), (80, 77)):
            with case(f"{i}, {j} of {rows} rows {turn}"):
                text = WINDOW.format(t=type, m=32, n=32, use=use, turn=turn)
                agrees(text, of(type, rows, 72), of(type, rows, 72), i, j)


@pytest.mark.parametrize("type", ["f32", "f16", "f64"])
def test_products_of_the_library(type: str) -> None:
    random = np.random.default_rng(3)
    for m, n, k in ((256, 192, 128), (131, 70, 57)):
        sums: Any = np.float64 if type == "f64" else np.float32
        a, b, c = (random.integers(-3, 4, shape) for shape in ((m, k), (k, n), (m, n)))
        factors = [np.asfortranarray(one).astype(TYPES[type]) for one in (a, b)]
        found = np.asfortranarray(c).astype(sums)
        kernels.gemm(type=type, target="cuda")(2.0, *factors, 3.0, found)
        same(found, 2 * a @ b + 3 * c, 1e-5)


def test_a_finding_of_some_threads_before_a_product() -> None:
    """Threads of a warp end, the others go on to `mma`: the finding is told, and the next launch is right."""
    text = """
    func @f(%A: memref<i8x32x32>, %B: memref<i8x32x8>, %C: memref<i32x32x8>)
        attributes {subgroup_size=32, work_group_size=[32, 1]} {
      parallel {
        %z = constant 0 : index
        %a = cooperative_matrix_load %A[%z,%z] : coopmatrix<i8x32x32,matrix_a>
        %b = cooperative_matrix_load %B[%z,%z] : coopmatrix<i8x32x8,matrix_b>
        %x = div %a, %a : coopmatrix<i8x32x32,matrix_a>
        %n = constant 0 : coopmatrix<i32x32x8,matrix_acc>
        %c = cooperative_matrix_mul_add %x, %b, %n : coopmatrix<i32x32x8,matrix_acc>
        cooperative_matrix_store %c, %C[%z,%z]
      }
    }"""
    kernel = girih.loads(text, target="cuda")["f"]
    a, b = np.ones((32, 32), np.int8, order="F"), np.ones((32, 8), np.int8, order="F")
    c = np.zeros((32, 8), np.int32, order="F")
    a[3, 5] = 0
    with pytest.raises(girih.KernelError) as raised:
        kernel[1](a, b, c)
    assert {finding.code for finding in raised.value.findings} == {"run.division_by_zero"}
    a[3, 5] = 1
    kernel[1](a, b, c)
    assert (c == 32).all()
