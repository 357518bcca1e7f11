"""Builders of programs, for those who have no text to parse.

    body = RegionBuilder(TILE_LANGUAGE)
    (size,) = body.add("size", INDEX, tensor=a.value, mode=0)
    module = Module((body.function("f", [a]),))

Fields have the names that the instruction's class gives them; what may be left out in the text may be left out here.
A program is not checked while it is built: `girih.ir.check.check_module` does that. A span, where the caller has one,
is the place that a part of the program comes from; diagnostics point there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from girih.ir.core import EMPTY, Dictionary, Function, Op, Parameter, Region, RegionKind, Value
from girih.ir.define import Annotation, Attributes, Binding, Body, Modifier, Operand, Result, Role, Spec
from girih.ir.language import Language
from girih.ir.types import Type
from girih.source import NOWHERE, Span

NOTHING = object()


class RegionBuilder:
    """A region under construction, to which instructions are added one after the other."""

    def __init__(self, language: Language, kind: RegionKind | None = None) -> None:
        """An empty region of a kind; without a kind, the body of a function in the language."""
        self.language = language
        self.kind = kind or language.body
        self.ops: list[Op] = []

    def add(
        self,
        mnemonic: str,
        *types: Type,
        names: Sequence[str] = (),
        span: Span = NOWHERE,
        uses: Mapping[str, tuple[Span, ...]] | None = None,
        **fields: Any,
    ) -> tuple[Value, ...]:
        """The results of a new instruction, which is added to the region: one value for each of `types`.

        Results without a name in `names` are numbered when printed. `span` is the place of the instruction and its
        results, `uses` those of its fields. Raises `KeyError` for an unknown mnemonic, and `TypeError` for a type that
        the language does not have and for a field that is missing or unknown.
        """
        cls = self.language.ops[mnemonic]
        spec = cls.spec
        foreign = [type for type in types if not self.language.has_type(type)]
        if foreign:
            raise TypeError(f"the language {self.language.name} has no type {foreign[0]}")
        results = tuple(Value(names[k] if k < len(names) else "", t, span) for k, t in enumerate(types))
        singles = _singles(mnemonic, spec, results)
        values: dict[str, Any] = {}
        for name, role in spec.roles.items():
            field = fields.pop(name, NOTHING)
            if isinstance(role, Result):
                field = results if role.many else next(singles)
            values[name] = _default(mnemonic, name, role) if field is NOTHING else field
        if fields:
            raise TypeError(f"`{mnemonic}` has no field {', '.join(fields)}; it has {', '.join(spec.roles)}")
        self.ops.append(cls(span=span, uses={} if uses is None else uses, **values))
        return results

    def inner(self, kind: RegionKind | None = None) -> RegionBuilder:
        """A builder for a region inside this one, of the same kind unless another is given."""
        return RegionBuilder(self.language, kind or self.kind)

    def region(self, span: Span = NOWHERE) -> Region:
        """The region with the instructions that were added so far."""
        return Region(self.kind, tuple(self.ops), span)

    def function(
        self, name: str, parameters: Sequence[Parameter], attributes: Dictionary = EMPTY, *, span: Span = NOWHERE
    ) -> Function:
        """A function whose body is the region with the instructions that were added so far."""
        return Function(name, self.language, tuple(parameters), self.region(span), attributes, span)


def parameter(name: str, type: Type, attributes: Dictionary = EMPTY, *, span: Span = NOWHERE) -> Parameter:
    """A parameter for a function; its `value` is an operand of instructions in the body."""
    return Parameter(Value(name, type, span), attributes)


def _singles(mnemonic: str, spec: Spec, results: tuple[Value, ...]) -> Iterator[Value]:
    """The values for results that are not lists, in order. Raises `TypeError` if there are more or fewer of them."""
    roles = [spec.roles[name] for name in spec.results]
    wanted = sum(isinstance(role, Result) and not role.many for role in roles)
    if wanted and wanted != len(results):
        one = "one value; give it one type" if wanted == 1 else f"{wanted} values; give it as many types"
        raise TypeError(f"`{mnemonic}` returns {one}, not {len(results)}")
    return iter(results)


def _default(mnemonic: str, name: str, role: Role) -> Any:
    """The value of a field that was not given. Raises `TypeError` if it may not be left out."""
    match role:
        case Modifier(required=False):
            return role.default
        case Attributes():
            return EMPTY
        case Operand(many=True) | Binding(many=True):
            return ()
        case Operand(optional=True) | Body(optional=True) | Binding(optional=True) | Annotation():
            return None
        case _:
            raise TypeError(f"`{mnemonic}` needs the field {name}")
