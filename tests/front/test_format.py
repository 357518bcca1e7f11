"""The formatter: canonical layout, the same tokens and comments, and the same module."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from girih.diagnostics import errors
from girih.front.text.format import COMMENT, format_source, tokens_of
from girih.front.text.parser import parse_text
from girih.ops.tile import TILE_LANGUAGE
from girih.source import Source
from tests.cases import every_case, long, one_in

ROOT = Path(__file__).resolve().parent.parent.parent


def formatted(text: str) -> str:
    """The text in canonical layout, which has no errors of syntax."""
    after, problems = format_source(Source(text, "a.tl"), TILE_LANGUAGE)
    assert problems == []
    return after


def kept(text: str) -> list[tuple[str, str]]:
    """What a formatter must not touch: tokens and comments."""
    return [(token.kind, token.text) for token in tokens_of(Source(text, "a.tl"))]


def printed(text: str) -> str:
    """What could be read of a text, as the printer writes it."""
    return str(parse_text(Source(text, "a.tl"), TILE_LANGUAGE)[0])


PATHS = sorted(
    path.relative_to(ROOT).as_posix() for folder in ("tests", "girih") for path in (ROOT / folder).rglob("*.tl")
)


REPEATED = frozenset(
    path
    for path in PATHS
    if path.startswith("tests/ops/") and path.endswith(("/bad.tl", "/run.tl")) and f"{path[:-7]}/ok.tl" in PATHS
)
"""What has the instruction of another program: formatted in `make test-long`."""


def read(path: str) -> str:
    """A program of the tests, or a kernel."""
    return (ROOT / path).read_text(encoding="utf-8", errors="replace")


@pytest.mark.parametrize("folder", one_in(5, sorted({path.rpartition("/")[0] for path in PATHS})))
@pytest.mark.parametrize("repeated", [False, *long([True])])
def test_programs_mean_the_same_and_are_formatted_once(folder: str, repeated: bool) -> None:
    with every_case() as case:
        for path in PATHS:
            if path.rpartition("/")[0] == folder and (path in REPEATED) is repeated:
                with case(path):
                    means_the_same_and_is_formatted_once(read(path))


def means_the_same_and_is_formatted_once(before: str) -> None:
    """And what the printer writes stays as it is."""
    meant = printed(before)
    after, problems = format_source(Source(before, "a.tl"), TILE_LANGUAGE)
    if problems:
        assert after == before
    else:
        assert kept(after) == kept(before)
        assert printed(after) == meant
        assert formatted(after) == after
    again, problems = format_source(Source(meant, "a.tl"), TILE_LANGUAGE)
    assert (again == meant) is not bool(problems)


@cache
def short_programs() -> list[str]:
    """Programs of which the parser skips nothing: what it skips depends on where lines begin."""
    texts = [text for path in PATHS if len(text := read(path)) < 2000]
    return [text for text in texts if not errors(parse_text(Source(text, "a.tl"), TILE_LANGUAGE)[1])]


@st.composite
def spaced_anew(draw: st.DrawFn) -> tuple[str, str]:
    """A program, and the same with other white space between all of its tokens."""
    before = draw(st.sampled_from(short_programs()))
    gaps = st.sampled_from([" ", " ", "\n", "\t", "\n\n", "  \n   ", "\r\n", "\n\n\n\n"])
    after = ""
    for token in tokens_of(Source(before, "a.tl")):
        after += "" if token.text.startswith(".") else draw(gaps)
        after += token.text + ("\n" if token.kind == COMMENT else "")
    return before, after


@pytest.mark.parametrize("examples", [12, *long([200])])
def test_white_space_means_nothing(examples: int) -> None:
    settings(max_examples=examples)(given(spaced_anew())(is_formatted_alike))()


def is_formatted_alike(pair: tuple[str, str]) -> None:
    """What is spaced anew is formatted as the program."""
    before, spaced = pair
    after = formatted(spaced)
    assert kept(after) == kept(before)
    assert printed(after) == printed(before)
    assert formatted(after) == after
    assert "\n\n\n" not in after
    assert all(line == line.rstrip() and "\t" not in line.split(";")[0] for line in after.splitlines())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("\n\n; only a comment  \n\n", "; only a comment\n"),
        ("$n=4 $m = !calc( $n 2* )", "$n = 4\n$m = !calc($n 2 *)\n"),
        ("$t=memref<f32 x 4x$n,strided< 1,4 >>", "$t = memref<f32 x 4 x $n, strided<1, 4>>\n"),
        ("$t=memref < f32 x 4 , local >", "$t = memref<f32x4,local>\n"),
        ("$d={alignment = 64,\"a\"=[ 1,true ]}", '$d = {alignment=64, "a"=[1, true]}\n'),
        ("func @f(){}", "func @f() {\n}\n"),
        ("func @f(){}\nfunc @g(){}", "func @f() {\n}\n\nfunc @g() {\n}\n"),
        ("func @f(){} ; end\n; of g\nfunc @g(){}", "func @f() {\n} ; end\n\n; of g\nfunc @g() {\n}\n"),
    ],
)  # fmt: skip
def test_the_top_of_a_file(before: str, after: str) -> None:
    assert formatted(before) == after


def body(text: str) -> str:
    """A text as the body of a function."""
    lines = "".join(f"    {line}\n" if line else "\n" for line in dedent(text).strip("\n").splitlines())
    return f"func @f() {{\n{lines}}}\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("%a=constant 1.0:f32 %b = constant[1.0,2.0]:c32", "%a = constant 1.0 : f32\n%b = constant [1.0, 2.0] : c32"),
        ("%v=subview %A [ 0 : 4,%i ]:memref<f32x4>", "%v = subview %A[0:4, %i] : memref<f32x4>"),
        ("%v = expand %A[0->%4x2x8] : memref<f32x4x2x8>", "%v = expand %A[0 -> %4 x 2 x 8] : memref<f32x4x2x8>"),
        ("gemm.n.t %a,%b\n,%c,%d,%e", "gemm.n.t %a, %b, %c, %d, %e"),
        ("foreach(%i)=(%a),(%b){barrier}", "foreach (%i) = (%a), (%b) {\n    barrier\n}"),
        ("if %c{yield()}else{}", "if %c {\n    yield ()\n} else {\n}"),
        ("if %c{}\nelse\n{}", "if %c {\n} else {\n}"),
        ("for %i=%a,%b{} attributes{unroll=4} barrier", "for %i = %a, %b {\n} attributes {unroll=4}\nbarrier"),
        ("barrier\n\n\n\nbarrier\nbarrier", "barrier\n\nbarrier\nbarrier"),
        ("parallel {\n\nbarrier\n\n}", "parallel {\n    barrier\n}"),
        ("barrier ;one\n   ; two\n;three", "barrier ;one\n; two\n;three"),
        ("parallel { ; why\n ; here\n barrier\n ; last\n}", "parallel { ; why\n    ; here\n    barrier\n    ; last\n}"),
        ("axpby %a, ; scale\n%b,\n; beta\n%c,%d", "axpby %a, ; scale\n        %b,\n        ; beta\n        %c, %d"),
        ("%x = add %a,\n %b : f32", "%x = add %a,\n        %b : f32"),
        ("%x, %y = for %i=%a,%b init(%c=%d,\n%e=%g) -> (f32\n,f32) {}",
         "%x, %y = for %i = %a, %b init (%c=%d,\n                               %e=%g) -> (f32, f32) {\n}"),
    ],
)  # fmt: skip
def test_instructions(before: str, after: str) -> None:
    assert formatted(f"func @f(){{{before}\n}}") == body(after)


def test_a_list_of_parameters_that_was_broken_stays_broken() -> None:
    before = "func @f(%A: memref<f32x4>,\n  %B: f32 {alignment=4}) ; why\n attributes{subgroup_size=16}\n{}"
    after = (
        "func @f(%A: memref<f32x4>,\n        %B: f32 {alignment=4}) ; why\n        attributes {subgroup_size=16} {\n}\n"
    )
    assert formatted(before) == after


@pytest.mark.parametrize("text", ["func @f() {", "func @f() { load }", "f", "func @f() { barrier \x01 }", "{", ")"])
def test_a_text_with_errors_of_syntax_is_left_as_it_is(text: str) -> None:
    after, problems = format_source(Source(text, "a.tl"), TILE_LANGUAGE)
    assert after == text
    assert problems
    assert all(problem.code.startswith("syntax.") for problem in problems)


@pytest.mark.parametrize(
    "text",
    [
        "func @f(%A: memref<$type x 4) {\n}",
        "func @f(%A: memref<$y t) {{}}",
        "func @f(%A: memref<$t>) {\n  %x = alloca : coopmatrix<x m\n}",
    ],
)
def test_a_type_that_is_not_closed_behind_an_unknown_name_is_told(text: str) -> None:
    after, problems = format_source(Source(text, "a.tl"), TILE_LANGUAGE)
    assert after == text
    assert [(problem.code, problem.message) for problem in problems] == [("syntax.expected", "`<` is not closed")]


def test_a_text_with_a_type_that_does_not_exist_is_left_as_it_is() -> None:
    text = "func @f(%a: p<memref<p e) {}"
    after, problems = format_source(Source(text, "a.tl"), TILE_LANGUAGE)
    assert after == text
    assert [problem.code for problem in problems] == ["type.unknown"]


def test_names_and_definitions_need_not_be_known() -> None:
    assert formatted("func @f(%A: memref<f32 x\n$n>) {}") == "func @f(%A: memref<f32 x $n>) {\n}\n"
    assert formatted("func @f(){%a=add %b,%c:$t}") == "func @f() {\n    %a = add %b, %c : $t\n}\n"
