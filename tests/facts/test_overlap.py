"""Where boxes of memory meet, against sets of bytes."""

from __future__ import annotations

from itertools import product
from random import Random

from girih.facts.overlap import byte_box, first_shared, index_at
from tests.cases import every_case

View = tuple[list[int], list[int], int]
"""Shape, strides in elements, and the size of an element."""


def random_view(source: Random) -> View:
    shape: list[int] = []
    strides: list[int] = []
    stride = source.choice((1, 1, 2, 3))
    for _ in range(source.randrange(4)):
        size = 0 if source.random() < 0.05 else source.randrange(1, 6)
        shape.append(size)
        strides.append(source.randrange(1, 100) if size == 1 and source.random() < 0.3 else stride)
        stride = stride * max(size, 1) + source.choice((0, 0, 1, 2, 5))
    return shape, strides, source.choice((1, 2, 4, 8))


def bytes_of(view: View, begin: int) -> dict[int, tuple[int, ...]]:
    """The bytes of a view that begins at a byte, each with the index of its element."""
    shape, strides, element = view
    places = {}
    for index in product(*map(range, shape)):
        first = begin + element * sum(i * stride for i, stride in zip(index, strides, strict=True))
        places.update({first + k: index for k in range(element)})
    return places


def test_the_first_byte_that_two_views_share() -> None:
    source = Random(7)
    met = 0
    for _ in range(3000):
        view, other = random_view(source), random_view(source)
        if source.random() < 0.5:
            other = [max(0, n - source.randrange(2)) for n in view[0]], view[1], view[2]
        distance = source.randrange(-60, 60)
        mine = bytes_of(view, 0)
        wanted = min(mine.keys() & bytes_of(other, distance).keys(), default=None)
        box, its = byte_box(*view), byte_box(*other)
        shared = None if box is None or its is None else first_shared(distance, box, its)
        assert shared == wanted, (view, other, distance)
        if shared is not None:
            assert index_at(shared, *view) == mine[shared]
            met += 1
    assert 500 < met < 2500


def test_many_columns_cost_little() -> None:
    upper, lower = (2**20, 2**20), (2**20, 2**20)
    strides = (1, 2**21)
    with every_case() as case:
        for name, distance, wanted in [("rows apart", 2**20, None), ("a row shared", 2**20 - 1, 2**20 - 1),
                                       ("a column", 2**41 - 2**21, 2**41 - 2**21)]:  # fmt: skip
            with case(name):
                box, other = byte_box(upper, strides, 1), byte_box(lower, strides, 1)
                assert box is not None
                assert other is not None
                assert first_shared(distance, box, other) == wanted
