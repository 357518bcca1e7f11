"""Tile programs in the language, for tests of what becomes of them."""

from __future__ import annotations

import re

import girih
from girih.ir.core import Function
from girih.kernels import texts
from girih.tile.form import TileKernel
from girih.tile.recognise import tile_kernel

PRODUCT = """
func @product(%A: $a, %B: $b, %C: $c) attributes {subgroup_size=32, work_group_size=[$items, 1]} {
    %zero = constant 0 : index
    %rows = constant $rows : index
    %columns = constant $columns : index
    %step = constant $depth : index
    %i = group_id.x : index
    %j = group_id.y : index
    %row = mul %i, %rows : index
    %column = mul %j, %columns : index
    %k = size %A[$k] : index
    parallel {
        %empty = constant $zero : coopmatrix<$sum x $rows x $columns, matrix_acc, work_group>
        %product = for %at = %zero, %k, %step init (%sum=%empty)
                -> (coopmatrix<$sum x $rows x $columns, matrix_acc, work_group>) {
            %left = $load_a : coopmatrix<$type x $rows x $depth, matrix_a, work_group>
            %right = $load_b : coopmatrix<$type x $depth x $columns, matrix_b, work_group>
            %next = cooperative_matrix_mul_add %left, %right, %sum
                    : coopmatrix<$sum x $rows x $columns, matrix_acc, work_group>
            yield (%next)
        }
        $epilogue
    }
}
"""
PERMITTED = 'subgroup_size=32, allow=["reassociate"]'
"""What stands in the place of `subgroup_size=32` where sums may be added up in parts."""
STORE = """%rounded = cast %product : coopmatrix<$type x $rows x $columns, matrix_acc, work_group>
        cooperative_matrix_store.both_checked %rounded, %C[%row, %column]"""


def filled(text: str, **words: object) -> str:
    """A text with words in the place of `$names`."""
    return re.sub(r"\$(\w+)", lambda found: str(words[found[1]]) if found[1] in words else found[0], text)


def product(
    *, type: str = "bf16", sum: str = "f32", rows: int = 128, columns: int = 256, depth: int = 64, order: str = "F",
    transpose_a: bool = False, transpose_b: bool = False, checked: str = ".both_checked", epilogue: str = STORE,
    items: int = 256,
) -> str:  # fmt: skip
    """C := op(A) op(B): of neighbours along mode 0 in order F, along mode 1 in order C."""
    memory = f"memref<{type}x?x?>" if order == "F" else f"memref<{type}x?x?,strided<?,1>>"
    load = "cooperative_matrix_load"
    words: dict[str, object] = {
        "a": memory, "b": memory, "c": memory, "type": type, "sum": sum, "rows": rows, "columns": columns,
        "zero": "0" if sum[0] == "i" else "0.0", "depth": depth, "k": 0 if transpose_a else 1, "items": items,
        "load_a": f"{load}.t{checked} %A[%at, %row]" if transpose_a else f"{load}{checked} %A[%row, %at]",
        "load_b": f"{load}.t{checked} %B[%column, %at]" if transpose_b else f"{load}{checked} %B[%at, %column]",
    }  # fmt: skip
    return filled(filled(PRODUCT, epilogue=epilogue), **words)


