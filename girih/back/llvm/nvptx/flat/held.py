"""Matrices that are spread flat over a work-group: registers of each thread, in the order of `layout`.

Each component is a value of its own, as it is in memory: f16 and bf16 take 16 bits, and LLVM packs neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Val, integer, wide, zero
from girih.back.llvm.lower.one_lane.code import OneLaneCode, OwnMatrices
from girih.back.llvm.lower.one_lane.matrix.carried import check_way
from girih.back.llvm.lower.one_lane.matrix.held import EqualComponents, OwnMatrix, Parts, matrix_type
from girih.back.llvm.lower.one_lane.matrix.layout import Position
from girih.back.llvm.lower.one_lane.matrix.uses import lives_of
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import memory_type
from girih.back.llvm.nvptx.flat.layout import FlatLayout, Rectangle
from girih.ir.core import Value
from girih.ir.types import BF16, F16, F32, CoopMatrix, Number
from girih.lazy_dataclass import dataclass

WORD = 4
"""The bytes of a register."""

_NARROW = {F16: "half", BF16: "bfloat"}


@dataclass(eq=False, slots=True)
class FlatMatrix(OwnMatrix):
    """A matrix in registers: the components of the thread, as in memory."""

    type: CoopMatrix
    layout: FlatLayout
    raw: tuple[Val, ...]

    def read(self, code: OneLaneCode, component: Val) -> Parts:
        assert component.literal is not None
        return self.part(code, component.literal)

    def part(self, code: OneLaneCode, number: int) -> Parts:
        """A component by its number."""
        return (from_memory(code.w, code.features, self.type.component, self.raw[number]),)

    def each(self, code: OneLaneCode, body: Callable[[Position, Val], None]) -> None:
        owned = self.layout.owned(code)
        for number in range(self.layout.components):
            at = self.layout.position(code, number)
            body(Position(at.row, at.column, code.w.both(at.exists, owned)), integer(number))


@dataclass(frozen=True)
class FlatMatrices(OwnMatrices):
    """The matrices of a kernel that are flat, and how its threads stand; `others` are in another form of the target."""

    values: frozenset[Value]
    rectangle: Rectangle
    others: OwnMatrices

    def __contains__(self, value: Value) -> bool:
        return value in self.values or value in self.others

    def layout(self, type: CoopMatrix) -> FlatLayout:
        """The layout of a matrix of a type."""
        return FlatLayout(*type.shape, self.rectangle)

    def filled(
        self, code: OneLaneCode, value: Value, get: Callable[[Position, Val], Parts], *, alone: bool
    ) -> OwnMatrix:
        if value not in self.values:
            held: OwnMatrix = self.others.filled(code, value, get, alone=alone)
            return held
        type = matrix_type(value)
        layout = self.layout(type)
        # Nothing that has effects makes a matrix of the work-group: those that hold a component all get it.
        parts = [get(layout.position(code, number), integer(number)) for number in range(layout.components)]
        return in_registers(code, type, layout, parts)


def flat_matrices(code: OneLaneCode) -> FlatMatrices:
    """How the matrices of the kernel are spread."""
    own = code.own_matrices
    assert isinstance(own, FlatMatrices)
    return own


def layout_of(code: OneLaneCode, type: CoopMatrix) -> FlatLayout:
    """The layout of a matrix of a type."""
    return flat_matrices(code).layout(type)


def in_registers(code: OneLaneCode, type: CoopMatrix, layout: FlatLayout, parts: Sequence[Parts]) -> FlatMatrix:
    """The matrix of a thread's components."""
    return FlatMatrix(type, layout, tuple(to_memory(code.w, code.features, type.component, part) for (part,) in parts))


def narrows(source: Number, target: Number) -> bool:
    """Whether `narrowed` casts from one type to another."""
    return source == F32 and target in _NARROW


def narrowed(code: OneLaneCode, type: CoopMatrix, layout: FlatLayout, floats: Sequence[Val]) -> FlatMatrix:
    """A matrix of f16 or bf16 from components of f32, rounded to nearest even by the device (PTX ISA "cvt")."""
    w, component, found = code.w, type.component, list[Val]()
    for first in range(0, len(floats), 2):
        pair = floats[first : first + 2]
        rounded = w.convert("fptrunc", w.join(pair), wide(_NARROW[component], len(pair)))
        held = w.convert("bitcast", rounded, wide(memory_type(component), len(pair)))
        found += [w.extract(held, k) for k in range(len(pair))]
    return FlatMatrix(type, layout, tuple(found))


def flat(code: OneLaneCode, value: Value) -> FlatMatrix:
    """The matrix that an operand is."""
    held = code.env[value]
    if isinstance(held, EqualComponents):
        layout = layout_of(code, held.type)
        (part,) = in_registers(code, held.type, layout, [held.parts]).raw
        return FlatMatrix(held.type, layout, (part,) * layout.components)
    assert isinstance(held, FlatMatrix)
    return held


class FlatCarrier:
    """The way of a matrix around a loop, or out of a branch, which all threads of the work-group go together."""

    def __init__(self, code: OneLaneCode, value: Value) -> None:
        self._value = value
        self._layout = layout_of(code, matrix_type(value))
        check_way(code, lives_of(code.function).definers[value], value)

    def enter(self, code: OneLaneCode, held: FlatMatrix | EqualComponents) -> list[Val]:
        """The components, as phis."""
        if isinstance(held, EqualComponents):
            part = in_registers(code, held.type, self._layout, [held.parts]).raw[0]
            return [part] * self._layout.components
        return list(held.raw)

    def join(
        self, code: OneLaneCode, mask: Val, held: FlatMatrix | EqualComponents, before: Sequence[Val] | None
    ) -> list[Val]:
        """The components: threads that hold a matrix take one way."""
        return self.enter(code, held)

    def inside(self, code: OneLaneCode, values: Sequence[Val]) -> FlatMatrix:
        """The matrix of the components."""
        return FlatMatrix(matrix_type(self._value), self._layout, tuple(values))

    def blank(self, code: OneLaneCode) -> list[Val]:
        """Zeros, where nobody has a matrix."""
        return [zero(memory_type(matrix_type(self._value).component))] * self._layout.components
