"""The leaves of a type of SPIR-V: the values of the ir that a value of it is taken apart into, in order.

A vector is its components, a matrix its columns one after the other, an array its elements, a struct its members.
Integers have no sign in the ir: signed and unsigned ones of a width are one type.
"""

from __future__ import annotations

from functools import singledispatch

from girih.ir.types import (
    BF16,
    BOOL,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    ClampMode,
    CoopMatrix,
    MatrixScope,
    Number,
    TensorLayoutType,
    TensorViewType,
    Use,
)
from girih.ir.types import Type as IrType
from girih.rules.row import Undetermined
from girih.spirv.grammar import grammar
from girih.spirv.types import (
    Array,
    Bool,
    CooperativeMatrix,
    Float,
    Int,
    Matrix,
    Pointer,
    Struct,
    TensorLayout,
    TensorView,
    Type,
    Vector,
    Void,
)

INTEGERS = {8: I8, 16: I16, 32: I32, 64: I64}
FLOATS = {16: F16, 32: F32, 64: F64}
ENCODED = {"BFloat16KHR": BF16, "Float8E4M3EXT": F8E4M3, "Float8E5M2EXT": F8E5M2}
E2M1 = "Float4E2M1EXT"
"""The encoding of floats of 4 bits, which the ir holds as i8 with the bits in the low half."""

SCOPES = {2: MatrixScope.WORK_GROUP, 3: MatrixScope.SUBGROUP}
"""Scopes of SPIR-V (3.27) that matrices may have."""

USES = (Use.A, Use.B, Use.ACC)
"""Cooperative Matrix Use (SPV_KHR_cooperative_matrix), by its number."""

CLAMP_MODES = tuple(ClampMode)
"""Tensor Clamp Mode (000 3.X), by its number."""


@singledispatch
def leaves(type: Type) -> tuple[IrType, ...]:
    """The types of the leaves of a type. Raises `Undetermined` for one of which no value can be taken apart."""
    raise Undetermined


@leaves.register
def _(type: Void) -> tuple[IrType, ...]:
    return ()


@leaves.register
def _(type: Bool) -> tuple[IrType, ...]:
    return (BOOL,)


@leaves.register
def _(type: Int) -> tuple[IrType, ...]:
    return (INTEGERS[type.width],)


@leaves.register
def _(type: Float) -> tuple[IrType, ...]:
    return (number_of(type),)


@leaves.register
def _(type: Pointer) -> tuple[IrType, ...]:
    """A physical address; pointers of other storage classes are never taken apart."""
    if type.storage_class != "PhysicalStorageBuffer":
        raise Undetermined
    return (I64,)


@leaves.register
def _(type: Vector) -> tuple[IrType, ...]:
    return leaves(type.component) * _known(type.count)


@leaves.register
def _(type: Matrix) -> tuple[IrType, ...]:
    return leaves(type.column) * type.count


@leaves.register
def _(type: Array) -> tuple[IrType, ...]:
    return leaves(type.element) * _known(type.length)


@leaves.register
def _(type: Struct) -> tuple[IrType, ...]:
    """The leaves of the members. A member whose type is declared later is a pointer, whose leaf is its address."""
    found: list[IrType] = []
    for member in type.members:
        found.extend((I64,) if member is None else leaves(member))
    return tuple(found)


@leaves.register
def _(type: CooperativeMatrix) -> tuple[IrType, ...]:
    component = type.component
    number = number_of(component) if isinstance(component, Float) else INTEGERS[_integer(component).width]
    scope = SCOPES[_known(type.scope)]
    return (CoopMatrix(number, _known(type.rows), _known(type.columns), USES[_known(type.use)], scope),)


@leaves.register
def _(type: TensorLayout) -> tuple[IrType, ...]:
    return (TensorLayoutType(_known(type.dim), CLAMP_MODES[_known(type.clamp_mode)]),)


@leaves.register
def _(type: TensorView) -> tuple[IrType, ...]:
    permutation = tuple(map(_known, type.permutation))
    return (TensorViewType(_known(type.dim), bool(type.has_dimensions), permutation),)


def number_of(type: Float) -> Number:
    """The floating type of the ir. One of 4 bits is held as i8."""
    if type.encoding is None:
        return FLOATS[type.width]
    name = grammar().kinds["FPEncoding"].name_of(type.encoding)
    return I8 if name == E2M1 else ENCODED[name]


def is_signed(type: Type) -> bool:
    """Whether a type is a signed integer, or composed of such."""
    match type:
        case Int():
            return type.signed
        case Vector() | CooperativeMatrix():
            return is_signed(type.component)
        case _:
            return False


def _integer(type: Type) -> Int:
    if not isinstance(type, Int):
        raise Undetermined
    return type


def _known(number: int | None) -> int:
    if number is None:
        raise Undetermined
    return number
