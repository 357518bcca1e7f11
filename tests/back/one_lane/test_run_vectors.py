"""Every run vector of what the one-lane machine executes: what lowerings for GPUs share, without a GPU."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from girih.ir.core import Function
from girih.ops.tile import TILE_LANGUAGE
from tests.back.harness import Failed
from tests.back.one_lane.launch import OneLaneKernel
from tests.back.one_lane.machine import LOWERINGS
from tests.cases import crossed, every_case
from tests.ops import corpus, vectors

UNCHECKED = frozenset(("run.uninitialized", "run.lifetime", "run.budget"))
"""What compiled code does not find; see docs/targets.md."""

NOT_FOUND = {("cooperative_matrix_store_tensor", name) for name in ("aliasing", "blocks", "span")}
"""Functions that store several components to one element, which only the interpreter finds."""


@cache
def kernel(path: Path, name: str) -> OneLaneKernel:
    function = corpus.read(path).module.function(name)
    assert function is not None
    return OneLaneKernel(function)


def is_refused(function: Function) -> bool:
    return next(LOWERINGS.refusals(function), None) is not None


@cache
def runs(path: Path, name: str) -> bool:
    function = corpus.read(path).module.function(name)
    return function is not None and not is_refused(function)


@pytest.mark.parametrize(("path", "first"), crossed(corpus.files("run.tl"), range(6)))
def test_run_vectors(path: Path, first: int) -> None:
    """Those of every sixth function of a file."""
    launches = [(line, vectors.parse_vector(text)) for line, text in corpus.read(path).vectors]
    names = list(dict.fromkeys(launch.function for _, launch in launches if runs(path, launch.function)))
    chosen = names[first % len(names) :: 6] if names else []
    with every_case() as case:
        for line, launch in launches:
            with case(f"line {line}"):
                if launch.function in chosen:
                    run_on(kernel(path, launch.function), path, launch)


def run_on(one: OneLaneKernel, path: Path, launch: vectors.Launch) -> None:
    """Run a vector of a file on a kernel, and look at what it must find or write."""
    marked = vectors.bind(one.function, launch.arguments)
    arguments = [value if hasattr(value, "offset") else vectors.unmark(value) for value in marked]
    x, y, z = (*launch.grid, 1, 1)[:3]
    wrong = launch.expected.findings - UNCHECKED
    if wrong and (path.parent.name, launch.function) in NOT_FOUND:
        return
    if wrong:
        with pytest.raises(Failed) as raised:
            one((x, y, z), *arguments)
        assert {raised.value.code} == wrong
        return
    one((x, y, z), *arguments)
    types = {p.name: (p.type, a) for p, a in zip(one.function.parameters, marked, strict=True)}
    for name, wanted in launch.expected.arrays.items():
        type, held = types[name]
        told = vectors.difference(type, vectors.unmark(held), wanted, launch.expected)
        assert told is None, f"{launch.function}: {name}: {told}"


def test_what_is_refused_is_output() -> None:
    run = {op.spec.mnemonic for path in corpus.files("run.tl") for f in corpus.read(path).module.functions
           if not is_refused(f) for op in f.walk()}  # fmt: skip
    refused = set(TILE_LANGUAGE.ops) - run
    assert refused == {"print"}
