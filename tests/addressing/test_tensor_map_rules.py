"""Every rule of tensor maps, swizzles and convolutions with something it accepts and something it rejects."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from girih.addressing import RULES, AddressingError, Violation
from girih.addressing.tensor_map.convolution import ConvolutionPlan, plan_convolution
from girih.addressing.tensor_map.element_type import FROM_NUMPY, REDUCTIONS
from girih.addressing.tensor_map.model import TensorMap
from girih.addressing.tensor_map.swizzle import Swizzle

Try = Callable[[], Any]
MEMORY = np.zeros(1 << 16, np.uint8)
SHARED = np.zeros(1 << 16, np.uint8)
READ_ONLY = np.zeros(1 << 16, np.uint8)
READ_ONLY.flags.writeable = False
MEASURED = Path(__file__).resolve().parent.parent / "data" / "tensor_map_reductions_h200.json"


def tiled(**changed: Any) -> TensorMap:
    """A legal map of an 8 x 16 matrix of f32, with changes."""
    base: dict[str, Any] = {"dtype": "f32", "global_dim": (16, 8), "global_strides": (64,), "box_dim": (8, 4)}
    return TensorMap.tiled(**base | changed)


def packed(**changed: Any) -> TensorMap:
    """A legal map of a matrix of 6-bit elements, with changes."""
    base: dict[str, Any] = {"dtype": "b6x16_p32", "global_dim": (256, 8), "global_strides": (192,)}
    return TensorMap.tiled(**base | {"box_dim": (128, 1), "architecture": "sm_100a"} | changed)


def slices(**changed: Any) -> TensorMap:
    """A legal map with channel slices of 16 bytes, with changes."""
    base: dict[str, Any] = {"dtype": "f16", "global_dim": (8, 4, 2), "global_strides": (128, 512)}
    return TensorMap.tiled(**base | {"box_dim": (8, 1, 1), "interleave": "16B"} | changed)


def pixels(**changed: Any) -> TensorMap:
    """A legal im2col map of two images of 6 x 5 pixels with 16 channels, with changes."""
    base: dict[str, Any] = {"dtype": "f16", "global_dim": (16, 5, 6, 2), "global_strides": (32, 160, 960)}
    box = {"lower_corner": (-1, -1), "upper_corner": (-1, -1), "channels_per_pixel": 8, "pixels_per_column": 10}
    return TensorMap.im2col(**base | box | changed)


def inner(**changed: Any) -> TensorMap:
    """The same with a pixel box inside the image."""
    return pixels(**{"lower_corner": (0, 0), "upper_corner": (-2, -2)} | changed)


def matrix(**changed: Any) -> TensorMap:
    """A legal map for gather4 and scatter4, with changes."""
    return tiled(**{"box_dim": (8, 1), "architecture": "sm_100a"} | changed)


def plan(**changed: Any) -> ConvolutionPlan:
    """A legal convolution, with changes."""
    base: dict[str, Any] = {"dtype": "f16", "global_dim": (16, 5, 6, 2), "filter": (3, 3), "padding": (1, 1)}
    return plan_convolution(**base | {"channels_per_pixel": 8, "pixels_per_column": 10} | changed)


def lints_of(found: Iterable[Violation]) -> None:
    """Lints as the error they are not."""
    found = list(found)
    if found:
        raise AddressingError("lints", found)


def array_of(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


EXAMPLES: dict[str, tuple[Try, Try]] = {
    "tensor_map.choice": (lambda: tiled(dtype="tf32"), lambda: tiled(dtype="f8")),
    "tensor_map.architecture": (lambda: tiled(architecture="sm_120"), lambda: tiled(architecture="sm_80")),
    "tensor_map.rank": (
        lambda: tiled(global_dim=(16,), global_strides=(), box_dim=(8,)),
        lambda: tiled(global_dim=(16,) * 6, global_strides=(64,) * 5, box_dim=(8,) * 6),
    ),
    "tensor_map.interleave_rank": (slices, lambda: tiled(interleave="16B")),
    "tensor_map.lengths": (tiled, lambda: tiled(global_strides=(64, 512))),
    "tensor_map.global_dim": (lambda: tiled(global_dim=(2**32, 1)), lambda: tiled(global_dim=(16, 0))),
    "tensor_map.packed_dim": (packed, lambda: packed(global_dim=(130, 8))),
    "tensor_map.stride_range": (lambda: tiled(global_strides=(2**40 - 16,)), lambda: tiled(global_strides=(2**40,))),
    "tensor_map.stride_multiple": (lambda: tiled(global_strides=(80,)), lambda: tiled(global_strides=(72,))),
    "tensor_map.address_range": (lambda: tiled(global_address=2**64 - 16), lambda: tiled(global_address=-16)),
    "tensor_map.address_aligned": (lambda: tiled(global_address=16), lambda: packed(global_address=16)),
    "tensor_map.box_dim": (lambda: tiled(box_dim=(256, 256)), lambda: tiled(box_dim=(8, 257))),
    "tensor_map.inner_bytes": (lambda: tiled(box_dim=(12, 4)), lambda: tiled(box_dim=(6, 4))),
    "tensor_map.packed_box": (packed, lambda: packed(box_dim=(64, 1))),
    "tensor_map.swizzle_span": (lambda: tiled(swizzle="32B"), lambda: tiled(swizzle="32B", box_dim=(12, 4))),
    "tensor_map.element_strides": (lambda: tiled(element_strides=(1, 8)), lambda: tiled(element_strides=(1, 9))),
    "tensor_map.nan_fill": (lambda: tiled(oob_fill="nan"), lambda: tiled(oob_fill="nan", dtype="u32")),
    "tensor_map.type_architecture": (packed, lambda: packed(architecture="sm_90a")),
    "tensor_map.swizzle_architecture": (
        lambda: tiled(swizzle="128B_atom_64B", architecture="sm_100a"),
        lambda: tiled(swizzle="128B_atom_64B"),
    ),
    "tensor_map.swizzle_type": (lambda: packed(swizzle="128B"), lambda: packed(swizzle="128B_atom_32B_flip_8B")),
    "tensor_map.interleave_type": (
        packed,
        lambda: packed(interleave="16B", global_dim=(256, 8, 8), global_strides=(192, 1536), box_dim=(128, 1, 1)),
    ),
    "tensor_map.corner_range": (lambda: pixels(lower_corner=(-128, 0)), lambda: pixels(lower_corner=(-129, 0))),
    "tensor_map.empty_box": (lambda: pixels(upper_corner=(-5, -6)), lambda: pixels(upper_corner=(-6, -1))),
    "tensor_map.channels_per_pixel": (
        lambda: pixels(channels_per_pixel=256),
        lambda: pixels(channels_per_pixel=264),
    ),
    "tensor_map.pixels_per_column": (lambda: pixels(pixels_per_column=1024), lambda: pixels(pixels_per_column=1025)),
    "tensor_map.traversal_ignored": (
        lambda: lints_of(slices(element_strides=(2, 1, 1), box_dim=(16, 1, 1)).lints()),
        lambda: lints_of(tiled(element_strides=(2, 1)).lints()),
    ),
    "tensor_map.transaction_bytes": (
        lambda: lints_of(tiled().lints()),
        lambda: lints_of(tiled(element_strides=(1, 3)).lints()),
    ),
    "tensor_map.interleave_swizzle": (
        lambda: lints_of(slices(interleave="32B", swizzle="32B", global_strides=(256, 1024)).lints()),
        lambda: lints_of(slices(interleave="32B", global_strides=(256, 1024)).lints()),
    ),
    "tensor_map.overlapping_rows": (
        lambda: lints_of(tiled(global_strides=(80,)).lints()),
        lambda: lints_of(tiled(global_strides=(48,)).lints()),
    ),
    "tensor_map.shared_size": (
        lambda: lints_of(tiled(box_dim=(224, 256)).lints()),
        lambda: lints_of(tiled(box_dim=(232, 256)).lints()),
    ),
    "tensor_map.coordinate_count": (lambda: tiled().load(MEMORY, (0, 0)), lambda: tiled().load(MEMORY, (0, 0, 0))),
    "tensor_map.coordinate_range": (
        lambda: tiled().load(MEMORY, (0, -(2**31))),
        lambda: tiled().load(MEMORY, (0, 2**31)),
    ),
    "tensor_map.coordinate_aligned": (lambda: tiled().load(MEMORY, (-4, 0)), lambda: tiled().load(MEMORY, (1, 0))),
    "tensor_map.packed_coordinate": (
        lambda: packed().load(MEMORY, (-128, 0)),
        lambda: packed().load(MEMORY, (32, 0)),
    ),
    "tensor_map.offset_mode": (
        lambda: pixels().load(MEMORY, (0, 0, 0, 0), (1, 1)),
        lambda: tiled().load(MEMORY, (0, 0), (1, 1)),
    ),
    "tensor_map.offset_count": (
        lambda: pixels().load(MEMORY, (0, 0, 0, 0), None),
        lambda: pixels().load(MEMORY, (0, 0, 0, 0), (1,)),
    ),
    "tensor_map.offset_range": (
        lambda: pixels().load(MEMORY, (0, 0, 0, 0), (255, 0)),
        lambda: pixels().load(MEMORY, (0, 0, 0, 0), (256, 0)),
    ),
    "tensor_map.base_in_box": (
        lambda: pixels().load(MEMORY, (0, -1, 4, 0)),
        lambda: pixels().load(MEMORY, (0, -1, 5, 0)),
    ),
    "tensor_map.negative_start": (
        lambda: tiled().store(SHARED, MEMORY, (16, 9)),
        lambda: tiled().store(SHARED, MEMORY, (0, -1)),
    ),
    "tensor_map.store_box": (
        lambda: inner().store(SHARED, MEMORY, (0, 0, 0, 0)),
        lambda: pixels().store(SHARED, MEMORY, (0, 0, 0, 0)),
    ),
    "tensor_map.load_type": (
        lambda: packed().load(MEMORY, (0, 0)),
        lambda: packed(dtype="b6p2x16").load(MEMORY, (0, 0)),
    ),
    "tensor_map.store_type": (
        lambda: packed(dtype="b6p2x16").store(SHARED, MEMORY, (0, 0)),
        lambda: packed().store(SHARED, MEMORY, (0, 0)),
    ),
    "tensor_map.store_swizzle": (
        lambda: matrix(swizzle="128B_atom_32B").store(SHARED, MEMORY, (0, 0)),
        lambda: matrix(swizzle="128B_atom_32B_flip_8B").store(SHARED, MEMORY, (0, 0)),
    ),
    "tensor_map.reduction": (
        lambda: tiled(dtype="u32").reduce("xor", SHARED, MEMORY, (0, 0)),
        lambda: tiled(dtype="u32").reduce("mul", SHARED, MEMORY, (0, 0)),
    ),
    "tensor_map.reduction_type": (
        lambda: tiled().reduce("add", SHARED, MEMORY, (0, 0)),
        lambda: tiled().reduce("min", SHARED, MEMORY, (0, 0)),
    ),
    "tensor_map.gather_mode": (
        lambda: matrix().gather4(MEMORY, 0, (0, 1, 2, 3)),
        lambda: inner(architecture="sm_100a").gather4(MEMORY, 0, (0, 1, 2, 3)),
    ),
    "tensor_map.gather_box": (
        lambda: matrix().gather4(MEMORY, 8, (0, 0, -1, 8)),
        lambda: matrix(box_dim=(8, 4)).gather4(MEMORY, 0, (0, 1, 2, 3)),
    ),
    "tensor_map.gather_interleave": (
        lambda: matrix().gather4(MEMORY, 0, (0, 1, 2, 3)),
        lambda: slices(architecture="sm_100a").gather4(MEMORY, 0, (0, 1, 2, 3)),
    ),
    "tensor_map.gather_rows": (
        lambda: matrix().scatter4(SHARED, MEMORY, 0, (0, 1, 2, 9)),
        lambda: matrix().scatter4(SHARED, MEMORY, 0, (0, 1, 2)),
    ),
    "tensor_map.gather_architecture": (
        lambda: matrix(architecture="sm_120").gather4(MEMORY, 0, (0, 1, 2, 3)),
        lambda: matrix(architecture="sm_120").scatter4(SHARED, MEMORY, 0, (0, 1, 2, 3)),
    ),
    "tensor_map.shared_range": (
        lambda: tiled().load(MEMORY, (0, 0), None, 2**32 - 128),
        lambda: tiled().load(MEMORY, (0, 0), None, 2**32),
    ),
    "tensor_map.shared_aligned": (
        lambda: tiled().load(MEMORY, (0, 0), None, 16),
        lambda: tiled(swizzle="32B").load(MEMORY, (0, 0), None, 16),
    ),
    "tensor_map.image_size": (
        lambda: tiled(box_dim=(256, 256), dtype="f32").load(MEMORY, (0, 0)),
        lambda: tiled(box_dim=(256, 256), dtype="f64", global_strides=(128,)).load(MEMORY, (0, 0)),
    ),
    "tensor_map.shared_buffer": (
        lambda: tiled().store(SHARED, MEMORY, (0, 0)),
        lambda: tiled().store(SHARED.view(np.float32), MEMORY, (0, 0)),
    ),
    "tensor_map.shared_length": (
        lambda: tiled().store(SHARED[:128], MEMORY, (0, 0)),
        lambda: tiled().store(SHARED[:127], MEMORY, (0, 0)),
    ),
    "tensor_map.memory_buffer": (
        lambda: tiled().load(READ_ONLY, (0, 0)),
        lambda: tiled().load(MEMORY.reshape(16, -1), (0, 0)),
    ),
    "tensor_map.memory_length": (
        lambda: tiled().load(MEMORY[:512], (8, 4)),
        lambda: tiled().load(MEMORY[:511], (8, 4)),
    ),
    "tensor_map.memory_writable": (
        lambda: tiled().store(READ_ONLY, MEMORY, (0, 0)),
        lambda: tiled().store(SHARED, READ_ONLY, (0, 0)),
    ),
    "tensor_map.shared_line": (
        lambda: lints_of(tiled().load(MEMORY, (0, 0), None, 128).lints),
        lambda: lints_of(tiled().load(MEMORY, (0, 0), None, 144).lints),
    ),
    "tensor_map.swizzle_phase": (
        lambda: lints_of(tiled(swizzle="32B").load(MEMORY, (0, 0), None, 256).lints),
        lambda: lints_of(tiled(swizzle="32B").load(MEMORY, (0, 0), None, 128).lints),
    ),
    "tensor_map.row_padding": (
        lambda: lints_of(tiled(global_dim=(12, 8)).lints((8, 0), store=True)),
        lambda: lints_of(tiled(global_dim=(13, 8)).lints((8, 0), store=True)),
    ),
    "tensor_map.parameter": (
        lambda: tiled(swizzle="32B"),
        lambda: tiled(channels_per_pixel=8),
    ),
    "tensor_map.array_type": (
        lambda: TensorMap.of(array_of(8, 16), (8, 4)),
        lambda: TensorMap.of(array_of(8, 16).astype(np.complex64), (8, 4)),
    ),
    "tensor_map.array_inner": (
        lambda: TensorMap.of(array_of(16, 8, 4).transpose(1, 0, 2), (4, 8, 4)),
        lambda: TensorMap.of(array_of(8, 16).T, (8, 4)),
    ),
    "tensor_map.bound_array": (lambda: tiled().bind(array_of(8, 16)), lambda: tiled().bind(array_of(8, 16).tolist())),
    "tensor_map.bound_type": (lambda: tiled().bind(array_of(8, 16)), lambda: tiled().bind(np.zeros((8, 16)))),
    "tensor_map.bound_layout": (
        lambda: TensorMap.of(array_of(8, 32)[:, :16], (8, 4)).bind(array_of(8, 32)[:, :16]),
        lambda: TensorMap.of(array_of(8, 16), (8, 4)).bind(array_of(8, 32)[:, ::2]),
    ),
    "tensor_map.bound_size": (lambda: tiled().bind(array_of(8, 16)), lambda: tiled().bind(array_of(7, 16))),
    "tensor_map.code_language": (lambda: tiled().code("ptx"), lambda: tiled().code("glsl")),
    "tensor_map.code_name": (lambda: tiled().code("c", name="tile_a"), lambda: tiled().code("c", name="tile-a")),
    "tensor_map.copy": (lambda: tiled().code("ptx", "reduce.add"), lambda: tiled().code("ptx", "reduce")),
    "tensor_map.element_index": (
        lambda: packed().access((0, 0)),
        lambda: packed(global_strides=(224,)).access((0, 1)),
    ),
    "swizzle.name": (lambda: Swizzle("64B"), lambda: Swizzle("96B")),
    "swizzle.addresses": (lambda: Swizzle("64B").apply([0, 5]), lambda: Swizzle("64B").apply([0.5])),
    "swizzle.access_bytes": (lambda: Swizzle().conflicts([0, 8], 8), lambda: Swizzle().conflicts([0, 4], 8)),
    "convolution.dimensions": (plan, lambda: plan(global_dim=(16, 2))),
    "convolution.lengths": (plan, lambda: plan(filter=(3,))),
    "convolution.size": (plan, lambda: plan(global_dim=(16, 5, 0, 2))),
    "convolution.filter": (lambda: plan(filter=(1, 1)), lambda: plan(filter=(0, 1))),
    "convolution.stride": (lambda: plan(stride=(8, 8)), lambda: plan(stride=(9, 1))),
    "convolution.dilation": (lambda: plan(dilation=(2, 2)), lambda: plan(dilation=(0, 1))),
    "convolution.padding": (lambda: plan(padding=((1, 0), 1)), lambda: plan(padding=((1, 0, 0), 1))),
    "convolution.empty_output": (lambda: plan(filter=(7, 3)), lambda: plan(filter=(8, 3))),
    "convolution.tap_offset": (
        lambda: plan(global_dim=(16, 40, 6, 2), filter=(2, 1), dilation=(30, 1)),
        lambda: plan(global_dim=(16, 400, 6, 2), filter=(2, 1), dilation=(300, 1)),
    ),
    "convolution.pixel": (lambda: plan().coordinates(59), lambda: plan().coordinates(60)),
    "convolution.tap": (lambda: plan().offsets((2, 2)), lambda: plan().offsets((3, 0))),
}
OURS = ("tensor_map.", "swizzle.", "convolution.")


def violations_of(attempt: Try) -> tuple[Violation, ...]:
    try:
        attempt()
    except AddressingError as error:
        return error.violations
    return ()


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_rule_accepts_its_example(name: str) -> None:
    found = violations_of(EXAMPLES[name][0])
    assert name not in {one.rule for one in found}
    assert not found or RULES[name].severity == "lint"


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_rule_rejects_its_example(name: str) -> None:
    found = {one.rule: one for one in violations_of(EXAMPLES[name][1])}
    assert name in found
    assert found[name].fix and found[name].source == RULES[name].source


def test_every_rule_has_its_examples() -> None:
    assert {name for name in RULES if name.startswith(OURS)} == set(EXAMPLES)


def test_reductions_are_legal_for_the_types_that_were_measured() -> None:
    """What an H200 did with each pair, each in a process of its own."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))["reductions"]
    # How these round is not known.
    open = {("add", name) for name in ("f32_ftz", "tf32", "tf32_ftz")}
    legal = {(op, type) for op, row in measured.items() for type, what in row.items() if what == "legal"}
    known = {(op, type) for op, types in REDUCTIONS.items() for type in types if type in measured[op]}
    assert known == legal - open and open <= legal
    assert {type for row in measured.values() for type in row} >= set(FROM_NUMPY.values())


