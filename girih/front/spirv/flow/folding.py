"""What integers and booleans of a function are known before anything runs, beside the module's constants.

Only results of which each operand is a constant: index arithmetic, and conditions that rest on values given to
specialisation constants. What has no value by SPIR-V, such as a division by 0, is not known, and is found when it runs.
"""

from __future__ import annotations

from girih.rules.row import Undetermined
from girih.spirv.fold import result_of
from girih.spirv.model.facts import Facts
from girih.spirv.model.functions import Function
from girih.spirv.types import Bool, Int, Type, Value


def folded_values(facts: Facts, function: Function) -> dict[int, int]:
    """The values of results that rest on constants alone, by id."""
    constants = facts.declarations.values
    types = facts.declarations.types
    found: dict[int, int] = {}

    def value_of(id: int) -> Value | None:
        return found[id] if id in found else constants.get(id)

    def type_of(id: int) -> Type | None:
        try:
            return facts.type_of(id)
        except Undetermined:
            return None

    for block in function.blocks:
        for one in block.body:
            if not one.result_type or one.name == "OpFunctionCall":
                continue
            type = types.get(one.result_type)
            if not isinstance(type, Int | Bool):
                continue
            if any(value_of(o.value) is None for o in one.operands if o.kind == "IdRef" and isinstance(o.value, int)):
                continue
            value = result_of(one.name, one, type, value_of, type_of)
            if isinstance(value, int):
                found[one.result] = value
    return found
