"""What is known of the matrices of a kernel before it is lowered: who uses them, and how long work on them can wait.

Guarantees: a value that may wait is only used in the region that defines it; a value that reads memory only waits where
nothing that may write memory stands before its last evaluation.
"""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache

from girih.analysis.effects import writes_itself
from girih.facts.accumulators import product_accumulator
from girih.ir.core import Function, Op, Region, Value
from girih.ir.types import F16, F32, I8, PARTS, CoopMatrix, PrivateArrayType, Type, Use
from girih.lazy_dataclass import dataclass
from girih.ops.tile.arith import Binary, Bitcast, Cast, Unary
from girih.ops.tile.control import Barrier, If, Yield
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd, CooperativeMatrixScale
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply
from girih.ops.tile.memory import LifetimeStop

ELEMENTWISE = (Binary, Unary, Cast, Bitcast, CooperativeMatrixScale, CooperativeMatrixApply)
"""Instructions that compute each component from those at the same place."""


_ORDERING = ("work_group_barrier", "subgroup_barrier", "memory_barrier")
"""Instructions behind which memory may be another one, by name likewise."""

_UNREAD = ("matrix_check_decode",)
"""Instructions that are nothing in compiled code; programs in other languages do not load theirs."""


_PRIVATE_LOAD, _PRIVATE_STORE = "private_load", "private_store"
"""Accesses to private arrays, by name likewise."""


