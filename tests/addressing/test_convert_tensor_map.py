"""Conversions to and from tensor maps: the same elements and the same bytes, or every reason why there is none."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import numpy as np
import pytest

from girih.addressing import (
    Access,
    AddressingError,
    BlockedInterleaved,
    Kind,
    LayoutTile,
    MapTile,
    Strided,
    TensorLayout,
    TensorMap,
    TensorView,
    Violation,
    convert,
)
from girih.addressing.convert.tiles import Model
from girih.addressing.tensor_layout import ClampMode
from tests.addressing import random_tensor_maps as maps
from tests.addressing.random_layouts import case_of


def why(model: object, to: str = "tensor_map", **options: Any) -> tuple[Violation, ...]:
    with pytest.raises(AddressingError) as caught:
        convert(model, to, **options)
    assert caught.value.what == f"convert to {to}"
    return caught.value.violations


def words(model: object, to: str = "tensor_map", **options: Any) -> list[str]:
    return [one.message for one in why(model, to, **options)]


def same(one: Model, other: Model) -> bool:
    """Element by element in a Python loop: the same places, the same fills; what is undefined may be anything."""
    came, wanted = one.access(), other.access()
    pairs = zip(came.element.flat, came.kind.flat, wanted.element.flat, wanted.kind.flat, strict=True)
    return all(kind == Kind.UNDEFINED or (a, first) == (b, kind) for a, first, b, kind in pairs)


def as_map(model: object, **options: Any) -> MapTile:
    found = convert(model, "tensor_map", **options)
    assert isinstance(found, MapTile)
    return found


def test_a_slice_of_a_layout_is_the_box_of_its_tensor() -> None:
    layout = TensorLayout(2, "constant").set_dimension(100, 64).slice((96, 8), (-8, 16))
    tile = as_map(layout, dtype="bf16", global_address=4096)
    wanted = TensorMap.tiled(
        dtype="bf16", global_dim=(64, 100), global_strides=(128,), box_dim=(16, 8), global_address=4096
    )
    assert tile == MapTile(wanted, (-8, 96))
    assert convert(tile, "tensor_layout") == LayoutTile.of_span(layout)


def test_the_bytes_of_both_loads_are_equal() -> None:
    layout = TensorLayout(3, "constant").set_dimension(3, 7, 20).set_stride(200, 24, 1).slice((1, 4), (-2, 5), (16, 8))
    source = LayoutTile(layout, 20, 8, None, 16)
    memory = np.random.default_rng(0).integers(1, 99, 700, dtype=np.int16)
    image = as_map(source, dtype="u16").load(memory.view(np.uint8))
    assert np.array_equal(image.bytes.view(np.int16), source.load(memory).reshape(-1))
    assert image.counts()["filled"] > 0


def test_random_layouts_with_room_for_a_box_are_one_copy() -> None:
    draw = random.Random(1)
    for _ in range(150):
        dim, size = draw.randint(1, 5), draw.choice((1, 2, 4, 8))
        unit = 16 // size
        sizes = [draw.randint(1, 6) for _ in range(dim - 1)] + [unit * draw.randint(1, 4) - draw.randint(0, 1)]
        strides = [1]
        for inner in sizes[:0:-1]:
            step = strides[0] * inner if len(strides) > 1 else -(-inner // unit) * unit
            strides.insert(0, step + unit * draw.randint(0, 1))
        slices = [(draw.randint(-3, outer), draw.randint(1, 5)) for outer in sizes[:-1]]
        slices.append((unit * draw.randint(-1, 2), unit * draw.randint(1, 3)))
        mode: ClampMode = draw.choice(("constant", "undefined"))
        layout = TensorLayout(dim, mode).set_dimension(*sizes).set_stride(*strides).slice(*slices)
        tile = as_map(layout, component_size=size)
        assert same(tile, LayoutTile.of_span(layout))
        assert tile.tensor_map.box_dim == layout.span[::-1]
        if mode == "constant":
            assert same(convert(tile, "tensor_layout"), tile)


def test_random_accesses_are_equal_or_say_why() -> None:
    draw = random.Random(6)
    converted = 0
    for _ in range(400):
        case = case_of(draw)
        source = LayoutTile(case.layout, case.rows, case.columns, case.view)
        try:
            tile = as_map(source, component_size=draw.choice((1, 2, 4, 8)))
        except AddressingError as error:
            assert all(one.message and one.fix for one in error.violations)
            continue
        converted += 1
        assert same(tile, source)
    assert converted > 1


def test_random_copies_become_layouts_and_memrefs_or_say_why() -> None:
    generator = np.random.default_rng(2)
    counts = dict.fromkeys(("tensor_layout", "strided", "blocked_interleaved"), 0)
    for number, to in product(range(120), counts):
        dtype = ("u8", "f16", "s32", "f64")[number % 4]
        given, start = maps.tiled(generator, dtype, False)
        source = MapTile(given, tuple(start), None, 64 * (number % 3))
        try:
            found = convert(source, to)
        except AddressingError as error:
            assert all(one.message and one.fix for one in error.violations)
            if to == "tensor_layout" and given.swizzle == "none" and given.oob_fill == "zero" and given.rank < 5:
                assert {one.rule.split(".")[0] for one in error.violations} == {"tensor_layout"}, error
            continue
        counts[to] += 1
        assert same(found, source)
    assert counts["tensor_layout"] > 15 and counts["strided"] > 5


def is_nest(first: list[int], dimensions: int, unit: int) -> bool:
    """Whether these row starts are a nest of so many loops of at most 256 steps of whole units; every way is tried."""
    if len(first) == 1:
        return True
    stride = first[1] - first[0]
    if not dimensions or stride < 0 or stride % unit:
        return False
    for size in range(2, min(len(first), 256) + 1):
        if first[size - 1] - first[size - 2] != stride:
            return False
        blocks = [first[start : start + size] for start in range(0, len(first), size)]
        regular = len(first) % size == 0 and all(
            number - block[0] == step * stride for block in blocks for step, number in enumerate(block)
        )
        if regular and is_nest(first[::size], dimensions - 1, unit):
            return True
    return False


def is_one_box(element: list[int], size: int) -> bool:
    """Whether some tiled map brings these elements of `size` bytes in this order: every inner extent is tried."""
    unit = 16 // size
    if element[0] % unit or len(element) * size > 256 * 1024:
        return False
    for inner in range(unit, min(len(element), 256) + 1, unit):
        rows = [element[start : start + inner] for start in range(0, len(element), inner)]
        whole = len(element) % inner == 0 and all(row == list(range(row[0], row[0] + inner)) for row in rows)
        if whole and is_nest([row[0] for row in rows], 4, unit):
            return True
    return False


def test_where_no_copy_is_found_there_is_none() -> None:
    draw = random.Random(3)
    counts = {True: 0, False: 0}
    for _ in range(200):
        size = draw.choice((1, 2, 4, 8))
        shape = [draw.choice((1, 2, 3, 4)) for _ in range(draw.randint(0, 4))] + [draw.choice((2, 4, 8, 16, 48, 272))]
        strides = [draw.choice((1, 1, 1, 1, 2))]
        for inner in reversed(shape[1:]):
            strides.insert(0, draw.choice((strides[0] * inner, strides[0] * inner, 16 * draw.randint(0, 9), 24)))
        source = Strided(tuple(shape), tuple(strides), draw.choice((0, 16, 64, 8)))
        exists = is_one_box(source.access().element.reshape(-1).tolist(), size)
        counts[exists] += 1
        if exists:
            assert same(as_map(source, component_size=size), source)
        else:
            assert why(source, component_size=size)
    assert min(counts.values()) > 40, counts


def test_steps_that_are_never_taken_may_be_anything() -> None:
    row = TensorLayout(2, "constant").set_dimension(1, 20).slice((-1, 3), (16, 8))
    assert same(as_map(row, dtype="f16"), LayoutTile.of_span(row))
    inside = TensorLayout(3, "constant").set_dimension(4, 3, 20).set_stride(100, 32, 1).slice((2, 1), (1, 3), (8, 16))
    tile = as_map(LayoutTile(inside, 3, 16, None, 8), dtype="u16")
    assert tile.element_offset == 208 and same(tile, LayoutTile(inside, 3, 16, None, 8))


def test_a_tile_larger_than_shared_memory_is_no_copy() -> None:
    (broken,) = why(Strided((6, 24, 272), (80, 16, 1)), dtype="f64")
    assert broken.message == "the box takes 313344 bytes of shared memory, over 262144"


def test_memrefs() -> None:
    tile = as_map(Strided((16, 64), (96, 1), 128), dtype="f16", global_address=2**20)
    given = tile.tensor_map
    assert (given.global_dim, given.global_strides, given.global_address) == ((64, 16), (192,), 2**20 + 256)
    assert (tile.coordinates, tile.element_offset) == ((0, 0), 128)
    assert convert(tile, "strided") == Strided((16, 64), (96, 1), 128)


def test_long_rows_are_several_dimensions_of_a_box() -> None:
    given = as_map(Strided((2, 1024), (2048, 1)), dtype="u8").tensor_map
    assert (given.box_dim, given.global_strides) == ((256, 4, 2), (256, 2048))
    assert as_map(Strided((600, 16), (16, 1)), dtype="u8").tensor_map.box_dim == (16, 200, 3)
    (broken,) = why(Strided((521, 16), (32, 1)), dtype="u8")
    assert broken.message == "box_dim[1] = 521 is outside 1 .. 256"


def test_a_blocked_matrix_without_interleaving_is_a_copy_of_four_dimensions() -> None:
    blocked = BlockedInterleaved("row", 16, 32, 2, 1)
    tile = as_map(blocked)
    assert (tile.tensor_map.dtype, tile.tensor_map.box_dim) == ("u16", (8, 4, 4, 4))
    assert convert(tile, "blocked_interleaved") == blocked
    assert same(as_map(BlockedInterleaved("column", 8, 8, 8, 1)), BlockedInterleaved("column", 8, 8, 8, 1))


def test_reshaping_and_folding_views() -> None:
    layout = TensorLayout(3).set_dimension(4, 8, 16)
    reshaped = TensorView(2, True).set_dimension(32, 16)
    assert as_map(LayoutTile(layout, 32, 16, reshaped), dtype="u8").tensor_map.box_dim == (16, 8, 4)
    plane = LayoutTile(layout, 8, 16)
    assert as_map(plane, dtype="u8").tensor_map.box_dim == (16, 8, 1)
    turned = LayoutTile(layout, 32, 16, TensorView(3, False, (1, 0, 2)))
    assert as_map(turned, dtype="u8").tensor_map.global_strides == (128, 16)
    assert words(LayoutTile(layout, 64, 8, TensorView(3, False, (0, 2, 1))), dtype="u8") == [
        "the view's permutation (0, 2, 1) puts dimension 1 innermost",
        "neighbours in the last axis of the tile are 16 elements apart, in a box they are contiguous",
        "global_strides[0] = 1 bytes is not a multiple of 16",
        "box_dim[0] = 8 is 8 bytes of u8, not a multiple of 16",
    ]
    skewed = TensorView(2, True).set_dimension(16, 16).set_stride(17, 1)
    assert words(LayoutTile(layout, 16, 16, skewed), dtype="u8")[0] == (
        "the view (dimensions (16, 16), strides (17, 1), permutation (0, 1)) reads 240 elements from elsewhere than "
        "the span in its own order, in which a tensor copy runs through its box"
    )


def test_a_permuting_view_is_a_copy_where_it_keeps_the_innermost_dimension() -> None:
    layout = TensorLayout(3, "constant").set_dimension(4, 8, 16).slice((2, 4), (-1, 8), (0, 16))
    source = LayoutTile(layout, 32, 16, TensorView(3, False, (1, 0, 2)))
    tile = as_map(source, dtype="u8")
    assert (tile.coordinates, tile.tensor_map.global_strides) == ((0, 2, -1), (128, 16))
    assert same(tile, source)
    assert convert(tile, "tensor_layout") == source


def test_a_start_that_is_not_aligned_moves_into_the_address_where_the_box_lies_inside() -> None:
    layout = TensorLayout(2).set_dimension(8, 64).slice((2, 2), (4, 16))
    tile = as_map(LayoutTile(layout, 2, 16, None, 12), dtype="u8")
    assert (tile.element_offset, tile.coordinates, tile.tensor_map.global_dim) == (16, (0, 2), (60, 8))
    (broken,) = why(LayoutTile(layout, 2, 16, None, 16), dtype="u8")
    assert broken.message == "the tensor starts at element 20 = byte 20 of the buffer, no multiple of 16 bytes"
    outside = TensorLayout(2, "constant").set_dimension(8, 64).slice((2, 2), (-4, 16))
    assert words(outside, dtype="u8") == ["coordinates[0] = -4 is -4 bytes of u8, not a multiple of 16"]


@pytest.mark.parametrize(
    ("dtype", "bits", "fill"), [("f16", 0x7FF7, "nan"), ("f32", 0x7FF77FF7, "nan"), ("u16", 0x70000, "zero")]
)
def test_fills_that_both_know(dtype: str, bits: int, fill: str) -> None:
    layout = TensorLayout(1, "constant").set_dimension(32).slice((16, 32)).set_clamp_value(bits)
    tile = as_map(layout, dtype=dtype)
    assert tile.tensor_map.oob_fill == fill
    back = convert(tile, "tensor_layout")
    size = tile.tensor_map.element.bits
    assert isinstance(back, LayoutTile) and (back.layout.clamp_value ^ bits) & ((1 << size) - 1) == 0


def test_a_fill_chooses_the_type_where_only_the_size_is_given() -> None:
    layout = TensorLayout(1, "constant").set_dimension(32).slice((16, 32)).set_clamp_value(0x7FF7)
    assert as_map(layout, component_size=2).tensor_map.dtype == "f16"
    assert as_map(layout.set_clamp_value(0), component_size=2).tensor_map.dtype == "u16"
    assert words(layout, dtype="u16") == ["16 elements are filled with 0x7ff7; a tensor map fills u16 with 0x0"]


def test_every_reason_of_a_layout_is_listed() -> None:
    layout = TensorLayout(2, "repeat").set_dimension(10, 63).set_stride(126, 2).slice((-1, 4), (3, 70))
    found = why(layout, dtype="f16")
    assert [one.message for one in found] == [
        "clamp mode repeat reads 100 elements outside from other places; a tensor map only fills",
        "neighbours in the last axis of the tile are 2 elements apart, in a box they are contiguous",
        "global_strides[0] = 252 bytes is not a multiple of 16",
        "box_dim[0] = 70 is 140 bytes of f16, not a multiple of 16",
    ]
    assert [one.rule for one in found] == [
        "convert.equivalent",
        "convert.equivalent",
        "tensor_map.stride_multiple",
        "tensor_map.inner_bytes",
    ]


CONSTANT = TensorLayout(2, "constant").set_dimension(16, 32)
OUTSIDE = CONSTANT.slice((0, 32), (0, 32))
CLIPPED = TensorView(2).set_clip(0, 4, 0, 16)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (
            CONSTANT.slice((8, 16), (0, 32)).set_clamp_value(1),
            "256 elements are filled with 0x1; a tensor map fills u8",
        ),
        (
            TensorLayout(2, "clamp_to_edge").set_dimension(4, 16).slice((2, 4), (0, 16)),
            "clamp mode clamp_to_edge reads",
        ),
        (
            TensorLayout(2, "mirror_repeat").set_dimension(4, 16).slice((2, 4), (0, 16)),
            "clamp mode mirror_repeat reads",
        ),
        (LayoutTile(CONSTANT, 16, 32, CLIPPED), "the clip skips 448 elements; a tensor copy writes its whole box"),
        (TensorLayout(1).set_block_size(2).set_dimension(32), "block size (2,): neighbours share a block"),
        (LayoutTile(OUTSIDE, 64, 32), "the matrix has 64 x 32 = 2048 elements, of the span (32, 32) that is no box"),
        (LayoutTile(OUTSIDE.slice((15, 2), (0, 32)), 3, 16), "the matrix has 3 x 16 = 48 elements, of the span"),
        (
            Strided((4, 16)),
            "neighbours in the last axis of the tile are 4 elements apart, in a box they are contiguous",
        ),
        (Strided((4, 16), (8, 1)), "global_strides[0] = 8 bytes is not a multiple of 16"),
        (Strided((4,), (1,)), "box_dim[0] = 4 is 4 bytes of u8, not a multiple of 16"),
        (Strided((2,) * 6, (999, 336, 128, 48, 32, 1)), "global_dim has 6 dimensions, tiled mode takes 1 to 5"),
        (BlockedInterleaved("row", 4, 32, 1, 2), "box_dim[0] = 4 is 4 bytes of u8, not a multiple of 16"),
        (BlockedInterleaved("row", 4, 4, 8, 2), "components of 8 bytes are torn into two words by the interleaving"),
    ],
)
def test_a_reason(model: object, reason: str) -> None:
    options = {} if isinstance(model, BlockedInterleaved) else {"dtype": "u8"}
    assert any(one.startswith(reason) for one in words(model, **options))


def test_a_packed_memref_is_told_to_reverse_its_modes() -> None:
    (broken,) = why(Strided((64, 16)), dtype="u8")
    assert broken.fix == "convert the memref with its modes reversed, Strided((16, 64), (64, 1))"
    assert same(as_map(Strided((16, 64), (64, 1)), dtype="u8"), Strided((16, 64), (64, 1)))


def test_a_tile_that_is_filled_needs_a_layout() -> None:
    class Filled:
        def access(self) -> Access:
            return Access(np.array([[0, -1]]), np.array([[0, 1]], np.uint8))

    assert words(Filled(), dtype="u8") == [
        "the tile has 1 filled elements, and no layout that says where its tensor ends"
    ]


def tiled(**changes: Any) -> TensorMap:
    given: dict[str, Any] = {"dtype": "f16", "global_dim": (64, 32), "global_strides": (128,), "box_dim": (16, 8)}
    return TensorMap.tiled(**{**given, **changes})


def pixels(**changes: Any) -> TensorMap:
    given: dict[str, Any] = {
        "dtype": "u8", "global_dim": (16, 5, 4, 2), "global_strides": (16, 80, 320), "lower_corner": (-1, -1),
        "upper_corner": (-1, -1), "channels_per_pixel": 16, "pixels_per_column": 12,
    }  # fmt: skip
    return TensorMap.im2col(**{**given, **changes})


@pytest.mark.parametrize(
    ("tile", "to", "reason"),
    [
        (
            MapTile(pixels(), (0, -1, -1, 0)),
            "tensor_layout",
            "im2col mode: the pixels of a column follow the pixel box",
        ),
        (pixels(lower_corner=(0, 0), upper_corner=(0, 0)), "strided", "im2col mode: the pixels of a column follow"),
        (tiled(swizzle="128B"), "tensor_layout", "swizzle 128B exchanges chunks of 16 bytes in shared memory; only a"),
        (tiled(dtype="tf32"), "strided", "a load of tf32 rounds its values; the other models copy them"),
        (
            tiled(dtype="b4x16", box_dim=(64, 8), architecture="sm_100a"),
            "blocked_interleaved",
            "elements of b4x16 have 4 bits; components have 1, 2, 4 or 8 bytes",
        ),
        (
            MapTile(tiled(), (0, 28)),
            "strided",
            "64 elements lie outside the tensor and are filled; only a tensor layout",
        ),
        (
            MapTile(tiled(dtype="f64", oob_fill="nan"), (0, 28)),
            "tensor_layout",
            "64 elements are filled with a NaN of 64 bits; clamp values have 32",
        ),
        (
            MapTile(tiled(global_strides=(32,)), (0, 28)),
            "tensor_layout",
            "stride[0] = 16 is less than stride[1] * ceil",
        ),
    ],
)
def test_why_a_copy_is_no_other_model(tile: object, to: str, reason: str) -> None:
    assert any(one.startswith(reason) for one in words(tile, to))


def test_every_reason_of_a_copy_is_listed() -> None:
    tile = MapTile(tiled(dtype="tf32", swizzle="64B"), (0, 28))
    assert [one.split()[0] for one in words(tile, "strided")] == ["swizzle", "a", "64"]


def test_traversal_strides_and_slices_are_steps_of_a_layout() -> None:
    tile = MapTile(tiled(element_strides=(1, 3)), (0, -4))
    found = convert(tile, "tensor_layout")
    assert isinstance(found, LayoutTile)
    assert (found.layout.stride, found.layout.dimension, found.layout.offset) == ((192, 1), (10, 64), (-2, 0))
    assert found.element_offset == 128
    sliced = tiled(global_dim=(8, 6, 2), global_strides=(128, 768), box_dim=(8, 1, 2), interleave="16B")
    found = convert(MapTile(sliced, (6, 1, 1)), "tensor_layout")
    assert isinstance(found, LayoutTile)
    assert found.layout.dimension == (2, 6, 8, 8) and same(found, MapTile(sliced, (6, 1, 1)))


def test_a_map_by_itself_is_its_first_box() -> None:
    assert convert(tiled(), "strided") == Strided((8, 16), (64, 1))
    assert convert(tiled(swizzle="128B"), "tensor_map") == MapTile(tiled(swizzle="128B"), (0, 0))
    assert MapTile.at_origin(pixels()).coordinates == (0, -1, -1, 0)


def test_a_copy_with_another_type_of_the_same_size() -> None:
    assert as_map(tiled(swizzle="64B"), dtype="bf16").tensor_map == tiled(dtype="bf16", global_dim=(16, 8))


def test_a_tile_loads_stores_and_lints_as_its_map() -> None:
    memory = np.arange(8192, dtype=np.int32).astype(np.uint8)
    tile = MapTile(tiled(), (48, 30), None, 64)
    image = tile.load(memory)
    assert np.array_equal(image.bytes, tiled().load(memory[128:], (48, 30)).bytes)
    changed = memory.copy()
    tile.store(image.bytes + np.uint8(1), changed)
    assert int((changed != memory).sum()) == image.counts()["copied"]
    assert tile.lints() == tiled().lints((48, 30))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "neither dtype nor component_size is given"),
        ({"dtype": "half"}, "dtype = 'half' is unknown"),
        ({"dtype": "f32", "component_size": 2}, "dtype says 32 bits, component_size says 16 bits"),
    ],
)
def test_the_type_is_given_once(options: dict[str, Any], message: str) -> None:
    assert [(one.rule, one.message) for one in why(Strided((8, 16), (16, 1)), **options)] == [
        ("convert.dtype", message)
    ]


def test_the_size_of_components_is_that_of_the_model() -> None:
    (broken,) = why(BlockedInterleaved("row", 16, 32, 2, 1), dtype="f32")
    assert broken.message == "dtype says 32 bits, the BlockedInterleaved says 16 bits"


def test_rules_of_tiles() -> None:
    wrong: Any = 5
    with pytest.raises(AddressingError, match=r"map_tile\.map: the map is an int; pass a TensorMap"):
        MapTile(wrong, (0,))
    packed = tiled(dtype="b4x16", box_dim=(64, 8), architecture="sm_100a")
    assert MapTile(packed, (0, 0), None, 4).access().element[0, 0] == 4
    with pytest.raises(AddressingError, match=r"map_tile\.element_offset: element_offset = 3 .* use a multiple of 2"):
        MapTile(packed, (0, 0), None, 3)
