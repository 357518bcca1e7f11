"""Files of Python with kernels: `girih check`, `emit`, `show` and `run`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.helpers import girih, write

SCALE = """import girih
import girih.language as gl

@girih.kernel(grid=lambda X: X.shape[0])
def scale(X: gl.Matrix[gl.f32], factor: gl.f32, more: gl.constant = 1):
    i = gl.group_id(0)
    for j in gl.foreach(X.shape[1]):
        X[i, j] = X[i, j] * factor + more

if __name__ == "__main__":
    raise SystemExit("executed as a program")
"""


@pytest.fixture
def scale(tmp_path: Path) -> Path:
    return write(tmp_path, SCALE, "scale.py")


def test_check_reads_kernels_by_their_annotations(scale: Path, tmp_path: Path) -> None:
    done = girih("check", scale)
    assert (done.status, done.output) == (0, f"{scale}: no errors\n")
    wrong = write(tmp_path, SCALE.replace("* factor", "* flavour"), "wrong.py")
    done = girih("check", wrong)
    assert done.status == 1 and f"--> {wrong}:8:" in done.output and "X[i, j] * flavour" in done.output


def test_check_says_which_kernel_lacks_a_constant(tmp_path: Path) -> None:
    two = SCALE.replace("more: gl.constant = 1", "more: gl.constant")
    other = two[two.index("@girih") : two.index("if __name__")].replace("def scale", "def again").replace(" + more", "")
    path = write(tmp_path, two.replace("if __name__", other + "if __name__"), "two.py")
    done = girih("check", path)
    assert done.status == 0 and "scale is not looked at: more: gl.constant has no value" in done.output
    assert girih("check", path, "-D", "more=2").output == f"{path}: no errors\n"
    assert "there is no constant 'mores'; did you mean 'more'?" in girih("check", path, "-D", "mores=2").message


def test_run_uses_and_saves_arrays_as_they_are(scale: Path, tmp_path: Path) -> None:
    given, result = np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)), tmp_path / "result.npy"
    np.save(tmp_path / "x.npy", given)
    done = girih("run", scale, "scale", f"X={tmp_path / 'x.npy'}", "factor=2", "-D", "more=3", "--save", f"X={result}")
    assert done.status == 0 and "@scale on grid 2 x 1 x 1" in done.output
    np.testing.assert_array_equal(np.load(result), given * 2 + 3)


@pytest.mark.parametrize("order", ["C", "F"])
def test_run_makes_arrays_in_either_order(scale: Path, tmp_path: Path, order: str) -> None:
    result = tmp_path / "result.npy"
    call = ("run", scale, "X=ones:f32:2x3", "factor=2", "more=0.5", "--order", order, "--save", f"X={result}")
    assert girih(*call, "--target", "cpu").status == 0
    np.testing.assert_array_equal(np.load(result), np.full((2, 3), 2.5, np.float32))


def test_findings_show_the_lines_of_python(tmp_path: Path) -> None:
    path = write(tmp_path, SCALE.replace("X[i, j] = X[i, j]", "X[i, j + 1] = X[i, j]"), "over.py")
    done = girih("run", path, "X=ones:f32:2x3", "factor=2")
    assert done.status == 1 and f"--> {path}:8:" in done.output and "X[i, j + 1] = X[i, j]" in done.output


def test_emitted_code_has_the_lines_of_python(scale: Path) -> None:
    text = girih("emit", scale, "scale", "--as", "ir").output
    assert text.startswith("func @scale(%X: memref<f32x?x?>")
    assert girih("emit", scale, "scale", "--as", "ir", "--order", "F").output != text
    ptx = girih("emit", scale, "--as", "ptx", "--target", "cuda:sm_90a").output
    assert "scale.py" in ptx and ".loc" in ptx
    llvm = girih("emit", scale, "scale", "X=zeros:f32:8x8", "more=2", "--as", "llvm").output
    assert "scale.py" in llvm and "line: 8" in llvm


def test_show_draws_the_lines_of_python(scale: Path) -> None:
    assert "@scale" in girih("show", scale, "scale").output
    assert "X[i, j] * factor + more" in girih("show", scale, "--format", "html").output.replace("&nbsp;", " ")


@pytest.mark.parametrize("command", [("emit", "--as", "ir"), ("show",), ("run",)])
def test_an_unknown_kernel_is_answered_with_those_of_the_file(scale: Path, command: tuple[str, ...]) -> None:
    done = girih(command[0], scale, "scales", *command[1:])
    assert (done.status, done.message) == (2, "there is no kernel 'scales'; did you mean 'scale'?")


def test_a_file_that_raises_shows_its_own_traceback(tmp_path: Path) -> None:
    path = write(tmp_path, "def f():\n    return 1 // 0\n\nf()\n", "raises.py")
    done = girih("check", path)
    assert done.status == 1
    assert done.errors.endswith(f"Error: {path}: it raised ZeroDivisionError while it was imported\n")
    assert "return 1 // 0" in done.errors and "commands" not in done.errors
    done = girih("check", write(tmp_path, "def f(:\n", "syntax.py"))
    assert done.status == 1 and "def f(:" in done.errors and "SyntaxError" in done.message


def test_arguments_are_for_kernels_in_python(tmp_path: Path) -> None:
    path = write(tmp_path, "func @f() {\n}\n")
    assert "only kernels in Python are specialised by arguments" in girih("show", path, "f", "A=zeros").message


def test_wrong_arguments(scale: Path) -> None:
    assert "scale needs 1 value more: factor: gl.f32" in girih("run", scale, "X=ones:f32:2x3").message
    assert "there is no argument 'Y'" in girih("show", scale, "Y=zeros:f32:4").message
    assert "a constant is written as in Python" in girih("show", scale, "more=a+b").message
    done = girih("run", scale, "X=ones:f64:2x3", "factor=2")
    assert done.status == 1 and "takes elements of np.float32" in done.output


def test_element_types_that_are_open_follow_those_that_are_given(tmp_path: Path) -> None:
    text = SCALE.replace("import girih\n", "from typing import TypeVar\n\nimport girih\n", 1).replace(
        "\n@girih", '\nT = TypeVar("T", gl.f16, gl.f64)\n\n@girih', 1
    )
    text = text.replace("gl.Matrix[gl.f32], factor: gl.f32", "gl.Matrix[T], Y: gl.Matrix[T], factor: T")
    path = write(tmp_path, text.replace(" + more", ""), "open.py")
    assert girih("check", path).output == f"{path}: no errors\n"
    assert "%Y: memref<f16x?x?" in girih("emit", path, "--as", "ir").output
    assert "%Y: memref<f64x?x?" in girih("emit", path, "X=zeros:f64:2x2", "--as", "ir").output
