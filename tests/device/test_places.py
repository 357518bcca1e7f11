"""The place of a work-item along x, y and z, and its barriers, on the interpreter and the CPU."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from girih.ir.core import Value
from girih.ir.types import I32
from tests.cases import every_case, long
from tests.device.lanes import Code, Lane, lane_kernel, results

RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "equal": operator.eq,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
}

SIZES = [
    (8, (16, 2, 1)),
    (8, (4, 6, 2)),
    (8, (3, 5, 8)),
    (4, (1, 1, 8)),
    (16, (2, 2, 12)),
    (1, (3, 2, 1)),
    (32, (8, 4, 1)),
]


def ids(sizes: tuple[int, int, int]) -> Code:
    def code(lane: Lane) -> Sequence[Value]:
        local, whole = (
            [lane.one(mnemonic, I32, axis=axis, sizes=sizes) for axis in range(3)]
            for mnemonic in ("local_id", "global_id")
        )
        return [lane.one("local_index", I32), *local, *whole]

    return code


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
@pytest.mark.parametrize("sizes", [SIZES[:3], *long([SIZES[3:]])])
def test_ids_along_three_axes(sizes: list[tuple[int, tuple[int, int, int]]], target: str) -> None:
    with every_case() as case:
        for subgroup, (x, y, z) in sizes:
            with case(f"{x} x {y} x {z} by {subgroup}"):
                count = x * y * z
                index = np.arange(2 * count)
                group, item = index // count, index % count
                found = results(ids((x, y, z)), [], [np.int32] * 7, target=target, work_group=count, subgroup=subgroup)
                local = item % x, item // x % y, item // (x * y)
                for wanted, stored in zip((item, *local, group * x + local[0], *local[1:]), found, strict=True):
                    np.testing.assert_array_equal(stored, wanted)


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_masks_compare_the_numbers_of_work_items(target: str) -> None:
    def masks(lane: Lane) -> Sequence[Value]:
        return [word for relation in RELATIONS for word in lane.words("subgroup_mask", relation=relation)]

    found = results(masks, [], [np.int32] * 20, target=target, work_group=64, subgroup=64, groups=1)
    for number, holds in enumerate(RELATIONS.values()):
        for own in range(64):
            mask = sum(1 << other for other in range(64) if holds(other, own))
            words = [int(word[own]) & 2**32 - 1 for word in found[4 * number : 4 * number + 4]]
            assert words == [mask & 2**32 - 1, mask >> 32, 0, 0]


def test_neighbours_along_x_are_accessed_as_one_vector() -> None:
    kernel = lane_kernel(ids((16, 4, 1)), [], [np.int32] * 7, target="cpu", work_group=64, subgroup=8)
    assert "masked.scatter" not in kernel.llvm_ir


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_a_loop_carries_what_differs_between_work_items(target: str) -> None:
    sizes = (4, 8, 1)

    def code(lane: Lane) -> Sequence[Value]:
        row = lane.one("local_id", I32, axis=1, sizes=sizes)
        item, column = lane.one("local_index", I32), lane.one("local_id", I32, axis=0, sizes=sizes)
        same = lane.one("active_reduce", I32, operator="add", a=item, cluster=0)
        before = lane.one("active_scan", I32, operator="add", among="exclusive", a=lane.constant(1))
        given = (row, item, column, same, before)
        carried, body = tuple(Value("", I32) for _ in given), Lane(lane.language, lane.kind)
        body.add("yield", values=tuple(body.one("add", I32, a=value, b=value) for value in carried))
        return lane.add(
            "for", *(I32,) * len(given), variable=Value("", I32), start=lane.constant(0), stop=lane.constant(3),
            carried=carried, initial=given, body=body.region(),
        )  # fmt: skip

    found = results(code, [], [np.int32] * 5, target=target, work_group=32, subgroup=8, groups=1)
    item = np.arange(32)
    sums = np.repeat(item.reshape(4, 8).sum(axis=1), 8)
    for wanted, stored in zip((item // 4, item, item % 4, sums, item % 8), found, strict=True):
        np.testing.assert_array_equal(stored, 8 * wanted)
