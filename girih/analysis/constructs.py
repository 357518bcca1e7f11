"""What is left from where, in functions of the device language: who leaves which block or loop, and through what.

A construct is *parted* where work-items may leave it, or constructs around it, at different times: behind a branch that
they take in different ways, or out of a construct inside of it that is parted itself. `Constructs` has what is needed
to say so once it is known which conditions differ. The time is linear in the number of instructions times the depth of
nests.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache

from girih.ir.core import Function, Op, Region, Value
from girih.lazy_dataclass import dataclass
from girih.ops.device.control import Block, Branch, Construct, Leave, Loop, Unreachable
from girih.ops.device.private import PrivateArray, PrivateStore

Control = Block | Loop | Branch


@dataclass(slots=True, eq=False)
class Constructs:
    """The constructs of a function, and what leaves them."""

    leaves: dict[Construct, list[Leave]] = field(default_factory=dict)
    """What leaves each construct, or goes to the next iteration of each loop."""
    targets: dict[Leave, Construct] = field(default_factory=dict)
    through: dict[Leave, tuple[Loop, ...]] = field(default_factory=dict)
    """The loops inside of the construct that each `leave` leaves with it."""
    reached: dict[Control, tuple[Construct, ...]] = field(default_factory=dict)
    """The constructs around a construct or branch, from inside to outside, up to the last that is left from inside."""
    outermost: set[Op] = field(default_factory=set)
    """The instructions of control flow that stand in no construct."""
    controls: dict[PrivateStore, tuple[Control, ...]] = field(default_factory=dict)
    """What decides who comes to a store, of those who came to the array."""
    stores: dict[Control, list[PrivateStore]] = field(default_factory=dict)
    """The stores about which each construct or branch decides."""

    def of(self, op: Op) -> tuple[Construct, ...]:
        """The constructs that are left from inside of an instruction, or may be: `reached`."""
        return self.reached[op] if isinstance(op, Block | Loop | Branch) else ()

    def parted(self, differs: set[Value]) -> set[Construct]:
        """The constructs that are parted, where the conditions in a set differ between work-items."""
        found: set[Construct] = set()
        pending: list[Control] = [op for op in self.reached if isinstance(op, Branch) and op.condition in differs]
        while pending:
            for construct in self.reached[pending.pop()]:
                if construct not in found:
                    found.add(construct)
                    pending.append(construct)
        return found


@lru_cache(maxsize=4)
def constructs_of(function: Function) -> Constructs:
    """The constructs of a checked function."""
    found = Constructs()
    _Walk(found).region(function.body, [], [])
    return found


class _Walk:
    """The walk over a function that fills `Constructs`."""

    def __init__(self, found: Constructs) -> None:
        self._found = found
        self._depths: dict[Value, int] = {}

    def region(self, region: Region, around: list[Construct], controls: list[Control]) -> int:
        """How many of the constructs around a region are not left from inside of it."""
        kept = len(around)
        for op in region.ops:
            kept = min(kept, self._op(op, around, controls))
        return kept

    def _op(self, op: Op, around: list[Construct], controls: list[Control]) -> int:
        kept, found = len(around), self._found
        if not around and isinstance(op, Block | Loop | Branch | Unreachable):
            found.outermost.add(op)
        match op:
            case Leave():
                return self._leave(op, around)
            case Branch():
                kept = min(self.region(side, around, [*controls, op]) for side in op.regions)
                found.reached[op] = tuple(reversed(around[kept:]))
            case Block() | Loop():
                found.leaves[op] = []
                kept = min(kept, self.region(op.body, [*around, op], [*controls, op]))
                found.reached[op] = tuple(reversed(around[kept:]))
            case PrivateArray():
                self._depths[op.result] = len(controls)
            case PrivateStore():
                deciding = tuple(controls[self._depths.get(op.array, 0) :])
                found.controls[op] = deciding
                for control in deciding:
                    found.stores.setdefault(control, []).append(op)
            case _:
                for inner in op.regions:
                    self.region(inner, [], controls)
        return kept

    def _leave(self, op: Leave, around: list[Construct]) -> int:
        number = len(around) - 1 - op.depth
        target = around[number]
        self._found.targets[op] = target
        self._found.leaves[target].append(op)
        self._found.through[op] = tuple(one for one in around[number + 1 :] if isinstance(one, Loop))
        return number
