"""Every program of the corpus is accepted, rejected or run as its files say, on every executor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

import girih
from girih.api import Kernel, compile_module
from girih.back.llvm.assemble.assembler import Cpu
from girih.diagnostics import errors, render_all
from girih.ir.core import Module
from tests.cases import every_case
from tests.ops import corpus, vectors

Run = Callable[[Path, str, tuple[int, ...], list[object]], None]

UNCHECKED = frozenset(("run.uninitialized", "run.lifetime", "run.budget"))
"""What compiled code does not find; see docs/targets.md."""

UNSEEN = {
    ("barrier", "subgroups"),
    ("cooperative_matrix_load", "some"),
    *(("cooperative_matrix_store_tensor", name) for name in ("aliasing", "blocks", "span")),
    *((f"cooperative_matrix_{name}_tensor", "subgroups_differ") for name in ("load", "store")),
    *(
        (f"cooperative_matrix_{name}", "work_group")
        for name in ("apply", "construct", "load", "load_blocked_interleaved", "scale", "store")
    ),
}
"""Functions whose finding compiled code does not make: subgroups of a work-group that do not reach a barrier or an
instruction on a matrix of the work-group, or reach it with other operands; components of a matrix that are stored to
one element; see docs/targets.md."""


@dataclass(frozen=True, slots=True)
class Executor:
    """Who runs the vectors: `run` takes the file, the function, the grid and the arguments.

    `finds` says whether there are findings at all, `unchecked` which are never made, and `restores` whether arrays are
    as before the launch after a finding.
    `finding` says which functions it runs: those of which a vector finds something, the others, or, as None, all.
    """

    run: Run
    finds: bool = True
    unchecked: frozenset[str] = frozenset()
    restores: bool = True
    finding: bool | None = None

    def functions(self, path: Path) -> set[str]:
        """The functions of a file that it runs."""
        every, finding = corpus.functions_run(path), corpus.functions_that_find(path)
        return every if self.finding is None else finding if self.finding else every - finding


@cache
def kernel(path: Path, name: str, target: str, checks: str = "bounds") -> Kernel:
    """A function of the corpus, compiled for a target: alone, and from the module that all executors share."""
    function = corpus.read(path).module.function(name)
    assert function is not None, f"there is no @{name}"
    return compile_module(Module((function,)), target, checks=checks)[name]


def interpreter(seed: int | None) -> Executor:
    """The interpreter with one way of choosing what the language leaves open."""

    def run(path: Path, name: str, grid: tuple[int, ...], arguments: list[object]) -> None:
        launched: Kernel = kernel(path, name, "interpreter")[grid]
        launched.options(choices=girih.Choices(seed), max_steps=1_000_000)(*arguments)

    return Executor(run)


def cpu(checks: str) -> Run:
    """Machine code for this processor."""

    def run(path: Path, name: str, grid: tuple[int, ...], arguments: list[object]) -> None:
        kernel(path, name, "cpu", checks)[grid](*arguments)

    return run


def cpu_named(processor: str) -> Run:
    """Machine code for a processor by name, on a machine that has its features."""

    def run(path: Path, name: str, grid: tuple[int, ...], arguments: list[object]) -> None:
        lacking = Cpu.named(processor).missing_on(Cpu.host())
        if lacking:
            pytest.skip(f"this machine lacks {', '.join(lacking)}")
        kernel(path, name, f"cpu:{processor}")[grid](*arguments)

    return run


EXECUTORS: dict[str, Executor] = {
    "interpreter": interpreter(None),
    "interpreter-other-choices": interpreter(20),
    "cpu": Executor(cpu("bounds"), unchecked=UNCHECKED, restores=False),
    "cpu-unchecked": Executor(cpu("off"), finds=False, finding=True),
    "cpu-unchecked-others": Executor(cpu("off"), finds=False, finding=False),
}
"""Who runs the vectors."""

PROCESSORS = ("x86-64", "x86-64-v2", "haswell", "skylake-avx512")
"""Processors with SSE2, with SSE4, with AVX2 and with AVX-512."""

EXECUTORS_BY_NAME = {
    f"cpu:{name}": Executor(cpu_named(name), unchecked=UNCHECKED, restores=False) for name in PROCESSORS
}


def named(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def says_something(path: Path, launch: vectors.Launch, executor: Executor) -> bool:
    """Whether an executor can tell that a vector is wrong."""
    unseen = (path.parent.name, launch.function) in UNSEEN and not executor.restores
    return not launch.expected.findings or (executor.finds and not unseen)


def files_and_executors() -> list[object]:
    """Each file with vectors on each executor."""
    # The executor is the outer loop, so that processes which share the tests seldom compile the same file.
    return [
        pytest.param(path, executor, id=f"{path.parent.name}-{name}", marks=marks_of(executor, place))
        for name, executor in (EXECUTORS | EXECUTORS_BY_NAME).items()
        for place, path in enumerate(corpus.files("run.tl"))
        if executor.functions(path)
    ]


def marks_of(executor: Executor, place: int) -> list[pytest.MarkDecorator]:
    """Without checks a function that finds nothing is as with them, but for its loads and stores.

    Every third file runs with other choices than the usual ones, and without checks, in `make test` too.
    """
    other = executor in (EXECUTORS["interpreter-other-choices"], EXECUTORS["cpu-unchecked"]) and place % 3 != 0
    by_name = executor in EXECUTORS_BY_NAME.values()
    return [pytest.mark.long] if executor.finding is False or other or by_name else []


@pytest.mark.parametrize("path", corpus.files("ok.tl") + corpus.files("run.tl"), ids=named)
def test_accepted(path: Path) -> None:
    wrong = errors(corpus.read(path).diagnostics)
    assert not wrong, render_all(wrong)


@pytest.mark.parametrize("path", corpus.files("bad.tl"), ids=named)
def test_rejected(path: Path) -> None:
    file = corpus.read(path)
    assert file.marked, "a rejected program has a guilty line"
    assert file.problems == file.marked, render_all(file.diagnostics)


@pytest.mark.parametrize("path", corpus.files("bad.tl"), ids=named)
def test_diagnostics_render(path: Path) -> None:
    for diagnostic in corpus.read(path).diagnostics:
        shown = str(diagnostic)
        assert diagnostic.code in shown
        assert f"{named(path)}:{diagnostic.span.line}:" in shown


@pytest.mark.parametrize(("path", "executor"), files_and_executors())
def test_run(path: Path, executor: Executor) -> None:
    functions = executor.functions(path)
    with every_case() as case:
        for line, text in corpus.read(path).vectors:
            with case(f"{named(path)}:{line}"):
                launch = vectors.parse_vector(text)
                if launch.function in functions and says_something(path, launch, executor):
                    run(path, launch, executor)


def run(path: Path, launch: vectors.Launch, executor: Executor) -> None:
    """Run a vector and look at what came."""
    function = corpus.read(path).module.function(launch.function)
    assert function is not None, f"there is no @{launch.function}"
    arguments = vectors.bind(function, launch.arguments)
    wrong = launch.expected.findings - executor.unchecked
    if wrong:
        before = [vectors.copied(a) for a in arguments]
        with pytest.raises(girih.KernelError) as raised:
            executor.run(path, launch.function, launch.grid, arguments)
        assert {f.code for f in raised.value.findings} == wrong, str(raised.value)
        assert not executor.restores or vectors.same_contents(before, [vectors.unmark(a) for a in arguments])
        return
    executor.run(path, launch.function, launch.grid, arguments)
    vectors.assert_results(function, arguments, launch)
