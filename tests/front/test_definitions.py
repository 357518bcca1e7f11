"""`$name` definitions: what they may hold, where they are visible, the calculator, and values given from outside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from girih import check, parse
from girih.diagnostics import CompileError
from girih.ir.core import Function


def function(text: str, **definitions: object) -> Function:
    return parse(text, definitions=definitions).functions[0]


def codes(text: str) -> list[str]:
    return [d.code for d in check(text)]


def calculated(expression: str) -> str:
    text = f"$n = !calc({expression})\nfunc @f(%A: memref<f32x?x$n>) {{\n}}\n"
    return str(function(text).parameters[0].type).removeprefix("memref<f32x?x").removesuffix(">")


@pytest.mark.parametrize(
    ("definition", "use", "result"),
    [
        ("$n = 64", "%x = constant $n : i32", "%x = constant 64 : i32"),
        ("$n = -1.5", "%x = constant $n : f32", "%x = constant -1.5 : f32"),
        ("$n = inf", "%x = constant $n : f32", "%x = constant inf : f32"),
        ("$n = true", "%x = constant $n : bool", "%x = constant true : bool"),
        ("$n = [1.0, -2.0]", "%x = constant $n : c32", "%x = constant [1.0, -2.0] : c32"),
        ("$n = f16", "%x = constant 1.0 : $n", "%x = constant 1.0 : f16"),
        ("$n = f16", "%x = alloca : memref<$n x4x4,local>", "%x = alloca : memref<f16x4x4,local>"),
        ("$n = 4", "%x = alloca : memref<f32x$n x $n,local>", "%x = alloca : memref<f32x4x4,local>"),
        ("$n = memref<f32x4,local>", "%x = alloca : $n", "%x = alloca : memref<f32x4,local>"),
        (
            "$n = {alignment=16}",
            "%x = alloca $n : memref<f32x4,local>",
            "%x = alloca {alignment=16} : memref<f32x4,local>",
        ),
        ("$n = 16", "%x = alloca {alignment=$n} : memref<f32,local>", "%x = alloca {alignment=16} : memref<f32,local>"),
        ("$m = 7\n$n = $m", "%x = constant $n : i32", "%x = constant 7 : i32"),
        ("$m = 7\n$n = !calc($m 2 *)", "%x = constant $n : i32", "%x = constant 14 : i32"),
        ("$0 = 3", "%x = constant $0 : i32", "%x = constant 3 : i32"),
    ],
)
def test_what_a_definition_holds(definition: str, use: str, result: str) -> None:
    module = parse(f"{definition}\nfunc @f() {{\n{use}\n}}\n")
    assert str(module) == f"func @f() {{\n    {result}\n}}\n"


def test_definitions_of_strings_and_arrays() -> None:
    text = '$s = "gemm"\n$g = [4, 8]\nfunc @f(%A: memref<f32x?x?> {shape_gcd=$g, "note"=$s}) {\n}\n'
    assert str(parse(text)) == 'func @f(%A: memref<f32x?x?> {shape_gcd=[4, 8], "note"="gemm"}) {\n}\n'


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("7", "7"),
        ("1 2 +", "3"),
        ("2 3 + 4 *", "20"),
        ("7 2 -", "5"),
        ("7 2 /", "3"),
        ("-7 -2 /", "3"),
        ("7 2 %", "1"),
        ("2 10 ^", "1024"),
        ("0 0 ^", "1"),
        ("3 5 min", "3"),
        ("3 5 max", "5"),
        ("-7 2 / 10 +", "7"),
        ("-7 2 % 10 +", "9"),
        ("9223372036854775807", "9223372036854775807"),
    ],
)
def test_the_calculator(expression: str, value: str) -> None:
    assert calculated(expression) == value


@pytest.mark.parametrize(
    ("expression", "guilty", "message"),
    [
        ("1 0 /", "/", "division of 1 by zero"),
        ("1 0 %", "%", "division of 1 by zero"),
        ("9223372036854775807 1 +", "+", "`9223372036854775807 1 +` is out of range"),
        ("-9223372036854775807 1 -", "-", "`-9223372036854775807 1 -` is out of range"),
        ("2 63 ^", "^", "`2 63 ^` is out of range"),
        ("3 9223372036854775807 ^", "^", "`3 9223372036854775807 ^` is out of range"),
        ("2 -1 ^", "^", "2 to the negative power -1 is not an integer"),
        ("1 +", "+", "`+` needs two values before it"),
        ("", "!calc()", "the expression leaves no value"),
        ("1 2", "!calc(1 2)", "the expression leaves 2 values"),
    ],
)
def test_the_calculator_refuses(expression: str, guilty: str, message: str) -> None:
    (found,) = check(f"$n = !calc({expression})\nfunc @f() {{\n}}\n")
    assert (found.code, found.span.text, found.message) == ("definition.calculation", guilty, message)


def test_an_unfinished_calculation() -> None:
    assert codes("$n = !calc(1 2 +") == ["syntax.expected"]
    assert codes("$n = !calc(1 foo)\nfunc @f() {\n}\n") == ["syntax.expected"]


def test_a_definition_is_visible_to_the_end_of_its_region() -> None:
    inside = "func @f() {\nparallel {\n$n = 3\n%a = constant $n : i32\n}\n"
    assert codes(inside + "}\n") == []
    assert codes(inside + "%b = constant $n : i32\n}\n") == ["definition.undefined"]
    assert codes(inside + "parallel {\n$n = 4\n%b = constant $n : i32\n}\n}\n") == []
    assert codes(inside + "}\nfunc @g(%A: memref<f32x$n>) {\n}\n") == ["definition.undefined"]


def test_a_definition_is_not_shadowed() -> None:
    assert codes("$n = 3\nfunc @f() {\n$n = 4\n}\n") == ["definition.redefined"]
    assert codes("$n = 3\n$n = 3\n") == ["definition.redefined"]


def test_a_definition_counts_from_its_place_on() -> None:
    assert codes("func @f(%A: memref<f32x$n>) {\n}\n$n = 3\n") == ["definition.undefined"]


def test_the_nearest_definition_is_named() -> None:
    (found,) = check("$headdim = 64\nfunc @f(%A: memref<f32x$headim>) {\n}\n")
    assert found.hint == "did you mean `$headdim`?"


PROGRAM = "$n = 4\n$t = f32\nfunc @f(%A: memref<$t x$n>) {\n}\n"


@pytest.mark.parametrize(
    ("given", "type"),
    [
        ({}, "memref<f32x4>"),
        ({"n": 8}, "memref<f32x8>"),
        ({"n": "8"}, "memref<f32x8>"),
        ({"n": "!calc(2 3 ^)"}, "memref<f32x8>"),
        ({"t": "f16", "n": 2}, "memref<f16x2>"),
    ],
)
def test_values_from_outside_replace_those_of_the_file(given: dict[str, object], type: str) -> None:
    assert str(function(PROGRAM, **given).parameters[0].type) == type


def test_numbers_of_other_libraries_and_dollar_signs() -> None:
    for given in ({"n": np.int64(8)}, {"$n": 8}, {"n": np.uint8(8)}):
        assert [d.message for d in check(PROGRAM, definitions=given)] == []
    (found,) = check(PROGRAM, definitions={"n": np.float32(2.5)})
    assert found.message == "expected a mode size, `$n` holds a floating-point number"


def test_definitions_that_are_no_dictionary_of_names() -> None:
    given: Any = {3: 4}
    assert [d.message for d in check(PROGRAM, definitions=given)] == ["definition 3: expected a name, found int"]
    given = ["n=4"]
    (found,) = check(PROGRAM, definitions=given)
    assert found.message == "definitions are a dictionary from names to values, found list"


def test_a_value_from_outside_may_be_the_only_one() -> None:
    assert str(function("func @f(%A: memref<f32x$n>) {\n}\n", n=5).parameters[0].type) == "memref<f32x5>"


def test_a_definition_that_was_replaced_still_has_to_be_right() -> None:
    with pytest.raises(CompileError):
        parse("$n = !calc(1 0 /)\nfunc @f(%A: memref<f32x$n>) {\n}\n", definitions={"n": 4})


@pytest.mark.parametrize("value", [None, [1], "", "4 4", "?", "%x", "$m", object()])
def test_a_value_from_outside_that_is_none(value: object) -> None:
    found = check(PROGRAM, definitions={"n": value})
    assert [d.code for d in found] == ["definition.given"]
    assert found[0].message.startswith("definition 'n': ")


def test_kinds() -> None:
    assert codes("$n = f32\nfunc @f(%A: memref<f32x$n>) {\n}\n") == ["definition.kind"]
    assert codes("$n = 4\nfunc @f(%a: $n) {\n}\n") == ["definition.kind"]
    assert codes("$n = 4.5\nfunc @f(%A: memref<f32x?> {alignment=$n}) {\n}\n") == ["definition.kind"]
    assert codes("$n = 4\nfunc @f(%A: memref<f32x?> $n) {\n}\n") == ["definition.kind"]
    assert codes("$n = [1, 2]\nfunc @f() {\n%x = constant $n : i32\n}\n") == ["definition.kind"]
