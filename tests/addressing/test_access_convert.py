"""Conversions between memrefs, tensor layouts and blocked layouts: equal element by element, or a reason."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from girih.addressing import (
    Access,
    AddressingError,
    BlockedInterleaved,
    LayoutTile,
    Strided,
    TensorLayout,
    TensorView,
    convert,
)
from girih.addressing.convert.tiles import Model
from tests.addressing.random_layouts import case_of


def elements(model: Model) -> list[int]:
    found: list[int] = model.access().element.reshape(-1).tolist()
    return found


def why(model: Model | TensorLayout, to: str) -> str:
    with pytest.raises(AddressingError) as caught:
        convert(model, to)
    (violation,) = caught.value.violations
    assert violation.rule == "convert.equivalent"
    return violation.message


class Reversed:
    """A model that walks down."""

    def access(self) -> Access:
        return Access(np.array([[3, 2, 1]]), np.zeros((1, 3), np.uint8))


def test_a_row_major_memref_is_a_plain_layout() -> None:
    assert convert(Strided((4, 6), (6, 1)), "tensor_layout") == LayoutTile(TensorLayout(2).set_dimension(4, 6), 4, 6)


def test_a_packed_memref_is_a_layout_with_reversed_dimensions() -> None:
    tile = convert(Strided((4, 6)), "tensor_layout")
    assert isinstance(tile, LayoutTile)
    assert tile.layout == TensorLayout(2).set_dimension(6, 4)
    tile = convert(Strided((8, 8)).subview((0, 4), (2, 6)), "tensor_layout")
    assert isinstance(tile, LayoutTile)
    assert tile.layout.dimension == (6, 4)
    assert tile.layout.stride == (8, 1)
    assert tile.view == TensorView(2, False, (1, 0))
    assert tile.element_offset == 16


def test_an_offset_that_is_not_aligned_goes_into_the_slice() -> None:
    tile = convert(Strided((4, 6), (10, 1), 21), "tensor_layout")
    assert isinstance(tile, LayoutTile)
    assert (tile.element_offset, tile.layout.offset) == (16, (5,))
    buffer = np.arange(64, dtype=np.uint8)
    assert np.array_equal(tile.load(buffer), Strided((4, 6), (10, 1), 21).load(buffer))


@pytest.mark.parametrize("order", ["row", "column"])
@pytest.mark.parametrize("stride", [1, 2])
def test_a_blocked_layout_of_words_is_a_tensor_layout_and_comes_back(order: str, stride: int) -> None:
    blocked = BlockedInterleaved("row" if order == "row" else "column", 16, 16, 4, stride)
    tile = convert(blocked, "tensor_layout")
    assert isinstance(tile, LayoutTile)
    assert elements(tile) == elements(blocked)
    assert convert(tile, "blocked_interleaved") == blocked
    memref = convert(blocked, "strided")
    assert elements(memref) == elements(blocked)


def test_space_to_depth_is_a_memref_of_more_modes() -> None:
    layout = TensorLayout(3).set_dimension(8, 8, 4)
    view = TensorView(5, True, (0, 2, 1, 3, 4)).set_dimension(4, 2, 4, 2, 4)
    memref = convert(LayoutTile(layout, 16, 16, view), "strided")
    assert memref == Strided((4, 4, 2, 8), (64, 8, 32, 1))


def test_memrefs_keep_the_shape_of_the_tile_where_they_can() -> None:
    sliced = TensorLayout(2).set_dimension(16, 20).slice((2, 4), (3, 8))
    assert convert(sliced, "strided") == Strided((4, 8), (20, 1), 43)
    assert convert(Strided((3, 1), (5, 9)), "strided") == Strided((3, 1), (5, 0))


def test_random_accesses_convert_exactly_or_say_why() -> None:
    draw = random.Random(5)
    converted = 0
    for _ in range(300):
        case = case_of(draw)
        tile = LayoutTile(case.layout, case.rows, case.columns, case.view)
        for to in ("strided", "tensor_layout", "blocked_interleaved"):
            try:
                result = convert(tile, to)
            except AddressingError as error:
                assert [one.rule for one in error.violations] == ["convert.equivalent"]
                continue
            converted += 1
            assert elements(result) == elements(tile)
            assert set(result.access().counts()) == {"in_bounds"}
    assert converted > 50


def test_reasons() -> None:
    layout = TensorLayout(2, "constant").set_dimension(4, 4)
    assert "4 filled" in why(layout.slice((2, 4), (0, 2)), "strided")
    assert "no nest of loops" in why(TensorLayout(1).set_block_size(3).set_dimension(8), "strided")
    assert "steps backwards" in why(Reversed(), "strided")
    assert "torn" in why(BlockedInterleaved("row", 4, 4, 8, 2), "strided")
    assert "dense from the start" in why(Strided((4, 4), (8, 1)), "blocked_interleaved")
    assert "no blocked_interleaved model" in why(Strided((8, 32), (32, 1)), "blocked_interleaved")
    assert "6 loops" in why(BlockedInterleaved("row", 8, 64, 1, 2), "tensor_layout")
    assert "32 bits" in why(Strided((2, 2), (2**32, 1)), "tensor_layout")


def test_rules_of_conversion() -> None:
    layout = TensorLayout(1).set_dimension(16)
    uses: list[tuple[Any, str, str]] = [(layout, "bytes", "convert.target"), (7, "strided", "convert.model")]
    for model, to, identifier in uses:
        with pytest.raises(AddressingError) as caught:
            convert(model, to)
        assert [one.rule for one in caught.value.violations] == [identifier]
    assert elements(convert(layout, "strided")) == list(range(16))


def test_a_layout_tile_loads_and_stores_through_its_layout() -> None:
    tile = LayoutTile(TensorLayout(2, "constant").set_dimension(4, 4).slice((2, 4), (0, 4)), 4, 4, None, 16)
    buffer = np.arange(32, dtype=np.uint8)
    loaded = tile.load(buffer)
    assert loaded.tolist() == [[24, 25, 26, 27], [28, 29, 30, 31], [0] * 4, [0] * 4]
    tile.store(buffer, loaded.astype(np.uint8) + np.uint8(100))
    assert buffer[24:].tolist() == list(range(124, 132))
    assert buffer[:24].tolist() == list(range(24))
    assert tile.lints() == ()
    assert LayoutTile(TensorLayout(1).set_dimension(4), 2, 4).lints()[0].rule == "tensor_layout.matrix_over_span"


def test_conversion_of_a_component_size() -> None:
    blocked = BlockedInterleaved("column", 8, 16, 2, 1)
    assert convert(blocked, "blocked_interleaved", component_size=2) == blocked
    assert elements(convert(Strided((8, 4), (4, 1)), "blocked_interleaved", component_size=4)) == list(range(32))
