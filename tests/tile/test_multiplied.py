"""Products that threads compute themselves: what is recognised, its form, and its schedule in the simulator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from girih.tile.form import Await, GiveBack, Issue, Multiply, Repeat, TileKernel, TileProduct, walk
from girih.tile.program import NoTileProgram
from girih.tile.recognise import tile_kernel
from girih.tile.show import show
from girih.tile.simulate.engine import Interleaving
from girih.tile.simulate.faults import ScheduleFault
from girih.tile.simulate.launch import simulate
from girih.tile.threads.fragment import PRODUCT_FRAGMENT, Dealt, Fragment
from tests.conftest import Golden
from tests.tile.edits import Change, consuming, instead, without
from tests.tile.programs import function_of, product
from tests.tile.test_simulate import blank, same_as_interpreter, whole

STORE = "cooperative_matrix_store.both_checked %product, %C[%row, %column]"
DTYPES: dict[str, Any] = {"f32": np.float32, "f64": np.float64, "i32": np.int32}


def text_of(type: str = "f32", rows: int = 128, columns: int = 64, depth: int = 32, **options: Any) -> str:
    """C := op(A) op(B) of one type."""
    return product(type=type, sum=type, rows=rows, columns=columns, depth=depth, epilogue=STORE, **options)


def kernel_of(type: str = "f32", **options: Any) -> TileKernel:
    """The tile kernel of such a product."""
    return tile_kernel(function_of(text_of(type, **options)))


def the_loop(kernel: TileKernel) -> Repeat:
    """The loop over the depth of the consumers."""
    (found,) = (step for step in walk(kernel.consumers.body) if isinstance(step, Repeat))
    return found


def test_the_form(golden: Golden) -> None:
    golden("tile/multiplied.txt", show(kernel_of("f32", transpose_b=True)))


@pytest.mark.parametrize("type", ["f32", "f64", "i32"])
def test_products_are_there_behind_their_step(type: str) -> None:
    """No product runs on by itself: a slot is given back when it was multiplied."""
    loop = the_loop(kernel_of(type))
    assert [one.__class__ for one in loop.body] == [Await, Multiply, GiveBack]
    assert loop.body[2] == GiveBack("ring0")


def test_a_permission_leaves_products_of_f32_to_warpgroups() -> None:
    text = text_of(transpose_a=True).replace("subgroup_size=32", 'subgroup_size=32, allow=["tf32"]')
    steps = list(walk(tile_kernel(function_of(text)).consumers.body))
    assert any(isinstance(step, Issue) for step in steps) and not any(isinstance(step, Multiply) for step in steps)


@pytest.mark.parametrize(
    ("a", "b", "rows", "columns"),
    [(False, False, True, False), (False, True, True, True), (True, False, False, False), (True, True, False, True)],
)
def test_threads_have_neighbours_where_memory_has_them(*, a: bool, b: bool, rows: bool, columns: bool) -> None:
    kernel = kernel_of(transpose_a=a, transpose_b=b)
    assert kernel.fragment == Fragment(Dealt(4, 4, adjacent=rows), Dealt(8, 4, adjacent=columns))
    words = {True: "side by side", False: "apart"}
    line = f"fragment: rows 4 {words[rows]} for each of 4 lanes, columns 4 {words[columns]} for each of 8 lanes"
    assert line in show(kernel)
    assert "multiply" in show(kernel)


def test_sums_of_f64_lie_as_those_of_warpgroups() -> None:
    kernel = kernel_of("f64", depth=16)
    assert kernel.fragment == PRODUCT_FRAGMENT
    assert "fragment" not in show(kernel)


@pytest.mark.parametrize(
    ("text", "why", "help"),
    [
        (text_of(depth=16), "128x16 by 16x64 is no whole number of lines", "columns and the depth of 32"),
        (text_of("f64", columns=24), "128x32 by 32x24 is no whole number of lines", "columns and the depth of 16"),
        (text_of("f64", rows=128, columns=256), "matrices take 304 registers", "smaller tiles"),
    ],
)
def test_what_is_no_tile_program(text: str, why: str, help: str) -> None:
    with pytest.raises(NoTileProgram) as found:
        tile_kernel(function_of(text))
    assert why in found.value.reason
    assert help in found.value.hint


def test_factors_of_two_products_that_lie_in_different_ways() -> None:
    again = """%again = cooperative_matrix_load.both_checked %B[%row, %zero]
                : coopmatrix<f32x128x32,matrix_a,work_group>
        %turned = cooperative_matrix_load.t.both_checked %A[%column, %zero]
                : coopmatrix<f32x32x64,matrix_b,work_group>
        %both = cooperative_matrix_mul_add %again, %turned, %product : coopmatrix<f32x128x64,matrix_acc,work_group>
        """
    text = text_of().replace(STORE, again + STORE.replace("%product", "%both"))
    with pytest.raises(NoTileProgram, match="neighbours in memory are along different modes"):
        tile_kernel(function_of(text))


# --- the simulator --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "a", "b", "maps"),
    [("f32", False, False, True), ("f32", True, True, True), ("f64", False, True, True), ("i32", True, False, False)],
)
def test_the_simulator_equals_the_interpreter(type: str, *, a: bool, b: bool, maps: bool) -> None:
    dtype = DTYPES[type]
    function = function_of(text_of(type, transpose_a=a, transpose_b=b))
    left, right = ((72, 144) if a else (144, 72)), ((88, 72) if b else (72, 88))
    arguments = [whole(*left, dtype=dtype), whole(*right, dtype=dtype), blank(144, 88, dtype=dtype)]
    same_as_interpreter(function, tile_kernel(function, maps=maps), (2, 2, 1), arguments, seeds=2)


def behind(step: Multiply) -> tuple[Multiply]:
    """A product that reads a slot before."""
    one = step.product
    assert not isinstance(one.left, str)
    return (Multiply(replace(one, left=replace(one.left, behind=1))),)


def in_registers(step: Multiply) -> tuple[Multiply]:
    """A product of what is in registers."""
    return (Multiply(TileProduct(step.product.sums, step.product.sums, step.product.right)),)


def late(step: Repeat) -> tuple[Repeat]:
    """The product of a slot that was given back."""
    first, second, third = step.body
    return (replace(step, body=(first, third, second)),)


@pytest.mark.parametrize(
    ("change", "rule", "words"),
    [
        (instead(Multiply, behind), "held", "a product reads the slot of ring0 1 behind the last one while 1 slots"),
        (instead(Repeat, late), "held", "a product reads the slot of ring0 while 0 slots are held"),
        (without(GiveBack), "kept", "slots of ring0 are not given back"),
        (without(Await), "held", "a product reads the slot of ring0 while 0 slots"),
        (instead(Multiply, in_registers), "form", "of which a thread has its components only"),
    ],
)
def test_schedules_that_are_broken(change: Change, rule: str, words: str) -> None:
    kernel = consuming(kernel_of(), change)
    arguments = [whole(128, 32, dtype=np.float32), whole(32, 64, dtype=np.float32), blank(128, 64, dtype=np.float32)]
    with pytest.raises(ScheduleFault) as found:
        simulate(kernel, (1, 1, 1), arguments, Interleaving("late"))
    assert found.value.rule == rule
    assert words in str(found.value)


def test_lines_that_threads_do_not_read() -> None:
    """Tiles of other lines than of 128 bytes have other places in banks."""
    kernel = kernel_of()
    narrow = tuple(
        replace(ring, tiles=tuple(replace(tile, swizzle=64) for tile in ring.tiles)) for ring in kernel.rings
    )
    maps = tuple(replace(one, swizzle=64) for one in kernel.maps)
    arguments = [whole(128, 32, dtype=np.float32), whole(32, 64, dtype=np.float32), blank(128, 64, dtype=np.float32)]
    with pytest.raises(ScheduleFault) as found:
        simulate(replace(kernel, rings=narrow, maps=maps), (1, 1, 1), arguments, Interleaving("late"))
    assert "the bytes of a line of left differ: 64 and 128" in str(found.value)
