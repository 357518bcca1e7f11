"""Atomic accesses to memory that is bytes (SPIR-V 3.52.18 "Atomic Instructions").

Accesses by the active work-items happen one after the other, in any order. The number lies as `byte_load` has it; all
of its bytes are inside the memory and aligned.
"""

from __future__ import annotations

from girih.ir.core import Op, Value
from girih.ir.define import Where, flag, integer, modifier, node, op, operand, result
from girih.ir.kinds import BYTES, INDEXES, TypeKind
from girih.ir.predicates import equal
from girih.ir.surroundings import Subject
from girih.ir.terms import type_of
from girih.ir.types import Number
from girih.ops.device.language import DEVICE
from girih.ops.tile.memory import SCOPES, SEMANTICS, Scope, Semantics
from girih.rules.predicates import Holds
from girih.rules.row import Row, Undetermined

ATOMICS = "SPIR-V 3.52.18"
_FLOATS = ("f16", "f32", "f64")
_INTEGERS = ("i32", "i64")
ATOMIC = TypeKind("i32, i64, f16, f32 or f64", lambda t: isinstance(t, Number) and t.name in (*_INTEGERS, *_FLOATS))
INTEGER_OPERATORS = ("add", "signed_min", "signed_max", "unsigned_min", "unsigned_max", "and", "or", "xor", "exchange")
FLOAT_OPERATORS = ("add", "min", "max", "exchange")
_UPDATES = {name: name for name in dict.fromkeys((*INTEGER_OPERATORS, *FLOAT_OPERATORS))}


@node
class ByteAtomic(Op):
    """The base of atomic accesses: between whom they are atomic, and which other accesses they order.

    `.global` and `.local` name the memories in which they order other accesses, for those that have semantics.
    """

    scope: Scope = modifier(SCOPES, Scope.DEVICE, doc="the work-items between which the access is atomic")
    semantics: Semantics = modifier(SEMANTICS, Semantics.RELAXED, doc="which other accesses are ordered")
    global_fence: bool = flag("global", "accesses to global memory are ordered")
    local_fence: bool = flag("local", "accesses to local memory are ordered")


@op(DEVICE, "byte_atomic_load", Where.SPMD, f"{ATOMICS} OpAtomicLoad", "memory [ offset ] , alignment : result")
class ByteAtomicLoad(ByteAtomic):
    """Load a number."""

    memory: Value = operand(BYTES, "the bytes", reads=True)
    offset: Value = operand(INDEXES, "the first byte")
    alignment: int = integer("what the offset from the memory's beginning, or the address, is a multiple of, in bytes")
    result: Value = result(ATOMIC, "the number")


@op(DEVICE, "byte_atomic_store", Where.SPMD, f"{ATOMICS} OpAtomicStore", "value , memory [ offset ] , alignment")
class ByteAtomicStore(ByteAtomic):
    """Store a number."""

    value: Value = operand(ATOMIC, "the number")
    memory: Value = operand(BYTES, "the bytes", writes=True)
    offset: Value = operand(INDEXES, "the first byte")
    alignment: int = integer("what the offset from the memory's beginning, or the address, is a multiple of, in bytes")


@op(DEVICE, "byte_atomic_update", Where.SPMD, f"{ATOMICS} OpAtomicIAdd",
    "value , memory [ offset ] , alignment : result")  # fmt: skip
class ByteAtomicUpdate(ByteAtomic):
    """Replace a number by its combination with another one, or by that one (`.exchange`).

    Minimum and maximum of floats prefer a number to NaN.
    """

    operator: str = modifier(_UPDATES, required=True, doc="what combines the numbers")
    value: Value = operand(ATOMIC, "the other number")
    memory: Value = operand(BYTES, "the bytes", reads=True, writes=True)
    offset: Value = operand(INDEXES, "the first byte")
    alignment: int = integer("what the offset from the memory's beginning, or the address, is a multiple of, in bytes")
    result: Value = result(ATOMIC, "the number before")


@op(DEVICE, "byte_atomic_compare_exchange", Where.SPMD, f"{ATOMICS} OpAtomicCompareExchange",
    "value , comparator , memory [ offset ] , alignment : result")  # fmt: skip
class ByteAtomicCompareExchange(ByteAtomic):
    """Replace a number where it equals the comparator, bit by bit."""

    value: Value = operand(ATOMIC, "the new number")
    comparator: Value = operand(ATOMIC, "what the number before must be")
    memory: Value = operand(BYTES, "the bytes", reads=True, writes=True)
    offset: Value = operand(INDEXES, "the first byte")
    alignment: int = integer("what the offset from the memory's beginning, or the address, is a multiple of, in bytes")
    result: Value = result(ATOMIC, "the number before")


def _fits(subject: Subject) -> bool:
    type = subject.op.value.type
    if not isinstance(type, Number):
        raise Undetermined
    return subject.op.operator in (FLOAT_OPERATORS if type.family == "floating" else INTEGER_OPERATORS)


def _same(name: str) -> Row:
    return Row("result_type", "result value", equal(type_of("result"), type_of(name)),
               f"the result has the type of `{name}`", ATOMICS)  # fmt: skip


DEVICE.rules(
    ByteAtomicUpdate,
    Row("operator", "value", Holds("the operator combines numbers of this type", _fits),
        "the operator is one of the type of `value`", ATOMICS),
    _same("value"),
)  # fmt: skip
DEVICE.rules(
    ByteAtomicCompareExchange,
    _same("value"),
    Row("comparator_type", "comparator value", equal(type_of("comparator"), type_of("value")),
        "the comparator has the type of `value`", ATOMICS),
)  # fmt: skip

AtomicAccess = ByteAtomicLoad | ByteAtomicStore | ByteAtomicUpdate | ByteAtomicCompareExchange
