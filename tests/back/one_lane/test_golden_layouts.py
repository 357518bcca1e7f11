"""Loads and stores through tensor layouts as an H200 makes them, by matrices of machines that have none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import girih
from tests.addressing.layout_data import arrays, cases
from tests.back.one_lane.launch import OneLaneKernel
from tests.cases import every_case, long

TYPES = {"f32": "f32", "f16": "f16", "u32": "i32", "u8": "i8", "s8": "i8"}

MEASURED = [
    case for case in cases()
    if case["operation"] != "load_tensor_decode" and not case["overlapping_stores"]
]  # fmt: skip

AT_ONCE = 12
"""`make test` tries the first few; `make test-long` tries every twelfth in each test."""

SIGN = 1 << 31


def numbers(values: list[int]) -> str:
    return ", ".join(map(str, values))


def chain(name: str, type: str, steps: list[str]) -> list[str]:
    """Instructions that make a layout or view step by step; the last has the name."""
    lines, before = [], ""
    for number, step in enumerate(steps):
        result = f"%{name}" if number == len(steps) - 1 else f"%{name}{number}"
        lines.append(f"{result} = {step.replace('@', before)} : {type}")
        before = result
    return lines


def kernel(case: dict[str, Any]) -> str:
    """The access of a case: of the matrix %M of shape rows x columns, and of the buffer %A."""
    layout, view, type = case["layout"], case["view"], TYPES[case["component"]]
    of_layout = f"tensor_layout<{layout['dim']},{layout['clamp_mode']}>"
    steps = ["tensor_layout_create", f"tensor_layout_set_block_size @[{numbers(layout['block_size'])}]"]
    steps.append(f"tensor_layout_set_dimension @[{numbers(layout['dimension'])}]")
    if layout["stride"] is not None:
        steps.append(f"tensor_layout_set_stride @[{numbers(layout['stride'])}]")
    steps += [f"tensor_layout_slice @[{', '.join(f'{a}:{b}' for a, b in one)}]" for one in layout["slices"]]
    if layout["clamp_bits"] is not None:
        steps.append("tensor_layout_set_clamp_value @, %clamp")
    lines = chain("layout", of_layout.replace(",undefined", ""), steps)
    over = ""
    if view is not None:
        has = "true" if view["has_dimensions"] else "false"
        of_view = f"tensor_view<{view['dim']},{has},{','.join(map(str, view['permutation']))}>"
        steps = ["tensor_view_create"]
        steps += [f"tensor_view_set_{key} @[{numbers(view[key])}]" for key in ("dimension", "stride") if view[key]]
        if view["clip"] is not None:
            top, height, left, width = view["clip"]
            steps.append(f"tensor_view_set_clip @[{top}:{height}, {left}:{width}]")
        lines += chain("view", of_view, steps)
        over = ", %view"
    matrix = f"coopmatrix<{type}x{case['rows']}x{case['columns']},matrix_acc>"
    place = f"%A[%first], %layout{over}"
    access = [f"%m = cooperative_matrix_load %M[%z,%z] : {matrix}"]
    if case["operation"] == "store_tensor":
        access.append(f"cooperative_matrix_store_tensor %m, {place}")
    else:
        access.append(f"%n = cooperative_matrix_load_tensor %m, {place} : {matrix}")
        access.append("cooperative_matrix_store %n, %M[%z,%z]")
    body = "\n".join((f"%clamp = constant {((layout['clamp_bits'] or 0) ^ SIGN) - SIGN} : i32", *lines, *access))
    return f"""
    func @f(%A: memref<{type}x?>, %M: memref<{type}x{case["rows"]}x{case["columns"]}>)
        attributes {{subgroup_size=32, work_group_size=[32, 1]}} {{
      %z = constant 0 : index
      %first = constant {case["element_offset"]} : index
      parallel {{
        {body}
      }}
    }}"""


@pytest.mark.parametrize("chosen", [slice(3), *long(slice(k, None, AT_ONCE) for k in range(AT_ONCE))], ids=repr)
def test_measured_layouts(chosen: slice) -> None:
    with every_case() as one:
        for case in MEASURED[chosen]:
            with one(case["id"]):
                _agrees(case)


def _agrees(case: dict[str, Any]) -> None:
    expected = arrays()[f"{case['id']}.expected"]
    signed = {"u": "i"}.get(expected.dtype.kind, expected.dtype.kind) + str(expected.dtype.itemsize)
    shape = (case["rows"], case["columns"])
    if case["operation"] == "store_tensor":
        matrix = np.arange(1, shape[0] * shape[1] + 1).reshape(shape)
        buffer = np.full(len(expected), 200).astype(expected.dtype).view(signed)
    else:
        matrix = np.full(shape, 9)
        buffer = arrays()[f"{case['id']}.source"].copy().view(signed)
    # A copy that begins at a multiple of 64 bytes.
    room = np.zeros(buffer.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    aligned = room[start : start + buffer.nbytes].view(signed)
    aligned[:] = buffer
    held = np.asfortranarray(matrix.astype(expected.dtype).view(signed))
    OneLaneKernel(girih.loads(kernel(case), target="interpreter")["f"].ir)((1, 1, 1), aligned, held)
    found = aligned if case["operation"] == "store_tensor" else held
    told = np.ascontiguousarray(found).view(expected.dtype).reshape(expected.shape)
    np.testing.assert_array_equal(told, expected)
