"""Which matrices of a function are fragments or flat; others are arrays of each work-item (`lower.one_lane.matrix`).

Guarantees: matrices that meet in an instruction, a loop or a branch are all of one kind, and for those that are arrays
there is a reason in words, with the first place that is against another form.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from girih.back.llvm.lower.one_lane.matrix.held import matrix_type
from girih.back.llvm.lower.one_lane.matrix.meetings import SoftwareMatrices, own_matrices
from girih.back.llvm.nvptx.flat.choice import against_flat
from girih.back.llvm.nvptx.flat.layout import Rectangle
from girih.back.llvm.nvptx.matrix.fragments import register_count
from girih.back.llvm.nvptx.matrix.instructions import TF32, MultiplyInstruction, instructions_for
from girih.back.llvm.nvptx.matrix.layout import GROUPS, THREADS, WarpGrid, fragment_layout
from girih.facts.accumulators import product_accumulator
from girih.ir.core import Function, Op, Value
from girih.ir.types import F32, I32, CoopMatrix, Number, promote
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd

MOST_REGISTERS = 256
"""Registers of 4 bytes that a matrix takes at most in a thread, which has 255 in all; larger ones are arrays."""


def sums_type(op: CooperativeMatrixMulAdd) -> Number:
    """The type in which a product is summed up; small integers take 32 bits, which wrap around in the same way."""
    total = product_accumulator(matrix_type(op.c).component, matrix_type(op.result).component)
    return I32 if total.family == "integer" and total.size < I32.size else total


def factor_types(op: CooperativeMatrixMulAdd) -> tuple[CoopMatrix, CoopMatrix]:
    """The types in which factors are multiplied: one component type where that changes nothing of who holds what."""
    a, b = matrix_type(op.a), matrix_type(op.b)
    wider = promote(a.component, b.component)
    if wider is None or a.component == b.component:
        return a, b
    both = [replace(one, component=wider) for one in (a, b)]
    if any(fragment_layout(one) != fragment_layout(wide) for one, wide in zip((a, b), both, strict=True)):
        return a, b
    return both[0], both[1]


def multiply_instructions(
    function: Function, op: CooperativeMatrixMulAdd, capability: tuple[int, int]
) -> list[MultiplyInstruction]:
    """The instructions for a product, the deepest first; none where it is computed number by number."""
    (a, b), total = (one.component for one in factor_types(op)), sums_type(op)
    if a == b == total == F32 and "tf32" in function.permissions:
        return [TF32]
    return instructions_for(a, b, total, capability)


def choose_flat(function: Function, subgroup_size: int, threads: int, rectangle: Rectangle) -> frozenset[Value]:
    """The matrices of the work-group that are flat; `rectangle` is how the `threads` stand for them.

    None are, where others that cannot be have the type of one: a component of a type is always held by the same thread,
    which may load what it has stored.
    """

    def reasons(op: Op, matrices: list[Value]) -> Iterator[str]:
        if not matrix_type(matrices[0]).of_work_group:
            return iter(("fragments are better for a subgroup",))
        return against_flat(op, matrices, rectangle, threads, subgroup_size)

    own, _ = own_matrices(function, reasons)
    flat = frozenset(value for value in own if isinstance(value.type, CoopMatrix))
    values = {value for op in function.walk() for value in (*op.operands, *op.results, *op.bindings)}
    return flat if {value.type for value in flat}.isdisjoint(value.type for value in values - flat) else frozenset()


def choose_fragments(
    function: Function, subgroup_size: int, warps: WarpGrid, flat: frozenset[Value]
) -> tuple[frozenset[Value], tuple[SoftwareMatrices, ...]]:
    """The matrices of a function that are fragments, and why others that are not `flat` are not, in program order."""

    def reasons(op: Op, matrices: list[Value]) -> Iterator[str]:
        return iter(()) if matrices[0] in flat else _reasons(op, matrices, subgroup_size, warps)

    own, arrays = own_matrices(function, reasons)
    return own - flat, arrays


def _reasons(op: Op, matrices: list[Value], subgroup_size: int, warps: WarpGrid) -> Iterator[str]:
    """What is against the matrices of an instruction."""
    for matrix in matrices:
        type = matrix_type(matrix)
        if subgroup_size != GROUPS * THREADS:
            yield f"fragments are held by subgroups of {GROUPS * THREADS} work-items, not of {subgroup_size}"
        elif type.component.family == "complex":
            yield f"{type} is complex"
        elif register_count(type, warps) > MOST_REGISTERS:
            yield f"{type} takes {register_count(type, warps)} registers of a work-item; {MOST_REGISTERS} are the most"
    if isinstance(op, CooperativeMatrixMulAdd):
        a, b = matrix_type(op.a), matrix_type(op.b)
        if "complex" in (a.component.family, b.component.family):
            return
        if fragment_layout(a).threads != fragment_layout(b).threads:
            yield f"factors of {a.component} and {b.component} are dealt out to work-items in different ways"
