"""Programs built without a text are those that a text gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import girih
import girih.ops
from girih.ir.build import RegionBuilder, parameter
from girih.ir.check import check_module
from girih.ir.core import Dictionary, Entry, Module, RegionKind, Value
from girih.ir.types import (
    BOOL,
    F32,
    I8,
    I32,
    INDEX,
    ClampMode,
    CoopMatrix,
    MatrixScope,
    MemRef,
    TensorLayoutType,
    TensorViewType,
    Use,
)
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.coopmatrix_regions import Combined

TEXT = """
func @scale(%a: f32, %A: memref<f32x?>) {
  %zero = constant 0 : index
  %n = size %A[0] : index
  foreach (%i)=(%zero), (%n) {
    %x = load %A[%i] : f32
    %y = mul %a, %x : f32
    store %y, %A[%i]
  }
  for %k = %zero, %n {
  }
}
"""


def build() -> Module:
    factor, array = parameter("a", F32), parameter("A", MemRef.packed(F32, (None,)))
    body = RegionBuilder(TILE_LANGUAGE)
    (zero,) = body.add("constant", INDEX, value=0)
    (n,) = body.add("size", INDEX, tensor=array.value, mode=0)
    i = Value("i", INDEX)
    loop = body.inner(RegionKind.SPMD)
    (x,) = loop.add("load", F32, tensor=array.value, indices=(i,))
    (y,) = loop.add("mul", F32, a=factor.value, b=x)
    loop.add("store", value=y, tensor=array.value, indices=(i,))
    body.add("foreach", variables=(i,), start=(zero,), stop=(n,), body=loop.region())
    body.add("for", variable=Value("k", INDEX), start=zero, stop=n, body=body.inner().region())
    return Module((body.function("scale", [factor, array]),))


def test_a_built_module_is_the_parsed_one() -> None:
    module = build()
    assert module == girih.parse(TEXT)
    assert girih.parse(str(module)) == module
    assert check_module(module) == []


DECODED = """
func @f(%A: memref<i8x?>, %n: index) {
  parallel {
    %t0 = tensor_layout_create : tensor_layout<1,repeat>
    %t = tensor_layout_set_dimension %t0[%n] : tensor_layout<1,repeat>
    %v = tensor_view_create : tensor_view<1>
    %m = constant 0 : coopmatrix<i8x4x4,matrix_acc,work_group>
    %a = cooperative_matrix_load_tensor %m, %A[%n], %t : coopmatrix<i8x4x4,matrix_acc,work_group>
    %b = cooperative_matrix_load_tensor %a, %A[%n], %t, %v decode (%block: memref<i8x2>, %i, %k) {
      %x = load %block[1] : i8
      yield (%x)
    } : coopmatrix<i8x4x4,matrix_acc,work_group>
    %c = cooperative_matrix_combine.2x2 (%p, %q) = %b -> coopmatrix<i8x2x2,matrix_acc,work_group> {
      yield (%q)
    }
    cooperative_matrix_store_tensor %c, %A[%n], %t
  }
}
"""


def test_what_may_be_left_out_in_the_text_may_be_left_out_here() -> None:
    array, n = parameter("A", MemRef.packed(I8, (None,))), parameter("n", INDEX)
    body = RegionBuilder(TILE_LANGUAGE)
    inner = body.inner(RegionKind.SPMD)
    type = TensorLayoutType(1, ClampMode.REPEAT)
    matrix = CoopMatrix(I8, 4, 4, Use.ACC, MatrixScope.WORK_GROUP)
    (empty,) = inner.add("tensor_layout_create", type)
    (layout,) = inner.add("tensor_layout_set_dimension", type, layout=empty, numbers=(n.value,))
    (view,) = inner.add("tensor_view_create", TensorViewType(1))
    (zero,) = inner.add("constant", matrix, value=0)
    place: dict[str, Any] = {"memory": array.value, "offset": n.value, "layout": layout}
    (plain,) = inner.add("cooperative_matrix_load_tensor", matrix, init=zero, **place)
    block, i, k = Value("block", MemRef.packed(I8, (2,))), Value("i", INDEX), Value("k", INDEX)
    decode = inner.inner()
    (x,) = decode.add("load", I8, tensor=block, indices=(1,))
    decode.add("yield", values=(x,))
    (decoded,) = inner.add("cooperative_matrix_load_tensor", matrix, init=plain, view=view, block=block,
                           block_type=block.type, coordinates=(i, k), body=decode.region(), **place)  # fmt: skip
    p, q = Value("p", I8), Value("q", I8)
    region = inner.inner()
    region.add("yield", values=(q,))
    (small,) = inner.add("cooperative_matrix_combine", replace(matrix, rows=2, columns=2), along=Combined.BLOCK,
                         left=p, right=q, matrix=decoded, body=region.region())  # fmt: skip
    inner.add("cooperative_matrix_store_tensor", matrix=small, **place)
    body.add("parallel", body=inner.region())
    module = Module((body.function("f", [array, n]),))
    assert module == girih.parse(DECODED)
    assert girih.parse(str(module)) == module
    assert check_module(module) == []


def test_a_built_module_is_checked_like_a_parsed_one() -> None:
    body = RegionBuilder(TILE_LANGUAGE)
    (a,) = body.add("constant", I32, value=1)
    body.add("add", F32, a=a, b=a)
    codes = [d.code for d in check_module(Module((body.function("f", []),)))]
    assert codes == ["add.result_type"]


def test_what_no_text_can_say_is_refused() -> None:
    for text, accepted in (
        ("it's \\ 'here'", True),
        ('a "b"', False),
        ("a\nb", False),
        ("\N{GREEK SMALL LETTER PI}", False),
    ):
        body = RegionBuilder(TILE_LANGUAGE)
        body.add("print", text=text)
        quoted = Dictionary((Entry("note", (text,), quoted=True), Entry(text, 1, quoted=True)))
        module = Module((body.function("f", [parameter("A", MemRef.packed(F32, (2,)), quoted)]),))
        codes = [d.code for d in check_module(module)]
        assert codes == ([] if accepted else ["parameter.attributes", "text.characters"]), text
        assert not accepted or girih.parse(str(module)) == module
    for name, accepted in (("a_1", True), ("12", True), ("", True), ("f g", False), ("1a", False), ("007", False)):
        body = RegionBuilder(TILE_LANGUAGE)
        (a,) = body.add("constant", INDEX, names=(name,), value=1)
        body.add("for", variable=Value("i" + name, INDEX), start=a, stop=a, body=body.inner().region())
        module = Module((body.function("f", []),))
        codes = [d.code for d in check_module(module)]
        assert codes == ([] if accepted else ["name.spelling"] * (1 + (" " in name))), name
        assert not accepted or girih.parse(str(module)) == module
    for name, codes in (("007", []), ("q r", ["name.spelling"]), ("", ["name.spelling"])):
        function = RegionBuilder(TILE_LANGUAGE).function(name, [parameter("p q", F32)])
        assert [d.code for d in check_module(Module((function,)))] == [*codes, "name.spelling"]


def test_results_without_names_are_numbered_where_they_are_used() -> None:
    flag, number = parameter("c", BOOL), parameter("a", F32)
    body = RegionBuilder(TILE_LANGUAGE)
    then = body.inner()
    then.add("yield", values=(number.value,))
    region = then.region()
    (chosen,) = body.add("if", F32, condition=flag.value, then=region, otherwise=region)
    body.add("neg", F32, a=chosen)
    body.add("if", F32, condition=flag.value, then=region, otherwise=region)
    module = Module((body.function("f", [flag, number]),))
    assert girih.parse(str(module)) == module
    assert str(module).count(" = if ") == 1


def test_a_value_that_is_not_visible_is_found() -> None:
    body = RegionBuilder(TILE_LANGUAGE)
    body.add("neg", F32, a=Value("nowhere", F32))
    codes = [d.code for d in check_module(Module((body.function("f", []),)))]
    assert codes == ["name.undefined"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"value": 1, "wrong": 2}, "has no field wrong"),
        ({}, "needs the field value"),
    ],
)
def test_wrong_fields_are_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        RegionBuilder(TILE_LANGUAGE).add("constant", I32, **fields)


def test_the_number_of_results_is_checked() -> None:
    with pytest.raises(TypeError, match="returns one value"):
        RegionBuilder(TILE_LANGUAGE).add("constant", value=1)
