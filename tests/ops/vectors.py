"""Run vectors of the corpus, made into launches: arguments as arrays of the parameters' types, and expected results.

Arguments are Python expressions over `NAMES`. A list is an array `x[i][j]`, mode 0 first, in the layout that the
parameter's type asks for; a scalar given for a memref is an array without axes; a list given for a group is a list of
arrays. A tensor map is `tiled(x, box=[...])` or `im2col(x, ...)` of an array `x[i][j]` whose last axis is dimension 0,
with rows padded to 16 bytes; it is compared by that array. `array(x, ...)` is an array with strides, an order or an
alignment of its own, `read_only(x)` one that may not be written, and `view("A", (4, 4), offset=2)` another view of the
memory of argument `A`. The arrays of a kernel of order C have its axes: mode 0 is the last one. Equal means the same
value and, for real zeros that are written with a minus, the same sign; NaN equals NaN.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Mapping, Sequence
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
class ReadOnly:
    """What `read_only(x)` stands for: an array that may not be written."""

    held: object


@dataclass(frozen=True, slots=True)
class Members:
    """What `Group(arrays, offset=n)` stands for."""

    held: tuple[object, ...]
    offset: int | None


@dataclass(frozen=True, slots=True)
class Strided:
    """What `array(x, ...)` stands for: an array whose place in memory is said.

    `strides` and `offset` count elements; without strides the array is packed in an `order`, or, without that, as the
    type asks. The memory begins at a multiple of 128 bytes, the array `offset` elements behind that.
    """

    held: object
    strides: tuple[int, ...] | None
    order: str | None
    offset: int


@dataclass(frozen=True, slots=True)
class Shared:
    """What `view(name, shape, ...)` stands for: a view of the memory of another argument, an array or a group's member.

    `strides` and `offset` count elements of that array, from its first one; without strides the view is packed.
    """

    name: str
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    offset: int
    member: int | None


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


def _random(*shape: int, below: int | None = None, seed: int = 0) -> Array:
    """Numbers between -1 and 1, or integers from 0 that are below a number."""
    generator = np.random.default_rng(seed)
    return generator.uniform(-1, 1, shape) if below is None else generator.integers(below, size=shape)


def _array(held: object, strides: Sequence[int] | None = None, order: str | None = None, offset: int = 0) -> Strided:
    return Strided(held, None if strides is None else tuple(strides), order, offset)


def _view(
    name: str, shape: Sequence[int], strides: Sequence[int] | None = None, offset: int = 0, member: int | None = None
) -> Shared:
    return Shared(name, tuple(shape), None if strides is None else tuple(strides), offset, member)


def _group(arrays: list[object], offset: int | None = None) -> Members:
    return Members(tuple(arrays), offset)


NAMES: dict[str, Any] = {
    "zeros": _zeros,
    "full": _full,
    "arange": np.arange,
    "random": _random,
    "array": _array,
    "view": _view,
    "Group": _group,
    "tiled": _tiled,
    "im2col": _im2col,
    "uninitialized": Unwritten,
    "read_only": ReadOnly,
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
    """Read a vector such as `f[4](A=[1.0]) == A=[2.0]`, whose right side may be left out.

    Raises ValueError where it is not written like that.
    """
    head = _HEAD.match(text)
    if head is None:
        raise ValueError(f"expected `function[grid](arguments)`: {text}")
    close = _closing(text, head.end() - 1)
    arguments = _keywords(text[head.end() : close])
    grid = tuple(int(size) for size in (head[2] or "1").split(","))
    relation, _, right = text[close + 1 :].strip().partition(" ")
    return Launch(head[1], grid, arguments, _expected(relation, right.strip(), text))


def _expected(relation: str, right: str, text: str) -> Expected:
    if not relation:
        return Expected(frozenset(), {}, near=False)
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
    order = function.order
    own = {p.name: argument(p.type, given[p.name], order) for p in function.parameters if not _shares(given[p.name])}
    return [own[p.name] if p.name in own else _sharing(given[p.name], own) for p in function.parameters]


def argument(type: Type, value: object, order: str = "F") -> object:
    """An argument for a parameter of a type, of a function of an order."""
    if isinstance(value, Unwritten):
        return girih.uninitialized(argument(type, value.held, order))
    if isinstance(value, ReadOnly):
        array = argument(type, value.held, order)
        assert isinstance(array, np.ndarray)
        array.flags.writeable = False
        return array
    if value is None:
        return None
    if isinstance(type, MemRef):
        return laid_out(type, value, order)
    if isinstance(type, TensorMapType) and isinstance(value, Mapped):
        return mapped(type, value)
    if isinstance(type, GroupType):
        members = value if isinstance(value, Members) else Members(tuple(_listed(value)), None)
        arrays = [argument(type.memref, member, order) for member in members.held]
        return arrays if members.offset is None else girih.Group(arrays, offset=members.offset)
    return value


def _shares(value: object) -> bool:
    """Whether an argument is a view of another one, or a list of such views."""
    return isinstance(value, Shared) or (isinstance(value, list) and any(map(_shares, value)))


def _sharing(value: object, own: Mapping[str, object]) -> object:
    """The views of arguments that have memory of their own."""
    if isinstance(value, list):
        return [_sharing(member, own) for member in value]
    if not isinstance(value, Shared):
        raise ValueError(f"a group has views of other arguments only, or none; got {value!r}")
    array = unmark(own[value.name])
    array = array if value.member is None else _listed(array)[value.member]
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{value.name} is not an array: {array!r}")
    strides = _packed(value.shape) if value.strides is None else value.strides
    memory = strided(array, (value.offset + _extent(value.shape, strides),), (array.itemsize,))
    return strided(memory[value.offset :], value.shape, [s * array.itemsize for s in strides])


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


def laid_out(type: MemRef, value: object, order: str = "F") -> Array:
    """An array of the type's elements, with the strides that the type asks for; `?` is as if packed.

    In order C the axes of the value are those of the array, whose last one is mode 0.
    """
    place = value if isinstance(value, Strided) else Strided(value, None, None, 0)
    source = plain(type.element, place.held)
    shape = source.shape
    if place.strides is not None:
        strides = list(place.strides)
    elif place.order is not None:
        strides = _packed(shape) if place.order == "F" else _packed(shape[::-1])[::-1]
    else:
        strides = _strides(type, shape) if order == "F" else _strides(type, shape[::-1])[::-1]
    memory = _aligned(place.offset + _extent(shape, strides), source.dtype)[place.offset :]
    found = strided(memory, shape, [s * source.itemsize for s in strides])
    found[...] = source
    return found


def _aligned(size: int, kind: np.dtype[Any]) -> Array:
    """Zeros whose memory begins at a multiple of 128 bytes."""
    memory = np.zeros(size * kind.itemsize + 128, np.uint8)
    first = -memory.ctypes.data % 128
    return memory[first : first + size * kind.itemsize].view(kind)


def _extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """The number of elements from the first to the last one of an array."""
    return 1 + sum(max(n - 1, 0) * s for n, s in zip(shape, strides, strict=True))


def _packed(shape: Sequence[int]) -> list[int]:
    """The strides of a packed array in order F."""
    return [math.prod(shape[:mode]) for mode in range(len(shape))]


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


def assert_results(function: Function, arguments: Sequence[object], launch: Launch) -> None:
    """Hold the arguments of a launch, as `bind` gave them, against what its vector expects. Raises AssertionError."""
    held = {p.name: (p.type, unmark(argument)) for p, argument in zip(function.parameters, arguments, strict=True)}
    for name, wanted in launch.expected.arrays.items():
        told = difference(*held[name], wanted, launch.expected)
        assert told is None, f"@{function.name}: {name}: {told}"


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
