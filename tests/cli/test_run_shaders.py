"""`girih run` on shaders: buffers by set and binding, push constants, what a driver wrote; and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.cases import every_case
from tests.cli.helpers import girih, write

OWN = Path(__file__).resolve().parents[1] / "data" / "spirv" / "own"
RUN = ("run", "scale.spvasm", "0:0=a.npy", "0:1=zeros:f32:4")
PUSH = ("--push", "i32:3,f32:0.5")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("scale.spvasm", "scale.comp"):
        shutil.copy(OWN / name, tmp_path)
    np.save(tmp_path / "a.npy", np.arange(4, dtype=np.float32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_shader_runs_on_files_and_made_arrays(folder: Path) -> None:
    done = girih(*RUN, *PUSH, "-D", "3=64", "-D", "BIAS=1", "--save", "d=out.npy")
    assert (done.status, done.errors) == (0, "")
    assert done.output.splitlines()[1:] == [
        "  set 0, binding 0 (`a`): float32 4, unchanged",
        "  set 0, binding 1 (`d`): float32 4, changed",
        "saved d to out.npy",
    ]
    assert np.load("out.npy").tolist() == [1, 1.5, 2, 0]
    (folder / "raw.bin").write_bytes(np.load("a.npy").tobytes())
    again = girih("run", "scale.spvasm", "main", "a=raw.bin", "d=uninitialized:u32:4", "--push", "n=4,alpha=0x1p1",
                  "--grid", "1", "--format", "json")  # fmt: skip
    assert again.status == 0 and [one["changed"] for one in again.json["summary"]["buffers"]] == [False, True]


def test_what_a_driver_wrote_is_compared(folder: Path) -> None:
    np.save("same.npy", np.array([0, 0.5, 1, 0], np.float32))
    near = np.array([-0.0, np.nextafter(np.float32(0.5), np.float32(1)), 1, 0], np.float32)
    np.save("near.npy", near)
    np.save("other.npy", near.view(np.int32))
    np.save("short.npy", near[:3])
    told = girih(*RUN, *PUSH, "--expect", "0:1=same.npy")
    assert (told.status, told.output.splitlines()[-1]) == (0, "0:1: equal to same.npy, 4 elements")
    beyond = girih(*RUN, *PUSH, "--expect", "d=near.npy")
    assert (beyond.status, beyond.output.splitlines()[-4:]) == (1, [
        "d: differs from near.npy: 2 of 4 elements differ: 1 signed zero, 1 by up to 1 ulp, beyond the 0 allowed",
        "  [0] ours 0.0, theirs -0.0: signed zero",
        "  [1] ours 0.5, theirs 0.50000006: ulps, 1",
        "  covered by nothing: 1 of the 1 differing element: a bug of the driver, or a race",
    ])  # fmt: skip
    assert girih(*RUN, *PUSH, "--expect", "d=near.npy", "--ulps", "1").status == 0
    whole = girih(
        *RUN, *PUSH, "--expect", "d=other.npy", "--expect", "0:1=short.npy", "--format", "json", "--seeds", "0"
    )
    first, second = whole.json["expected"]
    assert whole.status == 1 and first["differences"] == {"different": 2}
    assert second["problem"] == "it has 16 bytes, and short.npy has 12" and not second["agrees"]


def test_findings_and_refusals_have_the_usual_exit_status(folder: Path) -> None:
    small = girih("run", "scale.spvasm", "0:0=a.npy", "0:1=zeros:f32:2", *PUSH, "--save", "0:1=no.npy")
    assert small.status == 1 and "finding[run.out_of_bounds]" in small.output and not (folder / "no.npy").exists()
    assert "scale.comp:12:9" in small.output
    missing = girih("run", "scale.spvasm", "0:0=a.npy", *PUSH)
    assert missing.status == 1 and "error[bind.binding_missing]" in missing.output
    wrong = girih("run", "scale.spvasm", "-D", "9=1")
    assert wrong.status == 1 and "error[spirv.definition.unknown]" in wrong.output
    write(folder, "func @f() {\n}\n", "f.tl")
    with every_case() as case:
        for arguments, says in (
            (("scale.spvasm", "mian"), "there is no entry point 'mian'; did you mean 'main'?"),
            (("scale.spvasm", "0:7=a.npy"), "there is no buffer '0:7'"),
            (("scale.spvasm", "values=a.npy"), "values is the name of 0:0 and 0:1: write one of these"),
            (("scale.spvasm", "0:0=zeros"), "the block ends with an array whose size is open"),
            (("scale.spvasm", "0:0=zeros:f31:4"), "there is no type 'f31'"),
            (("scale.spvasm", "0:0=5"), "expected: FILE.npy, FILE.bin"),
            ((*RUN[1:], "--push", "i32:x"), "--push: expected: values with types side by side"),
            ((*RUN[1:], "--push", "n=1,f32:2"), "names for all values, or types for all"),
            ((*RUN[1:], "--push", "u8:256"), "expected: an integer from 0 to 255"),
            ((*RUN[1:], "--save", "0:1=out.txt"), "does not end in .npy"),
            (("f.tl",), "Missing argument 'FUNCTION'"),
            (("f.tl", "f", "--push", "i32:1"), "--push is for shaders; f.tl is a program"),
        ):
            with case(" ".join(arguments)):
                done = girih("run", *arguments)
                assert done.status == 2 and says in done.errors


def test_other_commands_take_shaders(folder: Path) -> None:
    emitted = girih("emit", "scale.spvasm", "--as", "ir", "-D", "3=8")
    assert emitted.status == 0 and "func @main(%a: memref<i8x?>, %d: memref<i8x?>, %push" in emitted.output
    assert "work_group_size=[8, 1]" in emitted.output
    shown = girih("show", "scale.spvasm")
    assert shown.status == 0 and "%d: memref<i8x?>" in shown.output
    refused = girih("fmt", "scale.spvasm")
    assert refused.status == 1 and "error[syntax.module]" in refused.errors
    assert girih("emit", "scale.spvasm", "--as", "ir", "-D", "9=1").status == 1
    assert "set 0, binding 1: d" in girih("spirv", "info", "scale.spvasm").output
