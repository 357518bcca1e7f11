"""Changes of one field of an instruction: another type, value, number, modifier, list, or region."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from girih.ir.core import Dictionary, Entry, Op, Slice, Value
from girih.ir.define import (
    Annotation,
    Attributes,
    Binding,
    Body,
    Integer,
    Literal,
    Modifier,
    Operand,
    Result,
    Role,
    Slices,
)
from girih.ir.types import (
    BF16,
    BOOL,
    C32,
    C64,
    F8E4M3,
    F8E5M2,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    INDEX,
    AddressSpace,
    Boolean,
    ClampMode,
    CoopMatrix,
    Extent,
    GroupType,
    MatrixScope,
    MemRef,
    Number,
    TensorLayoutType,
    TensorViewType,
    Type,
    Use,
    element_type,
    packed_strides,
)

Fields = dict[str, Any]

YIELDS = "yields of "
"""In front of the name of a region: what its yield is to be."""

NUMBERS = (I8, I16, I32, I64, INDEX, F8E4M3, F8E5M2, BF16, F16, F32, F64, C32, C64)


@dataclass(frozen=True, slots=True)
class Changed:
    """A new operand or result: a type and, for a constant, its value."""

    type: Type
    constant: Any = None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a region ends: fewer, more or other values; without a yield; with something before or after it."""

    fewer: bool = False
    more: bool = False
    other: bool = False
    always: bool = False
    tangled: bool = False
    after: bool = False
    outside: bool = False

    def types(self, wanted: list[Type]) -> list[Type]:
        """The types that the region yields."""
        if self.fewer:
            return wanted[:-1]
        if self.more:
            return [*wanted, I32]
        return [F32 if t == BOOL else BOOL for t in wanted] if self.other else wanted


_ENDINGS = (
    Ending(fewer=True),
    Ending(fewer=True, always=True),
    Ending(more=True),
    Ending(other=True),
    Ending(tangled=True),
    Ending(after=True, always=True),
    Ending(outside=True),
    Ending(always=True),
)


def changes(cls: type[Op], fields: Fields, constants: dict[Value, Any], source: random.Random) -> Iterator[Fields]:
    """The fields with one of them changed, or with two operands that are the same changed alike."""
    for name, role in cls.spec.roles.items():
        for new in _changed(role, fields[name], constants, source):
            yield {**fields, name: new}
        if isinstance(role, Body) and fields[name] is not None:
            yield from ({**fields, YIELDS + name: ending} for ending in _ENDINGS)
    yield from _together(cls, fields, source)
    yield from _elements(cls, fields)
    if fields.get("block") is not None:
        yield {**fields, "block": None, "block_type": None, "coordinates": (), "body": None}
    if cls.spec.mnemonic == "expand":
        yield from _expansions(fields)


def _together(cls: type[Op], fields: Fields, source: random.Random) -> Iterator[Fields]:
    """All operands and results that have one type get another one."""
    single = [n for n, r in cls.spec.roles.items() if isinstance(r, Operand | Result) and isinstance(fields[n], Value)]
    types = {fields[n].type for n in single}
    for type in types:
        alike = [n for n in single if fields[n].type == type]
        for other in _types(type, source):
            yield {**fields, **{n: Changed(other) for n in alike}}
            if len(alike) > 2:
                yield {**fields, **{n: Changed(other) for n in source.sample(alike, 2)}}
            flags = [n for n, r in cls.spec.roles.items() if isinstance(r, Modifier) and r.default is False]
            if flags and source.random() < 0.2:
                name = source.choice(flags)
                yield {**fields, name: not fields[name], **{n: Changed(other) for n in alike}}


def _elements(cls: type[Op], fields: Fields) -> Iterator[Fields]:
    """All operands and results with one element type get another one."""
    single = [n for n, r in cls.spec.roles.items() if isinstance(r, Operand | Result) and isinstance(fields[n], Value)]
    for old in {element_type(fields[n].type) for n in single} - {None}:
        alike = [n for n in single if element_type(fields[n].type) == old]
        for new in NUMBERS:
            yield {**fields, **{n: Changed(_with_element(fields[n].type, new)) for n in alike}}


