"""The coordinates in a tensor as functions of row and column of a matrix, where all sizes are known (001 8.X).

Linear indices are taken apart and put together again on the way through view and layout. Here an index is a sum of
digits, each of which depends on the row alone or on the column alone, so that for most layouts every coordinate is
found to be such a sum, too: then a tile is a window of the tensor, and a run of components lies in one block.

Guarantee: where digits are given, they are the coordinates of every component, modulo 2^32 included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from girih.lazy_dataclass import dataclass

ROW, COLUMN = 0, 1


@dataclass(frozen=True, slots=True)
class Digit:
    """`(x // divisor) % count * weight`, where x is the row or column, of `extent` many; it has `count` values."""

    axis: int
    extent: int
    divisor: int
    count: int
    weight: int

    @property
    def largest(self) -> int:
        """The largest value of the digit."""
        return (self.count - 1) * self.weight

    @property
    def whole(self) -> bool:
        """Whether the remainder changes nothing, because no quotient reaches `count`."""
        return self.divisor * self.count >= self.extent

    def of(self, x: int) -> int:
        """The value of the digit for a row or column."""
        return x // self.divisor % self.count * self.weight


Digits = tuple[Digit, ...]


def index_digits(rows: int, columns: int, width: int) -> Digits | None:
    """The linear index of a component; None where it may pass 32 bits."""
    digits = (Digit(ROW, rows, 1, rows, width), Digit(COLUMN, columns, 1, columns, 1))
    return _merged(digits) if sum(d.largest for d in digits) < 2**32 else None


def coordinates(index: Digits, sizes: Sequence[int]) -> tuple[Digits, ...] | None:
    """The coordinate in each dimension, outermost first, of an index; None where it is not a sum of digits."""
    result: list[Digits] = []
    for size in reversed(sizes):
        apart = _apart(index, size)
        if apart is None:
            return None
        coordinate, index = apart
        result.append(coordinate)
    return tuple(reversed(result))


def through_view(index: Digits, sizes: Sequence[int], strides: Sequence[int], order: Sequence[int]) -> Digits | None:
    """The linear index that a view makes of another; None where it may pass 32 bits or is not a sum of digits."""
    places = coordinates(index, [sizes[k] for k in order])
    if places is None:
        return None
    moved = [
        replace(d, weight=d.weight * strides[k])
        for k, digits in zip(order, places, strict=True)
        for d in digits
        if strides[k]
    ]
    return _merged(moved) if sum(d.largest for d in moved) < 2**32 else None


def _apart(index: Digits, size: int) -> tuple[Digits, Digits] | None:
    """The remainder and the quotient of an index by `size`; None where they are not sums of digits."""
    low: list[Digit] = []
    high: list[Digit] = []
    for digit in index:
        weight, count = digit.weight, digit.count
        if weight % size == 0:
            high.append(replace(digit, weight=weight // size))
        elif digit.largest < size:
            low.append(digit)
        elif size % weight == 0 and (digit.whole or count % (size // weight) == 0):
            inner = size // weight
            low.append(replace(digit, count=inner))
            high.append(replace(digit, divisor=digit.divisor * inner, count=-(-count // inner), weight=1))
        else:
            return None
    if sum(d.largest for d in low) >= size:
        return None
    return _merged(low), _merged(high)


def _merged(digits: Sequence[Digit]) -> Digits:
    """The digits with neighbours in one row or column joined, without those that are always 0."""
    pending = sorted((d for d in digits if d.count > 1), key=lambda d: (d.axis, d.divisor))
    merged: list[Digit] = []
    for digit in pending:
        last = merged[-1] if merged else None
        if (
            last is not None
            and last.axis == digit.axis
            and last.divisor * last.count == digit.divisor
            and last.weight * last.count == digit.weight
        ):
            count = min(last.count * digit.count, -(-last.extent // last.divisor))
            merged[-1] = replace(last, count=count)
        else:
            merged.append(digit)
    return tuple(merged)
