"""What all tests share: where the repository is, commands run as a user would, and golden files."""

from __future__ import annotations

import fcntl
import gc
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import compress
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage
from hypothesis import settings

from tests.gpu.presence import missing_for_cuda
from tests.lines import LineNotes

ROOT = Path(__file__).resolve().parent.parent

# No example fails for being slow: speed lives in benchmarks/.
settings.register_profile("girih", deadline=None)
settings.load_profile("girih")

NOTES = LineNotes("girih")
"""What knows which lines of girih are reached, where coverage measures."""

MEASURING = Coverage.current()
"""What reports these lines. It does not trace: lines note themselves, which takes a small part of the time."""

if MEASURING is not None:
    MEASURING.stop()
    sys.meta_path.insert(0, NOTES)

# Collecting makes many objects that stay: looking for cycles among them is a tenth of it.
gc.disable()

Command = Callable[..., "subprocess.CompletedProcess[str]"]
Golden = Callable[[str, str], None]


def pytest_configure(config: pytest.Config) -> None:
    """The marks of this suite."""
    config.addinivalue_line("markers", "long: `make test-long` runs it, `make test` does not")
    config.addinivalue_line("markers", "vulkan: needs a Vulkan driver; `make test-vulkan` runs these alone")
    config.addinivalue_line("markers", "cuda: needs an NVIDIA GPU; `make test-gpu` runs these, each file in a process")
    config.addinivalue_line("markers", "interpreter: needs what only the interpreter does, such as choices")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The targets that tests of kernels and programs run on."""
    parser.addoption("--targets", default="interpreter,cpu", help="what tests of kernels and programs run on")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what needs an NVIDIA GPU on a machine that has none."""
    if item.get_closest_marker("cuda") is not None:
        missing = missing_for_cuda()
        if missing:
            pytest.skip(missing)


@contextmanager
def alone(place: Path) -> Iterator[None]:
    """Of the processes that share the tests one at a time is within it, for the same file."""
    with place.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makemodule(module_path: Path) -> Generator[None, Any, object]:
    """A test module that has changed is compiled by one process."""
    module = yield
    if not is_compiled(module_path):
        # An import that fails is forgotten: pytest tries it again where it looks into the module, and reports it.
        with alone(module_path):
            before = set(sys.modules)
            try:
                _ = None if is_compiled(module_path) else module.obj
            except (Exception, pytest.Collector.CollectError):
                for name in set(sys.modules) - before:
                    if getattr(sys.modules[name], "__file__", None) == str(module_path):
                        del sys.modules[name]
    return module


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector: pytest.Collector, obj: object) -> list[pytest.Item] | None:
    """Values of parameters that are marked `long` become no tests where these are not run.

    Each of the processes that share the tests would make them all, and then put them aside.
    """
    marks = getattr(obj, "pytestmark", None)
    if collector.config.option.markexpr != "not long" or not callable(obj) or not marks:
        return None
    if any(mark.name == "long" for mark in marks):
        return []
    shorter = [without_long(mark) if mark.name == "parametrize" else mark for mark in marks]
    vars(obj)["pytestmark"] = shorter
    return [] if any(mark.name == "parametrize" and not mark.args[1] for mark in shorter) else None


def without_long(mark: pytest.Mark) -> pytest.Mark:
    """A mark of parameters without the values that are marked `long`, and without their names."""
    names, values, *others = mark.args
    values = list(values)
    stays = [not any(one.name == "long" for one in getattr(value, "marks", ())) for value in values]
    options = dict(mark.kwargs)
    if isinstance(options.get("ids"), Sequence):
        options["ids"] = list(compress(options["ids"], stays))
    return pytest.mark.parametrize(names, list(compress(values, stays)), *others, **options).mark


def is_compiled(path: Path) -> bool:
    """Whether pytest has kept the code of a test module as it is now."""
    kept = path.parent.glob(f"__pycache__/{path.stem}.{sys.implementation.cache_tag}-pytest-*.pyc")
    return any(one.stat().st_mtime > path.stat().st_mtime for one in kept)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems() -> Generator[None, object, object]:
    """The constants of girih, which hypothesis tries as examples, are found by one process, and kept for the others."""
    if (ROOT / ".hypothesis" / "constants").exists():
        return (yield)
    with alone(Path(__file__)):
        return (yield)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtestloop() -> Generator[None, object, object]:
    """After the tests coverage is told which lines they reached."""
    # What collecting left stays to the end: looking through it takes longer than a test.
    gc.freeze()
    gc.enable()
    try:
        return (yield)
    finally:
        if MEASURING is not None:
            MEASURING.get_data().add_lines(NOTES.reached())


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
