"""Memory as bytes, buffers by their addresses, and arrays of a work-item (SPIR-V 2.2.1 "Memory", 3.52.8).

A buffer, push constants and a variable of a work-group are each a `memref<i8x?>` or `memref<i8xN,local>`; the
translator has worked out offsets and strides, so that an access has a byte offset.
"""

from __future__ import annotations

from girih.ir.core import Op, Value
from girih.ir.define import Where, flag, integer, op, operand, operands, result, results, text
from girih.ir.kinds import BYTES, CARRIED, INDEXES, INTEGER, MEMREF, PRIVATE_ARRAY, SCALAR, TypeKind, exactly
from girih.ir.types import I64, GroupType, MemRef
from girih.ops.device.language import DEVICE

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


@op(DEVICE, "byte_store", Where.SPMD, ACCESS, "( values ) , memory [ offset ] , alignment")
class ByteStore(Op):
    """Store numbers of one type side by side, from a byte offset on; the rules are those of `byte_load`."""

    volatile: bool = flag("volatile", "the access is not left out or joined with others")
    values: tuple[Value, ...] = operands(SCALAR, "the numbers")
    memory: Value = operand(BYTES, "the bytes", writes=True)
    offset: Value = operand(INDEXES, "the first byte")
    alignment: int = integer("what the offset from the memory's beginning, or the address, is a multiple of, in bytes")


@op(DEVICE, "byte_view", Where.SPMD, ACCESS, "memory [ offset ] , ( sizes ) , ( strides ) : result")
class ByteView(Op):
    """The bytes from an offset on as a memref of numbers, for the instructions of matrices.

    The offset is a multiple of the number's size (run.misaligned). What lies outside of the memory is found where it
    is accessed.
    """

    memory: Value = operand(BYTES, "the bytes", reads=True)
    offset: Value = operand(INDEXES, "the byte at which the view begins", shared=True)
    sizes: tuple[Value, ...] = operands(INDEXES, "sizes of the modes that have `?`, none for all", shared=True)
    strides: tuple[Value, ...] = operands(INDEXES, "strides, in numbers, of the modes that have `?`", shared=True)
    result: Value = result(MEMREF, "the view")


@op(DEVICE, "array_index", Where.SPMD, 'SPIR-V 3.52.8 "OpAccessChain"', "index , size , text : result")
class ArrayIndex(Op):
    """An index into an array of fixed size inside other memory, as a number of index type.

    One outside of the array is found (run.out_of_bounds), even where the access stays inside the memory.
    """

    index: Value = operand(INTEGER, "the index, which is signed")
    size: int = integer("the number of elements of the array")
    text: str = text("what the array is called, for the finding")
    result: Value = result(INDEXES, "the index")


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


@op(DEVICE, "private_array", Where.SPMD, 'SPIR-V 3.7 "Function", "Private"', ": result")
class PrivateArray(Op):
    """An array of the work-item. Its elements are undefined until written, each time that this is executed."""

    result: Value = result(PRIVATE_ARRAY, "the array")


@op(DEVICE, "private_load", Where.SPMD, ACCESS, "array [ index ] : result")
class PrivateLoad(Op):
    """An element of a private array. An index outside of it is found (run.out_of_bounds).

    An element that was not written is undefined, as a value of `undef` is.
    """

    array: Value = operand(PRIVATE_ARRAY, "the array", reads=True)
    index: Value = operand(INDEXES, "the number of the element")
    result: Value = result(CARRIED, "the element")


@op(DEVICE, "private_store", Where.SPMD, ACCESS, "value , array [ index ]")
class PrivateStore(Op):
    """Replace an element of a private array. An index outside of it is found (run.out_of_bounds)."""

    value: Value = operand(CARRIED, "what is written")
    array: Value = operand(PRIVATE_ARRAY, "the array", writes=True)
    index: Value = operand(INDEXES, "the number of the element")


@op(DEVICE, "undef", Where.SPMD, "SPIR-V 3.52.1 OpUndef", ": result")
class Undef(Op):
    """Any value. What is computed from it is undefined as well.

    An undefined value that decides a branch, an index or an address, or that is stored to memory which others see, is
    found (run.undef).
    """

    result: Value = result(CARRIED, "the value")