ATTENTION = """
func @attention(%Q: memref<$type x $length x ? x ?>, %K: memref<$type x $length x ? x ?>,
                %V: memref<$type x $length x ? x ?>, %O: memref<$type x $length x ? x ?>, %scale: f32)
        attributes {subgroup_size=32, work_group_size=[256, 1]} {
    %zero = constant 0 : index
    %queries = constant $queries : index
    %step = constant $keys : index
    %i = group_id.x : index
    %head = group_id.y : index
    %query = mul %i, %queries : index
    %end = size %K[1] : index
    %most = size %Q[1] : index
    %last = cast %end : i32
    %q = subview %Q[0:$length, 0:%most, %head] : memref<$type x $length x ?>
    %k = subview %K[0:$length, 0:%end, %head] : memref<$type x $length x ?>
    %v = subview %V[0:$length, 0:%end, %head] : memref<$type x $length x ?>
    %o = subview %O[0:$length, 0:%most, %head] : memref<$type x $length x ?>
    parallel {
        %none = constant -inf : coopmatrix<f32 x $queries x 1, matrix_acc, work_group>
        %nothing = constant 0.0 : coopmatrix<f32 x $queries x 1, matrix_acc, work_group>
        %no_scores = constant 0.0 : coopmatrix<f32 x $queries x $keys, matrix_acc, work_group>
        %empty = constant 0.0 : coopmatrix<f32 x $queries x $length, matrix_acc, work_group>
        %rows = cooperative_matrix_load.t.both_checked %q[%zero, %query]
                : coopmatrix<$type x $queries x $length, matrix_a, work_group>
        %m, %l, %sum = for %key = %zero, %end, %step init (%m0=%none, %l0=%nothing, %o0=%empty)
                -> (coopmatrix<f32 x $queries x 1, matrix_acc, work_group>,
                    coopmatrix<f32 x $queries x 1, matrix_acc, work_group>,
                    coopmatrix<f32 x $queries x $length, matrix_acc, work_group>) {
            %keys = cooperative_matrix_load.both_checked %k[%zero, %key]
                    : coopmatrix<$type x $length x $keys, matrix_b, work_group>
            %raw = cooperative_matrix_mul_add %rows, %keys, %no_scores
                    : coopmatrix<f32 x $queries x $keys, matrix_acc, work_group>
            %first = cast %key : i32
            %scores = cooperative_matrix_apply (%r, %c, %x) = %raw
                    -> coopmatrix<f32 x $queries x $keys, matrix_acc, work_group> {
                %place = add %first, %c : i32
                %there = less_than %place, %last : bool
                %never = constant -inf : f32
                %scaled = mul %scale, %x : f32
                %score = select %there, %scaled, %never : f32
                yield (%score)
            }
            %highest = cooperative_matrix_reduce_max.row %scores
                    : coopmatrix<f32 x $queries x 1, matrix_acc, work_group>
            %m1 = max %m0, %highest : coopmatrix<f32 x $queries x 1, matrix_acc, work_group>
            %weights = cooperative_matrix_apply (%r, %c, %x, %y) = %scores, %m1
                    -> coopmatrix<f32 x $queries x $keys, matrix_acc, work_group> {
                %below = sub %x, %y : f32
                %e = native_exp2 %below : f32
                yield (%e)
            }
            %factor = cooperative_matrix_apply (%r, %c, %x, %y) = %m0, %m1
                    -> coopmatrix<f32 x $queries x 1, matrix_acc, work_group> {
                %below = sub %x, %y : f32
                %e = native_exp2 %below : f32
                yield (%e)
            }
            %shrunk = mul %l0, %factor : coopmatrix<f32 x $queries x 1, matrix_acc, work_group>
            %more = cooperative_matrix_reduce_add.row %weights
                    : coopmatrix<f32 x $queries x 1, matrix_acc, work_group>
            %l1 = add %shrunk, %more : coopmatrix<f32 x $queries x 1, matrix_acc, work_group>
            %kept = cooperative_matrix_apply (%r, %c, %x, %y) = %o0, %factor
                    -> coopmatrix<f32 x $queries x $length, matrix_acc, work_group> {
                %z = mul %x, %y : f32
                yield (%z)
            }
            %p = cast %weights : coopmatrix<$type x $queries x $keys, matrix_a, work_group>
            %values = cooperative_matrix_load.t.both_checked %v[%zero, %key]
                    : coopmatrix<$type x $keys x $length, matrix_b, work_group>
            %o1 = cooperative_matrix_mul_add %p, %values, %kept
                    : coopmatrix<f32 x $queries x $length, matrix_acc, work_group>
            yield (%m1, %l1, %o1)
        }
        %quotient = cooperative_matrix_apply (%r, %c, %x, %y) = %sum, %l
                -> coopmatrix<f32 x $queries x $length, matrix_acc, work_group> {
            %z = div %x, %y : f32
            yield (%z)
        }
        %out = cast %quotient : coopmatrix<$type x $queries x $length, matrix_acc, work_group>
        cooperative_matrix_store.t.both_checked %out, %o[%zero, %query]
    }
}
"""


def attention(*, type: str = "bf16", length: int = 128, queries: int = 128, keys: int = 128) -> str:
    """softmax(scale Q K) V, with exponentials of base 2; `length` is that of a query."""
    return filled(ATTENTION, type=type, length=length, queries=queries, keys=keys)


