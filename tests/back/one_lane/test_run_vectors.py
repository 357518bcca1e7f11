"""Every run vector of what the one-lane machine executes: what lowerings for GPUs share, without a GPU."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from girih.ir.core import Function
from girih.ops.tile import TILE_LANGUAGE
from tests.back.one_lane.launch import OneLaneKernel
from tests.back.one_lane.machine import LOWERINGS
from tests.back.run_vectors import run_on
from tests.cases import crossed, every_case
from tests.ops import corpus, vectors


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
                    one = kernel(path, launch.function)
                    run_on(one, one.function, path, launch)


def test_what_is_refused_is_output() -> None:
    run = {op.spec.mnemonic for path in corpus.files("run.tl") for f in corpus.read(path).module.functions
           if not is_refused(f) for op in f.walk()}  # fmt: skip
    refused = set(TILE_LANGUAGE.ops) - run
    assert refused == {"print"}
