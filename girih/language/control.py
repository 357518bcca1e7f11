"""Loops and regions that share work out to work-items (003 "Foreach", "Parallel"), and loops that are unrolled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Literal, SupportsIndex, TypeVar

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
def foreach_tile(
    *bounds: SupportsIndex | tuple[SupportsIndex, SupportsIndex], tile: int | tuple[int, ...]
) -> Iterator[Any]:
    """The tiles of a box, shared out to the subgroups: `for (i, j), (m, n) in gl.foreach_tile(M, N, tile=(32, 16))`.

    The loop has the first point of a tile, and its size, which is smaller than `tile` only at the end of the box; with
    one bound they are numbers, `for i, m in gl.foreach_tile(M, tile=64)`. A bound is a size, or a pair of first value
    and end. All work-items of a subgroup execute the body together; the tiles have no order (003 "Foreach tile").
    """
    outside("gl.foreach_tile")


@word
def barrier(*memory: Literal["global", "local"]) -> None:
    """Wait until all work-items of the work-group have come here (003 "Barrier").

    What they wrote before to the memory that is named, "global" or "local", is seen by all of them afterwards.
    """
    outside("gl.barrier")


@word
def print(*values: object) -> None:
    """Write a line to standard output: texts, then numbers or matrices (SPIR-V "NonSemantic.DebugPrintf").

    Work-groups write a line each, or work-items in `gl.parallel` and the like. Lines come when the launch has ended.
    Python's `print` is the same.
    """
    outside("gl.print")


@word
def range(
    start: Count,
    stop: Count | int | None = None,
    step: Count | int | None = None,
    /,
    *,
    unroll: bool | int | None = None,
    stages: int | None = None,
    pipeline: bool | None = None,
) -> Iterator[Count]:
    """Python's `range`, with advice to targets, which changes no result (003 "For").

    `unroll` is whether iterations are written out, or how many; `stages` how many are on their way at a time;
    `pipeline` whether they overlap at all.
    """
    outside("gl.range")


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