def test_every_rule_cites_a_source() -> None:
    sources = ("004 5.5", "driver", "measured", "PTX ISA", "girih", "CUDA programming guide")
    assert all(RULES[name].source.startswith(sources) for name in EXAMPLES)


def test_one_error_lists_everything_that_is_wrong() -> None:
    with pytest.raises(AddressingError) as caught:
        tiled(global_strides=(6932,), box_dim=(6, 300), element_strides=(1, 9), oob_fill="nan", dtype="u32")
    assert [one.rule.removeprefix("tensor_map.") for one in caught.value.violations] == [
        "box_dim",
        "element_strides",
        "stride_multiple",
        "inner_bytes",
        "nan_fill",
    ]


def test_a_list_of_the_wrong_length_hides_no_other_rule() -> None:
    found = violations_of(lambda: tiled(box_dim=(6,), oob_fill="nan", dtype="u32", global_strides=(8,)))
    assert [one.rule.removeprefix("tensor_map.") for one in found] == [
        "lengths",
        "stride_multiple",
        "inner_bytes",
        "nan_fill",
    ]


@pytest.mark.parametrize("name", ["box_dim", "global_dim", "global_strides", "element_strides"])
def test_an_empty_list_is_named(name: str) -> None:
    assert violations_of(lambda: tiled(**{name: ()}))


