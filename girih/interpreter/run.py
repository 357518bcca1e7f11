"""The execution of a launch whose arguments are bound: all work-groups, batch by batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from importlib import import_module
from math import prod

import girih.interpreter.tile.arith
import girih.interpreter.tile.atomics
import girih.interpreter.tile.builtin
import girih.interpreter.tile.control
import girih.interpreter.tile.coopmatrix
import girih.interpreter.tile.coopmatrix_blocked
import girih.interpreter.tile.coopmatrix_regions
import girih.interpreter.tile.coopmatrix_tensor
import girih.interpreter.tile.linalg
import girih.interpreter.tile.memory
import girih.interpreter.tile.printing
import girih.interpreter.tile.subgroup
import girih.interpreter.tile.tensor_layout
import girih.interpreter.tile.tensor_map  # noqa: F401  (these fill MEANINGS)
from girih.analysis.prints import MOST_LINES
from girih.arguments.printed import PrintedLines
from girih.diagnostics import Finding
from girih.facts.findings import budget
from girih.interpreter.machine import numbers
from girih.interpreter.machine.choices import Choices
from girih.interpreter.machine.findings import Findings
from girih.interpreter.machine.following import follow_argument
from girih.interpreter.machine.machine import BudgetSpent, LaunchGeometry, Machine, Meaning
from girih.interpreter.machine.values import Array, GroupValue, MapValue, MemRefValue
from girih.interpreter.races.handovers import Item
from girih.interpreter.races.races import Races
from girih.interpreter.races.stamps import TICK_BITS
from girih.ir import core
from girih.ir.core import Function, Op
from girih.ir.types import CoopMatrix, MemRef, Number, PrivateArrayType
from girih.lazy_dataclass import dataclass
from girih.ops.tile import TILE_LANGUAGE
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply
from girih.ops.tile.memory import Alloca

DEFAULT_STEPS = 10_000_000
"""Instructions that a batch of work-groups may execute, if the launch does not say."""

_BATCH_BYTES = 16 * 2**20
_BATCH_LANES = 2**15
_BATCH_GROUPS = 2**12
_ORDERED = 2**20
"""The number of work-groups whose order is drawn at a time."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Execution:
    """A kernel, its bound arguments, and the sizes, choices and largest number of instructions of its launch."""

    function: Function
    geometry: LaunchGeometry
    arguments: Sequence[Array | MemRefValue | GroupValue | MapValue]
    choices: Choices
    max_steps: int
    races: bool = True
    """Whether races are looked for."""
    hand_overs: set[tuple[Item, Item]] = field(default_factory=set)
    """Who may have waited for whom, filled by the search for races: work-groups and work-items by their numbers."""
    lines: PrintedLines = field(default_factory=lambda: PrintedLines(MOST_LINES))
    """What the kernel prints."""


def execute(run: Execution, progress: Progress | None = None) -> Sequence[Finding]:
    """The findings of a run of all work-groups, which changes the memories of the arguments.

    An interrupt says in a note what was found until then.
    """
    if run.function.language is not TILE_LANGUAGE:
        # What fills MEANINGS for another language is loaded where that is executed.
        import_module("girih.interpreter.device")
    findings = Findings()
    try:
        _execute(run, findings, progress)
    except KeyboardInterrupt as interrupt:
        if findings:
            interrupt.add_note("\n\n".join(["found until then:", *(finding.render() for finding in findings.all())]))
        raise
    return findings.all()


def _execute(run: Execution, findings: Findings, progress: Progress | None) -> None:
    constants: dict[core.Value, object] = {}
    total = prod(run.geometry.grid)
    done = 0
    races = _races(run, findings) if run.races else None
    adapt = _number_adapter(run)
    with numbers.quiet():
        for groups in _batches(run, total):
            machine = Machine(run.function, run.geometry, groups, findings, run.choices, run.max_steps, constants,
                              run.lines, races, adapt)  # fmt: skip
            machine.env.update(zip((p.value for p in run.function.parameters), run.arguments, strict=True))
            try:
                machine.run()
            except BudgetSpent as spent:
                findings.add(_budget(run, machine, spent.loop))
                break
            done += len(groups)
            if progress is not None:
                progress(done, total)
    if races is not None:
        run.hand_overs.update(races.hand_overs.pairs())


