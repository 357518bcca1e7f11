"""The exit status of every command, and what is said of files and of output that cannot be used."""

from __future__ import annotations

import errno
import io
import sys
from pathlib import Path

import pytest

from girih.cli import main
from girih.spirv.frame import completed
from tests.cli.helpers import AXPBY, girih, write

RUN = ("run", "kernel.tl", "axpby", "alpha=1", "A=ones:f32:2", "beta=0", "B=ones:f32:2")
STRIDED = ("address", "strided", "--shape", "4,4", "--strides", "1,4")
ABSENT = "there is no such file"
NOWHERE = "there is no such folder"

STATUSES: list[tuple[tuple[str, ...], int, str]] = [
    (("check", "kernel.tl"), 0, ""),
    (("check", "wrong.tl"), 1, ""),
    (("check", "missing.tl"), 1, ABSENT),
    (("check", "kernel.tl", "missing.tl"), 1, ABSENT),
    (("check", "."), 1, "it is a directory"),
    (("check", "kernel.tl/no.tl"), 1, "a part of the path is not a folder"),
    (("check",), 2, "Missing argument"),
    (("check", "--no"), 2, "No such option"),
    (RUN, 0, ""),
    (("run", "wrong.tl", "f"), 1, ""),
    (("run", "missing.tl", "f"), 1, ABSENT),
    ((*RUN[:-1], "B=missing.npy"), 1, ABSENT),
    ((*RUN, "--save", "B=nowhere/b.npy"), 1, "there is no folder"),
    ((*RUN, "--save", "B=folder.npy"), 1, "is a directory"),
    ((*RUN, "--save", "B=b.txt"), 2, "does not end in .npy"),
    (("run", "kernel.tl", "axpbi"), 2, "did you mean 'axpby'"),
    (("fmt", "--diff", "kernel.tl"), 0, ""),
    (("fmt", "wrong.tl"), 1, ""),
    (("fmt", "missing.tl"), 1, ABSENT),
    (("fmt",), 2, "Missing argument"),
    (("emit", "kernel.tl", "--as", "ir"), 0, ""),
    (("emit", "wrong.tl", "--as", "ir"), 1, ""),
    (("emit", "missing.tl", "--as", "ir"), 1, ABSENT),
    (("emit", "kernel.tl", "--as", "ir", "-o", "nowhere/a.tl"), 1, NOWHERE),
    (("emit", "kernel.tl"), 2, "Missing option"),
    (("show", "kernel.tl"), 0, ""),
    (("show", "wrong.tl"), 1, ""),
    (("show", "missing.tl"), 1, ABSENT),
    (("show", "kernel.tl", "-o", "nowhere/a.svg"), 1, NOWHERE),
    (("show", "kernel.tl", "axpbi"), 2, "did you mean 'axpby'"),
    (("explain", "axpby"), 0, ""),
    (("explain", "axpbi"), 2, "did you mean 'axpby'"),
    (("kernels",), 0, ""),
    (("kernels", "softmx"), 2, "did you mean 'softmax'"),
    (("targets",), 0, ""),
    (("targets", "cpo"), 2, "the targets are interpreter, cpu"),
    (STRIDED, 0, ""),
    ((*STRIDED[:-1], "1,x"), 2, "expected integers"),
    (("address", "strided", "--from", "missing.json"), 1, ABSENT),
    (("address", "strided", "--from", "kernel.tl"), 1, ""),
    (("address", "tensor-map", "--paste", "missing.txt"), 1, ABSENT),
    ((*STRIDED, "--draw", "nowhere/a.svg"), 1, "cannot be written"),
    ((*STRIDED, "--draw", "a.gif"), 2, "a picture ends in"),
    (("spirv", "check", "module.spvasm"), 0, ""),
    (("spirv", "check", "wrong.spvasm"), 1, ""),
    (("spirv", "check", "missing.spv"), 1, ABSENT),
    (("spirv", "check", "."), 1, "it is a directory"),
    (("spirv", "check", "-", "-"), 2, "can be read once only"),
    (("spirv", "check", "module.spvasm", "--environment", "vulkan9"), 2, "'vulkan9' is not one of"),
    (("spirv", "info", "missing.spv"), 1, ABSENT),
    (("spirv", "dis", "module.spvasm", "-o", "nowhere/a.spvasm"), 1, NOWHERE),
    (("spirv", "dis", "module.spvasm", "-o", "."), 1, "it is a directory"),
    (("spirv", "as", "-"), 2, "-o says where to write"),
    (("spirv", "as", "module.spvasm", "-o", "nowhere/a.spv"), 1, NOWHERE),
    (("spirv", "specialise", "module.spvasm", "-D", "3"), 2, "'3' is not NAME=VALUE"),
    (("spirv", "chek"), 2, "Did you mean 'check'"),
    (("explain", "spirv.OpLaod"), 2, "did you mean 'OpLoad'"),
    (("bench", "kernel.tl", "axpby", "--plot", "nowhere/a.svg"), 1, NOWHERE),
    (("bench", "sofmax"), 2, "did you mean 'softmax'"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path, AXPBY)
    write(tmp_path, "func", "wrong.tl")
    write(tmp_path, completed("OpReturn"), "module.spvasm")
    write(tmp_path, "OpFoo", "wrong.spvasm")
    (tmp_path / "folder.npy").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_keeps_the_rule(folder: Path) -> None:
    for call, status, message in STATUSES:
        done = girih(*call)
        assert done.status == status, (call, done)
        assert message in done.message if message else "internal error" not in done.errors, (call, done)


def test_every_command_has_its_rows() -> None:
    assert {call[0] for call, _, _ in STATUSES} == set(main.commands)


class _Full(io.StringIO):
    """A stream to a full disk."""

    def write(self, text: str, /) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("call", [("--help",), ("kernels",), ("check", "kernel.tl"), RUN], ids=lambda call: call[0])
def test_a_full_disk(call: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch,
                     capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.setattr(sys, "stdout", _Full())
    with pytest.raises(SystemExit) as ended:
        main.main(list(call), prog_name="girih")
    assert ended.value.code == 1
    assert capsys.readouterr().err == "Error: the output cannot be written: No space left on device\n"


def test_nothing_can_be_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", _Full())
    monkeypatch.setattr(sys, "stderr", _Full())
    with pytest.raises(SystemExit) as ended:
        main.main(["check", "missing.tl"], prog_name="girih")
    assert ended.value.code == 1


def test_standard_input_that_is_closed(folder: Path, monkeypatch: pytest.MonkeyPatch,
                                       capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    monkeypatch.setattr(sys, "stdin", None)
    for call in (["check", "-"], ["address", "strided", "--from", "-"]):
        with pytest.raises(SystemExit) as ended:
            main.main(call, prog_name="girih")
        assert ended.value.code == 1
        assert capsys.readouterr().err == "Error: standard input: it is closed\n"
