"""Dictionaries as the bytes of a block: members at their offsets, arrays and matrices at their strides (SPIR-V 3.20).

A vector is a sequence of its components, an array a sequence of its elements, a struct a dictionary, and a matrix a
sequence of its rows, whatever its majorness. A 64-bit integer or an address takes a `girih.Buffer` too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from girih.diagnostics import nearest
from girih.lazy_dataclass import dataclass
from girih.rules.row import Undetermined
from girih.runtime.spirv.buffer import Buffer
from girih.runtime.spirv.report import ShaderReport
from girih.spirv.grammar import grammar
from girih.spirv.model.declared.bindings import BlockVariable
from girih.spirv.model.facts import Facts
from girih.spirv.model.memory.layout import MatrixLayout, layouts
from girih.spirv.types import Array, Float, Int, Matrix, Pointer, RuntimeArray, Struct, Type, Vector

Bytes = NDArray[np.uint8]

_ENCODED = {
    "BFloat16KHR": np.dtype(ml_dtypes.bfloat16),
    "Float8E4M3EXT": np.dtype(ml_dtypes.float8_e4m3fn),
    "Float8E5M2EXT": np.dtype(ml_dtypes.float8_e5m2),
}


class _MemberRefused(Exception):
    """A value that its member cannot have: what was expected, what came, and a hint."""

    def __init__(self, path: str, expected: str, found: str, hint: str | None = None) -> None:
        super().__init__(expected)
        self.path, self.expected, self.found, self.hint = path, expected, found, hint


def packed(facts: Facts, block: BlockVariable, values: Mapping[Any, Any], place: str, report: ShaderReport) -> Bytes:
    """The bytes of a block; those between members are 0. What is wrong with the values is reported under `place`."""
    packing = _BlockPacking(facts, place, report)
    memory = np.zeros(packing.size(block.struct, values, block.fixed_bytes), np.uint8)
    packing.struct(block.struct, values, memory, 0, "")
    return memory


@dataclass(slots=True)
class _BlockPacking:
    """The packing of one block."""

    facts: Facts
    place: str
    report: ShaderReport

    def size(self, type: Struct, values: Mapping[Any, Any], fixed: int) -> int:
        """The bytes of a block with as many elements in its runtime array as are given for it."""
        last = type.members[-1] if type.members else None
        if not isinstance(last, RuntimeArray):
            return fixed
        given = values.get(self._names(type)[-1])
        step = self.facts.once(layouts).stride(last) or 0
        return fixed + step * (len(given) if isinstance(given, Sequence | np.ndarray) and np.ndim(given) else 0)

    def _names(self, type: Struct) -> list[str]:
        """The names of members, as keys of dictionaries; those without a name are `member0`, `member1`, ..."""
        known = self.facts.annotations.member_names
        return [known.get((type.id, number)) or f"member{number}" for number in range(len(type.members))]

    def struct(self, type: Struct, values: Any, memory: Bytes, at: int, path: str) -> None:
        """Put a dictionary into memory, from byte `at` on; every member that is wrong is reported."""
        given = _members(values)
        names = self._names(type)
        if given is None:
            self._report(_MemberRefused(path, f"a dictionary of {_listed(names)}", _kind(values)))
            return
        for name in given:
            if name not in names:
                close = nearest(name, names) if isinstance(name, str) else None
                hint = f"did you mean {close!r}?" if close else None
                self._report(
                    _MemberRefused(_joined(path, str(name)), f"one of the members {_listed(names)}", repr(name), hint)
                )
        for member, name in zip(self.facts.once(layouts).members(type), names, strict=True):
            where = _joined(path, name)
            try:
                if name not in given:
                    raise _MemberRefused(where, f"a value, {member.type.words}", "none")
                if member.offset is None:
                    raise _MemberRefused(where, "a member with an Offset", "none", "pass the whole buffer as bytes")
                self._put(member.type, given[name], memory, at + member.offset, member.matrix, where)
            except _MemberRefused as refused:
                self._report(refused)
            except Undetermined:
                self._report(
                    _MemberRefused(where, "a type with a size", member.type.words, "pass the whole buffer as bytes")
                )

    def _report(self, refused: _MemberRefused) -> None:
        where = f"{self.place}: {refused.path}: " if refused.path else f"{self.place}: "
        self.report.add("bind.member", f"{where}expected: {refused.expected}; found: {refused.found}", refused.hint)

    def _put(self, type: Type, value: Any, memory: Bytes, at: int, matrix: MatrixLayout | None, path: str) -> None:
        """Put a value into memory. Raises `_MemberRefused` where its type does not have it."""
        if isinstance(type, Struct):
            self.struct(type, value, memory, at, path)
        elif isinstance(type, Array | RuntimeArray) and isinstance(_innermost(type), Struct):
            elements = _elements(type, value, path)
            step = self.facts.once(layouts).stride(type) or 0
            for number, element in enumerate(elements):
                self._put(type.element, element, memory, at + number * step, matrix, f"{path}[{number}]")
        else:
            shape, steps, scalar = self._axes(type, matrix, path)
            numbers = _numbers(scalar, value, shape, path)
            if numbers.size:
                _view(memory, at, numbers.dtype, numbers.shape, steps)[...] = numbers

    def _axes(
        self, type: Type, matrix: MatrixLayout | None, path: str
    ) -> tuple[tuple[int | None, ...], tuple[int, ...], Type]:
        """The sizes and strides in bytes of the axes of a type of numbers, outermost first, and the type of these."""
        layout = self.facts.once(layouts)
        match type:
            case Array() | RuntimeArray():
                shape, steps, scalar = self._axes(type.element, matrix, path)
                step = layout.stride(type)
                length = type.length if isinstance(type, Array) else None
                if step is None or (isinstance(type, Array) and length is None):
                    raise Undetermined
                return (length, *shape), (step, *steps), scalar
            case Matrix(column=Vector(component=scalar, count=int() as rows)) if matrix is not None:
                along = layout.size(scalar)
                steps = (matrix.stride, along) if matrix.row_major else (along, matrix.stride)
                return (rows, type.count), steps, scalar
            case Vector(count=int() as count):
                return (count,), (layout.size(type.component),), type.component
            case Int() | Float() | Pointer():
                return (), (), type
        raise _MemberRefused(path, "a type of numbers", type.words, "pass the whole buffer as bytes")


def _innermost(type: Type) -> Type:
    while isinstance(type, Array | RuntimeArray):
        type = type.element
    return type


def _members(values: Any) -> Mapping[Any, Any] | None:
    """The members of a dictionary, or of an element of a structured array of NumPy, by name; None for another value."""
    if isinstance(values, Mapping):
        return values
    names = getattr(getattr(values, "dtype", None), "names", None)
    return None if names is None or np.ndim(values) else {name: values[name] for name in names}


def _elements(type: Array | RuntimeArray, value: Any, path: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple | np.ndarray):
        raise _MemberRefused(path, f"a list, {type.words}", _kind(value))
    if isinstance(type, Array) and type.length is not None and len(value) != type.length:
        raise _MemberRefused(path, f"{type.length} elements", str(len(value)))
    return list(value)


def _numbers(type: Type, value: Any, shape: tuple[int | None, ...], path: str) -> NDArray[Any]:
    """A value as an array of a type of numbers and a shape; None in it is any size. Raises `_MemberRefused`."""
    dtype = _dtype(type, path)
    try:
        given = np.asarray(_with_addresses(type, value))
    except (ValueError, TypeError):
        raise _MemberRefused(path, _expected(type, shape), _kind(value)) from None
    if given.dtype == object and dtype.kind in "iu" and all(isinstance(one, int) for one in given.flat):
        _refuse_outside(type, dtype, given, path)
        given = given.astype(dtype)
    fits = given.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, given.shape, strict=True))
    known = (
        given.dtype.kind in ("iu" if dtype.kind in "iu" else "iuf") or _is_small_float(given.dtype) or not given.size
    )
    if not fits or not known:
        found = _kind(value) if not known or not given.ndim else f"an array of shape {given.shape}"
        raise _MemberRefused(path, _expected(type, shape), found)
    if dtype.kind in "iu":
        _refuse_outside(type, dtype, given, path)
    with np.errstate(over="ignore"):
        return given.astype(dtype)


def _refuse_outside(type: Type, dtype: np.dtype[Any], given: NDArray[Any], path: str) -> None:
    if not given.size:
        return
    bounds = np.iinfo(dtype)
    for one in (int(given.min()), int(given.max())):
        if not bounds.min <= one <= bounds.max:
            raise _MemberRefused(path, f"{type.words}, from {bounds.min} to {bounds.max}", str(one))


def _with_addresses(type: Type, value: Any) -> Any:
    """The value with the address in place of each buffer, where the type can hold one."""
    if isinstance(type, Pointer) or (isinstance(type, Int) and type.width == 64):
        if isinstance(value, Buffer):
            return value.address
        if isinstance(value, list | tuple):
            return [_with_addresses(type, one) for one in value]
    return value


def _dtype(type: Type, path: str) -> np.dtype[Any]:
    match type:
        case Pointer():
            return np.dtype(np.uint64)
        case Int():
            return np.dtype(f"{'i' if type.signed else 'u'}{type.width // 8}")
        case Float(encoding=None):
            return np.dtype(f"f{type.width // 8}")
        case Float(encoding=int() as encoding):
            name = grammar().kinds["FPEncoding"].name_of(encoding)
            known: np.dtype[Any] | None = _ENCODED.get(name)
            if known is not None:
                return known
    raise _MemberRefused(path, "numbers of whole bytes", type.words, "pass the whole buffer as bytes")


def _is_small_float(dtype: np.dtype[Any]) -> bool:
    return dtype in _ENCODED.values()


def _expected(type: Type, shape: tuple[int | None, ...]) -> str:
    if not shape:
        return f"one {type.words}"
    sizes = ", ".join("?" if size is None else str(size) for size in shape)
    return f"an array of shape ({sizes}{',' if len(shape) == 1 else ''}), each a {type.words}"


def _view(memory: Bytes, at: int, dtype: np.dtype[Any], shape: tuple[int, ...], steps: tuple[int, ...]) -> NDArray[Any]:
    """Numbers in memory, from byte `at` on, at strides in bytes."""
    view: NDArray[Any] = as_strided(
        np.frombuffer(memory.data, np.uint8, count=dtype.itemsize, offset=at).view(dtype).reshape(()), shape, steps
    )
    return view


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _kind(value: object) -> str:
    """A value in words, as short as it can be."""
    if isinstance(value, int | float | str):
        return repr(value)
    if isinstance(value, np.ndarray):
        return f"a {value.dtype} array of shape {value.shape}"
    return f"a {value.__class__.__name__}"
