"""Whatever the text is, the answer is a list of diagnostics: no exception, no endless reading."""

from __future__ import annotations

import random
import sys

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from girih import check, parse
from girih.diagnostics import Diagnostic, errors, render_all
from tests.cases import long

VALID = """$n = 16
func @f(%alpha: f32, %A: memref<f32x$n x?> {alignment=64}, %G: group<memref<f32x4>x?, offset: 2>)
        attributes {subgroup_size=16, work_group_size=[32, 1]} {
    %zero = constant 0 : index
    %m = alloca : memref<f32x16x16,local>
    %c = constant [0x1p0, -1.5] : c32
    gemm.n.t %alpha, %A, %A, %alpha, %m ; comment
    foreach (%i, %j)=(%zero,%zero),(%zero,%zero) {
        %s = for %k=%zero,%zero init(%t=%alpha) -> (f32) {
            %u = add %t, %alpha : f32
            yield (%u)
        } attributes {unroll=true}
        store %s, %A[%i,%j]
    }
}
"""


def diagnosed(text: str) -> list[Diagnostic]:
    """The diagnostics of a text that is not accepted; all can be shown."""
    before = sys.getrecursionlimit()
    found = check(text)
    assert sys.getrecursionlimit() == before
    assert errors(found)
    render_all(found)
    assert all(isinstance(d.to_json(), dict) for d in found[:10])
    return found


def hostile(times: int) -> list[str]:
    """Texts that nest, repeat or go on for as many thousands as it takes to hurt, each so many times as long."""
    deep = 2000 * times
    return [
        "{" * deep,
        "func @f() " + "{" * deep,
        "func @f() {" + "parallel {" * deep,
        "func @f() {" + "parallel {" * deep + "}" * (deep + 1),
        "func @f(%n: index) {\n" + "".join(f"for %i{k}=%n,%n {{\n" for k in range(deep)) + "}" * (deep + 1),
        "func @f(%n: bool) {\n" + "if %n { } else " * deep,
        "$a = " + "[" * deep,
        "$a = " + "{x=" * deep,
        "func @f(%a: " + "group<" * deep,
        "func @f(%a: memref<f32" + "x4" * 20_000 * times + ">) {\n}\n",
        "func @f() {\n%x = constant " + "9" * 200_000 * times + " : i64\n}\n",
        "func @f() {\n%x = constant " + "9" * 200_000 * times + ".0 : f64\n}\n",
        "func @f() {\nstore %" + "9" * 200_000 * times + "\n}\n",
        "$a = !calc(" + "9 " * deep + "^ " * (deep - 1) + ")",
        "\0" * 20_000 * times,
        "\ud800" * 200 * times,
        "func @f() {\n\0\ud800\uffff\n}\n",
        "%" * 20_000 * times,
        "@ " * 20_000 * times,
        '"' * 20_000 * times,
        "func @f(){}\n" * 4000 * times,
        "x\n" * 40_000 * times,
        "func " * 20_000 * times,
        "; comment \n" * 20_000 * times + "!",
    ]


@pytest.mark.parametrize("text", [*hostile(1), *long(hostile(5))], ids=lambda text: ascii(text[:30]))
def test_hostile_texts(text: str) -> None:
    assert len(diagnosed(text)) <= 1100


def test_nine_megabytes() -> None:
    assert [d.code for d in diagnosed("func @f() {\n}\n" * (9 * 2**20 // 14))] == ["syntax.size"]
    assert [d.code for d in diagnosed("\N{EURO SIGN}" * (3 * 2**20))] == ["syntax.size"]


def test_random_bytes() -> None:
    for seed in range(20):
        data = random.Random(seed).randbytes(5000)
        diagnosed(data.decode("latin-1"))
        diagnosed(data.decode("utf-8", "replace"))


TOKENS = [
    *VALID.split(),
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    "func @f() {\n",
    "\n",
    "%",
    "$",
    "!calc(",
    '"',
    "x",
    "yield",
]


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.sampled_from(TOKENS), max_size=60))
@example(["func @f() {\n", "for", "%x", "=", "\n"])
def test_tokens_in_any_order(tokens: list[str]) -> None:
    for diagnostic in check(" ".join(tokens)):
        diagnostic.render()


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, len(VALID) - 1), st.integers(0, 12), st.text(max_size=4))
def test_a_program_with_a_hole(start: int, length: int, replacement: str) -> None:
    for diagnostic in check(VALID[:start] + replacement + VALID[start + length :]):
        diagnostic.render()


@settings(max_examples=100)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    for diagnostic in check(text):
        diagnostic.render()


@pytest.mark.parametrize("step", [3, *long([1])])
def test_every_prefix_of_a_program(step: int) -> None:
    for end in range(0, len(VALID), step):
        for diagnostic in check(VALID[:end]):
            assert 0 <= diagnostic.span.start <= diagnostic.span.end <= end


def test_the_program_itself_is_right() -> None:
    assert check(VALID) == []


@pytest.mark.long
def test_thousands_of_unknown_names_get_no_suggestion_in_the_end() -> None:
    known = "".join(f"%x{i} = neg %a : f32\n" for i in range(5000))
    found = check("func @f(%a: f32) {\n" + known + "".join(f"%z{i} = neg %xx{i} : f32\n" for i in range(900)) + "}\n")
    assert {d.code for d in found} == {"name.undefined"}
    assert found[0].hint is not None
    assert found[-1].hint is None


def test_lists_without_an_end_stop_at_the_limit_of_diagnostics() -> None:
    for text in ("func @f(" + "%a " * 5000, "func @f(" + "%a: f32, " * 5000, "func @f(%a: f32 " * 5000):
        assert len(check(text)) <= 1001


def test_a_word_of_many_sizes() -> None:
    (function,) = parse("func @f(%A: memref<f32" + "x1" * 100_000 + ">) {\n}\n").functions
    assert getattr(function.parameters[0].type, "order", None) == 100_000
    assert [d.code for d in check("func @f(%A: memref<f32" + "x999999999999999999" * 50_000 + ">) {\n}\n")] == [
        "type.size"
    ]
