"""Tensor layouts and views: their state after each call, what an access says, loads and stores of NumPy arrays."""

from __future__ import annotations

import random
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from girih.addressing import AddressingError, Kind, TensorLayout, TensorView, load_tensor, store_tensor, tensor_index
from tests.addressing.brute_force import answers
from tests.addressing.random_layouts import case_of
from tests.addressing.tensor_layout_long import check_case, run

Array = NDArray[Any]


def plain(rows: int, columns: int) -> TensorLayout:
    return TensorLayout(2, "constant").set_dimension(rows, columns)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.randoms(use_true_random=False))
def test_an_access_is_that_of_the_loop(draw: random.Random) -> None:
    check_case(case_of(draw))


@pytest.mark.parametrize(("chunk", "table"), [(7, 1 << 14), (1 << 15, 0), (5, 3)])
def test_chunks_and_tables_do_not_matter(monkeypatch: pytest.MonkeyPatch, chunk: int, table: int) -> None:
    monkeypatch.setattr(tensor_index, "CHUNK", chunk)
    monkeypatch.setattr(tensor_index, "TABLE", table)
    run(300, seed=chunk)


def test_a_new_layout_is_as_the_text_says() -> None:
    layout = TensorLayout(3)
    assert (layout.clamp_mode, layout.block_size, layout.clamp_value) == ("undefined", (1, 1, 1), 0)
    assert layout.dimension == layout.stride == layout.offset == layout.span == (0, 0, 0)


def test_set_dimension_gives_strides_by_the_ceiling() -> None:
    layout = TensorLayout(3).set_block_size(1, 2, 4).set_dimension(3, 5, 10)
    assert layout.stride == (9, 3, 1)
    assert layout.span == (3, 5, 10)


def test_set_dimension_resets_slices_and_strides() -> None:
    layout = plain(4, 4).set_stride(9, 1).slice((1, 2), (1, 2)).set_dimension(5, 6)
    assert (layout.stride, layout.offset, layout.span) == ((6, 1), (0, 0), (5, 6))


def test_block_size_after_dimensions_keeps_the_strides() -> None:
    assert plain(8, 8).set_block_size(2, 2).stride == (8, 1)


def test_offsets_of_slices_add_and_spans_are_replaced() -> None:
    layout = plain(8, 8).slice((1, 5), (2, 5)).slice((3, 2), (-4, 3))
    assert (layout.offset, layout.span) == ((4, -2), (2, 3))


def test_values_are_frozen_and_compare() -> None:
    assert plain(4, 4) == plain(4, 4)
    assert hash(plain(4, 4)) == hash(plain(4, 4))
    assert plain(4, 4) != plain(4, 5)
    layout: Any = plain(4, 4)
    with pytest.raises(AttributeError):
        layout.dim = 3


def test_a_new_view_runs_through_the_dimensions_in_order() -> None:
    view = TensorView(3)
    assert (view.permutation, view.clip) == ((0, 1, 2), (0, 2**32 - 1, 0, 2**32 - 1))
    assert TensorView(3, True).set_dimension(2, 3, 4).stride == (12, 4, 1)


def test_kinds_and_words() -> None:
    access = plain(2, 2).slice((-1, 2), (0, 2)).access(2, 3, TensorView(2).set_clip(0, 2, 1, 2))
    assert access.words.tolist() == [["skipped", "filled", "filled"], ["skipped", "in_bounds", "in_bounds"]]
    assert access.counts() == {"in_bounds": 2, "filled": 2, "skipped": 2}
    assert access.element.tolist() == [[-1, -1, -1], [-1, 0, 1]]


@pytest.mark.parametrize(
    ("mode", "line"),
    [
        ("constant", [-1, -1, 0, 1, 2, -1, -1]),
        ("clamp_to_edge", [0, 0, 0, 1, 2, 2, 2]),
        ("repeat", [1, 2, 0, 1, 2, 0, 1]),
        ("mirror_repeat", [2, 1, 0, 1, 2, 1, 0]),
        ("undefined", [-1, -1, 0, 1, 2, -1, -1]),
    ],
)
def test_clamp_modes(mode: Any, line: list[int]) -> None:
    layout = TensorLayout(1, mode).set_dimension(3).slice((-2, 7))
    assert layout.access(1, 7).element.tolist() == [line]
    stored = layout.access(1, 7, store=True)
    assert stored.element.tolist() == [[-1, -1, 0, 1, 2, -1, -1]]
    kind = Kind.UNDEFINED if mode == "undefined" else Kind.DISCARDED
    assert stored.kind[0].tolist() == [kind, kind, 0, 0, 0, kind, kind]


