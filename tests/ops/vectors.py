"""Run vectors of the corpus, made into launches: arguments as arrays of the parameters' types, and expected results.

Arguments are Python expressions over `NAMES`. A list is an array `x[i][j]`, mode 0 first, in the layout that the
parameter's type asks for; a scalar given for a memref is an array without axes; a list given for a group is a list of
arrays. A tensor map is `tiled(x, box=[...])` or `im2col(x, ...)` of an array `x[i][j]` whose last axis is dimension 0,
with rows padded to 16 bytes; it is compared by that array. Equal means the same value and, for real zeros that are
written with a minus, the same sign; NaN equals NaN.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import girih
from girih.addressing import BoundTensorMap, TensorMap
from girih.addressing.tensor_map.element_type import FROM_NUMPY
from girih.arguments.memory import strided
from girih.interpreter.machine.numbers import dtype
from girih.ir.core import Function
from girih.ir.types import BF16, F16, F32, F64, PARTS, GroupType, MemRef, Number, TensorMapType, Type

Array = NDArray[Any]

ULP = 4
"""How far `~` lets a result be from what is expected, in units in the last place."""

PRECISIONS = {BF16: (8, -126), F16: (11, -14), F32: (24, -126), F64: (53, -1022)}
"""The bits of the significand and the smallest normal exponent of the floating types (IEEE 754, bfloat16)."""


@dataclass(frozen=True, slots=True)
class Unwritten:
    """What `uninitialized(x)` stands for until the type of the array is known."""

    held: object


@dataclass(frozen=True, slots=True)
class Members:
    """What `Group(arrays, offset=n)` stands for."""

    held: tuple[object, ...]
    offset: int | None


@dataclass(frozen=True, slots=True)
class Strided:
    """What `array(x, strides=[...])` stands for: an array with strides of its own, in elements."""

    held: object
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mapped:
    """What `tiled(x, ...)` and `im2col(x, ...)` stand for until the type of the elements is known."""

    held: object
    make: Callable[..., TensorMap]
    options: Mapping[str, Any]


def _tiled(held: object, box: list[int], **options: Any) -> Mapped:
    return Mapped(held, TensorMap.tiled, {"box_dim": box, **options})


def _im2col(held: object, **options: Any) -> Mapped:
    return Mapped(held, TensorMap.im2col, options)


def _zeros(*shape: int) -> Array:
    return np.zeros(shape)


def _full(shape: int | tuple[int, ...], value: object) -> Array:
    found = np.empty(shape, dtype=object)
    found.fill(value)
    return found


def _array(held: object, strides: tuple[int, ...] | None = None) -> object:
    return held if strides is None else Strided(held, tuple(strides))


def _group(arrays: list[object], offset: int | None = None) -> Members:
    return Members(tuple(arrays), offset)


NAMES: dict[str, Any] = {
    "zeros": _zeros,
    "full": _full,
    "arange": np.arange,
    "array": _array,
    "Group": _group,
    "tiled": _tiled,
    "im2col": _im2col,
    "uninitialized": Unwritten,
    "inf": math.inf,
    "nan": math.nan,
    "complex": complex,
    "range": range,
}
"""What a vector may name, besides None, True and False."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The right side of a vector: findings, or arrays and how near they must be."""

    findings: frozenset[str]
    arrays: Mapping[str, object]
    near: bool
    ulp: float = ULP
    relative: float | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """A vector: what is run, with what, and what comes of it."""

    function: str
    grid: tuple[int, ...]
    arguments: Mapping[str, object]
    expected: Expected


_HEAD = re.compile(r"(\w+)\s*(?:\[([^\]]*)\])?\s*\(")


@cache
def parse_vector(text: str) -> Launch:
    """Read a vector such as `f[4](A=[1.0]) == A=[2.0]`. Raises ValueError where it is not written like that."""
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(f"expected `function[grid](arguments)`: {text}")
    close = _closing(text, head.end() - 1)
    arguments = _keywords(text[head.end() : close])
    grid = tuple(int(size) for size in (head[2] or "1").split(","))
    relation, _, right = text[close + 1 :].strip().partition(" ")
    return Launch(head[1], grid, arguments, _expected(relation, right.strip(), text))


