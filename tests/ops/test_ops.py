"""Every program of the corpus is accepted, rejected or run as its files say, on every executor."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import girih
from girih.api import Kernel, Program
from girih.diagnostics import errors, render_all
from girih.program import parse
from tests.ops import corpus, vectors

Executor = Callable[[Path, str, tuple[int, ...], list[object]], None]


@cache
def program(path: Path, target: str) -> Program:
    """A file of the corpus, compiled for a target."""
    return girih.loads(corpus.read(path).text, target=target, filename=str(path.relative_to(corpus.FOLDER)))


def interpreter(seed: int | None) -> Executor:
    """The interpreter with one way of choosing what the language leaves open."""

    def run(path: Path, name: str, grid: tuple[int, ...], arguments: list[object]) -> None:
        kernel: Kernel = program(path, "interpreter")[name][grid]
        kernel(*arguments, choices=girih.Choices(seed), max_steps=1_000_000)

    return run


EXECUTORS: dict[str, Executor] = {
    "interpreter": interpreter(None),
    "interpreter-other-choices": interpreter(20),
}
"""Who runs the vectors; an executor takes the file, the function, the grid and the arguments."""


def named(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def all_vectors() -> list[object]:
    found: list[object] = []
    for path in corpus.files("run.tl"):
        for line, text in corpus.read(path).vectors:
            found.append(pytest.param(path, text, id=f"{path.parent.name}:{line}"))
    return found


@pytest.mark.parametrize("path", corpus.files("ok.tl") + corpus.files("run.tl"), ids=named)
def test_accepted(path: Path) -> None:
    wrong = errors(corpus.read(path).diagnostics)
    assert not wrong, render_all(wrong)


@pytest.mark.parametrize("path", corpus.files("ok.tl") + corpus.files("run.tl"), ids=named)
def test_printed_text_reads_back(path: Path) -> None:
    module = corpus.read(path).module
    printed = str(module)
    assert parse(printed) == module, printed
    assert str(parse(printed)) == printed


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


@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS.keys())
@pytest.mark.parametrize(("path", "text"), all_vectors())
def test_run(path: Path, text: str, executor: Executor) -> None:
    launch = vectors.parse_vector(text)
    function = corpus.read(path).module.function(launch.function)
    assert function is not None, f"there is no @{launch.function}"
    arguments = vectors.bind(function, launch.arguments)
    if launch.expected.findings:
        before = [vectors.copied(a) for a in arguments]
        with pytest.raises(girih.KernelError) as raised:
            executor(path, launch.function, launch.grid, arguments)
        assert {f.code for f in raised.value.findings} == launch.expected.findings, str(raised.value)
        assert vectors.same_contents(before, [vectors.unmark(a) for a in arguments])
        return
    executor(path, launch.function, launch.grid, arguments)
    types = {p.name: (p.type, a) for p, a in zip(function.parameters, arguments, strict=True)}
    for name, wanted in launch.expected.arrays.items():
        type, held = types[name]
        told = vectors.difference(type, vectors.unmark(held), wanted, launch.expected)
        assert told is None, f"{name}: {told}"
