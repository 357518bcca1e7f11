"""One spelling for instructions that the language lets write in two ways.

An index that is known is a literal, where the language has one; a mode that a slice drops has no size; what has no
second mode is not transposed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from girih.ir.core import Op, Slice, Value
from girih.ir.define import Operand, Slices
from girih.ir.surroundings import Constant
from girih.ir.types import MemRef
from girih.ops.tile.linalg import Axpby, Sum
from girih.ops.tile.memory import Subview


def spelled(op: Op, operands: Mapping[str, Any], known: Mapping[Value, Constant]) -> dict[str, Any]:
    """The operands of an instruction, and what goes with them, in the one spelling; `known` has the constants."""
    made = {name: _spelled(op, name, held, known) for name, held in operands.items()}
    if isinstance(op, Axpby | Sum) and isinstance(op.a.type, MemRef) and op.a.type.order < 2:
        made["transpose"] = False
    return made


def _spelled(op: Op, name: str, held: Any, known: Mapping[Value, Constant]) -> Any:
    role = op.spec.roles[name]
    if isinstance(role, Slices):
        return tuple(_slice(part, known, sized=isinstance(op, Subview)) for part in held)
    # The sizes of an `expand` are in the type of its result: those that are literals are known there.
    if isinstance(role, Operand) and role.literal and role.separator == ",":
        return tuple(_literal(entry, known) for entry in held)
    return held


def _slice(part: Slice, known: Mapping[Value, Constant], *, sized: bool) -> Slice:
    """A slice; where sizes are in the type of the result, they stay as they are."""
    offset = _literal(part.offset, known)
    if sized:
        return Slice(offset, None if part.drops_mode else part.size)
    return Slice(offset, None if part.size is None else _literal(part.size, known))


def _literal(entry: Value | int, known: Mapping[Value, Constant]) -> Value | int:
    """An index as a literal, where it is known; a negative one stays a value, since no view begins with one."""
    constant = known.get(entry) if isinstance(entry, Value) else None
    return constant if isinstance(constant, int) and constant >= 0 else entry
