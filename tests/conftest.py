"""What all tests share: where the repository is, commands run as a user would, and golden files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import coverage
import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# No example fails for being slow: speed lives in benchmarks/.
settings.register_profile("girih", deadline=None)
settings.load_profile("girih")

UNMEASURED = ("tests/fuzz/", "tests/kernels/", "tests/programs/", "tests/test_docs.py")
"""Tests that are `unmeasured`: they run whole kernels, examples and random programs by the thousand, and tracing makes
that up to three times slower. Which lines are tested is for the tests to say that are meant for those lines."""

MEASURED = ("tests/kernels/test_library.py",)
"""What is measured all the same: it tests the functions around the kernels."""

PAUSED = pytest.StashKey[list[coverage.Coverage]]()
"""What measures coverage and has been paused, in the order in which it was."""

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Golden = Callable[[str, str], None]


def pytest_configure(config: pytest.Config) -> None:
    """The marks of this suite."""
    config.addinivalue_line("markers", "interpreter: needs what only the interpreter does, such as choices")
    config.addinivalue_line("markers", "unmeasured: coverage does not trace it, as it repeats what other tests reach")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what `UNMEASURED` names and `MEASURED` does not."""
    for item in items:
        if item.nodeid.startswith(UNMEASURED) and not item.nodeid.startswith(MEASURED):
            item.add_marker("unmeasured")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Coverage pauses before the first test that is not measured, and goes on before the next one that is."""
    paused = item.config.stash.setdefault(PAUSED, [])
    if item.get_closest_marker("unmeasured") is not None:
        # Processes of pytest-xdist have two, and where one stops the other goes on.
        while running := coverage.Coverage.current():
            running.stop()
            paused.append(running)
    while paused and item.get_closest_marker("unmeasured") is None:
        paused.pop().start()
    return (yield)


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder that `GIRIH_CACHE_DIR` names while the tests run: they never compile into the user's cache.

    The processes of one run share it, so that what tests have in common is compiled once.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "cache"
    folder.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIRIH_CACHE_DIR", str(folder))
        yield folder


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def run_command() -> Command:
    """`run_command(*arguments, cwd=..., timeout=...)`: a process that sees this tree's girih, and no terminal.

    Output is text; standard error goes into standard output. Coverage does not follow into the process, so that what
    it imports and how long it takes are its own.
    """

    def run(*arguments: str, cwd: Path = ROOT, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("COV_", "COVERAGE_"))}
        environment = kept | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "120", "PYTHONIOENCODING": "utf-8"}
        return subprocess.run(
            arguments,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )

    return run


@pytest.fixture(scope="session")
def golden() -> Golden:
    """`golden(name, text)`: text equals tests/golden/NAME; `make bless` writes the file instead."""

    def compare(name: str, text: str) -> None:
        path = ROOT / "tests" / "golden" / name
        if os.environ.get("GIRIH_BLESS") == "1":
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.exists(), f"{path} is missing; `make bless` writes it"
        assert text == path.read_text(encoding="utf-8"), f"differs from {path}; if that is meant, run `make bless`"

    return compare


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how much of the specification the rejected programs show, where the tests of instructions were asked for."""
    if not any("tests/ops/" in report.nodeid for report in terminalreporter.getreports("passed")):
        return
    from tests.ops.corpus import summary

    terminalreporter.write_line(summary())
