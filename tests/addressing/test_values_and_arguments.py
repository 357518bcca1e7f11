"""The public API as a whole: NumPy alone is enough, values do not change, and odd arguments are told in words."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from girih import draw
from girih.addressing import (
    Access,
    AddressingError,
    LayoutTile,
    Strided,
    TensorLayout,
    TensorMap,
    load_tensor,
    plan_convolution,
)

LAYOUT = TensorLayout(2, "constant").set_block_size(1, 2).set_dimension(4, 4)
BOX: dict[str, Any] = {"dtype": "f16", "global_dim": (64, 8), "global_strides": (128,), "box_dim": (32, 4)}
COLUMN: dict[str, Any] = {
    "dtype": "f16", "global_dim": (64, 9, 14, 64), "global_strides": (128, 1152, 16128), "lower_corner": (-1, -1),
    "upper_corner": (-1, -1), "channels_per_pixel": 8, "pixels_per_column": 64,
}  # fmt: skip
MEMORY = np.arange(1024, dtype=np.uint16).astype(np.uint8)
ALONE = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np
from girih.addressing import *
given = TensorMap.tiled(dtype="bf16", global_dim=(8, 1), global_strides=(16,), box_dim=(8, 1))
memory, shared = np.full(8, 0x3F80, np.uint16), np.full(8, 0x4000, np.uint16)
given.reduce("add", shared.view("u1"), memory.view("u1"), (0, 0))
assert memory.tolist() == [0x4040] * 8
assert MapTile(given, (0, 0)).load(memory.view("u1")).transaction_bytes == 16
assert convert(Strided((8, 8), (8, 1)), to="tensor_map", dtype="bf16").tensor_map.dtype == "bf16"
plan_convolution(dtype="f16", global_dim=(8, 7, 5, 2), filter=(3, 3), channels_per_pixel=8, pixels_per_column=6)
print(len(given.access((0, 0)).element), Swizzle("128B").span)
"""


def told(call: Callable[[], object]) -> list[tuple[str, str]]:
    """The rules that a call breaks, each with what is said."""
    with pytest.raises(AddressingError) as raised:
        call()
    return [(one.rule, one.message) for one in raised.value.violations]


def test_every_name_works_with_numpy_alone() -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", ALONE], cwd=root, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1 128\n", "")


@pytest.mark.parametrize(("operation", "number"), [("add", np.add), ("min", np.fmin), ("max", np.fmax)])
def test_reductions_of_bf16_are_those_of_ml_dtypes(operation: str, number: Callable[..., Any]) -> None:
    random = np.random.default_rng(0)
    old, new = random.integers(0, 1 << 16, (2, 256, 256), dtype=np.uint16)
    new[:64] = old[:64] + random.integers(0, 3000, (64, 256), dtype=np.uint16)
    with np.errstate(all="ignore"):
        found = number(old.view(ml_dtypes.bfloat16), new.view(ml_dtypes.bfloat16))
    given, memory = TensorMap.of(old.view(ml_dtypes.bfloat16), (256, 256)), old.copy()
    given.reduce(operation, new.reshape(-1).view(np.uint8), memory.reshape(-1).view(np.uint8), (0, 0))
    numbers = ~np.isnan(found.astype(np.float32))
    assert np.array_equal(memory[numbers], found.view(np.uint16)[numbers])
    assert (memory[~numbers] & 0x7FFF > 0x7F80).all()


def test_what_a_model_answers_cannot_be_written() -> None:
    image = TensorMap.tiled(**BOX).load(MEMORY, (0, 0))
    access = LAYOUT.access(4, 4)
    assert access.block is not None and access.within is not None
    for array in (access.element, access.kind, access.block, access.within, image.bytes, image.written, image.source):
        assert not array.flags.writeable
    given = np.zeros((2, 2), np.int64)
    Access(given, np.zeros((2, 2), np.uint8))
    assert given.flags.writeable
    target = np.zeros(1024, np.uint8)
    TensorMap.tiled(**BOX).store(image.bytes, target, (0, 0))
    assert np.array_equal(target[:64], MEMORY[:64]) and image.bytes.view(np.float16).shape == (128,)