@dataclass(slots=True)
class MatrixUses:
    """Uses of the matrices of a function."""

    users: dict[Value, list[Op]] = field(default_factory=dict)
    definers: dict[Value, Op] = field(default_factory=dict)
    homes: dict[Op, Region] = field(default_factory=dict)
    owners: dict[Region, Op] = field(default_factory=dict)
    positions: dict[Op, int] = field(default_factory=dict)
    writers: dict[Region, list[int]] = field(default_factory=dict)
    defined_in: dict[Value, Region] = field(default_factory=dict)
    evaluations: dict[Value, int | None] = field(default_factory=dict)
    array_loads: dict[Value, list[Op]] = field(default_factory=dict)
    """The loads of matrices from each private array."""

    def uses(self, value: Value) -> int | None:
        """How often a value is read; None where that may happen in a region within that of its definition.

        What leaves the region with it, before it is read there, is not counted: nobody reads it behind that.
        """
        home = self.defined_in.get(value)
        users = self.users.get(value, [])
        own = [user for user in users if self.homes[user] is home]
        if home is None or len(own) == len(users):
            return None if home is None else len(users)
        first = min((self.positions[user] for user in own), default=0)
        leave_before = all(self._leaves_before(user, home, first) for user in users if self.homes[user] is not home)
        return len(own) if leave_before else None

    def _leaves_before(self, user: Op, home: Region, first: int) -> bool:
        """Whether an instruction leaves a region from inside, through branches that stand before position `first`."""
        if user.spec.mnemonic != "leave":
            return False
        around = user
        while self.homes[around] is not home:
            owner = self.owners.get(self.homes[around])
            if owner is None or owner.spec.mnemonic != "branch":
                return False
            around = owner
        return self.positions[around] < first

    def may_wait(self, value: Value, *, reads: bool) -> bool:
        """Whether the instruction that defines a value may be carried out where the value is needed."""
        last = self.evaluations.get(value)
        definer = self.definers.get(value)
        if last is None or definer is None:
            return False
        return not reads or not self._written(self.homes[definer], self.positions[definer], last)

    def is_asked_for(self, value: Value) -> bool:
        """Whether anything that is carried out needs a value, directly or through steps that wait."""
        pending, seen = [value], {value}
        while pending:
            for user in self.users.get(pending.pop(), []):
                if not isinstance(user, ELEMENTWISE):
                    return True
                more = [v for v in user.results if v not in seen]
                seen.update(more)
                pending += more
        return False

    def may_wait_in_memory(self, value: Value) -> bool:
        """Whether a load may be carried out where its only user needs the tile."""
        users = self.users.get(value, [])
        definer = self.definers[value]
        home = self.homes[definer]
        if len(users) != 1 or self.homes[users[0]] is not home:
            return False
        if not isinstance(users[0], Yield):
            return self.may_wait(value, reads=True)
        result = self._result_of(users[0], value)
        end = len(home.ops) - 1
        return (
            result is not None
            and self.by_reference(result)
            and not (self._written(home, self.positions[definer], end) or self._written_after(result))
        )

    def must_not_wait(self, value: Value) -> bool:
        """Whether a load might wait for its only use, in the same region, but for what writes memory before that."""
        users, definer = self.users.get(value, []), self.definers[value]
        last, home = self.evaluations.get(value), self.homes[definer]
        if last is None or len(users) != 1 or self.homes[users[0]] is not home:
            return False
        return self._written(home, self.positions[definer], last - 1)

    def by_reference(self, value: Value) -> bool:
        """Whether the result of a branch is only a factor of products, so that it may stay where it was found."""
        type, users = value.type, self.users.get(value, [])
        definer = self.definers.get(value)
        if not isinstance(type, CoopMatrix) or not isinstance(definer, If) or not users:
            return False
        if type.use is Use.ACC or type.component in PARTS:
            return False
        if any(self.homes[u] is not self.homes[definer] for u in users):
            return False
        if all(isinstance(u, CooperativeMatrixMulAdd) for u in users):
            return True
        outer = self.outer_result(value)
        return outer is not None and self.by_reference(outer)

    def only_multiplied(self, value: Value) -> bool:
        """Whether a value is only a factor of products, in the region that defines it."""
        users, home = self.users.get(value, []), self.defined_in.get(value)
        return all(isinstance(u, CooperativeMatrixMulAdd) and self.homes[u] is home for u in users)

    def is_by_rows(self, value: Value) -> bool:
        """Whether a matrix of bytes is only multiplied by columns, directly or through steps for each component.

        Such products are dot products of its rows, which are computed where they are multiplied.
        """
        users, home = self.users.get(value, []), self.defined_in.get(value)
        bytes = isinstance(value.type, CoopMatrix) and value.type.component == I8
        return bytes and bool(users) and all(self.homes[u] is home and self._takes_rows(u, value) for u in users)

    def _takes_rows(self, user: Op, value: Value) -> bool:
        if isinstance(user, CooperativeMatrixMulAdd):
            column = isinstance(user.b.type, CoopMatrix) and user.b.type.columns == 1
            return column and user.b is not value and user.c is not value
        return isinstance(user, Binary | Unary | Cast) and self.is_by_rows(user.result)

    def is_widened(self, value: Value) -> bool:
        """Whether a matrix of f16 is held as f32: a factor of several products, which sum in f32, and nothing else.

        A factor of one product, in the region that defines the value, is converted there.
        """
        users = self.users.get(value, [])
        if not _may_be_widened(value.type) or not users:
            return False
        if len(users) == 1 and isinstance(users[0], CooperativeMatrixMulAdd) and self.uses(value) == 1:
            return False
        return all(
            self.is_widened_array(getattr(user, "array", None))
            if user.spec.mnemonic == _PRIVATE_STORE
            else _multiplies_in_f32(user, value)
            for user in users
        )

    def is_widened_array(self, array: Value | None) -> bool:
        """Whether a private array of matrices of f16 holds them as f32: all are factors of products alone."""
        if array is None or not isinstance(array.type, PrivateArrayType) or not _may_be_widened(array.type.element):
            return False
        taken = [value for load in self.array_loads.get(array, ()) for value in load.results]
        users = [(user, value) for value in taken for user in self.users.get(value, [])]
        return all(_multiplies_in_f32(user, value) for user, value in users)

    def may_stay_in_array(self, value: Value) -> bool:
        """Whether the element of a private array, as which a matrix was loaded, stays as it is until its last use."""
        definer, last = self.definers[value], self.evaluations.get(value)
        if last is None:
            return False
        array, between = next(iter(definer.operands)), self.homes[definer].ops[self.positions[definer] + 1 : last + 1]
        return not any(_stores_to(op, array) for op in between)

    def outer_result(self, value: Value) -> Value | None:
        """The result of the branch around that a value is yielded to, where it is its only user."""
        users = self.users.get(value, [])
        return self._result_of(users[0], value) if len(users) == 1 else None

    def _result_of(self, last: Op, value: Value) -> Value | None:
        """What a branch makes of a value that it yields."""
        owner = self.owners.get(self.homes[last])
        if not isinstance(owner, If) or not isinstance(last, Yield) or last.values.count(value) != 1:
            return None
        return owner.results[last.values.index(value)]

    def _written_after(self, result: Value) -> bool:
        """Whether memory may be written between a branch and the use of its result."""
        definer, users = self.definers[result], self.users[result]
        home = self.homes[definer]
        if self._written(home, self.positions[definer], max(self.positions[u] for u in users)):
            return True
        outer = self.outer_result(result)
        return outer is not None and self._written_after(outer)

    def _written(self, region: Region, after: int, until: int) -> bool:
        """Whether an instruction behind position `after`, up to `until`, may write memory."""
        return any(after < position <= until for position in self.writers[region])


