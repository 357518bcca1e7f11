"""Pictures of tensor layouts, views, strided memrefs and accesses: tile, tensor and memory."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from girih.addressing import Access, AddressingError, Kind, LayoutTile, Strided, TensorLayout, TensorView
from girih.draw import DrawingError
from tests.addressing.random_layouts import case_of
from tests.draw.pictures import classes, labels, memory_places, picture_of

CORNER = TensorLayout(2, "constant").set_dimension(4, 5).slice((-1, 3), (3, 4)).set_clamp_value(7)
"""A tile that leaves its tensor above and on the right."""


def test_a_tile_is_numbered_in_order_and_coloured_by_class() -> None:
    picture = picture_of(CORNER)
    tile, tensor, memory = picture.panels
    assert labels(tile) == ["0 1 2 3", "4 5 6 7", "8 9 10 11"]
    assert classes(tile) == classes(tensor) == {"filled": 8, "in bounds": 4}
    assert classes(memory) == {"in bounds": 4}
    assert [words for _, words in picture.legend()] == ["in bounds: 4 elements", "filled: 8 elements"]
    assert picture.title == "3 x 4 matrix, load from a tensor layout, constant clamp mode"
    assert picture.facts == ("dimension 4 x 5, stride (5, 1), offset (-1, 3), span 3 x 4, fill 0x7",)


def test_what_lies_outside_is_drawn_around_the_tensor() -> None:
    tensor = picture_of(CORNER, panels="tensor").panels[0]
    assert tensor.rows.labels == ("-1", "0", "1", "2", "3")
    assert tensor.columns.labels == tuple("0123456")
    assert labels(tensor)[:3] == [". . . 0 1 2 3", ". . . 4 5 6 7", ". . . 8 9 10 11"]
    edge = tensor.frames[0]
    assert (edge.name, edge.top, edge.left, edge.bottom, edge.right) == ("edge of the tensor", 1, 0, 5, 5)


def test_an_edge_that_is_not_drawn_has_no_side() -> None:
    large = TensorLayout(2, "clamp_to_edge").set_dimension(1000, 1000).slice((996, 8), (500, 8))
    tensor = picture_of(large, panels="tensor").panels[0]
    assert tensor.frames[0].sides == (False, False, True, False)
    assert tensor.notes == (
        "dimension 0: lines 0-994 of 0-1003 are not drawn",
        "dimension 1: lines 0-498, 509-999 of 0-999 are not drawn",
    )


def test_memory_shows_where_the_elements_lie() -> None:
    memory = picture_of(CORNER, panels="memory").panels[0]
    assert labels(memory) == [". . . 4 5", ". . . 8 9", ". . . . .", ". . . . ."]
    assert memory.rows.labels == ("0", "5", "10", "15")


def test_elements_that_share_a_place() -> None:
    clamped = TensorLayout(1, "clamp_to_edge").set_dimension(4).slice((-2, 8))
    memory = picture_of(clamped, panels="memory").panels[0]
    assert labels(memory) == ["0-2 3 4 5-7"]
    assert memory.notes == ("0-2: elements 0 to 2 share a place",)
    repeated = picture_of(TensorLayout(1, "repeat").set_dimension(3).slice((0, 8)), panels="memory").panels[0]
    assert labels(repeated) == ["0+2 1+2 2+1"]
    assert repeated.notes == ("0+2: element 0 and 2 others share a place",)


def test_blocks_are_parted_by_rules_and_share_their_place_in_memory() -> None:
    blocked = TensorLayout(2).set_block_size(2, 4).set_dimension(4, 8)
    _, tensor, memory = picture_of(blocked).panels
    assert (sorted(tensor.rows.rules), sorted(tensor.columns.rules)) == ([2], [4])
    assert memory.title == "memory: rows of 2 blocks"
    assert labels(memory) == ["0+7 4+7", "16+7 20+7"]


def test_a_store_discards() -> None:
    assert picture_of(CORNER, store=True).counts == {"in bounds": 4, "discarded": 8}


def test_a_clip_skips() -> None:
    clip = TensorView(2).set_clip(1, 2, 0, 2)
    tile = LayoutTile(TensorLayout(2).set_dimension(4, 4), 4, 4, clip)
    assert classes(picture_of(tile).panels[0]) == {"in bounds": 4, "skipped": 12}


def test_every_plane_that_is_touched_has_a_panel() -> None:
    layout = TensorLayout(3, "constant").set_dimension(3, 4, 5).slice((1, 3), (0, 1), (0, 5))
    planes = picture_of(layout, panels="tensor").panels
    assert [plane.title for plane in planes] == [
        "dimension 0 = 1",
        "dimension 0 = 2",
        "dimension 0 = 3: outside the tensor",
    ]
    assert classes(planes[2]) == {"filled": 5}


def test_the_base_moves_the_elements() -> None:
    tile = LayoutTile(TensorLayout(1).set_dimension(4), 1, 4, element_offset=6)
    assert memory_places(picture_of(tile).panels[1]) == {6: "0", 7: "1", 8: "2", 9: "3"}


def test_a_view_by_itself() -> None:
    transposed = TensorView(2, True, (1, 0)).set_dimension(2, 3)
    tile, memory = picture_of(transposed).panels
    assert labels(tile) == ["0 1", "2 3", "4 5"]
    assert labels(memory) == ["0 2 4", "1 3 5"]


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (TensorView(2), "draw LayoutTile"),
        (TensorView(1, True).set_dimension(2).set_stride(2**32 - 1), "reaches over 4294967296 elements"),
        (TensorLayout(2), "call set_dimension"),
        (Access(np.zeros((2, 0), np.int64), np.zeros((2, 0), np.uint8)), "an access of 2 x 0 elements has nothing"),
    ],
)
def test_what_has_nothing_to_draw(model: object, says: str) -> None:
    with pytest.raises(DrawingError, match=says):
        picture_of(model)


@pytest.mark.parametrize("rows", [0, "4", -1])
def test_a_matrix_of_no_size_is_the_models_error(rows: Any) -> None:
    with pytest.raises(AddressingError, match="rows"):
        picture_of(LayoutTile(CORNER, rows, 4))


def test_a_tile_that_is_skipped_lies_nowhere() -> None:
    nothing = LayoutTile(CORNER, 3, 4, TensorView(2).set_clip(0, 0, 0, 0))
    assert picture_of(nothing, panels="tensor").panels == ()
    assert classes(picture_of(nothing).panels[0]) == {"skipped": 12}


def test_a_packed_memref_is_column_major() -> None:
    tile, memory = picture_of(Strided((2, 3))).panels
    assert labels(tile) == ["0 1 2", "3 4 5"]
    assert labels(memory) == ["0 3", "1 4", "2 5"]


def test_a_memref_with_gaps_and_an_offset() -> None:
    memory = picture_of(Strided((2, 2), (4, 1), 5)).panels[1]
    assert labels(memory) == [". . . .", ". 0 1 .", ". 2 3 ."]


def test_the_rows_of_a_tile_of_three_dimensions() -> None:
    tile = picture_of(Strided((2, 2, 3))).panels[0]
    assert tile.rows.labels == ("0,0", "0,1", "1,0", "1,1")
    assert (tile.rows.name, tile.columns.name) == ("i0, i1", "i2")
    assert tile.rows.rules == {2}


@pytest.mark.parametrize("shape", [(), (3,), (1, 1)])
def test_small_accesses(shape: tuple[int, ...]) -> None:
    element = np.arange(np.prod(shape, dtype=np.int64)).reshape(shape)
    picture = picture_of(Access(element, np.zeros(shape, np.uint8)))
    assert classes(picture.panels[0]) == {"in bounds": element.size}


def test_memory_is_folded_at_the_pitch_of_the_tile() -> None:
    rows = picture_of(Strided((3, 2), (10, 1), 11).access()).panels[1]
    assert rows.title == "memory: rows of 10 elements"
    assert labels(rows)[1:3] == [". 0 1 . . . . . . .", ". 2 3 . . . . . . ."]
    columns = picture_of(Strided((3, 2), (1, 5)).access()).panels[1]
    assert labels(columns) == ["0 2 4 . .", "1 3 5 . ."]
    assert picture_of(Strided((3, 2), (1, 1)).access()).panels[1].title == "memory: rows of 16 elements"


def test_a_memref_of_one_element() -> None:
    assert memory_places(picture_of(Strided((), (), 3)).panels[1]) == {3: "0"}


def test_an_access_of_nothing_in_memory() -> None:
    element, kind = np.full((2, 2), -1), np.full((2, 2), Kind.FILLED, np.uint8)
    picture = picture_of(Access(element, kind, fill=0x3C00))
    assert picture.facts == ("fill 0x3c00",)
    assert memory_places(picture.panels[1]) == {}


def test_a_large_tile_is_drawn_around_its_edges_and_says_what_is_left_out() -> None:
    layout = TensorLayout(2, "constant").set_dimension(1024, 1024).slice((-100, 1024), (0, 1024))
    tile = picture_of(layout).panels[0]
    assert tile.rows.labels == (*map(str, range(12)), "98", "99", "100", "101")
    assert tile.rows.gaps == {12}
    assert tile.notes == (
        "rows 12-97, 102-1023 of 0-1023 are not drawn",
        "columns 16-1023 of 0-1023 are not drawn",
    )


def test_a_window_chooses_the_part() -> None:
    layout = TensorLayout(2).set_dimension(1024, 1024)
    tile, memory = picture_of(layout, window=((500, 2), (1000, 3))).panels
    assert labels(tile) == ["513000 513001 513002", "514024 514025 514026"]
    assert {element: text for element, text in memory_places(memory).items() if text == "514025"} == {514025: "514025"}


@pytest.mark.parametrize(
    "model",
    [
        Strided((1 << 31, 1 << 31)),
        Strided((1 << 40, 1 << 20), (1, 1 << 40)),
        TensorLayout(2, "repeat").set_dimension(7, 9).slice((0, 5), (0, 2**32 - 1)),
        TensorLayout(2).set_dimension(65536, 65535),
    ],
)
def test_no_size_is_too_large(model: object) -> None:
    picture = picture_of(model)
    assert all(len(panel.rows) <= 18 and len(panel.columns) <= 18 for panel in picture.panels)
    assert "are not drawn" in picture.panels[0].notes[0]


@pytest.mark.parametrize("seed", range(60))
def test_random_layouts_are_drawn_as_they_are_accessed(seed: int) -> None:
    case = case_of(random.Random(seed))
    picture = picture_of(LayoutTile(case.layout, case.rows, case.columns, case.view), store=case.store)
    access = case.layout.access(case.rows, case.columns, case.view, case.store)
    tile = next(panel for panel in picture.panels if panel.title.startswith("tile"))
    for row, texts in enumerate(tile.labels):
        for column, text in enumerate(texts):
            assert tile.code[row, column] == access.kind.reshape(-1)[int(text)]
    for element, text in memory_places(picture.panels[-1]).items():
        numbers = np.flatnonzero(access.element.reshape(-1) == element).tolist()
        is_run = len(numbers) > 1 and numbers[-1] - numbers[0] == len(numbers) - 1
        shared = f"-{numbers[-1]}" if is_run else f"+{len(numbers) - 1}" if len(numbers) > 1 else ""
        assert text == f"{numbers[0]}{shared}"
