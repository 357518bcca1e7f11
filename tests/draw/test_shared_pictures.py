"""Pictures of shared memory: swizzles with the conflicts of reads, images after loads; and of blocked matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from girih.addressing import BlockedInterleaved, Swizzle, TensorMap
from girih.addressing.tensor_map.swizzle import MODES
from girih.draw import DrawingError
from tests.draw.pictures import classes, labels, memory_places, picture_of


def test_a_swizzle_before_and_after() -> None:
    before, banks_before, after, banks_after = picture_of(Swizzle("128B")).panels
    assert labels(before)[:2] == ["0 1 2 3 4 5 6 7", "8 9 10 11 12 13 14 15"]
    assert labels(after)[:4] == ["0 1 2 3 4 5 6 7", "9 8 11 10 13 12 15 14", "18 19 16 17 22 23 20 21",
                                 "27 26 25 24 31 30 29 28"]  # fmt: skip
    assert after.columns.labels[:2] == ("0-3", "4-7")
    assert classes(before) == classes(after) == {"read of a column": 7, "read of a row": 7, "in both reads": 1}
    assert banks_before.notes[1] == "read of a column (8 lanes of 16 bytes): 8 passes over the banks, 7 conflicts"
    assert banks_after.notes[1] == "read of a column (8 lanes of 16 bytes): 1 pass over the banks, no conflict"
    assert labels(banks_before)[1] == " ".join(["8"] * 4 + ["."] * 28)
    assert labels(banks_after) == [" ".join("1" * 32)] * 2


@pytest.mark.parametrize("name", [name for name in MODES if name != "none"])
def test_every_swizzle_is_drawn_as_it_moves_bytes(name: str) -> None:
    swizzle = Swizzle(name)
    after = picture_of(swizzle).panels[2]
    size = 128 // len(after.columns)
    texts = [int(text) for row in after.labels for text in row]
    assert [int(address) // size for address in swizzle.apply(np.array(texts) * size)] == list(range(len(texts)))


def test_without_a_swizzle_there_is_one_side() -> None:
    assert [panel.title for panel in picture_of(Swizzle()).panels] == ["no swizzle", "words from each bank"]


def test_padded_rows_need_no_swizzle() -> None:
    assert "no conflict" in picture_of(Swizzle(), row_bytes=144).panels[1].notes[1]
    with pytest.raises(DrawingError, match=r"row_bytes = 100: rows have a multiple of 16 bytes"):
        picture_of(Swizzle(), row_bytes=100)


def test_an_image_names_the_bytes_of_global_memory() -> None:
    given = TensorMap.tiled(dtype="u8", global_dim=(48, 2), global_strides=(48,), box_dim=(32, 2), swizzle="64B")
    image = given.load(np.zeros(96, np.uint8), (32, 0), shared_address=128)
    picture = picture_of(image)
    assert picture.title == "Shared memory after a load, 128 bytes"
    assert labels(picture.panels[0]) == [". 32-47 . . . 80-95 . ."]
    assert picture.panels[0].rows.labels == ("128",)
    assert classes(picture.panels[0]) == {"copied": 2, "filled": 2, "not written": 4}
    assert [words for _, words in picture.legend()] == [
        "copied: 32 bytes",
        "filled: 32 bytes",
        "not written: 64 bytes",
    ]


def test_bytes_that_are_no_run_show_the_first_and_the_last() -> None:
    given = TensorMap.tiled(dtype="u8", global_dim=(16, 1), global_strides=(16,), box_dim=(16, 1))
    image = given.load(np.zeros(16, np.uint8), (0, 0))
    turned = replace(image, source=image.source[::-1])
    assert picture_of(turned).panels[0].labels[0][0] == "15...0"


def test_a_large_image_says_what_is_left_out() -> None:
    given = TensorMap.tiled(dtype="u8", global_dim=(128, 256), global_strides=(128,), box_dim=(128, 256))
    shared = picture_of(given.load(np.zeros(1 << 15, np.uint8), (0, 0))).panels[0]
    assert shared.notes == ("lines 16-255 of 0-255 are not drawn",)


def test_words_of_a_group_take_turns() -> None:
    picture = picture_of(BlockedInterleaved("row", 4, 16, 4, 2))
    tile, memory = picture.panels
    assert (sorted(tile.rows.rules), sorted(tile.columns.rules)) == ([], [4, 8, 12])
    assert labels(memory)[:2] == ["0 4 1 5 2 6 3 7", "16 20 17 21 18 22 19 23"]
    assert memory.rows.rules == {4}
    assert classes(tile) == classes(memory) == {"block 0 of its group": 32, "block 1 of its group": 32}
    assert picture.facts == ("components of 4 bytes, blocks of 4 x 4, groups of 2 blocks (stride 2), 256 bytes",)


def test_blocks_in_column_order() -> None:
    tile, _ = picture_of(BlockedInterleaved("column", 8, 8, 4, 1)).panels
    assert tile.code[:, [0, 4]].tolist() == [[0, 0]] * 4 + [[1, 1]] * 4
    assert tile.looks[0].name == "even block"


def test_components_of_eight_bytes_lie_in_two_words() -> None:
    _, memory = picture_of(BlockedInterleaved("row", 4, 4, 8, 2)).panels
    assert labels(memory)[0] == "0 2 0 2 1 3 1 3"
    assert memory.title == "memory: rows of 8 words"


@pytest.mark.parametrize("order", ["row", "column"])
@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("stride", [1, 2, 4, 7])
def test_blocked_matrices_are_drawn_as_they_are_accessed(order: str, size: int, stride: int) -> None:
    rows, columns = 4 * stride, 16 // size * stride
    matrix = BlockedInterleaved("row" if order == "row" else "column", rows, columns, size, stride)
    element = matrix.access().element.reshape(-1)
    places = memory_places(picture_of(matrix).panels[1])
    assert places
    assert all(element[int(text)] == place for place, text in places.items())


def test_a_huge_blocked_matrix() -> None:
    tile, memory = picture_of(BlockedInterleaved("row", 1 << 20, 1 << 20, 1, 4), window=((1 << 19, 4), (0, 4))).panels
    assert labels(tile)[0] == " ".join(str((1 << 39) + column) for column in range(4))
    assert memory_places(memory)[1 << 39] == str(1 << 39)
