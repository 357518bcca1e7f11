"""`%load_ext girih` and `%%girih` in IPython: kernels become variables, errors are shown without a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from IPython.core.interactiveshell import InteractiveShell

import girih

CELL = """
$n = 2.0
func @double(%A: memref<f32x?>) {
    %n = constant $n : f32
    %i = constant 0 : index
    %a = load %A[%i] : f32
    %b = mul %a, %n : f32
    store %b, %A[%i]
}
"""


@pytest.fixture
def shell() -> Iterator[Any]:
    made = InteractiveShell()
    made.run_cell("%load_ext girih")
    yield made
    made.history_manager.end_session()


def run(shell: Any, line: str, cell: str = CELL) -> Any:
    return shell.run_cell(f"%%girih {line}\n{cell}")


def test_kernels_become_variables(shell: Any) -> None:
    result = run(shell, "")
    assert isinstance(result.result, girih.Program)
    A = np.ones(3, np.float32)
    shell.user_ns["double"](A)
    assert A.tolist() == [2, 1, 1]


def test_a_program_gets_the_name_that_the_line_says(shell: Any) -> None:
    run(shell, "mine --target interpreter --order C -D n=3.0")
    assert "double" not in shell.user_ns
    program = shell.user_ns["mine"]
    assert program.target == "interpreter"
    assert program["double"].ir.order == "C"
    A = np.ones(1, np.float32)
    program["double"](A)
    assert A.tolist() == [3]


def test_an_error_is_shown_with_its_line_and_no_traceback(shell: Any, capsys: pytest.CaptureFixture[str]) -> None:
    result = run(shell, "", "func @f(%A: memref<f32x?>) {\n    store %a, %A[%i]\n}\n")
    assert isinstance(result.error_in_exec, girih.CompileError)
    shown = capsys.readouterr()
    text = shown.out + shown.err
    assert "error[name.undefined]: %a is not defined" in text
    assert "store %a, %A[%i]" in text
    assert "Traceback" not in text
    assert "notebook.py" not in text


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("--traget cpu", "unrecognized arguments: --traget"),
        ("-D n", "expected NAME=VALUE, found 'n'"),
        ("--target nowhere", "nowhere"),
        ("--order D", "'D'"),
        ("2x", "'2x' is not a name of Python"),
        ("'a", "no closing quotation"),
    ],
)
def test_a_wrong_line_is_told(shell: Any, line: str, told: str) -> None:
    result = run(shell, line)
    assert type(result.error_in_exec).__name__ == "MagicError"
    assert told in str(result.error_in_exec)
