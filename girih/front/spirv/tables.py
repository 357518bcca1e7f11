"""Tables: variables of the work-item that always hold one constant, which all work-items can share.

Compilers make a variable of a constant array that is indexed, and store the constant to it before each use. Where the
store comes before every other use, and nothing else is stored, the variable is memory with the bytes of the constant.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from girih.front.spirv.layout import ByteLayout, bytes_of
from girih.front.spirv.variables import CHAINS, Reached, Variables
from girih.ir.types import F16, F32, F64, Number
from girih.ir.types import Type as IrType
from girih.lazy_dataclass import dataclass
from girih.rules.row import Undetermined
from girih.spirv.instruction import Instruction
from girih.spirv.model.graph import Dominators
from girih.spirv.types import Value
from girih.spirv.values import ALL_CONSTANTS

_FORMATS = {F16: "<e", F32: "<f", F64: "<d"}


@dataclass(slots=True)
class _Uses:
    """What is done with a variable: the stores to all of it, and everything else, as places in its function."""

    stores: list[tuple[int, int, Instruction]] = field(default_factory=list)
    loads: list[tuple[int, int]] = field(default_factory=list)
    others: bool = False


def tables_of(variables: Variables, layout: ByteLayout) -> dict[int, bytes]:
    """The bytes of variables that are tables, by the id of the variable, with natural alignment."""
    found: dict[int, bytes] = {}
    for reached in variables.functions.values():
        uses = _uses(variables, reached)
        candidates = {id: one for id, one in uses.items() if id in variables.arrays and not one.others}
        if not candidates:
            continue
        dominators = Dominators(reached.plan.successors, 0)
        for id, one in candidates.items():
            constant = _only_value(variables, id, one, dominators)
            data = None if constant is None else _bytes(variables, layout, id, constant)
            if data is not None:
                found[id] = data
    return found


def _uses(variables: Variables, reached: Reached) -> Mapping[int, _Uses]:
    """What a function does with its variables. Only variables of the function itself are looked at."""
    own = {one.result: _Uses() for one in reached.instructions if one.name == "OpVariable"}
    for at in reached.plan.order:
        for index, one in enumerate(reached.blocks[at].body):
            for id in _touched(variables, one):
                root = variables.places[id].root
                uses = own.get(root)
                if uses is None or one.name in CHAINS or one.name == "OpVariable":
                    continue
                if one.name == "OpLoad":
                    uses.loads.append((at, index))
                elif one.name == "OpStore" and id == root == one.id("pointer"):
                    uses.stores.append((at, index, one))
                else:
                    uses.others = True
    return own


def _touched(variables: Variables, one: Instruction) -> Iterator[int]:
    return (o.value for o in one.operands if o.is_id and isinstance(o.value, int) and o.value in variables.places)


def _only_value(variables: Variables, id: int, uses: _Uses, dominators: Dominators) -> int | None:
    """The constant that a variable holds wherever it is read; None where there is none."""
    facts = variables.facts
    initial = facts.definition(id).id("initializer")
    if not uses.stores:
        return initial or None
    if initial or len(uses.stores) > 1:
        return None
    at, index, store = uses.stores[0]
    before = all(load > index if block == at else dominators.dominates(at, block) for block, load in uses.loads)
    value = store.id("object")
    return value if before and facts.defined_by(value) in ALL_CONSTANTS else None


def _bytes(variables: Variables, layout: ByteLayout, id: int, constant: int) -> bytes | None:
    """The bytes of a constant; None where they cannot be told."""
    value, pointee = variables.facts.declarations.values.get(constant), variables.pointee(id)
    flat = list(_flat(value))
    try:
        data, listed = bytearray(-(-layout.size(pointee) // 4) * 4), layout.leaves(pointee)
    except Undetermined:  # Of matrices.
        return None
    if len(flat) != len(listed):
        return None
    for leaf, number in zip(listed, flat, strict=True):
        encoded = _encoded(number, leaf.type)
        if encoded is None:
            return None
        data[leaf.offset : leaf.offset + len(encoded)] = encoded
    return bytes(data)


def _flat(value: Value | None) -> Iterator[int | float | bool | None]:
    """The numbers of a constant, in the order of leaves."""
    if isinstance(value, tuple):
        for part in value:
            yield from _flat(part)
    else:
        yield value


def _encoded(value: int | float | bool | None, type: IrType) -> bytes | None:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, float):
        return struct.pack(_FORMATS[type], value) if isinstance(type, Number) and type in _FORMATS else None
    size = bytes_of(type)
    return (int(value) & (1 << 8 * size) - 1).to_bytes(size, "little")


def words_of_bytes(data: bytes) -> Sequence[int]:
    """Bytes, a multiple of four of them, as signed integers of 32 bits."""
    return struct.unpack(f"<{len(data) // 4}i", data)
