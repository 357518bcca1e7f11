"""Cooperative matrices in interleaved blocks: the CPU agrees with the interpreter, and refuses what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.addressing import BlockedInterleaved
from tests.back.harness import Failed, compare, compiled, copy_of, run
from tests.back.test_coopmatrix import DTYPES, ONE, kernel, matrix, memref, numbers
from tests.cases import crossed

Array = NDArray[Any]


def row(type: str, count: int, seed: int) -> Array:
    """So many numbers."""
    return numbers(type, count, 1, seed).reshape(-1).copy()


@pytest.mark.parametrize(("type", "stride"), crossed(["i8", "bf16", "f32", "f64", "c32"], [1, 2, 4, 3, 5], first=1))
def test_both_orders_in_both_directions(type: str, stride: int) -> None:
    """A matrix in registers or few bytes, and a large one, at elements that are not aligned to blocks."""
    width = 16 // np.dtype(DTYPES[type]).itemsize
    parameters, body = [], "%o = constant 3 : index"
    arrays: list[Array] = []
    for k, (down, across) in enumerate([(1, 1), (3, 2)]):
        m, n = 4 * down * stride, width * across * stride
        held = matrix(type, (m, n))
        parameters += [f"%{name}{k}: memref<{type}x?>" for name in "ABC"] + [memref(f"D{k}", type)]
        arrays += [row(type, m * n + 3, seed) for seed in range(3)] + [numbers(type, m, n, 3)]
        body += f"""
        %a{k} = cooperative_matrix_load.row_blocked_interleaved %A{k}[%o], {stride} : {held}
        %b{k} = cooperative_matrix_load.column_blocked_interleaved %A{k}[%z], {stride} : {held}
        cooperative_matrix_store %a{k}, %D{k}[%z,%z]
        cooperative_matrix_store.column_blocked_interleaved %a{k}, %B{k}[%o], {stride}
        %c{k} = add %a{k}, %b{k} : {held}
        cooperative_matrix_store.row_blocked_interleaved %c{k}, %C{k}[%z], {stride}"""
    compare(kernel(", ".join(parameters), body), ONE, *arrays)


def test_the_model_says_the_same() -> None:
    held = matrix("i8", (8, 64))
    body = f"""
      %a = cooperative_matrix_load.row_blocked_interleaved %A[%z], 2 : {held}
      cooperative_matrix_store %a, %D[%z,%z]"""
    a, d = row("i8", 512, 1), np.zeros((8, 64), np.int8, order="F")
    run(kernel(f"%A: memref<i8x?>, {memref('D', 'i8')}", body), ONE, a, d)
    np.testing.assert_array_equal(d, BlockedInterleaved("row", 8, 64, 1, 2).load(a))


HELD = matrix("f32", (4, 8))
LOAD = f"""
    %a = cooperative_matrix_load.row_blocked_interleaved %A[%n], 2 : {HELD}
    cooperative_matrix_store.row_blocked_interleaved %a, %A[%z], 2"""
STORE = f"""
    %a = cooperative_matrix_load.row_blocked_interleaved %A[%z], 2 : {HELD}
    cooperative_matrix_store.row_blocked_interleaved %a, %A[%n], 2"""


@pytest.mark.parametrize("body", [LOAD, STORE])
def test_what_lies_outside_is_found(body: str) -> None:
    """The same words, and the same numbers, as the interpreter has."""
    text = kernel("%A: memref<f32x?>, %n: index", body)
    program = girih.loads(text, target="interpreter")["f"]
    mine = compiled(text)
    for size, offset in [(40, 9), (40, -1), (40, 2**62), (31, 0)]:
        a = row("f32", size, 0)
        with pytest.raises(girih.KernelError) as wanted:
            program[ONE](copy_of(a), offset)
        with pytest.raises(Failed) as found:
            mine(ONE, a, offset)
        finding = wanted.value.findings[0]
        assert finding.code == found.value.code == "run.out_of_bounds"
        assert finding.argument == found.value.argument == "A"
        assert found.value.values == [offset, size]
        assert (finding.index, finding.shape) == ((offset,), (size,))
        assert finding.message.startswith(found.value.message)
    a = row("f32", 40, 0)
    mine(ONE, a, 8)


def test_blocks_of_a_group_with_an_offset() -> None:
    text = """
    func @f(%G: group<memref<f32x?>x1, offset: ?>, %B: memref<f32x8x4>)
            attributes {subgroup_size=8, work_group_size=[8,1]} {
        %z = constant 0 : index
        parallel {
            %A = load %G[%z] : memref<f32x?>
            %a = cooperative_matrix_load.row_blocked_interleaved %A[%z], 1 : coopmatrix<f32x8x4,matrix_acc>
            cooperative_matrix_store %a, %B[%z,%z]
        }
    }
    """
    a, b = row("f32", 48, 0), np.zeros((8, 4), np.float32, order="F")
    program = girih.loads(text, target="interpreter")["f"]
    mine = compiled(text)
    mine(ONE, girih.Group([a], 16), b)
    program[ONE](girih.Group([a], 16), c := np.zeros_like(b))
    np.testing.assert_array_equal(b, c)
    with pytest.raises(girih.KernelError, match=r"run\.out_of_bounds"):
        program[ONE](girih.Group([a], 17), b)
    with pytest.raises(Failed, match=r"run\.out_of_bounds"):
        mine(ONE, girih.Group([a], 17), b)


def test_memory_that_is_not_there_is_found() -> None:
    text = """
    func @f(%G: group<memref<f32x?>x1>) attributes {subgroup_size=8, work_group_size=[8,1]} {
        %z = constant 0 : index
        parallel {
            %A = load %G[%z] : memref<f32x?>
            %a = constant 1.0 : coopmatrix<f32x8x4,matrix_acc>
            cooperative_matrix_store.row_blocked_interleaved %a, %A[%z], 1
        }
    }
    """
    with pytest.raises(Failed, match=r"run\.null"):
        run(text, ONE, [None])
