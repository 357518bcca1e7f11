"""Every run vector with matrices, whose subgroups are made warps: on fragments, with a model of `mma`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from girih.ir.core import Function
from girih.ir.types import CoopMatrix
from girih.ops.tile.coopmatrix import CooperativeMatrixExtract, CooperativeMatrixInsert
from tests.back.nvptx.fragment_machine import FragmentKernel
from tests.back.one_lane.test_run_vectors import is_refused
from tests.back.run_vectors import run_on
from tests.cases import crossed, every_case
from tests.ops import corpus, vectors

OF_SUBGROUPS = "divergent"
"""The functions of this name do what they do for work-items of subgroups of another size."""


def has_fragments(function: Function) -> bool:
    """Whether a function has matrices of subgroups, and does not depend on how many work-items hold them."""
    ops = list(function.walk())
    types = [value.type for op in ops for value in (*op.operands, *op.results) if isinstance(value.type, CoopMatrix)]
    numbered = any(isinstance(op, CooperativeMatrixExtract | CooperativeMatrixInsert) for op in ops)
    return bool(types) and not numbered


@cache
def kernel(path: Path, name: str) -> FragmentKernel:
    function = corpus.read(path).module.function(name)
    assert function is not None
    return FragmentKernel(function, widened=True)


@cache
def names(path: Path) -> tuple[str, ...]:
    functions = corpus.read(path).module.functions
    suitable = (one for one in functions if has_fragments(one) and not is_refused(one))
    return tuple(one.name for one in suitable if one.name != OF_SUBGROUPS)


FILES = [path for path in corpus.files("run.tl") if names(path)]


@pytest.mark.parametrize(("path", "first"), crossed(FILES, range(4)))
def test_run_vectors(path: Path, first: int) -> None:
    """Those of every fourth function of a file."""
    chosen = names(path)[first::4]
    with every_case() as case:
        for line, text in corpus.read(path).vectors:
            launch = vectors.parse_vector(text)
            if launch.function in chosen:
                with case(f"line {line}"):
                    one = kernel(path, launch.function)
                    run_on(one, one.function, path, launch)


def test_most_matrices_are_fragments() -> None:
    """Of all functions, those with complex numbers are the only ones whose matrices are arrays."""
    for path in FILES[::5]:
        for name in names(path):
            for remark in kernel(path, name).remarks.diagnostics():
                assert remark.code == "cuda.flat" or "complex" in remark.message
