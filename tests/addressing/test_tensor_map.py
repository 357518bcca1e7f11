"""Tensor maps: copies against the loops of the brute force, and what they do one by one."""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from girih.addressing import AddressingError
from girih.addressing.tensor_map.model import TensorMap
from tests.addressing.random_tensor_maps import KINDS, compare

Array = NDArray[Any]


@pytest.mark.parametrize("kind", KINDS)
def test_random_copies_are_those_of_the_loops(kind: str) -> None:
    compare(kind, 40)


def matrix(dtype: Any = np.float32, rows: int = 8, columns: int = 16) -> Array:
    return np.arange(1, rows * columns + 1).reshape(rows, columns).astype(dtype)


def memory_of(array: Array) -> NDArray[np.uint8]:
    return array.reshape(-1).view(np.uint8)


def test_a_box_is_a_piece_of_the_array() -> None:
    array = matrix()
    image = TensorMap.of(array, (8, 4)).load(memory_of(array), (4, 2))
    assert np.array_equal(image.bytes.view(np.float32).reshape(4, 8), array[2:6, 4:12])
    assert image.written.all() and image.transaction_bytes == len(image) == 128


def test_source_says_where_every_byte_came_from() -> None:
    array = matrix()
    image = TensorMap.of(array, (8, 4)).load(memory_of(array), (12, 7))
    assert image.source[:16].tolist() == list(range(7 * 64 + 48, 8 * 64))
    assert image.counts() == {"copied": 16, "filled": 112, "untouched": 0}


def test_a_box_starts_before_the_tensor() -> None:
    array = matrix()
    image = TensorMap.of(array, (8, 4)).load(memory_of(array), (-4, -1))
    expected = np.zeros((4, 8), np.float32)
    expected[1:, 4:] = array[:3, :4]
    assert np.array_equal(image.bytes.view(np.float32).reshape(4, 8), expected)


@pytest.mark.parametrize(
    ("dtype", "bits"), [("float16", 0x7FF7), ("float32", 0x7FF77FF7), ("float64", 0x7FF77FF77FF77FF7)]
)
def test_nan_fill(dtype: str, bits: int) -> None:
    array = matrix(dtype)
    given = TensorMap.of(array, (8, 1), oob_fill="nan")
    image = given.load(memory_of(array), (0, 8))
    assert set(image.bytes.view(f"u{array.itemsize}").tolist()) == {bits}
    assert given.access((0, 8)).fill == bits


def test_swizzled_rows_leave_gaps() -> None:
    array = matrix(np.uint8, 4, 64)
    image = TensorMap.of(array, (48, 4), swizzle="64B").load(memory_of(array), (0, 0))
    assert len(image) == 4 * 64
    assert image.transaction_bytes == image.written.sum() == 4 * 48
    assert not image.bytes[~image.written].any()


def test_the_swizzle_depends_on_the_shared_address() -> None:
    array = matrix(np.uint8, 8, 128)
    given = TensorMap.of(array, (128, 8), swizzle="128B")
    whole = given.load(memory_of(array), (0, 0)).bytes.reshape(8, 128)
    moved = given.load(memory_of(array), (0, 0), shared_address=256).bytes.reshape(8, 128)
    assert np.array_equal(whole[2].reshape(8, 16), array[2].reshape(8, 16)[np.arange(8) ^ 2])
    assert np.array_equal(moved[0].reshape(8, 16), array[0].reshape(8, 16)[np.arange(8) ^ 2])


def test_tf32_rounds_to_nearest_even_and_has_one_nan() -> None:
    bits = np.array([0x3F801000, 0x3F803000, 0x3F801001, 0xFF800001, 0x7F800000, 0x3F800FFF, 0, 0x80000000], np.uint32)
    given = TensorMap.of(bits.view(np.float32), (8,), dtype="tf32")
    found = given.load(bits.view(np.uint8), (0,)).bytes.view(np.uint32)
    assert [hex(value) for value in found.tolist()] == [
        "0x3f800000", "0x3f804000", "0x3f802000", "0x7fffe000", "0x7f800000", "0x3f800000", "0x0", "0x80000000",
    ]  # fmt: skip


def test_a_store_overwrites_the_padding_of_rows() -> None:
    memory = np.zeros(4 * 32, np.uint8)
    given = TensorMap.tiled(dtype="u8", global_dim=(20, 4), global_strides=(32,), box_dim=(32, 2))
    given.store(np.full(64, 7, np.uint8), memory, (0, 3))
    assert memory.reshape(4, 32).any(axis=1).tolist() == [False, False, False, True]
    given.store(np.full(64, 9, np.uint8), memory, (16, 0))
    assert memory.reshape(4, 32)[0].tolist() == [0] * 16 + [9] * 16


def test_a_load_and_a_store_are_inverse() -> None:
    array = matrix(np.float16, 16, 64)
    given = TensorMap.of(array, (64, 16), swizzle="128B")
    image = given.load(memory_of(array), (0, 0))
    other = np.zeros_like(array)
    given.store(image.bytes, memory_of(other), (0, 0))
    assert np.array_equal(other, array)


