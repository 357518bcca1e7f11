"""Tensor copies on the CPU (`girih.ops.tile.tensor_map`): operands checked in the kernel, then one call of a routine.

The map is a descriptor in memory (`girih.back.llvm.lower.launch.descriptor`); what it says is known when the kernel is
launched. A copy is complete when its instruction is: nothing has to wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.tensor_map.routines import routine
from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.launch.descriptor import FIRST_OFFSET, NO_OPERAND, OPERANDS
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.tensor_map.checks import OperandChecks
from girih.back.llvm.numbers.values import MapHeld
from girih.ir.core import RegionKind
from girih.ops.tile.tensor_map import (
    TensorCopy,
    TensorCopyLoad,
    TensorCopyLoadIm2col,
    TensorCopyReduce,
    TensorCopyStore,
)

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""


@LOWERINGS.of(TensorCopyLoad, TensorCopyLoadIm2col, TensorCopyStore, TensorCopyReduce)
def tensor_copy(code: CpuCode, op: TensorCopy) -> None:
    """Lower a tensor copy: the work-group makes it once."""
    code.met_by_all(op, work_group=True)
    held: MapHeld = code.env[op.map]
    w = code.w
    coordinates = [code.agreed(op, "coordinates", code.index(c))[0] for c in op.coordinates]
    given = op.offsets if isinstance(op, TensorCopyLoadIm2col) else ()
    offsets = [code.agreed(op, "offsets", code.index(c))[0] for c in given]
    memref = code.memref(op.local)
    (first,) = code.agreed(op, "local", memref.offset)
    with _once(code):
        operands = code.take(8 * OPERANDS)
        for number in range(OPERANDS):
            w.store(_operand(coordinates, offsets, number), w.at(operands, 8 * number), 8)
        if code.checks:

            def operand(number: Val) -> Val:
                return w.load("i64", w.at(operands, w.mul(number, 8)), 8)

            OperandChecks(code, op, held, operand).all(coordinates, offsets)
        local = w.at(memref.pointer, w.mul(first, memref.element.size))
        w.run(routine(code, op), held.descriptor, operands, local)


def _operand(coordinates: list[Val], offsets: list[Val], number: int) -> Val:
    """One of the numbers that a routine reads: coordinates, offsets, and 0 for all that there are not."""
    if number < len(coordinates):
        return coordinates[number]
    position = number - FIRST_OFFSET
    return offsets[position] if 0 <= position < len(offsets) and number < NO_OPERAND else integer(0)


@contextmanager
def _once(code: CpuCode) -> Iterator[None]:
    """A context for what one subgroup does for the work-group."""
    if code.place.kind is RegionKind.COLLECTIVE or code.geometry.subgroups == 1:
        yield
        return
    with code.w.when(code.w.compare("eq", code.place.subgroup, integer(0))):
        yield
