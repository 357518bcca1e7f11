"""What consumers compute of matrices component by component, and row by row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.one_lane.matrix.pointwise import Compute, binary_of, scale_of, unary_of
from girih.back.llvm.lower.one_lane.matrix.regions import called
from girih.back.llvm.numbers import arith, casts
from girih.back.llvm.numbers.values import uniform
from girih.back.llvm.nvptx.tile.code import TileCode
from girih.back.llvm.nvptx.tile.matrices import Parts, ThreadShare, component, in_registers, narrowed, register_of
from girih.facts.accumulators import accumulator
from girih.ir.core import Op
from girih.ir.types import BF16, F16, F32, I32, CoopMatrix, Number
from girih.lazy_dataclass import dataclass
from girih.ops.tile.arith import Binary, Cast, Constant, Unary
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixConstruct,
    CooperativeMatrixReduceAdd,
    CooperativeMatrixReduceMax,
    CooperativeMatrixReduceMin,
    CooperativeMatrixScale,
    Reduce,
)
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply, CooperativeMatrixCombine

RegisterRule = Callable[[int], Val]
"""The code of a register by its number."""


@dataclass(frozen=True, slots=True)
class HeldMatrix:
    """A matrix in registers that have values."""

    share: ThreadShare
    registers: Sequence[Val]

    def part(self, code: TileCode, number: int) -> Parts:
        """A component by its number."""
        return component(code.w, code.features, self.share, self.registers, number)


def computed(code: TileCode, op: Op, share: ThreadShare, operands: Sequence[HeldMatrix]) -> RegisterRule:
    """The registers of the result of an instruction that computes component by component."""
    if isinstance(op, Cast):
        return converted(code, share, operands[0])
    compute = _rule(code, op, share)

    def part(number: int) -> Parts:
        return compute(integer(number), [one.part(code, share.number_in(one.share, number)) for one in operands])

    return partial(_checked_register, code, share, part)


def _checked_register(code: TileCode, share: ThreadShare, part: Callable[[int], Parts], number: int) -> Val:
    with code.checking(checks=True):
        return register_of(code.w, code.features, share, part, number)


def converted(code: TileCode, share: ThreadShare, source: HeldMatrix) -> RegisterRule:
    """The registers of a matrix in another type, or of one with fewer numbers that it repeats (003 "Cast")."""
    own = source.share
    if own.component == share.component and own.held.spread is share.held.spread:
        return lambda number: source.registers[number]
    if own.component == F32 and share.component in (BF16, F16):

        def rounded(number: int) -> Val:
            places = range(number * share.packed, (number + 1) * share.packed)
            return narrowed(code.w, share, [source.registers[share.number_in(own, place)] for place in places])

        return rounded
    cast = partial(casts.cast, code.w, code.features, own.component, share.component)

    def part(number: int) -> tuple[Val, ...]:
        return cast(source.part(code, share.number_in(own, number)))

    return partial(register_of, code.w, code.features, share, part)


def _rule(code: TileCode, op: Op, share: ThreadShare) -> Compute:
    """How a component of the result of an instruction is computed."""
    match op:
        case Binary():
            return binary_of(code, op, lambda _: None)
        case Unary():
            return unary_of(code, op)
        case Constant():
            known = arith.constant(share.component, op.value)
            return lambda _, parts: known
        case CooperativeMatrixConstruct():
            held = code.scalar(op.a).parts
            return lambda _, parts: held
        case CooperativeMatrixScale():
            return scale_of(code, share.component, code.scalar(op.a).parts)
        case CooperativeMatrixApply():
            return _apply(code, op, share)
        case _:
            raise TypeError(f"`{op.spec.word}` does not compute component by component")


def _apply(code: TileCode, op: CooperativeMatrixApply, share: ThreadShare) -> Compute:
    """A component as the region yields it (003 "Cooperative matrix apply")."""
    types = [_component(value.type) for value in op.matrices]
    columns = share.held.columns

    def compute(number: Val, parts: list[Parts]) -> Parts:
        assert number.literal is not None
        row, column = code.own.place(code.w, share, number.literal)
        elements = [uniform(type, *part) for type, part in zip(types, parts, strict=True)]
        values = (uniform(I32, row), uniform(I32, column), *elements)
        arguments = zip((op.row, op.column, *op.elements), values, strict=True)
        at = code.w.add(code.w.mul(row, integer(columns, "i32")), column)
        return called(code, op.body, at, columns, arguments)

    return compute


def _component(type: object) -> Number:
    assert isinstance(type, CoopMatrix)
    return type.component


# --- rows --------------------------------------------------------------------------------------

_OPERATORS: dict[type[Reduce], str] = {
    CooperativeMatrixReduceAdd: "add",
    CooperativeMatrixReduceMax: "max",
    CooperativeMatrixReduceMin: "min",
}
Pair = Callable[[Parts, Parts], Parts]


def combined(code: TileCode, op: Op, share: ThreadShare, source: HeldMatrix) -> tuple[Val, ...]:
    """The registers of what the components of each row are combined to, as a reduction or a region does it.

    Who comes first is free: both are associative and commutative, but for rounding.
    """
    if isinstance(op, Reduce):
        return _reduced(code, op, share, source)
    assert isinstance(op, CooperativeMatrixCombine)
    type = share.component

    def pair(number: int) -> Pair:
        row, _ = code.own.place(code.w, share, number)

        def both(a: Parts, b: Parts) -> Parts:
            held = uniform(type, *a), uniform(type, *b)
            return called(code, op.body, row, 1, zip((op.left, op.right), held, strict=True))

        return both

    rows = _rows(source.share)
    found = [_row(code, [source.part(code, k) for k in rows[n]], pair(n)) for n in range(share.count)]
    return in_registers(code.w, code.features, share, found.__getitem__)


def _reduced(code: TileCode, op: Reduce, share: ThreadShare, source: HeldMatrix) -> tuple[Val, ...]:
    """The sum, maximum or minimum of each row; integers of less than 32 bits are added up in 32."""
    w, features = code.w, code.features
    component_, operator = share.component, _OPERATORS[op.__class__]
    total = accumulator(component_) if operator == "add" else component_
    if component_.family == "integer" and component_.size < I32.size:
        total = I32

    def pair(a: Parts, b: Parts) -> Parts:
        return arith.binary(w, features, operator, total, a, b)

    found = []
    for numbers in _rows(source.share):
        own = [casts.cast(w, features, component_, total, source.part(code, number)) for number in numbers]
        found.append(casts.cast(w, features, total, component_, _row(code, own, pair)))
    return in_registers(w, features, share, found.__getitem__)


def _rows(share: ThreadShare) -> list[list[int]]:
    """The numbers of a thread's components, row by row."""
    rows: dict[tuple[int, int], list[int]] = {}
    for number in range(share.count):
        block, _, half, _ = share.place(number)
        rows.setdefault((block, half), []).append(number)
    return list(rows.values())


def _row(code: TileCode, own: Sequence[Parts], pair: Pair) -> Parts:
    """The combination of a row, of which a thread has its `own` components."""
    values = list(own)
    while len(values) > 1:
        pairs = [pair(a, b) for a, b in zip(values[::2], values[1::2], strict=False)]
        values = [*pairs, *values[2 * len(pairs) :]]
    (held,) = values
    distance = 1
    while distance < code.kernel.fragment.columns.lanes:
        held = pair(held, tuple(code.across(part, distance) for part in held))
        distance *= 2
    return held
