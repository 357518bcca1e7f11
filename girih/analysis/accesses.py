"""The accesses of a kernel to memory: which instruction reads, writes or updates which memory, and who executes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from girih.analysis.effects import roots_of
from girih.ir.core import Function, Op, Region, Value
from girih.ir.define import Operand
from girih.ir.types import CoopMatrix, GroupType, MemRef
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import Foreach, ForeachTile, Parallel
from girih.ops.tile.coopmatrix_regions import CooperativeMatrixApply
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor
from girih.ops.tile.memory import Scope, Semantics
from girih.ops.tile.tensor_map import TensorCopy

Kind = Literal["read", "write", "update"]
Key = tuple[Op, str, Kind]
"""An instruction, the name of its operand, and what it does with the memory of that."""

_ACQUIRES = {Semantics.ACQUIRE, Semantics.ACQUIRE_RELEASE, Semantics.SEQUENTIALLY_CONSISTENT}
_RELEASES = {Semantics.RELEASE, Semantics.ACQUIRE_RELEASE, Semantics.SEQUENTIALLY_CONSISTENT}
_FENCES = frozenset({"memory_barrier", "work_group_barrier", "subgroup_barrier"})
"""Fences of the device language, which is not loaded for kernels in the tensor language."""

_BEYOND = (Scope.DEVICE, Scope.CROSS_DEVICE)
"""The scopes beyond a work-group."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """One way in which an instruction accesses memory; places are numbered from 1.

    `operand` names the instruction's operand, `root` is the parameter or allocation whose memory it is. `scope` is None
    where the access is not atomic, `around` is the `parallel`, `foreach` or `foreach_tile` in which the instruction
    stands, None in a collective region. `inside` is the `apply` or the load with `decode` in whose region it stands,
    `region` the innermost one.
    """

    number: int
    op: Op
    operand: str
    kind: Kind
    root: Value
    around: Op | None
    inside: Op | None
    scope: Scope | None
    region: Region

    @property
    def writes(self) -> bool:
        """Whether it changes memory."""
        return self.kind != "read"

    @property
    def is_copy(self) -> bool:
        """Whether it is an access of a tensor copy, which goes on beside what follows."""
        return isinstance(self.op, TensorCopy)

    @property
    def matrix(self) -> CoopMatrix | None:
        """The type of the matrix whose components are moved, or computed by the region that the access stands in."""
        return matrix_of(self.op if self.inside is None else self.inside)

    @property
    def words(self) -> str:
        """What the access does: `read`, or `atomic update`."""
        return self.kind if self.scope is None else f"atomic {self.kind}"


def matrix_of(op: Op) -> CoopMatrix | None:
    """The type of the matrix that an instruction moves, or whose components its region computes."""
    types = [value.type for value in (*op.results, *op.operands) if isinstance(value.type, CoopMatrix)]
    return types[0] if types else None


@dataclass(frozen=True, slots=True, eq=False)
class Accesses:
    """All places of a kernel."""

    places: tuple[Place, ...]
    numbers: dict[Key, Place]
    observes: bool
    """Whether what an atomic access reads is used, or something is acquired, so that it matters who comes first."""
    fences: tuple[Op, ...] = ()
    """The instructions that order accesses and access nothing themselves, but for barriers of the work-group alone."""
    meetings: bool = False
    """Whether there are barriers of subgroups that order accesses."""

    @property
    def synchronizes(self) -> bool:
        """Whether a release may be observed by an acquire."""
        semantics = {semantics_of(op) for op in (*(place.op for place in self.places), *self.fences)}
        handed_over = any(place.scope is not None for place in self.places)
        return handed_over and not semantics.isdisjoint(_ACQUIRES) and not semantics.isdisjoint(_RELEASES)

    @property
    def matrices(self) -> tuple[CoopMatrix, ...]:
        """The types of matrices that are moved, or whose components regions compute that access memory."""
        return tuple(dict.fromkeys(place.matrix for place in self.places if place.matrix is not None))


def semantics_of(op: Op) -> Semantics:
    """The memory order of an instruction: relaxed where it has none."""
    semantics = getattr(op, "semantics", Semantics.RELAXED)
    assert isinstance(semantics, Semantics)
    return semantics


def acquires(op: Op) -> bool:
    """Whether an instruction acquires; a store cannot (003 "Atomic load" has the five orders)."""
    return (op.spec.reads or not op.spec.writes) and semantics_of(op) in _ACQUIRES


def releases(op: Op) -> bool:
    """Whether an instruction releases; a load cannot."""
    return (op.spec.writes or not op.spec.reads) and semantics_of(op) in _RELEASES


def names_memories(op: Op) -> bool:
    """Whether an instruction says in which memories it orders accesses."""
    return "global_fence" in op.spec.roles and "local_fence" in op.spec.roles


def is_sequentially_consistent(op: Op) -> bool:
    """Whether an instruction is in the one order of all of its kind, which holds for both memories."""
    return semantics_of(op) is Semantics.SEQUENTIALLY_CONSISTENT


@lru_cache(maxsize=64)
def accesses_of(function: Function) -> Accesses:
    """The places of a checked kernel."""
    roots = roots_of(function)
    places: list[Place] = []
    fences: list[Op] = []
    for op, region, around, inside in _walk(function):
        if op.spec.mnemonic in _FENCES and semantics_of(op) is not Semantics.RELAXED:
            fences.append(op)
        for operand, kind, value in _operands(op):
            if value in roots:
                scope = _scope(op, operand, kind)
                places.append(Place(len(places) + 1, op, operand, kind, roots[value], around, inside, scope, region))
    numbers = {(p.op, p.operand, p.kind): p for p in places}
    meetings = any(op.spec.mnemonic == "subgroup_barrier" for op in fences)
    alone = {"work_group_barrier", "subgroup_barrier"}
    beyond = [op for op in fences if op.spec.mnemonic not in alone or getattr(op, "scope", None) in _BEYOND]
    return Accesses(tuple(places), numbers, _observes(function, places), tuple(beyond), meetings)


def _observes(function: Function, places: Sequence[Place]) -> bool:
    used = {value for op in function.walk() for value in op.operands}
    reads = [place.op for place in places if place.scope is not None and place.op.spec.reads]
    return any(acquires(op) or not used.isdisjoint(op.results) for op in reads)


def _walk(function: Function) -> Iterator[tuple[Op, Region, Op | None, Op | None]]:
    """All instructions, each with its region, what shares out the work around it and what has it compute."""
    body = function.body
    pending: list[tuple[Op, Region, Op | None, Op | None]] = [(op, body, None, None) for op in reversed(body.ops)]
    while pending:
        op, within, around, inside = pending.pop()
        yield op, within, around, inside
        shares = op if isinstance(op, Parallel | Foreach | ForeachTile) else around
        computes = op if isinstance(op, CooperativeMatrixApply | CooperativeMatrixLoadTensor) else inside
        for region in reversed(op.regions):
            pending += [(inner, region, shares, computes) for inner in reversed(region.ops)]


def _operands(op: Op) -> Iterator[tuple[str, Kind, Value]]:
    """The operands through which an instruction accesses memory, and what it does there."""
    if any(isinstance(result.type, MemRef | GroupType) for result in op.results):
        return
    for name, role in op.spec.roles.items():
        value = getattr(op, name) if isinstance(role, Operand) else None
        if not isinstance(role, Operand) or not isinstance(value, Value) or not (role.reads or role.writes):
            continue
        if role.reads and role.writes and (_is_atomic(op) or isinstance(op, TensorCopy)):
            yield name, "update", value
            # An update whose beta is 0 stores atomically.
            if not hasattr(op, "scope") and not isinstance(op, TensorCopy):
                yield name, "write", value
            continue
        if role.reads:
            yield name, "read", value
        if role.writes:
            yield name, "write", value


def _is_atomic(op: Op) -> bool:
    return hasattr(op, "scope") or bool(getattr(op, "atomic", False))


def _scope(op: Op, operand: str, kind: Kind) -> Scope | None:
    """The scope of an atomic access; None for another."""
    if isinstance(op, TensorCopy):
        return Scope.DEVICE if kind == "update" else None
    if not _is_atomic(op):
        return None
    scope = getattr(op, "scope", None)
    if scope is None:
        # An atomic `gemm` reads its factors as any other does.
        role = op.spec.roles[operand]
        return Scope.DEVICE if isinstance(role, Operand) and role.writes else None
    assert isinstance(scope, Scope)
    return scope
