"""Lines that kernels print: the same text from the interpreter and from compiled code, whatever the launch is like."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import girih
from girih.analysis.prints import MOST_LINES
from girih.arguments.arrays import DTYPES
from girih.arguments.printed import PrintedLines, line_of, matrix_text, number_text
from girih.back.llvm.cpu.machine import stretches
from girih.ir.types import (
    BF16,
    BOOL,
    C32,
    C64,
    F16,
    F32,
    F64,
    I8,
    INDEX,
    NUMBERS,
    CoopMatrix,
    MatrixScope,
    Number,
    Use,
)
from girih.runtime.cpu import kernel as runtime
from tests.cases import every_case

ALL = """
func @all(%A: memref<f32x4x3>, %x: f16, %b: bool, %c: c32, %n: index)
        attributes {subgroup_size=8, work_group_size=[16,1]} {
    %z = constant 0 : index
    %one = constant 1 : index
    %two = constant 2 : index
    %five = constant 5 : i32
    %d = constant 0.1 : f64
    print "start", %x, %b, %c, %n, %d
    for %k=%z,%two {
        print "turn", %k
        parallel {
            %l = subgroup_local_id : i32
            %t = mul %l, %five : i32
            %q = greater_than_equal %l, %five : bool
            if %q {
                print "late", %t
                for %r=%five,%l {
                    print "again", %r
                }
            }
            BARRIER
            %m = cooperative_matrix_load %A[%z,%z] : coopmatrix<f32x4x3,matrix_acc>
            print "A", %m, %k
            %w = cooperative_matrix_load.t %A[%z,%z] : coopmatrix<f32x1x4,matrix_b,work_group>
            print "", %w
        }
        foreach (%i,%j)=(%z,%one),(%two,%n) {
            %v = load %A[%i,%j] : f32
            print "is", %v
        }
    }
    foreach_tile (%i)=(%z),(%n) as (%w) <= (8) {
        %l = subgroup_local_id : i32
        %q = less_than %l, %five : bool
        %m = constant 2 : coopmatrix<i8x2x2,matrix_acc>
        print "tile", %m
        if %q {
            print "of", %w
        }
    }
}
"""


def expected(x: int, y: int) -> list[str]:
    """What one work-group prints."""
    at = f"({x},{y},0)"
    rows = "[[0.0, 0.1, 0.2], [0.3, 0.4, 0.5], [0.6, 0.7, 0.8], [0.9, 1.0, 1.1]]"
    lines = [f"{at}: start 0.1 true (1-2.5j) 3 0.1"]
    for turn in range(2):
        lines.append(f"{at}: turn {turn}")
        whole = f"{at}: coopmatrix<f32x1x4,matrix_b,work_group> [[0.0, 0.3, 0.6, 0.9]]"
        for subgroup in range(2):
            place = f"{at} subgroup {subgroup}"
            lines.append(f"{place}: A coopmatrix<f32x4x3,matrix_acc> {rows} {turn}")
            lines += [whole] if subgroup == 0 else []
            lines += [f"{place} lane 5: late 25", f"{place} lane 6: late 30", f"{place} lane 6: again 5",
                      f"{place} lane 7: late 35", f"{place} lane 7: again 5", f"{place} lane 7: again 6"]  # fmt: skip
        lines += [f"{at} at ({i},{j}): is {number}" for (i, j), number in
                  zip(((0, 1), (1, 1), (0, 2), (1, 2)), ("0.1", "0.4", "0.2", "0.5"), strict=True)]  # fmt: skip
    lines.append(f"{at} at (0): tile coopmatrix<i8x2x2,matrix_acc> [[2, 2], [2, 2]]")
    return lines + [f"{at} at (0) lane {lane}: of 3" for lane in range(5)]


def test_every_kind_of_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """In loops and branches, of values and matrices; by coroutines, in functions of long regions, with any choices."""
    array = np.asfortranarray((np.arange(12) / 10).reshape(4, 3).astype(np.float32))
    wanted = [line for y in range(2) for x in range(3) for line in expected(x, y)]
    quiet, waiting = ALL.replace("BARRIER", ""), ALL.replace("BARRIER", "barrier")
    with every_case() as case:
        for name, text, target in (("one", quiet, "interpreter"), ("cpu", quiet, "cpu"), ("barrier", waiting, "cpu")):
            with case(name):
                girih.loads(text, target=target)["all"][3, 2](array, 0.1, True, 1 - 2.5j, 3)
                assert capsys.readouterr().out.splitlines() == wanted
        with case("choices"):
            kernel = girih.loads(quiet, target="interpreter")["all"]
            kernel.options(choices=girih.Choices(5))[3, 2](array, 0.1, True, 1 - 2.5j, 3)
            assert capsys.readouterr().out.splitlines() == wanted
        with case("long"), monkeypatch.context() as patched:
            patched.setenv("GIRIH_CACHE_SIZE", "0")
            patched.setattr(stretches, "_LONG", 8)
            patched.setattr(stretches, "_FULL", 20)
            girih.loads(quiet, target="cpu")["all"][3, 2](array, 0.1, True, 1 - 2.5j, 3)
            assert capsys.readouterr().out.splitlines() == wanted


EIGHT_BITS = """
func @eight_bits(%x: f8e4m3, %A: memref<f8e5m2x4>, %M: memref<f8e4m3x2x2>)
        attributes {subgroup_size=8, work_group_size=[8,1]} {
    %z = constant 0 : index
    %n = constant 4 : index
    %tiny = constant 0x1p-16 : f8e5m2
    print "x", %x, %tiny
    foreach (%i)=(%z),(%n) {
        %a = load %A[%i] : f8e5m2
        print "a", %a
    }
    parallel {
        %m = cooperative_matrix_load %M[%z,%z] : coopmatrix<f8e4m3x2x2,matrix_a>
        print "", %m
    }
}
"""


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_floats_of_eight_bits(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Their digits are those that they have: 448 is not 450, though that is the shortest number that rounds to it."""
    values = np.array([57344, -np.inf, np.nan, -0.0], ml_dtypes.float8_e5m2)
    matrix = np.asfortranarray(np.array([[1.5, -448], [np.nan, 0.1015625]], ml_dtypes.float8_e4m3fn))
    girih.loads(EIGHT_BITS, target=target)["eight_bits"](448.0, values, matrix)
    assert capsys.readouterr().out.splitlines() == [
        "(0,0,0): x 448.0 1.52587890625e-05",
        *(f"(0,0,0) at ({i}): a {x}" for i, x in enumerate(("57344.0", "-inf", "nan", "-0.0"))),
        "(0,0,0) subgroup 0: coopmatrix<f8e4m3x2x2,matrix_a> [[1.5, -448.0], [nan, 0.1015625]]",
    ]


