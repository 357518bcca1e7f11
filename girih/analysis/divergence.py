"""Instructions that several work-items execute together, and to which not all of them come, or with other operands.

Guarantees: what is an error happens in every launch in which anybody comes to the instruction. A warning says that
the program does not exclude it: work-items may part on the way, at a place that the labels lead back to. An instruction
to which the same work-items come in all of the group that executes it, as far as uniformity tells, is never reported.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.analysis.arrivals import Coming, Verdict, groups_of, trips_of, verdict_on
from girih.analysis.reasons import reasons_of_turn, reasons_of_value, way_out
from girih.analysis.sizes import possible_subgroup_sizes
from girih.analysis.suspicions import SharedOperand, Suspicion, needed
from girih.analysis.uniformity import Uniformities
from girih.analysis.work_items import Allowance, Evaluation, Held
from girih.diagnostics import Diagnostic
from girih.ir.core import Region, Value
from girih.ir.limits import DEFAULT_LIMITS, DeviceLimits
from girih.ir.types import MatrixScope
from girih.ops.tile.control import For

_WORDS = {MatrixScope.WORK_GROUP: "work-group", MatrixScope.SUBGROUP: "subgroup"}


def divergences(
    suspicions: Sequence[Suspicion], uniformities: Uniformities, limits: DeviceLimits | None = None
) -> list[Diagnostic]:
    """The diagnostics `MNEMONIC.divergent` and `MNEMONIC.not_uniform` about the suspicious instructions of a function.

    `limits` are those of a target, by default of none in particular.
    """
    judge = _Judge(uniformities, possible_subgroup_sizes(uniformities.function, limits or DEFAULT_LIMITS))
    judged = (judge.agreement(s) if s.operands else judge.coming(s) for s in suspicions)
    return [diagnostic for diagnostic in judged if diagnostic is not None]


class _Judge:
    """What decides about the suspicions of one function; `sizes` are the subgroup sizes that are possible."""

    def __init__(self, uniformities: Uniformities, sizes: Sequence[int]) -> None:
        self._uniformities = uniformities
        self._sizes = sizes
        self._allowance = Allowance()
        self._verdicts: dict[tuple[Region, MatrixScope], Verdict] = {}

    def coming(self, suspicion: Suspicion) -> Diagnostic | None:
        """The diagnostic of an instruction that some miss, or may miss."""
        path, who = suspicion.path, suspicion.who
        key = path[-1].region, who
        if key not in self._verdicts:
            self._verdicts[key] = verdict_on(path, who, self._uniformities, self._sizes, self._allowance)
        verdict = self._verdicts[key]
        return None if verdict.coming is Coming.ALL else self._missed(suspicion, verdict)

    def _missed(self, suspicion: Suspicion, verdict: Verdict) -> Diagnostic:
        op, words, enough = suspicion.op, _WORDS[suspicion.who], needed(suspicion.who)
        certain = verdict.coming is Coming.NEVER_ALL
        if verdict.witness is not None:
            misses, comes = verdict.witness
            came = f"{misses} does not come to it where {comes} does"
        else:
            came = f"some {'' if certain else 'may '}come to it without the others"
        guilty = [turn for turn in suspicion.path if turn.uniformity(self._uniformities) > enough]
        labels = [(op.span, "")]
        for turn in guilty:
            labels += reasons_of_turn(turn, self._uniformities, enough, words)
        return Diagnostic(
            f"{op.spec.mnemonic}.divergent",
            f"expected: all work-items of the {words} come to it; found: {came}",
            op.span,
            "error" if certain else "warning",
            tuple(labels),
            way_out(guilty[0]),
        )

    def agreement(self, suspicion: Suspicion) -> Diagnostic | None:
        """The diagnostic of an instruction to which all come, with an operand that certainly is not the same."""
        for operand in suspicion.operands:
            came = self._difference(suspicion, operand[2])
            if came is not None:
                return self._differing(suspicion, operand, came)
        return None

    def _difference(self, suspicion: Suspicion, value: Value) -> str | None:
        """What differs, if a value certainly does with each possible subgroup size; None otherwise."""
        words: str | None = None
        for size in self._sizes:
            words = None
            for group in groups_of(self._uniformities, suspicion.who, size):
                e = Evaluation(group, self._uniformities, self._allowance, {})
                words = words or (_uneven(suspicion.op, e) if isinstance(suspicion.op, For) else _different(e, value))
            if words is None:
                return None
        return words

    def _differing(self, suspicion: Suspicion, operand: SharedOperand, came: str) -> Diagnostic:
        (name, number, value), op, words = operand, suspicion.op, _WORDS[suspicion.who]
        spans = op.uses.get(name, ())
        span = spans[number] if number < len(spans) else op.span
        labels = [(span, f"differs between the work-items of the {words}")]
        labels += reasons_of_value(value, self._uniformities, needed(suspicion.who))
        return Diagnostic(
            f"{op.spec.mnemonic}.not_uniform",
            f"expected: `{name}` is the same in the whole {words}; found: {came}",
            span,
            "error",
            tuple(labels),
            "compute it from what all share, or take that of one work-item with `subgroup_broadcast`",
        )


def _different(e: Evaluation, value: Value) -> str | None:
    """Two work-items with different numbers, in words; None where no such two are known."""
    held: Held = e.of(value)
    if not held.certainly_differs:
        return None
    first, name = held.numbers[0], e.work_items.named
    other = next((k for k, n in enumerate(held.numbers) if n is not None and n != first), None)
    if first is None or other is None or held.symbol is not None:
        return "no two work-items need have the same"
    return f"it is {_shown(first)} in {name(0)} and {_shown(held.numbers[other])} in {name(other)}"


def _shown(number: bool | int | float | None) -> str:
    return str(number).lower() if isinstance(number, bool) else str(number)


def _uneven(op: For, e: Evaluation) -> str | None:
    """How often two work-items execute a loop, in words, if that is known and differs."""
    counts = trips_of(op, e).counts
    if counts is None or len(set(counts)) == 1:
        return None
    other = next(k for k, n in enumerate(counts) if n != counts[0])
    name = e.work_items.named
    return f"{name(0)} makes {counts[0]} iterations and {name(other)} makes {counts[other]}"
