"""Collective linear algebra of threads: which thread computes what, and operands that overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import girih
from tests.back.harness import Failed, same
from tests.back.one_lane.launch import OneLaneKernel
from tests.cases import every_case, long
from tests.fuzz.overlapping import overlap

RANDOM = np.random.default_rng(7)

PROGRAMS: dict[str, tuple[str, str, tuple[tuple[int, ...], ...]]] = {
    "gemm": ("gemm.n.t %one, %A, %B, %one, %C", "A: ?x?, B: ?x?, C: ?x?", ((37, 5), (22, 5), (37, 22))),
    "gemm of known sizes": (
        "gemm.t.n %one, %A, %B, %one, %C",
        "A: 5x24, B: 5x26, C: 24x26",
        ((5, 24), (5, 26), (24, 26)),
    ),
    "gemv by threads": ("gemv.n %one, %A, %B, %one, %C", "A: ?x?, B: ?, C: ?", ((70, 9), (9,), (70,))),
    "gemv by subgroups": ("gemv.t %one, %A, %B, %one, %C", "A: ?x?, B: ?, C: ?", ((41, 6), (41,), (6,))),
    "sums of few rows": ("sum.n %one, %A, %one, %C", "A: 2x40, C: 2", ((2, 40), (2,))),
    "sum of a vector": ("sum %one, %A, %one, %C", "A: ?, C: ", ((101,), ())),
    "running sums of columns": ("cumsum %one, %A, 0, %one, %C", "A: ?x?x?, C: ?x?x?", ((21, 3, 2), (21, 3, 2))),
    "running sums of rows": ("cumsum %one, %A, 1, %one, %C", "A: ?x?x?, C: ?x?x?", ((5, 7, 3), (5, 7, 3))),
    "running sums of few rows": ("cumsum %one, %A, 1, %one, %C", "A: 2x19x3, C: 2x19x3", ((2, 19, 3), (2, 19, 3))),
    "entries of three columns": ("axpby.t %one, %A, %one, %C", "A: ?x?, C: ?x?", ((3, 50), (50, 3))),
}
"""An instruction, its operands with their sizes in the text, and their shapes."""


def numbers(shape: tuple[int, ...]) -> Any:
    """Small integers, of which every sum is exact."""
    return np.array(RANDOM.integers(-9, 10, shape), np.float32, order="F")


@pytest.mark.parametrize(("size", "subgroups"), [(8, 3), *long([(8, 1), (8, 8), (16, 1), (16, 2), (32, 4), (64, 1)])])
def test_every_element_is_computed_once(size: int, subgroups: int) -> None:
    """Whoever computes it: each instruction adds to its target."""
    with every_case() as case:
        for name, (text, operands, shapes) in PROGRAMS.items():
            with case(name):
                types = [f"%{one}".replace(": ", ": memref<f32x").rstrip("x") + ">" for one in operands.split(", ")]
                parameters = ", ".join(types)
                head = f"attributes {{subgroup_size={size}, work_group_size=[{size * subgroups}, 1]}}"
                kernel = girih.loads(
                    f"func @f({parameters}) {head} {{\n%one = constant 1.0 : f32\n{text}\n}}", target="interpreter"
                )["f"]
                found = [numbers(shape) for shape in shapes]
                expected = [one.copy(order="F") for one in found]
                kernel[1](*expected)
                OneLaneKernel(kernel.ir)((1, 1, 1), *found)
                for mine, wanted in zip(found, expected, strict=True):
                    same(mine, wanted, 0.0)


@pytest.mark.parametrize("block", [0, *long(range(1, 20))])
def test_operands_that_overlap_are_found(block: int) -> None:
    """In the operand, and at the index, that sets of bytes tell; numbers are constants where the form is even."""
    found = 0
    for form in range(8 * block, 8 * (block + 1)):
        kernel: OneLaneKernel | None = None
        for seed in range(1 if form % 2 == 0 else 20):
            made = overlap(form, 1000 * form + seed)
            if kernel is None:
                kernel = OneLaneKernel(girih.loads(made.text, target="interpreter")["f"].ir)
            told: Any = None
            try:
                kernel((1, 1, 1), *(made.arguments[p.name] for p in kernel.function.parameters))
            except Failed as failed:
                assert failed.code == "run.aliasing"
                modes = len(failed.values) // 2
                told = failed.message.split("`")[5], tuple(failed.values[:modes]) or None
            assert told == made.expected, f"{made.text}{made.arguments}"
            found += told is not None
    assert 0 < found < 80


def test_members_that_differ_are_found() -> None:
    """Each work-item has loaded one of its own out of a group."""
    members = [np.zeros(4, np.float32) for _ in range(8)]
    kernel = girih.loads(
        """
        func @f(%n: i32, %counter: memref<i32x1>, %G: group<memref<f32x4>x8>, %B: memref<f32x4>)
            attributes {subgroup_size=8, work_group_size=[8, 1]} {
          %zero = constant 0 : index
          %one = constant 1.0 : f32
          %old = atomic_add.work_group.relaxed %n, %counter[%zero] : i32
          %place = cast %old : index
          %member = load %G[%place] : memref<f32x4>
          axpby %one, %member, %one, %B
        }""",
        target="interpreter",
    )["f"]
    one = OneLaneKernel(kernel.ir)
    one((1, 1, 1), 0, np.zeros(1, np.int32), members, np.zeros(4, np.float32))
    with pytest.raises(Failed) as raised:
        one((1, 1, 1), 1, np.zeros(1, np.int32), members, np.zeros(4, np.float32))
    assert (raised.value.code, raised.value.argument) == ("run.not_uniform", "member")
