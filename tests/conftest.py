"""What all tests share: where the repository is, commands run as a user would, and golden files."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from _pytest.nodes import Node
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

# No example fails for being slow: speed lives in benchmarks/.
settings.register_profile("girih", deadline=None)
settings.load_profile("girih")

UNMEASURED = (
    "tests/bugs/",
    "tests/fuzz/",
    "tests/kernels/",
    "tests/programs/",
    "tests/test_docs.py",
    "tests/test_layers.py",
)
"""Tests that are not measured: they run whole kernels, examples and random programs by the thousand, and tracing makes
that up to three times slower. Which lines are tested is for the tests to say that are meant for those lines."""

MEASURED = ("tests/kernels/test_library.py",)
"""What is measured all the same: it tests the functions around the kernels."""

TRACER = pytest.StashKey[Any]()
"""What coverage traces lines with, while it does not: None where nothing is measured."""

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Golden = Callable[[str, str], None]


def pytest_configure(config: pytest.Config) -> None:
    """The marks of this suite."""
    config.addinivalue_line("markers", "long: `make test-long` runs it, `make test` does not")
    config.addinivalue_line("markers", "interpreter: needs what only the interpreter does, such as choices")
    config.addinivalue_line("markers", "unmeasured: coverage does not trace it, as it repeats what other tests reach")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Of collecting only imports of test modules are traced, which import girih."""
    session.config.stash[TRACER] = tracer = sys.gettrace()
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makemodule(parent: pytest.Collector) -> Generator[None, Any, object]:
    """A test module is imported here, and not when pytest first looks into it."""
    module = yield
    sys.settrace(parent.config.stash[TRACER])
    try:
        # An import that fails is tried again, and reported, where pytest looks into the module.
        with suppress(Exception, pytest.Collector.CollectError):
            _ = module.obj
    finally:
        sys.settrace(None)
    return module


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Between tests nothing is traced: pytest and its plugins call more functions than most tests do."""
    # What collecting left stays to the end: looking through it takes longer than a test.
    gc.freeze()
    session.config.stash[TRACER] = tracer = sys.gettrace()
    sys.settrace(None)
    try:
        return (yield)
    finally:
        sys.settrace(tracer)


def is_measured(node: Node) -> bool:
    """Whether a test, or what fixtures are made for, is traced."""
    left_out = node.nodeid.startswith(UNMEASURED) and not node.nodeid.startswith(MEASURED)
    return not left_out and node.get_closest_marker("unmeasured") is None


@contextmanager
def traced(node: Node) -> Iterator[None]:
    """Within it coverage traces lines, if the node is measured."""
    outside = sys.gettrace()
    sys.settrace(node.config.stash[TRACER] if is_measured(node) else None)
    try:
        yield
    finally:
        sys.settrace(outside)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """A test is traced while it runs."""
    with traced(pyfuncitem):
        return (yield)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_fixture_setup(request: pytest.FixtureRequest) -> Generator[None, object, object]:
    """A fixture is traced while it is made."""
    with traced(request.node):
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
