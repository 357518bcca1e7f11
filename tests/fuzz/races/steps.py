"""A function as a flat list of steps: branches and loops are jumps, and each step knows which values are still needed.

A place in the function is then one number, so that the state of a work-item can be copied and compared.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum, auto

from girih.ir.core import Function, Op, Region, Value
from girih.ops.tile.control import For, Foreach, ForeachTile, If, Parallel, Yield


class Kind(Enum):
    """What a step does."""

    EXECUTE = auto()
    MOVE = auto()
    BRANCH = auto()
    """Go to `to` where the first source is false."""
    TEST = auto()
    """Go to `to` where the first source is not below the second."""
    ADVANCE = auto()
    """Add the second source, or 1, to the first."""
    JUMP = auto()
    REGION = auto()
    """Let work-items, points or tiles execute what follows up to END; the work-group goes on at `to`."""
    END = auto()


@dataclass(slots=True)
class Step:
    """One step; `to` is the number of another one."""

    kind: Kind
    op: Op
    targets: tuple[Value, ...] = ()
    sources: tuple[Value, ...] = ()
    to: int = -1
    needed: tuple[Value, ...] = ()
    """The values that this step or later ones read."""


@dataclass(slots=True)
class _Steps:
    steps: list[Step] = field(default_factory=list)

    def add(self, kind: Kind, op: Op, targets: Iterable[Value] = (), sources: Iterable[Value] = ()) -> Step:
        step = Step(kind, op, tuple(targets), tuple(sources))
        self.steps.append(step)
        return step

    def here(self) -> int:
        return len(self.steps)

    def region(self, region: Region | None, owner: Op, results: tuple[Value, ...]) -> None:
        """The instructions of a region; what it yields goes to `results`."""
        for op in region.ops if region is not None else ():
            match op:
                case If():
                    self._branch(op)
                case For():
                    self._loop(op)
                case Parallel() | Foreach() | ForeachTile():
                    begin = self.add(Kind.REGION, op, op.bindings, op.operands)
                    self.region(op.body, op, ())
                    self.add(Kind.END, op)
                    begin.to = self.here()
                case Yield():
                    self.add(Kind.MOVE, owner, results, op.values)
                case _:
                    self.add(Kind.EXECUTE, op, op.results, op.operands)

    def _branch(self, op: If) -> None:
        branch = self.add(Kind.BRANCH, op, (), (op.condition,))
        self.region(op.then, op, op.results)
        over = self.add(Kind.JUMP, op)
        branch.to = self.here()
        self.region(op.otherwise, op, op.results)
        over.to = self.here()

    def _loop(self, op: For) -> None:
        self.add(Kind.MOVE, op, (op.variable, *op.carried), (op.start, *op.initial))
        begin = self.here()
        test = self.add(Kind.TEST, op, (), (op.variable, op.stop))
        self.region(op.body, op, op.carried)
        self.add(Kind.ADVANCE, op, (op.variable,), (op.variable, *([op.step] if op.step else [])))
        self.add(Kind.JUMP, op).to = begin
        test.to = self.here()
        self.add(Kind.MOVE, op, op.results, op.carried)


def flat(function: Function) -> list[Step]:
    """The steps of a function; one number behind the last is the end."""
    made = _Steps()
    made.region(function.body, function.body.ops[0], ())
    _find_needed(made.steps)
    return made.steps


def _find_needed(steps: list[Step]) -> None:
    needed: list[frozenset[Value]] = [frozenset()] * (len(steps) + 1)
    changed = True
    while changed:
        changed = False
        for number in range(len(steps) - 1, -1, -1):
            step = steps[number]
            behind = frozenset[Value]()
            for successor in _successors(steps, number):
                behind |= needed[successor]
            here = (behind - frozenset(step.targets)) | frozenset(step.sources)
            if here != needed[number]:
                needed[number], changed = here, True
    for step, values in zip(steps, needed, strict=False):
        step.needed = tuple(sorted(values, key=lambda value: value.name))


def _successors(steps: list[Step], number: int) -> tuple[int, ...]:
    step = steps[number]
    if step.kind is Kind.END:
        return ()
    if step.kind is Kind.JUMP:
        return (step.to,)
    return (number + 1, step.to) if step.kind in (Kind.BRANCH, Kind.TEST, Kind.REGION) else (number + 1,)