def test_later_rules_speak_of_the_number_that_came() -> None:
    found = violations_of(lambda: tiled(box_dim=(300, 4)))
    assert [one.rule for one in found] == ["tensor_map.box_dim"]
    found = violations_of(lambda: tiled().store(SHARED, MEMORY, (2**31 + 1, 0)))
    assert [one.rule for one in found] == ["tensor_map.coordinate_range", "tensor_map.coordinate_aligned"]


def test_a_violation_gives_numbers_fix_and_source() -> None:
    (violation,) = violations_of(lambda: tiled(global_strides=(6932,)))
    assert str(violation) == (
        "global_strides[0] = 6932 bytes is not a multiple of 16; "
        "pad the row to 1736 elements = 6944 bytes [004 5.5.1, driver]"
    )


def test_a_broken_instruction_lists_everything_that_is_wrong() -> None:
    found = violations_of(lambda: tiled().store(SHARED[:8].view(np.int8), READ_ONLY, (1, -1), 8))
    assert [one.rule.removeprefix("tensor_map.") for one in found] == [
        "coordinate_aligned",
        "negative_start",
        "shared_aligned",
        "shared_buffer",
        "memory_writable",
    ]


@pytest.mark.parametrize("value", [1.5, float("nan"), "8", None, [8]])
def test_what_is_no_integer_is_named(value: object) -> None:
    found = violations_of(lambda: tiled(box_dim=(8, value)))
    assert [one.rule for one in found] == ["operand.integer"]


