"""The machine: a batch of work-groups that execute a kernel side by side, with every access checked.

An instruction is executed for all active work-items of all work-groups of the batch before the next one starts, which
is one of the orders that the language allows. `Machine.mask` tells which are active. The meaning of an instruction is a
function in `MEANINGS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from girih.arguments.printed import PrintedLines
from girih.diagnostics import Finding
from girih.facts import findings
from girih.facts.findings import FindingWords
from girih.interpreter.machine import turns
from girih.interpreter.machine.choices import Choices
from girih.interpreter.machine.findings import Findings
from girih.interpreter.machine.undefined import MAY_BE_UNDEFINED, handing_on, without_others
from girih.interpreter.machine.values import Array, GroupValue, MapValue, Mask, MemRefValue, Value
from girih.interpreter.races.order import GLOBAL, LOCAL
from girih.interpreter.races.races import Races
from girih.ir import core
from girih.ir.core import Function, Op, Region, RegionKind
from girih.ir.define import Where
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import Barrier
from girih.ops.tile.tensor_map import TensorCopy

Meaning = Callable[["Machine", Any], None]

MEANINGS: dict[type[Op], Meaning] = {}
"""What each instruction does."""

M = TypeVar("M", bound=Meaning)

NOBODY: Mask = np.zeros((1, 1, 1), np.bool_)
"""The mask where no work-item is active. It is known by identity: what leaves no one active sets this very mask."""


def meaning(*targets: type[Op]) -> Callable[[M], M]:
    """The decorator that enters a function in `MEANINGS` as the meaning of some instructions."""

    def enter(function: M) -> M:
        for target in targets:
            MEANINGS[target] = function
        return function

    return enter


class BudgetSpent(Exception):
    """The launch has executed as many instructions as it may: a shader, in a loop, of which `loop` is the innermost."""

    loop: Op | None = None


@dataclass(frozen=True, slots=True)
class LaunchGeometry:
    """The sizes of a launch: the grid in work-groups, the work-group and the subgroup in work-items."""

    grid: tuple[int, int, int]
    work_group_size: tuple[int, int]
    subgroup_size: int

    @property
    def subgroups(self) -> int:
        return self.work_group_size[0] * self.work_group_size[1] // self.subgroup_size


class Machine:
    """One batch of work-groups in execution: their values, masks and findings."""

    def __init__(
        self,
        function: Function,
        geometry: LaunchGeometry,
        groups: Array,
        findings: Findings,
        choices: Choices,
        max_steps: int,
        constants: dict[core.Value, object],
        lines: PrintedLines,
        races: Races | None,
        adapt: Callable[[Op, Meaning], Meaning] | None = None,
    ) -> None:
        self.function = function
        self.adapt = adapt
        """What makes of the meaning of an instruction the one that is executed here; None where they are the same."""
        self.geometry = geometry
        self.findings = findings
        self.choices = choices
        self.constants = constants
        self.lines = lines
        self.races = races
        if races is not None:
            races.begin(groups)
        self.work_groups = len(groups)
        self.group_numbers = groups
        self.subgroups = geometry.subgroups
        self.lanes = geometry.subgroup_size
        self.group_ids = split_group(groups, geometry.grid)
        self.env: dict[core.Value, Any] = {}
        self.mask: Mask | None = None
        self.kind = RegionKind.COLLECTIVE
        self.component_of: Callable[[int], tuple[int, int]] | None = None
        """In a region over components, the row and column of the one that a work-item computes."""
        self.permissions = function.permissions
        self.steps_left = max_steps
        self.pending: list[Callable[[], None]] = []
        """Tensor copies that have not been made yet."""
        self.print_step = 0
        """What work-groups did together so far, as `analysis.prints` counts it or more."""
        self.undefined: dict[core.Value, Mask] = {}
        """The values that are undefined for some work-items, with the mask of these (`undefined`)."""
        self.constructs: list[Any] = []
        """What `leave` can leave here, from outside to inside."""
        self._hands_on = bool(MAY_BE_UNDEFINED) and any(type(op) in MAY_BE_UNDEFINED for op in function.walk())
        self._plans: dict[Region, list[tuple[Meaning, Op]]] = {}
        self._turns: list[Mask] = choices.turns(self.subgroups, self.lanes)
        """The work-items of each turn; empty where all execute an instruction before the next one starts."""
        self._stretches: dict[Region, list[tuple[slice, bool]]] = {}

    # --- execution -----------------------------------------------------------------------

    def run(self) -> None:
        """Execute the body of the function."""
        self.under(self.mask, self.function.body)
        self.settle()

    def region(self, region: Region) -> None:
        """Execute the instructions of a region under the current mask."""
        plan = self._plans.get(region)
        if plan is None:
            plan = self._plan(region)
        self.steps_left -= len(plan) + 1
        if self.steps_left < 0:
            raise BudgetSpent
        if self._turns and self.kind is RegionKind.SPMD and self.component_of is None:
            self._in_turns(region, plan)
            return
        for function, op in plan:
            function(self, op)

    def region_that_is_left(self, region: Region) -> None:
        """Execute the instructions of a region, until nobody is active; the mask says who comes to its end."""
        plan = self._plans.get(region)
        if plan is None:
            plan = self._plan(region)
        self.steps_left -= len(plan) + 1
        if self.steps_left < 0:
            raise BudgetSpent
        if self._turns and self.component_of is None:
            self._in_turns(region, plan)
            return
        for function, op in plan:
            function(self, op)
            if self.mask is NOBODY:
                return

    def _plan(self, region: Region) -> list[tuple[Meaning, Op]]:
        plan = self._plans[region] = [(self._meaning(op), op) for op in region.ops]
        return plan

    def _in_turns(self, region: Region, plan: list[tuple[Meaning, Op]]) -> None:
        """Execute the instructions of a region so that some work-items go ahead of others."""
        known = self._stretches.get(region)
        if known is None:
            known = self._stretches[region] = list(turns.stretches(region.ops))
        for stretch, free in known:
            if free:
                self._stretch(plan[stretch])
            else:
                ((function, op),) = plan[stretch]
                function(self, op)
            if self.mask is NOBODY:
                return

    def _stretch(self, plan: list[tuple[Meaning, Op]]) -> None:
        """Execute instructions that need nobody else, by some work-items after the others."""
        outer, parts = self.mask, self._turns
        results = [value for _, op in plan for value in op.results]
        merged: dict[core.Value, Any] = {}
        undefined: dict[core.Value, Mask] = {}
        behind, everybody = NOBODY, True
        self._turns = []
        for part in parts:
            mask = part if outer is None else part & outer
            if not mask.any():
                continue
            before: Mask = np.broadcast_to(mask, self.shape)
            self.mask = before
            for function, op in plan:
                function(self, op)
                if self.mask is NOBODY:
                    break
            everybody = everybody and self.mask is before
            behind = behind | (before if self.mask is None else self.mask)
            for value in results:
                if value in self.env:
                    new = self.env[value]
                    merged[value] = turns.put_together(part, new, merged[value]) if value in merged else new
                if value in self.undefined:
                    undefined[value] = self.undefined[value] & part | undefined.get(value, NOBODY)
        self.mask, self._turns = outer if everybody else behind if behind.any() else NOBODY, parts
        self.env.update(merged)
        self.undefined.update(undefined)

    def _meaning(self, op: Op) -> Meaning:
        """The meaning of an instruction; where it sees what tensor copies move, those before it are made first.

        What comes before a collective instruction is ordered before it, and it before what comes behind.
        """
        meaning = MEANINGS[type(op)]
        if self.adapt is not None:
            meaning = self.adapt(op, meaning)
        if self._hands_on and not without_others(op):
            meaning = handing_on(meaning)
        collective = op.spec.where is Where.COLLECTIVE
        if isinstance(op, TensorCopy) or not (collective or isinstance(op, Barrier)):
            return meaning

        def settled(machine: Machine, op: Op) -> None:
            machine.settle()
            if collective:
                machine.order_all()
            meaning(machine, op)
            if collective:
                machine.order_all()

        return settled

    def order_all(self) -> None:
        """Order all that active work-groups did, tensor copies too, before what they do next."""
        if self.races is not None:
            self.races.advance((GLOBAL, LOCAL), self.active_groups(), copies=True)

    def active_groups(self) -> Mask | None:
        """The mask of the work-groups of the batch that are active; None for all of them."""
        if self.mask is None:
            return None
        groups: Mask = np.broadcast_to(self.mask.any(axis=(1, 2)), (self.work_groups,))
        return None if groups.all() else groups

    def settle(self) -> None:
        """Make the tensor copies that have not been made yet, in any order."""
        if not self.pending:
            return
        order = self.choices.points(len(self.pending))
        copies = self.pending if order is None else [self.pending[number] for number in order]
        self.pending = []
        for copy in copies:
            copy()

    def under(self, mask: Mask | None, region: Region) -> None:
        """Execute a region with another mask."""
        outer_mask, outer_kind = self.mask, self.kind
        self.mask, self.kind = mask, region.kind
        self.region(region)
        self.mask, self.kind = outer_mask, outer_kind

    # --- values --------------------------------------------------------------------------

    def array(self, value: core.Value) -> Array:
        """The array of a scalar or matrix value, with the axes that `values` describes."""
        array: Array = self.env[value]
        return array

    def memref(self, value: core.Value) -> MemRefValue:
        """The memref that a value is."""
        memref: MemRefValue = self.env[value]
        return memref

    def group(self, value: core.Value) -> GroupValue:
        """The group that a value is."""
        group: GroupValue = self.env[value]
        return group

    def tensor_map(self, value: core.Value) -> MapValue:
        """The tensor map that a value is."""
        tensor_map: MapValue = self.env[value]
        return tensor_map

    def set(self, value: core.Value, content: Value) -> None:
        """Set what a value of the program is from now on."""
        self.env[value] = content

    @property
    def shape(self) -> tuple[int, int, int]:
        """The full size of the axes [work_group, subgroup, lane]."""
        return self.work_groups, self.subgroups, self.lanes

    def active(self) -> Mask:
        """The mask of active work-items as an array of full size."""
        if self.mask is None:
            return np.ones(self.shape, np.bool_)
        return np.broadcast_to(self.mask, self.shape)

    def makes_use_of(self, permission: str) -> bool:
        """Whether an instruction makes use of a permission: if the function gives it, a choice."""
        return permission in self.permissions and self.choices.use() > 0

    # --- uniformity and divergence -------------------------------------------------------

    def uniform(self, op: Op, name: str, array: Array, axes: int) -> Array:
        """A value that the work-items along the last `axes` axes share: 1 for a subgroup, 2 for a work-group.

        If they do not share it, that is found, and the value of the first active work-item counts.
        """
        reference, differs = self.common(array, axes)
        if differs is not None:
            self.find_varying(op, name, differs, axes)
        return reference

    def common(self, array: Array, axes: int) -> tuple[Array, Mask | None]:
        """The first active work-item's value along the last `axes` axes, and the mask of active ones with another."""
        if array.shape[2] == 1 and (axes == 1 or array.shape[1] == 1):
            return array, None
        full = np.broadcast_to(array, self.shape)
        kept = self.shape[: 3 - axes]
        values = full.reshape(*kept, -1)
        active = self.active().reshape(*kept, -1)
        first = active.argmax(axis=-1)[..., None]
        reference = np.take_along_axis(values, first, axis=-1)
        differs = (values != reference) & ~((values != values) & (reference != reference)) & active
        return reference.reshape(*kept, *(1,) * axes), differs.reshape(self.shape) if differs.any() else None

    def find_varying(self, op: Op, name: str, differs: Mask, axes: int) -> None:
        """Note that an operand, or another value that the instruction uses, differs between work-items."""
        operand = getattr(op, name, None)
        argument = operand.name if isinstance(operand, core.Value) else None
        self.find(findings.not_uniform(op, name, work_group=axes == 2), op, differs, argument=argument)

    def together(self, op: Op, axes: int) -> Mask | None:
        """The mask of active subgroups (`axes` 1) or work-groups (2) for an instruction that needs all work-items.

        A subgroup or work-group of which only some work-items are active is found.
        """
        mask = self.mask
        if mask is None or (mask.shape[2] == 1 and (axes == 1 or mask.shape[1] == 1)):
            return mask
        active = self.active()
        over = (2,) if axes == 1 else (1, 2)
        some: Mask = np.any(active, axis=over, keepdims=True)
        every: Mask = np.all(active, axis=over, keepdims=True)
        divided = some & ~every
        if divided.any():
            self.find(findings.divergent(op, work_group=axes == 2), op, divided & active)
        if every.all():
            return None
        return every

    # --- findings ------------------------------------------------------------------------

    def find(
        self,
        words: FindingWords,
        op: Op,
        bad: Mask,
        *,
        argument: str | None = None,
        index: tuple[Array | int, ...] | None = None,
        shape: tuple[Array | int, ...] | None = None,
        by_lane: bool = True,
    ) -> None:
        """Note what is wrong for the work-items in `bad`, an array like a scalar value that is false for inactive ones.

        `by_lane` is false for an instruction that a subgroup executes as one.
        """
        if not bad.any():
            return
        where = np.unravel_index(int(bad.argmax()), bad.shape)
        at = (int(where[0]), int(where[1]), int(where[2]))
        spmd = self.kind is RegionKind.SPMD
        x, y, z = (_pick(g, at) for g in self.group_ids)
        picked = tuple(_pick(i, at) for i in index) if index is not None else None
        extent = tuple(_pick(n, at) for n in shape) if shape is not None else None
        lane = at[2] if spmd and by_lane else None
        component = None
        if self.component_of is not None and lane is not None:
            component, lane = self.component_of(lane), None
        message = words.message if picked is None or extent is None else words.at(picked, extent)
        self.findings.add(
            Finding(
                words.code,
                message,
                op.span,
                argument,
                picked,
                extent,
                (x, y, z),
                at[1] if spmd else None,
                lane,
                component,
                self._occurrences(bad, (self.subgroups if spmd else 1, self.lanes if spmd and by_lane else 1)),
                severity=words.severity,
            )
        )

    def under_mask(self, bad: Mask) -> Mask:
        """A condition for each work-item, or component of a matrix, as one for each active work-item or subgroup."""
        if bad.ndim == 4:
            bad = np.any(bad, axis=(2, 3), keepdims=True)[..., 0]
            subgroups: Mask | None = None if self.mask is None else np.any(self.mask, axis=2, keepdims=True)
            return bad if subgroups is None else bad & subgroups
        return bad if self.mask is None else bad & self.mask

    def _occurrences(self, bad: Mask, inner: tuple[int, int]) -> int:
        times = 1
        for size, full in zip(bad.shape, (self.work_groups, *inner), strict=True):
            times *= full if size == 1 else 1
        return int(np.count_nonzero(bad)) * times


def _pick(entries: Array | int, at: tuple[int, int, int]) -> int:
    """The number that a value is for a work-item."""
    if not isinstance(entries, np.ndarray):
        return int(entries)
    w, s, p = (min(i, n - 1) for i, n in zip(at, entries.shape, strict=True))
    return int(entries[w, s, p])


def split_group(groups: Array, grid: tuple[int, int, int]) -> tuple[Array, Array, Array]:
    """The places of work-groups in the grid along x, y and z, as scalar values; `groups` has their numbers."""
    x, y, _ = grid
    ids = groups.astype(np.int64)[:, None, None]
    return ids % x, ids // x % y, ids // (x * y)