def _with_element(type: Type, element: Number) -> Type:
    match type:
        case MemRef():
            return replace(type, element=element)
        case CoopMatrix():
            return replace(type, component=element)
        case _:
            return element


def _expansions(fields: Fields) -> Iterator[Fields]:
    """Other sizes, with the result that they ask for."""
    type, mode = fields["tensor"].type, fields["mode"]
    for sizes in ((type.shape[mode] or 1,), (0, 2), (2, -1), (1, type.shape[mode] or 2), (3, 5)):
        shape = (*type.shape[:mode], *sizes, *type.shape[mode + 1 :])
        strides = (*type.strides[:mode], *(None for _ in sizes), *type.strides[mode + 1 :])
        result = MemRef(type.element, shape, strides, type.space)
        yield {**fields, "sizes": sizes, "result": Changed(result)}


def _changed(role: Role, held: Any, constants: dict[Value, Any], source: random.Random) -> Iterator[Any]:
    match role:
        case Operand(many=True):
            yield from _list(held, lambda one: _operand(one, constants, source), source)
        case Operand() | Result(many=False):
            yield from _operand(held, constants, source) if held is not None else ()
        case Result():
            yield from _list(held, lambda one: _operand(one, constants, source), source)
        case Slices():
            yield from _list(held, lambda one: _slice(one, source), source)
        case Integer(many=True):
            yield from _list(held, lambda one: iter((-1, 0, one + 1, one * 2, 64, 2**40)), source)
        case Integer():
            yield from (-1, 0, 1, 2, 3, 4, 100, held + 1)
        case Modifier():
            yield from (
                value for value in (*role.choices.values(), role.default) if value != held and value is not None
            )
        case Literal():
            yield from (True, 1, 200, 70_000, 1.5, 1e300, 1j, complex(1e300, 0.0))
        case Binding(many=True):
            yield from (held[:-1], (*held, None))
        case _:
            yield from _written(role, held, source)


def _written(role: Role, held: Any, source: random.Random) -> Iterator[Any]:
    """Other attributes, types and regions."""
    match role:
        case Attributes():
            yield from map(Dictionary, _ENTRIES)
        case Annotation() if held is not None:
            yield from _types(held, source)
        case Body(optional=True):
            yield from (None, held or "region")


_ENTRIES = tuple(
    (entry,)
    for entry in (
        Entry("alignment", 0),
        Entry("alignment", -8),
        Entry("alignment", 3),
        Entry("alignment", 16),
        Entry("alignment", 256),
        Entry("alignment", True),
        Entry("alignment", (4,)),
        Entry("unroll", True),
        Entry("unroll", (1,)),
        Entry("unroll", "x"),
    )
)


def _list(held: Sequence[Any], alternatives: Any, source: random.Random) -> Iterator[tuple[Any, ...]]:
    """One entry less, one more, or one changed."""
    items = tuple(held)
    if items:
        yield items[:-1]
        yield (*items, items[0])
    else:
        yield (Changed(I32),)
    for k, item in enumerate(items):
        for other in alternatives(item):
            yield (*items[:k], other, *items[k + 1 :])


def _operand(held: Any, constants: dict[Value, Any], source: random.Random) -> Iterator[Any]:
    if isinstance(held, int):
        yield from (-1, held + 1, held * 2, 0, 1000, 2**32, Changed(I32), Changed(INDEX))
        return
    type = held.type
    yield Changed(type)
    if isinstance(type, Number):
        yield from (Changed(type, value) for value in _CONSTANTS[type.family])
    yield from (Changed(other) for other in _types(type, source))


_CONSTANTS: dict[str, tuple[Any, ...]] = {
    "integer": (0, 1, 2, -1), "floating": (0.0, 1.0, 2.0), "complex": (0j, 1 + 0j, 2j),
}  # fmt: skip


