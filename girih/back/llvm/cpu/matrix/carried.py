"""Matrices that loops carry from one iteration to the next, and that branches give."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.components import held_by, move_components
from girih.back.llvm.cpu.matrix.fused_pass import to_columns, to_tile
from girih.back.llvm.cpu.matrix.states import (
    Columns,
    Deferred,
    InMemory,
    Matrix,
    Reference,
    Repeated,
    Unloaded,
    in_registers,
    length,
    line_bytes,
    line_count,
    part,
    part_count,
    settled,
    tile_bytes,
    turned,
)
from girih.back.llvm.cpu.matrix.uses import plan_of
from girih.back.llvm.emit.text import Val, integer, wide, zero
from girih.back.llvm.numbers.values import register
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix, Use
from girih.ops.tile.control import For


class MatrixCarrier:
    """The way of a matrix from one iteration of a loop to the next, or out of a branch.

    Small ones are phis. Large ones alternate between two places, unless the next one already lies where the last one
    was. Factors that a branch has found in memory stay there.
    """

    def __init__(self, code: CpuCode, value: Value) -> None:
        plan, type = plan_of(code.function), value.type
        assert isinstance(type, CoopMatrix)
        self._type = type
        self._reference = plan.by_reference(value)
        self._columns = not self._reference and in_registers(code, type)
        self._current: Val | None = None
        self._begins = value not in plan.definers
        """Whether the next value is what a loop begins with, in the region around it."""
        self._base = None if self._columns else self._place(code, plan.outer_result(value))
        # Until the value is known, it stands for its carrier: branches within this one use the same place.
        code.set(value, self)

    def _place(self, code: CpuCode, outer: Value | None) -> Val:
        """The two places of a large matrix: those of the branch around this one if that yields its result."""
        around = None if outer is None else code.env.get(outer)
        if isinstance(around, MatrixCarrier) and around._base is not None:
            return around._base
        type = self._type
        across = CoopMatrix(type.component, type.columns, type.rows, type.use)
        return code.take(2 * max(tile_bytes(type), tile_bytes(across)))

    def enter(self, code: CpuCode, held: Matrix) -> list[Val]:
        """The values for the phis."""
        if self._begins:
            # What is kept on the way may be read behind the loop.
            self._begins = False
            return self._enter(code, held)
        used = code.frame.used
        # What the region has left in the workspace is still read, although its place is free for others by now.
        code.frame.used = code.frame.most
        found = self._enter(code, held)
        code.frame.used = used
        return found

    def join(self, code: CpuCode, mask: Val, held: Matrix, before: Sequence[Val] | None) -> list[Val]:
        """The values for the phis where the work-items of a mask have a matrix, and others what has come `before`.

        Each component is that of the work-item that holds it. Those who hold a matrix of a work-group have it at once.
        """
        assert not self._reference
        if self._columns:
            new = self.enter(code, held)
            if before is None or self._type.of_work_group:
                return new
            chosen = [line for line in held_by(code, self._type, mask) for _ in range(part_count(self._type))]
            return [code.w.select(line, a, b) for line, a, b in zip(chosen, new, before, strict=True)]
        used = code.frame.used
        code.frame.used = code.frame.most
        # Others go on with what the matrix was, and may replace it in place.
        merged = self._next(code)
        if before is None or self._type.of_work_group:
            to_tile(code, held, merged)
        else:
            self._join_tiles(code, mask, to_tile(code, held), self._tile(code, before[0]), merged)
        code.frame.used = used
        assert merged.offset is not None
        return [merged.offset]

    def _next(self, code: CpuCode) -> InMemory:
        """The place for what comes next, in which the matrix of this iteration does not lie."""
        return self._tile(
            code, integer(0) if self._current is None else code.w.sub(tile_bytes(self._type), self._current)
        )

    def _join_tiles(self, code: CpuCode, mask: Val, new: InMemory, old: InMemory, merged: InMemory) -> None:
        """Write what work-items of a mask hold from one tile, and the rest from another one, into a third."""
        w = code.w
        everybody = w.all(mask)
        with w.when(everybody):
            self._copy(code, new, merged)
        with w.when(w.negated(everybody)):
            assert old.offset is not None and merged.offset is not None
            if old.offset.text != merged.offset.text:
                with w.when(w.compare("ne", old.offset, merged.offset)):
                    self._copy(code, old, merged)
            move_components(code, new, merged, mask)

    def _copy(self, code: CpuCode, tile: InMemory, target: InMemory) -> None:
        to_tile(code, InMemory(self._type, tile.pointer, owned=False), target)

    def _enter(self, code: CpuCode, held: Matrix) -> list[Val]:
        if self._reference:
            return self._enter_reference(code, held)
        if self._columns:
            return [p for column in to_columns(code, held) for p in column]
        found = settled(held)
        slot = found.slot if isinstance(found, InMemory) else None
        if isinstance(found, InMemory) and isinstance(slot, MatrixCarrier) and slot._base is self._base:
            return [found.offset or integer(0)]
        following = self._next(code)
        to_tile(code, held, following)
        assert following.offset is not None
        return [following.offset]

    def _tile(self, code: CpuCode, offset: Val) -> InMemory:
        assert self._base is not None
        return InMemory(self._type, code.w.at(self._base, offset), True, self, offset)

    def _enter_reference(self, code: CpuCode, held: Matrix) -> list[Val]:
        size = part(self._type).size
        tile = self._tile(code, integer(0))
        found = settled(held)
        if isinstance(found, Unloaded):
            # Products take vectors from `a`, and single components from `b`.
            found = found.found(code, lines=self._type.use is Use.A, into=tile)
        if isinstance(found, Reference):
            ends = found.ends or (integer(self._type.rows), integer(self._type.columns))
            return [found.pointer, code.w.value(found.row_stride), code.w.value(found.column_stride), *ends]
        if found is not tile:
            to_tile(code, held, tile)
        along, across = integer(size), integer(line_bytes(self._type))
        ends = (integer(self._type.rows), integer(self._type.columns))
        return [tile.pointer, *((across, along) if turned(self._type) else (along, across)), *ends]

    def blank(self, code: CpuCode) -> list[Val]:
        """Values for the phis where nobody has the matrix."""
        if self._reference:
            return [zero("ptr"), *[integer(0)] * 4]
        if not self._columns:
            return [integer(0)]
        one = zero(wide(register(part(self._type)), length(self._type)))
        return [one] * (part_count(self._type) * line_count(self._type))

    def inside(self, code: CpuCode, values: Sequence[Val]) -> Matrix:
        """The matrix that the phis stand for."""
        if self._reference:
            pointer, row_stride, column_stride, *ends = values
            return Reference(self._type, pointer, row_stride, column_stride, (ends[0], ends[1]))
        if self._columns:
            count = part_count(self._type)
            return Columns(self._type, [tuple(values[k : k + count]) for k in range(0, len(values), count)])
        self._current = values[0]
        return self._tile(code, values[0])


def written_again(code: CpuCode, op: Op) -> Callable[[], None] | None:
    """What sets back the states of matrices to what they are in front of a loop, so that it can be written once more.

    None where that cannot be: a large result would have to be copied behind each of the two, and a promise that is kept
    in one of them is not kept in the other. What waits is used only in the region that defines it, so of the matrices
    that a loop reads only those that it begins with may be promises.
    """
    given = [settled(code.env[v]) for v in op.initial if isinstance(v.type, CoopMatrix)] if isinstance(op, For) else []
    types = [value.type for value in op.results if isinstance(value.type, CoopMatrix)]
    if any(isinstance(m, Deferred | Unloaded) for m in given) or not all(in_registers(code, type) for type in types):
        return None
    notes: dict[Matrix, tuple[int | None, bool]] = {}
    pending = [held for held in code.env.values() if isinstance(held, Matrix)]
    while pending:
        m = pending.pop()
        if m not in notes:
            notes[m] = m.remaining, m.bound
            pending += m.children
            pending += [m.tile] if isinstance(m, Repeated) else []

    def back() -> None:
        for m, (remaining, bound) in notes.items():
            m.remaining, m.bound = remaining, bound

    return back
