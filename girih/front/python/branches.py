"""`if`: names that a branch sets and that are read later become results."""

from __future__ import annotations

import ast
from collections.abc import Callable

from girih.front.python.calls import Calls
from girih.front.python.codes import PythonFault
from girih.front.python.emission import described
from girih.front.python.operands import Known, Memory, Operand, Part, Runtime, Unset
from girih.front.python.scopes import RESULT
from girih.ir.build import RegionBuilder
from girih.ir.core import Value
from girih.ir.types import Boolean, Type
from girih.lazy_dataclass import dataclass
from girih.source import Span


@dataclass(frozen=True, slots=True, eq=False)
class BranchWay:
    """One way through a branch: its region, and the names behind it."""

    builder: RegionBuilder
    names: dict[str, Operand]
    span: Span


class Branches(Calls):
    """The translator's part for branches at run time."""

    def branch(
        self, condition: Value, ways: tuple[Callable[[], None], Callable[[], None]], places: tuple[Span, Span],
        joined: frozenset[str], span: Span, at: Span,
    ) -> None:  # fmt: skip
        """An `if` of two ways through a part of the program; names in `joined` are read behind it."""
        before = dict(self.scope.names)
        then = self._way(ways[0], before, places[0])
        otherwise = self._way(ways[1], before, places[1])
        results: list[tuple[str, Type, Operand, Operand]] = []
        for name in sorted(set(then.names) | set(otherwise.names)):
            a, b = then.names.get(name), otherwise.names.get(name)
            if a is b and a is before.get(name) and a is not None:
                continue
            if name not in joined:
                self.scope.names[name] = _out_of_scope(name, span)
                continue
            found = self._join(name, a, b, (then.span, otherwise.span), condition)
            if isinstance(found, tuple):
                results.append((name, *found))
            else:
                self.scope.names[name] = found
        self._end(condition, (then, otherwise), results, span, at)

    def _way(self, translate: Callable[[], None], before: dict[str, Operand], span: Span) -> BranchWay:
        self.scope.names = dict(before)
        try:
            with self.region() as builder:
                translate()
        finally:
            names, self.scope.names = self.scope.names, dict(before)
        return BranchWay(builder, names, span)

    def _join(
        self, name: str, a: Operand | None, b: Operand | None, places: tuple[Span, Span], condition: Value
    ) -> tuple[Type, Operand, Operand] | Operand:
        """The type that a name has behind both ways, and what it is there; or what it stands for without a result."""
        missing = self._missing(name, a, b, places)
        if missing is not None:
            return missing
        assert a is not None and b is not None
        if a is b:
            return a
        if name == RESULT and _is_nothing(a) is not _is_nothing(b):
            gives = b if _is_nothing(a) else a
            return Unset(
                "return", f"the function gives {described(gives)} on one way, and nothing on another",
                "end every way with a `return` of a value", ((places[0 if gives is a else 1], "this way gives it"),),
            )  # fmt: skip
        if isinstance(a, Known) and isinstance(b, Known) and type(a.value) is type(b.value):
            if a.varies or b.varies:
                return Known(a.value, varies=True)
            if repr(a.value) == repr(b.value) and a.value == b.value:
                return a
        try:
            a, b = (self._as_value(operand, place) for operand, place in zip((a, b), places, strict=True))
            common = self.common_type(a, b, places, places[0])
        except PythonFault as found:
            if found.diagnostic is None:
                return Unset()
            labels = found.diagnostic.labels or ((places[0], described(a)), (places[1], described(b)))
            return Unset(
                found.diagnostic.code.removeprefix("python."),
                f"`{name}`: {found.diagnostic.message}",
                found.diagnostic.hint,
                labels,
            )
        if common is None:
            return a
        if isinstance(a, Known) and isinstance(b, Known) and not isinstance(common, Boolean):
            return self.choice(condition, a, b)
        return common, a, b

    def _missing(self, name: str, a: Operand | None, b: Operand | None, places: tuple[Span, Span]) -> Unset | None:
        """What a name stands for that one of two ways does not set; None where both set it."""
        for operand, other, place in ((a, b, places[1]), (b, a, places[0])):
            if isinstance(operand, Unset) and not operand.message:
                return operand
            if operand is None or isinstance(operand, Unset):
                if isinstance(other, Unset) or other is None:
                    return other or Unset()
                return Unset(
                    "unset",
                    f"`{name}` is not set on every way that leads here",
                    f"set it before the `if`, or in both branches: {name} = ...",
                    ((place, "this way sets it, the other one does not"),) if place.start < place.end else (),
                )
        return None

    def _as_value(self, operand: Operand, place: Span) -> Operand:
        """An operand of a branch as what it may give out of it; a view stays what it is, and is refused."""
        return operand if isinstance(operand, Memory | Part) else self.set(operand, place)

    def _end(
        self, condition: Value, ways: tuple[BranchWay, BranchWay], results: list[tuple[str, Type, Operand, Operand]],
        span: Span, at: Span,
    ) -> None:  # fmt: skip
        """Add the `if`, whose regions yield the values of names."""
        then, otherwise = ways
        if not results and not then.builder.ops and not otherwise.builder.ops:
            return
        if results:
            for way, side in ((then, 0), (otherwise, 1)):
                with self.reopened(way.builder):
                    values = [self.value((a, b)[side], type, way.span) for _, type, a, b in results]
                    self.add("yield", span=way.span, values=tuple(values))
        other = otherwise.builder.region(otherwise.span) if otherwise.builder.ops else None
        made = self.add("if", *(r[1] for r in results), span=span, uses={"condition": (at,)}, condition=condition,
                        then=then.builder.region(then.span), otherwise=other)  # fmt: skip
        for (name, *_, a, b), value in zip(results, made, strict=True):
            value.name = name if name.isascii() and name[0].isalpha() and name != "return" else ""
            self.scope.names[name] = Runtime(value, self._natural(a, b))


def _is_nothing(operand: Operand) -> bool:
    return isinstance(operand, Known) and operand.value is None


def _out_of_scope(name: str, span: Span) -> Unset:
    return Unset("unset", f"`{name}` is not kept behind this branch", None, ((span, "set here"),))


def place_of(body: list[ast.stmt], span: Callable[[ast.AST], Span], otherwise: Span) -> Span:
    """The place of some statements; another one where there are none."""
    if not body:
        return otherwise
    first, last = span(body[0]), span(body[-1])
    return Span(first.source, first.start, last.end)
