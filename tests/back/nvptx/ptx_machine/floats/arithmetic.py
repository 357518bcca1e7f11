"""Arithmetic of floats on their bits: IEEE 754 with every way of rounding, and the NaN of PTX.

PTX ISA "Floating Point Instructions": the NaN of results is one, but in f64, whose NaN are NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from tests.back.nvptx.ptx_machine.floats.exact import fma, odd_fma, odd_quotient, odd_root, odd_sum
from tests.back.nvptx.ptx_machine.floats.formats import (
    DOWN,
    FORMATS,
    NEAREST,
    UP,
    ZERO,
    Format,
    canonical,
    decoded,
    encoded,
)
from tests.back.nvptx.ptx_machine.types import UNSIGNED, Array

Operation = Callable[..., Array]

_QUICK: dict[str, Operation] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "sqrt": np.sqrt,
    "rcp": lambda a: np.divide(a.dtype.type(1), a),
}
"""What NumPy rounds once, to nearest, in f32 and f64."""

_ODD: dict[str, Operation] = {
    "add": odd_sum,
    "sub": lambda a, b: odd_sum(a, -b),
    "mul": np.multiply,
    "div": odd_quotient,
    "sqrt": odd_root,
    "rcp": lambda a: odd_quotient(np.ones_like(a), a),
    "fma": odd_fma,
}
"""What is computed in `float64` for narrower formats: exact, or rounded to odd."""

_EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "rcp": lambda a: 1 / a,
    "fma": lambda a, b, c: a * b + c,
}


def operate(name: str, form: Format, rounding: str, operands: Sequence[Array]) -> Array:
    """The bits of the result of an operation on bits."""
    if form.name == "f32" and rounding == NEAREST and name in _QUICK:
        floats = [one.view(np.float32) for one in operands]
        return canonical(_QUICK[name](*floats)).view(np.uint32)
    if form.name == "f64":
        wide = [one.view(np.float64) for one in operands]
        if rounding != NEAREST:
            return _directed(name, rounding, wide).view(np.uint64)
        return (fma(*wide) if name == "fma" else _QUICK[name](*wide)).view(np.uint64)
    given = [decoded(one, form) for one in operands]
    found = _ODD[name](*given)
    if rounding == DOWN and name in ("add", "sub", "fma"):
        found = _below_zero(name, given, found)
    return encoded(found, form, rounding)


def _below_zero(name: str, given: Sequence[Array], found: Array) -> Array:
    """Sums that are exactly 0 have a minus where they are rounded down, but for those of two positive zeros."""
    first, second = (given[0] * given[1], given[2]) if name == "fma" else (given[0], given[1])
    second = -second if name == "sub" else second
    return np.where((found == 0) & (np.signbit(first) | np.signbit(second)), -0.0, found)


def _directed(name: str, rounding: str, operands: Sequence[Array]) -> Array:
    """An operation of `float64` that is not rounded to nearest, one element after the other."""
    operands = np.broadcast_arrays(*operands)
    near = fma(*operands) if name == "fma" else _QUICK[name](*operands)
    found = np.array(near)
    for place in range(len(found)):
        values = [float(one[place]) for one in operands]
        if all(map(np.isfinite, values)):
            found[place] = _one_directed(name, rounding, values, float(near[place]))
    return found


def _one_directed(name: str, rounding: str, values: list[float], near: float) -> float:
    if name == "sqrt":
        if values[0] <= 0:
            return near
        error = Fraction(values[0]) - Fraction(near) ** 2
    else:
        if name in ("div", "rcp") and values[-1] == 0:
            return near
        exact = _EXACT[name](*map(Fraction, values))
        if exact == 0:
            negative = (
                rounding == DOWN and name in ("add", "sub", "fma") and not (near == 0 and not _signs(name, values))
            )
            return -0.0 if negative or np.signbit(near) else 0.0
        if np.isinf(near):
            most = float(np.finfo(np.float64).max)
            error = Fraction(-1) if near > 0 else Fraction(1)
            inward = rounding == ZERO or (rounding == DOWN) == (near > 0)
            return (most if near > 0 else -most) if inward else near
        error = exact - Fraction(near)
    below = error < 0
    toward_zero = rounding == ZERO
    down = rounding == DOWN or (toward_zero and near > 0)
    up = rounding == UP or (toward_zero and near < 0)
    if error and ((down and below) or (up and not below)):
        return float(np.nextafter(near, -np.inf if down else np.inf))
    return near


def _signs(name: str, values: list[float]) -> bool:
    """Whether terms of a sum that is 0 have different signs, so that it is rounded down to -0."""
    if name == "fma":
        product = bool(np.signbit(values[0])) != bool(np.signbit(values[1]))
        return product != bool(np.signbit(values[2]))
    second = bool(np.signbit(values[1]))
    return bool(np.signbit(values[0])) != (second if name == "add" else not second)


def least_or_most(name: str, form: Format, a: Array, b: Array, *, keeps_nan: bool) -> Array:
    """The smaller or the larger number on bits: a NaN only of two, or of one with `keeps_nan`; -0 is less than 0."""
    sign = UNSIGNED[form.bits].type(1 << form.bits - 1)
    a, b = np.broadcast_arrays(a, b)
    infinity = form.infinity
    assert infinity is not None
    a_nan, b_nan = (a & ~sign) > infinity, (b & ~sign) > infinity
    # Bits in an order of integers: those of negative numbers turned over.
    ordered = [np.where(one & sign, ~one, one | sign) for one in (a, b)]
    first = ordered[0] < ordered[1] if name == "min" else ordered[0] > ordered[1]
    found = np.where(first, a, b)
    found = np.where(a_nan, b, np.where(b_nan, a, found))
    nan = a_nan | b_nan if keeps_nan else a_nan & b_nan
    return np.where(nan, found.dtype.type(_nan(form)), found)


def _nan(form: Format) -> int:
    return FORMATS[form.name].nan if form.bits < 64 else 0x7FF8000000000000