def _expected(relation: str, right: str, text: str) -> Expected:
    if relation == "finds":
        return Expected(frozenset(code.strip() for code in right.split(",")), {}, near=False)
    if relation not in ("==", "~"):
        raise ValueError(f"expected `==`, `~` or `finds` behind the arguments: {text}")
    arrays = _keywords(right)
    options: dict[str, Any] = {name: arrays.pop(name) for name in ("ulp", "relative") if name in arrays}
    if not arrays or (options and relation == "=="):
        raise ValueError(f"expected arrays behind `{relation}`: {text}")
    return Expected(frozenset(), arrays, relation == "~", **options)


def _closing(text: str, opening: int) -> int:
    depth = 0
    for position in range(opening, len(text)):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return position
    raise ValueError(f"a bracket is not closed: {text}")


def _keywords(text: str) -> dict[str, Any]:
    """The values of `a=1, b=[2]` by name."""
    call = ast.parse(f"_({text})", mode="eval").body
    if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
        raise ValueError(f"expected `name=value, ...`: {text}")
    scope = {"__builtins__": {}, **NAMES}
    values = ((k.arg, compile(ast.Expression(k.value), "<vector>", "eval")) for k in call.keywords)
    return {name: eval(code, scope) for name, code in values if name is not None}


# --- arguments ------------------------------------------------------------------------------


def bind(function: Function, given: Mapping[str, object]) -> list[object]:
    """The positional arguments of a launch. Raises ValueError where a parameter is missing or unknown."""
    names = [p.name for p in function.parameters]
    if sorted(names) != sorted(given):
        raise ValueError(f"@{function.name} has the parameters {', '.join(names)}; given are {', '.join(given)}")
    return [argument(p.type, given[p.name]) for p in function.parameters]


def argument(type: Type, value: object) -> object:
    """An argument for a parameter of a type."""
    if isinstance(value, Unwritten):
        return girih.uninitialized(argument(type, value.held))
    if value is None:
        return None
    if isinstance(type, MemRef):
        return laid_out(type, value)
    if isinstance(type, TensorMapType) and isinstance(value, Mapped):
        return mapped(type, value)
    if isinstance(type, GroupType):
        members = value if isinstance(value, Members) else Members(tuple(_listed(value)), None)
        arrays = [argument(type.memref, member) for member in members.held]
        return arrays if members.offset is None else girih.Group(arrays, offset=members.offset)
    return value