def twin(columns: int) -> str:
    """C := A B and E := A D with tiles of 64 x 64 and 64 x `columns`, in one loop, whose depth may be shared out."""
    sums = [f"coopmatrix<f32 x 64 x {n}, matrix_acc, work_group>" for n in (64, columns)]
    text = product(rows=64, columns=64).replace("subgroup_size=32", PERMITTED)
    for before, after in (
        ("%product = for", f"%nothing = constant 0.0 : {sums[1]}\n        %product, %other = for"),
        ("init (%sum=%empty)", "init (%sum=%empty, %more=%nothing)"),
        (f"-> ({sums[0]})", f"-> ({sums[0]}, {sums[1]})"),
        ("            yield (%next)", f"""            %third = cooperative_matrix_load.both_checked %D[%at, %column]
                    : coopmatrix<bf16 x 64 x {columns}, matrix_b, work_group>
            %further = cooperative_matrix_mul_add %left, %third, %more : {sums[1]}
            yield (%next, %further)"""),
        ("%C: memref<bf16x?x?>)", "%D: memref<bf16x?x?>, %E: memref<f32x?x?>, %C: memref<bf16x?x?>)"),
        ("%rounded", "cooperative_matrix_store.both_checked %other, %E[%row, %column]\n        %rounded"),
    ):  # fmt: skip
        assert before in text
        text = text.replace(before, after, 1)
    return text


GROUPED = """%z = group_id.z : index
    %A = load %As[%z] : memref<bf16x?x?>
    %B = load %Bs[%z] : memref<bf16x?x?>
    %C = load %Cs[%z] : memref<bf16x?x?>
    %k = size"""


def grouped(*, rows: int = 64, columns: int = 64, depth: int = 64) -> str:
    """The product of each pair of matrices of two groups, each of its own size, one for each work-group along z."""
    text = product(rows=rows, columns=columns, depth=depth)
    for name in "ABC":
        text = text.replace(f"%{name}: memref<bf16x?x?>", f"%{name}s: group<memref<bf16x?x?> x ?>")
    return text.replace("%k = size", GROUPED, 1)


def weighted_text(format: str = "q4_0", *, rows: int = 64, columns: int = 16, depth: int = 64) -> str:
    """The library's product with weights of 4 or 8 bits."""
    text = texts.path(f"gemm_{format}_work_group").read_text(encoding="utf-8")
    text = re.sub(r"^\$\w+ = .*\n", "", text, flags=re.M)
    return filled(text, type="f16", rows=rows, columns=columns, depth=depth, items=128)


def weighted(format: str = "q4_0", *, rows: int = 64, columns: int = 16, depth: int = 64) -> Function:
    """The function of that text."""
    return function_of(weighted_text(format, rows=rows, columns=columns, depth=depth))


def function_of(text: str) -> Function:
    """The function of a text, which is checked."""
    assert [d for d in girih.check(text) if d.severity == "error"] == []
    (function,) = girih.parse(text).functions
    return function


def kernel_of(text: str, *, checks: bool = False) -> TileKernel:
    """The tile kernel of a text."""
    return tile_kernel(function_of(text), checks=checks)


def batched(*, rows: int = 128, columns: int = 256, depth: int = 64) -> str:
    """The product of each pair of matrices along the third mode, one for each work-group along z."""
    text = product(rows=rows, columns=columns, depth=depth)
    for name in "ABC":
        text = text.replace(f"%{name}: memref<bf16x?x?>", f"%{name}: memref<bf16x?x?x?>")
    text = text.replace("%A[%row, %at]", "%a[%row, %at]").replace("%B[%at, %column]", "%b[%at, %column]")
    text = text.replace("%C[%row, %column]", "%c[%row, %column]")
    views = ["%m = size %A[0] : index", "%n = size %B[1] : index", "%z = group_id.z : index"]
    sizes = {"a": ("A", "%m", "%k"), "b": ("B", "%k", "%n"), "c": ("C", "%m", "%n")}
    views += [
        f"%{name} = subview %{of}[0:{rows}, 0:{columns}, %z] : memref<bf16x?x?,strided<1,?>>"
        for name, (of, rows, columns) in sizes.items()
    ]
    return text.replace("    parallel {", "    " + "\n    ".join(views) + "\n    parallel {", 1)
