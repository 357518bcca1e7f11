"""Results that are rounded to a neighbour other than the nearest, or within a bound.

What rounding has lost is known by its sign, which says between which neighbours the exact result lies.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from girih.interpreter.machine import numbers
from girih.interpreter.machine.choices import Choices
from girih.interpreter.machine.functions import fused_multiply_add
from girih.interpreter.machine.latitudes import EACH
from girih.interpreter.machine.values import Array
from girih.ir.floats import FORMATS
from girih.ir.types import EIGHT_BIT_FLOATS, F64, Number


def wide(array: Array, type: Number) -> Array:
    """The numbers of a floating type in f64."""
    return numbers.cast(array, type, F64)


def _sign_of_rest(total: Array, lost: Array, rounded: Array) -> Array:
    """The sign of total + lost - rounded, where `total` is the f64 next to total + lost."""
    with np.errstate(invalid="ignore"):
        apart = np.sign(total - rounded)
    found: Array = np.where(apart == 0, np.sign(np.nan_to_num(lost)), apart)
    return np.nan_to_num(found)


def lost_by_sum(a: Array, b: Array, rounded: Array, type: Number) -> Array:
    """The sign of what the rounded sum of two numbers lacks."""
    x, y = wide(a, type), wide(b, type)
    total = x + y
    other = total - x
    return _sign_of_rest(total, (x - (total - other)) + (y - other), wide(rounded, type))


def lost_by_product(a: Array, b: Array, rounded: Array, type: Number) -> Array:
    """The sign of what the rounded product of two numbers lacks."""
    if type == F64:
        rest = fused_multiply_add(a, b, np.negative(rounded), F64)
        return np.nan_to_num(np.sign(np.where(np.isfinite(rounded), rest, 0.0)))
    # A narrower type has at most 24 bits, so that f64 has the whole product.
    product = wide(a, type) * wide(b, type)
    return _sign_of_rest(product, np.zeros_like(product), wide(rounded, type))


def lost_by_fused(terms: Sequence[Array], rounded: Array, type: Number) -> Array:
    """The sign of what a b + c, rounded once, lacks; of f64, where it is not known, 0. `terms` are a, b and c."""
    a, b, c = terms
    if type == F64:
        return np.zeros(rounded.shape)
    return lost_by_sum(wide(a, type) * wide(b, type), wide(c, type), wide(rounded, type), F64)


def lost_by_conversion(a: Array, rounded: Array, source: Number, target: Number) -> Array:
    """The sign of what the rounded number lacks of the one that was converted: a float, or an integer."""
    if source.family != "integer":
        return _sign_of_rest(wide(a, source), np.zeros(1), wide(rounded, target))
    total = a.astype(np.float64)
    if a.itemsize < 8:
        return _sign_of_rest(total, np.zeros(1), wide(rounded, target))
    # An f64 as large as 2^63, or 2^64, is more than any integer of the type.
    limit = 2.0 ** (64 if a.dtype.kind == "u" else 63)
    beyond = total >= limit
    back = np.where(beyond, 0.0, total).astype(a.dtype)
    lost = np.where(beyond, -1.0, np.where(a > back, 1.0, np.where(a < back, -1.0, 0.0)))
    return _sign_of_rest(total, lost, wide(rounded, target))


def rounded_otherwise(result: Array, lost: Array, type: Number, way: str, choices: Choices) -> Array:
    """Results rounded to nearest, rounded in another way: `toward_zero`, `down`, `up`, or each as is drawn."""
    if way == "even" or not lost.any():
        return result
    below = np.where(lost < 0, _stepped(result, -1, type), result)
    above = np.where(lost > 0, _stepped(result, 1, type), result)
    match way:
        case "down":
            found = below
        case "up":
            found = above
        case "toward_zero":
            negative = np.where(wide(result, type) == 0, lost < 0, np.signbit(result))
            found = np.where(negative, above, below)
        case _:
            found = np.where(choices.fractions(result.shape) < 0, below, above)
    keeps = (lost == 0) | np.isnan(wide(result, type))
    if type in EIGHT_BIT_FLOATS:
        # Those at the end are saturated, or not, as the instruction says.
        keeps |= np.absolute(wide(result, type)) >= FORMATS[type].largest
    chosen: Array = np.where(keeps, result, found).astype(result.dtype)
    return chosen


def _stepped(array: Array, direction: int, type: Number) -> Array:
    """The next floats up (1) or down (-1)."""
    end = direction * (FORMATS[type].largest if type in EIGHT_BIT_FLOATS else np.inf)
    stepped: Array = np.nextafter(array, array.dtype.type(end))
    return stepped


def within(result: Array, exact: Array, error: Array, type: Number, way: str, choices: Choices) -> Array:
    """Numbers of a type at most `error` from the exact ones: the lowest, the highest, or each as is drawn."""
    if way == "near" or not error.any():
        return result
    share = choices.fractions(result.shape) if way == EACH else np.asarray(-1.0 if way == "low" else 1.0)
    aim = exact + share * error
    found = numbers.cast(np.asarray(aim), F64, type)
    # Rounding may have gone beyond the bound, then the number before is within it.
    off = np.absolute(wide(found, type) - exact) > error
    found = np.where(off, np.nextafter(found, result), found)
    off = np.absolute(wide(found, type) - exact) > error
    chosen: Array = np.where(off | (error == 0), result, found).astype(result.dtype)
    return chosen
