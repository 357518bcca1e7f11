"""Pictures of tensor maps: boxes inside and partly outside, im2col pixels in their order, and shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from girih.addressing import AddressingError, MapTile, TensorMap
from girih.draw.shared import UNWRITTEN
from tests.addressing import random_tensor_maps as maps
from tests.addressing.test_im2col import example
from tests.draw.pictures import classes, labels, memory_places, picture_of

BOX: dict[str, Any] = {"dtype": "f32", "global_dim": (12, 6), "global_strides": (48,), "box_dim": (8, 2)}


def test_a_box_partly_outside_the_tensor() -> None:
    picture = picture_of(TensorMap.tiled(**BOX), coordinates=(8, -1))
    tensor, shared = picture.panels
    assert picture.title == "Tensor map, tiled load: box 8 x 2 of f32 at (8, -1)"
    assert labels(tensor)[:2] == [
        ". . . . . . . . 0 1 2 3 4 5 6 7",
        ". . . . . . . . 8 9 10 11 12 13 14 15",
    ]
    assert classes(tensor) == {"in bounds": 4, "filled": 12}
    assert tensor.frames[0].name == "edge of the tensor"
    assert labels(shared) == ["0-3 4-7 8-11 12-15 . . . ."]
    assert classes(shared) == {"in bounds": 1, "filled": 3, "not written": 4}


def test_traversal_strides_leave_rows_out() -> None:
    given = TensorMap.tiled(**BOX | {"box_dim": (4, 5), "element_strides": (1, 2)})
    tensor = picture_of(given).panels[0]
    assert labels(tensor)[:4] == [
        "0 1 2 3 . . . . . . . .",
        ". . . . . . . . . . . .",
        "4 5 6 7 . . . . . . . .",
        ". . . . . . . . . . . .",
    ]


def test_a_chunk_across_the_edge_is_partly_filled() -> None:
    given = TensorMap.tiled(dtype="u8", global_dim=(24, 1), global_strides=(32,), box_dim=(32, 1))
    assert classes(picture_of(given).panels[1]) == {"in bounds": 1, "partly filled": 1, "not written": 6}


def test_swizzled_rows_lie_where_the_swizzle_puts_them() -> None:
    given = TensorMap.tiled(**BOX | {"box_dim": (8, 6), "swizzle": "32B"})
    shared = picture_of(given, shared_address=128).panels[1]
    assert shared.rows.labels == ("128", "256")
    assert labels(shared) == ["4-7 0-3 12-15 8-11 20-23 16-19 28-31 24-27", "32-35 36-39 40-43 44-47 . . . ."]


def test_reads_of_rows_and_columns_are_counted() -> None:
    wide: dict[str, Any] = {"dtype": "f16", "global_dim": (64, 8), "global_strides": (128,), "box_dim": (64, 8)}
    row = "read of a row (8 lanes of 16 bytes): 1 pass over the banks, no conflict"
    column = "read of a column (8 lanes of 16 bytes): "
    assert picture_of(TensorMap.tiled(**wide)).facts[2:] == (row, column + "8 passes over the banks, 7 conflicts")
    swizzled = TensorMap.tiled(**wide, swizzle="128B")
    assert picture_of(swizzled).facts[2:] == (row, column + "1 pass over the banks, no conflict")


def test_a_store_discards_what_is_outside() -> None:
    tensor, shared = picture_of(TensorMap.tiled(**BOX), coordinates=(8, 5), store=True).panels
    assert classes(tensor) == {"in bounds": 4, "discarded": 12}
    assert classes(shared) == {"in bounds": 1, "discarded": 3, "not read": 4}


def test_pixels_are_numbered_in_the_order_of_the_walk() -> None:
    given = example(9, -1, -1)
    picture = picture_of(given, coordinates=(0, 4, 7, 7))
    images = picture.panels[:-1]
    assert [image.title for image in images] == ["N = 7", "N = 8"]
    first = dict(zip(images[0].rows.labels, labels(images[0]), strict=True))
    assert images[0].columns.labels == ("-1", *map(str, range(9)))
    assert first["7"] == ". . . . . 0 1 2 3 ."
    assert first["8"] == "4 5 6 7 8 9 10 11 12 ."
    second = dict(zip(images[1].rows.labels, labels(images[1]), strict=True))
    assert second["-1"] == "49 50 51 52 53 54 55 56 57 ."
    assert classes(images[1]) == {"filled": 9 + 1, "in bounds": 5}
    assert [frame.name for frame in images[0].frames] == ["edge of the tensor", "pixel box"]


def test_the_pixel_box_is_framed_in_every_image() -> None:
    box = picture_of(example(9, -1, -1), coordinates=(0, 4, 7, 7)).panels[0].frames[1]
    assert box.is_dashed
    assert (box.top, box.left, box.bottom - box.top, box.right - box.left) == (0, 0, 14, 9)


def test_offsets_move_the_pixels_that_are_read() -> None:
    images = picture_of(example(9, 0, -2), coordinates=(0, 4, 7, 7), offsets=(2, 2)).panels
    first = dict(zip(images[0].rows.labels, labels(images[0]), strict=True))
    assert first["9"] == ". . . . . . 0 1 2"
    assert first["10"] == ". . 3 4 5 6 7 8 9"


def test_shared_memory_names_pixels_and_channels() -> None:
    given = example(9, -1, -1, channels_per_pixel=16, pixels_per_column=8)
    assert labels(picture_of(given).panels[-1])[0] == "0: 0-7 0: 8-15 1: 0-7 1: 8-15 2: 0-7 2: 8-15 3: 0-7 3: 8-15"


def test_slices_are_numbered_with_interleave() -> None:
    given = TensorMap.tiled(
        dtype="u8", global_dim=(4, 2, 3), global_strides=(64, 128), box_dim=(16, 1, 1), interleave="16B"
    )
    tensor = picture_of(given, coordinates=(-2, 1, 2)).panels[0]
    assert tensor.title == "N = 2"
    assert dict(zip(tensor.rows.labels, labels(tensor), strict=True))["1"] == " ".join(map(str, range(16)))
    assert classes(tensor) == {"in bounds": 4, "filled": 12}


def test_the_first_box_is_drawn_by_itself() -> None:
    given = example(9, -1, -1)
    assert picture_of(given).facts == picture_of(given, coordinates=(0, -1, -1, 0)).facts
    assert picture_of(given).title.endswith("at (0, -1, -1, 0)")


def test_a_whole_copy_with_its_base() -> None:
    box = MapTile(TensorMap.tiled(**BOX), (8, 5), element_offset=100)
    picture = picture_of(box, panels="memory")
    assert picture.facts[1] == "shared address 0, 64 transaction bytes, base: element 100"
    assert memory_places(picture.panels[0]) == {100 + 5 * 12 + 8 + column: str(column) for column in range(4)}


def test_illegal_operands_are_the_models_error() -> None:
    with pytest.raises(AddressingError, match="coordinate_aligned"):
        picture_of(TensorMap.tiled(**BOX), coordinates=(1, 0))
    with pytest.raises(AddressingError, match="shared_aligned"):
        picture_of(TensorMap.tiled(**BOX), shared_address=8)


@pytest.mark.parametrize("seed", range(40))
def test_random_boxes_lie_where_the_access_says(seed: int) -> None:
    random = np.random.default_rng(seed)
    given, start = maps.tiled(random, maps.chosen(random, (*maps.PLAIN, "b4x16")), False)
    picture = picture_of(given, coordinates=start, panels=("tensor", "memory", "shared"))
    access = given.access(start)
    assert picture.counts == {word.replace("_", " "): number for word, number in access.counts().items()}
    element = access.element.reshape(-1)
    for place, text in memory_places(picture.panels[-2]).items():
        assert int(text.replace("+", "-").split("-")[0]) == int(np.flatnonzero(element == place)[0])
    drawn = {int(text) for panel in picture.panels[:-2] for row in panel.labels for text in row if text.isdigit()}
    assert drawn <= set(range(element.size))
    shared = picture.panels[-1]
    image = given.load(maps.memory_of(random, given), start)
    written = np.zeros(len(shared.rows) * 8, np.bool_)
    for byte in np.flatnonzero(image.written).tolist():
        if byte // 16 < len(written):
            written[byte // 16] = True
    assert np.array_equal(shared.code.reshape(-1) != UNWRITTEN, written)


@pytest.mark.parametrize("dtype", [*maps.PADDED, "b4x16"])
def test_sub_byte_types_have_pictures(dtype: str) -> None:
    for seed in range(4):
        random = np.random.default_rng(seed)
        given, start = maps.tiled(random, dtype, dtype == "b6p2x16")
        picture = picture_of(given, coordinates=start)
        assert sum(picture.counts.values()) == given.rows * (
            given.slice_bytes * 8 // given.element.bits or given.box_dim[0]
        )
