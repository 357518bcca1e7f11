"""Fragments whose components depend on those at the same place only (003 "Arithmetic", "Cast", "Constant", "Cooperative
matrix construct", "... scale"), and transposes (001)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from girih.back.llvm.emit.text import Val, wide
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.matrix.elementwise import check_second
from girih.back.llvm.lower.one_lane.matrix.held import EqualComponents, Parts, matrix_type, together
from girih.back.llvm.numbers import arith, casts
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
from girih.ir.core import Value
from girih.ir.types import BF16, F16, F32, CoopMatrix, Number
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Binary, Cast, Constant, Unary
from girih.ops.tile.coopmatrix import CooperativeMatrixConstruct, CooperativeMatrixScale, CooperativeMatrixTranspose

LOWERINGS = Lowerings[FragmentCode]()
"""The lowerings of this file."""

LOWERINGS.carry(FragmentCarrier, CoopMatrix)

Compute = Callable[[int, list[Parts]], Parts]
"""A component of the result from its number, and the operands' components of that number."""


def elementwise(code: FragmentCode, result: Value, operands: Sequence[Value], compute: Compute) -> None:
    """Give a value the components that are computed from those of the same number."""
    type = matrix_type(result)
    held = [code.env[value] for value in operands]
    if all(isinstance(one, EqualComponents) for one in held):
        code.set(result, EqualComponents(type, compute(0, [one.parts for one in held])))
        return
    matrices = [fragments(code, value) for value in operands]
    count = layout_of(code, type).components
    parts = [compute(number, [m.part(code, number) for m in matrices]) for number in range(count)]
    code.set(result, in_registers(code, type, parts))


@LOWERINGS.of(*TILE_LANGUAGE.family(Binary), giving=CoopMatrix)
def binary(code: FragmentCode, op: Binary) -> None:
    """Component by component (003 "Arithmetic (binary)")."""
    mnemonic, type = op.spec.mnemonic, matrix_type(op.a)
    checked = type.component.family == "integer" and mnemonic in ("div", "rem", "shl", "shr")
    layout = layout_of(code, type)

    def compute(number: int, parts: list[Parts]) -> Parts:
        if checked:
            check_second(code, op, layout.position(code, number).exists, parts[1][0])
        return arith.binary(code.w, code.features, mnemonic, type.component, parts[0], parts[1], contract=code.contract)

    elementwise(code, op.result, (op.a, op.b), compute)


@LOWERINGS.of(*TILE_LANGUAGE.family(Unary), giving=CoopMatrix)
def unary(code: FragmentCode, op: Unary) -> None:
    """Component by component (003 "Arithmetic (unary)")."""
    mnemonic, type = op.spec.mnemonic, matrix_type(op.a).component
    elementwise(code, op.result, (op.a,), lambda _, parts: arith.unary(code.w, code.features, mnemonic, type, parts[0]))


@LOWERINGS.of(Constant, giving=CoopMatrix)
def constant(code: FragmentCode, op: Constant) -> None:
    """The matrix whose components are all one constant (003 "Constant")."""
    type = matrix_type(op.result)
    code.set(op.result, EqualComponents(type, arith.constant(type.component, op.value)))


@LOWERINGS.of(CooperativeMatrixConstruct)
def construct(code: FragmentCode, op: CooperativeMatrixConstruct) -> None:
    """The matrix whose components are all one number."""
    type = matrix_type(op.result)
    together(code, op, type)
    code.set(op.result, EqualComponents(type, code.agreed(op, "a", code.scalar(op.a))))


@LOWERINGS.of(CooperativeMatrixScale)
def scale(code: FragmentCode, op: CooperativeMatrixScale) -> None:
    """A number times a matrix."""
    type = matrix_type(op.result)
    together(code, op, type)
    number = code.agreed(op, "a", code.scalar(op.a))

    def compute(_: int, parts: list[Parts]) -> Parts:
        return arith.binary(code.w, code.features, "mul", type.component, number, parts[0], contract=code.contract)

    elementwise(code, op.result, (op.matrix,), compute)


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
