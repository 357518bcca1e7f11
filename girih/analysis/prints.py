"""The prints of a kernel: their numbers, the regions that they stand in, and what a record of each holds.

Every executor notes a record for each line while a launch runs, and turns records into lines when it has ended. A
record is words of 8 bytes: the number of the print, the number of the work-group, the step of the work-group, subgroup
and lane (0 where neither counts), the point of the `foreach` or `foreach_tile` around, and the parts of the values.

The step of a work-group counts what it does together: each print in a collective region is one, and each execution of
an instruction that shares out work with prints.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

from girih.ir.core import Function, Op, Region, Value
from girih.ir.types import PARTS, CoopMatrix, Type
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import Foreach, ForeachTile, Parallel, Print

MOST_LINES = 65_536
"""The lines of a launch that are kept; the others are counted."""

HEADER_WORDS = 5
"""The words of a record before the point: print, work-group, step, subgroup, lane."""

_EDGE = 3
"""Of more than twice so many rows or columns of a matrix, so many of the first and of the last are shown."""


def shown(count: int) -> tuple[int, ...]:
    """The numbers of the rows, or columns, of a matrix that are shown."""
    return tuple(range(count)) if count <= 2 * _EDGE else (*range(_EDGE), *range(count - _EDGE, count))


def words_of(type: Type) -> int:
    """The words that a value takes in a record: one for each part of a number, of a matrix those that are shown."""
    if isinstance(type, CoopMatrix):
        return prod(len(shown(n)) for n in type.shape) * words_of(type.component)
    return 2 if type in PARTS else 1


@dataclass(frozen=True, slots=True, eq=False)
class PrintSite:
    """One print of a kernel, its number among all, and the instruction around that shares out work, if there is one."""

    op: Print
    number: int
    around: Foreach | ForeachTile | Parallel | None

    @property
    def point(self) -> tuple[Value, ...]:
        """The variables of the `foreach` or `foreach_tile` around."""
        return self.around.variables if isinstance(self.around, Foreach | ForeachTile) else ()

    @property
    def by_lane(self) -> bool:
        """Whether each lane writes a line, and is named in it; the point of a `foreach` tells more than its lane."""
        return isinstance(self.around, Parallel | ForeachTile) and not self.matrices

    @property
    def matrices(self) -> list[CoopMatrix]:
        """The types of the matrices that it shows."""
        return [v.type for v in self.op.values if isinstance(v.type, CoopMatrix)]

    @property
    def of_work_group(self) -> bool:
        """Whether a whole work-group writes one line."""
        return self.around is None or any(m.of_work_group for m in self.matrices)

    @property
    def words(self) -> int:
        """The words of a record."""
        return HEADER_WORDS + len(self.point) + sum(words_of(v.type) for v in self.op.values)


@dataclass(frozen=True, slots=True, eq=False)
class KernelPrints:
    """The prints of a kernel by instruction, in the order of the program, and the instructions that are steps."""

    sites: dict[Print, PrintSite]
    steps: frozenset[Op]

    @property
    def record_words(self) -> int:
        """The words of the longest record."""
        return max((site.words for site in self.sites.values()), default=0)


@lru_cache(maxsize=4)
def prints_of(function: Function) -> KernelPrints:
    """The prints of a function."""
    sites: dict[Print, PrintSite] = {}
    steps: set[Op] = set()
    pending: list[tuple[Region, Foreach | ForeachTile | Parallel | None]] = [(function.body, None)]
    found: dict[Op, Foreach | ForeachTile | Parallel | None] = {}
    while pending:
        region, around = pending.pop()
        for op in region.ops:
            inner = op if isinstance(op, Foreach | ForeachTile | Parallel) else around
            if isinstance(op, Print):
                found[op] = around
                steps.add(op if around is None else around)
            pending.extend((r, inner) for r in op.regions)
    for op in function.walk() if found else ():
        if isinstance(op, Print):
            sites[op] = PrintSite(op, len(sites), found[op])
    return KernelPrints(sites, frozenset(steps))
