"""Matrices that a work-group holds: the CPU agrees with the interpreter, whatever the number of subgroups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
from tests.back.harness import Compiled, Failed, compare, compiled, copy_of
from tests.back.test_coopmatrix import ONE, TOLERANCES, numbers
from tests.cases import crossed

Array = NDArray[Any]

SUBGROUPS = [1, 2, 4]
"""How many subgroups of eight work-items a work-group has."""

SHAPES = [(8, 8), (1, 5), (64, 40)]


def kernel(parameters: str, body: str, subgroups: int) -> str:
    """A kernel with work-groups of so many subgroups; %z and %z32 are 0."""
    sizes = f"subgroup_size=8, work_group_size=[{8 * subgroups}, 1]"
    start = "%z = constant 0 : index\n%z32 = constant 0 : i32"
    return f"func @f({parameters}) attributes {{{sizes}}} {{\n{start}\nparallel {{\n{body}\n}}\n}}\n"


def held(type: str, shape: tuple[int, int], use: str = "acc", scope: str = ",work_group") -> str:
    """The text of a type."""
    return f"coopmatrix<{type}x{shape[0]}x{shape[1]},matrix_{use}{scope}>"


@pytest.mark.parametrize(("shape", "subgroups"), crossed(SHAPES, SUBGROUPS))
def test_what_all_read_is_not_written_before(shape: tuple[int, int], subgroups: int) -> None:
    """Again and again, in branches and loops that carry the matrix, and next to one of each subgroup's own."""
    whole, own = held("f32", shape), held("f32", shape, scope="")
    body = f"""
      %n = constant 3 : i32
      %one = constant 1 : i32
      %two = constant 2.0 : f32
      %a = cooperative_matrix_load %A[%z,%z] : {whole}
      %s = cooperative_matrix_load %A[%z,%z] : {own}
      %r = for %i=%z32,%n init (%m=%a) -> ({whole}) {{
        %p = add %m, %m : {whole}
        cooperative_matrix_store %p, %A[%z,%z]
        %b = cooperative_matrix_load %A[%z,%z] : {whole}
        %c = equal %i, %one : bool
        %w = if %c -> ({whole}) {{
          %t = cooperative_matrix_scale %two, %b : {whole}
          cooperative_matrix_store %t, %A[%z,%z]
          yield (%t)
        }} else {{
          yield (%b)
        }}
        yield (%w)
      }}
      %s2 = add %s, %s : {own}
      barrier.global
      %l = load %A[%z,%z] : f32
      %id = subgroup_local_id : i32
      %li = cast %id : index
      store %l, %D[%li]
      barrier.global
      cooperative_matrix_store %r, %A[%z,%z]
      cooperative_matrix_store %s2, %B[%z,%z]"""
    rows, columns = shape
    parameters = f"%A: memref<f32x{rows}x{columns}>, %B: memref<f32x{rows}x{columns}>, %D: memref<f32x64>"
    arrays = numbers("f32", *shape), numbers("f32", *shape, seed=1), np.zeros(64, np.float32)
    compare(kernel(parameters, body, subgroups), ONE, *arrays, races=False)


