"""The im2col examples of 004, and the walk pixel by pixel."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from girih.addressing.tensor_map.im2col import walk
from girih.addressing.tensor_map.model import TensorMap

Pixel = tuple[int, int, int]


def example(width: int, corner: int, upper: int, **changed: Any) -> TensorMap:
    """64 images of 14 rows of `width` pixels with 64 channels (004 5.5.4.1)."""
    base: dict[str, Any] = {"channels_per_pixel": 8, "pixels_per_column": 64, "element_strides": (1, 1, 1, 1)}
    return TensorMap.im2col(
        dtype="u16",
        global_dim=(64, width, 14, 64),
        global_strides=(128, 128 * width, 128 * width * 14),
        lower_corner=(corner, corner),
        upper_corner=(upper, upper),
        **base | changed,
    )


def pixels(given: TensorMap, coordinates: tuple[int, ...], offsets: tuple[int, int]) -> list[Pixel | None]:
    """(n, h, w) of every pixel of a column; None outside."""
    element = given.access(coordinates, offsets).element[:, 0]
    strides = [stride // 2 for stride in given.global_strides]
    found: list[Pixel | None] = []
    for number in element.tolist():
        image, rest = divmod(number - coordinates[0], strides[2])
        found.append((image, rest // strides[1], rest % strides[1] // strides[0]) if number >= 0 else None)
    return found


def rows(image: int, row: int, columns: range, width: int) -> list[Pixel | None]:
    return [(image, row, column) if 0 <= column < width and 0 <= row < 14 else None for column in columns]


def test_example_1() -> None:
    given = example(9, -1, -1)
    found = pixels(given, (0, 4, 7, 7), (0, 0))
    expected = rows(7, 7, range(4, 8), 9) + [pixel for row in range(8, 13) for pixel in rows(7, row, range(-1, 8), 9)]
    expected += rows(8, -1, range(-1, 8), 9) + rows(8, 0, range(-1, 8), 9)
    assert found == expected[:64]
    assert found[:6] == [(7, 7, 4), (7, 7, 5), (7, 7, 6), (7, 7, 7), None, (7, 8, 0)]


def test_example_2() -> None:
    given = example(9, 0, -2)
    found = pixels(given, (0, 4, 7, 7), (2, 2))
    expected = rows(7, 9, range(6, 9), 9)
    for image, first, last in ((7, 10, 14), (8, 2, 14)):
        expected += [pixel for row in range(first, last) for pixel in rows(image, row, range(2, 9), 9)]
    assert found == expected[:64]


def test_example_with_a_traversal_stride_of_2() -> None:
    given = example(8, -1, -1, channels_per_pixel=16, pixels_per_column=32, element_strides=(1, 2, 2, 1))
    found = pixels(given, (0, 5, 7, 7), (1, 1))
    assert found[:9] == [(7, 8, 6), *((7, 10, column) for column in (0, 2, 4, 6)), *rows(7, 12, range(0, 8, 2), 8)]
    assert found[9:13] == rows(8, 0, range(0, 8, 2), 8)
    assert len(found) == 32


def test_a_walk_carries_into_the_image() -> None:
    cursor = walk(7, start=(1, 0), box=((0, 1), (0, 1)), strides=(1, 1), image_start=3, image_stride=2)
    assert cursor.tolist() == [[1, 0, 3], [0, 1, 3], [1, 1, 3], [0, 0, 5], [1, 0, 5], [0, 1, 5], [1, 1, 5]]


def test_a_walk_returns_to_the_lower_corner_even_off_its_grid() -> None:
    cursor = walk(5, start=(1,), box=((0, 3),), strides=(2,), image_start=0, image_stride=1)
    assert cursor[:, 0].tolist() == [1, 3, 0, 2, 0]


@pytest.mark.parametrize("rank", [3, 4, 5])
def test_an_image_without_padding_is_read_in_order(rank: int) -> None:
    dims = (8, *(3,) * (rank - 2), 2)
    strides = [16]
    for size in dims[1:-1]:
        strides.append(strides[-1] * size)
    count = 3 ** (rank - 2) * 2
    given = TensorMap.im2col(
        dtype="u16",
        global_dim=dims,
        global_strides=strides,
        lower_corner=(0,) * (rank - 2),
        upper_corner=(0,) * (rank - 2),
        channels_per_pixel=8,
        pixels_per_column=count + 1,
    )
    memory = np.arange(count * 8, dtype=np.uint16).view(np.uint8)
    image = given.load(memory, (0,) * rank)
    assert image.bytes.view(np.uint16).tolist() == [*range(count * 8), *[0] * 8]
    assert image.transaction_bytes == (count + 1) * 16