MANY = """
func @many(%n: i32, %A: memref<i32x?>) attributes {subgroup_size=8, work_group_size=[8,1]} {
    %x = group_id.x : index
    parallel {
        %l = subgroup_local_id : i32
        %zero = constant 0 : i32
        for %k=%zero,%n {
            print "", %x, %l, %k
        }
    }
}
"""


def test_many_work_groups_in_threads(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for target in ("interpreter", "cpu"):
        girih.loads(MANY, target=target)["many"][150](2, np.zeros(1, np.int32))
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    lines = printed[1].splitlines()
    assert len(lines) == 150 * 8 * 2
    assert lines[2 * 8 * 149 + 3] == "(149,0,0) subgroup 0 lane 1: 149 1 1"


@pytest.mark.long
@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_what_is_too_much_is_counted(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = MANY.replace("for %k", 'print "early"\nfor %k')
    girih.loads(text, target=target)["many"][1](10_000, np.zeros(1, np.int32))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == MOST_LINES + 1
    assert lines[0] == "(0,0,0) subgroup 0 lane 0: early"
    assert lines[-1] == f"{80_008 - MOST_LINES} more lines; a launch keeps 65,536"


def test_the_first_lines_are_kept_in_whatever_order_they_come() -> None:
    lines = PrintedLines(3, dropped=1)
    for group in (5, 0, 9, 8, 1, 7, 2):
        lines.add(line_of((group, 0, 0), (group, 0), "x", []))
    assert lines.text() == "(0,0,0): x\n(1,0,0): x\n(2,0,0): x\n5 more lines; a launch keeps 3\n"


FAILING = """
func @failing(%A: memref<i32x?>, %n: index) attributes {subgroup_size=8, work_group_size=[8,1]} {
    print "before", %n
    %a = load %A[%n] : i32
}
"""


@contextmanager
def failing(*wrong: Any) -> Iterator[None]:
    with pytest.raises(wrong):
        yield


class ClosedPipe:
    """A standard output that nobody reads any more."""

    def write(self, text: str) -> None:
        raise BrokenPipeError("nobody reads")


def test_launches_that_fail_and_unusual_ones(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """What came before a finding is printed, what is refused prints nothing; launches without a launcher print too."""
    with every_case() as case:
        for target in ("interpreter", "cpu"):
            kernel = girih.loads(FAILING, target=target)["failing"]
            with case(f"{target} finds"), failing(girih.KernelError):
                kernel(np.zeros(2, np.int32), 2)
            with case(f"{target} prints before"):
                assert capsys.readouterr().out == "(0,0,0): before 2\n"
            with case(f"{target} refuses"):
                with failing(girih.LaunchError):
                    kernel(np.zeros(2, np.int32))
                with failing(girih.LaunchError):
                    kernel(np.zeros(2, np.int32), 1, 2)
                with failing(girih.LaunchError):
                    kernel(np.zeros(2, np.float32), 1)
                kernel[0](np.zeros(2, np.int32), 1)
                assert capsys.readouterr().out == ""
            with case(f"{target} takes scalars of NumPy"):
                kernel(np.zeros(2, np.int32), np.array(7) - 6)
                assert capsys.readouterr().out == "(0,0,0): before 1\n"
            with case(f"{target} without an output"), monkeypatch.context() as patched:
                patched.setattr("sys.stdout", None)
                kernel(np.zeros(2, np.int32), 1)
            with case(f"{target} with a closed pipe"), monkeypatch.context() as patched:
                patched.setattr("sys.stdout", ClosedPipe())
                with failing(BrokenPipeError):
                    kernel(np.zeros(2, np.int32), 1)
                with pytest.raises(girih.KernelError) as raised:
                    kernel(np.zeros(2, np.int32), 2)
                assert [finding.code for finding in raised.value.findings] == ["run.out_of_bounds"]
                assert "could not be written: nobody reads" in raised.value.__notes__[0]
        with case("plain"), monkeypatch.context() as patched:
            patched.setattr(runtime, "launcher", lambda: None)
            girih.loads(FAILING, target="cpu")["failing"](np.zeros(2, np.int32), 1)
            assert capsys.readouterr().out == "(0,0,0): before 1\n"


def test_a_kernel_that_prints_nothing_has_no_memory_for_it() -> None:
    quiet = girih.loads(FAILING.replace('print "before", %n', ""), target="cpu")["failing"].llvm_ir
    assert "girih.print" not in quiet
    assert "girih.print" in girih.loads(FAILING, target="cpu")["failing"].llvm_ir


SHOWN: list[tuple[Number | Any, Any, str]] = [
    (F32, float(np.float32(0.1)), "0.1"), (F32, 16777216.0, "16777216.0"), (F32, float(np.float32(1e-45)), "1e-45"),
    (F32, float(np.float32(3.4028235e38)), "3.4028235e+38"), (F64, 0.1, "0.1"), (F64, -0.0, "-0.0"),
    (F64, 5e-324, "5e-324"), (F16, float(np.float16(0.1)), "0.1"), (F16, 65504.0, "65500.0"),
    (BF16, float(ml_dtypes.bfloat16(0.1)), "0.1"), (BF16, float(ml_dtypes.bfloat16(3.0e38)), "3e+38"),
    (F32, float("inf"), "inf"), (F16, float("-inf"), "-inf"), (BF16, float("nan"), "nan"), (F64, -float("nan"), "nan"),
    (C32, complex(np.complex64(0.1 + 2j)), "(0.1+2j)"), (C64, 0.1 - 0.5j, "(0.1-0.5j)"),
    (I8, -128, "-128"), (INDEX, 2**40, "1099511627776"), (BOOL, 1, "true"), (BOOL, False, "false"),
]  # fmt: skip


EVERY_TYPE = """
func @shows(%A: memref<TYPEx24x1>, %x: TYPE) attributes {subgroup_size=8, work_group_size=[8,1]} {
    %z = constant 0 : index
    %n = size %A[0] : index
    print "shared", %x
    foreach (%i)=(%z),(%n) {
        %a = load %A[%i,%z] : TYPE
        print "own", %a, %x
    }
    parallel {
        %m = cooperative_matrix_load %A[%z,%z] : coopmatrix<TYPEx24x1,matrix_b>
        print "part", %m, %x
    }
}
"""


@pytest.mark.long
def test_numbers_of_every_type_are_the_same_from_both_executors(capsys: pytest.CaptureFixture[str]) -> None:
    with every_case() as case:
        for name, type in NUMBERS.items():
            array = np.random.default_rng(7).bytes(24 * type.size)
            printed = []
            for target in ("interpreter", "cpu"):
                values = np.frombuffer(bytearray(array), DTYPES[type]).reshape(24, 1)
                girih.loads(EVERY_TYPE.replace("TYPE", name), target=target)["shows"](values, 1)
                printed.append(capsys.readouterr().out)
            with case(name):
                assert printed[0] == printed[1]
                assert all(number_text(type, values[k, 0].item()) in printed[1] for k in range(24))


def test_numbers_as_text() -> None:
    with every_case() as case:
        for type, value, text in SHOWN:
            with case(f"{type} {value}"):
                assert number_text(type, value) == text
    for dtype, type in ((np.float16, F16), (ml_dtypes.bfloat16, BF16)):
        every = np.arange(65536, dtype=np.uint16).view(dtype)
        for bits in range(0, 65536, 131):
            value = float(every[bits])
            if np.isfinite(value):
                assert every[bits] == dtype(float(number_text(type, value)))


def test_matrices_as_text() -> None:
    type = CoopMatrix(I8, 7, 2, Use.ACC, MatrixScope.SUBGROUP)
    shown = [[k, -k] for k in (0, 1, 2, 4, 5, 6)]
    assert matrix_text(type, shown) == (
        "coopmatrix<i8x7x2,matrix_acc> [[0, 0], [1, -1], [2, -2], ..., [4, -4], [5, -5], [6, -6]]"
    )