def _slice(held: Slice, source: random.Random) -> Iterator[Slice]:
    yield from (_with(held, size=size) for size in (None, 0, 1, 2, 3, -1, 1000, Changed(INDEX), Changed(I32)))
    yield from (_with(held, offset=offset) for offset in (0, 1, -1, 1000, 2**32, Changed(INDEX), Changed(F32)))


def _with(held: Slice, **fields: Any) -> Slice:
    return replace(held, **fields)


# --- other types -----------------------------------------------------------------------------


def _types(type: Type, source: random.Random) -> Iterator[Type]:
    """Types that differ from a type in one thing, and a few of another kind."""
    yield from source.sample((BOOL, F32, I32, INDEX, C64), 2)
    match type:
        case Number() | Boolean():
            yield from (t for t in (*NUMBERS, BOOL) if t != type)
        case MemRef():
            yield from _memrefs(type)
        case GroupType(memref=memref, size=size, offset=offset):
            yield from (GroupType(other, size, offset) for other in source.sample(list(_memrefs(memref)), 3))
            yield from (GroupType(memref, n, offset) for n in (None, -1, 5))
            yield from (GroupType(memref, size, n) for n in (None, -1, 2))
        case CoopMatrix():
            yield from (replace(type, component=t) for t in NUMBERS)
            yield from (replace(type, use=use) for use in Use)
            yield from (replace(type, rows=n) for n in (0, 1, type.rows + 1, type.rows * 2, 64, 96))
            yield from (replace(type, columns=n) for n in (0, -1, type.columns + 1, type.columns * 2))
            yield from (replace(type, scope=scope) for scope in MatrixScope)
        case TensorLayoutType():
            yield from (replace(type, dim=n) for n in (0, type.dim + 1, 6))
            yield from (replace(type, clamp_mode=mode) for mode in ClampMode)
        case TensorViewType(dim=dim, permutation=order):
            yield from (TensorViewType(n, type.has_dimensions, tuple(range(n))) for n in (0, dim + 1, 6))
            yield replace(type, has_dimensions=not type.has_dimensions)
            yield from (replace(type, permutation=other) for other in (order[::-1], order[:-1], (0,) * dim))
    yield from (TensorLayoutType(2), TensorViewType(2, True, (1, 0)))
    if not isinstance(type, MemRef):
        yield from (MemRef.packed(F32, (4,)), GroupType(MemRef.packed(F32, (4,)), 2), CoopMatrix(F32, 64, 4, Use.ACC))


def _memrefs(type: MemRef) -> Iterator[MemRef]:
    """Memrefs that differ in element, order, a mode, a stride, or the address space."""
    yield from (replace(type, element=t) for t in NUMBERS)
    other = AddressSpace.LOCAL if type.space is AddressSpace.GLOBAL else AddressSpace.GLOBAL
    yield replace(type, space=other)
    yield MemRef.packed(type.element, type.shape, type.space)
    yield MemRef.packed(type.element, (*type.shape, 2), type.space)
    yield MemRef.packed(type.element, type.shape[::-1], type.space)
    if type.shape:
        yield MemRef.packed(type.element, type.shape[:-1], type.space)
        yield replace(type, strides=type.strides[:-1])
    for k, n in enumerate(type.shape):
        for size in _extents(n):
            shape = (*type.shape[:k], size, *type.shape[k + 1 :])
            yield MemRef.packed(type.element, shape, type.space)
            yield replace(type, shape=shape)
        for stride in _extents(type.strides[k] if k < len(type.strides) else 1):
            yield replace(type, strides=(*type.strides[:k], stride, *type.strides[k + 1 :]))
    yield replace(type, strides=tuple(None for _ in packed_strides(type.shape)))


def _extents(n: Extent) -> tuple[Extent, ...]:
    return (None, 0, -1, 100_000, 3 if n is None else n + 1)
