"""Mathematical functions (`girih.ops.tile.math`)."""

from __future__ import annotations

from girih.front.python.calls import WordCall as Call
from girih.front.python.operands import Operand
from girih.front.python.words.support import elementwise
from girih.front.python.words.table import lowers
from girih.ir.types import F32
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.math import Math

_FUNCTIONS = tuple(declared.spec.mnemonic for declared in TILE_LANGUAGE.family(Math))


@lowers(*_FUNCTIONS)
def function(call: Call) -> Operand:
    """A function of one number; of a matrix, component by component."""
    return elementwise(call, call.name, {"a": "x"}, F32)


@lowers("pow")
def power(call: Call) -> Operand:
    """A number to the power of another."""
    return elementwise(call, "pow", {"a": "base", "b": "exponent"}, F32)


@lowers("fma")
def fused_multiply_add(call: Call) -> Operand:
    """A product plus a summand, rounded once."""
    return elementwise(call, "fma", {"a": "a", "b": "b", "c": "c"}, F32)
