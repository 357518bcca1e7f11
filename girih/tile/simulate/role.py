"""What all roles do: go through their steps for one work-group after the other, and compute scalars."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from girih.arguments.printed import PrintedLines
from girih.interpreter.machine.choices import Choices
from girih.interpreter.machine.findings import Findings
from girih.interpreter.machine.machine import LaunchGeometry, Machine
from girih.interpreter.machine.numbers import dtype
from girih.interpreter.machine.values import GroupValue, MapValue, MemRefValue
from girih.ir.core import Op, RegionKind, Value
from girih.ir.types import Number
from girih.lazy_dataclass import dataclass
from girih.tile.form import Choose, Compute, Coordinate, Repeat, Steps, TileKernel, TileStep
from girih.tile.show import StepWords
from girih.tile.simulate.barriers import PhaseBarrier, Turns
from girih.tile.simulate.copies import EncodedMap
from girih.tile.simulate.engine import RoleSteps, Running
from girih.tile.simulate.faults import ScheduleFault
from girih.tile.simulate.matrices import execute
from girih.tile.simulate.memory import SharedBytes, StoredBytes
from girih.tile.simulate.order import Triple

MOST_STEPS = 10_000_000
"""Instructions that a role may execute on scalars in a work-group."""


@dataclass(slots=True, eq=False)
class TileLaunch:
    """A launch of a tile kernel: its arguments as values of the machine, maps, and what was found."""

    kernel: TileKernel
    geometry: LaunchGeometry
    values: Sequence[np.ndarray | MemRefValue | GroupValue | MapValue]
    maps: Mapping[str, EncodedMap]
    choices: Choices
    findings: Findings = field(default_factory=Findings)
    constants: dict[Value, object] = field(default_factory=dict)
    offered: dict[tuple[Triple, int], dict[int, list[np.ndarray]]] = field(default_factory=dict)
    """By work-group and consumer: the sums of the parts of the depth that were offered."""

    def machine(self, place: Triple) -> Machine:
        """A machine for scalars and matrices of one work-group; what it finds is dropped unless a step says more."""
        function, grid = self.kernel.function, self.geometry.grid
        number = place[0] + grid[0] * (place[1] + grid[1] * place[2])
        machine = Machine(
            function, self.geometry, np.array([number], np.int64), Findings(), self.choices, MOST_STEPS, self.constants,
            PrintedLines(0), None,
        )  # fmt: skip
        machine.kind = RegionKind.SPMD
        machine.env.update(zip((parameter.value for parameter in function.parameters), self.values, strict=True))
        return machine


@dataclass(slots=True, eq=False)
class RingRun:
    """A ring in execution: where it lies, its barriers, and the mark of what fills each slot, by the number of the
    supply."""

    begin: int
    full: list[PhaseBarrier]
    empty: list[PhaseBarrier]
    marks: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class CtaRun:
    """What the roles of a CTA share."""

    launch: TileLaunch
    work: Sequence[tuple[Triple, int]]
    shared: SharedBytes
    stored: StoredBytes
    running: Running
    rings: Mapping[str, RingRun]
    turns: Turns
    words: StepWords
    counts: dict[tuple[int, str], tuple[str, int]] = field(default_factory=dict)
    """By the number of a work-group in the CTA and a ring: which role was through it first, and how often it supplied
    or awaited the ring."""

    @staticmethod
    def of(launch: TileLaunch, work: Sequence[tuple[Triple, int]]) -> CtaRun:
        """A CTA that executes some work-groups, before it begins."""
        kernel = launch.kernel
        shared, consumers, blocks = SharedBytes(kernel), kernel.consumers.warpgroups, kernel.block_rings
        rings = {
            ring.name: RingRun(
                shared.layout.rings[ring.name],
                [PhaseBarrier(f"`full` of slot {slot} of {ring.name}", 1) for slot in range(ring.slots)],
                [
                    PhaseBarrier(f"`empty` of slot {slot} of {ring.name}", 1 if ring.name in blocks else consumers)
                    for slot in range(ring.slots)
                ],
            )
            for ring in kernel.rings
        }
        words = StepWords(kernel)
        return CtaRun(launch, work, shared, StoredBytes(consumers), Running(), rings, Turns(consumers), words)

    def balance(self, role: str, work_group: int, ring: str, count: int) -> None:
        """Check that a role supplied or awaited a ring as often as others did in the same work-group."""
        other, before = self.counts.setdefault((work_group, ring), (role, count))
        if count != before:
            raise ScheduleFault("balance", f"{role} goes through {count} slots of {ring}, but {other} through {before}")


class RoleRun(ABC):
    """A role of a CTA in execution."""

    def __init__(self, name: str, cta: CtaRun, steps: Steps) -> None:
        self.name, self.cta, self.body = name, cta, steps
        self.kernel = cta.launch.kernel
        self.work_group = 0
        self.place_in_grid: Triple = (0, 0, 0)
        self.part = 0
        self._trail: list[str] = []

    def run(self) -> RoleSteps:
        """The role's steps in all work-groups."""
        for number, (place, part) in enumerate(self.cta.work):
            self.work_group, self.place_in_grid, self.part = number, place, part
            self.machine = self.cta.launch.machine(place)
            self._trail = [f"{self.name}, work-group {place}"]
            if self.kernel.parts is not None:
                self.machine.env[self.kernel.parts.number] = np.full((1, 1, 1), part, np.int64)
                self._trail[0] += f", part {part}"
            self.begin()
            yield from self._steps(self.body)
            yield None
            self._trail = self._trail[:1]
            try:
                self.end()
                for ring, count in self.counts().items():
                    self.cta.balance(self.name, number, ring, count)
            except ScheduleFault as fault:
                raise self._placed(fault) from None

    @abstractmethod
    def begin(self) -> None:
        """Begin a work-group."""

    @abstractmethod
    def end(self) -> None:
        """Check what must hold when a work-group ends."""

    @abstractmethod
    def counts(self) -> Mapping[str, int]:
        """How many slots of each ring the work-group went through."""

    @abstractmethod
    def step(self, step: TileStep) -> RoleSteps:
        """A step that others can notice, or that has to do with matrices."""

    def fault(self, rule: str, what: str) -> ScheduleFault:
        """The fault that a rule is broken here."""
        return ScheduleFault(rule, what, self.where)

    @property
    def where(self) -> str:
        """The role, the work-group, the loops with their iterations, and the step."""
        return ", ".join(self._trail)

    def _placed(self, fault: ScheduleFault) -> ScheduleFault:
        """A fault that says where it is."""
        return fault if fault.where else self.fault(fault.rule, fault.what)

    # --- steps ---------------------------------------------------------------------------------

    def _steps(self, steps: Steps) -> RoleSteps:
        for step in steps:
            self._trail.append(self.cta.words.of(step))
            try:
                match step:
                    case Compute(op):
                        self.execute(op)
                    case Repeat():
                        self._trail.pop()
                        yield from self._repeat(step)
                        self._trail.append("")
                    case Choose():
                        self._trail.pop()
                        yield from self._choose(step)
                        self._trail.append("")
                    case _:
                        yield from self.step(step)
            except ScheduleFault as fault:
                raise self._placed(fault) from None
            self._trail.pop()

    def _repeat(self, step: Repeat) -> RoleSteps:
        start, stop = self.number(step.start), self.number(step.stop)
        distance = 1 if step.step is None else self.number(step.step)
        env = self.machine.env
        carried = [self.scalar(one.initial) for one in step.carried]
        type = step.variable.type
        assert isinstance(type, Number)
        for trip in range(start, stop, distance) if distance > 0 else ():
            env[step.variable] = np.full((1, 1, 1), trip, dtype(type))
            env.update(zip((one.value for one in step.carried), carried, strict=True))
            self._trail.append(f"{self.cta.words.name(step.variable)} = {trip}")
            yield from self._steps(step.body)
            self._trail.pop()
            carried = [self.scalar(one.next) for one in step.carried]
        env.update(zip((one.result for one in step.carried), carried, strict=True))

    def _choose(self, step: Choose) -> RoleSteps:
        chosen = bool(np.asarray(self.scalar(step.condition)).flat[0])
        yield from self._steps(step.then if chosen else step.otherwise)
        for one in step.results:
            self.machine.env[one.result] = self.scalar(one.then if chosen else one.otherwise)

    # --- scalars -------------------------------------------------------------------------------

    def execute(self, op: Op) -> None:
        """Execute an instruction on scalars or memrefs."""
        try:
            execute(self.machine, op)
        except KeyError as error:
            raise self._unknown(error.args[0]) from None

    def scalar(self, value: Value) -> object:
        """What a value is."""
        if value not in self.machine.env:
            raise self._unknown(value)
        return self.machine.env[value]

    def number(self, value: Coordinate) -> int:
        """What a whole number is."""
        return value if isinstance(value, int) else int(np.asarray(self.scalar(value)).flat[0])

    def place(self, at: Sequence[Coordinate], *moved: Sequence[int]) -> list[int]:
        """The coordinates of a box, moved."""
        begin = [self.number(coordinate) for coordinate in at]
        return [first + sum(steps) for first, *steps in zip(begin, *moved, strict=True)]

    def _unknown(self, value: object) -> Exception:
        if not isinstance(value, Value):
            return KeyError(value)
        return ScheduleFault("value", f"{self.cta.words.name(value)} is not computed by this role before")
