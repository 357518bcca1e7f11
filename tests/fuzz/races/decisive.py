"""Which atomic accesses an order of execution is about: those that order others, and those whose results decide.

The order of all others changes nothing that a race depends on. An update whose result nobody looks at, for example, is
one whoever comes first.
"""

from __future__ import annotations

from collections.abc import Iterator

from girih.ir.core import Function, Op, Slice, Value
from girih.ir.define import Operand
from girih.ir.types import MemRef
from girih.ops.tile.builtin import GroupId
from girih.ops.tile.control import For, Foreach, ForeachTile, If, Yield
from girih.ops.tile.coopmatrix import AtomicAccess
from girih.ops.tile.memory import AtomicLoad, AtomicStore, AtomicUpdate, Load, Scope, Store
from tests.fuzz.races.ordered import ACQUIRES, RELEASES

ATOMIC = (AtomicLoad, AtomicStore, AtomicUpdate)

Memories = frozenset[Value]
"""Memories, as the parameter or the result of the `alloca`."""


def origins(function: Function) -> dict[Value, Value]:
    """The parameter or `alloca` behind each memref."""
    found = {p.value: p.value for p in function.parameters}
    for op in function.walk():
        for result in op.results:
            if isinstance(result.type, MemRef):
                sources = [found[v] for v in op.operands if isinstance(v.type, MemRef)]
                found[result] = sources[0] if sources else result
    return found


def synchronising(function: Function) -> Memories:
    """The memories in which something is released and something acquired."""
    origin = origins(function)
    ops = [op for op in function.walk() if isinstance(op, ATOMIC)]
    releases = {origin[op.tensor] for op in ops if op.semantics in RELEASES and not isinstance(op, AtomicLoad)}
    acquires = {origin[op.tensor] for op in ops if op.semantics in ACQUIRES and not isinstance(op, AtomicStore)}
    return frozenset(releases & acquires)


def deciding(function: Function, *, by_all: bool = False) -> Memories:
    """The memories that atomic accesses change, or any, and whose contents decide a branch, a loop or an index."""
    flow = _Flow(function, by_all)
    flow.settle()
    return flow.deciding


def stored_atomically(function: Function) -> Memories:
    """The memories in which an atomic store may end a release sequence."""
    origin = origins(function)
    return frozenset(origin[op.tensor] for op in function.walk() if isinstance(op, AtomicStore))


def apart(function: Function) -> Memories:
    """The memories of which a work-group touches its part only: local ones, and where the last index is `group_id`."""
    origin = origins(function)
    own = {op.result for op in function.walk() if isinstance(op, GroupId) and op.axis == 0}
    shared = {p.value for p in function.parameters}
    picked = {
        origin[op.tensor]
        for op in function.walk()
        if isinstance(op, (Load, Store, *ATOMIC)) and op.tensor in shared and op.indices and op.indices[-1] in own
    }
    others = {
        origin[v]
        for op in function.walk()
        for v in op.operands
        if isinstance(v.type, MemRef)
        and not (isinstance(op, (Load, Store, *ATOMIC)) and v in shared and op.indices and op.indices[-1] in own)
    }
    return frozenset(set(origin.values()) - shared | (picked - others))


def scopes(function: Function) -> frozenset[Scope]:
    """The scopes of all atomic accesses."""
    return frozenset(op.scope for op in function.walk() if isinstance(op, (*ATOMIC, AtomicAccess)))


class _Flow:
    """Which memories, changed by atomic accesses or by all, each value and the contents of each memory depend on."""

    def __init__(self, function: Function, by_all: bool) -> None:
        self.function = function
        self.by_all = by_all
        self.origin = origins(function)
        self.values: dict[Value, Memories] = {}
        self.contents: dict[Value, Memories] = {}
        self.deciding: Memories = frozenset()

    def settle(self) -> None:
        before = None
        while before != (before := (dict(self.values), dict(self.contents), self.deciding)):
            self._region(self.function.body.ops, frozenset())

    def _of(self, values: Iterator[Value] | tuple[Value, ...]) -> Memories:
        return frozenset().union(*(self.values.get(value, frozenset()) for value in values))

    def _region(self, ops: tuple[Op, ...], control: Memories) -> None:
        for op in ops:
            self._decides(op)
            self._flows(op, control)
            inside = control
            if isinstance(op, If):
                inside = control | self._of((op.condition,))
            elif isinstance(op, For):
                inside = control | self._of((op.start, op.stop))
            for region in op.regions:
                self._region(region.ops, inside)

    def _decides(self, op: Op) -> None:
        deciders: list[Value] = []
        if isinstance(op, If):
            deciders = [op.condition]
        elif isinstance(op, For | Foreach | ForeachTile):
            deciders = list(op.operands)
        else:
            for name in ("indices", "slices", "row", "column"):
                deciders += _inside(getattr(op, name, ()))
        self.deciding |= self._of(tuple(deciders))

    def _flows(self, op: Op, control: Memories) -> None:
        through = self._of(op.operands) | control
        counts = self.by_all or isinstance(op, (*ATOMIC, AtomicAccess)) or getattr(op, "atomic", False)
        for where, role in self._memories(op):
            if role.reads:
                through |= self.contents.get(where, frozenset())
            if role.writes:
                changed = frozenset([where]) if counts else frozenset[Value]()
                self.contents[where] = self.contents.get(where, frozenset()) | through | changed
                through |= changed
        for value in (*op.results, *op.bindings):
            self.values[value] = self.values.get(value, frozenset()) | through
        if op.regions:
            self._yields(op)

    def _memories(self, op: Op) -> Iterator[tuple[Value, Operand]]:
        """The memories that an instruction reads or writes, those that it reads first."""
        roles = [(name, role) for name, role in op.spec.roles.items() if isinstance(role, Operand)]
        for name, role in sorted(roles, key=lambda pair: pair[1].writes):
            held = getattr(op, name)
            if (role.reads or role.writes) and isinstance(held, Value) and isinstance(held.type, MemRef):
                yield self.origin[held], role

    def _yields(self, op: Op) -> None:
        for region in op.regions:
            last = region.terminator
            if isinstance(last, Yield):
                for target in (op.results, tuple(op.bindings)[1:] if isinstance(op, For) else ()):
                    for value, source in zip(target, last.values, strict=False):
                        self.values[value] = self.values.get(value, frozenset()) | self._of((source,))


def _inside(held: object) -> list[Value]:
    if isinstance(held, Value):
        return [held]
    if isinstance(held, Slice):
        return _inside((held.offset, held.size))
    return [v for item in held for v in _inside(item)] if isinstance(held, tuple) else []
