"""Loads, stores and decodes through random layouts and views, as kernels on both executors, against the loop."""

from __future__ import annotations

import pytest

from tests.addressing.tensor_programs_long import run
from tests.cases import long


@pytest.mark.parametrize("count", [25, *long([100])])
@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_random_layouts_and_views_as_kernels(target: str, count: int) -> None:
    assert run(count, 1, target) > count / 2
