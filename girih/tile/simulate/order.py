"""Which work-groups a CTA executes, and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from girih.tile.form import WorkOrder

Triple = tuple[int, int, int]


def place_in_grid(order: WorkOrder, grid: Triple, number: int) -> Triple:
    """The place (x, y, z) of a work-group by its number in the order."""
    columns, rows, _ = grid
    z, rest = divmod(number, columns * rows)
    band, within = divmod(rest, order.group * rows)
    first = band * order.group
    y, x = divmod(within, min(order.group, columns - first))
    x += first
    return (columns - 1 - x if order.last_first else x), y, z


def work_of(order: WorkOrder, grid: Triple, ctas: int, parts: int = 1) -> Sequence[Sequence[tuple[Triple, int]]]:
    """The work-groups of each CTA in its order, each with a part of its depth.

    `ctas` run at a time if the order is persistent.
    """
    total = prod(grid) * parts
    count = min(ctas, total) if order.persistent else total
    return [
        [(place_in_grid(order, grid, number // parts), number % parts) for number in range(cta, total, count)]
        for cta in range(count)
    ]