def test_another_mode_is_named() -> None:
    changed: dict[str, Any] = {"mode": "im2col::w"}
    assert [one.rule for one in violations_of(lambda: replace(tiled(), **changed))] == ["tensor_map.choice"]


@pytest.mark.parametrize("dtype", ["f16", "b4x16"])
def test_the_type_of_a_map_has_the_size_of_the_array(dtype: str) -> None:
    found = violations_of(lambda: TensorMap.of(array_of(8, 16), (8, 4), dtype=dtype))
    assert [one.rule for one in found] == ["tensor_map.array_type"]


def test_arrays_of_another_byte_order_are_named() -> None:
    found = violations_of(lambda: TensorMap.of(array_of(8, 16).astype(">f4"), (8, 4)))
    assert [one.rule for one in found] == ["tensor_map.array_type"]


@pytest.mark.parametrize("name", ["box_dim", "global_dim", "global_strides", "element_strides"])
def test_what_is_no_list_is_named(name: str) -> None:
    assert violations_of(lambda: tiled(**{name: 8}))
    assert violations_of(lambda: tiled(**{name: "8"}))
    assert violations_of(lambda: tiled(**{name: np.float64(3)}))


def test_a_rejected_store_changes_nothing() -> None:
    memory = np.arange(300, dtype=np.uint16).view(np.uint8)[:200]
    before = memory.copy()
    assert violations_of(lambda: tiled().store(SHARED + 1, memory, (0, 0)))
    assert np.array_equal(memory, before)


