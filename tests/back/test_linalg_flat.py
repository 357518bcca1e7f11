"""Matrix products with few rows or columns and a great depth on the CPU target, against NumPy and the interpreter."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.back.llvm.cpu.compile import lower
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.features import Features
from tests.back.harness import TARGET, Compiled, compare, compiled
from tests.back.test_linalg import agrees, check_gemm, gemms, memref, random, wide
from tests.cases import crossed, long

Array = NDArray[Any]

# M x N x K: tiny ones, one line, remainders of every block, more than one part of the depth, no depth.
SIZES = [
    (2, 2, 1100), (3, 40, 1100), (40, 3, 1030), (13, 13, 1500), (17, 50, 700), (5, 5, 0), (4, 13, 129), (33, 2, 2100),
    (1, 7, 300), (50, 1, 150), (3, 5, 1), (70, 60, 520), (6, 31, 128), (65, 7, 515), (2, 130, 260), (130, 2, 260),
    (49, 97, 33), (1, 1, 700), (18, 60, 140), (100, 99, 140),
]  # fmt: skip
KNOWN = [(2, 2, 1100), (3, 40, 1100), (13, 6, 1300)]
MORE_KNOWN = [(40, 3, 1030), (5, 17, 130), (50, 66, 600), (6, 31, 128)]


def arguments(type: str, m: int, n: int, k: int) -> tuple[list[Array], Array, list[Array]]:
    """Both factors as they are and transposed, their product, and four targets."""
    a, b = random(type, m, k), random(type, k, n)
    given = [a, np.asfortranarray(a.T), b, np.asfortranarray(b.T)]
    return given, wide(a) @ wide(b), [random(type, m, n) for _ in range(4)]


def check(kernel: Compiled, type: str, size: tuple[int, int, int], alpha: float, beta: float) -> None:
    given, exact, targets = arguments(type, *size)
    wanted = [alpha * exact + beta * wide(c) for c in targets]
    kernel((1, 1, 1), alpha, beta, *given, *targets)
    for found, expected in zip(targets, wanted, strict=True):
        agrees(found, expected, size[2])


@pytest.mark.parametrize("type", ["f32", "i32", *long(["f64"])])
def test_unknown_sizes(type: str) -> None:
    kernel = compiled(gemms(1, 1, 1, (type,) * 3, dynamic=True))
    for size, (alpha, beta) in product(SIZES, [(2, 3), (1, 1), (0, 0)]):
        check(kernel, type, size, alpha, beta)


@pytest.mark.parametrize("size", [*KNOWN, *long((size,) for size in MORE_KNOWN)], ids=str)
def test_known_sizes(size: tuple[int, int, int]) -> None:
    check_gemm(*size, ("f32", "f32", "f32"), dynamic=False)


WAYS = ("n.n", "n.t", "t.t")


def lowered_text(way: str, size: tuple[int, int, int], l2_bytes: int, pitch: int | None = None) -> str:
    """The code of a product of some size, for a second cache of some size; columns may be a `pitch` apart."""
    m, n, k = size
    shapes = [(k, m) if way[0] == "t" else (m, k), (n, k) if way[2] == "t" else (k, n), (m, n)]
    listed = ", ".join(
        f"%{name}: memref<f32 x {rows} x {columns}, strided<1,{pitch or rows}>>"
        for name, (rows, columns) in zip("ABC", shapes, strict=True)
    )
    text = f"func @f({listed}) {{\n%one = constant 1.0 : f32\n%zero = constant 0.0 : f32\n"
    text += f"gemm.{way} %one, %A, %B, %zero, %C\n}}"
    machine = replace(TARGET.machine, l2_bytes=l2_bytes)
    (function,) = girih.parse(text).functions
    return lower(function, replace(TARGET, machine=machine)).text


@pytest.mark.parametrize("way", WAYS)
def test_factors_that_fit_into_the_second_cache_are_not_packed(way: str) -> None:
    size = (100, 99, 140)
    assert "@girih.product." not in lowered_text(way, size, 256 << 10)
    assert "@girih.product." in lowered_text(way, size, 128 << 10)


@pytest.mark.parametrize("l1_bytes", [8 << 10, 20 << 10, 48 << 10])
def test_parts_of_the_depth_follow_from_the_first_cache(l1_bytes: int) -> None:
    machine = replace(TARGET.machine, l1_bytes=l1_bytes)
    (function,) = girih.parse(gemms(1, 1, 1, ("f32",) * 3, dynamic=True)).functions
    kernel = Compiled(function, target=replace(TARGET, machine=machine))
    for size in ((2, 5, 1100), (17, 50, 1300), (33, 2, 2100)):
        check(kernel, "f32", size, 2, 3)


@pytest.mark.parametrize("way", WAYS)
def test_lines_of_one_set_of_the_cache_are_packed(way: str) -> None:
    size = (100, 99, 140)
    assert "@girih.product." in lowered_text(way, size, 256 << 10, pitch=1024)
    assert "@girih.product." not in lowered_text(way, size, 256 << 10, pitch=1040)


@pytest.mark.parametrize(("rows", "turned"), [(15, True), (17, True), (40, True), (31, False), (47, False)])
def test_few_rows_are_turned_where_a_vector_of_them_were_mostly_empty(rows: int, turned: bool) -> None:
    # Blocks have three vectors of columns if these are what vectors hold; there are too few rows for three.
    text = lowered_text("n.t", (rows, 500, 300), 64 << 10)
    assert "@girih.product." not in text
    assert ("@girih.block.rows.3x16x8." in text) == turned and ("@girih.block.rows.1x16x8." in text)


@pytest.mark.parametrize("dynamic", [False, True])
def test_as_in_the_interpreter(dynamic: bool) -> None:
    given, _, targets = arguments("f64", 5, 9, 650)
    text = gemms(5, 9, 650, ("f64", "f64", "f64"), dynamic)
    compare(text, (1, 1, 1), -0.75, 0.5, *given, *targets, tolerance=1e-12)


@pytest.mark.parametrize(("depth", "dynamic"), crossed([0, 1100], [False, True]))
def test_a_constant_beta_of_zero_does_not_read_the_target(depth: int, dynamic: bool) -> None:
    text = gemms(7, 18, depth, ("f32", "f32", "f32"), dynamic)
    text = text.replace("%beta: f32, ", "").replace(") {", ") {\n%beta = constant 0.0 : f32", 1)
    given, exact, targets = arguments("f32", 7, 18, depth)
    for target in targets:
        target[:] = np.nan
    compiled(text)((1, 1, 1), 1, *given, *targets)
    for found in targets:
        agrees(found, exact, depth)


def inside(type: str, m: int, n: int) -> Array:
    """A matrix whose columns are apart."""
    return random(type, m + 5, n + 2)[2 : m + 2, 1 : n + 1]


@cache
def with_columns_apart() -> Compiled:
    types = ", ".join(f"%{x}: memref<f32x?x?,strided<1,?>>" for x in ("A", "AT", "B", "BT", "C0", "C1", "C2", "C3"))
    text = gemms(1, 1, 1, ("f32", "f32", "f32"), dynamic=True)
    return compiled(f"func @f(%alpha: f32, %beta: f32, {types}) {{{text.split('{', 1)[1]}")


@pytest.mark.parametrize("size", [(13, 5, 700), (3, 40, 140), (40, 3, 140), (50, 20, 20), (35, 101, 30)], ids=str)
def test_matrices_inside_others_stay_inside(size: tuple[int, int, int]) -> None:
    m, n, k = size
    given = [inside("f32", *shape) for shape in ((m, k), (k, m), (k, n), (n, k))]
    targets = [inside("f32", m, n) for _ in range(4)]
    pairs = product((given[0], given[1].T), (given[2], given[3].T))
    wanted = [2 * (wide(a) @ wide(b)) + 3 * wide(c) for (a, b), c in zip(pairs, targets, strict=True)]
    around = [np.asarray(c.base).copy() for c in targets]
    with_columns_apart()((1, 1, 1), 2, 3, *given, *targets)
    for found, before, expected in zip(targets, around, wanted, strict=True):
        agrees(found, expected, k)
        whole = np.asarray(found.base).copy()
        whole[2 : m + 2, 1 : n + 1] = before[2 : m + 2, 1 : n + 1]
        np.testing.assert_array_equal(whole, before)


def test_a_target_of_any_strides() -> None:
    strided = memref("f32", 1, 1, dynamic=True).replace(">", ",strided<?,?>>")
    text = gemms(1, 1, 1, ("f32", "f32", "f32"), dynamic=True)
    for number in range(4):
        text = text.replace(f"%C{number}: memref<f32x?x?>", f"%C{number}: {strided}")
    given, exact, targets = arguments("f32", 9, 6, 200)
    spread = [np.asfortranarray(np.repeat(np.repeat(c, 2, 0), 3, 1))[::2, ::3] for c in targets]
    wanted = [2 * exact + 3 * wide(c) for c in spread]
    compiled(text)((1, 1, 1), 2, 3, *given, *spread)
    for found, expected in zip(spread, wanted, strict=True):
        agrees(found, expected, 200)


WIDTHS = [CpuTarget(32, 16, Features(f16=True, fma=True)), CpuTarget(16, 32, Features(f16=True, fma=True)), TARGET]


@pytest.mark.parametrize(("target", "type"), crossed(WIDTHS, ["f64", "f32"]))
def test_every_width_of_vectors(target: CpuTarget, type: str) -> None:
    program = girih.loads(gemms(1, 1, 1, (type,) * 3, dynamic=True), target="interpreter")
    kernel = Compiled(program["f"].ir, target=target)
    for size in [(13, 7, 1050), (3, 12, 140), (27, 9, 21), (2, 2, 300), (1, 5, 20)]:
        check(kernel, type, size, 2, 3)


MANY = [("bf16", "bf16", "f32"), *long([(("c32", "c32", "c32"),), (("i32", "i32", "i32"),)])]


@pytest.mark.parametrize("types", MANY, ids=" ".join)
def test_very_many_rows(types: tuple[str, str, str]) -> None:
    check_gemm(4101, 3, 21, types, dynamic=False)
