"""Instructions on matrices whose components depend on those at the same place only (003 "Arithmetic", "Constant",
"Cooperative matrix construct", "... scale"), for every form in which a machine holds matrices.

`pointwise` makes the lowerings of a form of two functions: one computes all components of a result, the other says
which of them are padding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from girih.back.llvm.emit.text import Val, bits, integer
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.held import EqualComponents, Matrix, Parts, matrix_type, together
from girih.back.llvm.numbers import arith
from girih.facts import findings
from girih.ir.core import Op, Value
from girih.ir.types import CoopMatrix, Number
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Binary, Constant, Unary
from girih.ops.tile.coopmatrix import CooperativeMatrixConstruct, CooperativeMatrixScale

Code = TypeVar("Code", bound=OneLaneCode)

Compute = Callable[[Val, list[Parts]], Parts]
"""A component of the result from its number, an i64, and the operands' components of that number."""

ComputeAll = Callable[[Code, Op, Sequence[Value], Compute], Matrix]
"""The result of an instruction from matrix operands, of which not all are `EqualComponents`."""

Exists = Callable[[Code, CoopMatrix, Val], Val | None]
"""Whether a component of a matrix is none of the padding, an i1 by its number; None where none is padding."""

_MANY_INSTRUCTIONS = ("div", "rem")


def pointwise(compute_all: ComputeAll[Code], exists: Exists[Code]) -> Lowerings[Code]:
    """The lowerings of a form of matrices, but for casts, which may change which work-item holds a component."""
    table = Lowerings[Code]()

    @table.of(*TILE_LANGUAGE.family(Binary), giving=CoopMatrix)
    def binary(code: Code, op: Binary) -> None:
        """Component by component (003 "Arithmetic (binary)")."""
        type = matrix_type(op.a)
        elementwise(code, op, (op.a, op.b), binary_of(code, op, lambda number: exists(code, type, number)), compute_all)

    @table.of(*TILE_LANGUAGE.family(Unary), giving=CoopMatrix)
    def unary(code: Code, op: Unary) -> None:
        """Component by component (003 "Arithmetic (unary)")."""
        elementwise(code, op, (op.a,), unary_of(code, op), compute_all)

    @table.of(Constant, giving=CoopMatrix)
    def constant(code: Code, op: Constant) -> None:
        """The matrix whose components are all one constant (003 "Constant")."""
        type = matrix_type(op.result)
        code.set(op.result, EqualComponents(type, arith.constant(type.component, op.value)))

    @table.of(CooperativeMatrixConstruct)
    def construct(code: Code, op: CooperativeMatrixConstruct) -> None:
        """The matrix whose components are all one number."""
        type = matrix_type(op.result)
        together(code, op, type)
        code.set(op.result, EqualComponents(type, code.agreed(op, "a", code.scalar(op.a))))

    @table.of(CooperativeMatrixScale)
    def scale(code: Code, op: CooperativeMatrixScale) -> None:
        """A number times a matrix."""
        type = matrix_type(op.result)
        together(code, op, type)
        number = code.agreed(op, "a", code.scalar(op.a))
        elementwise(code, op, (op.matrix,), scale_of(code, type.component, number), compute_all)

    return table


def elementwise(code: Code, op: Op, operands: Sequence[Value], compute: Compute, compute_all: ComputeAll[Code]) -> None:
    """Give the only result of an instruction the components that are computed from those of the same number."""
    (result,) = op.results
    equal = [held.parts for value in operands if isinstance(held := code.env[value], EqualComponents)]
    if len(equal) == len(operands):
        code.set(result, EqualComponents(matrix_type(result), compute(integer(0), equal)))
    else:
        code.set(result, compute_all(code, op, operands, compute))


def binary_of(code: OneLaneCode, op: Binary, exists: Callable[[Val], Val | None]) -> Compute:
    """What an operation gives for two components; second ones that it is not defined for are findings."""
    mnemonic, type = op.spec.mnemonic, matrix_type(op.a).component
    checked = type.family == "integer" and mnemonic in (*_MANY_INSTRUCTIONS, "shl", "shr")

    def compute(number: Val, parts: list[Parts]) -> Parts:
        if checked and code.checks:
            _check_second(code, op, exists(number), parts[1][0])
        return arith.binary(code.w, code.features, mnemonic, type, parts[0], parts[1], contract=code.contract)

    return compute


def _check_second(code: OneLaneCode, op: Binary, exists: Val | None, b: Val) -> None:
    """Find a division by zero or a shift that is too wide, unless the component is padding, which nobody sees."""
    w, width = code.w, bits(b.type)
    if op.spec.mnemonic in _MANY_INSTRUCTIONS:
        bad, words = w.compare("eq", b, integer(0, b.type)), findings.division_by_zero()
    else:
        bad, words = w.compare("uge", b, integer(width, b.type)), findings.shift(width)
    bad = bad if exists is None else w.binary("and", bad, exists)
    code.check(op, bad, words, argument=op.b.name, by_lane=False)


def unary_of(code: OneLaneCode, op: Unary) -> Compute:
    """What an operation gives for a component."""
    mnemonic, type = op.spec.mnemonic, matrix_type(op.a).component
    return lambda _, parts: arith.unary(code.w, code.features, mnemonic, type, parts[0])


def scale_of(code: OneLaneCode, type: Number, number: Parts) -> Compute:
    """A number times a component, both of one type."""
    return lambda _, parts: arith.binary(code.w, code.features, "mul", type, number, parts[0], contract=code.contract)


def instructions_of(op: Op) -> int:
    """How many simple instructions a component of a binary or unary operation is worth, about."""
    return 4 if isinstance(op, Binary) and op.spec.mnemonic in _MANY_INSTRUCTIONS else 1
