"""What a kernel permits an implementation to change, done in the interpreter where the choices of a launch say so.

Guarantee: without a seed nothing is changed; with one, each execution of an instruction makes use of a permission or
not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from girih.interpreter.machine.machine import Machine
from girih.interpreter.machine.values import Array
from girih.ir.types import F32, Number, promote

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