@pytest.mark.parametrize(("type", "subgroups"), crossed(["f32", "bf16"], SUBGROUPS, first=1))
def test_all_that_computes(type: str, subgroups: int) -> None:
    """A product in place, its transpose, sums, combinations and functions; rows are no multiple of the subgroup."""
    total = "f32"
    body = f"""
      %a = cooperative_matrix_load %A[%z,%z] : {held(type, (12, 20), "a")}
      %b = cooperative_matrix_load %B[%z,%z] : {held(type, (20, 12), "b")}
      %c = cooperative_matrix_load %C[%z,%z] : {held(total, (12, 12))}
      %d = cooperative_matrix_mul_add %a, %b, %c : {held(total, (12, 12))}
      %t = cooperative_matrix_transpose %d : {held(total, (12, 12), "b")}
      %o = cooperative_matrix_load %A[%z,%z] : {held(type, (12, 12), "a")}
      %p = cast %o : {held(total, (12, 12), "a")}
      %e = cooperative_matrix_mul_add %p, %t, %d : {held(total, (12, 12))}
      %s = cooperative_matrix_reduce_add.row %e : {held(total, (12, 1))}
      %m = cooperative_matrix_combine.row (%x,%y)=%e -> {held(total, (12, 12))} {{
        %u = max %x, %y : f32
        yield (%u)
      }}
      %f = cooperative_matrix_apply (%i,%j,%x,%y)=%e,%m -> {held(total, (12, 12))} {{
        %u = sub %x, %y : f32
        yield (%u)
      }}
      cooperative_matrix_store %f, %C[%z,%z]
      cooperative_matrix_store.column_blocked_interleaved %f, %D[%z], 1
      %g = cooperative_matrix_load.row_blocked_interleaved %D[%z], 1 : {held(total, (12, 12))}
      %h = cast %s : {held("f64", (12, 1))}
      cooperative_matrix_store %h, %E[%z,%z]
      cooperative_matrix_store.row_blocked_interleaved %g, %D[%z], 3"""
    parameters = (
        f"%A: memref<{type}x12x20>, %B: memref<{type}x20x12>, %C: memref<f32x12x12>, %D: memref<f32x144>, "
        "%E: memref<f64x12x1>"
    )
    arrays = [numbers(type, 12, 20), numbers(type, 20, 12, 1), numbers("f32", 12, 12, 2), np.zeros(144, np.float32)]
    text = kernel(parameters, body, subgroups)
    compare(text, ONE, *arrays, np.zeros((12, 1), order="F"), tolerance=TOLERANCES[type], races=False)


@pytest.mark.parametrize(("shape", "subgroups"), crossed(SHAPES, SUBGROUPS))
def test_a_region_is_called_once_for_each_component(shape: tuple[int, int], subgroups: int) -> None:
    """However many subgroups hold the matrix: what it adds up is added once."""
    whole = held("f32", shape)
    body = f"""
      %one = constant 1 : i32
      %n = constant 2 : i32
      %a = cooperative_matrix_load %A[%z,%z] : {whole}
      %w = add %a, %a : {whole}
      %r = for %i=%z32,%n init (%m=%w) -> ({whole}) {{
        %p = cooperative_matrix_apply (%x,%y,%e,%g)=%m,%w -> {whole} {{
          %q = atomic_add %one, %C[%z] : i32
          %column = cast %y : f32
          %v = add %e, %g : f32
          %u = add %v, %column : f32
          yield (%u)
        }}
        yield (%p)
      }}
      %k = add %r, %w : {whole}
      cooperative_matrix_store %k, %A[%z,%z]"""
    parameters = f"%A: memref<f32x{shape[0]}x{shape[1]}>, %C: memref<i32x1>"
    count = np.zeros(1, np.int32)
    compare(kernel(parameters, body, subgroups), ONE, numbers("f32", *shape), count)
    assert count[0] == 2 * shape[0] * shape[1]


def test_work_groups_do_not_wait_for_each_other() -> None:
    whole = held("i32", (4, 4))
    body = f"""
      %i = group_id.x : index
      %four = constant 4 : index
      %g = mul %i, %four : index
      %a = cooperative_matrix_load %A[%z,%g] : {whole}
      %b = add %a, %a : {whole}
      cooperative_matrix_store %b, %A[%z,%g]"""
    text = kernel("%A: memref<i32x4x?>", body, 2)
    compare(text, (5, 1, 1), numbers("i32", 4, 20))


WHOLE = held("f32", (4, 4))
ALONE = f"""
    %id = subgroup_local_id : i32
    %some = cast %n : i32
    %c = less_than %id, %some : bool
    if %c {{
        %a = cooperative_matrix_load %A[%z,%z] : {WHOLE}
        cooperative_matrix_store %a, %A[%z,%z]
    }}"""
APART = f"""
    %id = subgroup_local_id : i32
    %lane = cast %id : index
    %i = mul %lane, %n : index
    %a = cooperative_matrix_load %A[%z,%i] : {WHOLE}
    cooperative_matrix_store %a, %A[%z,%z]"""