def test_a_layout_tile_is_checked_when_it_is_made() -> None:
    nothing: Any = None
    odd: tuple[Any, ...] = (5, 1.5, [1.0] * 16, np.int32(4))
    assert told(lambda: LayoutTile(nothing, 0, nothing, odd[0], odd[1])) == [
        ("tensor_layout.type", "the layout is None"),
        ("tensor_view.type", "the view is an int"),
        ("matrix.shape", "rows = 0 is outside 1 .. 4294967295"),
        ("operand.integer", "columns = None is no integer"),
        ("operand.integer", "element_offset = 1.5 is no integer"),
    ]
    for offset in (-5, 2**63):
        assert told(partial(LayoutTile, LAYOUT, 4, 4, None, offset))[0][0] == "load_store.element_offset"
    assert told(LayoutTile(LAYOUT, 4, 4, None, 2**63 - 1).access) == [
        ("load_store.element_offset", "element_offset = 9223372036854775807 + 7 is over 2^63-1")
    ]
    assert told(lambda: LayoutTile(LAYOUT, 4, 4).load(odd[2])) == [("load_store.buffer", "the buffer is a list")]
    assert told(lambda: LayoutTile.of_span(TensorLayout(1)))[0][0] == "tensor_layout.no_dimension"
    assert LayoutTile(LAYOUT, odd[3], 4) == LayoutTile(LAYOUT, 4, 4)


def test_a_map_is_given_the_parameters_of_its_mode() -> None:
    array = np.zeros((8, 64), np.float16)
    options: dict[str, Any] = {"lower_corner": (1,), "nosuch": 1, "box_dim": (304, 1)}
    assert told(lambda: TensorMap.tiled(**{**BOX, **options})) == [
        ("tensor_map.parameter", "lower_corner is no parameter of a map in tiled mode"),
        ("tensor_map.parameter", "nosuch is no parameter of a map"),
        ("tensor_map.box_dim", "box_dim[0] = 304 is outside 1 .. 256"),
    ]
    assert told(lambda: TensorMap.im2col(**{**COLUMN, "box_dim": (1, 2)})) == [
        ("tensor_map.parameter", "box_dim is no parameter of a map in im2col mode")
    ]
    assert told(lambda: TensorMap.of(array, (32, 4), **options))[0][0] == "tensor_map.parameter"
    assert told(lambda: TensorMap.tiled(**{**BOX, "dtype": None})) == [("tensor_map.choice", "dtype = None is unknown")]
    assert told(lambda: TensorMap.of(array[:0], (32, 4))) == [
        ("tensor_map.global_dim", "global_dim[1] = 0 is outside 1 .. 4294967296")
    ]


def test_arguments_of_another_kind_are_told() -> None:
    matrix, buffer = np.zeros((4, 4), np.float32), np.arange(16, dtype=np.float32)
    odd: tuple[Any, ...] = (5, None)
    layout = TensorLayout(2).set_dimension(4, 4)
    assert told(lambda: load_tensor(matrix, buffer, 0, layout, None, odd[0])) == [
        ("load_store.decoded", "decode is an int")
    ]
    masked = np.ma.masked_array(buffer, buffer > 3)
    assert told(lambda: Strided((4, 4)).load(masked))[0][0] == "load_store.buffer"
    assert np.array_equal(load_tensor(matrix, buffer.view(np.matrix), 0, layout), buffer.reshape(4, 4))
    with pytest.raises(draw.DrawingError, match="path = None is no path"):
        draw.save(layout, odd[1])


def test_a_wrong_count_of_operands_cites_what_holds_for_all_of_them() -> None:
    with pytest.raises(AddressingError, match=r"1 block size is given.*\[001 4\.1\.X Tensor Layout Types\]"):
        LAYOUT.set_block_size(1)
    rows = TensorMap.tiled(**{**BOX, "box_dim": (32, 1), "architecture": "sm_100a"})
    assert told(lambda: rows.scatter4(MEMORY, MEMORY.copy(), -8, (0, -1, 2, 3))) == [
        ("tensor_map.negative_start", "column = -8 is negative"),
        ("tensor_map.negative_start", "rows[1] = -1 is negative"),
    ]


def test_a_plan_shows_its_first_copy() -> None:
    plan = plan_convolution(
        dtype="f32", global_dim=(8, 7, 5, 2), filter=(3, 3), channels_per_pixel=8, pixels_per_column=6
    )
    assert "im2col load: 6 pixels of 8 channels of f32" in draw.text(plan)
