"""`girih fmt`: what it writes, prints and returns."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from girih.cli import main

UGLY = "func @f(){ ; why\nbarrier}\n"
NICE = "func @f() { ; why\n    barrier\n}\n"
WRONG = "func @f( {\n}\n"


def fmt(*arguments: str, text: str | None = None) -> Result:
    return CliRunner().invoke(main, ["fmt", *arguments], input=text)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"ugly.tl": UGLY, "nice.tl": NICE, "wrong.tl": WRONG}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_file_is_laid_out(folder: Path) -> None:
    ugly = folder / "ugly.tl"
    ugly.chmod(0o640)
    result = fmt(str(ugly), str(folder / "nice.tl"))
    assert (result.exit_code, result.output) == (0, f"changed {ugly}\n")
    assert ugly.read_text(encoding="utf-8") == NICE
    assert ugly.stat().st_mode & 0o777 == 0o640
    assert sorted(os.listdir(folder)) == ["nice.tl", "ugly.tl", "wrong.tl"]


def test_standard_input_goes_to_standard_output() -> None:
    assert fmt("-", text=UGLY).output == NICE
    assert fmt("-", text=NICE).output == NICE
    assert fmt("-", "-", text=NICE).exit_code == 2


def test_a_text_on_standard_output_stays_alone(folder: Path) -> None:
    result = fmt(str(folder / "ugly.tl"), "-", text=UGLY)
    assert result.stdout == NICE
    assert result.stderr == f"changed {folder / 'ugly.tl'}\n"
    assert (folder / "ugly.tl").read_text(encoding="utf-8") == NICE


def test_check_names_what_would_change(folder: Path) -> None:
    result = fmt("--check", str(folder / "ugly.tl"), str(folder / "nice.tl"))
    assert result.exit_code == 1
    assert result.stdout == f"would change {folder / 'ugly.tl'}\n"
    assert result.stderr == "1 file would change, 1 would not\n"
    assert (folder / "ugly.tl").read_text(encoding="utf-8") == UGLY
    assert fmt("--check", str(folder / "nice.tl")).exit_code == 0


def test_diff_shows_what_would_change(folder: Path) -> None:
    result = fmt("--diff", str(folder / "ugly.tl"))
    assert result.exit_code == 0
    assert "-barrier}" in result.stdout
    assert "+    barrier" in result.stdout
    assert (folder / "ugly.tl").read_text(encoding="utf-8") == UGLY


def test_diff_shows_line_ends_that_would_change() -> None:
    body = "barrier\r\n}"
    result = fmt("--diff", "-", text=f"func @f() {{\r\n    {body}")
    assert result.stdout_bytes.decode().split("\n")[3:] == [
        "-func @f() {\r",
        "-    barrier\r",
        "-}",
        "\\ No newline at end of file",
        "+func @f() {",
        "+    barrier",
        "+}",
        "",
    ]


def test_a_file_with_errors_of_syntax_is_left_as_it_is(folder: Path) -> None:
    result = fmt(str(folder / "wrong.tl"), str(folder / "ugly.tl"))
    assert result.exit_code == 1
    assert "error[syntax." in result.stderr
    assert "left as it is" in result.stderr
    assert (folder / "wrong.tl").read_text(encoding="utf-8") == WRONG
    assert (folder / "ugly.tl").read_text(encoding="utf-8") == NICE
    assert fmt("-", text=WRONG).stdout == ""


def test_a_link_stays_a_link(folder: Path) -> None:
    link = folder / "link.tl"
    link.symlink_to("ugly.tl")
    assert fmt(str(link)).exit_code == 0
    assert link.is_symlink()
    assert (folder / "ugly.tl").read_text(encoding="utf-8") == NICE


def test_what_is_no_text_is_left_as_it_is(folder: Path) -> None:
    (folder / "binary.tl").write_bytes(b"\xff\x00")
    result = fmt(str(folder / "binary.tl"))
    assert result.exit_code == 1
    assert "syntax.encoding" in result.stderr


def test_the_kernels_are_laid_out() -> None:
    result = fmt("--check", *(str(path) for path in (Path(__file__).parent.parent.parent / "girih").rglob("*.tl")))
    assert result.exit_code == 0, result.output
