"""Loops in two versions, without the checks that are decided in front of them and with them: the findings are the same.

The judge is the interpreter; what memory holds after a finding is held against code of a single version.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from girih.back.llvm.cpu.compile import lower
from girih.back.llvm.lower import versions
from tests.back.harness import HOST, TARGET, Compiled, Failed, copy_of
from tests.back.one_lane.machine import lower as lower_for_one_lane
from tests.cases import every_case

Array = NDArray[Any]

NEIGHBOURS = """
func @f(%A: memref<f32x?>, %B: memref<f32x?>, %from: index, %to: index) {
    %one = constant 1 : index
    for %i = %from, %to {
        %before = sub %i, %one : index
        %behind = add %i, %one : index
        %a = load %A[%before] : f32
        %b = load %A[%behind] : f32
        %c = add %a, %b : f32
        store %c, %B[%i]
    }
}"""

NESTED = """
func @f(%A: memref<i32x?x?>, %n: index, %m: index, %step: index) {
    %zero = constant 0 : index
    %two = constant 2 : index
    for %j = %zero, %m, %two {
        %k = mul %j, %step : index
        %sum = for %i = %zero, %n init (%s=%j) -> (index) {
            %k1 = add %k, %i : index
            %x = cast %k1 : i32
            store %x, %A[%i, %k]
            %next = add %s, %i : index
            yield (%next)
        }
        %x = cast %sum : i32
        store %x, %A[%zero, %j]
    }
}"""

NARROW = """
func @f(%A: memref<i32x?>, %first: i32, %n: i32, %distance: i32) {
    %zero = constant 0 : i32
    for %i = %zero, %n {
        %j = add %i, %first : i32
        %k = mul %j, %distance : i32
        %place = cast %k : index
        store %i, %A[%place]
    }
}"""

DIVIDED = """
func @f(%A: memref<i32x?>, %first: i32, %n: i32) {
    %zero = constant 0 : i32
    %divisor = constant 134217728 : i32
    for %i = %zero, %n {
        %j = add %i, %first : i32
        %k = div %j, %divisor : i32
        %place = cast %k : index
        store %i, %A[%place]
    }
}"""

POINTS = """
func @f(%A: memref<f32x?x?>, %B: memref<f32x?x?>, %di: index, %dj: index)
        attributes {subgroup_size=8, work_group_size=[16, 1]} {
    %zero = constant 0 : index
    %n = size %B[0] : index
    %m = size %B[1] : index
    foreach (%i, %j) = (%zero, %zero), (%n, %m) {
        %p = add %i, %di : index
        %q = sub %j, %dj : index
        %x = load %A[%p, %q] : f32
        store %x, %B[%i, %j]
    }
}"""

LANES = """
func @f(%A: memref<i32x?>, %n: index, %shift: index) attributes {subgroup_size=8, work_group_size=[8, 1]} {
    parallel {
        %lane = subgroup_local_id : i32
        %own = cast %lane : index
        %lanes = constant 8 : index
        %zero = constant 0 : index
        for %i = %own, %n, %lanes {
            %j = sub %i, %shift : index
            store %lane, %A[%j]
        }
        for %row = %zero, %n, %lanes {
            %i = add %row, %own : index
            %there = less_than %i, %n : bool
            if %there {
                store %lane, %A[%i]
            }
        }
    }
}"""

GUARDED = """
func @f(%A: memref<i32x?>, %n: index) {
    %zero = constant 0 : index
    %one = constant 1 : index
    for %i = %zero, %n {
        %x = cast %i : i32
        %inner = greater_than %i, %zero : bool
        if %inner {
            %l = sub %i, %one : index
            %y = load %A[%l] : i32
            %z = add %x, %y : i32
            store %z, %A[%i]
        } else {
            store %x, %A[%i]
        }
    }
}"""

OTHERWISE = """
func @f(%A: memref<i32x?>, %n: index, %m: index) {
    %zero = constant 0 : index
    for %i = %zero, %n {
        %x = cast %i : i32
        %small = less_than %i, %m : bool
        if %small {
        } else {
            store %x, %A[%i]
        }
    }
}"""

PLACES = """
func @f(%A: memref<i32x?>, %P: memref<i64x?>) {
    %zero = constant 0 : index
    %count = constant 3 : index
    %n = size %P[0] : index
    for %i = %zero, %n {
        %p = load %P[%i] : i64
        %place = cast %p : index
        for %k = %zero, %count {
            %q = add %place, %k : index
            %x = cast %q : i32
            store %x, %A[%q]
        }
    }
}"""

FROM_MEMORY = """
func @f(%A: memref<i32x?>, %P: memref<i64x?>) {
    %zero = constant 0 : index
    %n = size %P[0] : index
    for %i = %zero, %n {
        %p = load %P[%i] : i64
        %place = cast %p : index
        %x = cast %i : i32
        store %x, %A[%place]
    }
}"""

STEPS = """
func @f(%A: memref<i32x?>, %n: index, %m: index, %longer: index) {
    %zero = constant 0 : index
    %two = constant 2 : index
    %three = constant 3 : index
    for %j = %zero, %n {
        %x = cast %j : i32
        %far = equal %j, %longer : bool
        %step = select %far, %three, %two : index
        for %i = %zero, %m, %step {
            store %x, %A[%i]
        }
    }
}"""

REMAINDERS = """
func @f(%A: memref<i32x?>, %n: i32, %factor: index) {
    %zero = constant 0 : i32
    %eight = constant 8 : index
    %sixteen = constant 16 : i32
    %most = constant 2147483640 : i32
    for %j = %zero, %n {
        %i = cast %j : index
        %p = mul %i, %factor : index
        %q = rem %p, %eight : index
        store %j, %A[%q]
        %late = add %j, %most : i32
        %r = rem %late, %sixteen : i32
        %s = cast %r : index
        store %j, %A[%s]
    }
}"""

TILES = """
func @f(%A: memref<f32x?x?>, %B: memref<f32x?x?>, %n: index, %shift: index) attributes {subgroup_size=8} {
    parallel {
        %zero = constant 0 : index
        %four = constant 4 : index
        %first = cooperative_matrix_load %A[%zero, %zero] : coopmatrix<f32x8x4,matrix_acc>
        %twice = add %first, %first : coopmatrix<f32x8x4,matrix_acc>
        %sum, %left = for %j = %zero, %n, %four init (%s=%twice, %l=%first)
                -> (coopmatrix<f32x8x4,matrix_acc>, coopmatrix<f32x8x4,matrix_acc>) {
            %from = add %j, %shift : index
            %a = cooperative_matrix_load %A[%zero, %from] : coopmatrix<f32x8x4,matrix_acc>
            %next = add %s, %a : coopmatrix<f32x8x4,matrix_acc>
            %other = sub %next, %first : coopmatrix<f32x8x4,matrix_acc>
            cooperative_matrix_store %other, %B[%zero, %j]
            yield (%next, %s)
        }
        %all = add %sum, %first : coopmatrix<f32x8x4,matrix_acc>
        %behind = add %all, %left : coopmatrix<f32x8x4,matrix_acc>
        cooperative_matrix_store %behind, %A[%zero, %zero]
    }
}"""

SIDEWAYS = """
func @f(%A: memref<f32x?x?>, %B: memref<f32x?x?>, %n: index, %row: index) attributes {subgroup_size=8} {
    parallel {
        %zero = constant 0 : index
        %two = constant 2 : index
        for %j = %zero, %n, %two {
            %a = cooperative_matrix_load.rows_checked %A[%row, %j] : coopmatrix<f32x4x2,matrix_acc>
            cooperative_matrix_store.t %a, %B[%j, %zero]
        }
    }
}"""

TENSORS = """
func @f(%A: memref<f32x?> {alignment=16}, %B: memref<f32x?x?>, %n: index, %size: index, %shift: index)
        attributes {subgroup_size=8} {
    parallel {
        %zero = constant 0 : index
        %two = constant 2 : index
        %empty = constant 0.0 : coopmatrix<f32x4x2,matrix_acc>
        %l0 = tensor_layout_create : tensor_layout<2>
        %l1 = tensor_layout_set_dimension %l0[%size, 4] : tensor_layout<2>
        %turned = tensor_view_create : tensor_view<2,false,1,0>
        %sum = for %j = %zero, %n, %two init (%s=%empty) -> (coopmatrix<f32x4x2,matrix_acc>) {
            %from = add %j, %shift : index
            %l2 = tensor_layout_slice %l1[%from:2, 0:4] : tensor_layout<2>
            %a = cooperative_matrix_load_tensor %empty, %A[%zero], %l2, %turned : coopmatrix<f32x4x2,matrix_acc>
            %next = add %s, %a : coopmatrix<f32x4x2,matrix_acc>
            cooperative_matrix_store %next, %B[%zero, %j]
            yield (%next)
        }
        cooperative_matrix_store %sum, %B[%zero, %zero]
    }
}"""

HUGE = 2**62

PARTS = """
func @f(%A: memref<f32x?x?>, %B: memref<f32x?>, %n: index, %from: index) {
    %zero = constant 0 : index
    %one = constant 1 : index
    %two = constant 2 : index
    %three = constant 3 : index
    for %i = %zero, %n {
        %twice = mul %i, %two : index
        %begin = add %twice, %from : index
        %part = subview %A[%begin:%three, %i] : memref<f32x?>
        %x = load %part[%one] : f32
        store %x, %B[%i]
    }
}"""

VIEWS = """
func @f(%A: memref<i32x4x?x?>, %n: index) attributes {subgroup_size=8, work_group_size=[8, 1]} {
    parallel {
        %zero = constant 0 : index
        %lane = subgroup_local_id : i32
        %own = cast %lane : index
        %line = fuse %A[0, 1] : memref<i32x?x?>
        for %i = %zero, %n {
            %part = subview %line[%i:4, %own:1] : memref<i32x4x1,strided<1,?>>
            %point = subview %part[0, 0:1] : memref<i32x1,strided<?>>
            store %lane, %point[%zero]
        }
    }
}"""

ROWS = """
func @f(%A: memref<i32x?x?>, %n: index, %size: index) {
    %zero = constant 0 : index
    %x = constant 7 : i32
    for %i = %zero, %n {
        %part = subview %A[%zero:%size, %i] : memref<i32x?>
        store %x, %part[%zero]
    }
}"""

NO_PART = """
func @f(%A: memref<i32x?>, %n: index) {
    %zero = constant 0 : index
    %x = constant 7 : i32
    for %i = %zero, %n {
        %part = subview %A[%i:%zero] : memref<i32x?>
        store %x, %A[%i]
    }
}"""


def numbers(*shape: int) -> Array:
    return np.asfortranarray(np.arange(1.0, 1 + np.prod(shape), dtype=np.float32).reshape(shape))


def blank(*shape: int) -> Array:
    return np.full(shape, -1, np.int32, order="F")


CASES: dict[str, tuple[str, tuple[object, ...]]] = {
    "all inside": (NEIGHBOURS, (numbers(40), numbers(40), 1, 39)),
    "past the end in the last iteration": (NEIGHBOURS, (numbers(40), numbers(40), 1, 40)),
    "before the begin": (NEIGHBOURS, (numbers(40), numbers(40), 0, 9)),
    "a store in the middle": (NEIGHBOURS, (numbers(40), numbers(20), 5, 39)),
    "no memory": (NEIGHBOURS, (numbers(40), None, 5, 9)),
    "no memory, no iteration": (NEIGHBOURS, (None, None, 5, 5)),
    "no iteration, far away": (NEIGHBOURS, (numbers(4), numbers(4), HUGE, -HUGE)),
    "a nest": (NESTED, (blank(5, 12), 5, 7, 1)),
    "the outer index in the middle": (NESTED, (blank(5, 12), 5, 12, 2)),
    "the inner index": (NESTED, (blank(5, 12), 6, 12, 1)),
    "a negative factor": (NESTED, (blank(5, 12), 5, 12, -1)),
    "a product beyond all numbers": (NESTED, (blank(5, 12), 5, 12, HUGE)),
    "a product that comes back to 0": (NESTED, (blank(5, 12), 5, 5, HUGE)),
    "i32": (NARROW, (blank(50), 3, 20, 2)),
    "i32, outside": (NARROW, (blank(50), 3, 40, 2)),
    "i32, sums that wrap around": (NARROW, (blank(50), 2**31 - 5, 9, 1)),
    "i32, products that come back inside": (NARROW, (blank(50), 0, 5, 2**30)),
    "i32, divided": (DIVIDED, (blank(50), 2**31 - 5, 5)),
    "i32, a sum that wraps around, and comes back when it is divided": (DIVIDED, (blank(50), 2**31 - 5, 9)),
    "points": (POINTS, (numbers(30, 9), numbers(21, 5), 4, -4)),
    "points past the first mode": (POINTS, (numbers(30, 9), numbers(29, 5), 4, -4)),
    "points before the second mode": (POINTS, (numbers(30, 9), numbers(21, 5), 4, 1)),
    "points, wrapped": (POINTS, (numbers(30, 9), numbers(21, 5), 2**63 - 8, 0)),
    "lanes": (LANES, (blank(37), 37, 0)),
    "lanes before the begin": (LANES, (blank(37), 37, 3)),
    "lanes past the end, under a mask": (LANES, (blank(33), 37, 0)),
    "what a branch leaves out": (GUARDED, (blank(20), 20)),
    "a branch that is no help": (GUARDED, (blank(20), 21)),
    "the other side of a branch": (OTHERWISE, (blank(20), 20, 7)),
    "the other side of a branch, outside": (OTHERWISE, (blank(20), 23, 20)),
    "places from memory": (PLACES, (blank(20), np.array([0, 9, 17, 4]))),
    "a place from memory that is outside": (PLACES, (blank(20), np.array([0, 18, 4]))),
    "steps of two sizes, the longer one to the end": (STEPS, (blank(3), 2, 4, 1)),
    "steps of two sizes": (STEPS, (blank(4), 2, 4, 1)),
    "remainders": (REMAINDERS, (blank(16), 8, 3)),
    "remainders of what is negative": (REMAINDERS, (blank(16), 8, -3)),
    "remainders of a sum that wraps around": (REMAINDERS, (blank(16), 9, 3)),
    "a place from memory beyond all numbers": (PLACES, (blank(20), np.array([1, 2**63 - 2]))),
    "tiles": (TILES, (numbers(8, 20), numbers(8, 20), 16, 4)),
    "no tiles": (TILES, (numbers(8, 20), numbers(8, 20), 0, 4)),
    "a tile past the end in the last iteration": (TILES, (numbers(8, 20), numbers(8, 20), 17, 2)),
    "a tile before the begin": (TILES, (numbers(8, 20), numbers(8, 20), 16, -1)),
    "a tile beyond all numbers": (TILES, (numbers(8, 20), numbers(8, 20), 16, HUGE)),
    "a stored tile past the end": (TILES, (numbers(8, 20), numbers(8, 14), 16, 4)),
    "a stored tile without memory": (TILES, (numbers(8, 20), None, 16, 4)),
    "turned tiles": (SIDEWAYS, (numbers(9, 8), numbers(8, 4), 8, 5)),
    "turned tiles of which a check leaves rows out": (SIDEWAYS, (numbers(9, 8), numbers(8, 4), 8, 7)),
    "a turned tile past the end": (SIDEWAYS, (numbers(9, 8), numbers(7, 4), 8, 5)),
    "a tile past the columns": (SIDEWAYS, (numbers(9, 7), numbers(8, 4), 8, 5)),
    "tensors": (TENSORS, (numbers(40), numbers(4, 8), 8, 10, 2)),
    "a tensor's tile past the end in the last iteration": (TENSORS, (numbers(40), numbers(4, 8), 8, 10, 3)),
    "a tensor's tile before the begin": (TENSORS, (numbers(40), numbers(4, 8), 8, 10, -1)),
    "an offset of more than 32 bits": (TENSORS, (numbers(40), numbers(4, 8), 8, 10, 2**31)),
    "an offset beyond all numbers": (TENSORS, (numbers(40), numbers(4, 8), 8, 10, HUGE)),
    "a tensor larger than its memory": (TENSORS, (numbers(40), numbers(4, 8), 8, 11, 3)),
    "a tensor of which only tiles inside the memory are read": (TENSORS, (numbers(40), numbers(4, 8), 8, 11, 2)),
    "a tensor without memory": (TENSORS, (None, numbers(4, 8), 8, 10, 2)),
    "a tensor without memory, no iteration": (TENSORS, (None, numbers(4, 8), 0, 10, 2)),
    "parts": (PARTS, (numbers(12, 5), numbers(5), 5, 1)),
    "a part past the end in the last iteration": (PARTS, (numbers(12, 5), numbers(5), 5, 2)),
    "a part before the begin": (PARTS, (numbers(12, 5), numbers(5), 5, -1)),
    "a part past the columns": (PARTS, (numbers(14, 4), numbers(5), 5, 1)),
    "a part beyond all numbers": (PARTS, (numbers(12, 5), numbers(5), 5, HUGE)),
    "a part whose begin wraps around": (PARTS, (numbers(12, 5), numbers(5), 5, 2**63 - 5)),
    "parts without memory": (PARTS, (None, numbers(5), 5, 1)),
    "parts without memory, no iteration": (PARTS, (None, numbers(5), 0, 1)),
    "views of views": (VIEWS, (blank(4, 2, 8), 5)),
    "a view of a view past the end": (VIEWS, (blank(4, 2, 8), 6)),
    "a view of a view past the columns": (VIEWS, (blank(4, 2, 7), 5)),
    "views of views without memory": (VIEWS, (None, 5)),
    "parts of a size": (ROWS, (blank(4, 6), 6, 4)),
    "parts of a size of 0": (ROWS, (blank(4, 6), 6, 0)),
    "parts of a negative size": (ROWS, (blank(4, 6), 6, -2)),
    "parts of a size that is too large": (ROWS, (blank(4, 6), 6, 5)),
    "parts of a size beyond all numbers": (ROWS, (blank(4, 6), 6, 2**63 - 1)),
    "parts of a size that is least of all": (ROWS, (blank(4, 6), 6, -(2**63))),
    "a part without size": (NO_PART, (blank(5), 5)),
}


LONG_AGO: dict[str, tuple[str, tuple[object, ...]]] = {
    "an end beyond all numbers": (NEIGHBOURS, (numbers(4), numbers(4), 2, 2**63 - 1)),
    "from the first number": (NEIGHBOURS, (numbers(4), numbers(4), -(2**63), 5)),
}
"""Loops that a finding ends long before their end, to which the interpreter would go."""


def outcome(kernel: Compiled, arguments: tuple[object, ...]) -> tuple[object, ...]:
    """What a launch finds, and what it leaves in memory."""
    given = tuple(map(copy_of, arguments))
    found: tuple[object, ...] = ()
    try:
        kernel((1, 1, 1), *given)
    except Failed as failed:
        found = (failed.code, failed.argument, failed.values, failed.message)
    return (found, *(a.tolist() for a in given if isinstance(a, np.ndarray)))


@pytest.fixture
def single(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], Compiled]:
    """What compiles a kernel without versions of loops."""

    def compiled(function: Any) -> Compiled:
        with monkeypatch.context() as patch:
            patch.setattr(versions, "LONGEST", -1)
            return Compiled(function)

    return compiled


def test_findings_and_memory_are_those_of_one_version(single: Callable[[Any], Compiled]) -> None:
    texts = dict.fromkeys(text for text, _ in CASES.values())
    functions = {text: girih.parse(text).functions[0] for text in texts}
    kernels = {text: (single(function), Compiled(function)) for text, function in functions.items()}
    programs = {text: girih.loads(text, target="cpu") for text in texts}
    with every_case() as case:
        for name, (text, arguments) in (CASES | LONG_AGO).items():
            with case(name):
                once, twice = kernels[text]
                assert once.kernel.sites == twice.kernel.sites
                found = outcome(twice, arguments)
                assert found == outcome(once, arguments)
                if name not in LONG_AGO:
                    _judge(text, arguments, found, programs[text])


def _judge(text: str, arguments: tuple[object, ...], found: tuple[object, ...], program: girih.Program) -> None:
    """Hold what compiled code finds, or computes, against the interpreter."""
    given = tuple(map(copy_of, arguments))
    try:
        girih.loads(text, target="interpreter")["f"][1].options(races=False)(*given)
    except girih.KernelError as error:
        with pytest.raises(girih.KernelError) as caught:
            program["f"][1](*map(copy_of, arguments))
        findings = [caught.value.findings[0], error.findings[0]]
        assert len({(f.code, f.message, str(f.span)) for f in findings}) == 1
    else:
        assert found == ((), *(a.tolist() for a in given if isinstance(a, np.ndarray)))


def deep(depth: int) -> str:
    """A nest of loops around one access, whose index is outside for no counter that is inside."""
    names = [f"%i{k}" for k in range(depth)]
    sums = [f"%s{k + 1} = add %s{k}, {names[k + 1]} : index" for k in range(depth - 1)]
    return (
        "func @f(%A: memref<i32x?>, %n: index, %x: i32) {\n%zero = constant 0 : index\n"
        + "".join(f"for {name} = %zero, %n {{\n" for name in names)
        + "\n".join(["%s0 = add %i0, %n : index", *sums, f"store %x, %A[%s{depth - 1}]"])
        + "\n}" * depth
        + "\n}\n"
    )


def test_a_nest_is_written_twice_at_most(single: Callable[[Any], Compiled]) -> None:
    for depth in (1, 4):
        function = girih.parse(deep(depth)).functions[0]
        heads = [lower(function, TARGET, checks=checks).text.count(" = phi ") for checks in (False, True)]
        assert heads[1] <= 2 * heads[0]


def test_what_constants_decide_needs_no_check() -> None:
    text = """
    func @f(%A: memref<i32x12x5>) {
        %zero = constant 0 : index
        %two = constant 2 : index
        %end = constant 4 : index
        %x = constant 1 : i32
        for %i = %zero, %end {
            %j = mul %i, %two : index
            %k = add %j, %i : index
            %l = add %k, %two : index
            store %x, %A[%l, %i]
        }
    }
    """
    present = "icmp eq ptr"
    for target in (lower(girih.parse(text).functions[0], TARGET, checks=True),
                   lower_for_one_lane(girih.parse(text).functions[0], HOST.features)):  # fmt: skip
        assert "icmp uge" not in target.text
        assert present in target.text


def test_a_machine_of_threads_writes_one_version() -> None:
    function = girih.parse(NEIGHBOURS).functions[0]
    assert lower_for_one_lane(function, HOST.features).text.count("icmp slt i64") == 1
    assert lower(function, TARGET, checks=True).text.count("= phi i64") > 2


def test_loops_with_tiles_are_written_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (TILES, SIDEWAYS, TENSORS, PARTS):
        function = girih.parse(text).functions[0]
        twice = lower(function, TARGET, checks=True).text.count("br i1")
        with monkeypatch.context() as patch:
            patch.setattr(versions, "LONGEST", -1)
            assert lower(function, TARGET, checks=True).text.count("br i1") < twice


def test_only_indices_that_nothing_bounds_have_a_remark() -> None:
    for text in (NEIGHBOURS, NESTED, GUARDED, POINTS, LANES, PLACES, FROM_MEMORY):
        found = [r.code for r in girih.loads(text, target="cpu")["f"].remarks if r.code == "cpu.bounds"]
        assert found == ["cpu.bounds"] * (text is FROM_MEMORY)


def test_the_careful_version_is_short() -> None:
    # The fast one goes without a mask, but for the last round; the careful one, which is rare, always with one.
    for text in (POINTS, LANES):
        function = girih.parse(text).functions[0]
        plain, checked = (lower(function, TARGET, checks=checks).text for checks in (False, True))
        assert checked.count("  store <8 x ") == plain.count("  store <8 x ") == 1
        assert checked.count("call void @llvm.masked.store") > plain.count("call void @llvm.masked.store")
