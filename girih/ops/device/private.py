"""Arrays of a work-item, and values that nothing has defined (SPIR-V 3.7 "Storage Class", 3.52.1 "OpUndef")."""

from __future__ import annotations

from girih.ir.core import Op, Value
from girih.ir.define import Where, op, operand, result
from girih.ir.kinds import CARRIED, INDEXES, PRIVATE_ARRAY
from girih.ir.predicates import equal
from girih.ir.surroundings import Subject
from girih.ir.terms import type_of
from girih.ir.types import PrivateArrayType, Type
from girih.ops.device.language import DEVICE
from girih.rules.predicates import at_least
from girih.rules.row import Row, Undetermined
from girih.rules.terms import Term

ACCESS = "SPIR-V 3.52.8"


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


def _array_type(s: Subject, name: str) -> PrivateArrayType:
    type = getattr(s.op, name).type
    if not isinstance(type, PrivateArrayType):
        raise Undetermined
    return type


def _element(s: Subject) -> Type:
    return _array_type(s, "array").element


ELEMENT = Term("element_type(array)", _element)

DEVICE.rules(
    PrivateArray,
    Row("size", "result", at_least(Term("size(result)", lambda s: _array_type(s, "result").size), 1),
        "a private array has an element", ACCESS),
)  # fmt: skip
DEVICE.rules(
    PrivateLoad,
    Row("type", "result array", equal(type_of("result"), ELEMENT), "the result is an element of the array", ACCESS),
)
DEVICE.rules(
    PrivateStore,
    Row("type", "value array", equal(type_of("value"), ELEMENT), "the value becomes an element of the array", ACCESS),
)
