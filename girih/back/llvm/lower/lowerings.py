"""The lowerings of a target as a value: rules by instruction, carriers by type, refusals with their reason.

A file of lowerings fills a table of its own, `LOWERINGS`; a target joins the tables of the files that it uses, those of
`girih.back.llvm.lower` (`table.GENERIC`) and its own:

    LOWERINGS = Lowerings[KernelCode]()

    @LOWERINGS.of(Barrier)
    def barrier(code: KernelCode, op: Barrier) -> None: ...

    @LOWERINGS.of(Cast, giving=CoopMatrix)        # where the result is a matrix, and another rule for scalars
    def cast(code: CpuCode, op: Cast) -> None: ...

Two tables with a rule for the same instruction cannot be joined: neither wins by order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from girih.back.llvm.emit.text import Val
from girih.diagnostics import CompileError, Diagnostic
from girih.facts import findings
from girih.ir.core import Function, Op, Value
from girih.ir.types import CoopMatrix, Type

C = TypeVar("C", contravariant=True)
Instruction = TypeVar("Instruction", bound=Op)


class Carrier(Protocol[C]):
    """The way of a value through phis: around a loop, or out of a branch."""

    def enter(self, code: C, held: Any) -> list[Val]:
        """The values for the phis."""

    def join(self, code: C, mask: Val, held: Any, before: Sequence[Val] | None) -> list[Val]:
        """The values for the phis where the work-items of a mask have a value, and others what has come `before`.

        Without that, nobody has come before.
        """

    def inside(self, code: C, values: Sequence[Val]) -> Any:
        """The value that the phis stand for."""

    def blank(self, code: C) -> list[Val]:
        """Values for the phis of a value that nobody has."""


class Lowerings(Generic[C]):
    """Rules for the code `C` of a target, and of those that extend it."""

    def __init__(self) -> None:
        self._rules: dict[type[Op], Callable[[C, Any], None]] = {}
        self._giving: dict[type[Op], dict[type[Type], Callable[[C, Any], None]]] = {}
        self._carriers: dict[type[Type], Callable[[C, Value], Carrier[C]]] = {}
        self._refused: dict[type[Op] | type[Type], str] = {}
        self._again: dict[type[Type], Callable[[C, Any], Callable[[], None] | None]] = {}
        self.decisions: dict[type[Op], Callable[[Any, Any, Any], None]] = {}
        """What says which checks of an instruction are decided in front of a loop (`lower.versions`)."""

    # --- filling -------------------------------------------------------------------------

    def of(
        self, *ops: type[Op], giving: type[Type] | None = None
    ) -> Callable[[Callable[[C, Instruction], None]], Callable[[C, Instruction], None]]:
        """The decorator that enters the lowering of instructions; with `giving`, of those with results of that type."""

        def enter(rule: Callable[[C, Instruction], None]) -> Callable[[C, Instruction], None]:
            for op in ops:
                if giving is None:
                    _put(self._rules, op, rule)
                else:
                    _put(self._giving.setdefault(op, {}), giving, rule)
            return rule

        return enter

    def carry(self, carrying: Callable[[C, Value], Carrier[C]], *types: type[Type]) -> None:
        """Enter the carrier of values of some types."""
        for type in types:
            _put(self._carriers, type, carrying)

    def again(self, rule: Callable[[C, Any], Callable[[], None] | None], *types: type[Type]) -> None:
        """Enter what lets a loop with values of some types be written twice (`written_again`)."""
        for type in types:
            _put(self._again, type, rule)

    def decide(self, rule: Callable[[Any, Any, Any], None], *ops: type[Op]) -> None:
        """Enter what decides checks of some instructions in front of a loop."""
        for op in ops:
            _put(self.decisions, op, rule)

    def refuse(self, reason: str, *what: type[Op] | type[Type]) -> None:
        """Enter instructions that the target cannot execute, or types that no result may have, with the reason."""
        for one in what:
            _put(self._refused, one, reason)

    def joined(self, *others: Lowerings[C]) -> Lowerings[C]:
        """A table with the rows of several. Raises `ValueError` if two have one for the same instruction."""
        joined: Lowerings[C] = Lowerings()
        for table in (self, *others):
            for own, theirs in (
                (joined._rules, table._rules),
                (joined._carriers, table._carriers),
                (joined._again, table._again),
                (joined.decisions, table.decisions),
            ):
                for key, row in theirs.items():
                    _put(own, key, row)
            for what, reason in table._refused.items():
                _put(joined._refused, what, reason)
            for op, rows in table._giving.items():
                for type, rule in rows.items():
                    _put(joined._giving.setdefault(op, {}), type, rule)
        return joined

    def replaced(self, other: Lowerings[C]) -> Lowerings[C]:
        """A table with these rows, but for the instructions for which another table has rules: those stand instead.

        What is refused here is not refused where the other table has a rule for it.
        """
        kept: Lowerings[C] = Lowerings()
        kept._carriers = dict(self._carriers)
        kept._refused = {what: reason for what, reason in self._refused.items() if what not in other._rules}
        kept._again, kept.decisions = dict(self._again), dict(self.decisions)
        kept._rules = {op: rule for op, rule in self._rules.items() if op not in other._rules}
        kept._giving = {op: dict(rows) for op, rows in self._giving.items()}
        return kept.joined(other)

    # --- reading -------------------------------------------------------------------------

    def __contains__(self, op: type[Op]) -> bool:
        return op in self._rules or op in self._refused

    def rules(self, op: type[Op]) -> list[Callable[[C, Any], None]]:
        """The lowerings of an instruction: for results of any type, and for those of some types."""
        always = [self._rules[op]] if op in self._rules else []
        return [*always, *self._giving.get(op, {}).values()]

    def rule(self, op: Op) -> Callable[[C, Any], None]:
        """The lowering of an instruction. Raises `KeyError` if there is none."""
        special = self._giving.get(type(op))
        if special is not None:
            rule = special.get(type(op.results[0].type))
            if rule is not None:
                return rule
        return self._rules[type(op)]

    def carrier(self, code: C, value: Value) -> Carrier[C]:
        """The carrier of a value."""
        return self._carriers[type(value.type)](code, value)

    def written_again(self, code: C, op: Op) -> Callable[[], None] | None:
        """What sets back what writing a loop changes of the matrices that are known before it; None where it cannot.

        A loop may be written twice if that is called in between.
        """
        rule = self._again.get(CoopMatrix)
        return None if rule is None else rule(code, op)

    def reason_against(self, op: type[Op]) -> str | None:
        """Why the target cannot execute an instruction, whatever its operands; None if it can."""
        return self._refused.get(op)

    def refusals(self, function: Function) -> Iterator[tuple[Op, str]]:
        """The instructions of a function that the target refuses or has no lowering for, with the reason."""
        for op in function.walk():
            results = [value.type for value in op.results]
            reasons = [self._refused.get(type(op)), *(self._refused.get(type(one)) for one in results)]
            reason = next((known for known in reasons if known is not None), None)
            if reason is None and not self._lowers(op, results):
                types = " and ".join(map(str, results))
                reason = f"it has no lowering for results of type {types}" if types else "it has no lowering"
            if reason is not None:
                yield op, reason

    def _lowers(self, op: Op, results: Sequence[Type]) -> bool:
        return type(op) in self._rules or any(type(one) in self._giving.get(type(op), {}) for one in results[:1])


def refuse_unknown(function: Function, lowerings: Lowerings[Any], target: str) -> None:
    """Raises `CompileError` (`run.target`) with every instruction of a function that a target refuses or lacks.

    A target asks this before it lowers anything.
    """
    refused = [(findings.refused(op, target, reason), op.span) for op, reason in lowerings.refusals(function)]
    if refused:
        raise CompileError([Diagnostic(words.code, words.message, span) for words, span in refused])


def _put(rows: dict[Any, Any], key: Any, row: Any) -> None:
    if key in rows:
        raise ValueError(f"there are two rows for {key.__name__}")
    rows[key] = row
