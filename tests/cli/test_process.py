"""The command as a process: exit status, pipes that close, interrupts, progress, and what it imports."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
import pytest

from girih import __version__
from girih.cli import EXIT_STATUS, Commands
from girih.commands.parts import progress
from girih.diagnostics import InternalError
from tests.cli.helpers import AXPBY, girih, write

Command = Callable[..., "subprocess.CompletedProcess[str]"]

GIRIH = (sys.executable, "-m", "girih")


def test_version_and_help() -> None:
    assert girih("--version").output == f"girih {__version__}\n"
    assert EXIT_STATUS in " ".join(girih("--help").output.split())
    for command in ("check", "run", "emit", "explain", "show"):
        done = girih(command, "--help")
        assert done.status == 0 and done.output.startswith(f"Usage: girih {command} ")


def test_check_imports_no_arrays_and_no_terminal_library(run_command: Command, tmp_path: Path) -> None:
    write(tmp_path, "func @f() {\n    foo\n}\n")
    program = """
import sys
from girih.cli import main
try:
    main(["check", "kernel.tl", "--format", "text"])
except SystemExit as end:
    assert end.code == 1
print({name.split(".")[0] for name in sys.modules} & {"numpy", "ml_dtypes", "rich", "llvmlite"})
"""
    done = run_command(sys.executable, "-c", program, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "set()", done.stdout


@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_a_closed_pipe_is_silent(repository: Path, tmp_path: Path) -> None:
    write(tmp_path, "func @f(%a: f32, %b: f64) {\n" + "%c = add %a, %b : f32\n" * 20_000 + "}\n")
    command = f"{sys.executable} -m girih check kernel.tl --format json | head -c 1"
    environment = os.environ | {"PYTHONPATH": str(repository)}
    done = subprocess.run(
        command, shell=True, cwd=tmp_path, env=environment, capture_output=True, timeout=120, check=False
    )
    assert (done.stdout, done.stderr) == (b"[", b"")


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_is_quiet(repository: Path) -> None:
    environment = os.environ | {"PYTHONPATH": str(repository), "PYTHONUNBUFFERED": "1"}
    # A shell lets what it starts in the background ignore interrupts; those who type one do not.
    listens = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen([*GIRIH, "check", "-"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, preexec_fn=listens) as process:  # fmt: skip
        assert process.stdin is not None
        process.stdin.write(b" " * 200_000)  # more than a pipe holds: the process is reading when this returns
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, output.strip(), errors.strip()) == (130, b"", b"")


@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (KeyboardInterrupt(), 130, ""),
        (MemoryError(), 1, "there is not enough memory for this"),
        (ZeroDivisionError("seven"), 1, "internal error: ZeroDivisionError: seven"),
        (InternalError("eight"), 1, "internal error: eight"),
    ],
)
def test_what_must_not_reach_a_user_raw(
    error: BaseException, status: int, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*arguments: object, **options: object) -> int:
        raise error

    monkeypatch.delenv("GIRIH_TRACEBACK", raising=False)
    monkeypatch.setattr("girih.commands.check.check_files", fail)
    done = girih("check", write(tmp_path, AXPBY))
    assert (done.status, done.output) == (status, "")
    assert message in done.errors and "Traceback" not in done.errors
    assert isinstance(Commands("girih"), click.Group)


def test_developers_may_see_the_traceback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fail(*arguments: object, **options: object) -> int:
        raise ZeroDivisionError("seven")

    monkeypatch.setenv("GIRIH_TRACEBACK", "1")
    monkeypatch.setattr("girih.commands.check.check_files", fail)
    with pytest.raises(ZeroDivisionError):
        girih("check", write(tmp_path, AXPBY))


def test_progress_is_shown_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.Bar("@f", patience=0) as bar:
        bar(1, 2)
        assert bar.bar is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress.Bar("@f", patience=3600) as bar:
        bar(1, 2)
        assert bar.bar is None
    monkeypatch.setenv("TERM", "xterm")
    with progress.Bar("@f", patience=-1) as bar:
        bar(1, 2)
        bar(2, 2)
        assert bar.bar is not None and bar.bar.tasks[0].completed == 2
    assert time.monotonic() > bar.begin
    assert capsys.readouterr().out == ""
