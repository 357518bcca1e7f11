"""Tensor copies measured on an NVIDIA H200: status, bytes, written mask and transaction bytes of every case."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from girih.addressing import AddressingError
from girih.addressing.tensor_map.model import TensorMap

DATA = Path(__file__).resolve().parent.parent / "data"
RECORD = json.loads((DATA / "tensor_map_h200.json").read_text())
CASES: list[dict[str, Any]] = RECORD["cases"]
TAGS = sorted({case["tag"] for case in CASES})
FILLS = {"none": "zero", "nan_request_zero_fma": "nan"}
TYPES = {
    "u8": "u1", "u16": "u2", "u32": "u4", "s32": "i4", "u64": "u8", "s64": "i8", "f16": "u2", "bf16": "u2",
    "f32": "f4", "f32_ftz": "f4", "tf32": "f4", "tf32_ftz": "f4", "f64": "f8",
}  # fmt: skip
Bytes = NDArray[np.uint8]
GLOBAL_BYTES = 1 << 20
SHARED_BYTES = 1 << 16


@cache
def arrays() -> dict[str, NDArray[Any]]:
    with np.load(DATA / "tensor_map_h200.npz") as found:
        return {name: found[name] for name in found.files}


def numbers(dtype: str, count: int) -> NDArray[Any]:
    """0, 1, 2, ... as elements of the type."""
    floats = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
    return np.arange(count).astype(floats.get(dtype, np.dtype(TYPES[dtype])))


@cache
def index_pattern(dtype: str, size: int) -> Bytes:
    """Shared by all loads; nothing writes it."""
    kind = np.dtype(TYPES[dtype])
    step = np.arange(size // kind.itemsize)
    values = {1: step % 251, 2: (step + 1) % 65536}.get(kind.itemsize, step + 1)
    pattern = values.astype(kind).view(np.uint8)
    pattern.flags.writeable = False
    return pattern


def global_memory(pattern: str, dtype: str) -> Bytes:
    if pattern == "bits":
        return arrays()["source_bits_4" if TYPES[dtype][1] == "4" else "source_bits_any"].copy()
    if pattern == "index":
        return index_pattern(dtype, GLOBAL_BYTES)
    if pattern == "reduce_init":
        count = 8192
        values = numbers(dtype, count) if TYPES[dtype][1] == "4" else np.tile(numbers(dtype, 128), count // 128)
        return values.view(np.uint8)
    return np.full(GLOBAL_BYTES, 0xCD, np.uint8)


def shared_memory(pattern: str, dtype: str) -> Bytes:
    step = np.arange(SHARED_BYTES // np.dtype(TYPES[dtype]).itemsize)
    if pattern == "reduce_add" and dtype in ("f16", "bf16"):
        return np.tile(numbers(dtype, 64), len(step) // 64).view(np.uint8)
    values = {"u8": (step * 3 + 1) % 251, "u16": step + 1, "u32": 100000 + step, "f32": step + 0.5}[dtype]
    return values.astype(TYPES[dtype]).view(np.uint8)


def map_of(given: dict[str, Any]) -> TensorMap:
    shared = {
        "dtype": given["tensorDataType"],
        "global_dim": given["globalDim"],
        "global_strides": given["globalStrides"],
        "element_strides": given["elementStrides"],
        "interleave": given["interleave"],
        "swizzle": given["swizzle"].replace("ATOM", "atom").replace("FLIP", "flip"),
        "oob_fill": FILLS[given["oobFill"]],
        "global_address": given["globalAddressOffset"],
    }
    if "boxDim" in given:
        return TensorMap.tiled(box_dim=given["boxDim"], **shared)
    return TensorMap.im2col(
        lower_corner=given["pixelBoxLowerCorner"],
        upper_corner=given["pixelBoxUpperCorner"],
        channels_per_pixel=given["channelsPerPixel"],
        pixels_per_column=given["pixelsPerColumn"],
        **shared,
    )


def check_load(given: TensorMap, case: dict[str, Any]) -> None:
    asked, expected = case["instruction"], case["expect"]
    memory = global_memory(case["memory"]["globalPattern"], given.dtype)
    image = given.load(memory, asked["coordinates"], asked["im2colOffsets"], asked["sharedOffset"])
    size, first = expected["windowBytes"], asked["sharedOffset"]
    window = np.full(max(size, first + len(image)), 0xCD, np.uint8)
    mask = np.zeros(len(window), np.bool_)
    mask[first : first + len(image)] = image.written
    window[mask] = image.bytes[image.written]
    assert image.transaction_bytes == expected["txBytes"]
    assert np.array_equal(mask[:size], arrays()[expected["maskKey"]] != 0)
    assert np.array_equal(window[:size], arrays()[expected["imageKey"]])
    assert not (expected["windowCoversImage"] and mask[size:].any())
    copied = image.source >= 0
    if not given.dtype.startswith("tf32"):
        assert np.array_equal(image.bytes[copied], memory[image.source[copied]])


def check_store(given: TensorMap, case: dict[str, Any]) -> None:
    """As it was measured: a byte counts as written if it is the same over two backgrounds."""
    asked, expected = case["instruction"], case["expect"]
    pattern = case["memory"]["sharedPattern"]
    shared = shared_memory(pattern, given.dtype)[asked["sharedOffset"] :]
    memory = global_memory(case["memory"]["globalPattern"], given.dtype)
    if asked["operation"] == "reduce_add":
        given.reduce("add", shared, memory, asked["coordinates"], asked["sharedOffset"])
        assert np.array_equal(memory[: expected["windowBytes"]], arrays()[expected["imageKey"]])
        return
    given.store(shared, memory, asked["coordinates"], asked["sharedOffset"])
    other = np.full_like(memory, 0x32)
    given.store(shared, other, asked["coordinates"], asked["sharedOffset"])
    assert np.array_equal(memory[: expected["windowBytes"]], arrays()[expected["imageKey"]])
    assert np.array_equal((memory == other)[: expected["windowBytes"]], arrays()[expected["maskKey"]] != 0)


def check(case: dict[str, Any]) -> None:
    status = case["expect"]["status"]
    if status == "encode_refused":
        with pytest.raises(AddressingError):
            map_of(case["tensorMap"])
        return
    given = map_of(case["tensorMap"])
    copy = check_load if case["instruction"]["operation"] == "load" else check_store
    if status == "illegal_instruction":
        with pytest.raises(AddressingError):
            copy(given, case)
        return
    copy(given, case)


@pytest.mark.parametrize("tag", TAGS)
def test_what_an_h200_did(tag: str) -> None:
    for case in CASES:
        if case["tag"] == tag:
            check(case)


def test_all_cases_are_there() -> None:
    assert len(CASES) == RECORD["caseCount"] == 977


@pytest.mark.parametrize("name", [name for name in RECORD["patternSha256"] if "/" in name])
def test_the_patterns_are_those_of_the_measurement(name: str) -> None:
    found = index_pattern(name.removeprefix("index/"), 65536)
    assert hashlib.sha256(found.tobytes()).hexdigest() == RECORD["patternSha256"][name]
