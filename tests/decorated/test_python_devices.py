"""Kernels in Python on arrays of a GPU that is made of Python: each library's, in any order, and in several at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import girih
import girih.language as gl
from girih.decorated.calls import KernelCalls
from tests.cases import every_case
from tests.runtime.cuda.arrays import ByDlpack, ByInterface
from tests.runtime.cuda.conftest import install
from tests.runtime.cuda.fake import FakeDriver, FakeGpu


@girih.kernel(grid=lambda X: gl.cdiv(X.shape[0], 4))
def less(X: gl.Matrix[gl.f32], Y: gl.Matrix[gl.f32], Z: gl.Matrix[gl.f32], times: gl.constant = 1) -> None:
    first = gl.group_id(0) * 4
    for i, j in gl.foreach(min(4, X.shape[0] - first), X.shape[1]):
        Z[first + i, j] = times * (X[first + i, j] - Y[first + i, j])


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeDriver:
    return install(FakeDriver(FakeGpu(), FakeGpu("another")), monkeypatch)


def fresh() -> girih.PythonKernel:
    return girih.kernel(grid=less.definition.options.grid)(less.function)


def turned(values: NDArray[Any], order: str) -> NDArray[Any]:
    """The values in order C or F."""
    return np.array(values, order="C" if order == "C" else "F")


VALUES = np.arange(15, dtype=np.float32).reshape(5, 3)
ONES = np.ones((5, 3), np.float32)
Made = Callable[[FakeDriver, NDArray[Any]], Any]
DEVICE_ARRAYS: dict[str, Made] = {
    "DLPack": ByDlpack,
    "DLPack without versions": lambda fake, content: ByDlpack(fake, content, versioned=False),
    "CUDA array interface": ByInterface,
}


def test_arrays_of_a_device_decide_for_it_in_any_order(fake: FakeDriver) -> None:
    for name, made in DEVICE_ARRAYS.items():
        kernel = fresh()
        # What knows DLPack alone cannot be turned.
        several = ["CCC", "FFF"] if "DLPack" in name else ["".join(o) for o in itertools.product("CF", repeat=3)]
        with every_case() as case:
            for orders in several:
                with case(f"{name} {orders}"):
                    x, y, z = (made(fake, turned(v, o)) for v, o in zip((VALUES, ONES, 0 * ONES), orders, strict=True))
                    for times in (1, 2):
                        kernel(x, y, z, times=times)
                        kernel.synchronize()
                        assert np.array_equal(z.content, times * (VALUES - ONES))
                        assert np.array_equal(x.content, VALUES)
        assert {variant.kernel.target for variant in kernel.variants.values()} == {"cuda"}
    assert not {"cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"} & set(fake.calls), "the arrays are used where they are"


def test_arrays_that_nothing_can_turn_are_refused(fake: FakeDriver) -> None:
    x, y, z = (ByDlpack(fake, turned(v, o)) for v, o in zip((VALUES, ONES, 0 * ONES), "CFC", strict=True))
    kernel = fresh()
    for _ in range(2):
        with pytest.raises(girih.LaunchError, match="arrays lie in different orders, and ByDlpack of a device has"):
            kernel(x, y, z)
    kernel(x, ByDlpack(fake, ONES), z)
    kernel.synchronize()
    assert np.array_equal(z.content, VALUES - ONES)


def test_an_array_in_order_c_that_says_no_strides_is_turned(fake: FakeDriver) -> None:
    class Packed(ByInterface):
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            return {**super().__cuda_array_interface__, "strides": None}

    kernel = fresh()
    x, y, z = Packed(fake, VALUES), *(ByInterface(fake, turned(values, "F")) for values in (ONES, 0 * ONES))
    kernel(x, y, z)
    kernel.synchronize()
    assert np.array_equal(z.content, VALUES - ONES)


def test_arrays_of_numpy_are_copied_to_a_device_that_was_asked_for(fake: FakeDriver) -> None:
    kernel = fresh().on("cuda")
    for orders in itertools.product("CF", repeat=3):
        x, y, z = (turned(v, o) for v, o in zip((VALUES, ONES, 0 * ONES), orders, strict=True))
        for _ in range(2):
            kernel(x, y, Z=z)
            assert np.array_equal(z, VALUES - ONES)
        assert z.flags.c_contiguous == (orders[2] == "C")


def test_a_call_waits_for_nothing_on_arrays_of_a_device(fake: FakeDriver) -> None:
    x, y, z = (ByDlpack(fake, values) for values in (VALUES, ONES, 0 * ONES))
    kernel = fresh()
    kernel(x, y, z)
    assert not z.content.any()
    kernel.synchronize()
    assert np.array_equal(z.content, VALUES - ONES)


def test_arrays_of_the_second_device_run_there(fake: FakeDriver) -> None:
    kernel = fresh()
    x, y, z = (ByDlpack(fake, values, 1) for values in (VALUES, ONES, 0 * ONES))
    kernel(x, y, z)
    kernel.synchronize()
    assert np.array_equal(z.content, VALUES - ONES)
    assert [variant.kernel.target for variant in kernel.variants.values()] == ["cuda:1"]
    with pytest.raises(girih.LaunchError, match="Y: it is on cuda:0, and X is on cuda:1"):
        kernel(x, ByDlpack(fake, ONES), z)
    with pytest.raises(girih.LaunchError, match="Y: it is on the host, and X is on cuda:1"):
        kernel(x, ONES, z)


class CupyLike(ByDlpack):
    """An array with the attributes by which CuPy's arrays are told apart."""

    @property
    def flags(self) -> Any:
        return SimpleNamespace(c_contiguous=self.strides == np.empty(self.shape, self.dtype).strides)

    @property
    def data(self) -> Any:
        return SimpleNamespace(device_id=self.device)


def test_known_calls_of_cupy_are_not_looked_at_again(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CupyLike, "__module__", "cupy")
    looked: list[object] = []
    look = KernelCalls.look

    def noted(self: KernelCalls, arguments: Any, key: Any) -> None:
        looked.append(key)
        look(self, arguments, key)

    monkeypatch.setattr(KernelCalls, "look", noted)
    kernel = fresh()
    for device, order in ((0, "C"), (0, "C"), (0, "F"), (0, "F"), (1, "C"), (1, "C")):
        x, y, z = (CupyLike(fake, turned(values, order), device) for values in (VALUES, ONES, 0 * ONES))
        kernel(x, y, z)
        kernel.synchronize()
        assert np.array_equal(z.content, VALUES - ONES)
    assert len(looked) == 3


def test_results_beside_arrays_of_a_device_that_no_library_makes(fake: FakeDriver) -> None:
    kernel = girih.kernel(out={"Z": "X"})(less.function)
    with pytest.raises(TypeError, match="ByDlpack lies on a CUDA device, where only torch and CuPy are asked"):
        kernel.out(ByDlpack(fake, VALUES), ByDlpack(fake, ONES))
