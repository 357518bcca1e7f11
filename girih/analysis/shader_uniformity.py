"""What differs between work-items in functions of the device language, which leave constructs from inside.

Work-items that leave a construct at different times bring different values, even if each value is the same for all who
have it together: results of a block, and what a loop carries, are as different as what parts those who leave
(`girih.analysis.constructs`). Where all leave with one value, at the same time, it stays what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from girih.analysis.active import ACTIVE_VISITS, ActivePromises
from girih.analysis.constructs import Constructs, constructs_of
from girih.analysis.uniformity import VISITS, Lanes, Promises, Uniformity
from girih.ir.core import Function, Op, Value
from girih.ops.device.control import Block, Branch, Construct, Leave, Loop
from girih.ops.device.private import PrivateStore

_SHADER_VISITS: Mapping[type[Op], str] = {
    **VISITS,
    **ACTIVE_VISITS,
    Block: "block",
    Loop: "carrying_loop",
    Branch: "parting_branch",
    Leave: "leave",
    PrivateStore: "private_store",
}


class ShaderPromises(ActivePromises):
    """The levels that the language promises, in functions of the device language."""

    visits = _SHADER_VISITS

    def __init__(self, function: Function) -> None:
        Promises.__init__(self, function)
        self.constructs: Constructs = constructs_of(function)
        self.parted: dict[Construct, Uniformity] = {}
        """Between whom constructs are not parted; those that are not named are left by the work-group as one."""

    def after_regions(self, op: Op) -> None:
        """Visit a construct again, whose region is known now."""
        if isinstance(op, Block):
            self.visit(op)
        elif isinstance(op, Loop):
            self.repeat(op, op.carried, op.body)
        elif not isinstance(op, Branch):
            super().after_regions(op)

    def parting_branch(self, op: Branch) -> None:
        """Part what is left from inside a branch, as far as its condition differs."""
        level = self.of((op.condition,))
        if level > self.same:
            self._part(op, level)

    def _part(self, op: Branch | Construct, level: Uniformity) -> None:
        for construct in self.constructs.reached[op]:
            if self.parted.get(construct, Uniformity.WORK_GROUP) < level:
                self.parted[construct] = level
                self._part(construct, level)
                self._stores_under(construct)
            if self.following:
                self.visit(construct)
        self._stores_under(op)

    def _stores_under(self, op: Construct | Branch) -> None:
        for store in self.constructs.stores.get(op, ()):
            self.visit(store)

    def block(self, op: Block) -> None:
        """Raise the results of a block to what is left with."""
        if self.levels:
            for number, result in enumerate(op.results):
                self.rise(result, self._left_with(op, number, ()))

    def carrying_loop(self, op: Loop) -> None:
        """Raise what a loop carries to what it begins with, and what goes on."""
        if self.levels:
            for number, carried in enumerate(op.carried):
                self.rise(carried, self._left_with(op, number, op.initial[number : number + 1]))

    def _left_with(self, op: Construct, number: int, more: Sequence[Value]) -> Uniformity:
        leaves = self.constructs.leaves[op]
        values = [leave.values[number] for leave in leaves]
        level = self.of((*more, *values))
        if len(set(values)) > 1:
            return max(level, self.parted.get(op, Uniformity.WORK_GROUP))
        loops = (loop for leave in leaves for loop in self.constructs.through[leave])
        return max((level, *(self.parted[loop] for loop in loops if loop in self.parted)))

    def leave(self, op: Leave) -> None:
        """Visit what is left, if it is not visited anyway when the end of its region is reached."""
        if self.following:
            self.visit(self.constructs.targets[op])

    def private_store(self, op: PrivateStore) -> None:
        """Raise an array to what is stored, and to what decides who stores."""
        level = self.of((op.value, op.index))
        for control in self.constructs.controls[op]:
            if isinstance(control, Branch):
                level = max(level, self.of((control.condition,)))
            else:
                level = max(level, self.parted.get(control, Uniformity.WORK_GROUP))
        before = self.levels.get(op.array)
        self.rise(op.array, level)
        if not self.following and self.levels.get(op.array) is not before:
            # Loads that come before the store, in a loop around both, have been visited.
            self.risen.append(op.array)


class ShaderLanes(ShaderPromises, Lanes):
    """The levels where lanes are the elements of a vector, in functions of the device language."""

    def __init__(self, function: Function, constants: dict[Value, int], lanes: int) -> None:
        ShaderPromises.__init__(self, function)
        self.constants = constants
        self.lanes = lanes
