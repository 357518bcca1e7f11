"""`girih check`: diagnostics, a line per file, JSON, and the exit status."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, cast

import click
import pytest

from girih.commands.parts import report
from girih.diagnostics import Diagnostic
from girih.source import Source, Span
from tests.cli.helpers import AXPBY, girih, write

WRONG = """func @axpby(%alpha: f32, %A: memref<f32x4>, %B: memref<f32x5>) {
    axpby %alpha, %A, %alpha, %B
    axpby %alpha, %A, %alpha, %C
    %x = load %A[7] : f32
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_without_errors(folder: Path) -> None:
    write(folder, AXPBY)
    done = girih("check", "kernel.tl")
    assert (done.status, done.output, done.errors) == (0, "kernel.tl: no errors\n", "")


def test_warnings_are_no_failure(folder: Path) -> None:
    write(folder, "func @f(%A: memref<f32x4>) {\n%x = load %A[7] : f32\n}\n")
    done = girih("check", "kernel.tl")
    assert done.status == 0
    assert done.output.endswith("kernel.tl: no errors, 1 warning\n")


def test_errors_with_carets_and_a_summary(folder: Path, golden: Callable[[str, str], None]) -> None:
    write(folder, WRONG, "wrong.tl")
    write(folder, AXPBY, "right.tl")
    done = girih("check", "wrong.tl", "right.tl")
    assert done.status == 1
    golden("cli_check.txt", done.output)
    assert done.output.splitlines()[-2:] == ["wrong.tl: 2 errors, 1 warning", "right.tl: no errors"]


def test_json(folder: Path) -> None:
    write(folder, WRONG, "wrong.tl")
    done = girih("check", "wrong.tl", "--format", "json")
    assert done.status == 1
    assert [(d["code"], d["line"], d["severity"]) for d in done.json] == [
        ("axpby.shape", 2, "error"),
        ("name.undefined", 3, "error"),
        ("load.bounds", 4, "warning"),
    ]
    assert set(done.json[0]) == {
        "code", "severity", "message", "file", "line", "column", "end_line", "end_column", "labels", "hint",
    }  # fmt: skip
    write(folder, AXPBY)
    assert girih("check", "kernel.tl", "--format", "json").json == []


def test_standard_input() -> None:
    assert girih("check", "-", stdin=AXPBY.encode()).output == "<stdin>: no errors\n"
    done = girih("check", "-", stdin=b"fnc @f() {\n}\n")
    assert done.status == 1
    assert "--> <stdin>:1:1\n    1 | fnc @f() {\n      | ^^^\n  hint: did you mean `func`?" in done.output
    assert girih("check", "-", "-", stdin=b"").message == "standard input, `-`, can be read once only"


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"\x7fELF\0\xff", "syntax.encoding"), (b" " * (9 << 20), "syntax.size"), (b"\0\0\0", "syntax.expected")],
)
def test_what_is_no_program(data: bytes, code: str, folder: Path) -> None:
    (folder / "data").write_bytes(data)
    assert [d["code"] for d in girih("check", "data", "--format", "json").json] == [code]
    assert [d["code"] for d in girih("check", "-", "--format", "json", stdin=data).json] == [code]
    done = girih("check", "data")
    assert done.status == 1 and done.output.endswith("data: 1 error\n")


def test_an_empty_file_is_an_empty_module(folder: Path) -> None:
    write(folder, "")
    assert girih("check", "kernel.tl").status == 0


def test_definitions(folder: Path) -> None:
    write(folder, "func @f(%A: memref<f32x$n>) {\n}\n")
    assert girih("check", "kernel.tl").status == 1
    assert girih("check", "kernel.tl", "-D", "n=4").status == 0
    assert girih("check", "kernel.tl", "--define", "$n = !calc(2 2 +)").status == 0
    done = girih("check", "kernel.tl", "-D", "n=4", "-D", "m=4")
    assert done.status == 1 and "error[definition.unused]" in done.output


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ("n", "'n' is not NAME=VALUE"),
        ("=4", "'=4' is not NAME=VALUE"),
        ("n=", "'n=' is not NAME=VALUE"),
        ("n-m=4", "'n-m=4' is not NAME=VALUE"),
        ("n=?", "the value of $n, '?': expected a constant, a type, an attribute or `!calc(...)`, found `?`"),
        ("n=!calc(1 0 /)", "the value of $n, '!calc(1 0 /)': division of 1 by zero"),
    ],
)
def test_wrong_definitions(definition: str, message: str, folder: Path) -> None:
    write(folder, AXPBY)
    done = girih("check", "kernel.tl", "-D", definition)
    assert (done.status, done.message) == (2, "Invalid value for -D: " + message)


def test_a_definition_twice(folder: Path) -> None:
    write(folder, AXPBY)
    done = girih("check", "kernel.tl", "-D", "n=1", "-D", "n=2")
    assert (done.status, done.message) == (2, "Invalid value for -D: n is given twice")


def test_files_that_cannot_be_read(folder: Path) -> None:
    assert girih("check", "missing.tl").message == "missing.tl: there is no such file"
    assert girih("check", ".").message == ".: it is a directory"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="everything is readable for this user")
def test_a_file_without_permission(folder: Path) -> None:
    write(folder, AXPBY).chmod(0)
    assert girih("check", "kernel.tl").message == "kernel.tl: no permission"


def test_only_the_first_hundred_are_shown(folder: Path) -> None:
    text = "func @f(%a: f32, %b: f64) {\n" + "".join(f"%c{k} = add %a, %b : f32\n" for k in range(70)) + "}\n"
    write(folder, text, "a.tl")
    write(folder, text, "b.tl")
    done = girih("check", "a.tl", "b.tl")
    assert done.output.count("error[") == 100
    assert "\n... and 40 more\n" in done.output
    assert done.output.endswith("b.tl: 70 errors\n")
    assert len(girih("check", "a.tl", "b.tl", "--format", "json").json) == 140


class Terminal:
    """A stream that says that it is one."""

    def isatty(self) -> bool:
        return True


def test_colours_only_where_they_are_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = cast("IO[str]", Terminal())
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert report.coloured(terminal)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not report.coloured(terminal)


def test_painting_changes_colours_only() -> None:
    source = Source("axpby %a\n", "k.tl")
    text = Diagnostic("axpby.shape", "wrong", Span(source, 6, 8), hint="mend it").render()
    painted = report.paint(text)
    assert painted != text
    assert click.unstyle(painted) == text
    assert click.style(" ^^", fg="red") in painted or "\x1b[31m" in painted


def test_no_colours_in_a_pipe(folder: Path) -> None:
    write(folder, WRONG)
    assert "\x1b" not in girih("check", "kernel.tl").output
