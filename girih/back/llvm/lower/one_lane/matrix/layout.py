"""The components of matrices that work-items hold, as numbers in the code of each (`ops.tile.coopmatrix_layout`).

All numbers are i32. What depends on the work-item alone, or on the component alone, is computed apart where the layout
allows, so that it is known or moves in front of loops.
"""

from __future__ import annotations

from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.ir.types import CoopMatrix
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix_layout import ComponentLayout, layout_among


def holders(code: OneLaneCode, type: CoopMatrix) -> int:
    """The number of work-items that hold a matrix together."""
    size = code.geometry.subgroup_size
    return size * code.geometry.subgroups if type.of_work_group else size


def holder(code: OneLaneCode, type: CoopMatrix) -> Val:
    """The number of the work-item among those that hold a matrix."""
    return code.w.convert("trunc", code.thread, "i32") if type.of_work_group else code.lane


def layout(code: OneLaneCode, type: CoopMatrix) -> ComponentLayout:
    """The layout of a matrix among those that hold it."""
    return layout_among(type, holders(code, type))


@dataclass(frozen=True, slots=True)
class Position:
    """The place of a component in its matrix. `exists` is None where it does for certain; else it may be padding."""

    row: Val
    column: Val
    exists: Val | None


def position(code: OneLaneCode, type: CoopMatrix, component: Val) -> Position:
    """The place of one of the components that the work-item holds, of a number that is an i64."""
    w, held = code.w, layout(code, type)
    size, height, pairs = held.subgroup_size, held.block_rows, held.interleaved_blocks
    number, own = w.convert("trunc", component, "i32"), holder(code, type)
    groups = held.blocks // pairs
    if size % height:
        linear = w.add(own, times(w, number, size))
        row, rest = rest_of(w, linear, height), quotient_of(w, linear, height)
    else:
        row, rest = rest_of(w, own, height), w.add(quotient_of(w, own, height), times(w, number, size // height))
    if pairs == 1 and size % height == 0:
        # The part of the work-item is smaller than a step, so that it never carries into the next block.
        across = held.padded_columns * height // size
        outer, inner = quotient_of(w, number, across), integer(0, "i32")
        within = number if groups == 1 else rest_of(w, number, across)
        column = w.add(quotient_of(w, own, height), times(w, within, size // height))
    else:
        inner, rest = rest_of(w, rest, pairs), quotient_of(w, rest, pairs)
        outer = quotient_of(w, rest, held.padded_columns)
        column = rest if groups == 1 else rest_of(w, rest, held.padded_columns)
    block = inner if groups == 1 else w.add(inner, times(w, outer, pairs))
    if held.blocks > 1:
        row = w.add(row, times(w, block, height))
    padded = held.padded_columns > held.columns
    exists = w.compare("ult", column, integer(held.columns, "i32")) if padded else None
    return Position(row, column, exists)


def linear_index(code: OneLaneCode, type: CoopMatrix, row: Val, column: Val) -> Val:
    """The linear index of the layout of the component at a place of the matrix."""
    w, held = code.w, layout(code, type)
    height, pairs = held.block_rows, held.interleaved_blocks
    if held.blocks == 1:
        return w.add(row, times(w, column, height))
    block, low = quotient_of(w, row, height), rest_of(w, row, height)
    inner, outer = rest_of(w, block, pairs), quotient_of(w, block, pairs)
    span = height * pairs
    found = w.add(w.add(low, times(w, inner, height)), times(w, column, span))
    return w.add(found, times(w, outer, span * held.padded_columns))


def times(w: Writer, a: Val, factor: int) -> Val:
    """The product of a number and a constant."""
    return w.mul(a, integer(factor, a.type))


def quotient_of(w: Writer, a: Val, divisor: int) -> Val:
    """The quotient of a number that is not negative by a constant, rounded down."""
    if a.literal is not None:
        return integer(a.literal // divisor, a.type)
    if divisor & (divisor - 1):
        return w.binary("udiv", a, integer(divisor, a.type))
    return a if divisor == 1 else w.binary("lshr", a, integer(divisor.bit_length() - 1, a.type))


def rest_of(w: Writer, a: Val, divisor: int) -> Val:
    """The remainder of a number that is not negative by a constant."""
    if a.literal is not None:
        return integer(a.literal % divisor, a.type)
    if divisor & (divisor - 1):
        return w.binary("urem", a, integer(divisor, a.type))
    return w.binary("and", a, integer(divisor - 1, a.type))
