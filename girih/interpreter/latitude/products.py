"""Operations that are computed together with others, or apart (Vulkan "Evaluation of Expressions").

A product may go unrounded into the sum that takes it; a conversion back to a wider type may give the number that was
converted; `fma` of GLSL may round its product. Of what else may be rearranged nothing is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from girih.analysis.contraction import products_in_sums
from girih.interpreter.machine import numbers
from girih.interpreter.machine.functions import fused_multiply_add
from girih.interpreter.machine.machine import Machine
from girih.interpreter.machine.permissions import factors_of
from girih.interpreter.machine.values import Array
from girih.interpreter.tile.coopmatrix import axes_of, matrix_type
from girih.ir.core import Function, NumberLatitude, Op, Region, Value
from girih.ir.types import F64, Number, element_type
from girih.ops.device.floats import FloatCast
from girih.ops.tile.arith import Cast
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd
from girih.ops.tile.math import FusedMultiplyAdd


class Products:
    """The instructions of a function that may be computed with others, or apart."""

    factors = staticmethod(factors_of)

    def __init__(self, function: Function, latitude: NumberLatitude) -> None:
        precise = latitude.precise
        self._terms = {
            op: free
            for op, terms in products_in_sums(function).items()
            if not precise.intersection(op.results)
            and (free := [term for term in terms if not precise.intersection(term[1].results)])
        }
        self._originals = dict(_round_trips(function.body, latitude))
        self._precise = precise

    def execute(self, machine: Machine, op: Op, way: str) -> tuple[Array, ...] | None:
        """Execute an instruction with others, or apart, and set its result; None where it is executed as it is.

        What is given are the factors and the summand of a sum that was rounded once, or nothing.
        """
        if way == "fused" and op in self._terms:
            return self._fused(machine, op)
        if way == "fused" and op in self._originals:
            machine.set(op.results[0], machine.array(self._originals[op]))
            return ()
        if way == "apart" and isinstance(op, FusedMultiplyAdd) and op.result not in self._precise:
            type = element_type(op.a.type)
            assert isinstance(type, Number)
            a, b, c = (machine.array(value) for value in (op.a, op.b, op.c))
            machine.set(op.result, numbers.BINARY["add"](numbers.BINARY["mul"](a, b, type), c, type))
            return ()
        return None

    def _fused(self, machine: Machine, op: Any) -> tuple[Array, ...]:
        """The sum with one of its products unrounded; which of two is drawn."""
        terms = self._terms[op]
        name, product = terms[max(0, machine.choices.use(len(terms)) - 1)]
        x, y = factors_of(machine, product)
        other = machine.array(op.b if name == "a" else op.a)
        if op.spec.mnemonic == "sub":
            x, other = (x, np.negative(other)) if name == "a" else (np.negative(x), other)
        type = element_type(op.result.type)
        assert isinstance(type, Number)
        machine.set(op.result, fused_multiply_add(x, y, other, type))
        return x, y, other


def _round_trips(region: Region, latitude: NumberLatitude) -> list[tuple[Op, Value]]:
    """Conversions back to the type that a number had before it was converted to a narrower one, with that number."""
    found: list[tuple[Op, Value]] = []
    made: dict[Value, Value] = {}
    fixed = latitude.precise | latitude.rounded
    for op in region.ops:
        if isinstance(op, Cast | FloatCast) and op.result not in fixed:
            source, target = element_type(op.a.type), element_type(op.result.type)
            if isinstance(source, Number) and isinstance(target, Number):
                if source.family == target.family == "floating" and target.size < source.size:
                    made[op.result] = op.a
                elif op.a in made and made[op.a].type == op.result.type:
                    found.append((op, made[op.a]))
        for inner in op.regions:
            found += _round_trips(inner, latitude)
    return found


def narrow_products(machine: Machine, op: CooperativeMatrixMulAdd, way: str) -> None:
    """Compute a b + c otherwise than in a wide type: exactly, or rounding each sum, to nearest or towards zero."""
    machine.together(op, axes_of(matrix_type(op.result)))
    types = [matrix_type(value).component for value in (op.a, op.b, op.c)]
    a, b, c = (numbers.cast(machine.array(v), t, F64) for v, t in zip((op.a, op.b, op.c), types, strict=True))
    target = matrix_type(op.result).component
    order = machine.choices.summands(a.shape[-1])
    steps = np.arange(a.shape[-1]) if order is None else order
    if way == "exact":
        machine.set(op.result, numbers.cast(np.matmul(a, b) + c, F64, target))
        return
    total = np.broadcast_to(c, np.broadcast_shapes(c.shape, (*a.shape[:-1], b.shape[-1])))
    for k in steps:
        total = _rounded(total + a[..., k : k + 1] * b[..., k : k + 1, :], target, toward_zero=way == "truncated")
    machine.set(op.result, numbers.cast(total, F64, target))


def _rounded(total: Array, type: Number, *, toward_zero: bool) -> Array:
    """Numbers of f64 in a type's precision, to nearest or towards zero."""
    found = numbers.cast(total, F64, type)
    if toward_zero:
        away = np.absolute(numbers.cast(found, type, F64)) > np.absolute(total)
        found = np.where(away, np.nextafter(found, np.zeros_like(found)), found)
    return numbers.cast(found, type, F64)
