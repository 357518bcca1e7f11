"""Memory that is bytes: offsets, strides, matrices, structs, runtime arrays, as NumPy lays them out."""

from __future__ import annotations

import numpy as np

from tests.front.spirv.shaders import BUFFERS, on_both

COPY = (
    BUFFERS
    + """
%from = OpAccessChain %_ptr_StorageBuffer_uint %input %int_0 %int_2
%value = OpLoad %uint %from
%to = OpAccessChain %_ptr_StorageBuffer_uint %output %int_0 %value
OpStore %to %value
"""
)


def test_an_element_is_copied() -> None:
    given = np.array([7, 6, 3, 5], np.uint32)
    for _, output in on_both(COPY, given, np.zeros(4, np.uint32)):
        np.testing.assert_array_equal(output, [0, 0, 0, 3])
