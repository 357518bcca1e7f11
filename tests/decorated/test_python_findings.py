"""What a run finds is said of the user's arrays: indices in the order of their axes, words of Python."""

from __future__ import annotations

import numpy as np
import pytest

import girih
import girih.language as gl


@girih.kernel(grid=lambda X: (1,), subgroup_size=8, work_group_size=(16, 1), target="interpreter")
def outside(X: gl.Matrix[gl.f32]) -> None:
    gl.axpby(0.0, X, 1.0, X)
    with gl.parallel():
        if gl.subgroup_linear_id() == 0 and gl.subgroup_local_id() == 0:
            X[3, 9] = 1.0
        gl.load(X[2:6, 3:7])


@girih.kernel(grid=lambda X: (1,), subgroup_size=8, work_group_size=(16, 1), target="interpreter")
def races(X: gl.Matrix[gl.f32]) -> None:
    with gl.parallel():
        if gl.subgroup_linear_id() == 0:
            X[1, 2] = X[1, 0]
        else:
            X[1, 0] = 2.0


@pytest.mark.parametrize("order", "CF")
def test_indices_are_those_of_the_user(order: str) -> None:
    X = np.zeros((4, 6), np.float32, order="F" if order == "F" else "C")
    with pytest.raises(girih.KernelError) as raised:
        outside(X)
    first, second = raised.value.findings
    assert (first.index, first.shape) == ((3, 9), (4, 6))
    assert first.message == "`store` outside `X`: index (3, 9) of shape (4, 6)"
    assert second.shape == (4, 6)
    assert second.message.startswith("`gl.load` outside `X`: index (")
    # The call is known by now, and goes another way.
    with pytest.raises(girih.KernelError) as again:
        outside(X)
    assert [f.message for f in again.value.findings] == [first.message, second.message]


@pytest.mark.parametrize("order", "CF")
def test_races_are_those_of_the_user(order: str) -> None:
    X = np.zeros((4, 6), np.float32, order="F" if order == "F" else "C")
    with pytest.raises(girih.KernelError) as raised:
        races(X)
    found = next(f for f in raised.value.findings if f.other is not None and f.other.kind != f.kind)
    assert found.other is not None
    assert found.index == found.other.index == (1, 0)
    assert found.hint == 'a `gl.barrier("global")` between them orders them'
