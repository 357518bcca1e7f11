"""The meaning of arithmetic, comparisons, casts, constants and functions (`girih.ops.tile.arith`, `.math`)."""

from __future__ import annotations

import numpy as np

from girih.facts import findings
from girih.interpreter.machine import functions, numbers
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.permissions import contracted
from girih.interpreter.machine.values import Array
from girih.ir.types import Boolean, CoopMatrix, Number, Type, element_type
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.arith import Binary, Bitcast, Cast, Comparison, Constant, Select, Unary
from girih.ops.tile.math import FusedMultiplyAdd, Math, Power


def scalar_type(type: Type) -> Number | Boolean:
    """The scalar type that an instruction computes in."""
    scalar = element_type(type)
    assert scalar is not None
    return scalar


@meaning(*TILE_LANGUAGE.family(Binary))
def binary(machine: Machine, op: Binary) -> None:
    """Compute an operation of two operands of one type."""
    mnemonic = op.spec.mnemonic
    type = scalar_type(op.a.type)
    a, b = machine.array(op.a), machine.array(op.b)
    if mnemonic in ("div", "rem", "shl", "shr") and isinstance(type, Number) and type.family == "integer":
        _check_second(machine, op, b, 8 * type.size)
    if mnemonic in ("add", "sub", "mul") and isinstance(type, Number) and type.family != "integer":
        made = contracted(machine, op, type)
        if made is not None:
            machine.set(op.result, made)
            return
    machine.set(op.result, numbers.BINARY[mnemonic](a, b, type))


def _check_second(machine: Machine, op: Binary, b: Array, bits: int) -> None:
    """Find integer divisions by zero, and shifts by a negative amount or by the width of the type or more."""
    dividing = op.spec.mnemonic in ("div", "rem")
    bad = b == 0 if dividing else (b < 0) | (b >= bits)
    if not bad.any():
        return
    bad = machine.under_mask(bad)
    if not bad.any():
        return
    words = findings.division_by_zero() if dividing else findings.shift(bits)
    machine.find(words, op, bad, argument=op.b.name, by_lane=b.ndim == 3)


@meaning(*TILE_LANGUAGE.family(Unary))
def unary(machine: Machine, op: Unary) -> None:
    """Compute an operation of one operand."""
    machine.set(op.result, numbers.UNARY[op.spec.mnemonic](machine.array(op.a), scalar_type(op.a.type)))


@meaning(*TILE_LANGUAGE.family(Comparison))
def comparison(machine: Machine, op: Comparison) -> None:
    """Compute whether a relation holds between two operands."""
    machine.set(op.result, numbers.COMPARE[op.spec.mnemonic](machine.array(op.a), machine.array(op.b)))


@meaning(*TILE_LANGUAGE.family(Math))
def function(machine: Machine, op: Math) -> None:
    """Compute a mathematical function."""
    type = scalar_type(op.a.type)
    assert isinstance(type, Number)
    machine.set(op.result, functions.MATH[op.spec.mnemonic](machine.array(op.a), type))


@meaning(Power)
def power(machine: Machine, op: Power) -> None:
    """Compute a power."""
    type = scalar_type(op.a.type)
    assert isinstance(type, Number)
    machine.set(op.result, functions.power(machine.array(op.a), machine.array(op.b), type))


@meaning(FusedMultiplyAdd)
def fused_multiply_add(machine: Machine, op: FusedMultiplyAdd) -> None:
    """Multiply and add, and round once."""
    type = scalar_type(op.a.type)
    assert isinstance(type, Number)
    a, b, c = (machine.array(value) for value in (op.a, op.b, op.c))
    machine.set(op.result, functions.fused_multiply_add(a, b, c, type))


@meaning(Select)
def select(machine: Machine, op: Select) -> None:
    """Choose one of two values for each work-item."""
    machine.set(op.result, np.where(machine.array(op.condition), machine.array(op.a), machine.array(op.b)))


@meaning(Cast)
def cast(machine: Machine, op: Cast) -> None:
    """Convert a number or matrix to another number type."""
    source, target = scalar_type(op.a.type), scalar_type(op.result.type)
    assert isinstance(source, Number)
    assert isinstance(target, Number)
    machine.set(op.result, numbers.cast(machine.array(op.a), source, target))


@meaning(Bitcast)
def bitcast(machine: Machine, op: Bitcast) -> None:
    """Read the bytes of a number as another type; the axes of the array keep their sizes."""
    target = scalar_type(op.result.type)
    assert isinstance(target, Number)
    array = machine.array(op.a)
    machine.set(op.result, np.ascontiguousarray(array).view(numbers.dtype(target)).reshape(array.shape))


@meaning(Constant)
def constant(machine: Machine, op: Constant) -> None:
    """Set the result to a constant, which is made once per launch."""
    array = machine.constants.get(op.result)
    if array is None:
        array = numbers.constant(op.value, scalar_type(op.result.type))
        if isinstance(op.result.type, CoopMatrix):
            array = np.broadcast_to(array[..., None], (1, 1, *op.result.type.shape))
        machine.constants[op.result] = array
    machine.env[op.result] = array
