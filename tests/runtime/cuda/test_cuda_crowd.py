"""How many work-groups are on a multiprocessor at a time, of kernels that go over their memory several times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import girih
from girih.back.llvm.nvptx.machine.again import gone_over_again
from girih.kernels import path
from tests.runtime.cuda.fake import FakeDriver


def test_memory_of_several_loops_is_gone_over_again() -> None:
    (softmax,) = girih.parse(Path(path("softmax")).read_text()).functions
    assert gone_over_again(softmax) == (0, 1)
    (one,) = girih.parse("""
func @one(%X: memref<f32x64>, %Y: memref<f32x64>) attributes {subgroup_size=32, work_group_size=[32, 1]} {
    parallel {
        %lane = subgroup_local_id : i32
        %first = cast %lane : index
        %end = constant 64 : index
        %lanes = constant 32 : index
        for %i = %first, %end, %lanes {
            %x = load %X[%i] : f32
            store %x, %Y[%i]
        }
        for %i = %first, %end, %lanes {
            %y = load %Y[%first] : f32
            store %y, %Y[%first]
        }
    }
}
""").functions
    assert gone_over_again(one) == ()


@pytest.mark.parametrize(
    ("length", "cache", "limited"), [(64, 50 * 2**20, False), (2048, 40 * 2**20, True), (2048, 2**20, False)]
)
def test_fewer_are_asked_for_where_their_memory_fits_the_cache_then(
    fake: FakeDriver, length: int, cache: int, *, limited: bool
) -> None:
    """Two columns of 8192 bytes each: of 40 MB there are 19 work-groups of a multiprocessor, of 1 MB not even ten."""
    fake.gpus[0].cache_bytes = cache
    softmax = girih.load(path("softmax"), "cuda")["softmax"]
    a: Any = np.zeros((length, 3), np.float32, order="F")
    b: Any = np.zeros_like(a)
    softmax(a, b)
    np.testing.assert_allclose(b, 1 / length, rtol=1e-6)
    ((_, shared, _),) = fake.launches
    if not limited:
        assert shared == 0
        return
    count = int(cache / 132 / (2 * 4 * length))
    assert 10 <= count < 32
    assert count * (shared + 1024) <= 228 * 1024 < (count + 1) * (shared + 1024 + 128)
