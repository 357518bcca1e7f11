"""Every code of the front end has a meaning, is reported somewhere, and has a text that provokes it at its place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from girih import check
from girih.diagnostics import CompileError, Diagnostic
from girih.front.text.codes import FRONT_CODES, FRONT_WARNINGS
from girih.program import read_source

ROOT = Path(__file__).resolve().parents[2]
REPORTERS = ("program.py", "commands/format.py")
SOURCES = [*sorted((ROOT / "girih" / "front" / "text").glob("*.py")), *(ROOT / "girih" / name for name in REPORTERS)]
TEXTS = sorted((Path(__file__).parent / "codes").glob("*.tl"))
LITERAL = re.compile(r'"((?:syntax|name|type|definition)\.[a-z_]+)"')


def reported() -> set[str]:
    found: set[str] = set()
    for path in SOURCES:
        if path.name != "codes.py":
            found |= set(LITERAL.findall(path.read_text(encoding="utf-8")))
    return found


def test_every_reported_code_has_a_meaning_and_no_meaning_is_dead() -> None:
    assert reported() == set(FRONT_CODES)


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.stem)
def test_a_text_gets_its_code_and_no_other(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    severities = {d.severity for d in check(text)}
    assert severities == ({"warning"} if path.stem in FRONT_WARNINGS else {"error"})
    expected = [
        (number, code)
        for number, line in enumerate(text.splitlines(), 1)
        for code in re.split(r"; (?:error|warning): ", line)[1:]
    ]
    assert expected
    assert [(d.span.line, d.code) for d in check(text)] == expected
    assert path.stem in {code for _, code in expected}


SPANS = {
    "syntax.expected": "1",
    "syntax.brace": "func",
    "syntax.mnemonic": "arith.add",
    "syntax.modifier": ".atomic",
    "syntax.results": "%b",
    "syntax.attribute": "alignmnet",
    "syntax.duplicate_attribute": "alignment",
    "syntax.string_attribute": '"author"',
    "syntax.integer_range": "-9223372036854775808",
    "syntax.float_range": "1e400",
    "syntax.complex": "1",
    "name.undefined": "%alhpa",
    "name.redefined": "%a",
    "type.unknown": "float32",
    "type.void": "void",
    "type.element": "boolx4",
    "type.size": "x4294967296x4294967296",
    "type.group": "f32x4",
    "definition.undefined": "$size",
    "definition.redefined": "$size",
    "definition.kind": "$size",
    "definition.calculation": "/",
}


@pytest.mark.parametrize("code", sorted(SPANS))
def test_carets_stand_under_what_is_wrong(code: str) -> None:
    text = (Path(__file__).parent / "codes" / f"{code}.tl").read_text(encoding="utf-8")
    found = [d for d in check(text) if d.code == code]
    assert [d.span.text for d in found] == [SPANS[code]]


def test_the_codes_without_a_text_are_provoked_elsewhere() -> None:
    elsewhere = {"syntax.encoding", "syntax.size", "syntax.nesting", "syntax.module"}
    elsewhere |= {"definition.given", "definition.unused"}
    assert set(FRONT_CODES) - {path.stem for path in TEXTS} == elsewhere


def test_nesting() -> None:
    deep = "func @f() {\n" + "parallel {\n" * 300 + "}\n" * 301
    found = [d for d in check(deep) if d.code.startswith("syntax")]
    assert [(d.code, d.span.line, d.span.text) for d in found] == [("syntax.nesting", 257, "{")]


def test_nesting_of_attributes() -> None:
    found = check("$a = " + "[" * 300 + "]" * 300)
    assert [(d.code, d.span.column) for d in found] == [("syntax.nesting", 263)]


def test_nesting_through_definitions() -> None:
    lines = ["$a = " + "[" * 200 + "]" * 200, "$b = $a", "$c = [" + "{unroll=" * 50 + "$b" + "}" * 50 + "]"]
    assert check("\n".join([*lines, "$d = [[$c]]"])) == []
    found = check("\n".join([*lines, "$d = {unroll=[$c, " + "[" * 7 + "$c" + "]" * 8 + "}"]))
    assert [(d.code, d.span.line, d.span.text) for d in found] == [("syntax.nesting", 4, "$c")]
    deep = "[" * 200 + "$a" + "]" * 200
    found = check(f"$a = 1\n$b = {deep}", definitions={"a": "[" * 200 + "]" * 200})
    assert [(d.code, d.span.text) for d in found] == [("syntax.nesting", "$a")]


def test_definitions_from_outside_nest_as_deep_however_much_of_the_stack_is_used() -> None:
    def after_calls(count: int) -> list[Diagnostic]:
        if count > 0:
            return after_calls(count - 1)
        return check("$a = 1", definitions={"a": "{unroll=" * 256 + "1" + "}" * 256})

    assert after_calls(500) == []


def test_constants_do_not_nest() -> None:
    for brackets in ("[" * 3000, "[1.0, [1.0, ", "[[0.0, 1.0], 2.0]"):
        found = check("func @f() {\n%z = constant " + brackets + " : c32\n}\n")
        assert [(d.code, d.span.text, d.message.partition(", ")[2]) for d in found] == [
            ("syntax.complex", "[", "another complex number begins here")
        ]
    assert [d.code for d in check("$z = [1.0, [" + "1.0, [" * 3000)] == ["syntax.complex"]


def test_definitions_from_outside() -> None:
    text = "$size = 4\nfunc @f(%A: memref<f32x$size>) {\n}\n"
    assert check(text, definitions={"size": 8}) == []
    assert [d.code for d in check(text, definitions={"sise": 8})] == ["definition.unused"]
    assert check(text, definitions={"sise": 8})[0].hint == "did you mean `size`?"
    assert [d.code for d in check(text, definitions={"size": object()})] == ["definition.given"]
    assert [d.code for d in check(text, definitions={"size": "4 4"})] == ["definition.given"]


def test_size_of_a_text() -> None:
    found = check("x" * (9 << 20))
    assert [(d.code, d.hint) for d in found] == [("syntax.size", "split it into several files")]


def test_size_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "large.tl"
    path.write_bytes(b" " * (9 << 20))
    with pytest.raises(CompileError) as error:
        read_source(path)
    assert [d.code for d in error.value.diagnostics] == ["syntax.size"]


@pytest.mark.parametrize(
    ("data", "message", "hint"),
    [
        (b"func @f() {\n; caf\xe9\n}\n", "byte 0xe9 at offset 17 is not UTF-8", "save the file as UTF-8"),
        (b"\x7fELF\0\0\0\xff", "byte 0xff at offset 7 is not UTF-8", "this looks like a binary file"),
    ],
)
def test_encoding(data: bytes, message: str, hint: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.tl"
    path.write_bytes(data)
    with pytest.raises(CompileError) as error:
        read_source(path)
    (found,) = error.value.diagnostics
    assert (found.code, found.message, found.hint) == ("syntax.encoding", message, hint)
    assert found.span.text == "\N{REPLACEMENT CHARACTER}"


GRIDS = {
    "3": ("syntax.expected", "3", "grid=[size(%A, 0)]"),
    "[$size]": ("definition.kind", "$size", None),
    "$size": ("definition.kind", "$size", None),
    "[%x]": ("name.undefined", "%x", None),
    "[%size + 1]": ("name.undefined", "%size", "did you mean %sizes?"),
    "[1.5]": ("syntax.expected", "1.5", "numbers of a grid are whole"),
    "[3 / 2]": ("syntax.expected", "/", "`floor(a, b)` divides and rounds down"),
    "[(3 / 2)]": ("syntax.expected", "/", "`ceil(a, b)` up"),
    "[min(3 / 2, 1)]": ("syntax.expected", "/", "`ceil(a, b)` up"),
    "[cdiv(%n, 2)]": ("syntax.expected", "cdiv", "`ceil(a, b)`"),
    "[cell(%n, 2)]": ("syntax.expected", "cell", "did you mean `ceil`?"),
    "[n]": ("syntax.expected", "n", "%n"),
    "[size(A, 0)]": ("syntax.expected", "A", "%A"),
    "[size(%A, %n)]": ("syntax.expected", "%n", None),
    "[ceil(3)]": ("syntax.expected", ")", "ceil(a, b)"),
    "[min(1, 2, 3)]": ("syntax.expected", ",", "min(min(a, b), c)"),
    "[9223372036854775808]": ("syntax.integer_range", "9223372036854775808", None),
}


def test_grids() -> None:
    for text, (code, guilty, hint) in GRIDS.items():
        head = "$size = 2.0\nfunc @f(%A: memref<f32x?>, %n: index, %sizes: index) attributes {grid="
        (found,) = check(f"{head}{text}}} {{\n}}")
        assert (found.code, found.span.text) == (code, guilty), text
        assert hint is None or hint in str(found.hint), text
    (found,) = check("$g = {grid=[%n]}\nfunc @f(%n: index) attributes {grid=[1]} {\n}")
    assert (found.code, found.span.text) == ("name.undefined", "%n")
    assert (
        check("$g = {grid=[2, 3]}\n$h = [4]\nfunc @f() attributes $g {\n}\nfunc @g() attributes {grid=$h} {\n}") == []
    )


def test_nesting_of_grids() -> None:
    def guilty(entry: str) -> list[tuple[str, int]]:
        return [(d.code, len(d.span.text)) for d in check(f"func @f() attributes {{grid=[{entry}]}} {{\n}}")]

    assert (
        guilty("+".join("1" * 257))
        == guilty("(" * 256 + "1" + ")" * 256)
        == guilty("min(1," * 256 + "1" + ")" * 256)
        == []
    )
    assert guilty("+".join("1" * 258)) == [("syntax.nesting", 2 * 258 - 1)]
    assert guilty("(" * 257 + "1" + ")" * 257) == [("syntax.nesting", 1)]
