"""The translation of one entry point, as the functions that translate instructions see it.

    @translates("OpFAdd")
    def add(t: Translation, one: Instruction) -> None:
        a, b = t.leaves(one.id("operand_1")), t.leaves(one.id("operand_2"))
        t.give(one, [t.one("add", x.type, a=x, b=y) for x, y in zip(a, b, strict=True)])

A value of SPIR-V is a tuple of values of the ir, its leaves (`girih.front.spirv.leaves`); calls are inlined, so that an
id may have other values each time that its function is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from girih.front.spirv.leaves import leaves
from girih.front.spirv.pointers import Pointer
from girih.ir.build import RegionBuilder
from girih.ir.core import Region, Value
from girih.ir.types import INDEX, Boolean, Number
from girih.ir.types import Type as IrType
from girih.source import NOWHERE, Span
from girih.spirv.instruction import Instruction
from girih.spirv.model.facts import Facts
from girih.spirv.types import Type


class Translation:
    """The state while an entry point is translated: the region being built, and what each id is at this place."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.span: Span = NOWHERE
        """The place of the instruction that is being translated, in the source where the module tells it."""

    # --- what ids are --------------------------------------------------------------------

    def type_of(self, id: int) -> Type:
        """The type of a value, as SPIR-V declares it."""
        return self.facts.type_of(id)

    def leaf_types(self, one: Instruction) -> tuple[IrType, ...]:
        """The types of the leaves of an instruction's result."""
        return leaves(self.facts.type(one.result_type))

    def leaves(self, id: int) -> tuple[Value, ...]:
        """The leaves of a value, or of a constant."""
        raise NotImplementedError

    def leaf(self, id: int) -> Value:
        """The only leaf of a scalar, matrix, layout or view."""
        (only,) = self.leaves(id)
        return only

    def pointer(self, id: int) -> Pointer:
        """What a pointer points to."""
        raise NotImplementedError

    def integer(self, id: int) -> int:
        """The value of a constant that must be known, such as a scope."""
        return self.facts.integer(id)

    def give(self, one: Instruction, values: Sequence[Value]) -> None:
        """Say what the result of an instruction is from here on."""
        raise NotImplementedError

    # --- what is built -------------------------------------------------------------------

    @property
    def builder(self) -> RegionBuilder:
        """The region that instructions are added to."""
        raise NotImplementedError

    def emit(self, mnemonic: str, *types: IrType, **fields: Any) -> tuple[Value, ...]:
        """The results of a new instruction at the place of the one that is being translated."""
        return self.builder.add(mnemonic, *types, span=self.span, **fields)

    def one(self, mnemonic: str, type: IrType, **fields: Any) -> Value:
        """The result of a new instruction with one result."""
        (only,) = self.emit(mnemonic, type, **fields)
        return only

    def constant(self, value: bool | int | float, type: Number | Boolean) -> Value:
        """A constant; an integer is taken modulo its width."""
        raise NotImplementedError

    def index(self, value: int) -> Value:
        """A constant of index type."""
        return self.constant(value, INDEX)

    def region_of(self, function: int, arguments: Mapping[int, Sequence[Value] | Pointer]) -> tuple[Region, Span]:
        """The body of a function as a region that ends with a `yield` of what it returns, for matrices' instructions.

        `arguments` has leaves, or a pointer, for the id of each parameter.
        """
        raise NotImplementedError
