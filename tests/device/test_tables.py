"""Memory that holds a constant."""

from __future__ import annotations

import numpy as np
import pytest

from tests.device.programs import TARGETS, codes, findings, on_both

TABLE = """
func @f(%out: memref<i8x?>, %from: memref<i8x?>) attributes{{work_group_size=[8,1]}} {{
    parallel {{
        %table = constant_bytes (1, -2, 3) : memref<i8x{size}>
        %lane = subgroup_local_id : i32
        %at = cast %lane : index
        %four = constant 4 : index
        %offset = mul %at, %four : index
        %k = byte_load %from[%offset], 4 : i32
        %index = cast %k : index
        %place = mul %index, %four : index
        %x = byte_load %table[%place], 4 : i32
        byte_store (%x), %out[%offset], 4
    }}
}}
"""


def test_a_table_has_its_words() -> None:
    places = np.array([0, 1, 2, 1, 0, 2, 2, 1], np.int32)
    for out, _ in on_both(TABLE.format(size=12), np.zeros(32, np.int8), places.view(np.int8)):
        np.testing.assert_array_equal(out.view(np.int32), np.array([1, -2, 3])[places])


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_outside_of_a_table_is_found(target: str) -> None:
    places = np.array([0, 1, 3, 1, 0, 2, 2, 1], np.int32)
    (found,) = findings(TABLE.format(size=12), target, np.zeros(32, np.int8), places.view(np.int8))
    assert found.code == "run.out_of_bounds" and found.argument == "table"


def test_a_table_has_four_bytes_for_each_word() -> None:
    assert codes(TABLE.format(size=12)) == []
    assert codes(TABLE.format(size=13)) == ["constant_bytes.size"]
