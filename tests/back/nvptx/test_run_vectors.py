"""Every run vector of what the target compiles, as PTX on the machine that executes it."""

from __future__ import annotations

from functools import cache, partial
from pathlib import Path

import pytest

from girih.diagnostics import CompileError
from tests.back.nvptx.launch import PtxMachineKernel
from tests.back.run_vectors import run_on
from tests.cases import crossed, every_case
from tests.ops import corpus, vectors

UNSEEN = frozenset(("run.divergent",))
"""What a GPU cannot find: who does not come (docs/design/cuda.md). What else such a launch does is not said."""

REFUSED = {("subgroup_size", "size_64")}
"""Functions whose subgroups have more work-items than a warp has threads."""

PARTS = 3
"""Of how many parts of the functions `make test` takes one, of each file."""

WAYS = [(part, schedule) for schedule in ("together", "by_thread", "by_thread_reversed") for part in range(PARTS)]
"""Which functions of a file are executed, and which threads of a work-group first."""


@cache
def kernel(path: Path, name: str) -> PtxMachineKernel | None:
    """A kernel; None for one that the target refuses, as it must."""
    function = corpus.read(path).module.function(name)
    assert function is not None
    if (path.parent.name, name) not in REFUSED:
        return PtxMachineKernel(function)
    with pytest.raises(CompileError):
        PtxMachineKernel(function)
    return None


@pytest.mark.parametrize(("path", "way"), crossed(corpus.files("run.tl"), WAYS))
def test_run_vectors(path: Path, way: tuple[int, str]) -> None:
    """Those of some of the functions of a file."""
    launches = [(line, vectors.parse_vector(text)) for line, text in corpus.read(path).vectors]
    first, schedule = way
    names = list(dict.fromkeys(launch.function for _, launch in launches))
    chosen = names[first % len(names) :: PARTS] if names else []
    with every_case() as case:
        for line, launch in launches:
            with case(f"line {line}"):
                if launch.function in chosen:
                    _run(path, launch, schedule)


def _run(path: Path, launch: vectors.Launch, schedule: str = "together") -> None:
    one = kernel(path, launch.function)
    if one is None:
        return
    if not launch.expected.findings & UNSEEN:
        run_on(partial(one, schedule=schedule), one.function, path, launch)
