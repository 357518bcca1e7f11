"""Random copies in programs against plain loops: all modes, types, swizzles and reductions."""

from __future__ import annotations

import pytest

from tests.cases import every_case
from tests.tensor_maps import random_copies

FEW = {"interpreter": 12, "cpu": 2}
"""How many of each kind `make test` takes: each is a program of its own for the compiler."""


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_some_copies_of_every_kind(target: str) -> None:
    with every_case() as case:
        for kind in random_copies.KINDS:
            with case(kind):
                random_copies.compare(random_copies.on(target), kind, FEW[target])


@pytest.mark.long
@pytest.mark.parametrize("kind", random_copies.KINDS)
@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_many_copies(target: str, kind: str) -> None:
    random_copies.compare(random_copies.on(target), kind, 300, seed=2)
