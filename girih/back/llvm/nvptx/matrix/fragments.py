"""Matrices as fragments: registers of each thread, which hold the components in the order of `layout`.

Numbers of less than 32 bits are packed, as in memory, along the mode of the threads: what `mma` takes. Others are as
they are everywhere in registers. Vals of all components are known as the code is written, so that nothing is an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import gcd

from girih.back.llvm.emit.text import Val, integer, wide
from girih.back.llvm.lower.one_lane.code import OneLaneCode, OwnMatrices
from girih.back.llvm.lower.one_lane.matrix.held import EqualComponents, OwnMatrix, Parts, matrix_type
from girih.back.llvm.lower.one_lane.matrix.layout import Position
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import memory_type
from girih.back.llvm.nvptx.flat.held import FlatMatrices
from girih.back.llvm.nvptx.matrix.code import FragmentCode
from girih.back.llvm.nvptx.matrix.layout import GROUPS, THREADS, FragmentLayout, WarpGrid, fragment_layout
from girih.ir.core import Value
from girih.ir.types import CoopMatrix, Number
from girih.lazy_dataclass import dataclass

WORD = 4
"""The bytes of a register."""


def packed(component: Number, layout: FragmentLayout) -> int:
    """How many components lie in a register."""
    return gcd(max(1, WORD // component.size), layout.threads.count)


def register_count(type: CoopMatrix, warps: WarpGrid) -> int:
    """How many registers of 4 bytes a thread needs for a matrix."""
    layout = fragment_layout(type, warps)
    return layout.components // packed(type.component, layout) * max(1, type.component.size // WORD)


def register_type(type: CoopMatrix, layout: FragmentLayout) -> str:
    """The LLVM type of a register that holds components."""
    count = packed(type.component, layout)
    one = memory_type(type.component)
    return one if type.component.size >= WORD else f"i{8 * type.component.size * count}"


@dataclass(eq=False, slots=True)
class Fragments(OwnMatrix):
    """A matrix in registers."""

    type: CoopMatrix
    layout: FragmentLayout
    """Which components these are."""
    registers: tuple[Val, ...]

    @property
    def packed(self) -> int:
        """How many components lie in a register."""
        return packed(self.type.component, self.layout)

    def read(self, code: OneLaneCode, component: Val) -> Parts:
        assert component.literal is not None
        return self.part(code, component.literal)

    def part(self, code: OneLaneCode, number: int) -> Parts:
        """A component by its number."""
        return (from_memory(code.w, code.features, self.type.component, self.raw(code, number)),)

    def raw(self, code: OneLaneCode, number: int) -> Val:
        """A component by its number, as it is in memory."""
        w, count = code.w, self.packed
        held = self.registers[number // count]
        if count == 1:
            return held
        return w.extract(w.convert("bitcast", held, wide(memory_type(self.type.component), count)), number % count)

    def parts(self, code: OneLaneCode) -> list[Parts]:
        """All components of the thread."""
        return [self.part(code, number) for number in range(self.layout.components)]

    def each(self, code: OneLaneCode, body: Callable[[Position, Val], None]) -> None:
        for number in range(self.layout.components):
            body(alone(code, self.layout, number), integer(number))


def alone(code: OneLaneCode, layout: FragmentLayout, number: int) -> Position:
    """The place of a component, which exists in one of the threads that hold it."""
    at = layout.position(code, number)
    return Position(at.row, at.column, code.w.both(at.exists, layout.owned(code)))


def in_registers(code: OneLaneCode, type: CoopMatrix, parts: Sequence[Parts]) -> Fragments:
    """The matrix of a thread's components."""
    component = type.component
    return from_raw(code, type, [to_memory(code.w, code.features, component, part) for (part,) in parts])


def from_raw(code: OneLaneCode, type: CoopMatrix, raw: Sequence[Val]) -> Fragments:
    """The matrix of a thread's components, given as in memory."""
    w, layout = code.w, layout_of(code, type)
    count = packed(type.component, layout)
    if count == 1:
        return Fragments(type, layout, tuple(raw))
    pieces = [w.join(raw[first : first + count]) for first in range(0, len(raw), count)]
    word = register_type(type, layout)
    return Fragments(type, layout, tuple(w.convert("bitcast", piece, word) for piece in pieces))


def equal_fragments(code: OneLaneCode, type: CoopMatrix, parts: Parts) -> Fragments:
    """The matrix whose components are all one number."""
    return in_registers(code, type, [parts] * layout_of(code, type).components)


def fragments(code: FragmentCode, value: Value) -> Fragments:
    """The matrix that an operand is."""
    held = code.env[value]
    if isinstance(held, EqualComponents):
        return equal_fragments(code, held.type, held.parts)
    assert isinstance(held, Fragments)
    return held


@dataclass(frozen=True)
class FragmentMatrices(OwnMatrices):
    """The matrices of a kernel that are fragments."""

    values: frozenset[Value]
    warps: WarpGrid
    """How the warps stand that hold matrices of the work-group."""

    def __contains__(self, value: Value) -> bool:
        return value in self.values

    def filled(
        self, code: OneLaneCode, value: Value, get: Callable[[Position, Val], Parts], *, alone: bool
    ) -> Fragments:
        type = matrix_type(value)
        layout = fragment_layout(type, self.warps)
        owned = layout.owned(code) if alone else None
        parts = []
        for number in range(layout.components):
            at = layout.position(code, number)
            held = get(Position(at.row, at.column, code.w.both(at.exists, owned)), integer(number))
            parts.append(tuple(_from_owner(code, layout, part) for part in held) if alone else held)
        return in_registers(code, type, parts)


def layout_of(code: OneLaneCode, type: CoopMatrix) -> FragmentLayout:
    """The layout of a matrix in a kernel."""
    return fragment_layout(type, fragment_matrices(code).warps)


def fragment_matrices(code: OneLaneCode) -> FragmentMatrices:
    """The matrices of the kernel that are fragments."""
    own = code.own_matrices
    if isinstance(own, FlatMatrices):
        own = own.others
    assert isinstance(own, FragmentMatrices)
    return own


def in_layout(code: OneLaneCode, type: CoopMatrix, registers: Iterable[Val]) -> Fragments:
    """The matrix of a thread's registers."""
    return Fragments(type, layout_of(code, type), tuple(registers))


def _from_owner(code: OneLaneCode, layout: FragmentLayout, part: Val) -> Val:
    """The part of the thread that acts for all that hold the same components."""
    mask = (0 if layout.groups.shared else -THREADS) | (0 if layout.threads.shared else THREADS - 1)
    own = code.w.binary("and", code.lane, integer(mask & (GROUPS * THREADS - 1), "i32"))
    if layout.in_warps_repeated:
        thread = code.w.add(code.w.mul(layout.owner(code), integer(GROUPS * THREADS, "i32")), own)
        return code.exchanged(part, thread, work_group=True)
    if mask & (GROUPS * THREADS - 1) == GROUPS * THREADS - 1:
        return part
    return code.exchanged(part, own)