@lru_cache(maxsize=4)
def plan_of(function: Function) -> MatrixUses:
    """The plan of a function."""
    plan = MatrixUses()
    regions: list[Region] = []
    pending = [function.body]
    while pending:
        region = pending.pop()
        regions.append(region)
        for position, op in enumerate(region.ops):
            _enter(plan, region, position, op)
            for inner in op.regions:
                plan.owners[inner] = op
                plan.defined_in.update((v, inner) for v in op.bindings)
            pending.extend(op.regions)
    for region in reversed(regions):
        plan.writers[region] = [k for k, op in enumerate(region.ops) if _changes_memory(plan, op)]
    for region in regions:
        for op in reversed(region.ops):
            _evaluate(plan, region, op)
    return plan


def _enter(plan: MatrixUses, region: Region, position: int, op: Op) -> None:
    plan.homes[op], plan.positions[op] = region, position
    for value in op.operands:
        if isinstance(value.type, CoopMatrix) and op.spec.mnemonic not in _UNREAD:
            plan.users.setdefault(value, []).append(op)
    if op.spec.mnemonic == _PRIVATE_LOAD and isinstance(op.results[0].type, CoopMatrix):
        plan.array_loads.setdefault(next(iter(op.operands)), []).append(op)
    for value in op.results:
        plan.definers[value], plan.defined_in[value] = op, region


def _stores_to(op: Op, array: Value) -> bool:
    """Whether an instruction, or one in its regions, stores to a private array."""
    if op.spec.mnemonic == _PRIVATE_STORE and array in op.operands:
        return True
    return any(_stores_to(inner, array) for region in op.regions for inner in region.ops)


def _may_be_widened(type: Type) -> bool:
    return isinstance(type, CoopMatrix) and type.component == F16 and type.use is not Use.ACC


def _multiplies_in_f32(user: Op, value: Value) -> bool:
    """Whether an instruction is a product that sums in f32, and a value nothing but a factor of it."""
    if not isinstance(user, CooperativeMatrixMulAdd) or user.c is value:
        return False
    c, result = user.c.type, user.result.type
    assert isinstance(c, CoopMatrix)
    assert isinstance(result, CoopMatrix)
    return product_accumulator(c.component, result.component) == F32


def _changes_memory(plan: MatrixUses, op: Op) -> bool:
    """Whether an instruction may change memory that others see, or lets others change it."""
    ordering = isinstance(op, Barrier | LifetimeStop) or op.spec.mnemonic in _ORDERING
    return ordering or writes_itself(op) or any(plan.writers[region] for region in op.regions)


def _evaluate(plan: MatrixUses, region: Region, op: Op) -> None:
    """Note where the results of an instruction are needed at the latest."""
    for value in op.results:
        users = plan.users.get(value, [])
        if not isinstance(value.type, CoopMatrix) or any(plan.homes[u] is not region for u in users):
            continue
        last = plan.positions[op]
        for user in users:
            later = plan.evaluations.get(user.result) if isinstance(user, ELEMENTWISE) else None
            last = max(last, plan.positions[user] if later is None else later)
        plan.evaluations[value] = last
