"""The place of a work-item, and the sizes of the launch (`girih.ops.tile.builtin`)."""

from __future__ import annotations

from girih.front.python.calls import WordCall as Call
from girih.front.python.codes import fault
from girih.front.python.operands import Operand
from girih.front.python.words.support import integer, one
from girih.front.python.words.table import lowers
from girih.ir.define import Modifier
from girih.ir.types import I32, INDEX, Type
from girih.ops.tile import TILE_LANGUAGE

_ALONG_AN_AXIS: dict[str, Type] = {"group_id": INDEX, "num_groups": INDEX, "num_subgroups": I32, "subgroup_id": I32}
_OF_THE_SUBGROUP = ("subgroup_size", "subgroup_linear_id", "subgroup_local_id")


@lowers(*_ALONG_AN_AXIS)
def along_an_axis(call: Call) -> Operand:
    """A number that there is for each axis of the grid, or of the work-group."""
    axis = integer(call, "axis")
    role = TILE_LANGUAGE.ops[call.name].spec.roles["axis"]
    axes = tuple(role.choices.values()) if isinstance(role, Modifier) else ()
    if axis not in axes:
        raise fault("arguments", f"`axis` is 0, 1 or 2, found {axis}", call.span_of("axis"))
    return one(call.translator.add(call.name, _ALONG_AN_AXIS[call.name], span=call.span, axis=axis), natural=True)


@lowers(*_OF_THE_SUBGROUP)
def of_the_subgroup(call: Call) -> Operand:
    """A number of the subgroup."""
    return one(call.translator.add(call.name, I32, span=call.span), natural=True)
