"""Which slots each block changes, and which are needed behind it: sets of bits, for one call of a function.

A call is its function's reads and writes of the variables outside of it, private ones and those that pointers give to
it; where these lie is the call's `binding`: the slot of the first leaf that each pointer parameter points to, or None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from girih.front.spirv.flow.plan import RETURN, Nest
from girih.front.spirv.variables import CHAINS, OwnPlace, Reached, Variables, mask_of, pairs_of
from girih.lazy_dataclass import dataclass
from girih.spirv.instruction import Instruction
from girih.spirv.model.functions import called_by

Arguments = tuple[int | None, ...]
"""The slot of the first leaf that each parameter points to; None for parameters that point to no slots."""

HARMLESS = frozenset({*CHAINS, "OpCopyObject", "OpName", "OpVariable"})
"""Instructions that take a pointer and do not touch what it points to."""


@dataclass(frozen=True, slots=True)
class Touch:
    """What an instruction does to slots that are known, or to a part of what a parameter points to.

    It `reads` what was there before, changes slots (`writes`), and `kills` the values of those that it always changes.
    """

    reads: int = 0
    kills: int = 0
    writes: int = 0
    parameter: int = 0

    def at(self, first: int | None) -> Touch:
        """The same for slots that are counted from another one."""
        if first is None:
            return NOTHING
        return Touch(self.reads << first, self.kills << first, self.writes << first)


NOTHING = Touch()


@dataclass(frozen=True, slots=True)
class Call:
    """A call with the places of what it gives to parameters; None for what is no pointer into slots."""

    instruction: Instruction
    function: int
    places: tuple[OwnPlace | None, ...]
    result: int
    """The slots of its result."""


@dataclass(slots=True, eq=False)
class Live:
    """What is needed in one call of a function: at the beginning of each block, behind each call, at the end."""

    touched: Sequence[Touch]
    phis: Mapping[int, int]
    before: dict[int, int]
    behind_calls: dict[int, int] = field(default_factory=dict)
    at_end: int = 0

    def changed_in(self, nest: Nest) -> int:
        """The slots that some code changes: by its blocks, or by the branches in it, for phis."""
        changed = 0
        for block in nest.blocks:
            changed |= self.touched[block].writes
        for target in nest.targets:
            changed |= self.phis.get(target, 0)
        return changed

    def needed_at(self, target: int) -> int:
        """The slots that are needed where branches to a place lead, its phis included."""
        return self.at_end if target == RETURN else self.before[target]


class Liveness:
    """What is needed where, for every function that an entry point reaches."""

    def __init__(self, variables: Variables) -> None:
        self.variables = variables
        self._steps: dict[int, list[list[Touch | Call]]] = {}
        self._bound: dict[tuple[int, Arguments], list[Touch]] = {}
        self._summaries: dict[tuple[int, Arguments], Touch] = {}
        self._live: dict[tuple[int, Arguments, int], Live] = {}

    def of(self, function: int, arguments: Arguments, at_end: int) -> Live:
        """What is needed in a call, behind which the slots `at_end` are."""
        key = (function, arguments, at_end)
        found = self._live.get(key)
        if found is None:
            found = self._live[key] = self._flow(function, arguments, at_end)
            self._behind_calls(found, function, arguments)
        return found

    # --- what instructions do ------------------------------------------------------------------

    def _steps_of(self, function: int) -> list[list[Touch | Call]]:
        found = self._steps.get(function)
        if found is None:
            reached = self.variables.functions[function]
            found = [[] for _ in reached.blocks]
            for at in reached.plan.order:
                found[at] = [step for one in reached.blocks[at].body for step in self._steps_by(reached, one)]
            self._steps[function] = found
        return found

    def _steps_by(self, reached: Reached, one: Instruction) -> list[Touch | Call]:
        """What an instruction does, in order."""
        variables = self.variables
        if one.name == "OpPhi":
            return []
        steps: list[Touch | Call] = []
        used = 0
        for operand in one.operands:
            if operand.is_id and isinstance(operand.value, int) and operand.value in variables.slots:
                used |= self._result_mask(operand.value)
        if one.result in reached.known:
            used = 0
        if used:
            steps.append(Touch(reads=used))
        if one.name == "OpFunctionCall":
            places = tuple(variables.places.get(id) for id in one.ids("arguments"))
            return [*steps, Call(one, one.id("function"), places, variables.mask(one.result))]
        for function in called_by(one):
            # The function of an instruction on matrices changes nothing outside of it, but may read what is private.
            inner = self._summary(function, (None,) * len(variables.functions[function].function.parameters))
            steps.append(Touch(reads=inner.reads))
        if one.result not in reached.unread:
            steps += self._pointed(one)
        made = self._result_mask(one.result)
        if made:
            steps.append(Touch(kills=made, writes=made))
        return steps

    def _result_mask(self, id: int) -> int:
        """The slots of a result; 0 for a variable, which is no value."""
        return 0 if id in self.variables.places and self.variables.places[id].root == id else self.variables.mask(id)

    def _pointed(self, one: Instruction) -> list[Touch]:
        """What an instruction does to variables of the work-item through its operands."""
        places = self.variables.places
        match one.name:
            case "OpLoad":
                return self._touch(places.get(one.id("pointer")), reads=True)
            case "OpStore":
                place = places.get(one.id("pointer"))
                return self._touch(place, reads=place is not None and place.inside, kills=True)
            case "OpCopyMemory":
                source = self._touch(places.get(one.id("source")), reads=True)
                target = places.get(one.id("target"))
                return source + self._touch(target, reads=target is not None and target.inside, kills=True)
            case "OpVariable":
                return self._touch(places.get(one.result), kills=True)
        if one.name in HARMLESS:
            return []
        return [
            touch
            for operand in one.operands
            if operand.is_id and operand.value in places
            for touch in self._touch(places[operand.value], reads=True, kills=True)
        ]

    def _touch(self, place: OwnPlace | None, *, reads: bool = False, kills: bool = False) -> list[Touch]:
        if place is None or place.root in self.variables.arrays:
            return []
        slots = self.variables.slots.get(place.root)
        mask = mask_of(place.first + (slots.start if slots else 0), place.count)
        parameter = 0 if slots else place.root
        return [Touch(mask if reads else 0, mask if kills else 0, mask if kills else 0, parameter)]

    # --- what calls do -------------------------------------------------------------------------

    def arguments_of(self, call: Call, mine: Mapping[int, int | None]) -> Arguments:
        """The binding of a call, in a function whose parameters point to the slots `mine`."""
        return tuple(self.slot_of(place, mine) for place in call.places)

    def slot_of(self, place: OwnPlace | None, mine: Mapping[int, int | None]) -> int | None:
        """The first slot of a place; None where it has none."""
        if place is None or place.root in self.variables.arrays:
            return None
        slots = self.variables.slots.get(place.root)
        first = slots.start if slots else mine.get(place.root)
        return None if first is None else first + place.first

    def parameters(self, function: int, arguments: Arguments) -> dict[int, int | None]:
        """The slots that the parameters of a function point to, by their ids."""
        listed = self.variables.functions[function].function.parameters
        return {one.result: slot for one, slot in zip(listed, arguments, strict=True)}

    def _touches(self, function: int, arguments: Arguments, at: int) -> list[Touch]:
        """What the instructions of a block do, in order."""
        mine = self.parameters(function, arguments)
        made: list[Touch] = []
        for step in self._steps_of(function)[at]:
            if isinstance(step, Call):
                inner = self._summary(step.function, self.arguments_of(step, mine))
                made.append(Touch(inner.reads, inner.kills | step.result, inner.writes | step.result))
            elif step.parameter:
                made.append(step.at(mine.get(step.parameter)))
            else:
                made.append(step)
        return made

    def _bound_to(self, function: int, arguments: Arguments) -> list[Touch]:
        """What each block of a function does, as a whole."""
        key = (function, arguments)
        found = self._bound.get(key)
        if found is None:
            reached = self.variables.functions[function]
            found = [NOTHING] * len(reached.blocks)
            for at in reached.plan.order:
                found[at] = joined(self._touches(function, arguments, at))
            self._bound[key] = found
        return found

    def _summary(self, function: int, arguments: Arguments) -> Touch:
        """What a function does to the slots outside of it; what its first block changes, it always changes."""
        key = (function, arguments)
        found = self._summaries.get(key)
        if found is None:
            touched = self._bound_to(function, arguments)
            inner = self._inner(function)
            reads = self._flow(function, arguments, 0).before[0]
            writes = 0
            for touch in touched:
                writes |= touch.writes
            found = Touch(reads & ~inner, touched[0].kills & ~inner, writes & ~inner)
            self._summaries[key] = found
        return found

    def _inner(self, function: int) -> int:
        """The slots that belong to a function itself."""
        variables, reached = self.variables, self.variables.functions[function]
        return variables.mask(function) | variables.masks(one.result for one in reached.instructions)

    # --- what is needed ------------------------------------------------------------------------

    def _flow(self, function: int, arguments: Arguments, at_end: int) -> Live:
        variables, reached = self.variables, self.variables.functions[function]
        touched, plan = self._bound_to(function, arguments), reached.plan
        phis = {at: variables.masks(one.result for one in listed) for at, listed in reached.phis.items()}
        phis[RETURN] = variables.mask(function)
        given = self._given_to_phis(reached)
        live = Live(touched, phis, dict.fromkeys(plan.order, 0), at_end=at_end | variables.mask(function))
        changed = True
        while changed:
            changed = False
            for at in reversed(plan.order):
                behind = self._behind(live, reached, at, given)
                touch = touched[at]
                before = touch.reads | behind & ~touch.kills
                if before != live.before[at]:
                    live.before[at] = before
                    changed = True
        return live

    def _behind(self, live: Live, reached: Reached, at: int, given: Mapping[tuple[int, int], int]) -> int:
        """The slots that are needed at the end of a block."""
        successors = reached.plan.successors[at]
        if not successors:
            end = reached.blocks[at].terminator
            return live.at_end & ~live.phis[RETURN] if end is not None and end.name != "OpUnreachable" else 0
        behind = 0
        for to in successors:
            behind |= live.before[to] & ~live.phis.get(to, 0) | given.get((at, to), 0)
        return behind

    def _given_to_phis(self, reached: Reached) -> dict[tuple[int, int], int]:
        """The slots that the phis behind an edge take their values from, by the edge."""
        made: dict[tuple[int, int], int] = {}
        for at, listed in reached.phis.items():
            for phi in listed:
                for value, label in pairs_of(phi):
                    edge = (reached.plan.number[label], at)
                    made[edge] = made.get(edge, 0) | self.variables.mask(value)
        return made

    def _behind_calls(self, live: Live, function: int, arguments: Arguments) -> None:
        """Work out what is needed behind each call of the function."""
        reached = self.variables.functions[function]
        given = self._given_to_phis(reached)
        for at, steps in enumerate(self._steps_of(function)):
            if not any(isinstance(step, Call) for step in steps):
                continue
            needed = self._behind(live, reached, at, given)
            touches = self._touches(function, arguments, at)
            for step, touch in zip(reversed(steps), reversed(touches), strict=True):
                if isinstance(step, Call):
                    live.behind_calls[step.instruction.index] = needed
                needed = touch.reads | needed & ~touch.kills


def joined(touches: Sequence[Touch]) -> Touch:
    """What instructions do one after the other."""
    reads = kills = writes = 0
    for touch in touches:
        reads |= touch.reads & ~kills
        kills |= touch.kills
        writes |= touch.writes
    return Touch(reads, kills, writes)
