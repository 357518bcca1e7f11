"""Programs built without a text are those that a text gives."""

from __future__ import annotations

from typing import Any

import pytest

import girih
import girih.ops
from girih.ir.build import RegionBuilder, parameter
from girih.ir.check import check_module
from girih.ir.core import Module, RegionKind, Value
from girih.ir.types import BOOL, F32, I32, INDEX, MemRef

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
    body = RegionBuilder(RegionKind.COLLECTIVE)
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


def test_a_built_module_is_checked_like_a_parsed_one() -> None:
    body = RegionBuilder(RegionKind.COLLECTIVE)
    (a,) = body.add("constant", I32, value=1)
    body.add("add", F32, a=a, b=a)
    codes = [d.code for d in check_module(Module((body.function("f", []),)))]
    assert codes == ["add.result_type"]


def test_results_without_names_are_numbered_where_they_are_used() -> None:
    flag, number = parameter("c", BOOL), parameter("a", F32)
    body = RegionBuilder(RegionKind.COLLECTIVE)
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
    body = RegionBuilder(RegionKind.COLLECTIVE)
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
        RegionBuilder(RegionKind.COLLECTIVE).add("constant", I32, **fields)


def test_the_number_of_results_is_checked() -> None:
    with pytest.raises(TypeError, match="returns one value"):
        RegionBuilder(RegionKind.COLLECTIVE).add("constant", value=1)
