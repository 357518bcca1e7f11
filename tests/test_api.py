"""The Python names around targets: what objects look like, what is refused, and what survives a pickle."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import girih
from girih.diagnostics import Diagnostic
from girih.source import NOWHERE, Source, Span

TEXT = """func @axpby(%alpha: f32, %A: memref<f32x?>, %beta: f32, %B: memref<f32x?>) {
  axpby %alpha, %A, %beta, %B
}
"""


def axpby() -> girih.Kernel:
    return girih.loads(TEXT, target="interpreter")["axpby"]


def arguments() -> tuple[float, np.ndarray[Any, Any], float, np.ndarray[Any, Any]]:
    return 2.0, np.arange(4, dtype=np.float32), 1.0, np.ones(4, np.float32)


def test_a_program_is_a_mapping_of_its_kernels() -> None:
    program = girih.loads(TEXT + "func @empty() {\n}\n")
    assert list(program) == ["axpby", "empty"]
    assert len(program) == 2
    assert "axpby" in program
    assert "@axpby" in program
    assert program.get(cast(str, 3)) is None
    assert program.get("axby") is None
    with pytest.raises(KeyError, match="there is no kernel 'axby'; the program has: axpby, empty"):
        program["axby"]


def test_what_objects_look_like() -> None:
    program = girih.loads(TEXT, target="interpreter")
    assert repr(program) == "<girih program of @axpby on interpreter>"
    assert repr(program.module) == "<module of @axpby>"
    assert repr(program["axpby"].ir) == "<function @axpby at <text>:1:1>"
    assert str(program) == str(program.module) == str(program["axpby"].ir) == TEXT
    assert program["axpby"].signature == "@axpby(%alpha: f32, %A: memref<f32x?>, %beta: f32, %B: memref<f32x?>)"
    assert repr(girih.loads("", target="cpu")) == "<girih program of no kernels on cpu>"


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_programs_survive_a_pickle(target: str) -> None:
    kernel = pickle.loads(pickle.dumps(girih.loads(TEXT, target=target)))["axpby"]
    alpha, a, beta, b = arguments()
    kernel(alpha, a, beta, b)
    assert b.tolist() == [1, 3, 5, 7]


def test_errors_survive_a_pickle() -> None:
    span = Span(Source("text"), 0, 4)
    errors: list[girih.GirihError] = [
        girih.CompileError([Diagnostic("a.b", "message", span)]),
        girih.LaunchError([Diagnostic("a.b", "message", span)]),
        girih.KernelError([girih.Finding("run.size", "message", span)]),
        girih.InternalError("message"),
    ]
    for error in errors:
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error)
        assert str(again) == str(error)


def test_what_is_no_program() -> None:
    nothing: Any = b"func"
    for read in (girih.loads, girih.check, girih.parse):
        with pytest.raises(TypeError, match="a program is a string, not bytes"):
            read(nothing)
    with pytest.raises(ValueError, match=r"girih\.loads takes the program itself"):
        girih.load(TEXT)
    number: Any = 5
    with pytest.raises(TypeError, match="not int"):
        girih.load(number)


def test_a_directory_and_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="directory"):
        girih.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        girih.load(tmp_path / "none.tl")


# --- options of a launch ---------------------------------------------------------------------------


def test_options_stay_with_the_kernel_that_has_them() -> None:
    loop = "func @f(%n: index) {\n  %zero = constant 0 : index\n  for %i=%zero,%n {\n  }\n}\n"
    kernel = girih.loads(loop, target="interpreter")["f"]
    bounded = kernel.options(max_steps=10)
    for launched in (bounded, bounded[2], kernel[2].options(max_steps=10), bounded.options(choices=girih.Choices(1))):
        with pytest.raises(girih.KernelError, match=r"run\.budget"):
            launched(100)
    for launched in (kernel, kernel[2], bounded.options(max_steps=None), bounded.options(max_steps=1000)[2]):
        launched(100)
    assert kernel[2].options(max_steps=10).grid == bounded[2].grid == (2, 1, 1)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"choices": 5}, TypeError, r"choices is a girih\.Choices; got 5"),
        ({"max_steps": "5"}, TypeError, "max_steps is an integer; got '5'"),
        ({"max_steps": True}, TypeError, "max_steps is an integer; got True"),
        ({"max_steps": 0}, ValueError, "max_steps is at least 1; got 0"),
        ({"progress": 5}, TypeError, "progress is called with two integers; got 5"),
        ({"chioces": 5}, TypeError, r"there is no option 'chioces' of a launch \(did you mean 'choices'\?\); "
                                    "interpreter has choices, max_steps, and progress"),
        ({"fast": None}, TypeError, "there is no option 'fast' of a launch; interpreter has choices, max_steps, and"),
    ],
)  # fmt: skip
def test_options_that_are_wrong(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        axpby().options(**options)


@pytest.mark.parametrize(
    ("grid", "sizes"), [(2, (2, 1, 1)), ((1, 2), (1, 2, 1)), ([3], (3, 1, 1)), (np.int64(2), (2, 1, 1)), (0, (0, 1, 1))]
)
def test_grids(grid: Any, sizes: tuple[int, int, int]) -> None:
    assert axpby()[grid].grid == sizes


@pytest.mark.parametrize("grid", [-1, 1.5, "3", (1, 2, 3, 4), (), None, True, (1, None), 2**31])
def test_what_is_no_grid(grid: Any) -> None:
    with pytest.raises(girih.LaunchError) as caught:
        axpby()[grid]
    (found,) = caught.value.diagnostics
    assert found.code == "bind.grid"
    assert str(caught.value) == f"error[bind.grid]: {found.message}"


def test_a_diagnostic_without_a_text_shows_no_empty_line() -> None:
    assert Diagnostic("a.b", "message", NOWHERE).render() == "error[a.b]: message"
    whole = Span(Source("", "big.tl"), 0, 0)
    assert Diagnostic("syntax.size", "message", whole).render() == "error[syntax.size]: message\n  --> big.tl"
    assert girih.Finding("run.size", "message", NOWHERE).render() == "finding[run.size]: message"
