"""Fragments whose components depend on those at the same place only (003 "Arithmetic", "Cast", "Constant", "Cooperative
matrix construct", "... scale"), and transposes (001)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from girih.back.llvm.emit.text import Val, integer, wide
from girih.back.llvm.lower.one_lane.matrix.held import EqualComponents, Parts, matrix_type, together
from girih.back.llvm.lower.one_lane.matrix.pointwise import Compute, pointwise
from girih.back.llvm.numbers import casts
from girih.back.llvm.nvptx.matrix.carried import FragmentCarrier
from girih.back.llvm.nvptx.matrix.code import FragmentCode
from girih.back.llvm.nvptx.matrix.exchange import laid_out
from girih.back.llvm.nvptx.matrix.fragments import (
    Fragments,
    fragments,
    in_layout,
    in_registers,
    layout_of,
    packed,
    register_type,
)
from girih.ir.core import Op, Value
from girih.ir.types import BF16, F16, F32, CoopMatrix, Number
from girih.ops.tile.arith import Cast
from girih.ops.tile.coopmatrix import CooperativeMatrixTranspose


def in_fragments(code: FragmentCode, op: Op, operands: Sequence[Value], compute: Compute) -> Fragments:
    """The only result of an instruction, component by component."""
    type = matrix_type(op.results[0])
    matrices = [fragments(code, value) for value in operands]
    count = layout_of(code, type).components
    parts = [compute(integer(number), [m.part(code, number) for m in matrices]) for number in range(count)]
    return in_registers(code, type, parts)


def _exists(code: FragmentCode, type: CoopMatrix, component: Val) -> Val | None:
    assert component.literal is not None
    return layout_of(code, type).position(code, component.literal).exists


LOWERINGS = pointwise(in_fragments, _exists)
"""The lowerings of this file."""

LOWERINGS.carry(FragmentCarrier, CoopMatrix)


# --- conversions -------------------------------------------------------------------------------


@LOWERINGS.of(Cast, giving=CoopMatrix)
def cast(code: FragmentCode, op: Cast) -> None:
    """Component by component (003 "Cast"); to another use also from other threads, where they hold them."""
    _converted(code, op.a, op.result, turned=False)


@LOWERINGS.of(CooperativeMatrixTranspose)
def transpose(code: FragmentCode, op: CooperativeMatrixTranspose) -> None:
    """The transpose as a right factor, in the component type of the result: threads hold what they held."""
    together(code, op, matrix_type(op.result))
    _converted(code, op.matrix, op.result, turned=True)


def _converted(code: FragmentCode, value: Value, result: Value, *, turned: bool) -> None:
    source, target = matrix_type(value), matrix_type(result)
    convert = partial(_cast, code, source.component, target.component)
    held = code.env[value]
    if isinstance(held, EqualComponents):
        code.set(result, EqualComponents(target, convert(held.parts)))
        return
    m = fragments(code, value)
    own, wanted = m.layout, layout_of(code, target)
    if (own.groups, own.threads, own.turned != turned) != (wanted.groups, wanted.threads, wanted.turned):
        code.set(result, laid_out(code, m, target, convert, turned=turned))
        return
    code.set(result, cast_in_place(code, m, target))


def cast_in_place(code: FragmentCode, m: Fragments, target: CoopMatrix) -> Fragments:
    """A matrix as one of another type, whose components the same threads hold in the same order."""
    source = m.type
    if source.component == target.component and m.packed == packed(target.component, layout_of(code, target)):
        return in_layout(code, target, m.registers)
    if source.component == F32 and target.component in _NARROW:
        return narrowed(code, target, m.registers)
    return in_registers(code, target, [_cast(code, source.component, target.component, p) for p in m.parts(code)])


def _cast(code: FragmentCode, source: Number, target: Number, parts: Parts) -> Parts:
    return casts.cast(code.w, code.features, source, target, parts)


_NARROW = {F16: "half", BF16: "bfloat"}


def narrowed(code: FragmentCode, target: CoopMatrix, floats: Sequence[Val]) -> Fragments:
    """A matrix of f16 or bf16 from components of f32, rounded to nearest even by the device (PTX ISA "cvt")."""
    w, layout = code.w, layout_of(code, target)
    count = packed(target.component, layout)
    type = wide(_NARROW[target.component], count)
    pieces = [w.join(floats[first : first + count]) for first in range(0, len(floats), count)]
    rounded = (w.convert("fptrunc", piece, type) for piece in pieces)
    word = register_type(target, layout)
    return Fragments(target, layout, tuple(w.convert("bitcast", one, word) for one in rounded))
