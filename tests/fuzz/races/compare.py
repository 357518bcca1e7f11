"""What the interpreter finds against what is known of a program: that it has no race, or what the brute force says."""

from __future__ import annotations

from dataclasses import dataclass, field

from girih.diagnostics import KernelError
from girih.interpreter.launch import launch
from girih.ir.core import Function
from girih.program import analyze
from girih.source import Source
from tests.fuzz.races.free import free_program
from tests.fuzz.races.kernel import LIMITS, Launch
from tests.fuzz.races.machine import Pair
from tests.fuzz.races.orders import Verdict, judge
from tests.fuzz.races.planted import planted_program
from tests.fuzz.races.state import NotJudged

MOST_STATES = 1500
"""The number of states that the brute force looks at before it leaves a program out."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a program, and where it is kept for those who look into it."""

    verdict: str
    """`right` and `not judged` are well; `accused`, `missed`, `missed in some orders` (not in that in which all keep in
    step), `other lines`, `found`, `not free` and `rejected` are defects."""
    text: str
    detail: str = ""
    features: frozenset[str] = field(default_factory=frozenset)
    races: bool = False

    @property
    def is_defect(self) -> bool:
        return self.verdict not in ("right", "not judged")


def compiled(program: Launch) -> Function:
    """The kernel of a program. Raises ValueError where the checker does not accept it."""
    module, problems = analyze(Source(program.text), None, LIMITS)
    if problems:
        raise ValueError(problems[0].render())
    return module.functions[0]


def found(function: Function, program: Launch) -> tuple[set[Pair], str]:
    """The lines of the races that the interpreter finds, and everything that it says."""
    try:
        launch(function, program.grid, list(program.arguments().values()), limits=LIMITS)
    except KernelError as error:
        pairs = set()
        for finding in error.findings:
            if finding.code == "run.race" and finding.other is not None:
                first, second = sorted((finding.other.span.line, finding.span.line))
                pairs.add((first, second))
        return pairs, str(error)
    return set(), ""


def free_holds(seed: int, *, confirmed: bool = False) -> Outcome:
    """What the interpreter says of a program free of races; `confirmed` asks the brute force, too."""
    program = free_program(seed)
    try:
        function = compiled(program)
    except ValueError as error:
        return Outcome("rejected", program.text, str(error))
    pairs, words = found(function, program)
    verdict = "accused" if pairs else "found" if words else "right"
    if confirmed and (told := _judged(function, program)) is not None and told.races:
        verdict, words = "not free", str(sorted(told.races))
    return Outcome(verdict, program.text, words, program.features)


def _judged(function: Function, program: Launch) -> Verdict | None:
    try:
        return judge(function, program.grid, program.arguments(), most=MOST_STATES)
    except NotJudged:
        return None


def planted_holds(seed: int, kind: str) -> Outcome:
    """What the interpreter says of a program with a bug of a kind, which may or may not make a race."""
    planted = planted_program(seed, kind)
    program = planted.launch
    try:
        function = compiled(program)
    except ValueError as error:
        return Outcome("rejected", program.text, str(error))
    told = _judged(function, program)
    pairs, words = found(function, program)
    if told is None:
        return Outcome("not judged", program.text)
    verdict, detail = "right", words
    if told.races and not pairs:
        verdict = "missed" if told.at_once else "missed in some orders"
        detail = f"races at lines {sorted(told.races)}"
    elif pairs and not told.races:
        verdict = "accused"
    elif told.fixed and not pairs <= told.races:
        verdict, detail = "other lines", f"{sorted(pairs - told.races)} are none\n{words}"
    return Outcome(verdict, program.text, f"the line was: {planted.line}\n{detail}", program.features, bool(told.races))


def bug_holds(seed: int, kind: str) -> list[Outcome]:
    """What the interpreter says of programs with a bug, the last of which is the first one with a race."""
    outcomes = [planted_holds(seed * 1000, kind)]
    while not outcomes[-1].races:
        outcomes.append(planted_holds(seed * 1000 + len(outcomes), kind))
    return outcomes
