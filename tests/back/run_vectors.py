"""Run vectors on the machines of these tests, which execute code that is made for one work-item."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from girih.ir.core import Function
from tests.back.harness import Failed
from tests.ops import vectors

UNCHECKED = frozenset(("run.uninitialized", "run.lifetime", "run.budget"))
"""What compiled code does not find; see docs/targets.md."""

NOT_FOUND = {("cooperative_matrix_store_tensor", name) for name in ("aliasing", "blocks", "span")}
"""Functions that store several components to one element, which only the interpreter finds."""


def run_on(run: Callable[..., object], function: Function, path: Path, launch: vectors.Launch) -> None:
    """Run a vector of a file by calling `run(grid, *arguments)`, and look at what it must find or write."""
    marked = vectors.bind(function, launch.arguments)
    arguments = [value if hasattr(value, "offset") else vectors.unmark(value) for value in marked]
    x, y, z = (*launch.grid, 1, 1)[:3]
    wrong = launch.expected.findings - UNCHECKED
    if not wrong:
        run((x, y, z), *arguments)
        vectors.assert_results(function, marked, launch)
    elif (path.parent.name, function.name) not in NOT_FOUND:
        with pytest.raises(Failed) as raised:
            run((x, y, z), *arguments)
        assert {raised.value.code} == wrong
