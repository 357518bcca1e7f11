"""Memory that holds a constant, from which all work-items read (SPIR-V 3.52.7)."""

from __future__ import annotations

from girih.ir.core import Op, Value
from girih.ir.define import Where, integers, op, result
from girih.ir.kinds import BYTES
from girih.ir.predicates import equal
from girih.ir.surroundings import Subject
from girih.ir.types import MemRef
from girih.ops.device.language import DEVICE
from girih.rules.row import Row
from girih.rules.terms import computed

TABLES = "SPIR-V 3.52.7 OpConstantComposite"


@op(DEVICE, "constant_bytes", Where.SPMD, TABLES, "( words ) : result")
class ConstantBytes(Op):
    """Memory with the bytes of some integers of 32 bits, the lowest byte first. Nothing writes to it.

    All work-items share it: it is a table, which costs no time to make.
    """

    words: tuple[int, ...] = integers("the integers, signed")
    result: Value = result(BYTES, "the memory, 4 bytes for each integer")


def _size(s: Subject) -> object:
    type = s.op.result.type
    return type.shape[0] if isinstance(type, MemRef) else None


DEVICE.rules(
    ConstantBytes,
    Row("size", "result words",
        equal(computed("the size of the memory", _size), computed("4 for each word", lambda s: 4 * len(s.op.words))),
        "the memory has 4 bytes for each word", TABLES),
)  # fmt: skip
