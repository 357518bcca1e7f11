"""Accesses to one element in several ways: plain and atomic ones, of several scopes, by several work-groups."""

from __future__ import annotations

import numpy as np
import pytest

import girih

HEAD = """func @f(%A: memref<i32x4>) attributes {subgroup_size=8, work_group_size=[16, 1]} {
    parallel {
        %group = group_id.x : index
        %subgroup = subgroup_linear_id : i32
        %l = subgroup_local_id : i32
        %eight = constant 8 : i32
        %before = mul %subgroup, %eight : i32
        %item = add %before, %l : i32
        %i = cast %item : index
        %s = cast %subgroup : index
        %x = constant 1 : i32
        %0 = constant 0 : index
        %1 = constant 1 : index
        %2 = constant 2 : index
        %3 = constant 3 : index
        %8 = constant 8 : index
        %is0 = equal %i, %0 : bool
        %is1 = equal %i, %1 : bool
        %is2 = equal %i, %2 : bool
        %is3 = equal %i, %3 : bool
        %is8 = equal %i, %8 : bool
        %second = equal %group, %1 : bool
        %leads = and %second, %is0 : bool
"""

RACES = {
    "written before the same work-item stores atomically": """
        if %is0 {
            store %x, %A[0] ; <-
            atomic_store %x, %A[%0]
        }
        if %is1 {
            %v = atomic_load %A[%0] : i32 ; <-
        }
    """,
    "read before the same work-item loads atomically": """
        if %is0 {
            %u = load %A[0] : i32 ; <-
            %v = atomic_load %A[%0] : i32
        }
        if %is1 {
            atomic_store %x, %A[%0] ; <-
        }
    """,
    "read between atomic loads of others": """
        if %is1 {
            %u = atomic_load %A[%0] : i32
        }
        if %is2 {
            %v = load %A[0] : i32 ; <-
        }
        if %is3 {
            %w = atomic_load %A[%0] : i32
        }
        if %is0 {
            atomic_store %x, %A[%0] ; <-
        }
    """,
    "a narrow scope before wider ones of the subgroup": """
        if %is0 {
            %u = atomic_add.subgroup %x, %A[%0] : i32 ; <-
            %v = atomic_add.device %x, %A[%0] : i32
        }
        if %is1 {
            %u = atomic_add.device %x, %A[%0] : i32
        }
        if %is2 {
            %u = atomic_add.device %x, %A[%0] : i32
        }
        if %is8 {
            %u = atomic_add.device %x, %A[%0] : i32 ; <-
        }
    """,
    "loaded by all subgroups for themselves": """
        %u = atomic_load.subgroup %A[%0] : i32 ; <-
        if %is8 {
            atomic_store.device %x, %A[%0] ; <-
        }
    """,
    "read by all work-groups, and stored behind a barrier by one of them": """
        %u = load %A[0] : i32 ; <-
        barrier.global
        if %leads {
            store %x, %A[0] ; <-
        }
    """,
    "counted by all work-groups, and read behind a barrier by one of them": """
        %u = atomic_add.device %x, %A[%0] : i32 ; <-
        barrier.global
        if %leads {
            %v = load %A[0] : i32 ; <-
        }
    """,
}


@pytest.mark.parametrize("name", RACES)
def test_what_another_access_by_the_same_or_a_near_work_item_does_not_hide(name: str) -> None:
    text = f"{HEAD}{RACES[name]}\n    }}\n}}"
    with pytest.raises(girih.KernelError) as caught:
        girih.loads(text, target="interpreter")["f"][2 if "all work-groups" in name else 1](np.zeros(4, np.int32))
    (finding,) = caught.value.findings
    assert finding.other is not None
    marked = {number for number, line in enumerate(text.splitlines(), 1) if "<-" in line}
    assert {finding.span.line, finding.other.span.line} == marked


def test_what_one_work_item_or_subgroup_does_alone_is_ordered() -> None:
    text = f"""{HEAD}
        %u = atomic_add.subgroup %x, %A[%s] : i32
        %v = atomic_max.subgroup %x, %A[%s] : i32
        barrier.global
        if %is0 {{
            store %x, %A[0]
            atomic_store.subgroup %x, %A[%0]
            %w = load %A[0] : i32
        }}
        barrier.global
        %y = atomic_load %A[%0] : i32
    }}
}}"""
    girih.loads(text, target="interpreter")["f"](np.zeros(4, np.int32))


def test_a_tile_belongs_to_one_subgroup() -> None:
    text = """func @f(%A: memref<i32x8>) attributes {subgroup_size=8, work_group_size=[16, 1]} {
    %0 = constant 0 : index
    %end = constant 64 : index
    %8 = constant 8 : index
    %x = constant 1 : i32
    foreach_tile (%t) = (%0), (%end) as (%n) <= (8) {
        %tile = div %t, %8 : index
        %u = atomic_add.subgroup %x, %A[%tile] : i32
    }
}"""
    A = np.zeros(8, np.int32)
    girih.loads(text, target="interpreter")["f"](A)
    assert A.tolist() == [8] * 8
