"""Memory as bytes, and buffers by their addresses (SPIR-V 2.2.1 "Memory", 3.52.8).

A buffer, push constants and a variable of a work-group are each a `memref<i8x?>` or `memref<i8xN,local>`; the
translator has worked out offsets and strides, so that an access has a byte offset.
"""

from __future__ import annotations

from girih.ir.core import Op, Value
from girih.ir.define import Where, flag, integer, op, operand, operands, result, results, text
from girih.ir.kinds import BYTES, INDEXES, INTEGER, MEMREF, SCALAR, TypeKind, exactly
from girih.ir.predicates import equal
from girih.ir.surroundings import Subject
from girih.ir.terms import type_of
from girih.ir.types import I64, INDEX, Boolean, ErrorType, GroupType, MemRef, Number, Type
from girih.ops.device.language import DEVICE
from girih.rules.predicates import Holds, Satisfies, at_least
from girih.rules.row import Row, Undetermined
from girih.rules.terms import computed, count, held

ACCESS = "SPIR-V 3.52.8"
ADDRESSES = "SPV_KHR_physical_storage_buffer"
BUFFERS = TypeKind("a group of memrefs of bytes", lambda t: isinstance(t, GroupType))
ADDRESS_TABLE = TypeKind("a memref of i64 with one mode", lambda t: isinstance(t, MemRef) and t.element == I64)


@op(DEVICE, "byte_load", Where.SPMD, ACCESS, "memory [ offset ] , alignment : results")
class ByteLoad(Op):
    """Load numbers that lie side by side, from a byte offset on. All have one type; a bool is a byte that is not 0.

    All bytes lie inside the memory (run.out_of_bounds), are written (run.uninitialized), and the address is a multiple
    of the alignment (run.misaligned).
    """

    volatile: bool = flag("volatile", "the access is not left out or joined with others")
    memory: Value = operand(BYTES, "the bytes", reads=True)
    offset: Value = operand(INDEXES, "the first byte")
    alignment: int = integer("what the offset from the memory's beginning, or the address, is a multiple of, in bytes")
    results: tuple[Value, ...] = results(SCALAR, "the numbers")


def size_in_memory(type: Type) -> int:
    """The bytes that a number or bool takes in memory; a bool takes one. Raises `TypeError` for another type."""
    match type:
        case Boolean():
            return 1
        case Number():
            return type.size
        case _:
            raise TypeError(f"{type} is no number or bool")


def _types(s: Subject, name: str) -> list[Type]:
    found = [value.type for value in getattr(s.op, name)]
    if any(isinstance(type, ErrorType) for type in found):
        raise Undetermined
    return found


def _access_rows(name: str) -> tuple[Row, ...]:
    """The rules of an access whose numbers are in the field `name`."""
    lies = Holds(
        "each is a bool or a number of one part, and not of index type",
        lambda s: all(type != INDEX and getattr(type, "family", "") != "complex" for type in _types(s, name)),
        lambda s: ", ".join(dict.fromkeys(map(str, _types(s, name)))),
    )
    alike = Holds(
        f"the types of {name} are equal",
        lambda s: len(set(_types(s, name))) < 2,
        lambda s: ", ".join(dict.fromkeys(map(str, _types(s, name)))),
    )
    return (
        Row("count", name, at_least(count(name), 1), "an access is of one number or more", ACCESS),
        Row("one_type", name, alike, "the numbers of an access have one type", ACCESS),
        Row("stored", name, lies, "the numbers have a type that lies in a shader's memory", ACCESS),
        _ALIGNMENT,
    )


_ALIGNMENT = Row(
    "alignment", "alignment",
    Satisfies(held("alignment"), "is a power of two", lambda v: v > 0 and v & (v - 1) == 0),
    "an alignment is a power of two", 'SPIR-V 3.26 "Aligned"',
)  # fmt: skip

DEVICE.rules(ByteLoad, *_access_rows("results"))


@op(DEVICE, "byte_store", Where.SPMD, ACCESS, "( values ) , memory [ offset ] , alignment")
class ByteStore(Op):
    """Store numbers of one type side by side, from a byte offset on; the rules are those of `byte_load`."""

    volatile: bool = flag("volatile", "the access is not left out or joined with others")
    values: tuple[Value, ...] = operands(SCALAR, "the numbers")
    memory: Value = operand(BYTES, "the bytes", writes=True)
    offset: Value = operand(INDEXES, "the first byte")
    alignment: int = integer("what the offset from the memory's beginning, or the address, is a multiple of, in bytes")


