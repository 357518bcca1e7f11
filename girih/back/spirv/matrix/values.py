"""Matrices of the device as values: constants, arithmetic, conversions, products, transposes.

Components are computed as the language asks: what the device rounds once is one instruction, all else is a function of
each element, in which the words of scalars stand.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers import arith
from girih.back.llvm.numbers.rounding import round_to
from girih.back.spirv.matrix.carried import DeviceMatrixCarrier
from girih.back.spirv.matrix.choice import NATIVE, rounds_to_half, sums_of
from girih.back.spirv.matrix.code import (
    MatrixCode,
    component_of,
    matrix_of,
    matrix_type_of,
    matrix_word,
    per_element,
    register_of,
    together,
)
from girih.ir.types import BF16, CoopMatrix, Number
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Binary, Cast, Constant, Unary
from girih.ops.tile.coopmatrix import (
    CooperativeMatrixConstruct,
    CooperativeMatrixMulAdd,
    CooperativeMatrixScale,
    CooperativeMatrixTranspose,
)

LOWERINGS = Lowerings[MatrixCode]()
"""The lowerings of this file."""

LOWERINGS.carry(DeviceMatrixCarrier, CoopMatrix)

SIGNED = frozenset({"a", "b", "c", "result"})
"""The operands of a product whose integers have a sign: those of the language all do."""


# --- constants ---------------------------------------------------------------------------------


def splat(code: MatrixCode, type: CoopMatrix, parts: Sequence[Val]) -> Val:
    """The matrix whose components are all one number, given as it is in registers."""
    return code.node("matrix_splat", (component_of(code, type.component, parts[0]),), matrix_word(type))


@LOWERINGS.of(Constant, giving=CoopMatrix)
def constant(code: MatrixCode, op: Constant) -> None:
    """The matrix whose components are all one constant (003 "Constant")."""
    type = matrix_type_of(op.result)
    code.set(op.result, splat(code, type, arith.constant(type.component, op.value)))


@LOWERINGS.of(CooperativeMatrixConstruct)
def construct(code: MatrixCode, op: CooperativeMatrixConstruct) -> None:
    """The matrix whose components are all one number."""
    together(code, op)
    code.set(op.result, splat(code, matrix_type_of(op.result), code.agreed(op, "a", code.scalar(op.a))))


# --- arithmetic --------------------------------------------------------------------------------


def _native(type: Number, mnemonic: str) -> str:
    """The operation of shader code on components."""
    return mnemonic if type.family == "integer" else f"f{mnemonic}"


@LOWERINGS.of(*TILE_LANGUAGE.family(Binary), giving=CoopMatrix)
def binary(code: MatrixCode, op: Binary) -> None:
    """Component by component (003 "Arithmetic (binary)")."""
    type, mnemonic = matrix_type_of(op.result).component, op.spec.mnemonic
    a, b = matrix_of(code, op.a), matrix_of(code, op.b)
    if mnemonic in NATIVE and type != BF16:
        code.set(op.result, code.node("matrix_binary", (a, b), a.type, (_native(type, mnemonic),)))
        return

    def call(row: Val, column: Val, component: Val, more: tuple[Val, ...]) -> Val:
        parts = [(register_of(code, type, one),) for one in (component, more[0])]
        found = arith.binary(code.w, code.features, mnemonic, type, *parts, contract=code.contract)
        return component_of(code, type, found[0])

    code.set(op.result, per_element(code, mnemonic, a, [("other", b)], call))


@LOWERINGS.of(*TILE_LANGUAGE.family(Unary), giving=CoopMatrix)
def unary(code: MatrixCode, op: Unary) -> None:
    """Component by component (003 "Arithmetic (unary)")."""
    type, mnemonic = matrix_type_of(op.a).component, op.spec.mnemonic

    def call(row: Val, column: Val, component: Val, more: tuple[Val, ...]) -> Val:
        found = arith.unary(code.w, code.features, mnemonic, type, (register_of(code, type, component),))
        return component_of(code, type, found[0])

    code.set(op.result, per_element(code, mnemonic, matrix_of(code, op.a), [], call))


@LOWERINGS.of(CooperativeMatrixScale)
def scale(code: MatrixCode, op: CooperativeMatrixScale) -> None:
    """A number times a matrix."""
    together(code, op)
    type, matrix = matrix_type_of(op.result).component, matrix_of(code, op.matrix)
    number = component_of(code, type, code.agreed(op, "a", code.scalar(op.a))[0])
    if type != BF16:
        code.set(op.result, code.node("matrix_scale", (matrix, number), matrix.type, (_native(type, "mul"),)))
        return

    def call(row: Val, column: Val, component: Val, more: tuple[Val, ...]) -> Val:
        parts = [(register_of(code, type, one),) for one in (more[0], component)]
        return component_of(code, type, arith.binary(code.w, code.features, "mul", type, *parts)[0])

    code.set(op.result, per_element(code, "scale", matrix, [("number", number)], call))


# --- conversions -------------------------------------------------------------------------------


def converted(code: MatrixCode, matrix: Val, source: CoopMatrix, target: CoopMatrix, *, moved: bool = False) -> Val:
    """A matrix with the components and the use of another type; numbers are rounded to nearest.

    Nothing computes with the numbers of one that is only `moved`.
    """
    if source == target:
        return matrix
    # A device may convert to bf16 by cutting off, and may take away a conversion to f16 and back. Neither changes what
    # is rounded before.
    doubtful = rounds_to_half(source.component, target.component) and not code.features.narrows and not moved
    if doubtful or target.component == BF16 != source.component:
        matrix = _rounded(code, matrix, source.component, target.component)
    operation = _conversion(source.component, target.component)
    return code.node("matrix_convert", (matrix,), matrix_word(target), (operation,))


def _rounded(code: MatrixCode, matrix: Val, source: Number, target: Number) -> Val:
    def call(row: Val, column: Val, component: Val, more: tuple[Val, ...]) -> Val:
        return round_to(code.w, code.features, target, register_of(code, source, component))

    return per_element(code, f"round_{target}", matrix, [], call)


def _conversion(source: Number, target: Number) -> str:
    if source == target:
        return "use"
    if source.family != target.family:
        return "sitofp"
    if source.family == "integer":
        return "sext" if target.size > source.size else "trunc" if target.size < source.size else "use"
    return "fpext" if target.size > source.size else "fptrunc"


@LOWERINGS.of(Cast, giving=CoopMatrix)
def cast(code: MatrixCode, op: Cast) -> None:
    """Component by component (003 "Cast"), to another use too."""
    source, target = matrix_type_of(op.a), matrix_type_of(op.result)
    moved = op.result in code.matrices.moved
    code.set(op.result, converted(code, matrix_of(code, op.a), source, target, moved=moved))


# --- products ----------------------------------------------------------------------------------


@LOWERINGS.of(CooperativeMatrixMulAdd)
def mul_add(code: MatrixCode, op: CooperativeMatrixMulAdd) -> None:
    """The product of two matrices plus a third one, with the sums in the type that the language asks for."""
    together(code, op)
    c, result = matrix_type_of(op.c), matrix_type_of(op.result)
    sums = sums_of(c, result)
    integers = sums.component.family == "integer"
    factors = [matrix_of(code, one) for one in (op.a, op.b)]
    addend = converted(code, matrix_of(code, op.c), c, sums)
    details = (SIGNED if integers else frozenset(), False)
    product = code.node("matrix_mul_add", (*factors, addend), matrix_word(sums), details)
    code.set(op.result, converted(code, product, sums, result, moved=op.result in code.matrices.moved))


@LOWERINGS.of(CooperativeMatrixTranspose)
def transpose(code: MatrixCode, op: CooperativeMatrixTranspose) -> None:
    """The transpose of an accumulator as a right factor."""
    together(code, op)
    matrix, word = matrix_of(code, op.matrix), matrix_word(matrix_type_of(op.result))
    code.set(op.result, code.node("matrix_transpose", (matrix,), word))