@pytest.mark.parametrize(
    ("operation", "dtype", "expected"),
    [
        ("add", np.float16, lambda old, new: old + new),
        ("min", ml_dtypes.bfloat16, np.minimum),
        ("max", np.int64, np.maximum),
        ("xor", np.int32, np.bitwise_xor),
        ("add", np.float32, lambda old, new: old + new),
    ],
)
def test_reductions(operation: str, dtype: Any, expected: Any) -> None:
    old, new = matrix(dtype), matrix(dtype)[::-1].copy()
    memory = old.copy()
    TensorMap.of(memory, (16, 8)).reduce(operation, memory_of(new), memory_of(memory), (0, 0))
    assert np.array_equal(memory, expected(old, new))


@pytest.mark.parametrize(
    ("operation", "old", "limit", "new"),
    [("inc", 7, 9, 8), ("inc", 9, 9, 0), ("dec", 0, 9, 9), ("dec", 10, 9, 9), ("dec", 5, 9, 4)],
)
def test_counting_wraps_at_the_limit(operation: str, old: int, limit: int, new: int) -> None:
    memory, limits = np.full((1, 4), old, np.uint32), np.full(4, limit, np.uint32)
    TensorMap.of(memory, (4, 1)).reduce(operation, memory_of(limits), memory_of(memory), (0, 0))
    assert memory.tolist() == [[new] * 4]


def test_an_element_that_the_box_names_twice_is_reduced_twice() -> None:
    memory = np.zeros(4, np.uint32)
    given = TensorMap.tiled(dtype="u32", global_dim=(4, 3), global_strides=(0,), box_dim=(4, 3))
    given.reduce("add", memory_of(np.arange(12, dtype=np.uint32)), memory_of(memory), (0, 0))
    assert memory.tolist() == [12, 15, 18, 21]


def test_gather_reads_four_rows_and_scatter_writes_them() -> None:
    array = matrix()
    given = TensorMap.of(array, (8, 1), architecture="sm_100a")
    image = given.gather4(memory_of(array), 4, (2, 5, 0, 9))
    found = image.bytes.view(np.float32).reshape(4, 8)
    assert np.array_equal(found[:3], array[[2, 5, 0], 4:12]) and not found[3].any()
    other = np.zeros_like(array)
    access = given.gather4_access(4, (2, 5, 0, 9))
    assert access.shape == (4, given.inner_elements)
    assert np.array_equal(access.element.reshape(-1), image.source[:: array.itemsize] // array.itemsize)
    assert access.counts() == {"in_bounds": 24, "filled": 8}
    assert given.gather4_access(4, (2, 5, 0, 9), store=True).counts() == {"in_bounds": 24, "discarded": 8}
    given.scatter4(image.bytes, memory_of(other), 4, (2, 5, 0, 9))
    expected = np.zeros_like(array)
    expected[[2, 5, 0], 4:12] = array[[2, 5, 0], 4:12]
    assert np.array_equal(other, expected)


def test_interleaved_slices() -> None:
    """NC/8HWC8: 2 images, 2 slices of 8 channels, 4 rows, 5 columns."""
    array = np.arange(2 * 2 * 4 * 5 * 8, dtype=np.uint16).reshape(2, 2, 4, 5, 8)
    given = TensorMap.tiled(
        dtype="u16",
        global_dim=(5, 4, 2, 2),
        global_strides=(80, 320, 640),
        box_dim=(8, 2, 1, 1),
        element_strides=(2, 1, 1, 1),
        interleave="16B",
    )
    image = given.load(memory_of(array), (1, 2, 1, 0))
    found = image.bytes.view(np.uint16).reshape(2, 4, 8)
    assert np.array_equal(found[:, :2], array[0, 1, 2:4, 1::2])
    assert not found[:, 2:].any()
    assert given.access((1, 2, 1, 0)).shape == (1, 1, 2, 4, 8)


def test_access_counts_elements_from_the_address_of_the_map() -> None:
    array = matrix()
    found = TensorMap.of(array, (4, 2)).access((12, 6))
    assert np.array_equal(array.reshape(-1)[found.element], array[6:8, 12:])
    assert TensorMap.of(array, (4, 2)).access((16, 7), store=True).counts() == {"discarded": 8}


def test_the_map_of_an_array_has_its_shape_and_strides() -> None:
    array = np.zeros((6, 5, 4, 16), ml_dtypes.bfloat16)[:, ::2]
    given = TensorMap.of(array, (16, 4, 1, 1), swizzle="32B", oob_fill="nan")
    assert (given.dtype, given.global_dim, given.global_strides) == ("bf16", (16, 4, 3, 6), (32, 256, 640))
    line = TensorMap.of(np.zeros(40, np.uint8), (16,))
    assert (line.global_dim, line.global_strides) == ((40,), ())


def test_a_map_is_a_frozen_value() -> None:
    given = TensorMap.of(matrix(), (8, 4))
    assert given == TensorMap.of(matrix(), [8, 4]) and hash(given) == hash(dataclasses.replace(given))
    with pytest.raises(dataclasses.FrozenInstanceError):
        given.__setattr__("dtype", "u8")
    with pytest.raises(AddressingError):
        dataclasses.replace(given, box_dim=(8, 300))


def test_transaction_bytes_count_the_payload() -> None:
    given = TensorMap.tiled(
        dtype="u16", global_dim=(64, 8), global_strides=(128,), box_dim=(24, 7), element_strides=(1, 4), swizzle="64B"
    )
    assert (given.transaction_bytes, given.image_bytes) == (2 * 48, 2 * 64)
    assert [lint.rule for lint in given.lints()] == ["tensor_map.transaction_bytes"]