DEVICE.rules(ByteStore, *_access_rows("values"))


@op(DEVICE, "byte_view", Where.SPMD, ACCESS, "memory [ offset ] , ( sizes ) , ( strides ) : result")
class ByteView(Op):
    """The bytes from an offset on as a memref of numbers, for the instructions of matrices.

    The offset is a multiple of the number's size (run.misaligned), and inside the memory or at its end
    (run.out_of_bounds). What lies outside of the memory further on is found where it is accessed. Without sizes, the
    last mode may be `?`: it reaches as far as the memory does.
    """

    memory: Value = operand(BYTES, "the bytes", reads=True)
    offset: Value = operand(INDEXES, "the byte at which the view begins", shared=True)
    sizes: tuple[Value, ...] = operands(INDEXES, "sizes of the modes that have `?`, or none", shared=True)
    strides: tuple[Value, ...] = operands(INDEXES, "strides, in numbers, of the modes that have `?`", shared=True)
    result: Value = result(MEMREF, "the view")


def _viewed(s: Subject) -> MemRef:
    type = s.op.result.type
    if not isinstance(type, MemRef) or len(type.strides) != type.order:
        raise Undetermined
    return type


def _space(s: Subject) -> object:
    type = s.op.memory.type
    if not isinstance(type, MemRef):
        raise Undetermined
    return type.space


def _unknown_strides(s: Subject) -> int:
    return _viewed(s).strides.count(None)


def _sizes_fit(s: Subject) -> bool:
    shape = _viewed(s).shape
    return len(s.op.sizes) == shape.count(None) or (not s.op.sizes and None not in shape[:-1])


DEVICE.rules(
    ByteView,
    Row("space", "result memory",
        equal(computed("space(result)", lambda s: _viewed(s).space), computed("space(memory)", _space)),
        "the view lies where the memory does", ACCESS),
    Row("size_count", "sizes result",
        Holds("there is a size for each `?`, or none where only the last mode has one", _sizes_fit,
              lambda s: f"{len(s.op.sizes)} sizes for {s.op.result.type}"),
        "each mode with `?` has a size", ACCESS),
    Row("stride_count", "strides result",
        equal(count("strides"), computed("modes of the result whose stride is `?`", _unknown_strides)),
        "each mode whose stride is `?` has one", ACCESS),
)  # fmt: skip


@op(DEVICE, "array_index", Where.SPMD, 'SPIR-V 3.52.8 "OpAccessChain"', "index , size , text : result")
class ArrayIndex(Op):
    """An index into an array of fixed size inside other memory, as a number of index type.

    One outside of the array is found (run.out_of_bounds), even where the access stays inside the memory: that is only
    warned of where it is `robust`. A component that a vector does not have is an undefined operation
    (run.undefined_operation).
    """

    robust: bool = flag("robust", "the memory is a buffer, for which robust access defines what happens")
    vector: bool = flag("vector", "the elements are the components of a vector")
    index: Value = operand(INTEGER, "the index, which is signed")
    size: int = integer("the number of elements of the array")
    text: str = text("what the array is called, for the finding")
    result: Value = result(INDEXES, "the index")


DEVICE.rules(ArrayIndex, Row("size", "size", at_least(held("size"), 1), "an array has an element or more", ACCESS))


@op(DEVICE, "buffer_at", Where.SPMD, ADDRESSES, "address , bytes , buffers , addresses : memory , offset")
class BufferAt(Op):
    """The buffer that an address points into, and the offset of the address in it.

    An address at which no buffer has so many bytes is found (run.address); accesses through it do nothing then.
    """

    address: Value = operand(exactly(I64), "the address")
    bytes: int = integer("how many bytes are going to be accessed there, at least 1")
    buffers: Value = operand(BUFFERS, "all buffers that have addresses")
    addresses: Value = operand(ADDRESS_TABLE, "the address of each buffer")
    memory: Value = result(BYTES, "the buffer")
    offset: Value = result(INDEXES, "the offset in it, in bytes")


def _member(s: Subject) -> object:
    type = s.op.buffers.type
    if not isinstance(type, GroupType):
        raise Undetermined
    return type.memref


DEVICE.rules(
    BufferAt,
    Row("bytes", "bytes", at_least(held("bytes"), 1), "one byte or more is accessed", ADDRESSES),
    Row("member", "memory buffers", equal(type_of("memory"), computed("the type of a buffer", _member)),
        "the buffer is a member of the group", ADDRESSES),
)  # fmt: skip
