"""Tile kernels in the simulator: they compute what the interpreter computes, whoever goes first."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from girih.diagnostics import KernelError
from girih.interpreter.launch import launch
from girih.interpreter.machine.permissions import in_tf32
from girih.ir.core import Function
from girih.tile.form import TileKernel, Verify, WorkOrder, walk
from girih.tile.recognise import tile_kernel
from girih.tile.simulate.barriers import PhaseBarrier
from girih.tile.simulate.copies import IllegalMap
from girih.tile.simulate.engine import WAYS, Interleaving, interleavings
from girih.tile.simulate.faults import RULES, ScheduleFault
from girih.tile.simulate.launch import simulate
from girih.tile.simulate.order import work_of
from tests.tile import kernels
from tests.tile.programs import PERMITTED, STORE, attention, batched, function_of, grouped, product
from tests.tile.test_recognise import SCALED, of_library

Array = NDArray[Any]
BF16 = np.dtype(ml_dtypes.bfloat16)


def whole(*shape: int, seed: int = 0, dtype: Any = BF16) -> Array:
    """Small whole numbers, of which sums of products are exact in f32."""
    return np.asfortranarray(np.random.default_rng([seed, *shape]).integers(-4, 5, shape).astype(dtype))


def normal(*shape: int, seed: int = 0, dtype: Any = BF16) -> Array:
    """Numbers around 0."""
    return np.asfortranarray(np.random.default_rng([seed, *shape]).standard_normal(shape).astype(dtype))


def same_as_interpreter(
    function: Function, kernel: TileKernel, grid: tuple[int, int, int], arguments: list[Any], *, seeds: int = 3
) -> None:
    """Check that each interleaving leaves the bits in the last array argument that the interpreter leaves there."""
    (out,) = (k for k, one in enumerate(function.parameters) if one.name in ("C", "O"))
    expected = [argument.copy(order="K") if k == out else argument for k, argument in enumerate(arguments)]
    launch(function, grid, expected)
    for interleaving in interleavings(seeds):
        found = [argument.copy(order="K") if k == out else argument for k, argument in enumerate(arguments)]
        simulate(kernel, grid, found, interleaving)
        assert found[out].tobytes() == expected[out].tobytes(), interleaving


def blank(*shape: int, dtype: Any = BF16) -> Array:
    """An array that a kernel is to write."""
    return np.full(shape, 77, dtype, order="F")


# --- numbers ------------------------------------------------------------------------------------


def test_a_product_by_hand() -> None:
    a, b, c = whole(264, 136), whole(136, 136), blank(264, 136)
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(BF16)
    for interleaving in interleavings(3):
        c[...] = 77
        simulate(kernels.product(), (2, 2, 1), (a, b, c), interleaving)
        assert (c == expected).all()


TURNED_STORE = STORE.replace("store.both", "store.t.both").replace("[%row, %column]", "[%column, %row]")


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("epilogue", [STORE, TURNED_STORE])
def test_a_product_in_every_order(transpose_a: bool, transpose_b: bool, epilogue: str) -> None:
    text = product(rows=64, columns=64, depth=32, transpose_a=transpose_a, transpose_b=transpose_b, epilogue=epilogue)
    function = function_of(text)
    m, n, k = 136, 72, 88
    a, b = whole(*((k, m) if transpose_a else (m, k))), whole(*((n, k) if transpose_b else (k, n)))
    c = blank(*((n, m) if epilogue is TURNED_STORE else (m, n)))
    same_as_interpreter(function, tile_kernel(function), (3, 2, 1), [a, b, c], seeds=1)


@pytest.mark.parametrize(
    ("parts", "depth", "maps", "rows"), [(2, 136, True, 64), (3, 88, False, 64), (4, 64, True, 128), (7, 40, True, 64)]
)
def test_parts_of_the_depth(parts: int, depth: int, maps: bool, rows: int) -> None:
    """As many iterations for each part, or fewer for the last, or none; one CTA executes several, or each one."""
    text = product(rows=rows, columns=64, depth=16).replace("subgroup_size=32", PERMITTED)
    function = function_of(text)
    kernel = tile_kernel(function, maps=maps, parts=parts)
    same_as_interpreter(function, kernel, (2, 2, 1), [whole(104, depth), whole(depth, 72), blank(104, 72)], seeds=1)


def test_what_is_added_to_the_sum_of_all_parts() -> None:
    """C := alpha A B + beta C: C is read and written once, by whoever comes last."""
    text = product(rows=64, columns=64, depth=16, epilogue=SCALED.replace("128x256", "64x64"))
    text = text.replace("@product(", "@product(%alpha: f32, %beta: f32, ").replace("subgroup_size=32", PERMITTED)
    function = function_of(text)
    arguments: list[Any] = [np.float32(2), np.float32(3), whole(72, 64), whole(64, 72), whole(72, 72, seed=3)]
    same_as_interpreter(function, tile_kernel(function, parts=2), (2, 2, 1), arguments, seeds=1)


def test_matrices_of_groups() -> None:
    """Products of different sizes in one launch; tiles that lie outside of a small one do nothing."""
    function, sizes = function_of(grouped()), ((72, 33, 130), (5, 7, 64), (64, 0, 8))
    given = [[whole(m, k) for m, _, k in sizes], [whole(k, n) for _, n, k in sizes]]
    wanted, found = ([blank(m, n) for m, n, _ in sizes] for _ in range(2))
    launch(function, (2, 1, 3), [*given, wanted])
    simulate(tile_kernel(function), (2, 1, 3), [*given, found])
    for one, other in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_sums_of_nothing() -> None:
    function = function_of(product(rows=64, columns=64, depth=32))
    same_as_interpreter(function, tile_kernel(function), (1, 1, 1), [whole(64, 0), whole(0, 64), blank(64, 64)])


@pytest.mark.parametrize(("type", "sum", "depth"), [("f16", "f32", 32), ("i8", "i32", 64)])
def test_products_of_other_types(type: str, sum: str, depth: int) -> None:
    dtype = {"f16": np.float16, "i8": np.int8}[type]
    text = product(type=type, sum=sum, rows=128, columns=64, depth=depth, transpose_a=type == "i8")
    function = function_of(text)
    a = whole(*((160, 144) if type == "i8" else (144, 160)), dtype=dtype)
    same_as_interpreter(
        function, tile_kernel(function), (2, 2, 1), [a, whole(160, 80, dtype=dtype), blank(144, 80, dtype=dtype)]
    )


def test_factors_are_rounded_to_tf32_where_that_is_allowed() -> None:
    text = product(type="f32", rows=128, columns=64, depth=32, transpose_a=True)
    function = function_of(text.replace("subgroup_size=32", 'allow=["tf32"], subgroup_size=32'))
    a, b, c = normal(96, 128, dtype=np.float32), normal(96, 64, dtype=np.float32), blank(128, 64, dtype=np.float32)
    expected = in_tf32(a).T.astype(np.float64) @ in_tf32(b).astype(np.float64)
    simulate(tile_kernel(function), (1, 1, 1), (a, b, c))
    np.testing.assert_allclose(c, expected, rtol=0, atol=1e-4)
    exact = a.T.astype(np.float64) @ b.astype(np.float64)
    assert np.abs(c - exact).max() > 1e-3


def test_a_scaled_sum() -> None:
    text = product(epilogue=SCALED).replace("@product(", "@product(%alpha: f32, %beta: f32, ")
    function = function_of(text)
    arguments = [np.float32(0.5), np.float32(-2), whole(144, 72), whole(72, 264), whole(144, 264, seed=1)]
    same_as_interpreter(function, tile_kernel(function), (2, 2, 1), arguments)


@pytest.mark.parametrize(("queries", "keys"), [(200, 100), (136, 8), (8, 264)])
def test_attention(queries: int, keys: int) -> None:
    function = function_of(attention(length=64, keys=32))
    q, k, v = normal(64, queries, 2), normal(64, keys, 2, seed=1), normal(64, keys, 2, seed=2)
    arguments = [q, k, v, blank(64, queries, 2), np.float32(0.3)]
    same_as_interpreter(function, tile_kernel(function), (-(-queries // 128), 2, 1), arguments, seeds=2)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_the_library(causal: bool) -> None:
    function = of_library("attention_work_group", queries=128, keys=32, headdim=64, type="bf16", causal=causal)
    q, k, v = normal(64, 136, 2), normal(64, 72, 1, seed=1), normal(64, 72, 1, seed=2)
    found, expected, scale = blank(64, 136, 2), blank(64, 136, 2), np.float32(0.3)
    launch(function, (2, 2, 1), (q, k, v, expected, scale))
    for interleaving in interleavings(2):
        simulate(tile_kernel(function), (2, 2, 1), (q, k, v, found, scale), interleaving)
        # Rows are added up over the same numbers in another order, as the language leaves open.
        np.testing.assert_allclose(found.astype(np.float32), expected.astype(np.float32), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("shape", [(128, 128, 64), (136, 72, 40), (256, 8, 200)])
def test_a_product_of_the_library(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    function = of_library("gemm_work_group", type="bf16", result="bf16", rows=128, columns=128, depth=32)
    same_as_interpreter(
        function, tile_kernel(function), (-(-m // 128), -(-n // 128), 1), [whole(m, k), whole(k, n), blank(m, n)]
    )


# --- findings -------------------------------------------------------------------------------------


def test_findings_are_those_of_the_interpreter() -> None:
    function = function_of(product(checked="", rows=64, columns=64, depth=32))
    arrays = [whole(136, 40), whole(40, 72), blank(136, 72)]
    with pytest.raises(KernelError) as expected:
        launch(function, (3, 2, 1), arrays)
    for interleaving in interleavings(2):
        with pytest.raises(KernelError) as found:
            simulate(tile_kernel(function), (3, 2, 1), arrays, interleaving)
        assert {(one.code, one.span, one.argument) for one in found.value.findings} == {
            (one.code, one.span, one.argument) for one in expected.value.findings
        }
    assert (arrays[2] == 77).all(), "the arrays stay as they were"


SCALARS = {
    "a division": "%one = div %column, %n : index",
    "a remainder in a branch": """%some = less_than %n, %rows : bool
    %one = if %some -> (index) {
        %rest = rem %column, %n : index
        yield (%rest)
    } else {
        yield (%column)
    }""",
    "a shift": """%far = constant 64 : index
    %by = sub %far, %n : index
    %one = shl %column, %by : index""",
}
"""Scalar arithmetic on %n of type index, which is 0, in which something is wrong."""


@pytest.mark.parametrize("wrong", SCALARS.values(), ids=SCALARS.keys())
def test_findings_in_scalar_arithmetic(wrong: str) -> None:
    text = product(rows=64, columns=64, depth=32).replace("(%A:", "(%n: index, %A:", 1)
    function = function_of(text.replace("    %k = size", f"    {wrong}\n    %k = size", 1))
    arrays = [0, whole(64, 40), whole(40, 64), blank(64, 64)]
    with pytest.raises(KernelError) as expected:
        launch(function, (1, 1, 1), arrays)
    with pytest.raises(KernelError) as found:
        simulate(tile_kernel(function), (1, 1, 1), arrays)
    assert {(one.code, one.span, one.argument) for one in found.value.findings} == {
        (one.code, one.span, one.argument) for one in expected.value.findings
    }
    assert not any(isinstance(step, Verify) for step in walk(tile_kernel(function, checks=False).producer.body))


def test_divisors_that_are_known_take_no_check() -> None:
    known = "%two = constant 2 : index\n    %one = div %column, %two : index"
    text = product(rows=64, columns=64, depth=32).replace("    %k = size", f"    {known}\n    %k = size", 1)
    assert not any(isinstance(step, Verify) for step in walk(tile_kernel(function_of(text)).producer.body))


def test_illegal_maps_are_refused() -> None:
    function = function_of(product(rows=64, columns=64, depth=32))
    with pytest.raises(IllegalMap, match=r"(?s)map0: .*multiple of 16"):
        simulate(tile_kernel(function), (1, 1, 1), (whole(60, 32), whole(32, 64), blank(60, 64)))


# --- who goes first -------------------------------------------------------------------------------


def test_interleavings_differ() -> None:
    text = product(rows=64, columns=64, depth=32)
    kernel = tile_kernel(function_of(text))
    arrays = (whole(64, 128), whole(128, 64), blank(64, 64))
    begun = {}
    for interleaving in interleavings(3):
        seen: list[str] = []
        simulate(kernel, (1, 1, 1), arrays, interleaving, told=seen.append)
        begun[interleaving] = tuple(seen)
    assert len(set(begun.values())) == len(begun)
    assert [one.way for one in begun][: len(WAYS)] == list(WAYS)
    early, late = begun[Interleaving("early")], begun[Interleaving("late")]
    copies = "copies to ring0 end"
    assert "the producer" not in early[early.index(copies) : early.index(copies) + early.count(copies) // 4]
    roles = set(late[: late.index(copies)])
    assert roles == {"the producer", "consumer 0"}, "nothing ends as long as somebody can go on"


def test_every_work_group_is_executed_once() -> None:
    for grid in [(1, 1, 1), (7, 3, 2), (9, 5, 1), (2, 8, 1)]:
        for group in (1, 2, 4, 8):
            for ctas in (1, 3, 100):
                for order in (WorkOrder(group=group), WorkOrder(False, group, True)):
                    work = [place for one in work_of(order, grid, ctas) for place, _ in one]
                    places = {(x, y, z) for x in range(grid[0]) for y in range(grid[1]) for z in range(grid[2])}
                    assert len(work) == len(places)
                    assert set(work) == places


def test_the_order_of_work_groups() -> None:
    (work,) = work_of(WorkOrder(group=2), (3, 2, 1), 1)
    assert [place for place, _ in work] == [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (2, 0, 0), (2, 1, 0)]
    first, second = work_of(WorkOrder(last_first=True), (2, 2, 1), 2)
    assert [place for place, _ in first] == [(1, 0, 0), (0, 0, 0)]
    assert [place for place, _ in second] == [(1, 1, 0), (0, 1, 0)]
    first, second = work_of(WorkOrder(), (2, 1, 1), 2, parts=3)
    assert first == [((0, 0, 0), 0), ((0, 0, 0), 2), ((1, 0, 0), 1)]
    assert second == [((0, 0, 0), 1), ((1, 0, 0), 0), ((1, 0, 0), 2)]


# --- barriers -------------------------------------------------------------------------------------


def test_a_phase_is_over_when_all_arrived_and_all_bytes_came() -> None:
    barrier = PhaseBarrier("`full`", 2)
    barrier.arrive(expected_bytes=64)
    barrier.came(32)
    barrier.arrive()
    assert not barrier.passed(0)
    assert barrier.state() == "`full` lacks 32 bytes in its phase 0"
    barrier.came(32)
    assert barrier.passed(0)
    assert not barrier.passed(1)
    assert barrier.state() == "`full` lacks 2 of 2 arrivals in its phase 1"


def test_a_wait_that_another_phase_ends_is_told() -> None:
    barrier = PhaseBarrier("`empty`", 1)
    assert barrier.passed(-1), "the slots of a new ring are empty"
    barrier.arrive()
    barrier.arrive()
    with pytest.raises(ScheduleFault, match="2 phases are over when the end of phase 0 is waited") as found:
        barrier.passed(0)
    assert found.value.rule == "phase"
    assert found.value.expected == RULES["phase"]
    with pytest.raises(ScheduleFault, match="2 phases are over when the end of phase -1 is waited for"):
        barrier.passed(-1)
    waiting = PhaseBarrier("`full`", 1)
    waiting.missing = 16
    waiting.arrive()
    with pytest.raises(ScheduleFault, match="more than 1 arrived in one phase"):
        waiting.arrive()


# --- tiles that threads gather --------------------------------------------------------------------


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("epilogue", [STORE, TURNED_STORE])
def test_a_product_without_maps(transpose_a: bool, epilogue: str) -> None:
    """Arrays of 73 rows have no maps, as their columns begin at odd multiples of two bytes."""
    function = function_of(product(rows=64, columns=64, depth=32, transpose_a=transpose_a, epilogue=epilogue))
    kernel = tile_kernel(function, checks=False, maps=False)
    m, n, k = 73, 69, 35
    a, b = whole(*((k, m) if transpose_a else (m, k))), whole(k, n)
    c = blank(*((n, m) if epilogue is TURNED_STORE else (m, n)))
    same_as_interpreter(function, kernel, (2, 2, 1), [a, b, c])


def test_bytes_that_are_turned() -> None:
    store = STORE.replace("cast %product : coopmatrix<$type", "cast %product : coopmatrix<i8")
    function = function_of(product(type="i8", sum="i32", rows=64, columns=32, depth=64, epilogue=store))
    kernel = tile_kernel(function, checks=False)
    assert kernel.gathers and kernel.maps
    a, b, c = whole(80, 96, dtype=np.int8), whole(96, 48, dtype=np.int8), blank(80, 48, dtype=np.int8)
    same_as_interpreter(function, kernel, (2, 2, 1), [a, b, c])


def test_attention_without_maps() -> None:
    function = function_of(attention(length=64, queries=64, keys=64))
    kernel = tile_kernel(function, checks=False, maps=False)
    q, k, v, out = whole(64, 70, 2), whole(64, 90, 2, seed=1), whole(64, 90, 2, seed=2), blank(64, 70, 2)
    found = out.copy(order="K")
    launch(function, (2, 2, 1), [q, k, v, out, 0.0625])
    simulate(kernel, (2, 2, 1), [q, k, v, found, 0.0625], Interleaving("late", 1))
    assert np.allclose(found.astype(np.float32), out.astype(np.float32), rtol=0.02, atol=0.02)


def test_products_of_many_pairs() -> None:
    function = function_of(batched(rows=64, columns=64, depth=32))
    kernel = tile_kernel(function, checks=False)
    a, b, c = whole(72, 40, 3), whole(40, 80, 3, seed=1), blank(72, 80, 3)
    same_as_interpreter(function, kernel, (2, 2, 3), [a, b, c], seeds=2)