def mapped(type: TensorMapType, value: Mapped) -> BoundTensorMap:
    """The array of a tensor map in C order, with rows padded to 16 bytes, and the map of it."""
    source = plain(type.element, value.held)
    pitch = -(-source.shape[-1] * source.itemsize // 16) * 16
    rows = np.zeros((*source.shape[:-1], pitch // source.itemsize), source.dtype)
    array = rows[..., : source.shape[-1]]
    array[...] = source
    options = {"dtype": FROM_NUMPY[source.dtype.name], "global_strides": rows.strides[-2::-1], **value.options}
    return value.make(global_dim=array.shape[::-1], **options).bind(array)


def _listed(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError(f"a group takes a list, not {value!r}")
    return value


def laid_out(type: MemRef, value: object) -> Array:
    """An array of the type's elements, with the strides that the type asks for; `?` is as if packed."""
    held = value.held if isinstance(value, Strided) else value
    source = plain(type.element, held)
    strides = list(value.strides) if isinstance(value, Strided) else _strides(type, source.shape)
    extent = 1 + sum(max(n - 1, 0) * s for n, s in zip(source.shape, strides, strict=True))
    memory = np.zeros(extent, source.dtype)
    bytes_per_mode = [s * source.itemsize for s in strides]
    found = strided(memory, source.shape, bytes_per_mode)
    found[...] = source
    return found


def _strides(type: MemRef, shape: tuple[int, ...]) -> list[int]:
    found: list[int] = []
    packed = 1
    for mode, size in enumerate(shape):
        fixed = type.strides[mode] if mode < len(type.strides) else None
        found.append(packed if fixed is None else fixed)
        packed = found[-1] * size
    return found


def plain(element: Number, value: object) -> Array:
    """Numbers as an array of an element type, without regard to layout."""
    kind = dtype(element)
    if element.family == "integer":
        return np.array(value, dtype=object).astype(kind)
    if element.family == "complex":
        return np.array(value, dtype=np.complex128).astype(kind)
    return np.array(value, dtype=np.float64).astype(kind)


# --- results --------------------------------------------------------------------------------


def same_contents(before: object, after: object) -> bool:
    """Whether an argument holds the same bytes as a copy of it."""
    if isinstance(before, list):
        return isinstance(after, list) and all(map(same_contents, before, after))
    if isinstance(after, BoundTensorMap):
        return same_contents(before, after.array)
    if isinstance(before, np.ndarray):
        return isinstance(after, np.ndarray) and before.tobytes() == after.tobytes()
    return True


def copied(value: object) -> object:
    """A copy of an argument for `same_contents`."""
    unmarked = unmark(value)
    if isinstance(unmarked, BoundTensorMap):
        return unmarked.array.copy()
    if isinstance(unmarked, list):
        return [copied(member) for member in unmarked]
    return unmarked.copy() if isinstance(unmarked, np.ndarray) else unmarked


def unmark(value: object) -> object:
    """The arrays of an argument without what marks them."""
    if isinstance(value, girih.Uninitialized):
        return unmark(value.array)
    return list(value.arrays) if isinstance(value, girih.Group) else value


def difference(type: Type, found: object, wanted: object, expected: Expected) -> str | None:
    """How an argument differs from what a vector expects of it; None where it does not."""
    if isinstance(type, GroupType):
        pairs = zip(_listed(found), _listed(wanted), strict=True)
        told = [difference(type.memref, f, w, expected) for f, w in pairs]
        return next((t for t in told if t is not None), None)
    if isinstance(type, TensorMapType) and isinstance(found, BoundTensorMap):
        found = found.array
    elif not isinstance(type, MemRef):
        raise ValueError(f"a scalar of type {type} has no result")
    if not isinstance(found, np.ndarray):
        raise ValueError(f"there is no array to compare with {wanted!r}")
    exact = plain(type.element, wanted)
    if exact.shape != found.shape:
        return f"the shape is {found.shape}, expected {exact.shape}"
    right = _near(type.element, found, wanted, expected) if expected.near else _equal(found, exact)
    return None if right.all() else f"found {found.tolist()}\nexpected {wanted}"


def _equal(found: Array, wanted: Array) -> Array:
    if found.dtype.kind == "c":
        # No signs of zeros here: Python writes `-3j` for a number whose real part is -0.0.
        return _same(found.real, wanted.real) & _same(found.imag, wanted.imag)
    right = _same(found, wanted)
    if found.dtype.kind not in "iu":
        # A zero that is written with a minus has one; one that is written without may have either.
        minus = np.signbit(wanted.astype(np.float64)) & (wanted == 0)
        right &= ~minus | np.signbit(found.astype(np.float64))
    return right


def _same(found: Array, wanted: Array) -> Array:
    same: Array = (found == wanted) | ((found != found) & (wanted != wanted))
    return same


def _near(element: Number, found: Array, wanted: object, expected: Expected) -> Array:
    """Whether each part of a result is near enough; for complex numbers the modulus says how near that is."""
    exact = np.array(wanted, dtype=np.complex128)
    got = found.astype(np.complex128)
    size = np.abs(exact)
    allowed = size * expected.relative if expected.relative is not None else expected.ulp * _spacing(element, size)
    right = np.full(found.shape, True)
    for f, w in ((got.real, exact.real), (got.imag, exact.imag)):
        with np.errstate(invalid="ignore"):
            right &= _same(f, w) | (np.isfinite(w) & (np.abs(f - w) <= allowed))
    return right


def _spacing(element: Number, size: Array) -> Array:
    """The unit in the last place of numbers of a size."""
    bits, least = PRECISIONS[PARTS.get(element, element)]
    exponent = np.maximum(np.frexp(size)[1] - 1, least)
    units: Array = np.ldexp(1.0, exponent - (bits - 1))
    return units
