"""Seeds are refused in words where they are none."""

from __future__ import annotations

from typing import Any

import pytest

import girih


@pytest.mark.parametrize("seed", ["a", -1, 1.5])
def test_a_seed_is_an_integer_that_is_not_negative(seed: Any) -> None:
    with pytest.raises(ValueError, match="a seed is an integer that is not negative"):
        girih.Choices(seed)
