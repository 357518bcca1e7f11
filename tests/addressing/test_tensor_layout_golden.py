"""Every load and store measured on an NVIDIA H200, as the text has it and as the driver did it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.addressing.layout_data import Array, arrays, cases, layout_of, result_of
from tests.cases import every_case

CASES = cases()
DEVIATING = [case for case in CASES if not case["agrees_with_specification"]]


def assert_same(case: dict[str, Any], came: Array, wanted: Array) -> None:
    """The same bits, except where several elements of the matrix were stored at one place."""
    bits = [one.reshape(-1).view(np.dtype(f"u{came.itemsize}")) for one in (came, wanted)]
    free = np.isin(np.arange(came.size), case["overlapping_stores"])
    assert np.array_equal(bits[0][~free], bits[1][~free])


def test_the_result_is_that_of_the_text() -> None:
    with every_case() as named:
        for case in CASES:
            with named(case["id"]):
                assert_same(case, result_of(case), arrays()[f"{case['id']}.expected"])


def test_with_quirks_it_is_what_the_driver_did() -> None:
    with every_case() as named:
        for case in CASES:
            with named(case["id"]):
                name = "expected" if case["agrees_with_specification"] else "hardware"
                assert_same(case, result_of(case, "nvidia-580"), arrays()[f"{case['id']}.{name}"])


def test_the_strides_are_those_in_effect() -> None:
    with every_case() as named:
        for case in CASES:
            with named(case["id"]):
                assert list(layout_of(case).stride) == case["layout"]["stride_in_effect"]


@pytest.mark.parametrize("case", DEVIATING, ids=lambda case: case["id"])
def test_a_lint_warns_of_every_deviation(case: dict[str, Any]) -> None:
    assert "tensor_layout.partial_block" in [lint.rule for lint in layout_of(case).lints()]


def test_there_are_165_cases_and_nine_deviate() -> None:
    assert (len(CASES), len(DEVIATING)) == (165, 9)
