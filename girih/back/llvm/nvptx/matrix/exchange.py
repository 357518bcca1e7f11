"""Fragments on their way to other threads: through shared memory, row by row, as much at a time as fits.

So a matrix gets another layout, and becomes the arrays of `lower.one_lane.matrix` or is made of them, for what asks for
the layout of 003.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.one_lane.matrix.held import (
    ComponentArrays,
    Parts,
    components,
    each,
    give_back,
    new_arrays,
    read,
    write,
    zero_parts,
)
from girih.back.llvm.lower.one_lane.matrix.layout import Position, position, times
from girih.back.llvm.lower.one_lane.matrix.staging import SharedNumbers
from girih.back.llvm.nvptx.matrix.code import FragmentCode
from girih.back.llvm.nvptx.matrix.fragments import Fragments, alone, fragment_matrices, in_registers, layout_of
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix

Convert = Callable[[Parts], Parts]


class RowsInMemory:
    """Room in shared memory for the rows of a matrix, of which `step` fit at a time."""

    def __init__(self, code: FragmentCode, type: CoopMatrix) -> None:
        self.code, self.type = code, type
        fitting = SharedNumbers.fitting(code, type, type.component)
        self.count = type.rows * type.columns
        self.step = min(self.count, fitting)
        self.numbers = SharedNumbers(code, type, type.component, self.step)

    def pieces(self, put: Callable[[int], None], get: Callable[[int], None]) -> None:
        """Write code that puts and gets each piece; they are given the number of its first component."""
        for first in range(0, self.count, self.step):
            self.numbers.begin()
            put(first)
            self.numbers.ready()
            get(first)
        self.numbers.end()

    def _where(self, first: int, row: Val, column: Val) -> tuple[Val, Val | None]:
        w = self.code.w
        place = w.sub(w.add(times(w, row, self.type.columns), column), integer(first, "i32"))
        if self.step == self.count:
            return place, None
        return place, w.compare("ult", place, integer(self.step, "i32"))

    def put(self, first: int, at: Position, parts: Callable[[], Parts]) -> None:
        """Put a component, if it exists and is one of the piece."""
        place, inside = self._where(first, at.row, at.column)
        there = self.code.w.both(at.exists, inside)
        if there is None:
            self.numbers.put(place, parts())
            return
        with self.code.w.when(there):
            self.numbers.put(place, parts())

    def get(self, first: int, row: Val, column: Val, exists: Val | None, otherwise: Parts) -> Parts:
        """The component at a place, if it exists and is one of the piece; else what it is `otherwise`."""
        place, inside = self._where(first, row, column)
        there = self.code.w.both(exists, inside)
        if there is None:
            return self.numbers.get(place)
        return tuple(self.code.w.either(there, lambda: self.numbers.get(place), lambda: otherwise))


def laid_out(
    code: FragmentCode, m: Fragments, type: CoopMatrix, convert: Convert, *, turned: bool = False
) -> Fragments:
    """A matrix, or its transpose if `turned`, in the layout of another type; its components are converted then."""
    target = layout_of(code, type)
    rows = RowsInMemory(code, m.type)
    found = [zero_parts(m.type.component)] * target.components

    def put(first: int) -> None:
        for number in range(m.layout.components):
            rows.put(first, alone(code, m.layout, number), partial(m.part, code, number))

    def get(first: int) -> None:
        for number in range(target.components):
            at = target.position(code, number)
            row, column = (at.column, at.row) if turned else (at.row, at.column)
            found[number] = rows.get(first, row, column, at.exists, found[number])

    rows.pieces(put, get)
    return in_registers(code, type, [convert(parts) for parts in found])


def as_arrays(code: FragmentCode, m: Fragments, owner: Value | None) -> ComponentArrays:
    """A matrix as arrays in the layout of 003."""
    type = m.type
    count = components(code, type)
    result = ComponentArrays(type, new_arrays(code, type.component, count), owner)
    rows = RowsInMemory(code, type)

    def put(first: int) -> None:
        for number in range(m.layout.components):
            rows.put(first, alone(code, m.layout, number), partial(m.part, code, number))

    def get(first: int) -> None:
        def one(component: Val) -> None:
            at = position(code, type, component)
            before = zero_parts(type.component) if first == 0 else read(code, result, component)
            write(code, result, component, rows.get(first, at.row, at.column, at.exists, before))

        each(code, count, one)

    rows.pieces(put, get)
    return result


def through_arrays(code: FragmentCode, op: Op, rule: Callable[[FragmentCode, Any], None]) -> None:
    """Lower an instruction by the rule for matrices that are arrays: operands become arrays, results fragments."""
    before = {value: code.env[value] for value in op.operands if isinstance(code.env.get(value), Fragments)}
    own = code.own_matrices
    code.own_matrices = replace(fragment_matrices(code), values=frozenset())
    for value, held in before.items():
        code.set(value, as_arrays(code, held, None))
    rule(code, op)
    for value in before:
        made = code.env[value]
        if made.owner is None:
            give_back(code, made.arrays, made.type.component, components(code, made.type))
    code.env.update(before)
    code.own_matrices = own
    for value in op.results:
        result = code.env[value]
        if isinstance(result, ComponentArrays):
            code.set(value, of_arrays(code, result))
            give_back(code, result.arrays, result.type.component, components(code, result.type))


def of_arrays(code: FragmentCode, held: ComponentArrays) -> Fragments:
    """A matrix that was arrays in the layout of 003."""
    type = held.type
    target = layout_of(code, type)
    rows = RowsInMemory(code, type)
    found = [zero_parts(type.component)] * target.components

    def put(first: int) -> None:
        def one(component: Val) -> None:
            rows.put(first, position(code, type, component), lambda: read(code, held, component))

        each(code, components(code, type), one)

    def get(first: int) -> None:
        for number in range(target.components):
            at = target.position(code, number)
            found[number] = rows.get(first, at.row, at.column, at.exists, found[number])

    rows.pieces(put, get)
    return in_registers(code, type, found)
