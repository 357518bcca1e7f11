"""`girih run`: arguments of every form, layouts, saving all or nothing, findings, and calls that are wrong."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest

from girih.arguments.printed import PrintedLines
from girih.commands.parts import save
from girih.commands.parts.array_specifications import FromFile, Made, Members, parse_argument
from girih.commands.parts.arrays import ArrayLayout, laid_out
from girih.ir.core import Order
from girih.ir.types import F32, NUMBERS, MemRef
from tests.cli.helpers import AXPBY, Done, girih, write
from tests.conftest import Command

PROGRAM = (
    AXPBY
    + """
func @first(%A: memref<f32x?x?>, %G: group<memref<f32x?>x?>) {
    %zero = constant 0 : index
    %a = load %A[1,0] : f32
    %g = load %G[%zero] : memref<f32x?>
    store %a, %g[0]
}
func @beyond(%A: memref<f32x?>, %B: memref<f32x?>) {
    %n = size %A[0] : index
    %one = constant 1.0 : f32
    store %one, %B[0]
    %x = load %A[%n] : f32
}
func @strided(%A: memref<f32x4x?,strided<1,8>> {alignment=256}, %B: memref<f32x?x?,strided<1,?>> {stride_gcd=[1,16]}) {
    %x = load %A[3,1] : f32
    store %x, %B[2,1]
}
func @moved(%G: group<memref<i32x?>x2,offset:?>) {
    %g = load %G[1] : memref<i32x?>
    %x = load %g[0] : i32
    store %x, %g[1]
}
func @scalars(%b: bool, %i: i8, %n: index, %f: f16, %c: c32, %S: memref<i32>, %R: memref<f64>) {
    %x = load %S[] : i32
    %y = cast %x : f64
    store %y, %R[]
}
func @empty(%A: memref<f32x4>) {
    %null = associated %A : bool
    %zero = constant 0.0 : f32
    if %null { axpby %zero, %A, %zero, %A }
}
func @each(%A: memref<i32x?>) {
    %i = group_id.x : index
    %one = constant 1 : i32
    store %one, %A[%i]
}
func @half(%A: memref<bf16x4>, %B: memref<bf16x4>) {
    %one = constant 1.0 : bf16
    axpby %one, %A, %one, %B
}
func @column(%A: memref<i32x?x?>, %n: index) attributes {grid=[%n, size(%A, 1)]} {
    %i = group_id.x : index
    %j = group_id.y : index
    %one = constant 1 : i32
    store %one, %A[%i, %j]
}
func @fresh(%A: memref<f32x4>, %B: memref<f32x4>) {
    %x = load %A[2] : f32
    store %x, %B[0]
}
"""
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, PROGRAM)
    return tmp_path


def run(function: str, *arguments: str, file: str = "kernel.tl") -> Done:
    return girih("run", file, function, *arguments)


def test_numbers_and_made_arrays(folder: Path) -> None:
    done = run("axpby", "alpha=2", "A=arange:f32:4", "beta=10", "B=ones:f32:4", "--save", "B=b.npy")
    assert (done.status, done.errors) == (0, "")
    assert np.load("b.npy").tolist() == [10, 12, 14, 16]
    lines = done.output.splitlines()
    assert lines[0].startswith("@axpby on grid 1 x 1 x 1 in ") and lines[0].endswith(" s")
    assert lines[2].split() == ["A", "memref<f32x?>", "float32", "4", "unchanged"]
    assert lines[4].split() == ["B", "memref<f32x?>", "float32", "4", "changed:", "min", "10.0,", "max", "16.0"]
    assert lines[5] == "saved B to b.npy"


def test_arrays_from_files_are_laid_out_as_the_parameter_asks(folder: Path) -> None:
    np.save("a.npy", np.arange(6, dtype=np.float32).reshape(2, 3))
    np.save("g.npy", np.zeros(3, np.float32))
    done = run("first", "A=a.npy", "G=[g.npy,zeros:f32:2]", "--save", "G=[g.npy,h.npy]", "--save", "A=b.npy")
    assert done.status == 0
    assert np.load("g.npy").tolist() == [3, 0, 0]
    assert np.load("h.npy").tolist() == [0, 0]
    saved = np.load("b.npy")
    assert saved.flags.c_contiguous and np.array_equal(saved, np.load("a.npy"))


def test_strides_alignment_and_promises(folder: Path) -> None:
    done = run("strided", "A=arange:f32:4x3", "B=zeros:f32:5x2", "--save", "B=b.npy")
    assert done.status == 0
    expected = np.zeros((5, 2), np.float32)
    expected[2, 1] = 7
    assert np.array_equal(np.load("b.npy"), expected)


def test_a_kernel_runs_on_its_own_grid_and_remarks_what_it_leaves(folder: Path) -> None:
    done = run("column", "A=zeros:i32:3x2", "n=2", "--save", "A=a.npy")
    assert done.output.startswith("@column on grid 2 x 2 x 1 in ")
    assert np.load("a.npy").tolist() == [[1, 1], [1, 1], [0, 0]]
    assert done.errors.startswith("remark[run.untouched]: no work-group wrote 2 of 6 elements of %A")
    done = run("column", "A=zeros:i32:3x2", "n=2", "--grid", "3,2")
    assert (done.output.partition(" in ")[0], done.errors) == ("@column on grid 3 x 2 x 1", "")
    shown = json.loads(run("column", "A=zeros:i32:3x2", "n=1", "--format", "json").output)
    assert [(d["code"], d["severity"]) for d in shown["diagnostics"]] == [("run.untouched", "remark")]
    assert shown["summary"]["grid"] == [1, 2, 1]
    assert "bind.grid" in run("column", "A=zeros:i32:3x2", "n=-1").output


def test_row_major_arrays(folder: Path) -> None:
    np.save("a.npy", np.zeros((2, 3), np.int32))
    done = run("column", "A=a.npy", "n=2", "--order", "C", "--save", "A=a.npy")
    assert done.output.startswith("@column on grid 2 x 2 x 1 in ")
    assert np.load("a.npy").tolist() == [[1, 1, 0], [1, 1, 0]]
    assert "first at index (2, 0) of shape (3, 2), element [0, 2] of the array" in done.errors
    write(folder, "func @f(%A: memref<i32x3x2>, %B: memref<f32x?x?,strided<1,?>> {stride_gcd=[1,16]}) {\n}\n", "g.tl")
    done = run("f", "A=arange:i32", "B=zeros:f32:5x2", "--order", "C", file="g.tl")
    assert done.status == 0
    assert "int32 2x3" in done.output
    # An array that has the layout is taken as it is, in either order.
    for order, other in (("C", "F"), ("F", "C")):
        layout = ArrayLayout("A", MemRef.packed(F32, (None, None)), order=cast(Order, order), alignment=4)
        mine = np.zeros((2, 3), np.float32, order=cast(Any, order))
        assert laid_out(layout, mine) is mine
        assert laid_out(layout, np.zeros((2, 3), np.float32, order=cast(Any, other))).strides == mine.strides


def test_big_endian_files(folder: Path) -> None:
    np.save("a.npy", np.arange(3, dtype=">f4"))
    done = run("axpby", "alpha=1", "A=a.npy", "beta=0", "B=zeros:f32:3", "--save", "B=b.npy")
    assert done.status == 0 and np.load("b.npy").tolist() == [0, 1, 2]


def test_group_offsets(folder: Path) -> None:
    done = run("moved", "G=[arange:i32:4,arange:i32:4]@2", "--save", "G=[a.npy,b.npy]")
    assert done.status == 0
    assert np.load("b.npy").tolist() == [0, 1, 2, 2]
    assert run("moved", "G=[arange:i32:4,arange:i32:4]@2:[0,2]").status == 0
    assert run("moved", "G=[arange:i32:4, arange:i32:4] @ 2 : [0, 2]").status == 0
    refused = run("moved", f"G=[arange:i32:4,arange:i32:4]@{10**19}")
    assert refused.status == 1 and f"the offset {10**19} lies behind the end of the array" in refused.output
    refused = run("moved", "G=[arange:i32:4,arange:i32:4]@2:[0,3]")
    assert refused.status == 1 and "error[bind.group_memory]" in refused.output
    refused = run("moved", "G=[arange:i32:4,arange:i32:4]")
    assert refused.status == 1 and "error[bind.group_offset]" in refused.output
    assert "hint: write it behind the list, as in [...]@3\n" in refused.output


def test_the_shapes_of_a_group_are_asked_for_as_the_command_line_writes_them(folder: Path) -> None:
    file = write(folder, "func @f(%G: group<memref<f32x?x?>x?,offset:?>) {\n}\n", "shapes.tl")
    refused = girih("run", file, "f", "G=[zeros:f32:4x5]@3")
    assert refused.status == 1
    assert "hint: write the shape of each memref behind the offset, as in [...]@3:[4x5,2x2]\n" in refused.output


def test_scalars(folder: Path) -> None:
    done = run("scalars", "b=true", "i=-0x10", "n=7", "f=0x1.8p1", "c=1-2j", "S=41", "R=zeros")
    assert done.status == 0
    assert done.output.splitlines()[-1].split() == ["R", "memref<f64>", "float64", "0-d", "changed", "to", "41.0"]
    assert done.output.splitlines()[5].split() == ["c", "c32", "(1-2j)"]


def test_null(folder: Path) -> None:
    assert run("empty", "A=null").status == 0
    assert run("empty", "A=null", "--save", "A=a.npy").message == "--save A: it is null, there is nothing to save"
    refused = run("axpby", "alpha=null", "A=ones:f32:1", "beta=0", "B=ones:f32:1")
    assert refused.status == 1 and "error[bind.null]" in refused.output


def test_made_arrays_take_what_is_left_out_from_the_type(folder: Path) -> None:
    done = run("fresh", "A=random", "B=zeros", "--format", "json")
    arguments = done.json["summary"]["arguments"]
    assert [a["arrays"] for a in arguments] == [[{"dtype": "float32", "shape": [4]}]] * 2
    assert [a["changed"] for a in arguments] == [False, True]


def test_uninitialized(folder: Path) -> None:
    done = run("fresh", "A=uninitialized:f32:4", "B=zeros")
    assert done.status == 1 and "finding[run.uninitialized]" in done.output


def test_random_is_seeded(folder: Path) -> None:
    def drawn(*options: str) -> list[float]:
        call = ("axpby", "alpha=1", "A=random:f32:50", "beta=0", "B=zeros:f32:50", "--save", "B=b.npy", *options)
        assert run(*call).status == 0
        found: list[float] = np.load("b.npy").tolist()
        return found

    first = drawn("--seed", "1")
    assert first == drawn("--seed", "1") != drawn("--seed", "2")
    assert drawn() == drawn("--seed", "0")
    assert min(first) >= 0 and max(first) < 1


def test_grids_and_choices(folder: Path) -> None:
    for options in ([], ["--choices", "3"]):
        assert run("each", "A=zeros:i32:6", "--grid", "4", "--save", "A=a.npy", *options).status == 0
        assert np.load("a.npy").tolist() == [1, 1, 1, 1, 0, 0]
    done = run("each", "A=zeros:i32:6", "--grid", "3,2,1", "--no-races")
    assert done.output.startswith("@each on grid 3 x 2 x 1 in ")


def test_a_step_budget(folder: Path) -> None:
    done = run("each", "A=zeros:i32:6", "--max-steps", "1")
    assert done.status == 1 and "finding[run.budget]" in done.output


def test_bf16_files(folder: Path) -> None:
    np.save("a.npy", np.array([1, 2, 3, 4], ml_dtypes.bfloat16))
    done = run("half", "A=a.npy", "B=ones:bf16:4", "--save", "B=b.npy")
    assert done.status == 0
    assert np.load("b.npy").view(ml_dtypes.bfloat16).astype(np.float32).tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize("name", ["f8e4m3", "f8e5m2"])
def test_files_of_eight_bits(folder: Path, name: str) -> None:
    """NumPy writes bytes without a name for one of the two, and for the other a name that it cannot read."""
    dtype = {"f8e4m3": ml_dtypes.float8_e4m3fn, "f8e5m2": ml_dtypes.float8_e5m2}[name]
    body = "%x = load %A[1,0]\nstore %x, %B[0,1]".replace("0]\n", f"0] : {name}\n")
    Path("f8.tl").write_text(f"func @f(%A: memref<{name}x2x2>, %B: memref<{name}x2x2>) {{\n{body}\n}}\n")
    np.save("a.npy", np.array([[1, 2], [-1.5, 4]], dtype))
    done = run("f", "A=a.npy", f"B=ones:{name}:2x2", "--save", "B=b.npy", file="f8.tl")
    assert done.status == 0 and "max 1.0" in done.output
    assert np.load("b.npy").view(dtype).astype(np.float32).tolist() == [[1, -1.5], [1, 1]]
    assert run("f", "A=b.npy", f"B=random:{name}:2x2", file="f8.tl").status == 0
    np.save("a.npy", np.zeros((2, 2), np.uint8))
    assert "A.view(ml_dtypes.float8_" in run("f", "A=a.npy", f"B=ones:{name}:2x2", file="f8.tl").output


def test_a_finding_saves_nothing(folder: Path) -> None:
    done = run("beyond", "A=ones:f32:3", "B=zeros:f32:3", "--save", "B=b.npy")
    assert done.status == 1
    assert "finding[run.out_of_bounds]" in done.output and "kernel.tl:15:" in done.output
    assert done.output.endswith("kernel.tl: 1 finding; nothing was saved (1 file)\n")
    assert not (folder / "b.npy").exists()
    assert sorted(path.name for path in folder.iterdir()) == ["kernel.tl"]


def test_json(folder: Path) -> None:
    done = run("beyond", "A=ones:f32:3", "B=zeros:f32:3", "--format", "json")
    assert done.status == 1
    (found,) = done.json["findings"]
    assert (found["code"], found["argument"], found["index"], found["shape"]) == ("run.out_of_bounds", "A", [3], [3])
    assert done.json["summary"] is None
    assert run("axpby", "alpha=1e99", "A=ones:f32:1", "beta=1", "B=ones:f32:1", "--format", "json").json["diagnostics"]


def test_a_wrong_program(folder: Path) -> None:
    write(folder, "func @f() {\n    foo\n}\n", "wrong.tl")
    done = girih("run", "wrong.tl", "f")
    assert done.status == 1 and "error[syntax.mnemonic]" in done.output


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["alpha=1", "A=ones:f64:4", "beta=0", "B=ones:f32:4"], "bind.dtype"),
        (["alpha=1", "A=ones:f32:4x4", "beta=0", "B=ones:f32:4"], "bind.order"),
        (["alpha=1e99", "A=ones:f32:4", "beta=0", "B=ones:f32:4"], "bind.range"),
        (["alpha=1j", "A=ones:f32:4", "beta=0", "B=ones:f32:4"], "bind.type"),
        (["alpha=true", "A=ones:f32:4", "beta=0", "B=ones:f32:4"], "bind.type"),
    ],
)
def test_arguments_that_do_not_fit(arguments: list[str], code: str, folder: Path) -> None:
    done = run("axpby", *arguments)
    assert done.status == 1 and f"error[{code}]" in done.output


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"no numpy", "this is no .npy file"),
        (b"", "this is no .npy file"),
        (b"\x93NUMPY\x01\x00v\x00{'descr'", "no .npy file"),
    ],
)
def test_files_that_hold_no_array(content: bytes, reason: str, folder: Path) -> None:
    (folder / "a.npy").write_bytes(content)
    done = run("empty", "A=a.npy")
    assert done.status == 1 and done.output.startswith("error: a.npy: ") and reason in done.output


def test_a_file_of_python_objects_is_refused(folder: Path) -> None:
    objects: Any = np.array([{}, None], dtype=object)
    np.save("a.npy", objects, allow_pickle=True)
    done = run("empty", "A=a.npy")
    assert done.status == 1 and "this is no .npy file with an array of numbers" in done.output


AXPBY_CALL = ["alpha=1", "A=ones:f32:4", "beta=0", "B=ones:f32:4"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (["axpy"], "there is no kernel 'axpy'; did you mean 'axpby'?"),
        (["axpby"], "@axpby needs values for alpha (f32), A (memref<f32x?>), beta (f32), B (memref<f32x?>)"),
        (["axpby", *AXPBY_CALL[:3]], "@axpby needs a value for B (memref<f32x?>)"),
        (["axpby", *AXPBY_CALL, "alhpa=2"], "there is no argument 'alhpa'; did you mean 'alpha'?"),
        (["axpby", *AXPBY_CALL, "alpha=2"], "the argument 'alpha' is given twice"),
        (["axpby", "alpha"], "'alpha' is not NAME=VALUE, for instance A=a.npy"),
        (["axpby", "alpha=one"], "alpha=one: expected a number, true, false, null, FILE.npy, [A,B,...], or zeros"),
        (["axpby", "A=zeros:f31:4"], "A=zeros:f31:4: there is no element type 'f31'"),
        (["axpby", "A=zeros:bool:4"], "A=zeros:bool:4: there is no element type 'bool'"),
        (["axpby", "A=zeros:f32:4,4"], "A=zeros:f32:4,4: the shape '4,4' is not written as in 64x64"),
        (["axpby", "A=zeros:f32:4:4"], "A=zeros:f32:4:4: expected zeros, or as in zeros:f32:64x64"),
        (["axpby", "A=[zeros"], "A=[zeros: a group is written [A,B,...], with an offset [A,B,...]@3, with "),
        (["moved", "G=[zeros]:[2x]"], "G=2x: the shape of a memref is written as in 64x64, or null"),
        (["axpby", "A=[1,2]"], "A=1: a member of a group is an array, from a file or made, or null"),
        (["axpby", *AXPBY_CALL[:3], "B=zeros"], "B=zeros: its type memref<f32x?> leaves the shape open"),
        (
            ["moved", "G=[arange,ones]@3:[4,2]"],
            "leaves the shape open; the shapes behind the list are those of the memrefs, not of the arrays; write it",
        ),
        (["axpby", *AXPBY_CALL[:3], "B=1"], "B=1: memref<f32x?> takes an array, FILE.npy or zeros:f32:4x4"),
        (["axpby", *AXPBY_CALL[:3], "B=[zeros:f32:1]"], "B: a list is for a group; its type is memref<f32x?>"),
        (["axpby", *AXPBY_CALL[:3], "B=b.npz"], "b.npz: only .npy files are read, one array each"),
        (["axpby", "alpha=a.npy", *AXPBY_CALL[1:]], "alpha: its type is f32, so it takes a number, not an array"),
        (["axpby", *AXPBY_CALL[:3], "B=zeros:f32:99999999999x99999999999"], "elements is too large"),
        (["moved", "G=zeros:i32:4"], "G: a group takes a list of arrays, as in G=[a.npy,b.npy]"),
        (["axpby", *AXPBY_CALL, "--save", "B"], "--save 'B' is not NAME=FILE.npy"),
        (["axpby", *AXPBY_CALL, "--save", "D=d.npy"], "there is no argument 'D'"),
        (["axpby", *AXPBY_CALL, "--save", "alpha=d.npy"], "--save alpha: its type is f32; only arrays can be saved"),
        (["axpby", *AXPBY_CALL, "--save", "B=b.txt"], "--save B=b.txt: the file 'b.txt' does not end in .npy"),
        (["axpby", *AXPBY_CALL, "--save", "B=[b.npy]"], "--save B=[b.npy]: it is one array, so it goes to one file"),
        (["axpby", *AXPBY_CALL, "--save", "B=b.npy", "--save", "A=./b.npy"], "--save: two arrays go to "),
        (
            ["axpby", *AXPBY_CALL, "--grid", "0,"],
            "Invalid value for --grid: '0,' is not one to three sizes such as 8,4",
        ),
        (["axpby", *AXPBY_CALL, "--grid", "1,2,3,4"], "Invalid value for --grid: '1,2,3,4' is not one to three sizes"),
        (["axpby", *AXPBY_CALL, "--grid", "9999999999"], "sizes lie between 0 and 2^31 - 1"),
        (["axpby", *AXPBY_CALL, "--seed", "-1"], "Invalid value for '--seed': -1 is not in the range x>=0."),
        (["axpby", *AXPBY_CALL, "--unknown"], "No such option"),
    ],
)
def test_wrong_calls(call: list[str], message: str, folder: Path) -> None:
    done = run(*call)
    assert (done.status, done.output) == (2, "")
    assert message in done.message


def test_values_of_0_d_memrefs(folder: Path) -> None:
    rest = ["b=true", "i=1", "n=7", "f=1", "c=1", "R=zeros"]
    for value, code in (("1.5", "bind.type"), ("true", "bind.type"), ("99999999999", "bind.range")):
        done = run("scalars", *rest, f"S={value}")
        assert done.status == 1 and f"error[{code}]: argument 6, %S: " in done.output


def test_all_files_are_saved_or_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "b.npy").write_bytes(b"old")
    written: list[str] = []

    def fails_the_second_time(*arguments: object, **options: object) -> None:
        written.append("")
        if len(written) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", fails_the_second_time)
    done = run("axpby", *AXPBY_CALL, "--save", "A=a.npy", "--save", "B=b.npy")
    assert (done.status, done.message) == (1, "b.npy: No space left on device")
    assert sorted(path.name for path in folder.iterdir()) == ["b.npy", "kernel.tl"]
    assert (folder / "b.npy").read_bytes() == b"old"


def test_permissions_of_saved_files(folder: Path) -> None:
    mask = os.umask(0o022)
    try:
        assert run("axpby", *AXPBY_CALL, "--save", "B=b.npy").status == 0
        assert (folder / "b.npy").stat().st_mode & 0o777 == 0o644
        (folder / "b.npy").chmod(0o600)
        assert run("axpby", *AXPBY_CALL, "--save", "B=b.npy").status == 0
        assert (folder / "b.npy").stat().st_mode & 0o777 == 0o600
        assert save._mode(str(folder / "new.npy")) == 0o644
    finally:
        os.umask(mask)


def test_a_file_that_is_read_and_saved(folder: Path) -> None:
    np.save("a.npy", np.ones(3, np.float32))
    assert run("axpby", "alpha=1", "A=a.npy", "beta=1", "B=a.npy", "--save", "B=a.npy").status == 0
    assert np.load("a.npy").tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=1", 1),
        ("a=-7", -7),
        ("%a=0x1F", 31),
        ("a=1.5", 1.5),
        ("a=0x1.8p1", 3.0),
        ("a=1e3", 1000.0),
        ("a=inf", float("inf")),
        ("a=1+2j", 1 + 2j),
        ("a=2i", 2j),
        ("a=True", True),
        ("a=false", False),
        ("a=null", None),
        ("a=x/y.npy", FromFile("x/y.npy")),
        ("a=zeros", Made("zeros")),
        ("a=random:c64", Made("random", NUMBERS["c64"])),
        ("a=arange:i8:2x3", Made("arange", NUMBERS["i8"], (2, 3))),
        ("a=ones:f32:", Made("ones", NUMBERS["f32"], ())),
        ("a=[]", Members(())),
        ("a=[x.npy, null,zeros]@4", Members((FromFile("x.npy"), None, Made("zeros")), 4)),
        ("a=[x.npy,null]@4:[2x3, null]", Members((FromFile("x.npy"), None), 4, ((2, 3), None))),
        ("a=[x.npy]:[4]", Members((FromFile("x.npy"),), None, ((4,),))),
    ],
)
def test_specifications(text: str, value: object) -> None:
    name, found = parse_argument(text)
    assert name == "a"
    assert (type(found), found) == (type(value), value)


def test_the_cpu_runs_the_same(folder: Path) -> None:
    call = ("axpby", "alpha=2", "A=arange:f32:4", "beta=10", "B=ones:f32:4", "--save", "B=b.npy", "--target")
    for target in ("cpu", "cpu:native"):
        for checks in ("bounds", "off"):
            done = run(*call, target, "--checks", checks)
            assert (done.status, done.errors) == (0, "")
            assert np.load("b.npy").tolist() == [10, 12, 14, 16]
            Path("b.npy").unlink()


def test_a_finding_of_the_cpu_saves_nothing(folder: Path) -> None:
    done = run("beyond", "A=ones:f32:3", "B=ones:f32:4", "--save", "B=b.npy", "--target", "cpu")
    assert done.status == 1 and "finding[run.out_of_bounds]" in done.output
    assert "nothing was saved (1 file)" in done.output and not Path("b.npy").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            ["--target", "cpu", "--choices", "1"],
            "Error: --choices: the target 'cpu' has no such option; interpreter has it",
        ),
        (
            ["--target", "cpu", "--max-steps", "1"],
            "Error: --max-steps: the target 'cpu' has no such option; interpreter has it",
        ),
        (
            ["--target", "cpu", "--choices", "1", "--max-steps", "1"],
            "has it\n--max-steps: the target 'cpu' has no such",
        ),
        (["--target", "abacus"], "there is no target 'abacus'"),
        (["--target", "cpu:haswel"], "there is no processor 'haswel'; near it are: haswell"),
        (["--checks", "off"], "the interpreter always checks everything"),
        (["--checks", "some"], "'some' is not one of"),
    ],
)
def test_targets_and_checks_that_are_wrong(options: list[str], words: str, folder: Path) -> None:
    done = run("each", "A=zeros:i32:1", *options)
    assert (done.status, done.output) == (2, "") and words in done.errors


def test_a_wrong_setting_of_the_environment_is_a_wrong_call(run_command: Command, tmp_path: Path) -> None:
    path = tmp_path / "k.tl"
    path.write_text("func @f() {\n}\n", encoding="utf-8")
    script = "import os; os.environ['GIRIH_NUM_THREADS'] = 'many'; from girih.cli import main; main()"
    done = run_command(sys.executable, "-c", script, "run", str(path), "f", "--target", "cpu")
    assert done.returncode == 2, done.stdout
    assert "Error: GIRIH_NUM_THREADS is a number of threads from 1 to" in done.stdout


def test_what_a_kernel_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes before the summary or the findings, in the JSON as a list; without a reader it ends quietly."""
    text = """func @f(%n: index, %A: memref<f32x1>) {
        print "n is", %n
        %a = load %A[%n] : f32
    }
    """
    file = write(tmp_path, text)
    for target in ("interpreter", "cpu"):
        done = girih("run", file, "f", "n=0", "A=zeros:f32:1", "--target", target)
        assert (done.status, done.output.splitlines()[0]) == (0, "(0,0,0): n is 0")
        done = girih("run", file, "f", "n=1", "A=zeros:f32:1", "--target", target)
        assert (done.status, done.output.splitlines()[0]) == (1, "(0,0,0): n is 1")
        for n, status in ((0, 0), (1, 1)):
            done = girih("run", file, "f", f"n={n}", "A=zeros:f32:1", "--target", target, "--format", "json")
            assert (done.status, done.json["printed"]) == (status, [f"(0,0,0): n is {n}"])

    def no_reader(lines: PrintedLines) -> None:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    monkeypatch.setattr(PrintedLines, "write", no_reader)
    done = girih("run", file, "f", "n=0", "A=zeros:f32:1")
    assert (done.status, done.output, done.errors) == (1, "", "")
