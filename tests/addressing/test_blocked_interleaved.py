"""Blocked-interleaved layouts against the formula element by element, and against the words of 002 step by step."""

from __future__ import annotations

from typing import Any, Literal

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from girih.addressing import AddressingError, BlockedInterleaved

Array = NDArray[Any]
Order = Literal["row", "column"]

ORDERS: tuple[Order, ...] = ("row", "column")
SIZES = (1, 2, 4, 8)
STRIDES = (1, 2, 3, 4)


def by_formula(layout: BlockedInterleaved, row: int, column: int) -> int:
    """The byte of an element as a formula of plain integers."""
    per_block = 16 // layout.component_size
    if layout.order == "row":
        block = row // 4 * (layout.columns // per_block) + column // per_block
    else:
        block = column // per_block * (layout.rows // 4) + row // 4
    inside = row % 4 * 16 + column % per_block * layout.component_size
    group, member = divmod(block, layout.stride)
    return (group * 16 * layout.stride + inside // 4 * layout.stride + member) * 4 + inside % 4


def by_words(layout: BlockedInterleaved, matrix: Array) -> bytes:
    """002 read aloud: cut into blocks, put them in order, deal out their words in groups."""
    per_block = 16 // layout.component_size
    places = [(row, column) for row in range(0, layout.rows, 4) for column in range(0, layout.columns, per_block)]
    if layout.order == "column":
        places.sort(key=lambda place: (place[1], place[0]))
    blocks = [matrix[row : row + 4, column : column + per_block].tobytes() for row, column in places]
    memory = b""
    for first in range(0, len(blocks), layout.stride):
        group = blocks[first : first + layout.stride]
        memory += b"".join(block[word : word + 4] for word in range(0, 64, 4) for block in group)
    return memory


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("stride", STRIDES)
def test_every_element_lies_where_the_text_puts_it(order: Order, size: int, stride: int) -> None:
    layout = BlockedInterleaved(order, 48, 192, size, stride)
    matrix = np.random.default_rng(stride).integers(0, 2 ** (8 * size) - 1, (48, 192), np.uint64).astype(f"u{size}")
    memory = np.frombuffer(by_words(layout, matrix), matrix.dtype)
    assert np.array_equal(layout.load(memory), matrix)
    buffer = np.zeros(48 * 192, matrix.dtype)
    layout.store(buffer, matrix)
    assert np.array_equal(buffer, memory)
    element = layout.access().element
    first = element if element.ndim == 2 else element[..., 0]
    formula = np.array([[by_formula(layout, row, column) for column in range(192)] for row in range(48)])
    assert np.array_equal(first, formula // layout.unit_bytes)
    assert np.array_equal(np.sort(element, axis=None), np.arange(element.size))


def test_an_access_names_the_block_and_the_place_in_it() -> None:
    layout = BlockedInterleaved("row", 8, 16, 2, 2)
    access = layout.access()
    assert access.block is not None
    assert access.within is not None
    assert access.block[5, 11].tolist() == [1, 1]
    assert access.within[5, 11].tolist() == [1, 3]
    assert access.counts() == {"in_bounds": 128}


def test_components_of_8_bytes_are_torn_when_interleaved() -> None:
    whole, torn = BlockedInterleaved("row", 4, 4, 8, 1), BlockedInterleaved("row", 4, 4, 8, 2)
    assert (whole.unit_bytes, whole.access().shape) == (8, (4, 4))
    assert (torn.unit_bytes, torn.access().shape) == (4, (4, 4, 2))
    assert torn.access().element[0].tolist() == [[0, 2], [4, 6], [1, 3], [5, 7]]


def test_bfloat16_components() -> None:
    layout = BlockedInterleaved("column", 8, 8, 2, 2)
    matrix = np.arange(64).reshape(8, 8).astype(ml_dtypes.bfloat16)
    buffer = np.zeros(64, ml_dtypes.bfloat16)
    layout.store(buffer, matrix)
    assert np.array_equal(layout.load(buffer), matrix)
    assert not np.array_equal(buffer, matrix.reshape(-1))


def test_one_error_lists_every_rule_that_is_broken() -> None:
    with pytest.raises(AddressingError) as caught:
        BlockedInterleaved("row", 6, 20, 2, 3, revision=2)
    rules = [one.rule.split(".")[1] for one in caught.value.violations]
    assert rules == ["rows", "columns", "row_group", "stride_revision_2"]
    assert "pad the matrix to 24 columns" in str(caught.value)


def test_a_refused_store_writes_nothing() -> None:
    buffer = np.zeros(63, np.float32)
    with pytest.raises(AddressingError, match="buffer_too_small"):
        BlockedInterleaved("row", 4, 16, 4, 1).store(buffer, np.ones((4, 16), np.float32))
    assert not buffer.any()


def test_the_size_in_memory_and_its_limit() -> None:
    assert BlockedInterleaved("row", 4, 16, 4, 1).byte_size == 256
    with pytest.raises(AddressingError, match=r"= 1099511627776 elements"):
        BlockedInterleaved("row", 2**20, 2**20, 1, 1).access()
