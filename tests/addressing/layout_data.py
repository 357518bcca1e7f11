"""The loads and stores measured on an NVIDIA H200: `tests/data/cooperative_matrix2_h200.json` and `.npz`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.addressing import TensorLayout, TensorView, load_tensor, store_tensor

DATA = Path(__file__).resolve().parent.parent / "data"
COMPONENTS = {"f32": np.float32, "u32": np.uint32, "f16": np.float16, "u8": np.uint8, "s8": np.int8}

Array = NDArray[Any]


def cases() -> list[dict[str, Any]]:
    """Every case, in the order of the file."""
    found: list[dict[str, Any]] = json.loads((DATA / "cooperative_matrix2_h200.json").read_text(encoding="utf-8"))
    return found


@cache
def arrays() -> dict[str, Array]:
    """The arrays of all cases by name."""
    with np.load(DATA / "cooperative_matrix2_h200.npz") as file:
        return dict(file)


def layout_of(case: dict[str, Any]) -> TensorLayout:
    """The layout as the shader built it."""
    given = case["layout"]
    layout = TensorLayout(given["dim"], given["clamp_mode"])
    layout = layout.set_block_size(*given["block_size"]).set_dimension(*given["dimension"])
    if given["stride"] is not None:
        layout = layout.set_stride(*given["stride"])
    for one in given["slices"]:
        layout = layout.slice(*one)
    return layout if given["clamp_bits"] is None else layout.set_clamp_value(given["clamp_bits"])


def view_of(case: dict[str, Any]) -> TensorView | None:
    """The view as the shader built it."""
    given = case["view"]
    if given is None:
        return None
    view = TensorView(given["dim"], given["has_dimensions"], given["permutation"])
    if given["dimension"] is not None:
        view = view.set_dimension(*given["dimension"])
    if given["stride"] is not None:
        view = view.set_stride(*given["stride"])
    return view if given["clip"] is None else view.set_clip(*given["clip"])


def decode(blocks: Array, block_coord: Array, coord_in_block: Array) -> Array:
    """The decode function of the measured shaders."""
    value: Array = (
        blocks[:, 0] + blocks[:, 1] * coord_in_block[:, -1] + 2 * block_coord[:, 0] + 3 * coord_in_block[:, 0]
    )
    return value


def result_of(case: dict[str, Any], quirks: str | None = None) -> Array:
    """What girih makes of a case: the matrix after a load, the buffer after a store."""
    shape = (case["rows"], case["columns"])
    dtype = np.dtype(COMPONENTS[case["component"]])
    source, offset = arrays()[f"{case['id']}.source"], case["element_offset"]
    layout, view = layout_of(case), view_of(case)
    if case["operation"] == "store_tensor":
        matrix = np.arange(1, shape[0] * shape[1] + 1).reshape(shape).astype(dtype)
        buffer = np.full(len(arrays()[f"{case['id']}.expected"]), 200).astype(dtype)
        store_tensor(matrix, buffer, offset, layout, view, quirks=quirks)
        return buffer
    old = np.full(shape, 9, dtype)
    if case["operation"] == "load_tensor":
        return load_tensor(old, source, offset, layout, view, quirks=quirks)
    return load_tensor(old, source.reshape(-1, 2), offset, layout, view, decode, quirks=quirks)
