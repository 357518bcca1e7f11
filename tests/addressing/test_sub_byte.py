"""Sub-byte types: what lies where in both memories (004 5.5.1.1.1)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from girih.addressing.tensor_map.element_type import ELEMENT_TYPES
from girih.addressing.tensor_map.model import TensorMap
from girih.addressing.tensor_map.sub_byte import pack_six_bits, unpack


def row_map(dtype: str, **changed: Any) -> TensorMap:
    """A matrix of 2 rows of 128 elements."""
    base: dict[str, Any] = {"global_dim": (128, 2), "global_strides": (128,), "box_dim": (128, 2)}
    return TensorMap.tiled(dtype=dtype, architecture="sm_100a", **base | changed)


MEMORY = np.arange(256, dtype=np.uint8)


def test_b4x16_is_copied_as_it_is() -> None:
    image = row_map("b4x16").load(MEMORY, (0, 0))
    assert image.bytes.tolist() == [*range(64), *range(128, 192)]
    assert image.transaction_bytes == 128


@pytest.mark.parametrize(("dtype", "data"), [("b4x16_p64", 8), ("b6x16_p32", 12)])
def test_padded_types_leave_room_after_sixteen_elements(dtype: str, data: int) -> None:
    image = row_map(dtype).load(MEMORY, (0, 0))
    groups = image.source.reshape(2, 8, 16)
    assert groups[0, :, :data].reshape(-1).tolist() == list(range(8 * data))
    assert groups[1, :, :data].reshape(-1).tolist() == list(range(128, 128 + 8 * data))
    assert (groups[:, :, data:] == -2).all()
    assert image.transaction_bytes == 2 * 8 * data


def test_b6p2x16_drops_the_two_high_bits() -> None:
    memory = np.full(256, 0xCD, np.uint8)
    elements = np.arange(256, dtype=np.uint8)
    row_map("b6p2x16").store(elements, memory, (0, 0))
    six = ELEMENT_TYPES["b6p2x16"]
    assert unpack(six, memory[:96]).tolist() == [value % 64 for value in range(128)]
    assert unpack(six, memory[128:224]).tolist() == [value % 64 for value in range(128, 256)]
    assert (memory[96:128] == 0xCD).all() and (memory[224:] == 0xCD).all()


def test_packing_and_unpacking_are_inverse() -> None:
    elements = np.random.default_rng(0).integers(0, 64, (3, 32), dtype=np.uint8)
    assert np.array_equal(unpack(ELEMENT_TYPES["b6x16_p32"], pack_six_bits(elements)), elements)


def test_four_bits_count_from_the_low_end_of_a_byte() -> None:
    assert unpack(ELEMENT_TYPES["b4x16"], np.array([0x21, 0x43], np.uint8)).tolist() == [1, 2, 3, 4]


def test_access_counts_elements_not_bytes() -> None:
    given = row_map("b4x16", global_dim=(64, 2), global_strides=(32,), box_dim=(32, 2))
    found = given.access((32, 1))
    assert found.element.tolist() == [list(range(96, 128)), [-1] * 32]
    assert found.counts() == {"in_bounds": 32, "filled": 32}


def test_access_to_six_bits() -> None:
    found = row_map("b6x16_p32", global_strides=(96,)).access((0, 0)).element
    assert np.array_equal(found, np.arange(256).reshape(2, 128))
