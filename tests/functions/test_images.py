"""`conv2d` in all layouts of images, filters and results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from girih import functions
from tests.functions import references
from tests.functions.references import Array, drawn, near

Layout = Callable[[Array], Array]


def channels_last(array: Array) -> Array:
    return np.ascontiguousarray(array.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)


def mirrored(array: Array) -> Array:
    return np.flip(np.flip(array, 3).copy(), 3)


LAYOUTS: list[Layout] = [np.ascontiguousarray, channels_last, np.asfortranarray, mirrored]
# Images, filters, stride, padding, dilation.
PROBLEMS: list[tuple[tuple[int, ...], tuple[int, ...], int, int, int]] = [
    ((2, 3, 9, 11), (4, 3, 3, 3), 1, 1, 1),
    ((2, 3, 9, 11), (4, 3, 3, 2), 2, 0, 1),
    ((3, 5, 8, 8), (6, 5, 1, 1), 1, 0, 1),
    ((3, 5, 8, 7), (6, 5, 1, 1), 2, 0, 1),
    ((2, 5, 8, 7), (6, 5, 1, 1), 1, 2, 1),
    ((2, 1, 12, 10), (3, 1, 5, 5), 1, 4, 2),
    ((4, 6, 1, 1), (5, 6, 1, 1), 1, 0, 1),
    ((1, 2, 3, 70), (2, 2, 3, 3), 1, 1, 1),
    ((2, 3, 16, 17), (2, 3, 3, 3), 1, 1, 1),
    ((1, 2, 40, 33), (3, 2, 7, 7), 2, 3, 1),
]


@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
@pytest.mark.parametrize("type_", ["f32", "f16", "f64"])
def test_layouts(problem: tuple[Any, ...], type_: str) -> None:
    sizes, taps, stride, padding, dilation = problem
    x, weight, bias = drawn(type_, *sizes), drawn(type_, *taps), drawn(type_, taps[0])
    wanted = references.conv2d(x, weight, bias, stride, padding, dilation)
    options: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation}
    for number, layout in enumerate(LAYOUTS):
        pixels, filters = layout(x), LAYOUTS[(number + 1) % len(LAYOUTS)](weight)
        # Sums of f16 are rounded before the bias is added, too.
        found = functions.conv2d(pixels, filters, bias, **options)
        np.testing.assert_allclose(found.astype(np.float64), wanted, **TOLERANCES[type_])
        for made in LAYOUTS:
            out = made(np.full(wanted.shape, 7, x.dtype))
            assert functions.conv2d(pixels, layout(weight), bias, out=out, **options) is out
            np.testing.assert_allclose(out.astype(np.float64), wanted, **TOLERANCES[type_])


TOLERANCES: dict[str, Any] = {
    "f32": {"rtol": 2e-5, "atol": 2e-5},
    "f16": {"rtol": 4e-3, "atol": 2e-2},
    "f64": {"rtol": 1e-12, "atol": 1e-12},
}


def test_the_layout_of_results() -> None:
    x, weight = drawn("f32", 2, 3, 6, 6), drawn("f32", 4, 3, 3, 3)
    assert functions.conv2d(x, weight).flags.c_contiguous
    assert functions.conv2d(channels_last(x), weight).transpose(0, 2, 3, 1).flags.c_contiguous
    assert functions.conv2d(x[:, :1].copy(), weight[:, :1].copy()).flags.c_contiguous


def test_results_over_arguments() -> None:
    x, weight = drawn("f32", 2, 3, 6, 6), drawn("f32", 3, 3, 3, 3)
    wanted = references.conv2d(x, weight, None, 1, 1, 1)
    for layout in LAYOUTS[:3]:
        pixels = layout(x).copy(order="K")
        assert functions.conv2d(pixels, weight, padding=1, out=pixels) is pixels
        near(pixels, wanted)
