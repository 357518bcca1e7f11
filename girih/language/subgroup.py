"""Values of the work-items of a subgroup together (003 "Subgroup broadcast", "Subgroup operation").

They stand in `gl.parallel`, `gl.foreach` or `gl.foreach_tile`, where all work-items of the subgroup come to them.
Maxima and minima are of integers and floats; sums are of complex numbers too.
"""

from __future__ import annotations

from typing import TypeVar

from girih.language.types import Number, i32
from girih.language.words import outside, word

N = TypeVar("N", bound=Number | complex)


@word
def subgroup_broadcast(x: N, lane: i32 | int) -> N:
    """The value that the work-item of number `lane` has, for all of the subgroup; `lane` is the same in all of them."""
    outside("gl.subgroup_broadcast")


@word
def subgroup_exclusive_scan_add(x: N) -> N:
    """The sum of the values of the work-items before this one; 0 for the first."""
    outside("gl.subgroup_exclusive_scan_add")


@word
def subgroup_exclusive_scan_max(x: N) -> N:
    """The maximum of the values of the work-items before this one; -inf or the smallest integer for the first."""
    outside("gl.subgroup_exclusive_scan_max")


@word
def subgroup_exclusive_scan_min(x: N) -> N:
    """The minimum of the values of the work-items before this one; inf or the largest integer for the first."""
    outside("gl.subgroup_exclusive_scan_min")


@word
def subgroup_inclusive_scan_add(x: N) -> N:
    """The sum of the values of this work-item and those before it in the subgroup."""
    outside("gl.subgroup_inclusive_scan_add")


@word
def subgroup_inclusive_scan_max(x: N) -> N:
    """The maximum of the values of this work-item and those before it in the subgroup."""
    outside("gl.subgroup_inclusive_scan_max")


@word
def subgroup_inclusive_scan_min(x: N) -> N:
    """The minimum of the values of this work-item and those before it in the subgroup."""
    outside("gl.subgroup_inclusive_scan_min")


@word
def subgroup_reduce_add(x: N) -> N:
    """The sum of the values of all work-items of the subgroup."""
    outside("gl.subgroup_reduce_add")


@word
def subgroup_reduce_max(x: N) -> N:
    """The maximum of the values of all work-items of the subgroup."""
    outside("gl.subgroup_reduce_max")


@word
def subgroup_reduce_min(x: N) -> N:
    """The minimum of the values of all work-items of the subgroup."""
    outside("gl.subgroup_reduce_min")
