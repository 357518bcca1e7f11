"""Instructions on numbers, by their operands, and what several families of translations share.

n = NumberBuilder(t)
n.sum([n.mul(x, y) for x, y in zip(a, b)])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from girih.front.spirv.emission import extended_name
from girih.front.spirv.translation import Translation
from girih.ir.core import Value
from girih.ir.types import BOOL, I8, I16, I32, I64, CoopMatrix, Number
from girih.ir.types import Type as IrType
from girih.lazy_dataclass import dataclass
from girih.spirv.instruction import Instruction

INTEGERS = {1: I8, 2: I16, 4: I32, 8: I64}
"""The integer type of each number of bytes."""


def number(value: Value) -> Number:
    """The number type of a leaf, or of the components of a matrix."""
    type = value.type.component if isinstance(value.type, CoopMatrix) else value.type
    assert isinstance(type, Number)
    return type


def like(value: Value, component: Number) -> Number | CoopMatrix:
    """The type of a leaf with another number type: a matrix keeps its shape, use and scope."""
    type = value.type
    if isinstance(type, CoopMatrix):
        return CoopMatrix(component, type.rows, type.columns, type.use, type.scope)
    return component


def function_name(t: Translation, one: Instruction) -> str:
    """The name of the function of an extended set that an instruction calls."""
    return extended_name(t.facts, one)[1]


def componentwise(t: Translation, one: Instruction, build: Callable[..., Value], *names: str) -> None:
    """Give each component of the result from the components of some operands at the same place."""
    parts = [t.leaves(one.id(name)) for name in names]
    t.give(one, [build(*at) for at in zip(*parts, strict=True)])


@dataclass(frozen=True, slots=True)
class NumberBuilder:
    """Instructions on numbers at the place of the one that is being translated."""

    t: Translation

    def binary(self, mnemonic: str, a: Value, b: Value) -> Value:
        """An operation of two operands, whose result has the type of the first."""
        return self.t.one(mnemonic, a.type, a=a, b=b)

    def unary(self, mnemonic: str, a: Value) -> Value:
        """An operation of one operand, whose result has its type."""
        return self.t.one(mnemonic, a.type, a=a)

    def compare(self, mnemonic: str, a: Value, b: Value) -> Value:
        """A relation of two operands, as a bool."""
        return self.t.one(mnemonic, BOOL, a=a, b=b)

    def converted(self, mnemonic: str, a: Value, type: IrType, **fields: bool) -> Value:
        """A conversion; the operand itself where it has the type."""
        return a if a.type == type else self.t.one(mnemonic, type, a=a, **fields)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        return self.t.one("select", a.type, condition=condition, a=a, b=b)

    def constant(self, value: float, like: Value) -> Value:
        """A constant of the type of another value."""
        type = number(like)
        return self.t.constant(int(value) if type.family == "integer" else float(value), type)

    def add(self, a: Value, b: Value) -> Value:
        return self.binary("add", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        return self.binary("sub", a, b)

    def mul(self, a: Value, b: Value) -> Value:
        return self.binary("mul", a, b)

    def div(self, a: Value, b: Value) -> Value:
        return self.binary("div", a, b)

    def both(self, a: Value, b: Value) -> Value:
        """Whether two conditions hold."""
        return self.t.one("and", BOOL, a=a, b=b)

    def no(self, a: Value) -> Value:
        """Whether a condition does not hold."""
        return self.t.one("not", BOOL, a=a)

    def sum(self, values: Sequence[Value]) -> Value:
        """The sum from the first to the last."""
        return reduce(self.add, values)

    def dot(self, a: Sequence[Value], b: Sequence[Value]) -> Value:
        """The sum of the products of components."""
        return self.sum([self.mul(x, y) for x, y in zip(a, b, strict=True)])

    def clamped(self, a: Value, least: Value, most: Value) -> Value:
        """A number brought between two others; what is NaN gives the first of them."""
        return self.binary("min", self.binary("max", a, least), most)

    def shifted(self, mnemonic: str, a: Value, amount: int) -> Value:
        """An integer shifted by a constant."""
        return a if amount == 0 else self.t.one(mnemonic, a.type, a=a, amount=self.constant(amount, a))

    def resized(self, a: Value, type: Number) -> Value:
        """An unsigned integer in a type of any width; what does not fit is lost."""
        return self.converted("zero_extend" if type.size > number(a).size else "cast", a, like(a, type))