def _number_adapter(run: Execution) -> Callable[[Op, Meaning], Meaning] | None:
    """What lets numbers go other ways; loaded where a function says that there are some."""
    if run.function.latitude is None:
        return None
    from girih.interpreter.latitude import number_adapter

    return number_adapter(run.function, run.choices)


def _races(run: Execution, findings: Findings) -> Races | None:
    """The search for races; None where there is nothing that the kernel writes."""
    geometry = run.geometry
    races = Races(
        run.function,
        geometry.grid,
        geometry.subgroups,
        geometry.subgroup_size,
        run.max_steps,
        findings.add,
        dealt=not run.choices.varies,
        tick_bits=TICK_BITS,
    )
    if not any(place.writes for place in races.accesses.places):
        return None
    for parameter, value in zip(run.function.parameters, run.arguments, strict=True):
        follow_argument(races, parameter.value, value)
    return races


def _batches(run: Execution, total: int) -> Iterator[Array]:
    most = batch_size(run.function, run.geometry)
    for first in range(0, total, _ORDERED):
        order = first + run.choices.order(min(_ORDERED, total - first))
        begin = 0
        while begin < order.size:
            end = begin + run.choices.batch(most)
            yield order[begin:end]
            begin = end


def batch_size(function: Function, geometry: LaunchGeometry) -> int:
    """The number of work-groups in a batch, chosen so that their values take at most a few megabytes."""
    lanes = geometry.subgroups * geometry.subgroup_size
    size = lanes * sum(_scalar_bytes(value) for op in function.walk() for value in op.results)
    for op in function.walk():
        for value in op.results:
            if isinstance(value.type, PrivateArrayType):
                size += _private_bytes(value.type, geometry)
            elif isinstance(value.type, CoopMatrix):
                size += geometry.subgroups * prod(value.type.shape) * value.type.component.size
            elif isinstance(op, Alloca) and isinstance(value.type, MemRef):
                size += value.type.element.size * prod(n or 0 for n in value.type.shape)
        if isinstance(op, CooperativeMatrixApply) and isinstance(op.result.type, CoopMatrix):
            inner = sum(_scalar_bytes(value) for instruction in _inner(op) for value in instruction.results)
            size += geometry.subgroups * prod(op.result.type.shape) * inner
    return max(1, min(_BATCH_GROUPS, _BATCH_LANES // lanes, _BATCH_BYTES // max(1, size)))


def _private_bytes(type: PrivateArrayType, geometry: LaunchGeometry) -> int:
    """The bytes of a private array in all work-items, or holders of a matrix, of a work-group."""
    element = type.element
    if isinstance(element, CoopMatrix):
        return geometry.subgroups * type.size * prod(element.shape) * element.component.size
    lanes = geometry.subgroups * geometry.subgroup_size
    return lanes * type.size * (element.size if isinstance(element, Number) else 1)


def _inner(op: Op) -> Iterator[Op]:
    """The instructions in the regions of an instruction, at any depth."""
    for region in op.regions:
        for instruction in region.ops:
            yield instruction
            yield from _inner(instruction)


def _scalar_bytes(value: core.Value) -> int:
    """The bytes that a value takes in a work-item; those of a matrix or memref are counted elsewhere."""
    return value.type.size if isinstance(value.type, Number) else 1


def _budget(run: Execution, machine: Machine, loop: Op | None) -> Finding:
    words = budget(run.function.called, run.max_steps)
    x, y, z = (int(i[0, 0, 0]) for i in machine.group_ids)
    return Finding(words.code, words.message, run.function.span if loop is None else loop.span, work_group=(x, y, z))
