"""The memory of JAX's arrays on a device, tried on arrays of NumPy that look like them: where views of it begin."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from girih.functions.device import JaxArrays
from girih.functions.layouts import AxisView


class FakeArray(np.ndarray[Any, Any]):
    """An array with what JAX's arrays say of their memory."""

    def block_until_ready(self) -> FakeArray:
        return self

    def unsafe_buffer_pointer(self) -> int:
        return int(self.ctypes.data)


def packed(array: Any) -> Any:
    return np.ascontiguousarray(array).view(FakeArray)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Any:
    fake: Any = ModuleType("jax")
    fake.numpy = SimpleNamespace(
        empty=lambda sizes, dtype: packed(np.zeros(sizes, dtype)),
        full=lambda sizes, value, dtype: packed(np.full(sizes, value, dtype)),
        transpose=lambda array, order: packed(np.transpose(array, order)),
    )
    fake.config = SimpleNamespace(jax_enable_x64=False)
    fake.devices = lambda kind: [0]
    fake.device_put = lambda array, where: array
    monkeypatch.setitem(sys.modules, "jax", fake)
    return JaxArrays(0)


def test_copies_and_views(library: Any) -> None:
    x = packed(np.arange(24, dtype=np.float32).reshape(2, 3, 4))
    memory = library.taken(x)
    copy = library.copied(memory, (2, 0, 1))
    assert copy.placed.strides == (12, 4, 24)
    np.testing.assert_array_equal(library.handed(copy), x)
    view = library.viewer(AxisView((1, 0, 2), (3, 2, 4)), (2, 3, 4))(memory)
    assert (view.shape, view.strides) == ((3, 2, 4), (16, 48, 4))
    flat = library.viewer(AxisView((0, 1, 2), (6, 4)), (2, 3, 4))(memory)
    assert (flat.shape, flat.strides, flat.owner) == ((6, 4), (16, 4), x)
    part = library.part(memory, (1,))
    assert part.address == memory.placed.address + 48
    assert library.turned(part).strides == (4, 16)
    assert library.steps(memory) == (12, 4, 1)
    assert library.element(memory) == "f32"
    assert library.shown(memory) == "float32"
    assert not library.is_writeable(memory)
    assert library.shares(memory, memory)
    assert library.is_same(memory, memory)
    assert library.place == "on cuda:0, as an array of JAX"


def test_results_that_are_replaced(library: Any) -> None:
    memory = library.taken(packed(np.ones((2, 3), np.float32)))
    library.add_along(memory, library.filled((3,), "f32", 2.0), 1)
    assert library.handed(memory).tolist() == [[3, 3, 3]] * 2
    other = library.empty((2, 3), "f16", (1, 0))
    assert other.placed.strides == (2, 4)
    library.assign(other, memory)
    assert other.dtype == np.float16
    assert library.handed(other).tolist() == [[3, 3, 3]] * 2


def test_integers_of_64_bits_where_jax_has_none(library: Any) -> None:
    memory = library.empty((2, 3), "i64", (1, 0))
    assert (memory.dtype, memory.placed.strides) == (np.int64, (8, 16))
    memory.owner[...] = np.array([[-1, -1], [5, 0], [7, 0]], np.int32)[:, None, :]
    assert library.handed(memory).tolist() == [[-1, 5, 7]] * 2
