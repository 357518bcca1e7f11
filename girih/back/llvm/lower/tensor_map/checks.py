"""The rules of operands of tensor copies that a kernel checks, in the order in which the interpreter looks at them."""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.text import Operand, Val, integer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.launch import descriptor as layout
from girih.back.llvm.lower.launch.descriptor import MapField
from girih.back.llvm.numbers.values import MapHeld, index
from girih.facts import findings
from girih.facts.findings import FindingWords
from girih.ir.types import MapMode
from girih.ops.tile.tensor_layout import I32_RANGE
from girih.ops.tile.tensor_map import IM2COL_OFFSETS, TensorCopy, TensorCopyReduce, TensorCopyStore

PADDED_MULTIPLE = 128
"""What the start of a row is a multiple of where elements take more room in local memory; of others it is less."""


class OperandChecks:
    """The checks of a copy; `operand` gives one of its numbers by its position among them."""

    def __init__(self, code: KernelCode, op: TensorCopy, held: MapHeld, operand: Callable[[Val], Val]) -> None:
        self.code, self.op, self.held, self.operand = code, op, held, operand
        self.w = code.w

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
        multiple = self.field(MapField.START_MULTIPLE)
        off = w.compare("ne", w.binary("and", start, w.sub(multiple, 1)), integer(0))
        padded = w.compare("eq", multiple, integer(PADDED_MULTIPLE))
        usual = w.binary("and", off, w.negated(padded))
        self.find(findings.coordinate_aligned(op, name, padded=False), usual, start, multiple)
        self.find(findings.coordinate_aligned(op, name, padded=True), w.binary("and", off, padded), start, multiple)

    def base(self) -> None:
        """Check that the filter base lies in the pixel box."""
        op, name = self.op, self.held.name
        for number, letter in zip(range(self.held.type.rank - 2), "WHD", strict=False):
            first = layout.dimension(number)
            words = [self.field(first + word) for word in (layout.OPERAND, layout.LOW, layout.HIGH)]
            value = self.operand(words[0])
            bad = self.beyond(value, words[1], words[2])
            self.find(findings.base_outside(op, name, letter), bad, value, words[1], words[2])

    def field(self, number: int) -> Val:
        """A word of the descriptor of the map."""
        return self.w.load("i64", self.w.at(self.held.descriptor, 8 * number), 8)
