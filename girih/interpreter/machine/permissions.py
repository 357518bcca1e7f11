"""What a kernel permits an implementation to change, done in the interpreter where the choices of a launch say so.

Guarantee: without a seed nothing is changed; with one, each execution of an instruction makes use of a permission or
not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from girih.analysis.contraction import products_in_sums
from girih.interpreter.machine import numbers
from girih.interpreter.machine.functions import fused_multiply_add
from girih.interpreter.machine.machine import Machine
from girih.interpreter.machine.values import Array
from girih.ir.core import Op
from girih.ir.types import F32, PARTS, CoopMatrix, Number, promote
from girih.ops.tile.arith import Binary
from girih.ops.tile.coopmatrix import CooperativeMatrixScale

_DROPPED = 13
"""The bits of a fraction of f32 that tf32 does not have."""


def factors(machine: Machine, arrays: Sequence[Array], types: Sequence[Number]) -> tuple[Array, ...]:
    """The factors of a product of matrices or vectors: of an f32 product in tf32, if that is permitted and chosen.

    A product is of f32 if that is the type to which the types of its factors promote.
    """
    first, *rest = types
    product: Number | None = first
    for type in rest:
        product = promote(product, type) if product is not None else None
    if product != F32 or not machine.makes_use_of("tf32"):
        return tuple(arrays)
    return tuple(in_tf32(a) if t == F32 else a for a, t in zip(arrays, types, strict=True))


def in_tf32(array: Array) -> Array:
    """Numbers of f32 rounded to the 10 bits of fraction of tf32, to nearest even; infinities and NaN stay as they are.

    The exponents of tf32 are those of f32: subnormal numbers keep the bits down to 2^-136, and what is half a step or
    more above the largest tf32 becomes infinite.
    """
    bits = array.view(np.uint32)
    even = (bits >> _DROPPED) & 1
    rounded = (bits + (even + np.uint32((1 << _DROPPED - 1) - 1))) & np.uint32(-1 << _DROPPED & 0xFFFFFFFF)
    result: Array = np.where(np.isfinite(array), rounded, bits).view(np.float32)
    return result


# --- contraction -------------------------------------------------------------------------------


def contracted(machine: Machine, op: Binary, type: Number) -> Array | None:
    """The result of an operation on floating or complex numbers, in which a product is not rounded by itself.

    None where that is not permitted or not chosen, and where no product takes part.
    """
    if "contract" not in machine.permissions:
        return None
    if op.spec.mnemonic == "mul":
        return _product(machine, machine.array(op.a), machine.array(op.b), type)
    terms = products_in_sums(machine.function).get(op, ())
    orders = 2 if type in PARTS else 1
    way = machine.choices.use(len(terms) * orders) if terms else 0
    if way == 0:
        return None
    name, product = terms[(way - 1) // orders]
    x, y = factors_of(machine, product)
    other = machine.array(op.b if name == "a" else op.a)
    if op.spec.mnemonic == "sub":
        x, other = (x, -other) if name == "a" else (-x, other)
    return _added(x, y, other, type, swapped=way % orders == 1)


def scaled_sum(machine: Machine, a: tuple[Array, Array], b: tuple[Array, Array], type: Number) -> Array:
    """The sum of two products of numbers of a type, of which one may go into it unrounded."""
    multiply, add = numbers.BINARY["mul"], numbers.BINARY["add"]
    permitted = "contract" in machine.permissions and type.family != "integer"
    way = machine.choices.use(2) if permitted else 0
    if way == 0:
        return add(multiply(*a, type), multiply(*b, type), type)
    first, second = (a, b) if way == 1 else (b, a)
    return _added(*first, multiply(*second, type), type)


def factors_of(machine: Machine, product: Op) -> tuple[Array, Array]:
    """The two factors of a product of numbers, or of a number and a matrix."""
    if isinstance(product, CooperativeMatrixScale):
        assert isinstance(product.result.type, CoopMatrix)
        axes = 2 if product.result.type.of_work_group else 1
        number, _ = machine.common(machine.array(product.a), axes)
        return number[..., None], machine.array(product.matrix)
    assert isinstance(product, Binary)
    return machine.array(product.a), machine.array(product.b)


def _product(machine: Machine, x: Array, y: Array, type: Number) -> Array | None:
    """A complex product, in whose parts one real product is not rounded by itself; None for others."""
    part = PARTS.get(type)
    way = machine.choices.use(2) if part is not None else 0
    if part is None or way == 0:
        return None
    parts = []
    for pairs in _real_products(x, y):
        rounded, exact = pairs if way == 1 else reversed(pairs)
        parts.append(fused_multiply_add(*exact, np.multiply(*rounded), part))
    return _complex(parts, type)


def _added(x: Array, y: Array, summand: Array, type: Number, *, swapped: bool = False) -> Array:
    """x y + summand; of complex numbers the real products are added one after the other, `swapped` the second first."""
    part = PARTS.get(type)
    if part is None:
        return fused_multiply_add(x, y, summand, type)
    parts = []
    for pairs, total in zip(_real_products(x, y), (summand.real, summand.imag), strict=True):
        for pair in reversed(pairs) if swapped else pairs:
            total = fused_multiply_add(*pair, total, part)
        parts.append(total)
    return _complex(parts, type)


def _real_products(x: Array, y: Array) -> tuple[list[tuple[Array, Array]], list[tuple[Array, Array]]]:
    """The two products whose sum is the real part of x y, and those of the imaginary part."""
    return [(x.real, y.real), (-x.imag, y.imag)], [(x.real, y.imag), (x.imag, y.real)]


def _complex(parts: Sequence[Array], type: Number) -> Array:
    """The complex numbers of a real and an imaginary part."""
    result: Array = np.empty(np.broadcast_shapes(*(part.shape for part in parts)), numbers.dtype(type))
    result.real, result.imag = parts
    return result
