"""What the instructions on numbers of the device language have in common: their base, and the rules of several.

Each computes its results from its operands alone, for each work-item by itself; operands and results that are
cooperative matrices are computed component by component. Integers have no sign: an instruction says how it reads them.
"""

from __future__ import annotations

from girih.ir.core import Op
from girih.ir.define import node
from girih.ir.predicates import equal
from girih.ir.surroundings import Subject
from girih.ir.terms import element, type_of
from girih.ir.types import Boolean, CoopMatrix, Number, element_type
from girih.rules.predicates import Holds, Satisfies
from girih.rules.row import Row, Undetermined


@node
class Numeric(Op):
    """The base of the instructions that compute numbers from numbers."""


def of_family(mnemonic: str, name: str, family: str, section: str) -> Row:
    """The rule that an operand or result has an element type of a family: `integer` or `floating`."""
    words = f"is {'an' if family == 'integer' else 'a'} {family} type"
    allowed = Satisfies(element(name), words, lambda t: not isinstance(t, Boolean) and t.family == family)
    return Row(f"{name}_type", name, allowed, f"`{name}` of `{mnemonic}` has {words.removeprefix('is ')}", section)


def same_types(first: str, second: str, section: str) -> Row:
    """The rule that two operands or results have one type."""
    return Row(f"{second}_same", f"{second} {first}", equal(type_of(second), type_of(first)),
               f"`{second}` has the type of `{first}`", section)  # fmt: skip


def alike(first: str, second: str, section: str) -> Row:
    """The rule that two operands or results are both numbers, or matrices of one shape and scope."""

    def holds(s: Subject) -> bool:
        a, b = getattr(s.op, first).type, getattr(s.op, second).type
        if not isinstance(a, CoopMatrix) or not isinstance(b, CoopMatrix):
            return isinstance(a, CoopMatrix) == isinstance(b, CoopMatrix)
        return (a.shape, a.scope) == (b.shape, b.scope)

    def came(s: Subject) -> str:
        return f"{getattr(s.op, first).type} and {getattr(s.op, second).type}"

    return Row(f"{second}_shape", f"{second} {first}", Holds(f"shape({second}) = shape({first})", holds, came),
               f"`{first}` and `{second}` are both numbers, or matrices of one shape and scope", section)  # fmt: skip


def bits_of(s: Subject, name: str) -> int:
    """The number of bits of the element type of an operand or result."""
    type = element_type(getattr(s.op, name).type)
    if not isinstance(type, Number):
        raise Undetermined
    return 8 * type.size
