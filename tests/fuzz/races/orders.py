"""A brute force: does any order of execution that the memory model allows have a race?

It executes the program itself, work-item by work-item, and shares no code with the interpreter and its detector.
Barriers, and the begin and end of collective instructions, let nobody go on alone; between them only the order of some
atomic accesses matters (`decisive.py`), and all orders of these are tried. States that several orders lead to are tried
once.

Orders that no interleaving shows, as of relaxed accesses to two elements, are left out: what is free of races in all
interleavings has no others, as long as no relaxed access decides.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from girih.ir.core import Function, Op, Value
from girih.ir.types import CoopMatrix, MatrixScope, MemRef
from girih.ops.tile.control import Barrier, Foreach, ForeachTile
from girih.ops.tile.coopmatrix import MatrixAccess
from tests.fuzz.races.decisive import ATOMIC, apart, deciding, origins, scopes, stored_atomically, synchronising
from tests.fuzz.races.machine import Machine, Pair
from tests.fuzz.races.ordered import GLOBAL, LOCAL, Place, union
from tests.fuzz.races.state import Agent, Element, Held, NotJudged, Standing, State, View, WorkGroup, number
from tests.fuzz.races.steps import Kind, flat

MOST_STATES = 4_000
MOST_STEPS = 2_000_000

Arrays = Mapping[str, NDArray[Any]]
"""The arrays of the parameters by name, with one axis for each mode."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the brute force says: the lines of races, and in how many states it looked.

    `at_once` says that there is a race already in the order in which all work-items keep in step; `fixed`, that all
    orders have the same races, which are then all in `races`.
    """

    races: frozenset[Pair]
    at_once: bool
    fixed: bool
    states: int


def judge(function: Function, grid: tuple[int, int, int], arguments: Arrays, *, most: int = MOST_STATES) -> Verdict:
    """The verdict on a launch whose sizes are all fixed. Raises `NotJudged` beyond `most` states."""
    search = _Search(function, grid)
    state = search.begin(function, arguments)
    todo: list[tuple[State, tuple[int, int] | None]] = [(state, None)]
    seen: set[Hashable] = set()
    ended = False
    while todo and not search.machine.races:
        state, choice = todo.pop()
        if choice is not None:
            state = state.copy()
            search.choose(state, *choice)
        search.advance(state)
        choices = search.choices(state)
        ended |= not choices and not search.machine.races
        if not choices:
            continue
        key = search.key(state)
        if key not in seen:
            seen.add(key)
            todo += [(state, choice) for choice in reversed(choices)]
        if len(seen) > most:
            raise NotJudged(f"more than {most} states")
    races = frozenset(search.machine.races)
    return Verdict(races, bool(races) and not ended, search.fixed, len(seen))


class _Search:
    """How a launch goes from state to state."""

    def __init__(self, function: Function, grid: tuple[int, int, int]) -> None:
        size, shape = function.subgroup_size, function.work_group_size
        if size is None or shape is None:
            raise NotJudged("the sizes of subgroup and work-group are open")
        self.steps = flat(function)
        self.machine = Machine(grid, size, shape, stored_atomically(function), scopes(function))
        self.origins = origins(function)
        self.decisive = synchronising(function) | deciding(function)
        self.fixed = not synchronising(function) and not deciding(function, by_all=True)
        self.apart = apart(function)
        self.left = MOST_STEPS

    def begin(self, function: Function, arguments: Arrays) -> State:
        """The state before the first instruction."""
        memory: dict[Element, Held] = {}
        values: dict[Value, Held] = {}
        for parameter in function.parameters:
            array = arguments[parameter.name]
            strides = tuple(prod(array.shape[:k]) for k in range(array.ndim))
            view = View(parameter.value, None, False, 0, array.shape, strides)
            values[parameter.value] = view
            assert isinstance(parameter.type, MemRef)
            if parameter.type.element.family == "integer":
                memory |= {view.element(index): int(array[index]) for index in np.ndindex(*array.shape)}
        x, y, z = self.machine.grid
        numbers = [(i, j, k) for k, j, i in product(range(z), range(y), range(x))]
        places = [Place(n, "the work-group") for n in range(len(numbers))]
        wholes = [Agent(("work-group", place.group), place, 0, [0, 0], dict(values)) for place in places]
        return State([WorkGroup(n, whole) for n, whole in zip(numbers, wholes, strict=True)], memory)

    # --- what happens without a choice -----------------------------------------------------

    def advance(self, state: State) -> None:
        """Everybody goes on to the next choice, barrier or end."""
        moved = True
        while moved:
            moved = False
            for group in state.groups:
                for agent in group.members or [group.whole]:
                    if agent.standing is Standing.RUNNING:
                        self._run(state, group, agent)
                        moved = True
                moved |= self._matrices(state, group) or self._meet(state, group)

    def _run(self, state: State, group: WorkGroup, agent: Agent) -> None:
        """One agent goes on until it must wait, or begins a region."""
        while agent.standing is Standing.RUNNING and not (agent is group.whole and group.members):
            self.left -= 1
            if self.left < 0:
                raise NotJudged(f"more than {MOST_STEPS} steps")
            if agent.at == len(self.steps) or self.steps[agent.at].kind is Kind.END:
                self._arrive(group, agent, Standing.DONE, (LOCAL, GLOBAL))
                return
            step = self.steps[agent.at]
            if step.kind is Kind.REGION:
                self._spawn(state, group, step.op)
            elif step.kind is not Kind.EXECUTE:
                self._go(state, agent)
            elif isinstance(step.op, ATOMIC) and self.origins[step.op.tensor] in self.decisive:
                agent.standing = Standing.CHOICE
            elif isinstance(step.op, MatrixAccess):
                agent.standing = Standing.MATRIX
            elif not isinstance(step.op, Barrier):
                self.machine.execute(state, group, agent, step.op)
                agent.at += 1
            elif agent is group.whole:
                agent.at += 1
            else:
                fences = [LOCAL] * step.op.local_fence + [GLOBAL] * step.op.global_fence
                self._arrive(group, agent, Standing.BARRIER, fences)

    def _go(self, state: State, agent: Agent) -> None:
        """A step of control."""
        step = self.steps[agent.at]
        held = [self.machine.held(agent, value, state) for value in step.sources]
        agent.at += 1
        match step.kind:
            case Kind.MOVE:
                agent.values.update(zip(step.targets, held, strict=True))
            case Kind.BRANCH if not number(held[0]):
                agent.at = step.to
            case Kind.TEST if number(held[0]) >= number(held[1]):
                agent.at = step.to
            case Kind.ADVANCE:
                agent.values[step.targets[0]] = number(held[0]) + (number(held[1]) if held[1:] else 1)
            case Kind.JUMP:
                agent.at = step.to

    @staticmethod
    def _arrive(group: WorkGroup, agent: Agent, standing: Standing, fences: Sequence[int]) -> None:
        """Wait for the others; what is ordered by that is known to all of them later."""
        agent.standing = standing
        if agent is group.whole:
            return
        for relation in fences:
            group.arrived[relation] |= agent.known[relation]
            agent.known[relation] = 0

    def _spawn(self, state: State, group: WorkGroup, op: Op) -> None:
        """The work-items, points or tiles of a region."""
        group.regions += 1
        whole, members = group.whole, group.members
        first = whole.at + 1
        size, shape = self.machine.subgroup_size, self.machine.work_group_size
        if not isinstance(op, Foreach | ForeachTile):
            for subgroup, lane in product(range(shape[0] * shape[1] // size), range(size)):
                place = Place(whole.place.group, subgroup)
                name = ("work-item", place, lane)
                members.append(Agent(name, place, first, list(whole.known), {}, lane, subgroup))
                members[-1].accesses = group.regions << 20
        else:
            self._spawn_points(state, group, op, first)
        if not members:
            whole.at = self.steps[whole.at].to

    def _spawn_points(self, state: State, group: WorkGroup, op: Foreach | ForeachTile, first: int) -> None:
        whole = group.whole
        starts, stops = (self.machine.indices(whole, bounds, state) for bounds in (op.start, op.stop))
        tile = op.tile_shape if isinstance(op, ForeachTile) else (1,) * len(starts)
        ranges = [range(a, b, n) for a, b, n in zip(starts, stops, tile, strict=True)]
        for point in product(*ranges):
            place = Place(whole.place.group, (group.regions, point))
            values: dict[Value, Held] = dict(zip(op.variables, point, strict=True))
            if not isinstance(op, ForeachTile):
                group.members.append(Agent(("point", place), place, first, list(whole.known), values))
                continue
            sizes = (min(n, b - at) for n, b, at in zip(tile, stops, point, strict=True))
            values |= dict(zip(op.sizes, sizes, strict=True))
            for lane in range(self.machine.subgroup_size):
                name = ("tile", place, lane)
                group.members.append(Agent(name, place, first, list(whole.known), dict(values), lane))

    def _matrices(self, state: State, group: WorkGroup) -> bool:
        """Execute the matrix instructions that all who hold the matrix have come to; whether there were any."""
        waiting = [m for m in group.members if m.standing is Standing.MATRIX]
        done = False
        for place, at in {(m.place, m.at) for m in waiting}:
            op: Any = self.steps[at].op
            matrix = (op.matrix if hasattr(op, "matrix") else op.result).type
            assert isinstance(matrix, CoopMatrix)
            together = matrix.scope is MatrixScope.WORK_GROUP
            needed = [m for m in group.members if together or m.place == place]
            if all(m.standing is Standing.MATRIX and m.at == at for m in needed):
                self.machine.execute_matrix(state, needed, op)
                for member in needed:
                    member.at, member.standing = at + 1, Standing.RUNNING
                done = True
                if together:
                    break
        return done

    def _meet(self, state: State, group: WorkGroup) -> bool:
        """Let the work-group go on if all have come to a barrier, or to the end of the region."""
        standings = {m.standing for m in group.members}
        if len(standings) != 1 or not standings <= {Standing.BARRIER, Standing.DONE}:
            if standings and standings <= {Standing.BARRIER, Standing.DONE, Standing.MATRIX}:
                raise NotJudged("some wait for others that do not come")
            return False
        if len({m.at for m in group.members}) != 1:
            raise NotJudged("work-items wait at two barriers")
        whole, at = group.whole, group.members[0].at
        if standings == {Standing.DONE}:
            known = union(group.arrived) & self._remembered(state, group, (LOCAL, GLOBAL))
            whole.known = [own | known for own in whole.known]
            whole.at = self.steps[whole.at].to
            group.members.clear()
        else:
            barrier = self.steps[at].op
            assert isinstance(barrier, Barrier)
            fences = [LOCAL] * barrier.local_fence + [GLOBAL] * barrier.global_fence
            remembered = self._remembered(state, group, fences)
            for member in group.members:
                for relation in fences:
                    member.known[relation] = group.arrived[relation]
                member.known = [known & remembered for known in member.known]
                member.at, member.standing = at + 1, Standing.RUNNING
        group.arrived = [0, 0]
        return True

    def _remembered(self, state: State, group: WorkGroup, fences: Sequence[int]) -> int:
        """The accesses that may still race with others. Those to memory of the work-group alone are ordered now, and
        forgotten, so that it no longer matters in which order they came."""
        for element, events in list(state.history.items()):
            relation = GLOBAL if element.instance is None else LOCAL
            own = element.origin in self.apart and events[0].place.group == group.whole.place.group
            if own and relation in fences:
                state.past -= sum(event.past(element) for event in events)
                del state.history[element]
                state.heads.pop(element, None)
        return union(event.bits for events in state.history.values() for event in events)

    # --- choices ---------------------------------------------------------------------------

    def choices(self, state: State) -> list[tuple[int, int]]:
        """Who may come next, by the numbers of work-group and member; those first who would if all kept in step.

        What a work-group does in memory of its own does not depend on others, so that it may come before what they do.
        """
        found = [
            (agent.at, number_, member)
            for number_, group in enumerate(state.groups)
            for member, agent in enumerate(group.members or [group.whole])
            if agent.standing is Standing.CHOICE
        ]
        for alone in range(len(state.groups)):
            own = [choice for choice in found if choice[1] == alone]
            if own and all(self._is_apart(at) for at, *_ in own):
                found = own
                break
        return [(group, member) for _, group, member in sorted(found)]

    def _is_apart(self, at: int) -> bool:
        op: Any = self.steps[at].op
        return self.origins[op.tensor] in self.apart

    def choose(self, state: State, group: int, member: int) -> None:
        """The atomic access that an agent waits for."""
        own = state.groups[group]
        agent = own.members[member] if own.members else own.whole
        self.machine.execute(state, own, agent, self.steps[agent.at].op)
        agent.at += 1
        agent.standing = Standing.RUNNING

    def key(self, state: State) -> Hashable:
        """What tells states apart whose further executions, or races, differ."""
        groups = tuple(self._key_of(group) for group in state.groups)
        return groups, frozenset(state.memory.items()), frozenset(state.heads.items()), state.past

    def _key_of(self, group: WorkGroup) -> Hashable:
        agents = tuple(self._key_of_agent(agent) for agent in (group.whole, *group.members))
        return agents, tuple(group.arrived), group.regions, group.allocated

    def _key_of_agent(self, agent: Agent) -> Hashable:
        needed = self.steps[agent.at].needed if agent.at < len(self.steps) else ()
        values = tuple(agent.values.get(value) for value in needed)
        return agent.at, agent.standing, tuple(agent.known), values, agent.accesses
