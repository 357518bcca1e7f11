"""Tensor copies on the CPU (`girih.ops.tile.tensor_map`): operands checked in the kernel, then one call of a routine.

The map is a descriptor in memory (`girih.back.llvm.lower.launch.descriptor`); what it says is known when the kernel is
launched. A copy is complete when its instruction is: nothing has to wait for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.tensor_map.routines import routine
from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.launch import descriptor as layout
from girih.back.llvm.lower.launch.descriptor import FIRST_OFFSET, NO_OPERAND, OPERANDS, MapField
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.values import MapHeld, index
from girih.facts import findings
from girih.facts.findings import FindingWords
from girih.ir.core import RegionKind
from girih.ir.types import MapMode
from girih.ops.tile.tensor_layout import I32_RANGE
from girih.ops.tile.tensor_map import (
    IM2COL_OFFSETS,
    TensorCopy,
    TensorCopyLoad,
    TensorCopyLoadIm2col,
    TensorCopyReduce,
    TensorCopyStore,
)

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""

PADDED_MULTIPLE = 128
"""What the start of a row is a multiple of where elements take more room in local memory; of others it is less."""


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
            _OperandChecks(code, op, held, operands).all(coordinates, offsets)
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


class _OperandChecks:
    """The rules of operands, in the order in which the interpreter looks at them."""

    def __init__(self, code: CpuCode, op: TensorCopy, held: MapHeld, operands: Val) -> None:
        self.code, self.op, self.held, self.operands = code, op, held, operands
        self.w: Writer = code.w

    def all(self, coordinates: list[Val], offsets: list[Val]) -> None:
        """Check the operands of the copy."""
        op, name = self.op, self.held.name
        for position, value in enumerate(coordinates):
            words = findings.coordinate_range(op, name, position)
            self.find(words, self.beyond(value, *I32_RANGE), value, *I32_RANGE)
        self.aligned(coordinates[0])
        if isinstance(op, TensorCopyStore | TensorCopyReduce):
            for position, value in enumerate(coordinates):
                words = findings.negative_start(op, name, position)
                self.find(words, self.w.compare("slt", value, integer(0)), value, 0)
        if self.held.type.mode is MapMode.IM2COL:
            self.base()
        most = IM2COL_OFFSETS.get(self.held.type.rank, 0)
        for position, value in enumerate(offsets):
            words = findings.offset_range(op, name, position)
            self.find(words, self.beyond(value, 0, most), value, most)

    def find(self, words: FindingWords, bad: Val, value: Val, *shape: Operand) -> None:
        """Stop the launch where a rule is broken by a value; `shape` are the numbers that the words name."""
        self.code.check(
            self.op,
            bad,
            words,
            argument=self.held.name,
            index=(index(value),),
            shape=tuple(index(one) for one in shape),
            by_lane=False,
        )

    def beyond(self, value: Val, low: Operand, high: Operand) -> Val:
        """Whether a value is outside a range."""
        w = self.w
        return w.binary("or", w.compare("slt", value, low), w.compare("sgt", value, high))

    def aligned(self, start: Val) -> None:
        """Check that the box begins where it may in dimension 0."""
        w, op, name = self.w, self.op, self.held.name
        multiple = field(w, self.held, MapField.START_MULTIPLE)
        off = w.compare("ne", w.binary("and", start, w.sub(multiple, 1)), integer(0))
        padded = w.compare("eq", multiple, integer(PADDED_MULTIPLE))
        usual = w.binary("and", off, w.negated(padded))
        self.find(findings.coordinate_aligned(op, name, padded=False), usual, start, multiple)
        self.find(findings.coordinate_aligned(op, name, padded=True), w.binary("and", off, padded), start, multiple)

    def base(self) -> None:
        """Check that the filter base lies in the pixel box."""
        w, op, name = self.w, self.op, self.held.name
        for number, letter in zip(range(self.held.type.rank - 2), "WHD", strict=False):
            first = layout.dimension(number)
            words = [field(w, self.held, first + word) for word in (layout.OPERAND, layout.LOW, layout.HIGH)]
            value = w.load("i64", w.at(self.operands, w.mul(words[0], 8)), 8)
            bad = self.beyond(value, words[1], words[2])
            self.find(findings.base_outside(op, name, letter), bad, value, words[1], words[2])


def field(w: Writer, held: MapHeld, number: int) -> Val:
    """A word of the descriptor of a map."""
    return w.load("i64", w.at(held.descriptor, 8 * number), 8)
