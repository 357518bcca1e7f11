"""How arguments of a call look: equal bytes for calls that are computed alike, None where Python is to decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from girih.runtime.cpu import entry, looks
from girih.runtime.cpu.looks import looker

A = np.zeros((6, 8), np.float32)


def look(*arguments: Any, options: tuple[Any, ...] = (), out: Any = None, target: Any = None) -> bytes | None:
    function = looker()
    assert function is not None
    return function(arguments, options, out, target)


def test_arrays_that_look_the_same() -> None:
    assert look(A, A.T) == look(np.ones((6, 8), np.float32), np.ones((6, 8), np.float32).T) is not None


@pytest.mark.parametrize(
    "other",
    [A.astype(np.float64), A.astype(np.int32), A.astype(">f4"), A.T, A[:, ::-1], A[:5], A[:, :7], A[0], A[None]],
)
def test_arrays_that_do_not(other: Any) -> None:
    assert look(other) not in (look(A), None)
    assert look(other, A) != look(A, other)


def test_sizes_are_not_taken_for_arrays() -> None:
    assert len({look(A), look(A, A), look(A, None), look(None, A), look(), look(A, options=(1,))}) == 6


def test_options_by_type_and_value() -> None:
    options = [None, True, False, 0, 1, -1, 2**62, 0.0, -0.0, 1.0, "", "a", "b", "a\0", "none", "x" * 64]
    assert len({look(A, options=(one,)) for one in options} - {None}) == len(options)
    assert look(A, options=("ab", "c")) != look(A, options=("a", "bc"))
    assert look(A, target="cpu") != look(A, options=("cpu",))
    assert look(A, options=("axis" + str(1),)) == look(A, options=("axis1",))


@pytest.mark.parametrize("unusual", [[], (), 2**63, 1j, "x" * 65, "\ud800", b"a", np.int64(1), np.float64(1), object()])
def test_unusual_options(unusual: Any) -> None:
    assert look(A, options=(unusual,)) is None
    assert look(A, target=unusual) is None


@pytest.mark.parametrize("unusual", [1, [1], np.float32(1), A.view(np.recarray), np.ma.masked_less(A, 1), b"a"])
def test_unusual_arrays(unusual: Any) -> None:
    assert look(unusual) is None
    assert look(A, out=unusual) is None


def test_too_many_axes() -> None:
    shape = (1,) * 32
    assert look(np.zeros(shape)) is not None
    assert look(np.zeros(shape), np.zeros(shape)) is None
    assert look(*[A] * 200) is None


def test_results_that_lie_apart_or_are_the_first_argument() -> None:
    whole = np.zeros((10, 8), np.float32)
    apart = look(whole[:5], out=whole[5:])
    assert apart is not None
    assert apart == look(A[:5], out=whole[5:]) == look(whole[5:], out=whole[:5])
    assert look(whole[:5], out=whole[4:9]) is None
    assert look(whole[4:9], out=whole[:5]) is None
    assert look(whole[4::-1], out=whole[4:9]) is None
    assert look(whole[4::-1], out=whole[5:]) is not None
    assert look(whole, out=whole) not in (None, look(A, out=whole), look(None, out=whole))
    assert look(A, whole, out=whole) is None
    whole.flags.writeable = False
    assert look(A, out=whole) != look(A, out=np.zeros((10, 8), np.float32))


def test_references_are_given_back() -> None:
    import sys

    option, array = "an option" * 2, np.zeros((3, 4))
    before = sys.getrefcount(option), sys.getrefcount(array), sys.getrefcount(None)
    for _ in range(1000):
        look(array, options=(option, []), out=array)
        look(array, options=(option,), out=array)
    after = sys.getrefcount(option), sys.getrefcount(array), sys.getrefcount(None)
    assert all(abs(new - old) < 100 for new, old in zip(after, before, strict=True))


def test_where_objects_lie_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "known_layout", lambda: False)
    looker.cache_clear()
    try:
        assert looker() is None
    finally:
        looker.cache_clear()
    assert entry.known_layout()
