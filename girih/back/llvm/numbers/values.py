"""The values of the language as LLVM values.

A scalar is one LLVM value if all lanes share it, otherwise a vector with one element per lane; complex numbers are two
of them, real and imaginary part. In registers `bf16` and `f16` are `float`s that hold a number of the narrow type
exactly, `f8e4m3` and `f8e5m2` are their bits, and `bool` is `i1`.
"""

from __future__ import annotations

from dataclasses import field

from girih.back.llvm.emit.text import Val, constant_vector, integer, lanes, wide
from girih.back.llvm.emit.writer import Writer
from girih.ir.types import (
    BF16,
    BOOL,
    F16,
    F32,
    F64,
    INDEX,
    PARTS,
    AddressSpace,
    Boolean,
    MemRef,
    Number,
    TensorMapType,
    Type,
)
from girih.lazy_dataclass import dataclass

REGISTER: dict[Number | Boolean, str] = {BOOL: "i1", BF16: "float", F16: "float", F32: "float", F64: "double"}


def scalar_type(type: Type) -> Number | Boolean:
    """The type of a scalar value. Raises `TypeError` for any other type."""
    if not isinstance(type, Number | Boolean):
        raise TypeError(f"{type} is no scalar type")
    return type


def register(type: Number | Boolean) -> str:
    """The LLVM type that holds a scalar, or a part of a complex number."""
    found = REGISTER.get(type)
    if found is not None:
        return found
    part = PARTS.get(type) if isinstance(type, Number) else None
    if part is not None:
        return REGISTER[part]
    return f"i{8 * type.size}" if isinstance(type, Number) else "i1"


@dataclass(frozen=True, slots=True)
class Linear:
    """An integer whose value in lane p is base + p * stride; it is `exact` if no lane in use wraps around."""

    base: Val
    stride: int
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Nearly:
    """A linear integer that a vector equals where `holds`, one condition for all lanes: nothing has wrapped around."""

    linear: Linear
    holds: Val


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar: one part, or real and imaginary part. A linear one has no parts; `parts_of` makes them.

    If `below` is given, 0 <= value < below in every active lane. If `nearly` is given, a vector may turn out to be
    linear at run time.
    """

    type: Number | Boolean
    parts: tuple[Val, ...]
    linear: Linear | None = None
    below: Val | None = None
    nearly: Nearly | None = None

    @property
    def uniform(self) -> bool:
        """Whether all lanes share the value."""
        return self.linear is None and lanes(self.parts[0].type) == 1

    @property
    def part(self) -> Val:
        """The only part of a scalar that is not complex."""
        return self.parts[0]


def uniform(type: Number | Boolean, *parts: Val) -> Scalar:
    """The scalar of some LLVM values, one or two parts."""
    return Scalar(type, parts)


def index(held: int | Val) -> Scalar:
    """The scalar of index type for an int or an LLVM value."""
    return Scalar(INDEX, (integer(held) if isinstance(held, int) else held,))


def parts_of(w: Writer, held: Scalar, count: int) -> tuple[Val, ...]:
    """The parts of a scalar with one element for each of `count` lanes; for a count of 1 they are unchanged."""
    if held.linear is not None:
        return (spread(w, held.linear, count),)
    return tuple(w.splat(p, count) for p in held.parts)


def natural(w: Writer, held: Scalar, count: int) -> tuple[Val, ...]:
    """The parts of a scalar: LLVM scalars if the value is uniform, vectors of `count` lanes otherwise."""
    return held.parts if held.linear is None else (spread(w, held.linear, count),)


def spread(w: Writer, linear: Linear, count: int) -> Val:
    """A linear value as a vector."""
    type = linear.base.type
    steps = constant_vector([k * linear.stride for k in range(count)], type) if count > 1 else integer(0, type)
    return w.add(w.splat(linear.base, count), steps)


@dataclass(frozen=True, slots=True)
class MemRefHeld:
    """A memref: element (i, j, ...) lies at pointer + size * (offset + i * strides[0] + ...) bytes.

    Sizes and strides are ints if the type has them, uniform `i64` values or vectors otherwise. `offset` counts
    elements. `pointer` is one pointer, or a vector of them if lanes see different members of a group. With `maybe_null`
    the memory may be missing.
    """

    type: MemRef
    pointer: Val
    offset: Scalar
    shape: tuple[int | Scalar, ...]
    strides: tuple[int | Scalar, ...]
    name: str
    align: int
    maybe_null: bool = True

    @property
    def element(self) -> Number:
        return self.type.element

    @property
    def local(self) -> bool:
        """Whether the memref is in local memory."""
        return self.type.space is AddressSpace.LOCAL

    @property
    def uniform(self) -> bool:
        """Whether all lanes see the same memory in the same shape."""
        extents = (*self.shape, *self.strides)
        scalars = [x for x in extents if isinstance(x, Scalar)]
        return lanes(self.pointer.type) == 1 and self.offset.uniform and all(s.uniform for s in scalars)


@dataclass(frozen=True, slots=True)
class BytesHeld(MemRefHeld):
    """A memref over a piece of memory in which it need not lie as a whole: each access through it is looked at.

    `begin` is the byte of that memory at which the first element lies, `extent` how many bytes it has.
    """

    begin: Val = field(default_factory=lambda: integer(0))
    extent: Val = field(default_factory=lambda: integer(0))

    @staticmethod
    def of(held: MemRefHeld, begin: Val, extent: Val) -> BytesHeld:
        """A memref with what is known of the memory behind it."""
        extents = held.shape, held.strides
        return BytesHeld(
            held.type, held.pointer, held.offset, *extents, held.name, held.align, held.maybe_null, begin, extent
        )


@dataclass(frozen=True, slots=True)
class GroupHeld:
    """A group: a table of its members in memory.

    A member is a pointer, and the dynamic sizes and strides in the order of the type, all of 8 bytes. `table` is null
    for a group without memory.
    """

    memref: MemRef
    table: Val
    size: int | Val
    name: str
    align: int
    record_bytes: int = field(default=0)


@dataclass(frozen=True, slots=True)
class MapHeld:
    """A tensor map: the address of its descriptor, where the target has it, or in the machine's own form."""

    type: TensorMapType
    descriptor: Val
    name: str


def memory_type(type: Number) -> str:
    """The LLVM type of an element, or of a part of a complex element, in memory."""
    if type in (BF16, F16):
        return "i16"
    return register(type)


def vector_of(type: Number | Boolean, count: int) -> str:
    """The LLVM type of a part of a scalar in `count` lanes."""
    return wide(register(type), count)
