"""How cooperative matrices go through loops and branches."""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.cpu.coopmatrix_forms import (
    Columns,
    InMemory,
    Matrix,
    Reference,
    Unloaded,
    in_registers,
    line_bytes,
    part,
    part_count,
    settled,
    tile_bytes,
    turned,
)
from girih.back.llvm.cpu.coopmatrix_plan import plan_of
from girih.back.llvm.cpu.coopmatrix_walk import to_columns, to_tile
from girih.back.llvm.cpu.lowering import Lowering
from girih.back.llvm.text import Val, integer
from girih.ir.core import Value
from girih.ir.types import CoopMatrix, Use


class MatrixCarrier:
    """How a matrix goes from one iteration to the next, or out of a branch.

    Small ones are phis. Large ones alternate between two places, unless the next one already lies where the last one
    was. Factors that a branch has found in memory stay there.
    """

    def __init__(self, l: Lowering, type: CoopMatrix, value: Value) -> None:
        plan = plan_of(l.function)
        self._type = type
        self._reference = plan.by_reference(value)
        self._columns = not self._reference and in_registers(l, type)
        self._current: Val | None = None
        self._base = None if self._columns else self._place(l, plan.outer_result(value))
        # Until the value is known, it stands for its carrier: branches within this one use the same place.
        l.set(value, self)

    def _place(self, l: Lowering, outer: Value | None) -> Val:
        """Two places; for what a branch around this one is going to yield, those of that branch."""
        around = None if outer is None else l.env.get(outer)
        if isinstance(around, MatrixCarrier) and around._base is not None:
            return around._base
        type = self._type
        across = CoopMatrix(type.component, type.columns, type.rows, type.use)
        return l.take(2 * max(tile_bytes(type), tile_bytes(across)))

    def enter(self, l: Lowering, held: Matrix) -> list[Val]:
        """The values for the phis."""
        used = l.frame.used
        # What the region has left in the workspace is still read, although its place is free for others by now.
        l.frame.used = l.frame.most
        found = self._enter(l, held)
        l.frame.used = used
        return found

    def _enter(self, l: Lowering, held: Matrix) -> list[Val]:
        if self._reference:
            return self._enter_reference(l, held)
        if self._columns:
            return [p for column in to_columns(l, held) for p in column]
        found = settled(held)
        slot = found.slot if isinstance(found, InMemory) else None
        if isinstance(found, InMemory) and isinstance(slot, MatrixCarrier) and slot._base is self._base:
            return [found.offset or integer(0)]
        size = tile_bytes(self._type)
        offset = integer(0) if self._current is None else l.w.sub(size, self._current)
        to_tile(l, held, self._tile(l, offset))
        return [offset]

    def _tile(self, l: Lowering, offset: Val) -> InMemory:
        assert self._base is not None
        return InMemory(self._type, l.w.at(self._base, offset), True, self, offset)

    def _enter_reference(self, l: Lowering, held: Matrix) -> list[Val]:
        size = part(self._type).size
        tile = self._tile(l, integer(0))
        found = settled(held)
        if isinstance(found, Unloaded):
            # Products take vectors from `a`, and single components from `b`.
            found = found.found(l, lines=self._type.use is Use.A, into=tile)
        if isinstance(found, Reference):
            return [found.pointer, l.w.value(found.row_stride), l.w.value(found.column_stride)]
        if found is not tile:
            to_tile(l, held, tile)
        along, across = integer(size), integer(line_bytes(self._type))
        return [tile.pointer, across, along] if turned(self._type) else [tile.pointer, along, across]

    def inside(self, l: Lowering, values: Sequence[Val]) -> Matrix:
        """The matrix that the phis stand for."""
        if self._reference:
            return Reference(self._type, *values)
        if self._columns:
            count = part_count(self._type)
            return Columns(self._type, [tuple(values[k : k + count]) for k in range(0, len(values), count)])
        self._current = values[0]
        return self._tile(l, values[0])
