"""The coordinates of components as sums of digits, against the arithmetic that they stand for."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from math import prod

import pytest

from girih.analysis.tensors import ROW, Digits, coordinates, index_digits, through_view


def value(digits: Digits, row: int, column: int) -> int:
    return sum(digit.of(row if digit.axis == ROW else column) for digit in digits)


def taken_apart(index: int, sizes: Sequence[int]) -> tuple[int, ...]:
    found = []
    for size in reversed(sizes):
        found.append(index % size)
        index //= size
    return tuple(reversed(found))


@pytest.mark.parametrize("seed", range(40))
def test_digits_are_the_coordinates_of_every_component(seed: int) -> None:
    made = random.Random(seed)
    rows, columns = made.choice([(4, 6), (8, 8), (12, 10), (16, 4)])
    sizes = [made.choice([1, 2, 3, 4, 6, 8]) for _ in range(made.randrange(1, 5))]
    index = index_digits(rows, columns, columns)
    assert index is not None
    found = coordinates(index, sizes)
    if found is None:
        return
    for row, column in product(range(rows), range(columns)):
        expected = taken_apart(row * columns + column, sizes)
        assert tuple(value(digits, row, column) for digits in found) == expected


def test_most_layouts_have_digits() -> None:
    index = index_digits(16, 8, 8)
    assert index is not None
    known = [sizes for sizes in product((1, 2, 4, 8, 16), repeat=3) if coordinates(index, sizes) is not None]
    assert len(known) == 5**3


def test_a_view_that_swaps_two_dimensions() -> None:
    index = index_digits(4, 6, 6)
    assert index is not None
    moved = through_view(index, (4, 6), (6, 1), (1, 0))
    assert moved is None or all(
        value(moved, r, c) == (r * 6 + c) % 4 * 6 + (r * 6 + c) // 4 for r, c in product(range(4), range(6))
    )
    same = through_view(index, (4, 6), (6, 1), (0, 1))
    assert same is not None
    assert [value(same, r, c) for r, c in product(range(4), range(6))] == list(range(prod((4, 6))))


def test_an_index_beyond_32_bits_has_none() -> None:
    assert index_digits(2**17, 2**17, 2**17) is None
