"""Small products on CUDA by `mma`, alone and several in a warp, and copies of factors that are under way meanwhile."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from girih.back.llvm.nvptx.machine.kernel import CudaVariant
from tests.back.harness import Failed
from tests.back.nvptx.launch import PtxMachineKernel
from tests.back.nvptx.test_collective import (
    HALF_ULP,
    assert_close,
    batched,
    check_batched,
    exact,
    function,
    numbers,
)
from tests.cases import every_case, one_in

FRAGMENTS = [
    (8, 8, 8), (16, 16, 16), (8, 16, 24), (24, 8, 16), (48, 24, 40), (16, 64, 8), (64, 64, 32), (56, 9, 56), (9, 8, 8),
    (7, 11, 16), (1, 3, 8), (4, 4, 4), (12, 12, 12), (4, 20, 4), (1, 33, 8), (17, 18, 19),
]  # fmt: skip
"""Sizes of products of f16 and bf16 that `mma` computes, where neighbours are copied four at a time, or are many."""


MODIFIERS, TYPES = ("n.n", "n.t", "t.n", "t.t"), (("bf16", "bf16"), ("f16", "f32"), ("bf16", "f16"))


@pytest.mark.parametrize(
    ("modifiers", "type", "result"), one_in(5, [(one, *types) for one in MODIFIERS for types in TYPES])
)
def test_small_products_by_fragments(modifiers: str, type: str, result: str) -> None:
    """Several work-groups in a warp, one, and several warps for one; the last warp has work-groups beyond the grid."""
    with every_case() as case:
        for number, sizes in enumerate(FRAGMENTS):
            with case(str(sizes)):
                kernel = check_batched(sizes, type, result, modifiers, number % 3, 5 if max(sizes) < 40 else 2)
                m, n, k = sizes
                runs = (k if modifiers[0] == "t" else m), (n if modifiers[2] == "t" else k)
                by_mma = m * n * k >= (256 if all(run % 4 == 0 for run in runs) else 4096)
                assert ("mma.sync" in kernel.variant(CudaVariant())[0].ptx) == by_mma


CHOSEN = """
func @chosen(%A: memref<bf16x8x8x?>, %B: memref<bf16x8x8x?>, %C: memref<bf16x8x8x?>) {
    %g = group_id.x : index
    %a = subview %A[0:8,0:8,%g] : memref<bf16x8x8>
    %b = subview %B[0:8,0:8,%g] : memref<bf16x8x8>
    %c = subview %C[0:8,0:8,%g] : memref<bf16x8x8>
    %one = constant 1.0 : bf16
    %three = constant 3.0 : bf16
    %zero = constant 0.0 : bf16
    %limit = constant 2 : index
    %first = less_than %g, %limit : bool
    if %first {
        gemm %one, %a, %b, %zero, %c
    } else {
        gemm %three, %a, %b, %zero, %c
    }
}
"""
"""Work-groups that take different branches."""


def test_work_groups_that_branch_apart_have_warps_of_their_own() -> None:
    """Threads of a warp that multiply for several work-groups must come to the same `mma`."""
    kernel = PtxMachineKernel(function(CHOSEN))
    made = kernel.variant(CudaVariant())[0]
    assert (made.threads, made.packed) == (128, 4)
    assert "mma.sync" in made.ptx
    rng = np.random.default_rng(1)
    a, b, c = (numbers(rng, (8, 8, 5), "bf16") for _ in range(3))
    kernel((5, 1, 1), a, b, c)
    x, y = (np.moveaxis(exact(held), 2, 0) for held in (a, b))
    factors = np.where(np.arange(5) < 2, 1, 3)
    wanted, size = (factors * np.moveaxis(one, 0, 2) for one in (x @ y, abs(x) @ abs(y)))
    assert_close(c, wanted, size, "bf16", 10)


IN_PLACE = """
func @in_place(%A: memref<f16x40x16,strided<?,?>>, %B: memref<f16x16x24,strided<?,?>>,
               %C: memref<f16x40x24,strided<{c}>>)
    attributes {{work_group_size=[{threads},1], subgroup_size={subgroup}}} {{
    %one = constant 1.0 : f16
    %two = constant 2.0 : f16
    %zero = constant 0.0 : f16
    %a = alloca : memref<f16x40x16,local>
    axpby %one, %A, %zero, %a
    gemm %two, %a, %B, %one, %C
    %c = alloca : memref<f16x40x24,local>
    gemm %one, %a, %B, %zero, %c
    axpby %one, %c, %one, %C
}}
"""
"""Products by the threads of the kernel, of local memory and of memory with gaps."""


@pytest.mark.parametrize(("threads", "subgroup"), one_in(2, [(160, 32), (512, 32), (32, 32), (64, 32), (64, 16)]))
def test_products_by_fragments_of_any_number_of_threads(threads: int, subgroup: int) -> None:
    """Fewer warps than blocks of the target, or more; of parts of warps there are none."""
    with every_case() as case:
        for c_strides in ("1,?", "?,1", "?,?"):
            for gap in (0, 3, 8):
                with case(f"{c_strides} {gap}"):
                    check_in_place(threads, subgroup, c_strides, gap)


def check_in_place(threads: int, subgroup: int, c_strides: str, gap: int) -> None:
    kernel = PtxMachineKernel(function(IN_PLACE.format(c=c_strides, threads=threads, subgroup=subgroup)))
    assert ("mma.sync" in kernel.variant(CudaVariant())[0].ptx) == (subgroup == 32)
    rng = np.random.default_rng(gap)
    a, b = numbers(rng, (40 + gap, 16), "f16")[:40], numbers(rng, (16 + gap, 24), "f16")[:16]
    c = numbers(rng, (40 + gap, 24), "f16")[:40] if c_strides[0] == "1" else numbers(rng, (24 + gap, 40), "f16")[:24].T
    before = exact(c)
    kernel((1, 1, 1), a, b, c)
    product, size = exact(a) @ exact(b), abs(exact(a)) @ abs(exact(b))
    # Three results are rounded to f16: each product, and the sum.
    bound = 3 * HALF_ULP["f16"] * (3 * size + abs(before))
    assert (abs(exact(c) - 3 * product - before) <= bound).all()


def test_a_finding_in_a_warp_of_several_work_groups() -> None:
    """The threads of one work-group end, those of the others go on."""
    kernel = PtxMachineKernel(function(batched(8, 8, 8, "bf16", "bf16", "n.n", 0)))
    a, b, c = (np.zeros((8, 8, count), ml_dtypes.bfloat16, order="F") for count in (6, 5, 6))
    with pytest.raises(Failed) as caught:
        kernel((6, 1, 1), a, b, c)
    assert caught.value.argument == "B"


@pytest.mark.parametrize("order", ["late", "reversed"])
def test_copies_past_registers_are_waited_for(order: str) -> None:
    for type, size in (("bf16", 8), ("f32", 32), ("f32", 48), ("f32", 64)):
        kernel = PtxMachineKernel(function(batched(size, size, size, type, type, "n.n", 0)), copies=order)
        assert "cp.async" in kernel.variant(CudaVariant())[0].ptx
        rng = np.random.default_rng(2)
        a, b, c = (numbers(rng, (size, size, 1), type) for _ in range(3))
        kernel((1, 1, 1), a, b, c)
        x, y = exact(a)[:, :, 0], exact(b)[:, :, 0]
        assert_close(c[:, :, 0], 2 * x @ y, 2 * abs(x) @ abs(y), type, size + 3)
