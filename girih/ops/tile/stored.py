"""The rule that floats of eight bits are stored, moved and cast, but not computed with."""

from __future__ import annotations

from dataclasses import replace

from girih.ir.core import Value
from girih.ir.surroundings import Subject
from girih.ir.types import EIGHT_BIT_FLOATS, F16, CoopMatrix, MemRef, Number, element_type
from girih.rules.predicates import Holds
from girih.rules.row import Row
from girih.source import Span

STORED = 'additions "Types"'


def is_stored_only(value: object) -> bool:
    """Whether an operand is a float of eight bits, or has elements or components of that type."""
    return isinstance(value, Value) and element_type(value.type) in EIGHT_BIT_FLOATS


def computes_row(mnemonic: str, *names: str) -> Row:
    """The rule that none of some operands is of `f8e4m3` or `f8e5m2`."""

    def guilty(s: Subject) -> list[str]:
        return [name for name in names if is_stored_only(getattr(s.op, name))]

    def place(s: Subject) -> Span | None:
        spans = [span for name in guilty(s) for span in s.op.uses.get(name, ())]
        return min(spans, key=lambda span: span.start) if spans else None

    def came(s: Subject) -> str:
        return ", ".join(f"element_type({name}) is {element_type(getattr(s.op, name).type)}" for name in guilty(s))

    types = " or ".join(sorted(type.name for type in EIGHT_BIT_FLOATS))
    which = ", ".join(f"element_type({name})" for name in names)
    return Row("f8", " ".join(names), Holds(f"{which} ∉ {{f8e4m3, f8e5m2}}", lambda s: not guilty(s), came),
               f"`{mnemonic}` does not compute with {types}, which are stored, moved and cast only", STORED,
               lambda s: _cast_hint(getattr(s.op, guilty(s)[0])), at=place)  # fmt: skip


def _cast_hint(value: Value) -> str | None:
    first = "cast to f16 or f32 first"
    match value.type:
        case Number():
            return f"{first}: `%wide = cast %{value.name} : {F16}`"
        case CoopMatrix() as type:
            return f"{first}: `%wide = cast %{value.name} : {replace(type, component=F16)}`"
        case MemRef():
            return f"{first}: `load` an element, or `cooperative_matrix_load` a tile, and `cast` that"
        case _:
            return first
