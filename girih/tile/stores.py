"""Stores of a tile program: which go through the copy engine, and which tiles are both read and written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Protocol

from girih.analysis.effects import roots_of
from girih.ir.core import Op, Value
from girih.ir.types import F64, CoopMatrix, Number
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import For, If
from girih.ops.tile.coopmatrix import CooperativeMatrixLoad, CooperativeMatrixStore
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor, CooperativeMatrixStoreTensor
from girih.tile.boxes import along_rows, boxed, pieces_of
from girih.tile.form import (
    MapRecipe,
    Reclaim,
    Send,
    SharedTile,
    Stage,
    Staging,
    TileStep,
)
from girih.tile.known import LaunchFacts, Terms
from girih.tile.places import PlaceInArgument, box_of
from girih.tile.program import NoTileProgram, TileProgram, walk

MatrixStores = CooperativeMatrixStore | CooperativeMatrixStoreTensor
MatrixLoads = CooperativeMatrixLoad | CooperativeMatrixLoadTensor
STAGING_TURNS = 2
"""The stagings that parts of a matrix go through in turn, so that one is written while the other one is read."""
STAGING_COLUMNS = (64, 32, 16)
"""The columns that a staging may have: 8 KiB of 16-bit numbers for each consumer, or less for the sake of rings."""


class _Translating(Protocol):
    consumers: int
    facts: LaunchFacts

    def sum_of(self, terms: Terms, steps: list[TileStep]) -> Value | int: ...


@dataclass(slots=True, eq=False)
class Stores:
    """The stores of a program: the parameters that they write, where, and the stagings of those that are sent."""

    by_array: dict[Value, list[MatrixStores]] = field(default_factory=dict)
    places: dict[Op, PlaceInArgument | None] = field(default_factory=dict)
    roots: Mapping[Value, Value] = field(default_factory=dict)
    stagings: list[Staging] = field(default_factory=list)
    maps: list[MapRecipe] = field(default_factory=list)
    direct: set[Op] = field(default_factory=set)
    most_columns: int = STAGING_COLUMNS[0]
    period: int = 8
    """The columns of a period of the kernel's `Fragment`: a staging has whole ones."""

    def prepare(self, program: TileProgram, facts: LaunchFacts) -> None:
        """Find the stores of a program, and where they go if that is a box of an array."""
        self.roots = roots_of(program.function)
        for op in walk(program.body):
            if isinstance(op, MatrixStores):
                self.places[op] = box_of(op, facts)
                self.by_array.setdefault(self.roots.get(op.memory, op.memory), []).append(op)
        for stores in self.by_array.values():
            if _most_on_a_way(program.body, stores) > 1:
                self.direct.update(stores)

    def is_direct(self, op: MatrixStores) -> bool:
        """Whether others store to the same array, so that the order counts, which the copy engine does not keep."""
        return op in self.direct

    def check_fetch(self, op: MatrixLoads, place: PlaceInArgument | None) -> None:
        """Raise `NoTileProgram` for a load of what is stored, unless each thread has what it loads for itself."""
        for store in self.by_array.get(self.roots.get(op.memory, op.memory), ()):
            if place is None or not _same_place(self.places[store], place):
                raise NoTileProgram("a matrix is loaded from an array of which another tile is stored", op.span)

    def sent(self, code: _Translating, op: MatrixStores, source: str, steps: list[TileStep]) -> bool:
        """Store a matrix through a staging, where a map has its memory; otherwise nothing happens."""
        matrix, place = op.matrix.type, self.places[op]
        assert isinstance(matrix, CoopMatrix)
        rows = matrix.rows // code.consumers
        if place is None or rows % 64 or not self._is_staged(matrix.component):
            return False
        most = min(matrix.columns, self.most_columns * 4 // max(4, matrix.component.size))
        widths = range(most // self.period * self.period, 0, -self.period)
        width = next((n for n in widths if matrix.columns % n == 0), 0)
        if not width:
            return False
        try:
            box = boxed("out", place, matrix, (64, width), op.span)
        except NoTileProgram:
            return False
        by_rows = along_rows(place)
        apart, *later = (
            place.moved(*((0, c * rows) if by_rows else (c * rows, 0))) for c in range(1, code.consumers + 1)
        )
        if any(begin != tuple(c * n for n in apart) for c, begin in enumerate(later[:-1], 2)):
            return False
        parts = rows // 64 * (matrix.columns // width)
        stagings = [self._staging(box.tile, turn) for turn in range(min(STAGING_TURNS, parts))]
        name = self._map(box.map)
        at = tuple(code.sum_of(terms, steps) for terms in box.at)
        places = [(row, column) for row in range(0, rows, 64) for column in range(0, matrix.columns, width)]
        for number, (row, column) in enumerate(places):
            moved = place.moved(*((column, row) if by_rows else (row, column)))
            pieces = tuple(
                replace(one, moved=tuple(a + b for a, b in zip(one.moved, moved, strict=True)))
                for one in pieces_of(box.tile, box.lines_in_box, len(at))
            )
            staging = stagings[number % len(stagings)]
            steps += [Reclaim(staging), Stage(staging, source, row, column), Send(staging, name, at, pieces, apart)]
        return True

    def _is_staged(self, component: Number) -> bool:
        """Whether a staging has numbers of a type; those of 16 bits are written as tensor cores leave them."""
        return component == F64 or component.size == 4 or (component.size == 2 and self.period == 8)

    def _staging(self, tile: SharedTile, turn: int) -> str:
        """A staging of a kind: the first one, or a later one for the parts that come in between."""
        alike = [one.name for one in self.stagings if one.tile == tile]
        if turn < len(alike):
            return alike[turn]
        self.stagings.append(Staging(f"staging{len(self.stagings)}", tile))
        return self.stagings[-1].name

    def _map(self, wanted: MapRecipe) -> str:
        stored = replace(wanted, stored=True)
        for one in self.maps:
            if replace(one, name="") == replace(stored, name=""):
                return one.name
        self.maps.append(replace(stored, name=f"out{len(self.maps)}"))
        return self.maps[-1].name


def _same_place(a: PlaceInArgument | None, b: PlaceInArgument) -> bool:
    return a is not None and replace(a, bounded=False) == replace(b, bounded=False)


def _most_on_a_way(ops: Iterable[Op], stores: Sequence[Op]) -> int:
    """How many of some stores are executed at most, one after the other."""
    count = 0
    for op in ops:
        if isinstance(op, If):
            count += max((_most_on_a_way(region.ops, stores) for region in op.regions), default=0)
        elif isinstance(op, For):
            count += 2 * _most_on_a_way(op.body.ops, stores)
        else:
            count += op in stores
    return count
