"""Values of the work-items of a subgroup (`girih.ops.tile.subgroup`)."""

from __future__ import annotations

from girih.front.python.calls import WordCall as Call
from girih.front.python.operands import Operand
from girih.front.python.words.support import number, one, uses
from girih.front.python.words.table import lowers
from girih.ir.types import I32
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.subgroup import SubgroupOperation

_OPERATIONS = tuple(declared.spec.mnemonic for declared in TILE_LANGUAGE.family(SubgroupOperation))


@lowers("subgroup_broadcast")
def broadcast(call: Call) -> Operand:
    """The value of one work-item, for all."""
    t = call.translator
    value = number(call, "x")
    lane = t.value(call["lane"], I32, call.span_of("lane"))
    places = uses(call, a="x", lane="lane")
    return one(t.add("subgroup_broadcast", value.type, span=call.span, uses=places, a=value, lane=lane))


@lowers(*_OPERATIONS)
def operation(call: Call) -> Operand:
    """A scan of the values of all work-items, or their combination."""
    value = number(call, "x")
    return one(call.translator.add(call.name, value.type, span=call.span, uses=uses(call, a="x"), a=value))
