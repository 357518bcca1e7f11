"""Launches of the kernels of the library that copy through tensor maps: small, with boxes that reach outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from girih.addressing import plan_convolution
from tests.kernels.test_tensor_maps import mapped, packed, whole


def _boxes() -> list[Any]:
    return [mapped(whole("f32", 70, 40, seed=k), 32, 64) for k in range(2)]


def _rows() -> list[Any]:
    table = mapped(whole("f32", 9, 72), 64, 1, architecture="sm_100a")
    return [table, np.array([3, 0, 8, -1, 5, 5]), mapped(whole("f32", 6, 72, seed=1), 64, 32)]


def _layers() -> list[Any]:
    return [mapped(whole("f32", 2, 9, 40), 32, 16, 1), mapped(whole("f32", 9, 40, seed=1), 32, 16)]


def _four_bits() -> list[Any]:
    numbers = np.arange(256, dtype=np.uint8).reshape(2, 128) % 16
    return [packed(numbers), np.zeros((128, 2), np.int8, order="F")]


def _convolution() -> list[Any]:
    x, f, y = whole("f32", 1, 4, 5, 24), whole("f32", 3, 3, 24, 8, seed=1), np.zeros((1, 4, 5, 8), np.float32)
    plan = plan_convolution(
        dtype="f32", global_dim=(24, 5, 4, 1), filter=(3, 3), padding=(1, 1), channels_per_pixel=16,
        pixels_per_column=32,
    )  # fmt: skip
    return [1, plan.tensor_map.bind(x), np.ascontiguousarray(f).T, y.T]


WITH_MAPS: Mapping[str, tuple[tuple[int, int, int], Callable[[], list[Any]]]] = {
    "convolution_im2col": ((1, 1, 1), _convolution),
    "copy_boxes": ((2, 2, 1), _boxes),
    "gather_rows": ((2, 1, 1), _rows),
    "sum_layers": ((2, 1, 2), _layers),
    "unpack_4_bits": ((1, 1, 1), _four_bits),
}
"""A grid, and what makes new arguments that are always the same, for each kernel."""
