"""Instructions of shaders whose results go one of the ways that are open.

An instruction is executed as it is on operands that the choices may have changed, and then its result is moved: first
to another neighbour of the exact one or within a bound, then to 16 bits, to zero, or to a zero of another sign.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from girih.interpreter.latitude import rounding
from girih.interpreter.latitude.bounds import EXACT, FORMULAS, PRECISIONS, largest_errors
from girih.interpreter.latitude.products import Products, narrow_products
from girih.interpreter.machine import numbers
from girih.interpreter.machine.choices import Choices
from girih.interpreter.machine.latitudes import LATITUDES
from girih.interpreter.machine.machine import Machine, Meaning
from girih.interpreter.machine.values import Array
from girih.ir.core import Function, NumberLatitude, Op, Value
from girih.ir.types import F16, F32, F64, I32, CoopMatrix, Number, element_type
from girih.lazy_dataclass import dataclass
from girih.ops.device.floats import FloatCast, UnsignedToFloat
from girih.ops.device.numeric import Numeric
from girih.ops.tile.arith import Binary, Cast, Comparison, Unary
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd, CooperativeMatrixScale
from girih.ops.tile.math import FusedMultiplyAdd, Math, Power

_ARITHMETIC = (Binary, Unary, Comparison, Math, Power, FusedMultiplyAdd, Cast, CooperativeMatrixScale, Numeric)
"""What may flush denormals, and be computed in 16 bits; not what moves or chooses values."""

_CONVERSIONS = (Cast, FloatCast, UnsignedToFloat)
_SMALLEST: Mapping[Number, float] = {F16: 2.0**-14, F32: 2.0**-126, F64: 2.0**-1022}
"""The smallest normal number of the types whose denormals may be flushed."""

Adapter = Callable[[Op, Meaning], Meaning]


def number_adapter(function: Function, choices: Choices) -> Adapter | None:
    """What makes of an instruction's meaning the one with which a launch executes it; None where that is the same."""
    latitude = function.latitude
    if latitude is None:
        return None
    if not any(map(choices.may_vary, LATITUDES)) and not _asks(latitude):
        return None
    return NumberAdapter(function, latitude, choices).adapted


def _asks(latitude: NumberLatitude) -> bool:
    """Whether execution modes ask for other results than those that are given without a seed."""
    return "flush" in latitude.denormals.values() or "toward_zero" in latitude.rounding.values()


@dataclass(slots=True)
class DrawnWays:
    """The ways in which one execution of an instruction goes."""

    op: Any
    relaxed: bool
    flushed: frozenset[Number]
    rounding: str


