"""Relations, logic and choices (SPIR-V 3.52.15)."""

from __future__ import annotations

from functools import reduce

from girih.diagnostics import CompileError
from girih.front.spirv.codes import refused
from girih.front.spirv.handlers import translates
from girih.front.spirv.instructions.numbers.builders import NumberBuilder, componentwise
from girih.front.spirv.pointers import BytePointer
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import BOOL, INDEX, CoopMatrix
from girih.spirv.instruction import Instruction
from girih.spirv.types import Pointer

_RELATIONS = {
    "OpIEqual": ("equal", False),
    "OpINotEqual": ("not_equal", False),
    "OpSLessThan": ("less_than", False),
    "OpSLessThanEqual": ("less_than_equal", False),
    "OpSGreaterThan": ("greater_than", False),
    "OpSGreaterThanEqual": ("greater_than_equal", False),
    "OpULessThan": ("unsigned_less_than", False),
    "OpULessThanEqual": ("unsigned_less_than_equal", False),
    "OpUGreaterThan": ("unsigned_less_than", True),
    "OpUGreaterThanEqual": ("unsigned_less_than_equal", True),
    "OpFOrdEqual": ("equal", False),
    "OpFUnordNotEqual": ("not_equal", False),
    "OpFOrdLessThan": ("less_than", False),
    "OpFOrdLessThanEqual": ("less_than_equal", False),
    "OpFOrdGreaterThan": ("greater_than", False),
    "OpFOrdGreaterThanEqual": ("greater_than_equal", False),
    "OpLogicalNotEqual": ("xor", False),
    "OpLogicalAnd": ("and", False),
    "OpLogicalOr": ("or", False),
}
"""The relation, and whether its operands are swapped."""

_UNORDERED = {
    "OpFUnordLessThan": "greater_than_equal",
    "OpFUnordLessThanEqual": "greater_than",
    "OpFUnordGreaterThan": "less_than_equal",
    "OpFUnordGreaterThanEqual": "less_than",
}
"""The relation that does not hold where the unordered one does, NaN included."""


@translates(*_RELATIONS)
def relation(t: Translation, one: Instruction) -> None:
    """A relation that one instruction is."""
    mnemonic, swapped = _RELATIONS[one.name]
    operands = ("operand_2", "operand_1") if swapped else ("operand_1", "operand_2")
    componentwise(t, one, lambda a, b: NumberBuilder(t).compare(mnemonic, a, b), *operands)


@translates(*_UNORDERED)
def unordered(t: Translation, one: Instruction) -> None:
    """A relation that holds for NaN, too."""
    n, opposite = NumberBuilder(t), _UNORDERED[one.name]
    componentwise(t, one, lambda a, b: n.no(n.compare(opposite, a, b)), "operand_1", "operand_2")


@translates("OpFOrdNotEqual", "OpFUnordEqual")
def different(t: Translation, one: Instruction) -> None:
    """Whether two numbers differ and neither is NaN, or the opposite."""
    n = NumberBuilder(t)

    def build(a: Value, b: Value) -> Value:
        apart = t.one("or", BOOL, a=n.compare("less_than", a, b), b=n.compare("greater_than", a, b))
        return n.no(apart) if one.name == "OpFUnordEqual" else apart

    componentwise(t, one, build, "operand_1", "operand_2")


@translates("OpLogicalEqual")
def same(t: Translation, one: Instruction) -> None:
    """Whether two conditions both hold, or neither."""
    n = NumberBuilder(t)
    componentwise(t, one, lambda a, b: n.no(n.compare("xor", a, b)), "operand_1", "operand_2")


@translates("OpIsNan")
def is_nan(t: Translation, one: Instruction) -> None:
    """Whether a number is NaN."""
    componentwise(t, one, lambda a: NumberBuilder(t).compare("not_equal", a, a), "x")


@translates("OpIsInf")
def is_infinite(t: Translation, one: Instruction) -> None:
    """Whether a number is an infinity."""
    n = NumberBuilder(t)
    infinity = float("inf")
    componentwise(t, one, lambda a: n.compare("equal", n.unary("abs", a), n.constant(infinity, a)), "x")


@translates("OpLogicalNot")
def negation(t: Translation, one: Instruction) -> None:
    """Whether a condition does not hold."""
    componentwise(t, one, NumberBuilder(t).no, "operand")


@translates("OpAny", "OpAll")
def of_vector(t: Translation, one: Instruction) -> None:
    """Whether some component holds, or all of them."""
    mnemonic = "or" if one.name == "OpAny" else "and"
    t.give(one, [reduce(lambda a, b: t.one(mnemonic, BOOL, a=a, b=b), t.leaves(one.id("vector")))])


@translates("OpSelect")
def select(t: Translation, one: Instruction) -> None:
    """One of two objects, or of each of their components; a single condition chooses among objects of any type."""
    type = t.facts.type(one.result_type)
    if isinstance(type, Pointer) and type.storage_class != "PhysicalStorageBuffer":
        _select_pointer(t, one)
        return
    conditions = t.leaves(one.id("condition"))
    first, second = t.leaves(one.id("object_1")), t.leaves(one.id("object_2"))
    if len(conditions) == 1:
        conditions *= len(first)
    t.give(one, [_chosen(t, *at) for at in zip(conditions, first, second, strict=True)])


def _chosen(t: Translation, condition: Value, a: Value, b: Value) -> Value:
    if not isinstance(a.type, CoopMatrix):
        return NumberBuilder(t).select(condition, a, b)
    # A matrix is chosen by a branch, which its work-items take together.
    block = t.builder.inner()
    then = block.inner()
    then.add("leave", depth=0, values=(a,), span=t.span)
    block.add("branch", condition=condition, then=then.region(t.span), span=t.span)
    block.add("leave", depth=0, values=(b,), span=t.span)
    return t.one("block", a.type, body=block.region(t.span))


def _select_pointer(t: Translation, one: Instruction) -> None:
    """One of two places in the same memory. Raises `CompileError` where they are not."""
    a, b = t.pointer(one.id("object_1")), t.pointer(one.id("object_2"))
    if not isinstance(a, BytePointer) or not isinstance(b, BytePointer) or a.memory is not b.memory:
        expected = "pointers into one buffer, or one variable of the work-group"
        raise CompileError([refused("pointer", expected, "pointers into several", t.span)])
    offset = t.one("select", INDEX, condition=t.leaf(one.id("condition")), a=a.offset, b=b.offset)
    alignment = min(a.alignment, b.alignment)
    t.give_pointer(one.result, BytePointer(a.pointee, a.storage, a.memory, offset, alignment, a.matrix))