@pytest.mark.parametrize(("body", "code"), [(ALONE, "run.divergent"), (APART, "run.not_uniform")])
@pytest.mark.parametrize("subgroups", [1, 2])
def test_what_differs_in_a_subgroup_is_found(body: str, code: str, subgroups: int) -> None:
    """In the words of the interpreter."""
    program = girih.loads(kernel("%A: memref<f32x4x32>, %n: index", body, subgroups), target="interpreter")["f"]
    a = numbers("f32", 4, 32)
    with pytest.raises(girih.KernelError) as wanted:
        program[ONE].options(races=False)(copy_of(a), 1)
    with pytest.raises(Failed) as found:
        Compiled(program.ir)(ONE, a, 1)
    finding = wanted.value.findings[0]
    assert (found.value.code, found.value.message) == (finding.code, finding.message)
    assert found.value.code == code


def test_only_kernels_that_write_together_wait() -> None:
    """What is only loaded by the work-group needs no coroutines."""

    def workspace(store: str) -> int:
        own = held("f32", (64, 64), scope="")
        body = f"""
          %a = cooperative_matrix_load %A[%z,%z] : {held("f32", (64, 64))}
          %s = cooperative_matrix_load %A[%z,%z] : {own}
          {store}"""
        return compiled(kernel("%A: memref<f32x64x64>", body, 4)).kernel.workspace_bytes

    assert workspace("cooperative_matrix_store %a, %A[%z,%z]") > 2 * workspace("cooperative_matrix_store %s, %A[%z,%z]")


@pytest.mark.parametrize(("operator", "way"), crossed(["add", "max", "min"], ["row", "column"]))
def test_reductions_of_one_row(operator: str, way: str) -> None:
    """Only the work-group may hold a single row of which there are sums."""
    left = 1 if way == "row" else 70
    text = f"""
    func @f(%A: memref<i32x1x70>, %B: memref<i32x1x{left}>) attributes{{subgroup_size=8,work_group_size=[16,1]}} {{
      parallel {{
        %z = constant 0 : index
        %a = cooperative_matrix_load %A[%z,%z] : coopmatrix<i32x1x70,matrix_a,work_group>
        %b = cooperative_matrix_reduce_{operator}.{way} %a : coopmatrix<i32x1x{left},matrix_a,work_group>
        cooperative_matrix_store %b, %B[%z,%z]
      }}
    }}
    """
    a, b = np.asfortranarray(np.arange(-30, 40, dtype=np.int32)[None]), np.zeros((1, left), np.int32, order="F")
    girih.loads(text, target="cpu")["f"](a, b)
    over = 1 if way == "row" else 0
    wanted = {"add": a.sum(axis=over), "max": a.max(axis=over), "min": a.min(axis=over)}[operator]
    np.testing.assert_array_equal(b, wanted.reshape(1, left))


@pytest.mark.parametrize(
    ("type", "size"), crossed(["f32", "f64", "f16", "bf16", "i8", "c32"], [(1, 5), (2, 2), (7, 16), (70, 3)], first=3)
)
def test_products_of_one_row(type: str, size: tuple[int, int]) -> None:
    """Only the work-group may hold a single row of which there are products."""
    columns, depth = size
    total = {"f16": "f32", "bf16": "f32", "i8": "i32"}.get(type, type)
    left, right = f"coopmatrix<{type}x1x{depth},matrix_a,work_group>", f"{type}x{depth}x{columns}"
    sums = f"coopmatrix<{total}x1x{columns},matrix_acc,work_group>"
    text = f"""
    func @f(%A: memref<{type}x1x{depth}>, %B: memref<{right}>, %C: memref<{total}x1x{columns}>)
        attributes{{subgroup_size=8,work_group_size=[16,1]}} {{
      parallel {{
        %z = constant 0 : index
        %a = cooperative_matrix_load %A[%z,%z] : {left}
        %b = cooperative_matrix_load %B[%z,%z] : coopmatrix<{right},matrix_b,work_group>
        %c = cooperative_matrix_load %C[%z,%z] : {sums}
        %d = cooperative_matrix_mul_add %a, %b, %c : {sums}
        cooperative_matrix_store %d, %C[%z,%z]
      }}
    }}
    """
    a, b, c = numbers(type, 1, depth), numbers(type, depth, columns), numbers(total, 1, columns)
    results = [copy_of(c), copy_of(c)]
    for target, result in zip(("interpreter", "cpu"), results, strict=True):
        girih.loads(text, target=target)["f"](copy_of(a), copy_of(b), result)
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-5)