def test_addresses_past_64_bits_are_an_error_in_words() -> None:
    far = tiled(global_dim=(16, 2**32), global_strides=(2**40 - 16,))
    (violation,) = violations_of(lambda: far.load(MEMORY, (0, 2**31 - 4)))
    assert violation.rule == "tensor_map.memory_length"
    assert "2^59" in violation.message


def test_lints_of_a_copy_know_its_operands_and_its_direction() -> None:
    given = tiled(global_dim=(13, 8), swizzle="32B")
    assert given.lints() == ()
    assert given.lints((8, 0)) == given.load(MEMORY, (8, 0)).lints == ()
    assert given.lints((8, 0), shared_address=128) == given.load(MEMORY, (8, 0), None, 128).lints
    (padding,) = given.lints((8, 0), store=True)
    assert padding.message == "a store overwrites 12 bytes behind the 52 of every row"
    assert given.lints((0, 0), store=True) == ()
    before = np.zeros(512, np.uint8)
    given.store(np.full(4096, 7, np.uint8), before, (8, 0))
    assert int(before[52:64].sum()) == 12 * 7


def test_lints_of_a_copy_refuse_its_operands() -> None:
    for attempt, broken in (
        (lambda: tiled().lints((1, 0)), "tensor_map.coordinate_aligned"),
        (lambda: tiled().lints((-4, 0), store=True), "tensor_map.negative_start"),
        (lambda: tiled().lints((0, 0), (1,)), "tensor_map.offset_mode"),
        (lambda: packed(dtype="b6p2x16").lints((0, 0)), "tensor_map.load_type"),
    ):
        assert [one.rule for one in violations_of(attempt)] == [broken]
