"""Matrices as each work-item has them: an array of the components that it holds, or one number for all components.
A target may hold some of them in a form of its own (`OwnMatrix`).

The components of an array are in the form of registers (`numbers.values`), real and imaginary parts in arrays of their
own. What lies behind the last column is any number, but one that was written. An array belongs to one value of the
program; an instruction that reads that value for the last time may write its result into it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Val, integer, stored_bytes, zero
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.layout import Position, layout
from girih.back.llvm.lower.one_lane.matrix.uses import lives_of
from girih.back.llvm.numbers.values import register
from girih.ir.core import Op, Value
from girih.ir.types import PARTS, CoopMatrix, Number
from girih.lazy_dataclass import dataclass

Parts = tuple[Val, ...]
"""A component: one value, or real and imaginary part."""

WRITTEN_OUT = 8
"""So many components at most are computed by straight code, more of them in a loop."""


@dataclass(eq=False, slots=True)
class EqualComponents:
    """A matrix whose components are all one number."""

    type: CoopMatrix
    parts: Parts


@dataclass(eq=False, slots=True)
class ComponentArrays:
    """A matrix in private arrays, one for each part of a component. They are those of the value `owner`.

    Loops and branches that hand a matrix on have arrays for it for good: these are `carried`.
    """

    type: CoopMatrix
    arrays: tuple[Val, ...]
    owner: Value | None
    carried: bool = False


class OwnMatrix(ABC):
    """A matrix in a form of the target's own, of which each work-item knows the places of its components."""

    __slots__ = ()

    type: CoopMatrix

    @abstractmethod
    def read(self, code: OneLaneCode, component: Val) -> Parts:
        """One of the components that the work-item holds, by its number, a constant."""

    @abstractmethod
    def each(self, code: OneLaneCode, body: Callable[[Position, Val], None]) -> None:
        """Write code for the components, by place and number; a component that several hold exists for one of them."""


Matrix = EqualComponents | ComponentArrays | OwnMatrix


def matrix_type(value: Value) -> CoopMatrix:
    """The type of a matrix value."""
    assert isinstance(value.type, CoopMatrix)
    return value.type


def matrix(code: OneLaneCode, value: Value) -> Matrix:
    """The matrix that an operand is."""
    held: Matrix = code.env[value]
    return held


def part_registers(type: Number) -> tuple[str, ...]:
    """The LLVM types of the parts of a number in registers."""
    return (register(type),) * (2 if type in PARTS else 1)


def zero_parts(type: Number) -> Parts:
    """The number zero."""
    return tuple(map(zero, part_registers(type)))


def together(code: OneLaneCode, op: Op, type: CoopMatrix) -> None:
    """Begin an instruction on matrices of a type: all that hold them must meet it."""
    code.met_by_all(op, work_group=type.of_work_group)


# --- arrays ------------------------------------------------------------------------------------


def components(code: OneLaneCode, type: CoopMatrix) -> int:
    """The number of components that a work-item holds of a matrix, padding included."""
    return layout(code, type).components


def new_arrays(code: OneLaneCode, type: Number, count: int) -> tuple[Val, ...]:
    """Arrays for the parts of `count` numbers, in which is anything."""
    found = []
    for part in part_registers(type):
        spare = code.spare.get((part, count))
        found.append(spare.pop() if spare else code.private(part, count))
    return tuple(found)


def give_back(code: OneLaneCode, arrays: Sequence[Val], type: Number, count: int) -> None:
    """Leave arrays for the parts of `count` numbers to others."""
    for part, array in zip(part_registers(type), arrays, strict=True):
        code.spare.setdefault((part, count), []).append(array)


def result_arrays(code: OneLaneCode, op: Op, value: Value) -> ComponentArrays:
    """Arrays for the result of an instruction that reads each component before it writes the one of the same number.

    They are those of an operand if this is its last reader.
    """
    type = matrix_type(value)
    count, wanted = components(code, type), part_registers(type.component)
    left = [(operand, held) for operand in op.operands if isinstance(held := code.env.get(operand), ComponentArrays)]
    # What a loop carries is best replaced where it is.
    for operand, held in sorted(left, key=lambda one: not one[1].carried):
        if not _dies(code, op, operand, held):
            continue
        if part_registers(held.type.component) == wanted and components(code, held.type) == count:
            held.owner = None
            return ComponentArrays(type, held.arrays, value, held.carried)
    return ComponentArrays(type, new_arrays(code, type.component, count), value)


def adopted(code: OneLaneCode, op: Op, value: Value, held: Matrix) -> tuple[Val, ...] | None:
    """The arrays of a value that an instruction reads as the last one, which are left to it; None otherwise."""
    if not isinstance(held, ComponentArrays) or not _dies(code, op, value, held):
        return None
    held.owner = None
    return held.arrays


def _dies(code: OneLaneCode, op: Op, value: Value, held: ComponentArrays) -> bool:
    return held.owner is value and lives_of(code.function).last.get(value) is op


def release(code: OneLaneCode, op: Op) -> None:
    """End an instruction: the arrays of operands that it has read as the last one are free for others."""
    for operand in op.operands:
        held = code.env.get(operand)
        if isinstance(held, ComponentArrays) and not held.carried and _dies(code, op, operand, held):
            held.owner = None
            give_back(code, held.arrays, held.type.component, components(code, held.type))


# --- components --------------------------------------------------------------------------------


def element_at(code: OneLaneCode, array: Val, type: str, number: Val) -> Val:
    """The address of an element of an array; its number is an i64."""
    return code.w.at(array, code.w.mul(number, stored_bytes(type)))


def read_parts(code: OneLaneCode, arrays: Sequence[Val], type: Number, number: Val) -> Parts:
    """The number in arrays of parts at a place."""
    return tuple(
        code.w.load(part, element_at(code, array, part, number), stored_bytes(part))
        for array, part in zip(arrays, part_registers(type), strict=True)
    )


def write_parts(code: OneLaneCode, arrays: Sequence[Val], number: Val, parts: Parts) -> None:
    """Put a number into arrays of parts."""
    for array, part in zip(arrays, parts, strict=True):
        code.w.store(part, element_at(code, array, part.type, number), stored_bytes(part.type))


def read(code: OneLaneCode, m: Matrix, component: Val) -> Parts:
    """One of the components that the work-item holds."""
    if isinstance(m, EqualComponents):
        return m.parts
    if isinstance(m, OwnMatrix):
        return m.read(code, component)
    return read_parts(code, m.arrays, m.type.component, component)


def write(code: OneLaneCode, m: ComponentArrays, component: Val, parts: Parts) -> None:
    """Replace one of the components that the work-item holds."""
    write_parts(code, m.arrays, component, parts)


def each(code: OneLaneCode, count: int, body: Callable[[Val], None], *, weight: int = 1) -> None:
    """Write code for the numbers below `count`, which are i64: one after the other if they are few, else in a loop.

    `weight` says how many simple instructions the code is worth.
    """
    if count * weight <= WRITTEN_OUT or count == 1:
        for number in range(count):
            body(integer(number))
        return
    with code.w.loop(0, count) as loop:
        body(loop.index)


def copy(code: OneLaneCode, m: Matrix, arrays: Sequence[Val]) -> None:
    """Copy a matrix into arrays."""
    each(code, components(code, m.type), lambda k: write_parts(code, arrays, k, read(code, m, k)))
