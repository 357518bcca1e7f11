"""Loops and regions that share work out to work-items (003 "Foreach", "Parallel"), and loops that are unrolled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, SupportsIndex, TypeVar

from girih.language.words import outside, word

T = TypeVar("T")
Count = TypeVar("Count", bound=SupportsIndex)


@word
def foreach(*bounds: SupportsIndex | tuple[SupportsIndex, SupportsIndex]) -> Iterator[Any]:
    """The points of a box, shared out to the work-items of the work-group: `for i, j in gl.foreach(m, n)`.

    A bound is a size, or a pair of first value and end. The points have no order.
    """
    outside("gl.foreach")


@word
def parallel() -> AbstractContextManager[None]:
    """The region that each work-item of the work-group executes for itself: `with gl.parallel():`."""
    outside("gl.parallel")


@word
def unroll(values: Iterable[T]) -> Iterator[T]:
    """What a loop goes through while the kernel is translated: `for k in gl.unroll(range(4))` has four bodies."""
    outside("gl.unroll")


@word
def cdiv(a: Count, b: Count) -> Count:
    """The quotient of two integers, rounded up: how many blocks of b hold a."""
    outside("gl.cdiv")
