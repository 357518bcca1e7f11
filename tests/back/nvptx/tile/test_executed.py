"""What tile programs do besides products of 16-bit numbers, executed as PTX; and random ones."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import girih
from girih.arguments.arrays import accept, specifications
from girih.interpreter.launch import launch
from girih.runtime.cuda.recipes import IllegalMapError, made_maps
from girih.tile.recognise import tile_kernel
from tests.back.harness import Array, Failed
from tests.back.nvptx.tile.emitted import added, emitted, emitted_from, of_bytes, of_tf32
from tests.back.nvptx.tile.launch import TileMachineKernel
from tests.cases import every_case
from tests.cases import long as more
from tests.tile.generate import program
from tests.tile.programs import PERMITTED, function_of, grouped, product, twin
from tests.tile.test_generated import ended

BF16 = np.dtype(ml_dtypes.bfloat16)
STORE_UNCHECKED = """%rounded = cast %product : coopmatrix<$type x $rows x $columns, matrix_acc, work_group>
        cooperative_matrix_store %rounded, %C[%row, %column]"""


def matrix(rows: int, columns: int, seed: int, type: np.dtype[Any] = BF16) -> Array:
    """A matrix of small whole numbers, whose products are exact."""
    found = np.random.default_rng(seed).integers(-4, 5, (rows, columns))
    return np.asarray(found, dtype=type, order="F")


def execute(text: str, grid: tuple[int, int, int], *arguments: Any, **options: Any) -> None:
    """Launch a tile program, with checks."""
    TileMachineKernel(function_of(text), emitted_from(text, checks=True))(grid, *arguments, **options)


@pytest.mark.parametrize(("rows", "columns", "depth"), [(64, 128, 64), (192, 32, 32), (256, 16, 16), (128, 160, 64)])
def test_other_tiles(rows: int, columns: int, depth: int) -> None:
    """One, two and three consumers, several blocks of rows, and swizzles of 128, 64 and 32 bytes."""
    a, b, c = matrix(264, 72, 1), matrix(72, 136, 2), matrix(264, 136, 3)
    text = product(rows=rows, columns=columns, depth=depth)
    execute(text, (-(-264 // rows), -(-136 // columns), 1), a, b, c)
    np.testing.assert_array_equal(c, (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16))


def test_what_is_added_to() -> None:
    """A matrix that each thread loads, computes with, and stores, at edges and inside."""
    a, b, c = matrix(264, 72, 1), matrix(72, 136, 2), matrix(264, 136, 3)
    before = c.astype(np.float32)
    text = added(columns=64)
    execute(text, (3, 3, 1), np.float32(2), np.float32(0.5), a, b, c)
    product_ = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(c, (2 * product_ + np.float32(0.5) * before).astype(BF16))


def test_whole_numbers() -> None:
    """Factors of 8 bits, which lie along the depth, and results that each thread stores."""
    a, b, c = (matrix(n, m, seed, np.dtype(np.int8)) for seed, (n, m) in enumerate(((80, 264), (80, 144), (264, 144))))
    text = of_bytes(columns=64)
    execute(text, (3, 3, 1), a, b, c, seed=2)
    np.testing.assert_array_equal(c, (a.T.astype(np.int32) @ b.astype(np.int32)).astype(np.int8))


def test_factors_of_tf32() -> None:
    """Results of 32 bits through shared memory."""
    a, b, c = (matrix(n, m, k, np.dtype(np.float32)) for k, (n, m) in enumerate(((72, 264), (72, 136), (264, 136))))
    text = of_tf32(columns=64)
    execute(text, (3, 3, 1), a, b, c)
    np.testing.assert_array_equal(c, a.T @ b)


def test_a_finding_ends_nobody() -> None:
    """A tile that lies outside is found by the producer; the others are as they would be without it."""
    text = product(rows=128, columns=64, checked="", epilogue=STORE_UNCHECKED)
    a, b, c = matrix(192, 64, 1), matrix(64, 64, 2), matrix(192, 64, 3)
    with pytest.raises(Failed) as found:
        execute(text, (2, 1, 1), a, b, c)
    assert found.value.code == "run.out_of_bounds" and found.value.argument == "A"
    wanted = (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16)
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize(("parts", "maps"), [((1, 2), True), ((2, 1), False), ((2, 2), True)])
def test_work_groups_in_parts(parts: tuple[int, int], *, maps: bool) -> None:
    """A grid for larger tiles is gone through in smaller ones; those beyond the matrix do nothing."""
    a, b, c = matrix(136, 72, 1), matrix(72, 136, 2), matrix(136, 136, 3)
    function = function_of(product(rows=64, columns=64))
    made = emitted(tile_kernel(function, maps=maps), checks=True, parts=parts)
    grid = -(-136 // (64 * parts[0])), -(-136 // (64 * parts[1])), 1
    TileMachineKernel(function, made)(grid, a, b, c)
    np.testing.assert_array_equal(c, (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16))


@pytest.mark.parametrize(("parts", "rows", "maps"), [(3, 64, True), (2, 128, True), (4, 64, False)])
def test_parts_of_the_depth(parts: int, rows: int, *, maps: bool) -> None:
    """Each CTA leaves its sums, whoever comes last adds up all; counters are zero again."""
    a, b, c = matrix(136, 200, 1), matrix(200, 72, 2), matrix(136, 72, 3)
    function = function_of(product(rows=rows, columns=64).replace("subgroup_size=32", PERMITTED))
    made = emitted(tile_kernel(function, maps=maps, parts=parts), checks=True)
    done = TileMachineKernel(function, made, multiprocessors=3)((-(-136 // rows), 2, 1), a, b, c)
    np.testing.assert_array_equal(c, (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16))
    assert {"atom.acq_rel.gpu.global.inc.u32", "bar.red.or.pred"} <= done.executed.keys()


def test_parts_of_what_is_added_to() -> None:
    a, b, c = matrix(72, 136, 1), matrix(136, 72, 2), matrix(72, 72, 3)
    before, text = c.astype(np.float32), added(columns=64).replace("subgroup_size=32", PERMITTED)
    function = function_of(text)
    made = emitted(tile_kernel(function, parts=2), checks=True)
    TileMachineKernel(function, made)((1, 2, 1), np.float32(2), np.float32(0.5), a, b, c, seed=5)
    product_ = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(c, (2 * product_ + np.float32(0.5) * before).astype(BF16))


def test_parts_of_two_products() -> None:
    """Both have sums of their own, which one CTA adds up."""
    a, b, d = matrix(64, 136, 1), matrix(136, 64, 2), matrix(136, 64, 3)
    c, e = matrix(64, 64, 4), matrix(64, 64, 5, np.dtype(np.float32))
    function = function_of(twin(64))
    TileMachineKernel(function, emitted(tile_kernel(function, parts=2), checks=True))((1, 1, 1), a, b, d, e, c)
    np.testing.assert_array_equal(c, (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16))
    np.testing.assert_array_equal(e, a.astype(np.float32) @ d.astype(np.float32))


def test_parts_of_whole_numbers_need_no_permission() -> None:
    a, b, c = (matrix(n, m, seed, np.dtype(np.int8)) for seed, (n, m) in enumerate(((272, 72), (272, 72), (72, 72))))
    function = function_of(of_bytes(columns=64))
    TileMachineKernel(function, emitted(tile_kernel(function, parts=3), checks=False))((1, 2, 1), a, b, c)
    np.testing.assert_array_equal(c, (a.T.astype(np.int32) @ b.astype(np.int32)).astype(np.int8))


def inside(array: Array, first: int, strides: tuple[int, int]) -> Array:
    """The same matrix as a part of a larger array: from element `first` on, with strides in elements."""
    rows, columns = array.shape
    last = first + (rows - 1) * strides[0] + (columns - 1) * strides[1]
    larger = np.zeros(last + 1, array.dtype)
    size = array.itemsize
    found = np.lib.stride_tricks.as_strided(larger[first:], array.shape, (strides[0] * size, strides[1] * size))
    found[...] = array
    return found


@pytest.mark.parametrize(
    ("first", "pitch", "size", "transposed"),
    [(0, 73, 72, True), (1, 75, 72, False), (3, 130, 128, True), (2, 68, 64, False), (8, 136, 64, False)],
)
def test_lines_that_begin_anywhere(first: int, pitch: int, size: int, *, transposed: bool) -> None:
    """Tiles that are gathered: aligned, shifted by words, at edges and whole."""
    a, b, c = matrix(size, size, 1), matrix(size, size, 2), matrix(size, size, 3)
    text = product(rows=64, columns=64, transpose_a=transposed)
    made = emitted(tile_kernel(function_of(text), maps=False), checks=True)
    grid = -(-size // 64), -(-size // 64), 1
    given = [inside(one, first, (1, pitch)) for one in (a, b, c)]
    TileMachineKernel(function_of(text), made)(grid, *given)
    left = a.T if transposed else a
    np.testing.assert_array_equal(given[2], (left.astype(np.float32) @ b.astype(np.float32)).astype(BF16))


@pytest.mark.parametrize(("rows", "pitch"), [(5, 5), (1, 3), (64, 65)])
def test_tiles_that_lie_outside(rows: int, pitch: int) -> None:
    """Nothing is read for a tile behind the last row, or the last column, wherever lines begin."""
    a, b, c = matrix(rows, 64, 1), matrix(64, 7, 2), matrix(rows, 7, 3)
    given = [inside(a, 0, (1, pitch)), b, c]
    made = emitted(tile_kernel(function_of(product(rows=64, columns=64)), maps=False), checks=True)
    TileMachineKernel(function_of(product(rows=64, columns=64)), made)((2, 2, 1), *given)
    np.testing.assert_array_equal(c, (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16))


def test_matrices_of_groups() -> None:
    """Products of different sizes in one launch; a member too many is a finding, and has no elements."""
    sizes = ((72, 33, 130), (5, 7, 64), (64, 0, 8))
    given = [[matrix(m, k, 1) for m, _, k in sizes], [matrix(k, n, 2) for _, n, k in sizes]]
    results = [matrix(m, n, 3) for m, n, _ in sizes]
    function = function_of(grouped())
    launch_ = TileMachineKernel(function, emitted_from(grouped(), checks=True))
    launch_((2, 1, 3), *given, results)
    for a, b, c in zip(*given, results, strict=True):
        np.testing.assert_array_equal(c, (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16))
    kept = [one.copy() for one in results]
    with pytest.raises(Failed) as found:
        launch_((1, 1, 5), *given, results)
    assert found.value.code == "run.out_of_bounds" and found.value.argument == "As"
    for one, before in zip(results, kept, strict=True):
        np.testing.assert_array_equal(one, before)


@pytest.mark.parametrize("null", [False, True])
def test_members_of_a_known_size(null: bool) -> None:
    """There is nothing of them where the group has no such member, or is none."""
    text = grouped().replace("bf16x?x?", "bf16x64x64").replace("size %A[1]", "constant 64")
    a, b, c = ([matrix(64, 64, seed)] for seed in (1, 2, 3))
    before = c[0].copy()
    with pytest.raises(Failed) as found:
        execute(text, (1, 1, 2), None if null else a, b, c)
    assert found.value.argument == ("As" if null else found.value.argument)
    wanted = (a[0].astype(np.float32) @ b[0].astype(np.float32)).astype(BF16)
    np.testing.assert_array_equal(c[0], np.zeros_like(before) if null else wanted)


@pytest.mark.parametrize(
    ("type", "neighbours"),
    [("bf16", (3, 401)), ("i8", (1, 201)), ("i8", (3, 401)), ("f32", (1, 201)), ("f32", (2, 301))],
)
def test_components_that_lie_anywhere(type: str, neighbours: tuple[int, int]) -> None:
    """Tiles that are gathered from memory whose strides are not known, of numbers of every size."""
    size, text = 72, product(rows=64, columns=64)
    if type != "bf16":
        text = (of_bytes if type == "i8" else of_tf32)(columns=64)
    text = text.replace("x?x?>", "x?x?,strided<?,?>>")
    kinds: dict[str, Any] = {"bf16": BF16, "i8": np.int8, "f32": np.float32}
    a, b = (matrix(size, size, k, np.dtype(kinds[type])) for k in (1, 2))
    epilogue_type = np.int8 if type == "i8" else kinds[type]
    given = [inside(one, 5, neighbours) for one in (a, b, np.zeros((size, size), epilogue_type))]
    made = emitted(tile_kernel(function_of(text), maps=False), checks=True)
    TileMachineKernel(function_of(text), made)((2, 2, 1), *given)
    left = a if type == "bf16" else a.T
    wanted = left.astype(np.float64) @ b.astype(np.float64)
    if type == "i8":
        wanted = wanted.astype(np.int64)
    np.testing.assert_array_equal(given[2], wanted.astype(epilogue_type))


@pytest.mark.parametrize("rows", [0, 2])
def test_findings_in_scalar_arithmetic(rows: int) -> None:
    """A division by zero is found, once in each work-group, and nobody waits for ever."""
    text = product(rows=64, columns=64).replace("(%A:", "(%n: index, %A:", 1)
    text = text.replace("    %k = size", "    %one = div %column, %n : index\n    %k = size", 1)
    a, b, c = matrix(64, 64, 1), matrix(64, 64, 2), matrix(64, 64, 3)
    wanted = (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16)
    if rows:
        execute(text, (1, 1, 1), rows, a, b, c)
    else:
        with pytest.raises(Failed) as found:
            execute(text, (1, 1, 1), rows, a, b, c)
        assert found.value.code == "run.division_by_zero" and found.value.argument == "n"
    np.testing.assert_array_equal(c, wanted)


def agrees(seed: int) -> None:
    """Check that a random program does in PTX what it does in the interpreter, where a launch has maps for it."""
    built = program(seed)
    (function,) = girih.parse(built.text).functions
    made = emitted(tile_kernel(function), checks=True)
    arguments = built.fresh()
    try:
        made_maps(made, accept(specifications(function), arguments))
    except IllegalMapError:
        return
    wanted, findings = ended(built, lambda given: launch(function, built.grid, given))
    found = set()
    try:
        TileMachineKernel(function, made)(built.grid, *arguments, seed=seed)
    except Failed as failed:
        found = {(failed.code, failed.argument)}
    assert found <= {(code, argument) for code, _, argument in findings} and bool(found) == bool(findings), built.text
    held = dict(zip(built.arguments, arguments, strict=True))
    for name, before in wanted.items():
        # What lies outside of a tile with a finding is as nobody left it; zeros have either sign.
        if not findings:
            array = held[name]
            np.testing.assert_array_equal(array, np.frombuffer(before, array.dtype).reshape(array.shape), built.text)


@pytest.mark.parametrize("block", [0, *more(range(1, 20))])
def test_random_programs(block: int) -> None:
    with every_case() as case:
        for seed in range(10 * block, 10 * (block + 1)):
            with case(f"seed {seed}"):
                agrees(seed)
