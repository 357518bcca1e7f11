"""The `grid` attribute: a launch finds its own grid, `kernel[grid]` overrides it, bad numbers are refused in words."""

from __future__ import annotations

import pickle
from typing import Any, cast

import numpy as np
import pytest

import girih
from girih.api import compile_module
from girih.ir.check import check_module
from girih.ir.core import Dictionary, Entry, Function, Module, Parameter, Region, RegionKind, Value
from girih.ir.grid import GridNumber, GridOperation, GridScalar, GridSize, evaluated
from girih.ir.types import F32, I32, MemRef
from girih.ops.tile import TILE_LANGUAGE
from girih.recursion import NESTING_LIMIT

TEXT = """func @count(%A: memref<f32x?x8>, %G: group<memref<f32x?>x?>, %n: i32, %seen: memref<i64x3>)
    attributes {grid=[ceil(size(%A, 0), 32), (%n - 1) * 2, max(size(%G), floor(size(%A, 1), 4))]} {
    %x = num_groups.x : index
    %y = num_groups.y : index
    %z = num_groups.z : index
    %a = cast %x : i64
    %b = cast %y : i64
    %c = cast %z : i64
    %zero = constant 0 : index
    %one = constant 1 : index
    %two = constant 2 : index
    atomic_store.device.relaxed %a, %seen[%zero]
    atomic_store.device.relaxed %b, %seen[%one]
    atomic_store.device.relaxed %c, %seen[%two]
}
func @plain(%A: memref<f32x?>) {
}
func @ratio(%n: i64, %d: i64) attributes {grid=[%n + 1, ceil(%n, %d)]} {
}
"""


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_a_launch_finds_its_own_grid(target: str) -> None:
    program = girih.loads(TEXT, target)
    kernel = program["count"]
    a, member, seen = np.zeros((70, 8), np.float32, order="F"), np.zeros(4, np.float32), np.zeros(3, np.int64)
    for n, group, sizes in [(3, [member], (3, 4, 2)), (2, (member,) * 5, (3, 2, 5)), (np.int8(2), None, (3, 2, 2))]:
        assert kernel.grid_for(a, group, n, seen) == kernel.grid_for(a, G=group, seen=seen, n=n) == sizes
        kernel(a, group, n, seen)
        assert tuple(seen.tolist()) == sizes
    # Arguments that are none of the usual ones, and empty grids.
    marked = girih.uninitialized(a)
    assert kernel.grid_for(marked, girih.Group([member] * 3), np.array(2), seen) == (3, 2, 3)
    assert kernel.grid_for(memoryview(cast(Any, a)), [], 1, seen) == (3, 0, 2)
    assert kernel.grid_for(None, None, 2, seen) == (0, 2, 2)
    kernel[1, 2](a, None, 3, seen)
    assert seen.tolist() == [1, 2, 1]
    assert kernel[1, 2].grid_for(a, None, 3, seen) == (3, 4, 2)
    assert program["plain"].grid_for(member) == (1, 1, 1) == program["plain"].grid

    copy = pickle.loads(pickle.dumps(kernel))
    assert kernel.grid is None is copy.grid
    assert copy.grid_for(a, None, 2, seen) == (3, 2, 2)
    assert pickle.loads(pickle.dumps(kernel[4])).grid == (4, 1, 1)
    assert kernel != kernel[1]
    launch = kernel.bind(a, None, n=2, seen=seen)
    launch.run()
    assert tuple(seen.tolist()) == launch.grid == (3, 2, 2)
    assert "on the grid [ceil(size(%A, 0), 32), (%n - 1) * 2, max(" in repr(kernel)
    assert "on the grid [ceil(size(%A, 0), 32), (%n - 1) * 2, max(" in repr(launch)


def test_options_keep_the_grid_of_the_arguments() -> None:
    kernel = girih.loads(TEXT, "interpreter")["count"].options(max_steps=1000)
    seen = np.zeros(3, np.int64)
    kernel(None, None, 2, seen)
    assert not seen.any()
    kernel(np.zeros((1, 8), np.float32, order="F"), None, 2, seen)
    assert seen.tolist() == [1, 2, 2]


def refused(kernel: girih.Kernel, *arguments: Any) -> girih.Diagnostic:
    with pytest.raises(girih.LaunchError) as caught:
        kernel(*arguments)
    (found,) = caught.value.diagnostics
    return found


