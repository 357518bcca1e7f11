"""Matrices whose components depend on those at the same place only.

Such steps are put off where they can be, so that a chain of them becomes one pass over memory, or the first part of a
product or reduction.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.fused_pass import to_columns, to_tile
from girih.back.llvm.cpu.matrix.states import (
    Columns,
    Compute,
    Deferred,
    InMemory,
    Matrix,
    MatrixPiece,
    Parts,
    SameColumns,
    Splat,
    consume,
    in_registers,
    length,
    line_count,
    settled,
    weight_of,
)
from girih.back.llvm.cpu.matrix.uses import plan_of
from girih.ir.core import Value
from girih.ir.types import CoopMatrix

_MOST_WRITTEN_OUT = 200
"""Small matrices are computed by straight code of about so many instructions, beyond that by a loop."""


def elementwise(
    code: CpuCode, result: Value, operands: Sequence[Matrix], compute: Compute, weight: int = 1, *, casts: bool = False
) -> None:
    """Give a value to the result of a step that computes each component from those at the same place."""
    type = result.type
    assert isinstance(type, CoopMatrix)
    forms = [settled(m) for m in operands]
    if all(isinstance(m, Splat) for m in forms):
        parts = compute(MatrixPiece(0, 0, 1), [m.parts for m in forms if isinstance(m, Splat)])
        _done(code, result, Splat(type, parts), operands)
        return
    if all(isinstance(m, Splat | SameColumns) for m in forms) and not in_registers(code, type):
        count = length(type)
        spread = [tuple(code.w.splat(p, count) for p in m.parts) for m in forms if isinstance(m, Splat | SameColumns)]
        _done(code, result, SameColumns(type, compute(MatrixPiece(0, 0, count), spread)), operands)
        return
    put_off(code, result, Deferred(type, tuple(operands), compute, weight, casts=casts, any_order=True))


def _done(code: CpuCode, result: Value, held: Matrix, operands: Sequence[Matrix]) -> None:
    for m in operands:
        consume(m)
    code.set(result, held)


def put_off(code: CpuCode, result: Value, held: Deferred, *, at_once: bool = False) -> None:
    """Give a value to the result of steps: carried out now if it is small or `at_once`, else when it is needed."""
    plan = plan_of(code.function)
    by_rows = held.any_order and plan.is_by_rows(result) and plan.may_wait(result, reads=held.reads_memory)
    if in_registers(code, held.type) and not by_rows:
        code.set(result, Columns(held.type, _columns(code, held)))
        return
    # What nobody asks for is computed all the same where checks are on: it may find something.
    at_once = at_once or (code.checks and not plan.is_asked_for(result))
    if not at_once and plan.may_wait(result, reads=held.reads_memory):
        code.set(result, held)
        return
    code.set(result, now(code, held))


def now(code: CpuCode, held: Deferred) -> Matrix:
    """The tile that steps give, carried out here."""
    held.bound, held.remaining = True, 1
    tile = to_tile(code, held)
    tile.bound, tile.remaining = False, None
    return tile


def _columns(code: CpuCode, held: Deferred) -> list[Parts]:
    """A small matrix in registers, through memory where straight code would be too long."""
    held.bound, held.remaining = True, 1
    if line_count(held.type) <= 4 or line_count(held.type) * weight_of(held) <= _MOST_WRITTEN_OUT:
        return to_columns(code, held)
    # What is a tile by now stays as it is: the steps read it, and only they say so.
    tiles = tuple(m if isinstance(settled(m), Splat | InMemory) else to_tile(code, m) for m in held.operands)
    looped = Deferred(held.type, tiles, held.compute, held.weight, held.reads, remaining=1, bound=True)
    return to_columns(code, to_tile(code, looped))
