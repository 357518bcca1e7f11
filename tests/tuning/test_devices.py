"""`girih.tune` on arrays of a GPU, by a driver in Python, and launches there that take a choice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import girih
import girih.language as gl
from girih.tuned.file import read
from girih.tuning.arrays import on_host
from tests.runtime.cuda.arrays import ByDlpack
from tests.runtime.cuda.conftest import fake
from tests.runtime.cuda.fake import FakeDriver

__all__ = ["fake"]


def halves(X: gl.Vector[gl.f32], tile: gl.constant = 8) -> None:
    for i in gl.foreach(tile):
        if gl.group_id(0) * tile + i < X.shape[0]:
            X[gl.group_id(0) * tile + i] *= 0.5


def groups(X: Any, tile: Any) -> Any:
    return gl.cdiv(X.shape[0], tile)


class OnGpu(ByDlpack):
    """An array as CuPy has it: by DLPack, with copies on the device and on the host."""

    def copy(self) -> OnGpu:
        return OnGpu(self.fake, self.content)

    def get(self) -> Any:
        return self.content


def test_arrays_of_a_device_are_tuned_and_launched_there(fake: FakeDriver, tmp_path: Path) -> None:
    # A kernel of its own: variants for a driver that is gone afterwards stay with their kernel.
    halve = girih.kernel(grid=groups)(halves)
    file = tmp_path / "tuned.json"
    X = OnGpu(fake, np.ones(40, np.float32))
    found = girih.tune(halve, (X,), {"tile": [8, 32]}, file=file)
    assert {one.outcome for one in found.trials} == {"timed"}
    assert (X.content == 1).all()
    assert [str(one.launch) for one in read(file).choices] == ["halves on cuda with X=f32:40"]
    tuned = girih.kernel(definitions=file, grid=groups)(halves)
    tuned(X)
    tuned.synchronize()
    assert (X.content == 0.5).all()
    assert {variant.key.target for variant in tuned.variants.values()} == {"cuda"}
    with pytest.warns(UserWarning, match="no choice for halves on cpu"):
        tuned(np.ones(8, np.float32))


def test_a_wrong_result_on_a_device_is_found(fake: FakeDriver) -> None:
    text = "$x = 1.0\nfunc @set(%A: memref<f32x?>) {\n    %i = constant 0 : index\n    %x = constant $x : f32\n"
    kernel = girih.loads(text + "    store %x, %A[%i]\n}\n", "cuda")["set"]
    found = girih.tune(kernel, (OnGpu(fake, np.ones(4, np.float32)),), {"x": [1.0, 2.0]})
    assert [(one.definitions["x"], one.outcome) for one in found.trials] == [(1.0, "timed"), (2.0, "wrong")]


def test_orders_of_a_device_are_kept_on_the_host(fake: FakeDriver) -> None:
    for content in (np.ones((3, 4), np.float32), np.ones((3, 4), np.float32, order="F")):
        (host,) = on_host((OnGpu(fake, content),))
        assert host.strides == content.strides
