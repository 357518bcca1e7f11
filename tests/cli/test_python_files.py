"""Files of Python with kernels: `girih check`, `emit`, `show` and `run`."""

from __future__ import annotations

import json
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


BELOW = 'what is not needed to define kernels stands below `if __name__ == "__main__":`, which is not executed'


@pytest.mark.parametrize(
    ("text", "line", "message", "hint"),
    [
        ("def f():\n    return 1 // 0\n\nf()\n", 2, "raised ZeroDivisionError: integer", BELOW),
        ("\ndef f(:\n", 2, "the file is not Python: invalid syntax", None),
        ("def f():\n", 1, "the file is not Python: expected an indented block", None),
        ("import sys\nsys.exit(3)\n", 2, "the file ends the process while it is imported", BELOW),
        ("import sys\nn = sys.argv[1]\n", 2, "raised IndexError: list index out of range", BELOW),
        ("x = 1\nimport no_such_module\n", 2, "raised ModuleNotFoundError: No module named", "install what it"),
        ("raise ValueError\n", 1, "the import of the file raised ValueError", BELOW),
    ],
)
def test_a_file_that_cannot_be_imported_is_told_with_its_line(
    tmp_path: Path, text: str, line: int, message: str, hint: str | None
) -> None:
    path = write(tmp_path, text, "broken.py")
    done = girih("check", path, "--format", "json")
    (told,) = json.loads(done.output)
    assert (done.status, told["code"], told["file"], told["line"]) == (1, "python.import", str(path), line)
    assert message in told["message"]
    assert (told["hint"] or "").startswith(hint or "")
    for command in (("emit", path, "--as", "ir"), ("show", path), ("run", path), ("bench", path)):
        done = girih(*command)
        assert done.status == 1 and "error[python.import]" in done.output + done.errors, command
        assert "Traceback" not in done.output + done.errors


def test_a_traceback_is_shown_where_other_files_are_in_it(tmp_path: Path) -> None:
    path = write(tmp_path, "import json\n\njson.loads('{')\n", "far.py")
    done = girih("check", path)
    assert done.status == 1 and "json.loads('{')" in done.output and "Traceback" in done.errors
    assert "decoder.py" in done.errors and "girih/commands" not in done.errors


def test_what_a_file_prints_is_apart_from_what_the_command_writes(tmp_path: Path) -> None:
    path = write(tmp_path, f"print('hello')\n{SCALE}", "prints.py")
    done = girih("check", path, "--format", "json")
    assert (done.output, done.errors) == ("[]\n", "hello\n")


def test_a_file_may_define_no_kernel(tmp_path: Path) -> None:
    path = write(tmp_path, "x = 1\n", "none.py")
    assert girih("check", path).output == f"{path}: no errors\n"
    assert girih("show", path).output == f"{path}: no kernels\n"
    assert girih("emit", path, "--as", "ir").output == ""
    assert "it defines no kernel" in girih("run", path).message
    assert "the file has no kernel" in girih("bench", path).message


def test_python_is_formatted_by_others(scale: Path) -> None:
    done = girih("fmt", scale)
    assert done.status == 1 and "found: by its ending Python" in done.errors and "`ruff format`" in done.errors
    assert scale.read_text() == SCALE


def test_a_file_with_another_ending_is_said_to_be_read_as_a_program(tmp_path: Path) -> None:
    path = write(tmp_path, SCALE, "scale.txt")
    told = f"{path} is read as a program of the tensor language: it ends in none of .py, .spv"
    assert told in girih("check", path).output
    assert told in girih("run", path, "scale").output
    assert "is read as" not in girih("check", write(tmp_path, "import", "scale.tl")).output
    assert "is read as" not in girih("check", write(tmp_path, "func @f() {\n  %x = neg %y : f32\n}\n", "f.txt")).output


def test_run_compares_two_targets(scale: Path) -> None:
    call = ("run", scale, "X=random:f32:3x5", "factor=2", "--against", "cpu")
    done = girih(*call)
    assert done.status == 0 and "scale gives the same on interpreter and cpu for these arguments" in done.output
    told = json.loads(girih(*call, "--format", "json", "--no-races").output)
    assert told["against"]["agrees"] is True and len(told["against"]["arrays"]) == 1


def test_findings_of_either_target_have_a_verdict(tmp_path: Path) -> None:
    path = write(tmp_path, SCALE.replace("X[i, j] = X[i, j]", "X[i, j + 1] = X[i, j]"), "over.py")
    done = girih("run", path, "X=ones:f32:2x3", "factor=2", "--against", "cpu")
    assert done.status == 1 and "the kernel is wrong, whatever cpu makes of it: interpreter finds it" in done.output


def test_bench_measures_a_kernel_in_python(scale: Path) -> None:
    done = girih("bench", scale, "X=random:f32:8x8", "factor=2", "-D", "more=3", "--quick", "--format", "json")
    (row,) = json.loads(done.output)["rows"]
    assert done.status == 0 and row["name"] == "@scale on 8 x 1 x 1" and row["seconds"] > 0
    assert "scale needs 1 value more: factor: gl.f32" in girih("bench", scale, "X=ones:f32:2x3", "--quick").message
    two = write(scale.parent, SCALE + SCALE.replace("def scale", "def again"), "two.py")
    assert "say which of its kernels: scale, again" in girih("bench", two).message


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


MAPS = """from typing import Literal, TypeVar

import girih
import girih.language as gl

T = TypeVar("T", gl.bf16, gl.f32)

@girih.kernel
def grouped(G: gl.Group[gl.Matrix[T]], k: gl.index):
    for i in gl.foreach(G[k].shape[0]):
        G[k][i, 0] = gl.cast(1.0, T)

@girih.kernel
def mapped(
    A: gl.TensorMap[gl.f32, Literal[2]], B: gl.TensorMap[gl.f16, Literal[3]], C: gl.Im2colMap[gl.f32, Literal[4]],
):
    box = gl.local((32, 32), gl.f32, order="F")
    pixels = gl.local(4096, gl.i8)
    gl.tensor_copy_load(A, (0, 0), box)
    gl.tensor_copy_load(C, (0, 0, 0, 0), pixels, offsets=(1, 1))
"""


def test_groups_and_tensor_maps_need_no_arguments_where_nothing_is_launched(tmp_path: Path) -> None:
    path = write(tmp_path, MAPS, "maps.py")
    done = girih("check", path)
    assert done.output == f"{path}: no errors\n", done.output + done.errors
    text = girih("emit", path, "grouped", "--as", "ir").output
    assert "func @grouped(%G: group<memref<bf16x?x?>x?>, %k: index)" in text
    text = girih("emit", path, "grouped", "G=[zeros:f32:2x3]", "--as", "ir").output
    assert "func @grouped(%G: group<memref<f32x?x?>x?>, %k: index)" in text
    text = girih("emit", path, "mapped", "--as", "ir").output
    assert "%A: tensor_map<f32,2,tiled>, %B: tensor_map<f16,3,tiled>, %C: tensor_map<f32,4,im2col>" in text
    assert "mapped needs 3 values more" in girih("run", path, "mapped").message
