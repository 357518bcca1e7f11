"""Large products, whose factors are copied before they are multiplied, against the interpreter."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest

import girih
from girih.back.llvm.cpu.machine.description import described
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.cpu.machine.tiles import product_tile
from girih.ir.types import BF16, F32, I8, I32
from girih.kernels.table import TABLE
from girih.runtime.cpu.device import CpuDevice
from tests.back.harness import TARGET, Compiled, copy_of, same
from tests.back.test_coopmatrix import ONE, TOLERANCES, kernel, matrix, numbers
from tests.cases import every_case, long

COLUMNS, DEPTH = 66, 20
ROWS = {"": 72, ".t": 96, ".apart": 72}
"""A multiple of what a panel has, and none."""

NARROW = replace(TARGET, vector_bytes=32, registers=16)
STRIDES = {"": "", ".t": "", ".apart": ", strided<?,?>"}
PLACES = ((0, 0), (75, 0), (0, 30), (50, 64), (90, 3), (-3, -60))
"""Where tiles begin in 80 rows of the first factor and 96 columns of the second one: inside, over an edge, outside."""


def text(type: str, sums: str, way: str, *, branch: bool = False) -> str:
    """The sum of a matrix and the product of tiles that may lie partly, or wholly, outside of their memory."""
    turn, layout = way.replace(".apart", ""), STRIDES[way]
    first, second = matrix(type, (ROWS[way], DEPTH), "a"), matrix(type, (DEPTH, COLUMNS), "b")
    here, there = ("%z, %i", "%j, %z") if turn else ("%i, %z", "%z, %j")
    a = f"cooperative_matrix_load{turn}.both_checked %A[{here}] : {first}"
    if branch:
        a = (
            f"if %upper -> ({first}) {{\n%x = {a}\nyield (%x)\n}} else {{\n"
            f"%x = cooperative_matrix_load{turn} %A[%z, %z] : {first}\nyield (%x)\n}}"
        )
    body = f"""
    %a = {a}
    %b = cooperative_matrix_load{turn}.both_checked %B[{there}] : {second}
    %c = cooperative_matrix_load %C[%z, %z] : {matrix(sums, (ROWS[way], COLUMNS))}
    %d = cooperative_matrix_mul_add %a, %b, %c : {matrix(sums, (ROWS[way], COLUMNS))}
    cooperative_matrix_store %d, %C[%z, %z]"""
    parameters = f"%A: memref<{type} x ? x ?{layout}>, %B: memref<{type} x ? x ?{layout}>, %C: memref<{sums} x ? x ?>"
    return kernel(f"{parameters}, %i: index, %j: index", body, before="%upper = greater_than %i, %z : bool")


def check(
    source: str, type: str, sums: str, way: str, target: CpuTarget, *, finite: bool, depth: int = DEPTH - 3
) -> None:
    """Compiled code gives what the interpreter does: above all where nothing but zeros is multiplied."""
    a, b, c = numbers(type, 80, depth), numbers(type, depth, 96, 1), numbers(sums, ROWS[way], COLUMNS, 2)
    if not finite:
        a[2, 5], b[7, 40] = np.inf, np.nan
    if way == ".t":
        a, b = np.asfortranarray(a.T), np.asfortranarray(b.T)
    wanted = girih.loads(source, target="interpreter")["f"]
    mine = Compiled(wanted.ir, target=target)
    for place in PLACES:
        first, second = ([copy_of(x) for x in (a, b, c)] for _ in range(2))
        with np.errstate(invalid="ignore"):
            wanted[ONE](*first, *place)
        mine(ONE, *second, *place)
        same(second[2], first[2], TOLERANCES.get(sums, 0.0))


@pytest.mark.parametrize("target", [TARGET, NARROW], ids=["wide", "narrow"])
def test_parts_of_factors_that_are_outside_count_as_zero(target: CpuTarget) -> None:
    kinds = [("f32", "f32", "", False), ("f16", "f32", ".t", False), ("i8", "i32", "", True)]
    with every_case() as case:
        for type, sums, way, finite in kinds:
            with case(f"{type} {way}"):
                check(text(type, sums, way), type, sums, way, target, finite=finite)


def test_tiles_for_processors_are_allowed_and_fit_their_caches() -> None:
    allowed = TABLE["gemm"].definitions
    for name in ("x86-64", "haswell", "znver2", "skylake-avx512", "emeraldrapids", "a64fx", "apple-m1"):
        machine = described(name)
        for size in (2, 4, 8):
            rows, columns, depth = product_tile(machine, size)
            assert rows in allowed["rows"] and columns in allowed["columns"] and depth in allowed["depth"]
            assert rows * columns * size <= max(machine.l2_bytes // 4, rows * 96 * size)
    assert product_tile(described("emeraldrapids"), 4) == (128, 192, 128)
    assert product_tile(described("haswell"), 4) == (128, 96, 128)


def test_tiles_are_larger_where_amx_multiplies() -> None:
    products, attention = TABLE["gemm"].definitions, TABLE["attention"].definitions
    vectors, tiles = (CpuDevice.named(f"x86_64-linux-gnu:{name}") for name in ("skylake-avx512", "sapphirerapids"))
    for type, sums in ((BF16, F32), (I8, I32)):
        rows, columns, depth = tiles.product_tile(type, sums)
        assert rows in products["rows"] and columns in products["columns"] and depth in products["depth"]
        assert rows * columns > prod(vectors.product_tile(type, sums)[:2])
    assert tiles.product_tile(F32, F32) == vectors.product_tile(F32, F32)
    for device, type in ((vectors, BF16), (tiles, F32), (tiles, BF16)):
        queries, keys = device.attention_tile(type)
        assert queries in attention["queries"] and keys in attention["keys"]
    assert tiles.attention_tile(BF16) == (64, 128)


def test_a_factor_that_a_branch_found_keeps_its_end() -> None:
    check(text("f32", "f32", "", branch=True), "f32", "f32", "", TARGET, finite=True, depth=DEPTH)


@pytest.mark.parametrize("target", long((TARGET, NARROW)))
@pytest.mark.parametrize("way", STRIDES)
@pytest.mark.parametrize(
    ("type", "sums"),
    [("f32", "f32"), ("f64", "f64"), ("f32", "f64"), ("bf16", "f32"), ("f16", "f16"), ("i16", "i64"), ("i8", "i8")],
)
def test_every_type_and_order(type: str, sums: str, way: str, target: CpuTarget) -> None:
    for finite in (True,) if type[0] == "i" else (True, False):
        check(text(type, sums, way), type, sums, way, target, finite=finite)
