"""All errors of a text are reported in one go, in order; one mistake does not cause a second diagnostic."""

from __future__ import annotations

import pytest

from girih import check


def told(text: str) -> list[tuple[int, str]]:
    return [(d.span.line, d.code) for d in check(text)]


def test_several_errors_in_order() -> None:
    text = """func @f(%a: f32, %A: memref<f32x4>) {
    %x = constnat 1.0 : f32
    %y = add %x, %a : f32
    %z = load %A[%missing] : f32
    store %z, %A[0
    %w = constant 1.0 : f3
    barrier.locl
    axpby %a, %A, %w, %A
    %v = add %a, : f32
}
func @g() {
    %u = constant true : i32
}
"""
    assert told(text) == [
        (2, "syntax.mnemonic"),
        (4, "name.undefined"),
        (5, "syntax.expected"),
        (6, "type.unknown"),
        (7, "syntax.modifier"),
        (9, "syntax.expected"),
        (12, "constant.literal"),
    ]


def test_a_line_that_ends_too_early_is_told_at_its_end() -> None:
    (found,) = check("func @f(%a: f32) {\n%b = add %a,\n\n%c = neg %a : f32\n}\n")
    assert (found.span.line, found.span.column) == (2, 13)
    assert found.message == "expected a local value such as `%x`, found `%c` in line 4"


def test_a_value_that_could_not_be_read_causes_no_second_error() -> None:
    text = """func @f(%A: memref<f32x4>) {
    %i = constant 0 : indx
    %a = load %A[%i] : f32
    %b = add %a, %i : f32
    store %b, %A[%i]
}
"""
    assert told(text) == [(2, "type.unknown")]


def test_an_unknown_name_is_reported_once() -> None:
    assert told("func @f(%A: memref<f32x4>) {\n%b = load %A[%i] : f32\n%c = load %A[%i] : f32\n}") == [
        (2, "name.undefined")
    ]


@pytest.mark.parametrize(
    "header",
    [
        "foreach (%i)=(%n),(%n {",
        "foreach (%i)=%n,%n {",
        "for %i = %n %n {",
        "for %i=%n,%n init(%c=%n) -> {",
        "foreach_tile (%i)=(%n),(%n) as (%s)<=() {",
        "if %n -> (f32 {",
        "parallell {",
    ],
)
def test_an_error_in_the_header_of_a_region(header: str) -> None:
    text = f"func @f(%n: index) {{\n{header}\n%a = add %i, %s : index\n}}\n%b = foo %n : index\n}}\n"
    assert [line for line, _ in told(text)] == [2, 5]


def test_a_missing_brace_is_found_at_the_next_function() -> None:
    text = "func @f() {\nparallel {\n%a = constant 1 : i32\nfunc @g() {\n%b = foo %b : i32\n}\n"
    assert told(text) == [(4, "syntax.brace"), (5, "syntax.mnemonic")]


def test_a_missing_brace_at_the_end_is_reported_once() -> None:
    assert told("func @f() {\nparallel {\nparallel {\n") == [(4, "syntax.brace")]


def test_a_brace_too_many() -> None:
    assert told("func @f() {\n}\n}\nfunc @g() {\n}\n") == [(3, "syntax.expected")]


@pytest.mark.parametrize(
    ("dictionary", "code"),
    [
        ("{alignment=}", "syntax.expected"),
        ("{alignment 64}", "syntax.expected"),
        ("{=64}", "syntax.expected"),
        ("{alignment=64 shape_gcd=[4]}", "syntax.expected"),
        ("{shape_gcd=[4}", "syntax.expected"),
        ("{alignment=[1, 2.5]}", "syntax.expected"),
        ("{allignment=64}", "syntax.attribute"),
    ],
)
def test_errors_in_dictionaries(dictionary: str, code: str) -> None:
    text = f"func @f(%A: memref<f32x?> {dictionary}) {{\n}}\nfunc @g() {{\n%a = foo %a : f32\n}}\n"
    assert told(text) == [(1, code), (4, "syntax.mnemonic")]


def test_a_key_in_quotes_twice() -> None:
    found = told('func @f(%A: memref<f32x?> {"name"=1, "name"=2}) {\n}\n')
    assert found == [(1, "syntax.string_attribute"), (1, "syntax.duplicate_attribute")]


def test_an_error_between_functions() -> None:
    assert told("fun @f() {\n}\nfunc @g() {\n%a = foo %a : f32\n}\n") == [
        (1, "syntax.expected"),
        (4, "syntax.mnemonic"),
    ]


def test_an_error_in_a_parameter_list() -> None:
    text = "func @f(%a f32) {\n%b = add %a, %a : f32\n}\nfunc @g(, %a: f32) {\n}\n"
    assert told(text) == [(1, "syntax.expected"), (4, "syntax.expected")]


def test_results_of_a_faulty_instruction_are_known() -> None:
    text = "func @f() {\n%a, %b = foo\n%c = add %a, %b : f32\n%a = constant 1 : i32\n}\n"
    assert told(text) == [(2, "syntax.mnemonic"), (4, "name.redefined")]


def test_errors_of_both_kinds_come_in_source_order() -> None:
    text = """func @f(%a: f32, %b: f64) {
    %c = add %a, %b : f32
    %d = foo %a : f32
    %e = mul %a, %b : f32
}
"""
    assert told(text) == [(2, "add.same"), (3, "syntax.mnemonic"), (4, "mul.same")]


def test_a_faulty_parameter_does_not_hide_the_body() -> None:
    text = """func @f(%A: memref<f32x4x4, %B memref<f32x4,strided<1>>, %c: float,
        %d: memref<f32x4>) {
    %x = laod %A[0,0] : f32
    %y = load %B[0] : f33
    %z = add %c, %c : f32
    store %z, %d[%e]
}
"""
    assert told(text) == [
        (1, "syntax.expected"),
        (1, "syntax.expected"),
        (1, "type.unknown"),
        (3, "syntax.mnemonic"),
        (4, "type.unknown"),
        (6, "name.undefined"),
    ]


def test_a_parameter_list_without_an_end() -> None:
    assert told("func @f(%A: f32\n    %x = neg %A : f32\n}\nfunc @g() {\n    barier\n}\n") == [
        (1, "syntax.expected"),
        (5, "syntax.mnemonic"),
    ]
    assert told("func @f(%A: flot") == [(1, "type.unknown")]
    assert told("func @f(%A flot\nfunc @g() {\n}\n") == [(1, "syntax.expected")]


@pytest.mark.parametrize("header", ["func @f()", "func @f() {\nparallel", "func @f(%b: bool) {\nif %b"])
def test_a_missing_opening_brace_does_not_hide_the_region(header: str) -> None:
    closing = "}\n" * (1 + header.count("{"))
    (brace, mnemonic) = told(f"{header}\n    %x = constnat 1 : i32\n{closing}")
    assert brace[1] == "syntax.expected"
    assert mnemonic[1] == "syntax.mnemonic"
