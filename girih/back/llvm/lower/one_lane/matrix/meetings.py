"""Matrices that meet in an instruction, a loop or a branch: all of them are held in one form; rules for both forms."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import field
from typing import Any

from girih.back.llvm.lower.lowerings import Carrier, Lowerings
from girih.ir.core import Function, Op, Value
from girih.ir.types import CoopMatrix
from girih.lazy_dataclass import dataclass
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.control import For, If, Yield
from girih.source import Span


@dataclass(slots=True)
class MatrixMeetings:
    """Sets of matrices that meet (union and find)."""

    leader: dict[Value, Value] = field(default_factory=dict)

    def of(self, value: Value) -> Value:
        """The matrix that stands for all that meet a matrix."""
        while (up := self.leader.setdefault(value, value)) is not value:
            self.leader[value] = value = self.leader[up]
        return value

    def meet(self, values: list[Value]) -> None:
        """Note that some matrices meet."""
        for value in values:
            self.leader[self.of(value)] = self.of(values[0])


def met(op: Op) -> Iterator[list[Value]]:
    """The lists of values of an instruction that meet each other, matrices or not."""
    if isinstance(op, For | If):
        ends = [tuple(region.terminator.operands) for region in op.regions if isinstance(region.terminator, Yield)]
        begins = [op.initial, op.carried] if isinstance(op, For) else []
        yield from map(list, zip(op.results, *begins, *ends, strict=True))
    elif not isinstance(op, Yield):
        yield [value for value in (*op.operands, *op.results) if isinstance(value.type, CoopMatrix)]


@dataclass(frozen=True, slots=True)
class SoftwareMatrices:
    """Matrices that meet and that a target has not in its own form: the first place that is against it, and why."""

    span: Span
    reason: str


def own_matrices(
    function: Function, reasons: Callable[[Op, list[Value]], Iterable[str]]
) -> tuple[frozenset[Value], tuple[SoftwareMatrices, ...]]:
    """The matrices of a function that a target has in its own form, and why it has not the others, in program order.

    `reasons` are what is against the matrices that meet in an instruction.
    """
    meeting = MatrixMeetings()
    refused: list[tuple[Value, Span, str]] = []
    for op in function.walk():
        for values in met(op):
            matrices = [value for value in values if isinstance(value.type, CoopMatrix)]
            if matrices:
                meeting.meet(matrices)
                refused += ((matrices[0], op.span, reason) for reason in reasons(op, matrices))
    against: dict[Value, SoftwareMatrices] = {}
    for value, span, reason in refused:
        against.setdefault(meeting.of(value), SoftwareMatrices(span, reason))
    own = frozenset(value for value in list(meeting.leader) if meeting.of(value) not in against)
    return own, tuple(against.values())


def in_both_forms(own: Lowerings[Any], software: Lowerings[Any], held: Container[Value]) -> Lowerings[Any]:
    """The lowerings of a kernel of which a target has some matrices, those that it `held` in its own form.

    Each instruction goes the way that was chosen for the matrices that meet in it.
    """
    mixed = Lowerings[Any]()

    def lower(code: Any, op: Op) -> None:
        matrices = [value for value in (*op.operands, *op.results) if isinstance(value.type, CoopMatrix)]
        table = own if matrices and matrices[0] in held else software
        table.rule(op)(code, op)

    def carry(code: Any, value: Value) -> Carrier[Any]:
        return (own if value in held else software).carrier(code, value)

    for op in TILE_LANGUAGE.ops.values():
        if op in software or op in own:
            mixed.of(op)(lower)
        elif software.rules(op) or own.rules(op):
            mixed.of(op, giving=CoopMatrix)(lower)
    mixed.carry(carry, CoopMatrix)
    return mixed