class NumberAdapter:
    """The meanings of the instructions of one launch of a shader."""

    def __init__(self, function: Function, latitude: NumberLatitude, choices: Choices) -> None:
        self.latitude = latitude
        self.choices = choices
        self.products = Products(function, latitude)

    def adapted(self, op: Op, meaning: Meaning) -> Meaning:
        """The meaning with which an instruction is executed."""
        if isinstance(op, CooperativeMatrixMulAdd):
            return self._product(op, meaning)
        if not isinstance(op, _ARITHMETIC) or not self._is_open(op):
            return meaning

        def varied(machine: Machine, op: Op) -> None:
            self._execute(machine, op, meaning)

        return varied

    def _product(self, op: CooperativeMatrixMulAdd, meaning: Meaning) -> Meaning:
        def product(machine: Machine, op: CooperativeMatrixMulAdd) -> None:
            way = self.choices.way("accumulation")
            type = _type(op.result)
            if way == "wide" or type is None or type.family != "floating":
                meaning(machine, op)
            else:
                narrow_products(machine, op, way)

        return product if self.choices.may_vary("accumulation") else meaning

    def _is_open(self, op: Op) -> bool:
        """Whether an instruction has to do with floats, or is relaxed."""
        types = [_type(value) for value in (*op.operands, *op.results)]
        floating = any(type is not None and type.family == "floating" for type in types)
        return floating or any(value in self.latitude.relaxed for value in op.results)

    # --- one execution -----------------------------------------------------------------------

    def _execute(self, machine: Machine, op: Op, meaning: Meaning) -> None:
        run = self._drawn(op)
        before = self._with_operands(machine, run)
        fused = self.products.execute(machine, op, self.choices.way("contraction"))
        if fused is None:
            meaning(machine, op)
        for value in op.results:
            type = _type(value)
            if type is not None and type.family == "floating":
                machine.set(value, self._moved(machine, run, value, type, fused))
            if run.relaxed and value in self.latitude.relaxed:
                machine.set(value, self._narrowed(machine.array(value), value, value in self.latitude.unsigned))
        machine.env.update(before)

    def _drawn(self, op: Op) -> DrawnWays:
        relaxed = self.choices.way("relaxed") == "half" and any(v in self.latitude.relaxed for v in op.results)
        flush = self.choices.way("denormals") == "flush"
        given = {type: self.latitude.denormals.get(type.size) for type in _SMALLEST}
        flushed = frozenset(type for type, mode in given.items() if mode == "flush" or (flush and mode is None))
        return DrawnWays(op, relaxed, flushed, self.choices.way("rounding"))

    def _with_operands(self, machine: Machine, run: DrawnWays) -> dict[Value, Any]:
        """Put the operands into the machine as the instruction reads them; what they were before."""
        before: dict[Value, Any] = {}
        for value in run.op.operands:
            type = _type(value)
            if type is None or value in before:
                continue
            array = machine.array(value)
            read = _flushed(array, type, run.flushed)
            if run.relaxed:
                unsigned = any(result in self.latitude.unsigned for result in run.op.results)
                read = self._narrowed(read, value, unsigned)
            if read is not array:
                before[value] = array
                machine.set(value, read)
        return before

    def _narrowed(self, array: Array, value: Value, unsigned: bool) -> Array:
        """Numbers of 32 bits in 16, as numbers of 32 bits again; others as they are."""
        type = _type(value)
        if type == F32:
            return numbers.cast(numbers.cast(array, F32, F16), F16, F32)
        if type == I32:
            narrow = array.astype(np.uint16 if unsigned else np.int16)
            return narrow.astype(np.int32)
        return array

    def _moved(
        self, machine: Machine, run: DrawnWays, value: Value, type: Number, fused: tuple[Array, ...] | None
    ) -> Array:
        """A result that is a float, moved as far as is open."""
        op, result = run.op, machine.array(value)
        if op.spec.mnemonic in FORMULAS and type in PRECISIONS:
            result = self._within_bound(machine, op, result, type)
        elif value not in self.latitude.rounded:
            way = self.latitude.rounding.get(type.size, run.rounding)
            if way != "even":
                lost = _lost(machine, op, result, type, fused)
                if lost is not None:
                    result = rounding.rounded_otherwise(result, lost, type, way, self.choices)
        result = _flushed(result, type, run.flushed)
        sign = self.choices.way("zeros")
        if sign != "signed" and type.size not in self.latitude.special:
            result = np.where(result == 0, np.zeros((), result.dtype) * (1 if sign == "positive" else -1), result)
        return result

    def _within_bound(self, machine: Machine, op: Op, result: Array, type: Number) -> Array:
        way = self.choices.way("ulps")
        if way == "near":
            return result
        operands = [rounding.wide(machine.array(value), type) for value in op.operands]
        exact = EXACT[op.spec.mnemonic](*operands)
        shape = np.broadcast_shapes(exact.shape, result.shape)
        error = largest_errors(op.spec.mnemonic, operands, exact, type)
        return rounding.within(np.broadcast_to(result, shape), exact, error, type, way, self.choices)


def _type(value: Value) -> Number | None:
    """The type of a number, or of the components of a matrix; None of anything else."""
    type = element_type(value.type) if isinstance(value.type, Number | CoopMatrix) else None
    return type if isinstance(type, Number) else None


def _flushed(array: Array, type: Number, flushed: frozenset[Number]) -> Array:
    """Numbers of a type, denormals as zeros of their signs if they are flushed; the array itself without any."""
    if type not in flushed:
        return array
    small = np.absolute(array) < array.dtype.type(_SMALLEST[type])
    found: Array = np.where(small, np.copysign(array.dtype.type(0), array), array) if small.any() else array
    return found


def _lost(machine: Machine, op: Any, result: Array, type: Number, fused: tuple[Array, ...] | None) -> Array | None:
    """The sign of what rounding has lost of a result; None for instructions that do not round."""
    if fused is not None:
        return rounding.lost_by_fused(fused, result, type) if fused else None
    mnemonic = op.spec.mnemonic
    if isinstance(op, _CONVERSIONS):
        source = _type(op.a)
        array = machine.array(op.a)
        if source is None or source.family == "complex" or source == type:
            return None
        if isinstance(op, UnsignedToFloat):
            array = array.view(f"u{array.itemsize}")
        return rounding.lost_by_conversion(array, result, source, type)
    if isinstance(op, FusedMultiplyAdd):
        return rounding.lost_by_fused([machine.array(value) for value in (op.a, op.b, op.c)], result, type)
    if isinstance(op, CooperativeMatrixScale):
        number, matrix = Products.factors(machine, op)
        return rounding.lost_by_product(number, matrix, result, type)
    if mnemonic == "mul":
        return rounding.lost_by_product(machine.array(op.a), machine.array(op.b), result, type)
    if mnemonic in ("add", "sub"):
        b = machine.array(op.b)
        return rounding.lost_by_sum(machine.array(op.a), b if mnemonic == "add" else np.negative(b), result, type)
    return None