def test_what_no_grid_can_be_is_refused_in_words() -> None:
    ratio = girih.loads(TEXT, "interpreter")["ratio"]
    found = refused(ratio, 7, 0)
    assert (found.code, found.span.text) == ("bind.grid_division", "ceil(%n, %d)")
    assert found.message == "`ceil(%n, %d)` divides 7 by zero, where %n is 7, %d is 0"
    assert [(span.text, words) for span, words in found.labels] == [("%d", "is 0"), ("%n", "is 7")]

    found = refused(ratio, -2, 1)
    assert (found.code, found.span.text) == ("bind.grid", "%n + 1")
    assert found.message == "`%n + 1` is -1, where %n is -2; the sizes of a grid lie between 0 and 2^31 - 1"
    # Numbers are exact: neither a sum beyond 64 bits nor one beyond 32 wraps around.
    assert "is 9223372036854775808, where" in refused(ratio, np.int64(2**63 - 1), 1).message
    assert refused(ratio, 2**31 - 1, 1).code == "bind.grid"
    assert ratio.grid_for(2**31 - 2, 1) == (2**31 - 1, 2**31 - 2, 1)
    # Python shows no number of more than 4300 digits.
    product = "*".join(["%n"] * 251)
    power = girih.loads(f"func @f(%n: i64) attributes {{grid=[{product}]}} {{}}", "interpreter")["f"]
    assert "is over 10^4684, where %n is 4611686018427387904;" in refused(power, 2**62).message
    assert "is below -10^75, where %n is -2;" in refused(power, -2).message
    (found,) = girih.check(f"func @f() attributes {{grid=[{product.replace('%n', str(2**62))}]}} {{}}")
    assert found.code == "func.grid_range"
    assert found.message.endswith("is over 10^4684")
    # What is wrong with the arguments is told as in any launch, also where only the grid is asked for.
    halves = girih.loads("func @f(%n: i32, %A: memref<f32x?>) attributes {grid=[min(%n, 4), size(%A, 0)]} {}")["f"]
    good, bad = np.zeros(3, np.float32), [(True, 0), (2**31, 0), (3, np.zeros(3)), (3, np.zeros((3, 2), np.float32))]
    assert halves.grid_for(3, good) == (3, 3, 1)
    for n, array in bad:
        arguments = (n, array if isinstance(array, np.ndarray) else good)
        for call in (halves.grid_for, halves, lambda *given: halves.bind(*given).grid):
            with pytest.raises(girih.LaunchError):
                call(*arguments)
    assert refused(ratio, 1.5, 0).code == "bind.type"
    assert refused(ratio, 1).code == "bind.count"
    assert refused(girih.loads(TEXT, "cpu")["count"], np.zeros(3, np.float32), None, 2, np.zeros(3, np.int64)).code == (
        "bind.order"
    )


def test_a_grid_can_be_built() -> None:
    a, n = Value("A", MemRef.packed(F32, (None,))), Value("n", I32)
    entry = GridOperation("ceil", GridSize(a, 0), GridOperation("*", GridScalar(n), GridNumber(-2)))
    attributes = Dictionary((Entry("grid", (entry,)),))
    body = Region(RegionKind.COLLECTIVE, ())
    function = Function("f", TILE_LANGUAGE, (Parameter(a), Parameter(n)), body, attributes)
    module = Module((function,))
    assert "grid=[ceil(size(%A, 0), %n * -2)]" in str(module)
    assert girih.check(str(module)) == []
    assert girih.parse(str(module)) == module
    assert compile_module(module, "cpu")["f"].grid_for(np.zeros(9, np.float32), -1) == (5, 1, 1)
    assert evaluated(entry, lambda leaf: {a: 7, n: 3}[leaf.parameter]) == -1
    found = refused(compile_module(module, "cpu")["f"], np.zeros(9, np.float32), 0)
    assert "divides 9 by zero" in str(found)

    foreign = Function("f", TILE_LANGUAGE, (Parameter(a),), body, attributes)
    (problem,) = check_module(Module((foreign,)))
    assert (problem.code, problem.message) == ("name.undefined", "%n is not visible here")
    with pytest.raises(ValueError, match="no operation '/'"):
        GridOperation("/", GridScalar(n), GridScalar(n))
    deep: Any = GridScalar(n)
    for _ in range(NESTING_LIMIT):
        deep = GridOperation("+", deep, GridNumber(1))
    with pytest.raises(ValueError, match="at most 256 deep"):
        GridOperation("+", deep, GridNumber(1))
    built = Function("f", TILE_LANGUAGE, (Parameter(a), Parameter(n)), body, Dictionary((Entry("grid", (deep,)),)))
    assert compile_module(Module((built,)), "interpreter")["f"].grid_for(np.zeros(1, np.float32), 3) == (
        259,
        1,
        1,
    )
