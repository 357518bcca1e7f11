"""What instructions do to the state of a launch, one work-item after the other, and the races that show on the way.

Integers are computed, because they may decide; everything else is unknown. It shares nothing with the interpreter.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from girih.ir.core import Op, Slice, Value
from girih.ir.types import BOOL, CoopMatrix, MatrixScope, MemRef, Number, Type
from girih.ops.tile.arith import Binary, Cast, Comparison, Constant, Select
from girih.ops.tile.builtin import (
    GroupId,
    NumGroups,
    NumSubgroups,
    SubgroupId,
    SubgroupLinearId,
    SubgroupLocalId,
    SubgroupSize,
)
from girih.ops.tile.coopmatrix import AtomicAccess, MatrixAccess, MatrixLoad
from girih.ops.tile.linalg import Axpby, Cumsum, Gemm, Gemv, Ger, Hadamard, Sum
from girih.ops.tile.memory import (
    Alloca,
    AtomicLoad,
    AtomicStore,
    AtomicUpdate,
    Expand,
    Fuse,
    LifetimeStop,
    Load,
    Scope,
    Semantics,
    Size,
    Store,
    Subview,
)
from tests.fuzz.races.ordered import (
    ACQUIRES,
    GLOBAL,
    LOCAL,
    RELEASES,
    AccessKind,
    Event,
    Head,
    Place,
    acquired,
    continued,
    released,
    synchronised,
)
from tests.fuzz.races.state import UNKNOWN, Agent, Element, Held, NotJudged, State, View, WorkGroup, number

ARITHMETIC: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "min": min,
    "max": max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "rem": lambda a, b: a - b * int(a / b),
    "div": lambda a, b: int(a / b),
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less_than": operator.lt,
    "less_than_equal": operator.le,
    "greater_than": operator.gt,
    "greater_than_equal": operator.ge,
    "atomic_add": operator.add,
    "atomic_min": min,
    "atomic_max": max,
}
COLLECTIVE = (Axpby, Cumsum, Gemm, Gemv, Ger, Hadamard, Sum)

Pair = tuple[int, int]
"""The lines of two accesses that race, the smaller one first."""


def computed(type: Type, mnemonic: str, *operands: Held) -> Held:
    """What an instruction computes: a number of an integer type, or something unknown."""
    if not all(isinstance(x, int) for x in operands) or mnemonic not in ARITHMETIC:
        return UNKNOWN
    return within(type, ARITHMETIC[mnemonic](*(number(x) for x in operands)))


def within(type: Type, value: int) -> Held:
    """The number as it is in a type."""
    if type == BOOL:
        return bool(value)
    if not isinstance(type, Number) or type.family != "integer":
        return UNKNOWN
    half = 1 << (8 * type.size - 1)
    return (value + half) % (2 * half) - half


@dataclass(slots=True)
class Machine:
    """A launch: its grid and sizes, the bits of its accesses, and the races that were found."""

    grid: tuple[int, int, int]
    subgroup_size: int
    work_group_size: tuple[int, int]
    owners: frozenset[Value]
    """The memories in which atomic stores end release sequences, so that it matters who began them."""
    scopes: frozenset[Scope]
    """The scopes of the program; what is finer than these makes no difference."""
    bits: dict[Hashable, int] = field(default_factory=dict)
    races: set[Pair] = field(default_factory=set)

    # --- accesses --------------------------------------------------------------------------

    def bit(self, *name: Hashable) -> int:
        """The bit of an access, the same in all orders of execution."""
        return self.bits.setdefault(name, 1 << len(self.bits))

    def access(
        self, state: State, agent: Agent, op: Op, view: View, element: Element, kind: AccessKind,
        scope: Scope = Scope.SUBGROUP,
    ) -> None:  # fmt: skip
        """An access by one agent."""
        agent.accesses += 1
        bit = self.bit(agent.name, agent.accesses, op.span.start, element)
        self._happens(
            state, Event(agent.name, agent.place, op, kind, scope, bit), element, agent.known[_relation(view)]
        )
        agent.known = [known | bit for known in agent.known]

    def access_component(
        self, state: State, holders: Sequence[Agent], op: Op, who: Hashable, view: View, element: Element,
        kind: AccessKind, scope: Scope,
    ) -> None:  # fmt: skip
        """An access to a component by the one of the holders that has it, whichever that is."""
        known, bits = -1, 0
        for agent in holders:
            agent.accesses += 1
            known &= agent.known[_relation(view)]
            bit = self.bit(agent.name, agent.accesses, op.span.start, element)
            agent.known = [k | bit for k in agent.known]
            bits |= bit
        self._happens(state, Event(who, holders[0].place, op, kind, scope, bits), element, known)

    def _happens(self, state: State, event: Event, element: Element, known: int) -> None:
        before = state.history.get(element, ())
        for earlier in before:
            if earlier.races(event, known):
                first, second = sorted((earlier.op.span.line, event.op.span.line))
                self.races.add((first, second))
        state.history[element] = (*before, event)
        state.past += event.past(element)

    def atomic(self, state: State, agent: Agent, op: AtomicLoad | AtomicStore | AtomicUpdate) -> None:
        """An atomic load, store or update, and what it orders."""
        view = self.view(agent, op.tensor, state)
        element = view.element(self.indices(agent, op.indices, state))
        kind = _KINDS.get(type(op), AccessKind.ATOMIC_UPDATE)
        self.access(state, agent, op, view, element, kind, op.scope)
        heads = state.heads.get(element, ())
        relations = synchronised(_relation(view), op.semantics)
        if op.semantics in ACQUIRES and kind is not AccessKind.ATOMIC_WRITE:
            for relation in relations:
                agent.known[relation] |= acquired(heads, agent.place, op.scope, relation)
        if kind is not AccessKind.ATOMIC_READ:
            heads = continued(heads, kind, agent.name)
            if op.semantics in RELEASES:
                owner = agent.name if view.origin in self.owners else None
                known = [known if each in relations else 0 for each, known in enumerate(agent.known)]
                heads = released(heads, Head(owner, self._coarse(agent.place), op.scope), (known[LOCAL], known[GLOBAL]))
            state.heads[element] = heads
        old = state.memory.get(element, UNKNOWN)
        if not isinstance(op, AtomicStore):
            agent.values[op.result] = old
        if isinstance(op, AtomicStore):
            state.memory[element] = self.held(agent, op.value, state)
        elif isinstance(op, AtomicUpdate):
            state.memory[element] = computed(op.result.type, op.spec.mnemonic, old, self.held(agent, op.value, state))

    def _coarse(self, place: Place) -> Place:
        """The place as far as a scope of the program may tell it from others, so that more states are the same."""
        if Scope.SUBGROUP in self.scopes:
            return place
        return Place(place.group if Scope.WORK_GROUP in self.scopes else 0, None)

    # --- operands --------------------------------------------------------------------------

    def held(self, agent: Agent, operand: Value | int, state: State) -> Held:
        """What an operand is, for one agent; values of the region around are those of the work-group."""
        if isinstance(operand, int):
            return operand
        if operand in agent.values:
            return agent.values[operand]
        return state.groups[agent.place.group].whole.values[operand]

    def number(self, agent: Agent, operand: Value | int, state: State) -> int:
        return number(self.held(agent, operand, state))

    def indices(self, agent: Agent, operands: Sequence[Value | int], state: State) -> tuple[int, ...]:
        return tuple(self.number(agent, operand, state) for operand in operands)

    def view(self, agent: Agent, operand: Value, state: State) -> View:
        held = self.held(agent, operand, state)
        if not isinstance(held, View):
            raise NotJudged(f"%{operand.name} is no memref here")
        return held

    # --- instructions ----------------------------------------------------------------------

    def execute(self, state: State, group: WorkGroup, agent: Agent, op: Op) -> None:
        """An instruction of one agent, which is none that others must come to."""
        match op:
            case AtomicLoad() | AtomicStore() | AtomicUpdate():
                if isinstance(op, AtomicUpdate) and agent is group.whole:
                    raise NotJudged("an atomic update in a collective region")
                self.atomic(state, agent, op)
            case Load() if isinstance(op.result.type, Number):
                view = self.view(agent, op.tensor, state)
                element = view.element(self.indices(agent, op.indices, state))
                self.access(state, agent, op, view, element, AccessKind.READ)
                agent.values[op.result] = state.memory.get(element, UNKNOWN)
            case Store():
                view = self.view(agent, op.tensor, state)
                element = view.element(self.indices(agent, op.indices, state))
                self.access(state, agent, op, view, element, AccessKind.WRITE)
                state.heads.pop(element, None)
                state.memory[element] = self.held(agent, op.value, state)
            case Alloca():
                group.allocated += 1
                assert isinstance(op.result.type, MemRef)
                shape = tuple(n or 0 for n in op.result.type.shape)
                strides = tuple(s or 0 for s in op.result.type.strides)
                instance = (agent.place.group, group.allocated)
                agent.values[op.result] = View(op.result, instance, True, 0, shape, strides)
            case LifetimeStop():
                pass
            case Subview() | Expand() | Fuse():
                agent.values[op.result] = self._seen(state, agent, op)
            case Size():
                agent.values[op.result] = self.view(agent, op.tensor, state).shape[op.mode]
            case _ if isinstance(op, COLLECTIVE):
                self._collective(state, agent, op)
            case _:
                self._compute(state, group, agent, op)

    def _seen(self, state: State, agent: Agent, op: Subview | Expand | Fuse) -> View:
        view = self.view(agent, op.tensor, state)
        match op:
            case Subview():
                slices = [(self.number(agent, s.offset, state), self._size(agent, s, state)) for s in op.slices]
                return view.part(slices)
            case Expand():
                return view.expanded(op.mode, self.indices(agent, op.sizes, state))
            case _:
                return view.fused(op.first, op.last)

    def _size(self, agent: Agent, slice: Slice, state: State) -> int | None:
        return None if slice.drops_mode or slice.size is None else self.number(agent, slice.size, state)

    def _collective(self, state: State, agent: Agent, op: Any) -> None:
        """It reads its sources, and its target unless it overwrites that; then it writes, or updates atomically."""
        names = [name for name in ("a", "b", "c") if hasattr(op, name)]
        *sources, target = (self.view(agent, getattr(op, name), state) for name in names)
        for source in sources:
            for element in source.elements():
                self.access(state, agent, op, source, element, AccessKind.READ)
        overwrites = self.held(agent, op.beta, state) == 0
        kind = AccessKind.WRITE
        if op.atomic:
            kind = AccessKind.ATOMIC_WRITE if overwrites else AccessKind.ATOMIC_UPDATE
        for element in target.elements():
            if not overwrites and not op.atomic:
                self.access(state, agent, op, target, element, AccessKind.READ)
            self.access(state, agent, op, target, element, kind, Scope.DEVICE)
            state.memory[element] = UNKNOWN

    def _compute(self, state: State, group: WorkGroup, agent: Agent, op: Op) -> None:
        (result,) = op.results
        operands = [self.held(agent, value, state) for value in op.operands]
        match op:
            case Constant():
                # A zero of any type is told apart, because a collective instruction does not read what it scales by it.
                held = within(result.type, op.value) if isinstance(op.value, int) else UNKNOWN
                agent.values[result] = 0 if op.value == 0 else held
            case Binary() | Comparison():
                agent.values[result] = computed(result.type, op.spec.mnemonic, *operands)
            case Cast():
                agent.values[result] = within(result.type, operands[0]) if isinstance(operands[0], int) else UNKNOWN
            case Select():
                agent.values[result] = operands[1 if number(operands[0]) else 2]
            case _:
                agent.values[result] = self._builtin(group, agent, op)

    def _builtin(self, group: WorkGroup, agent: Agent, op: Op) -> Held:
        rows = self.work_group_size[0] // self.subgroup_size
        held: int | None
        match op:
            case GroupId():
                held = group.number[op.axis]
            case NumGroups():
                held = self.grid[op.axis]
            case NumSubgroups():
                held = (rows, self.work_group_size[1], 1)[op.axis]
            case SubgroupSize():
                held = self.subgroup_size
            case SubgroupLocalId():
                held = agent.lane
            case SubgroupLinearId():
                held = agent.subgroup
            case SubgroupId() if agent.subgroup is not None:
                held = (agent.subgroup % rows, agent.subgroup // rows, 0)[op.axis]
            case _ if any(isinstance(result.type, CoopMatrix) for result in op.results):
                held = None
            case _:
                raise NotJudged(f"`{op.spec.mnemonic}` has no meaning here")
        return UNKNOWN if held is None else held

    def execute_matrix(self, state: State, holders: Sequence[Agent], op: Any) -> None:
        """A load, store or atomic access of a matrix by all who hold it; who it is follows from its type."""
        type_ = (op.matrix if hasattr(op, "matrix") else op.result).type
        first = holders[0]
        view = self.view(first, op.memory, state)
        for row, column, indices in _tile(self, state, first, op, type_, view):
            whose = first.place.group if type_.scope is MatrixScope.WORK_GROUP else first.place
            who = ("component", whose, str(type_), row, column)
            element = view.element(indices)
            kind, scope = _matrix_kind(op)
            self.access_component(state, holders, op, who, view, element, kind, scope)
            if kind.writes:
                state.memory[element] = UNKNOWN
        for result in op.results:
            for agent in holders:
                agent.values[result] = UNKNOWN


_KINDS: dict[type[Op], AccessKind] = {AtomicLoad: AccessKind.ATOMIC_READ, AtomicStore: AccessKind.ATOMIC_WRITE}


def _matrix_kind(op: MatrixAccess) -> tuple[AccessKind, Scope]:
    if not isinstance(op, AtomicAccess):
        return (AccessKind.READ if isinstance(op, MatrixLoad) else AccessKind.WRITE), Scope.SUBGROUP
    if op.semantics is not Semantics.RELAXED:
        raise NotJudged("a matrix instruction that releases or acquires")
    if not op.results:
        return AccessKind.ATOMIC_WRITE, op.scope
    return (AccessKind.ATOMIC_UPDATE if hasattr(op, "matrix") else AccessKind.ATOMIC_READ), op.scope


def _tile(
    machine: Machine, state: State, agent: Agent, op: Any, type: CoopMatrix, view: View
) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Row and column of each component with its place in the memref, without those that a check leaves out."""
    top, left = machine.number(agent, op.row, state), machine.number(agent, op.column, state)
    for row in range(type.shape[0]):
        for column in range(type.shape[1]):
            i, j = (row, column) if not op.transpose else (column, row)
            place = (top + i, left + j)
            if op.checked.rows and not 0 <= place[0] < view.shape[0]:
                continue
            if op.checked.columns and not 0 <= place[1] < view.shape[1]:
                continue
            yield row, column, place


def _relation(view: View) -> int:
    return LOCAL if view.local else GLOBAL
