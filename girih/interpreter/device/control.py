"""The meaning of control flow that is left from inside (`girih.ops.device.control`).

An instruction of control flow leaves `Machine.mask` as what is still active behind it, and `NOBODY` where that is no
one: then the rest of the regions around is skipped, up to the end of a construct at which somebody has arrived. Where
all work-items go the same way, masks stay the objects that they were, and none is computed.
"""

from __future__ import annotations

from dataclasses import field

import numpy as np

from girih.facts import device
from girih.interpreter.machine import numbers
from girih.interpreter.machine.holders import of_components
from girih.interpreter.machine.machine import NOBODY, BudgetSpent, Machine, meaning
from girih.interpreter.machine.undefined import find_undefined, hand_on_by_themselves, mark
from girih.interpreter.machine.values import Array, Mask
from girih.ir.core import Value
from girih.ir.types import CoopMatrix, Number, Type
from girih.lazy_dataclass import dataclass
from girih.ops.device.control import Block, Branch, Leave, Loop, Unreachable

hand_on_by_themselves(Block, Branch, Leave, Loop, Unreachable)


@dataclass(slots=True, eq=False)
class OpenConstruct:
    """A block or loop in execution: who has left it so far, and with which values.

    Of a loop these are those who go on to the next iteration. `crossed` says that some left a construct further out.
    """

    arrived: Mask | None = None
    values: list[Array] = field(default_factory=list)
    undefined: list[Mask | None] = field(default_factory=list)
    crossed: bool = False

    def begin(self) -> None:
        """Begin an execution of the region: nobody has left it."""
        self.arrived = NOBODY
        self.undefined = []

    def arrive(self, machine: Machine, op: Leave) -> None:
        """Let the active work-items leave with the values of an instruction."""
        mask, first = machine.mask, self.arrived is NOBODY
        values = [machine.array(v) for v in op.values]
        if machine.undefined or self.undefined:
            self._merge_undefined(machine, op, mask, first)
        if not first and values:
            assert mask is not None
            pairs = zip(op.values, values, self.values, strict=True)
            values = [_chosen(machine, value.type, mask, new, old) for value, new, old in pairs]
        self.values = values
        self.arrived = joined(self.arrived, mask)

    def _merge_undefined(self, machine: Machine, op: Leave, mask: Mask | None, first: bool) -> None:
        before = self.undefined or [None] * len(op.values)
        after: list[Mask | None] = []
        for value, old in zip(op.values, before, strict=True):
            new = machine.undefined.get(value)
            if first or mask is None:
                after.append(new)
            else:
                both = (NOBODY if new is None else new) & mask | (NOBODY if old is None else old) & ~mask
                after.append(both if both.any() else None)
        self.undefined = after

    def bind(self, machine: Machine, values: tuple[Value, ...]) -> None:
        """Set values of the program to those that work-items left with."""
        machine.env.update(zip(values, self.values, strict=True))
        if machine.undefined or self.undefined:
            for value, where in zip(values, self.undefined or [None] * len(values), strict=True):
                mark(machine, value, where)


def joined(a: Mask | None, b: Mask | None) -> Mask | None:
    """The work-items of two masks."""
    if a is NOBODY or b is None:
        return b
    if b is NOBODY or a is None:
        return a
    return a | b


def _chosen(machine: Machine, type: Type, mask: Mask, new: Array, old: Array) -> Array:
    """The new value for the work-items of a mask, of a matrix the components that they hold; the old one for others."""
    if isinstance(type, CoopMatrix):
        return np.where(of_components(mask, type, machine.subgroups, machine.lanes), new, old)
    return np.where(mask, new, old)


def zeros(type: Type) -> Array:
    """Zeros as the value of a type, for all work-items or all holders of a matrix."""
    if isinstance(type, CoopMatrix):
        return np.zeros((1, 1, *type.shape), numbers.dtype(type.component))
    return np.zeros((1, 1, 1), numbers.dtype(type) if isinstance(type, Number) else np.bool_)


@meaning(Block)
def block(machine: Machine, op: Block) -> None:
    """Execute the region; behind it are those who left the block, or came to the region's end."""
    outer = machine.mask
    construct = OpenConstruct()
    construct.begin()
    machine.constructs.append(construct)
    machine.region_that_is_left(op.body)
    machine.constructs.pop()
    machine.mask = joined(construct.arrived, machine.mask) if construct.crossed else outer
    if op.results:
        if construct.arrived is NOBODY:
            construct.values = [zeros(value.type) for value in op.results]
        construct.bind(machine, op.results)


@meaning(Loop)
def loop(machine: Machine, op: Loop) -> None:
    """Execute the region until no work-item goes on; behind it are those who came to the region's end."""
    outer = machine.mask
    construct = OpenConstruct(values=[machine.array(value) for value in op.initial])
    if machine.undefined:
        construct.undefined = [machine.undefined.get(value) for value in op.initial]
    going, crossed = outer, False
    ended: Mask | None = NOBODY
    machine.constructs.append(construct)
    try:
        while True:
            machine.mask = going
            construct.bind(machine, op.carried)
            construct.begin()
            construct.crossed = False
            machine.region_that_is_left(op.body)
            crossed = crossed or construct.crossed
            if construct.crossed or machine.mask is not NOBODY:
                ended, going = joined(ended, machine.mask), construct.arrived
            if construct.arrived is NOBODY:
                break
    except BudgetSpent as spent:
        spent.loop = spent.loop or op
        raise
    machine.constructs.pop()
    machine.mask = ended if crossed else outer


@meaning(Branch)
def branch(machine: Machine, op: Branch) -> None:
    """Execute both regions under complementary masks, or only one if all active work-items agree."""
    if machine.undefined:
        find_undefined(machine, op, "condition", op.condition)
    condition, outer = machine.array(op.condition), machine.mask
    if condition.size == 1:
        taken = op.then if condition.item() else op.otherwise
        if taken is not None:
            machine.region_that_is_left(taken)
        return
    there = condition if outer is None else condition & outer
    if not there.any():
        if op.otherwise is not None:
            machine.region_that_is_left(op.otherwise)
        return
    elsewhere = ~condition if outer is None else ~condition & outer
    if not elsewhere.any():
        machine.region_that_is_left(op.then)
        return
    machine.mask = there
    machine.region_that_is_left(op.then)
    first = machine.mask
    machine.mask = elsewhere
    if op.otherwise is not None:
        machine.region_that_is_left(op.otherwise)
    unchanged = first is there and machine.mask is elsewhere
    machine.mask = outer if unchanged else joined(first, machine.mask)


@meaning(Leave)
def leave(machine: Machine, op: Leave) -> None:
    """Let the active work-items wait at the end of the construct, or for the next iteration."""
    for crossed in machine.constructs[len(machine.constructs) - op.depth :]:
        crossed.crossed = True
    machine.constructs[-1 - op.depth].arrive(machine, op)
    machine.mask = NOBODY


@meaning(Unreachable)
def unreachable(machine: Machine, op: Unreachable) -> None:
    """Find those who come here; they take no part in what follows."""
    machine.find(device.reached(op.text), op, machine.active())
    for construct in machine.constructs:
        construct.crossed = True
    machine.mask = NOBODY