def test_a_clip_region_past_the_end_does_not_wrap() -> None:
    view = TensorView(2).set_clip(1, 2**32 - 1, 0, 2**32 - 1)
    access = plain(4, 4).access(4, 4, view)
    assert access.element.tolist() == [[-1] * 4, [0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_a_permuting_view_transposes() -> None:
    buffer = np.arange(6, dtype=np.float32)
    loaded = load_tensor(np.zeros((3, 2), np.float32), buffer, 0, plain(2, 3), TensorView(2, False, (1, 0)))
    assert np.array_equal(loaded, buffer.reshape(2, 3).T)


def test_space_to_depth() -> None:
    height, width, channels = 8, 6, 4
    image = np.arange(height * width * channels, dtype=np.int32)
    layout = TensorLayout(3).set_dimension(height, width, channels)
    view = TensorView(5, True, (0, 2, 1, 3, 4)).set_dimension(height // 2, 2, width // 2, 2, channels)
    shape = (height * width // 4, 4 * channels)
    wanted = image.reshape(height // 2, 2, width // 2, 2, channels).transpose(0, 2, 1, 3, 4).reshape(shape)
    assert np.array_equal(load_tensor(np.zeros(shape, np.int32), image, 0, layout, view), wanted)


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint16, np.float16, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]
)
def test_component_types_and_the_low_bits_of_the_clamp_value(dtype: Any) -> None:
    buffer = np.arange(16).astype(dtype)
    layout = plain(4, 4).slice((0, 4), (1, 4)).set_clamp_value(0x7FC0BE57)
    loaded = load_tensor(np.zeros((4, 4), dtype), buffer, 0, layout)
    assert loaded.dtype == np.dtype(dtype)
    assert np.array_equal(loaded[:, :3], buffer.reshape(4, 4)[:, 1:])
    size = loaded.itemsize
    assert loaded[0, 3:].view(f"u{size}")[0] == 0x7FC0BE57 & (2 ** (8 * size) - 1)


@pytest.mark.parametrize("element", [np.int8, np.float16, np.float64, np.complex128, "i4,i4"])
def test_a_buffer_of_any_type_is_the_bytes_from_the_offset_on(element: Any) -> None:
    """A component is as many bytes as the matrix says, counted from the base by the loop."""
    raw = (np.arange(384) % 251).astype(np.uint8)
    base = 64
    layout, view = plain(5, 8).slice((-1, 4), (3, 8)), TensorView(2, False, (1, 0))
    for dtype in (np.int8, np.uint16, np.int32, np.float64):
        size = np.dtype(dtype).itemsize
        buffer = raw.view(element)
        loaded = load_tensor(np.zeros((4, 5), dtype), buffer, base // buffer.itemsize, layout, view)
        wanted = np.zeros((4, 5), dtype)
        for i, line in enumerate(answers(layout, 4, 5, view)):
            for j, one in enumerate(line):
                if one.element >= 0:
                    place = base + one.element * size
                    wanted[i, j] = raw[place : place + size].view(dtype)[0]
        assert np.array_equal(loaded, wanted)
        target = np.zeros(384, np.uint8)
        store_tensor(loaded, target.view(element), base // buffer.itemsize, layout, view)
        changed = np.flatnonzero(target)
        assert changed.size and np.array_equal(target[changed], raw[changed])


def test_a_load_leaves_its_arguments_alone() -> None:
    matrix, buffer = np.full((4, 4), 7.0, np.float32), np.arange(16, dtype=np.float32)
    buffer.flags.writeable = False
    loaded = load_tensor(matrix, buffer, 0, plain(4, 4), TensorView(2).set_clip(1, 2, 0, 4))
    assert (matrix == 7).all()
    assert loaded[0].tolist() == [7] * 4
    assert loaded[1].tolist() == [0, 1, 2, 3]


def test_a_store_goes_where_the_load_came_from() -> None:
    matrix = np.arange(16, dtype=np.float32).reshape(4, 4)
    buffer = np.full((8, 8), -1, np.float32)
    store_tensor(matrix, buffer, 0, plain(8, 8).slice((6, 4), (2, 4)))
    assert np.array_equal(buffer[6:, 2:6], matrix[:2])
    assert (buffer == -1).sum() == 64 - 8


def test_a_fortran_buffer_is_read_in_the_order_of_its_memory() -> None:
    buffer = np.asfortranarray(np.arange(12, dtype=np.int32).reshape(3, 4))
    loaded = load_tensor(np.zeros((4, 3), np.int32), buffer, 0, plain(4, 3))
    assert np.array_equal(loaded, buffer.T)


def test_block_size_without_decode_reads_the_component_at_the_blocks_index() -> None:
    layout = TensorLayout(2).set_block_size(2, 2).set_dimension(4, 4)
    loaded = load_tensor(np.zeros((4, 4), np.int32), np.arange(4, dtype=np.int32) * 10, 0, layout)
    assert loaded.tolist() == [[0, 0, 10, 10], [0, 0, 10, 10], [20, 20, 30, 30], [20, 20, 30, 30]]


def test_decode_of_32_weights_of_4_bits_and_a_scale() -> None:
    blocks = np.zeros(6, [("scale", np.float16), ("weights", np.uint8, 16)])
    numbers = np.random.default_rng(0)
    blocks["scale"], blocks["weights"] = numbers.random(6), numbers.integers(0, 256, (6, 16))

    def decode(block: Array, block_coord: Array, coord_in_block: Array) -> Array:
        position = coord_in_block[:, 1]
        byte = np.take_along_axis(block["weights"], (position % 16)[:, None], 1)[:, 0]
        weight: Array = (np.where(position < 16, byte & 15, byte >> 4).astype(np.int8) - 8) * block["scale"]
        return weight

    layout = TensorLayout(2, "constant").set_block_size(1, 32).set_dimension(3, 64)
    loaded = load_tensor(np.zeros((3, 64), np.float32), blocks, 0, layout, decode=decode)
    low, high = blocks["weights"] & 15, blocks["weights"] >> 4
    whole = (np.concatenate([low, high], 1).astype(np.int8) - 8) * blocks["scale"][:, None]
    assert np.array_equal(loaded, whole.reshape(3, 64).astype(np.float32))


def test_decode_is_not_called_for_elements_outside() -> None:
    seen = []

    def decode(blocks: Array, block_coord: Array, coord_in_block: Array) -> Array:
        seen.append((len(blocks), block_coord.shape, coord_in_block.shape))
        return np.ones(len(blocks), np.float32)

    layout = TensorLayout(2, "constant").set_dimension(2, 2).slice((0, 4), (0, 4)).set_clamp_value(0x40000000)
    loaded = load_tensor(np.zeros((4, 4), np.float32), np.zeros((4, 3)), 0, layout, decode=decode)
    assert seen == [(4, (4, 2), (4, 2))]
    assert loaded.sum() == 4 * 1 + 12 * 2


def test_nothing_is_written_when_one_element_does_not_fit() -> None:
    buffer = np.zeros(15, np.float32)
    with pytest.raises(AddressingError, match="buffer_too_small"):
        store_tensor(np.ones((4, 4), np.float32), buffer, 0, plain(4, 4))
    assert not buffer.any()


def test_one_error_lists_every_rule_that_is_broken() -> None:
    wrong: Any = "wrap"
    with pytest.raises(AddressingError) as caught:
        TensorLayout(9, wrong)
    assert [one.rule for one in caught.value.violations] == ["tensor_layout.dim", "tensor_layout.clamp_mode"]
    assert "[000 OpTypeTensorLayoutNV]" in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_a_stride_too_small_says_by_how_much() -> None:
    with pytest.raises(AddressingError) as caught:
        plain(10, 10).set_stride(9, 1)
    (violation,) = caught.value.violations
    assert violation.message.endswith("1 * ceiling(10 / 1) = 10")
    assert violation.fix.startswith("make stride[0] at least 10")
    assert violation.source == "000 OpTensorLayoutSetStrideNV"


def test_the_driver_fills_past_the_span_in_the_plain_case() -> None:
    layout = plain(4, 4).slice((0, 2), (0, 2))
    assert layout.access(4, 2).element.tolist() == [[0, 1], [4, 5], [0, 1], [4, 5]]
    driver = layout.access(4, 2, quirks="nvidia-580")
    assert driver.element.tolist() == [[0, 1], [4, 5], [-1, -1], [-1, -1]]
    assert driver.counts() == {"in_bounds": 4, "filled": 4}


def test_a_load_lists_what_is_wrong_with_all_its_arguments() -> None:
    matrix, buffer = np.zeros((4, 4), np.float32), np.zeros(4, ">f8")
    layout = TensorLayout(2).set_dimension(4, 4).slice((2, 4), (0, 4))
    with pytest.raises(AddressingError) as caught:
        load_tensor(matrix, buffer, 3, layout, TensorView(3))
    assert [one.rule.split(".")[1] for one in caught.value.violations] == ["component", "alignment", "layout_dim"]
    with pytest.raises(AddressingError) as caught:
        load_tensor(matrix, buffer, 3, layout)
    found = [one.rule.split(".")[1] for one in caught.value.violations]
    assert found == ["component", "alignment", "undefined"]
    with pytest.raises(AddressingError) as caught:
        load_tensor(matrix, buffer.astype(np.float64), 3, layout)
    assert [one.rule.split(".")[1] for one in caught.value.violations] == ["alignment", "undefined", "buffer_too_small"]
    assert caught.value.violations[2].message == "element [1, 3] begins at byte 84 of a buffer of 32 bytes"
