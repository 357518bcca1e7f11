"""Kernels that move and multiply tensors through layouts and views, against NumPy."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import girih
from girih import kernels
from girih.addressing import BlockedInterleaved
from girih.kernels.table import BLOCK_COLUMNS, EVERY
from tests.cases import crossed, long
from tests.kernels.arrays import DTYPES, EPSILON, Array, number, random, wide, zeros

PADDING: dict[str, Literal["constant", "edge", "reflect"]] = {"zero": "constant", "edge": "edge", "mirror": "reflect"}
"""The mode of `numpy.pad` that fills as a padding does."""


# --- transposition --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type_", "m", "n"), [*((t, 33, 40) for t in EVERY), ("f32", 1, 37), ("f32", 32, 64), ("f32", 64, 1)]
)
def test_transposed_load(type_: str, m: int, n: int) -> None:
    a, b = random(type_, m, n), zeros(type_, n, m)
    kernels.transposed_load(type=type_)(a, b)
    np.testing.assert_array_equal(b, a.T)


# --- pixels ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("type_", "size"), crossed(["i8", "bf16", "f64"], [(1, 1, 1), (3, 17, 5), (16, 32, 1)]))
def test_space_to_depth(type_: str, size: tuple[int, int, int]) -> None:
    channels, width, height = size
    a, b = random(type_, channels, 2 * width, 2 * height), zeros(type_, 4 * channels, width, height)
    kernels.space_to_depth(channels=channels, type=type_)(a, b)
    squares = a.T.reshape(height, 2, width, 2, channels).transpose(0, 2, 1, 3, 4)
    np.testing.assert_array_equal(b.T, squares.reshape(height, width, 4 * channels))


@pytest.mark.parametrize(
    ("a", "b", "argument"),
    [((3, 5, 4), (12, 2, 2), "A"), ((3, 4, 5), (12, 2, 2), "A"), ((3, 4, 4), (12, 3, 2), "A")],
)
def test_squares_that_are_not_whole_are_found(a: tuple[int, ...], b: tuple[int, ...], argument: str) -> None:
    with pytest.raises(girih.KernelError) as found:
        kernels.space_to_depth()[2](random("f32", *a), zeros("f32", *b))
    finding = found.value.findings[0]
    assert (finding.code, finding.argument) == ("run.expand", argument)


def cut(a: Array, size: int, padding: str) -> Array:
    """The patches of an image [height, width, channels], row by row."""
    height, width, channels = a.shape
    down, across = -(-height // size), -(-width // size)
    rim = ((0, down * size - height), (0, across * size - width), (0, 0))
    padded = np.pad(a, rim, mode=PADDING[padding])
    squares = padded.reshape(down, size, across, size, channels).transpose(0, 2, 1, 3, 4)
    return np.asarray(squares.reshape(down * across, size, size, channels))


@pytest.mark.parametrize(
    ("image", "padding"), crossed([(3, 24, 16, 8), (3, 21, 19, 8), (1, 9, 6, 5)], list(PADDING), first=2)
)
def test_patches(image: tuple[int, int, int, int], padding: str) -> None:
    channels, width, height, size = image
    a = random("f32", channels, width, height)
    expected = cut(a.T, size, padding)
    found = np.full(expected.shape[::-1], np.nan, np.float32, order="F")
    kernel = kernels.patches(channels=channels, size=size, padding=padding)
    kernel(a, girih.uninitialized(found))
    np.testing.assert_array_equal(found.T, expected)


@pytest.mark.parametrize("grid", [None, (3, 3), (3, 1), (3,), (3, 5)])
def test_work_groups_share_a_row_of_patches(grid: tuple[int, ...] | None) -> None:
    a, found = random("f32", 3, 143, 5), np.full((3, 2, 2, 72 * 3), np.nan, np.float32, order="F")
    kernel = kernels.patches(size=2)
    (kernel if grid is None else kernel[grid])(a, girih.uninitialized(found))
    np.testing.assert_array_equal(found.T, cut(a.T, 2, "zero"))


@pytest.mark.parametrize("type_", ["i8", "bf16", "f64"])
def test_patches_of_every_kind(type_: str) -> None:
    a, found = random(type_, 3, 10, 9), zeros(type_, 3, 4, 4, 9)
    kernels.patches(type=type_, size=4)[3](a, found)
    np.testing.assert_array_equal(found.T, cut(a.T, 4, "zero"))


def test_patches_that_do_not_fit() -> None:
    with pytest.raises(girih.KernelError) as found:
        kernels.patches()[1](random("f32", 3, 16, 8), zeros("f32", 3, 8, 8, 3))
    assert (found.value.findings[0].code, found.value.findings[0].argument) == ("run.expand", "P")
    with pytest.raises(girih.LaunchError) as refused:
        kernels.patches(channels=4)[1](random("f32", 3, 16, 8), zeros("f32", 4, 8, 8, 2))
    assert [d.code for d in refused.value.diagnostics] == ["bind.shape"]


# --- convolution ----------------------------------------------------------------------------


def convolved(x: Array, f: Array, pad: int, padding: str, stride: int, dilation: int) -> Array:
    """Images [n, h, w, c] with filters [r, s, c, k]: [n, p, q, k], tap by tap; a negative pad cuts off."""
    rim = max(pad, 0)
    padded = np.pad(x, ((0, 0), (rim, rim), (rim, rim), (0, 0)), mode=PADDING[padding])
    if pad < 0:
        padded = padded[:, -pad:pad, -pad:pad]
    down, across = ((size - dilation * (taps - 1) - 1) // stride + 1
                    for size, taps in zip(padded.shape[1:3], f.shape, strict=False))  # fmt: skip
    total = np.zeros((len(x), down, across, f.shape[3]), padded.dtype)
    for r in range(f.shape[0]):
        for s in range(f.shape[1]):
            rows = slice(r * dilation, r * dilation + stride * (down - 1) + 1, stride)
            columns = slice(s * dilation, s * dilation + stride * (across - 1) + 1, stride)
            total += padded[:, rows, columns] @ f[r, s]
    return total


def check_convolution(
    image: tuple[int, int, int, int],
    filters: tuple[int, int, int],
    pad: int = 0,
    type_: str = "f32",
    padding: str = "zero",
    stride: int = 1,
    dilation: int = 1,
    depth: int = 16,
) -> None:
    """One convolution against NumPy: exact for integers, else within the error of its sums."""
    channels, count = image[0], filters[0]
    x, f = random(type_, *image), random(type_, count, channels, *filters[1:])
    exact = convolved(wide(x).T, wide(f).T, pad, padding, stride, dilation)
    magnitude = convolved(abs(wide(x)).T, abs(wide(f)).T, pad, padding, stride, dilation)
    summed = "i32" if type_.startswith("i") else "f64" if type_ == "f64" else "f32"
    y = np.full(exact.shape[::-1], number(summed, 99), DTYPES[summed], order="F")
    kernel = kernels.convolution(type=type_, padding=padding, stride=stride, dilation=dilation, depth=depth)
    grid = kernels.grid_for("convolution", count, y.shape[1], y.shape[2] * y.shape[3])
    kernel[grid](pad, x, f, girih.uninitialized(y))
    rounding = 0.0 if type_.startswith("i") else (channels * f.shape[2] * f.shape[3] + 2) * EPSILON[summed]
    assert (abs(wide(y).T - exact) <= rounding * magnitude).all()


@pytest.mark.parametrize(("padding", "steps"), crossed(list(PADDING), [(1, 1), (2, 1), (3, 2)]))
def test_convolution(padding: str, steps: tuple[int, int]) -> None:
    stride, dilation = steps
    check_convolution((5, 11, 9, 2), (7, 3, 3), 2, padding=padding, stride=stride, dilation=dilation)


@pytest.mark.parametrize("type_", ["i8", "i16", "f16", "bf16", "f64"])
def test_convolution_of_every_type(type_: str) -> None:
    check_convolution((17, 7, 5, 1), (33, 3, 3), 1, type_, "edge")


@pytest.mark.parametrize(
    ("image", "filters", "pad", "depth", "padding"),
    [
        ((1, 5, 5, 1), (1, 1, 1), 0, 4, "zero"),
        ((3, 40, 2, 1), (4, 5, 1), 2, 3, "mirror"),
        ((18, 6, 7, 3), (70, 2, 3), 1, 8, "edge"),
        ((2, 9, 6, 1), (3, 3, 3), 7, 16, "mirror"),
        ((2, 9, 6, 1), (3, 3, 3), 7, 16, "zero"),
        ((4, 8, 8, 1), (2, 3, 3), -1, 4, "edge"),
    ],
    ids=["one tap", "a row", "all tiles at an edge", "mirrored twice", "wide rim", "cropped"],
)
def test_sizes_of_convolutions(
    image: tuple[int, int, int, int], filters: tuple[int, int, int], pad: int, depth: int, padding: str
) -> None:
    check_convolution(image, filters, pad, padding=padding, depth=depth)


def test_infinity_in_the_last_channel_stays_where_it_is() -> None:
    """Channels that a tile has and the image has not do not count, whatever is outside of the image."""
    x = np.zeros((3, 4, 4, 1), np.float32, order="F")
    x[2, 1, 1] = np.inf
    f, y = np.ones((1, 3, 1, 1), np.float32, order="F"), zeros("f32", 1, 4, 4, 1)
    for padding in PADDING:
        kernels.convolution(padding=padding)[1, 1, 4](0, x, f, y)
        np.testing.assert_array_equal(y[0], x.sum(axis=0))


@pytest.mark.parametrize(
    ("f", "y", "argument"),
    [
        ((7, 4, 3, 3), (7, 6, 5, 2), "F"),
        ((7, 5, 3, 3), (8, 6, 5, 2), "Y"),
        ((7, 5, 3, 3), (7, 7, 5, 2), "Y"),
        ((7, 5, 3, 3), (7, 6, 4, 2), "Y"),
        ((7, 5, 3, 3), (7, 6, 5, 1), "Y"),
    ],
)
def test_sizes_of_convolutions_that_do_not_fit(f: tuple[int, ...], y: tuple[int, ...], argument: str) -> None:
    with pytest.raises(girih.KernelError) as found:
        kernels.convolution()[1, 1, 10](1, random("f32", 5, 6, 5, 2), random("f32", *f), zeros("f32", *y))
    finding = found.value.findings[0]
    assert (finding.code, finding.argument) == ("run.expand", argument)


# --- interleaved blocks ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "order"),
    crossed([("i8", 1), ("i8", 4), ("bf16", 2), ("f32", 1), ("f32", 4), ("f64", 2)], ["row", "column"]),
)
def test_blocked_interleaved(case: tuple[str, int], order: str) -> None:
    type_, stride = case
    block = BLOCK_COLUMNS[type_]
    rows, columns = (20, 3 * block * stride) if order == "row" else (20 * stride, 3 * block)
    a = np.ascontiguousarray(random(type_, rows, columns))
    b = np.zeros(a.size, a.dtype)
    pack, unpack = kernels.blocked_interleaved(type=type_, blocks=order, stride=stride)
    grid = kernels.grid_for("blocked_interleaved", rows)
    pack[grid](a.T, b)
    model = BlockedInterleaved("row" if order == "row" else "column", rows, columns, a.itemsize, stride)
    np.testing.assert_array_equal(model.load(b.view(f"i{a.itemsize}")).view(a.dtype), a)
    back = np.zeros_like(a)
    unpack[grid](b, back.T)
    np.testing.assert_array_equal(back, a)


@pytest.mark.parametrize(
    ("rows", "columns", "order", "length", "argument"),
    [
        (8, 12, "row", 96, "A"),
        (6, 8, "row", 48, "A"),
        (4, 4, "column", 16, "A"),
        (8, 6, "column", 48, "A"),
        (8, 8, "row", 63, "B"),
    ],
)
def test_blocks_that_are_not_whole_are_found(rows: int, columns: int, order: str, length: int, argument: str) -> None:
    a, b = zeros("f32", columns, rows), zeros("f32", length)
    for kernel, arguments in zip(kernels.blocked_interleaved(blocks=order, stride=2), [(a, b), (b, a)], strict=True):
        with pytest.raises(girih.KernelError) as found:
            kernel(*arguments)
        finding = found.value.findings[0]
        assert (finding.code, finding.argument) == ("run.expand", argument)


@pytest.mark.interpreter
@pytest.mark.parametrize("seed", [1, *long([2])])
def test_results_whatever_an_implementation_chooses(seed: int) -> None:
    choices = girih.Choices(seed)
    a, b = random("f32", 40, 33), zeros("f32", 33, 40)
    kernels.transposed_load().options(choices=choices)[2, 2](a, b)
    np.testing.assert_array_equal(b, a.T)
    x, f, y = random("f32", 3, 5, 4, 1), random("f32", 2, 3, 3, 3), zeros("f32", 2, 5, 4, 1)
    kernels.convolution(padding="mirror").options(choices=choices)[1, 1, 4](1, x, f, y)
    np.testing.assert_allclose(y.T, convolved(x.T, f.T, 1, "mirror", 1, 1), rtol=1e-5, atol=1e-5)
