"""The kernels that copy through tensor maps, against NumPy: sizes with remainders, swizzles, maps that do not fit."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import girih
from girih import kernels
from girih.addressing import BoundTensorMap, TensorMap, plan_convolution
from girih.kernels.table import TABLE
from tests.cases import every_case, long
from tests.kernels.arrays import DTYPES, Array, wide

SPANS = {"none": 128, "32B": 32, "64B": 64, "128B": 128}
"""The bytes of a row of a box by its swizzle, which these fill."""


def whole(type_: str, *shape: int, seed: int = 0) -> Array:
    """Small whole numbers, sums of which no type rounds, in the order of NumPy; rows are padded to 32 bytes."""
    dtype = np.dtype(DTYPES[type_])
    padded = -(-shape[-1] * dtype.itemsize // 32) * 32 // dtype.itemsize
    values = np.zeros((*shape[:-1], padded), dtype)[..., : shape[-1]]
    values[...] = np.random.default_rng([seed, *shape]).integers(-4, 5, shape)
    return values


def mapped(array: Array, *box: int, **options: Any) -> BoundTensorMap:
    """A map of an array, bound to it."""
    return TensorMap.of(array, box, **options).bind(array)


def others(name: str, *first: str) -> list[Any]:
    """The types of a kernel: some, and the others, which `make test` leaves out."""
    offered = TABLE[name].definitions["type"]
    return [*first, *long(type_ for type_ in offered if type_ not in first)]


@pytest.mark.parametrize("type_", others("copy_boxes", "f32", "i8"))
def test_copies_of_boxes(type_: str) -> None:
    size = np.dtype(DTYPES[type_]).itemsize
    with every_case() as case:
        for (swizzle, span), shape in product(SPANS.items(), ((1, 1), (65, 33), (14, 128))):
            columns, rows = span // size, 64 if span == 128 else 7
            if columns not in TABLE["copy_boxes"].definitions["columns"]:
                continue
            with case(f"{swizzle}, {rows} rows, {shape}"):
                a, b = whole(type_, *shape), whole(type_, *shape, seed=1)
                kernel = kernels.copy_boxes(type=type_, columns=columns, rows=rows)
                given = [mapped(array, columns, rows, swizzle=swizzle) for array in (a, b)]
                assert kernel.grid_for(*given) == (-(-shape[1] // columns), -(-shape[0] // rows), 1)
                kernel(*given)
                np.testing.assert_array_equal(b, a)


def test_copies_of_parts() -> None:
    """Only the boxes that the grid has are written, and a copy between swizzles moves elements."""
    a, b = whole("f32", 40, 70), np.full((40, 96), 9, np.float32)
    kernel = kernels.copy_boxes(rows=16)
    kernel[1, 2](mapped(a, 32, 16), mapped(b, 32, 16))
    np.testing.assert_array_equal(b[:32, :32], a[:32, :32])
    assert (b[32:] == 9).all()
    assert (b[:, 32:] == 9).all()
    kernel[1, 1](mapped(a, 32, 16), mapped(b, 32, 16, swizzle="128B"))
    order = np.arange(32).reshape(8, 4)
    for row in range(16):
        np.testing.assert_array_equal(b[row, :32], a[row, order[np.arange(8) ^ (row % 8)].reshape(-1)])


def test_a_box_of_another_size_is_refused() -> None:
    a, b = whole("f32", 40, 70), whole("f32", 40, 70)
    with pytest.raises(girih.LaunchError) as caught:
        kernels.copy_boxes()(mapped(a, 32, 64), mapped(b, 32, 32))
    (wrong,) = caught.value.diagnostics
    assert wrong.code == "bind.map_local"
    assert "the box is 32x32 elements, innermost first, %box is of shape (32, 64)" in wrong.message


def gathered(a: Array, numbers: Array) -> Array:
    """The rows of a table, and zeros for numbers that it does not have."""
    known = (numbers >= 0) & (numbers < len(a))
    return np.where(known[:, None], a[np.clip(numbers, 0, len(a) - 1)], np.zeros((), a.dtype))


@pytest.mark.parametrize("type_", others("gather_rows", "f32", "i8"))
def test_gathered_rows(type_: str) -> None:
    with every_case() as case:
        for count, width, columns in ((0, 5, 32), (1, 1, 32), (34, 64, 32), (31, 100, 64), (70, 257, 32)):
            with case(f"{count} rows of {width}, {columns} at a time"):
                a, b = whole(type_, 50, width), np.asarray(whole(type_, max(count, 1), width, seed=1))
                index = "i64" if columns == 32 else "i32"
                numbers = np.random.default_rng(count).integers(-2, 53, count).astype(DTYPES[index])
                before = b.copy()
                kernel = kernels.gather_rows(type=type_, index=index, columns=columns)
                table = mapped(a, columns, 1, architecture="sm_100a")
                kernel(table, numbers, mapped(b, columns, 32))
                np.testing.assert_array_equal(b, gathered(a, numbers) if count else before)


def test_a_row_number_that_is_too_large_is_found() -> None:
    a, b = whole("f32", 50, 8), whole("f32", 3, 8)
    table, result = mapped(a, 64, 1, architecture="sm_100a"), mapped(b, 64, 32)
    with pytest.raises(girih.KernelError) as caught:
        kernels.gather_rows()(table, np.array([1, 2**31, 2]), result)
    assert caught.value.findings[0].code == "run.tensor_copy"
    assert "2147483648" in caught.value.findings[0].message


@pytest.mark.parametrize("type_", others("sum_layers", "f32", "i32"))
def test_sums_of_layers(type_: str) -> None:
    with every_case() as case:
        for stride, shape in product((1, 3), ((1, 1, 1), (11, 37, 40), (2, 16, 32))):
            with case(f"every {stride}. row of {shape}"):
                _, rows, columns = shape
                a, s = whole(type_, *shape), whole(type_, -(-rows // stride), columns, seed=1)
                expected = s + a[:, ::stride].sum(axis=0, dtype=s.dtype)
                kernel = kernels.sum_layers(type=type_, stride=stride)
                options = {"dtype": "u64"} if type_ == "i64" else {}
                of_a = mapped(a, 32, 16 * stride, 1, element_strides=(1, stride, 1), **options)
                kernel(of_a, mapped(s, 32, 16, **options))
                np.testing.assert_array_equal(s, expected)


def packed(numbers: Array) -> BoundTensorMap:
    """A map of rows of numbers from 0 to 15, as 4 bits."""
    rows, count = numbers.shape
    room = np.zeros(numbers.size // 2 + 32, np.uint8)
    bytes_ = room[-room.ctypes.data % 32 :][: numbers.size // 2].reshape(rows, count // 2)
    bytes_[...] = numbers[:, ::2] | numbers[:, 1::2] << 4
    made = TensorMap.tiled(
        dtype="b4x16_p64",
        global_dim=(count, rows),
        global_strides=(count // 2,),
        box_dim=(128, 16),
        architecture="sm_100a",
    )
    return made.bind(bytes_)


@pytest.mark.parametrize("type_", others("unpack_4_bits", "i8", "f16"))
def test_numbers_of_4_bits(type_: str) -> None:
    zero = 8 if type_ == "i8" else 15
    with every_case() as case:
        for (rows, count), used in product(((1, 128), (19, 384)), (0, 27)):
            with case(f"{rows} x {count - used} numbers"):
                numbers = np.random.default_rng(rows).integers(0, 16, (rows, count), np.uint8)
                b = np.zeros((count - used, rows), DTYPES[type_], order="F")
                kernels.unpack_4_bits(type=type_, zero=zero)(packed(numbers), b)
                np.testing.assert_array_equal(wide(b.T), wide(numbers[:, : count - used].astype(np.int64)) - zero)


CONVOLUTIONS = [
    ((2, 9, 11, 20), (3, 3, 70), 1, 1, 1, 16),
    ((1, 7, 16, 8), (3, 2, 5), 0, 2, 1, 8),
    ((3, 8, 10, 33), (2, 3, 3), 3, 3, 2, 32),
    *long([((1, 5, 5, 1), (5, 5, 64), 2, 1, 1, 8), ((2, 40, 3, 70), (3, 1, 65), 0, 8, 4, 64)]),
]
"""The images, the filters, padding, stride, dilation, and how many channels are taken at a time."""


@pytest.mark.parametrize("type_", others("convolution_im2col", "f32", "bf16"))
@pytest.mark.parametrize(("images", "filters", "pad", "stride", "dilation", "depth"), CONVOLUTIONS)
def test_convolutions(
    type_: str,
    images: tuple[int, int, int, int],
    filters: tuple[int, int, int],
    pad: int,
    stride: int,
    dilation: int,
    depth: int,
) -> None:
    down, across, count = filters
    x, f = whole(type_, *images), whole(type_, down, across, images[3], count, seed=1)
    f = np.ascontiguousarray(f)
    plan = plan_convolution(
        dtype=type_,
        global_dim=images[::-1],
        global_strides=x.strides[2::-1],
        filter=(across, down),
        padding=(pad, pad),
        stride=(stride, stride),
        dilation=(dilation, dilation),
        channels_per_pixel=depth,
        pixels_per_column=32,
    )
    width, height = plan.output
    y = np.full((images[0], height, width, count), 9, np.float32)
    kernel = kernels.convolution_im2col(type=type_, stride=stride, dilation=dilation, depth=depth)
    kernel(pad, plan.tensor_map.bind(x), f.T, y.T)
    padded = np.pad(wide(x), ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    rows, columns = stride * (height - 1) + 1, stride * (width - 1) + 1
    expected = sum(
        padded[:, r * dilation :, s * dilation :][:, :rows:stride, :columns:stride] @ wide(f[r, s])
        for r, s in product(range(down), range(across))
    )
    np.testing.assert_array_equal(y, expected)


@pytest.mark.interpreter
@pytest.mark.parametrize("seed", [1, *long([2, 3])])
def test_whenever_copies_are_made(seed: int) -> None:
    """No kernel lacks a barrier: copies that are made as late as they may be change nothing."""
    choices = girih.Choices(seed)
    a, b = whole("f32", 9, 40), whole("f32", 9, 40, seed=1)
    kernels.copy_boxes().options(choices=choices)(mapped(a, 32, 64), mapped(b, 32, 64))
    np.testing.assert_array_equal(b, a)
    numbers = np.array([3, 0, 8, -1, 5, 5])
    of_b, table = mapped(b, 64, 32), mapped(a, 64, 1, architecture="sm_100a")
    kernels.gather_rows().options(choices=choices)(table, numbers, of_b)
    np.testing.assert_array_equal(b[:6], gathered(a, numbers))
    layers, s = whole("f32", 2, 9, 40), np.zeros((9, 40), np.float32)
    kernels.sum_layers().options(choices=choices)(mapped(layers, 32, 16, 1), mapped(s, 32, 16))
    np.testing.assert_array_equal(s, layers.sum(axis=0))
    four, wider = np.arange(256, dtype=np.uint8).reshape(2, 128) % 16, np.zeros((128, 2), np.int8, order="F")
    kernels.unpack_4_bits(zero=0).options(choices=choices)(packed(four), wider)
    np.testing.assert_array_equal(wider.T, four)
    x, f, y = whole("f32", 1, 4, 5, 24), whole("f32", 3, 3, 24, 8), np.zeros((1, 4, 5, 8), np.float32)
    plan = plan_convolution(dtype="f32", global_dim=(24, 5, 4, 1), filter=(3, 3), padding=(1, 1), channels_per_pixel=16,
                            pixels_per_column=32)  # fmt: skip
    kernel = kernels.convolution_im2col().options(choices=choices)
    kernel(1, plan.tensor_map.bind(x), np.ascontiguousarray(f).T, y.T)
    padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
    taps = product(range(3), range(3))
    np.testing.assert_array_equal(y, sum(padded[:, r : r + 4, s : s + 5] @ f[r, s] for r, s in taps))
