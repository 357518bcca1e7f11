"""The code that machines have in common on which each work-item is a thread of its own.

All threads of a work-group execute the same function. A collective region is executed by every one of them: what it
computes is the same in all, but for what atomic updates found; what it writes, one thread writes, between two barriers,
or all do where the places differ. A target says how its threads wait (`barrier`), how one of them reads a value of
another (`exchanged`), and what becomes of an instruction that not all of them meet (`met_by_all`); the rules for
`parallel`, `foreach` and subgroup operations, in the files beside this one, need no more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import field
from functools import lru_cache
from typing import Any

from girih.analysis.effects import roots_of
from girih.analysis.uniformity import Uniformities, Uniformity, uniformity_of
from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.numbers.arith import differs
from girih.back.llvm.numbers.values import Scalar, uniform
from girih.diagnostics import InternalError
from girih.facts import findings
from girih.ir.core import Function, Op, RegionKind, Value
from girih.ir.types import I32, I64, CoopMatrix, GroupType, Number
from girih.lazy_dataclass import dataclass


class OwnMatrices(ABC):
    """The matrices of a kernel that a target holds in a form of its own, and how they are made."""

    __slots__ = ()

    @abstractmethod
    def __contains__(self, value: Value) -> bool:
        """Whether a matrix is held so."""

    @abstractmethod
    def filled(self, code: Any, value: Value, get: Callable[[Any, Val], tuple[Val, ...]], *, alone: bool) -> Any:
        """The matrix of what `get` gives for the place and the number of each component.

        A component that several work-items hold is got by all of them, or, where that has effects, `alone`.
        """


@dataclass(slots=True, kw_only=True)
class OneLaneCode(KernelCode):
    """The code that each thread executes."""

    thread: Val
    """The number of the work-item in its work-group, an i64."""
    subgroup: Val
    """The number of its subgroup, an i64."""
    lane: Val
    """Its number in the subgroup, an i32."""
    spare: dict[tuple[str, int], list[Val]] = field(default_factory=dict)
    """The private arrays that nothing lies in any more, by the type and the number of their elements."""

    arguments_apart: bool = False
    """Whether launches see to it that no argument shares memory with one that the kernel writes."""
    own_matrices: OwnMatrices | None = None
    """The matrices that the target holds in a form of its own; None where all are arrays of each work-item."""
    known_promises: Uniformities | None = None
    """What `promises` has found."""

    def scratch(self, size: int, align: int = 64) -> Val:
        """Nothing: with one lane there are no others whose values are put aside."""
        raise InternalError("a lowering puts values aside for other lanes, of which a work-item has none")

    @abstractmethod
    def exchanged(self, part: Val, source: Val, *, work_group: bool = False) -> Val:
        """The part that work-item `source`, an i32, of the subgroup or work-group has; all of them execute this."""

    def across(self, part: Val, distance: int) -> Val:
        """The part that the work-item has whose number differs in one bit, which is `distance`."""
        return self.exchanged(part, self.w.binary("xor", self.lane, integer(distance, "i32")))

    def below(self, part: Val, distance: int) -> Val:
        """The part that the work-item `distance` lanes below has; the own one where there is none."""
        w = self.w
        far = w.compare("uge", self.lane, integer(distance, "i32"))
        return self.exchanged(part, w.select(far, w.sub(self.lane, integer(distance, "i32")), self.lane))

    def reduced_at_once(self, operator: str, type: Number, parts: tuple[Val, ...]) -> tuple[Val, ...] | None:
        """The combination of the parts of all work-items of the subgroup, where the machine has an instruction."""
        return None

    @abstractmethod
    def private(self, type: str, count: int) -> Val:
        """The address of a new array of `count` elements of an LLVM type, which the work-item has for itself until the
        end of the kernel."""

    @abstractmethod
    def shared(self, type: str, count: int) -> Val:
        """The address of the kernel's only array of an LLVM type that the work-group shares, which matrices go through.

        Each call may ask for more: the array has as many elements as the largest `count` that any call gives.
        """

    @abstractmethod
    def subgroup_barrier(self) -> None:
        """Wait for all work-items of the subgroup; their earlier writes to shared memory are visible after it."""

    def writes_versions(self, loop: Op, *by: Value) -> bool:
        """False: threads that execute an instruction together must not be in different versions of a loop."""
        return False

    def work_item(self) -> Scalar:
        """The lane, which is one number in each thread."""
        return uniform(I32, self.lane)

    def agreed(self, op: Op, name: str, held: Scalar) -> tuple[Val, ...]:
        """The first work-item's value, with which each compares its own, unless they are known to agree."""
        by_work_group = op.spec.by_work_group or any(
            isinstance(v.type, CoopMatrix) and v.type.of_work_group for v in (*op.operands, *op.results)
        )
        if not self._may_differ(op, name, by_work_group=by_work_group):
            return held.parts
        w = self.w
        work_group = by_work_group or self.place.kind is RegionKind.COLLECTIVE
        parts = tuple(self.exchanged(part, integer(0, "i32"), work_group=work_group) for part in held.parts)
        bad = integer(0, "i1")
        for own, first in zip(held.parts, parts, strict=True):
            bad = w.binary("or", bad, differs(w, held.type, own, first))
        operand = getattr(op, name, None)
        argument = operand.name if isinstance(operand, Value) else None
        self.check(op, bad, findings.not_uniform(op, name, work_group=work_group), argument=argument)
        return parts

    def agree_on_member(self, op: Op, name: str) -> None:
        """Find an operand that is a member of a group, and not the same one in all work-items (run.not_uniform)."""
        value = getattr(op, name)
        if value in self.varying and isinstance(_roots(self.function)[value].type, GroupType):
            address = self.address(self.memref(value).pointer)
            assert address is not None, "members of a group have addresses"
            self.agreed(op, name, uniform(I64, address))

    def address(self, pointer: Val) -> Val | None:
        """The number that an address is, an i64.

        A machine gives None for memory that has none, or none that it needs to compare.
        """
        return self.w.convert("ptrtoint", pointer, "i64")

    def distance(self, a: Val, b: Val) -> Val | None:
        """The number of bytes from the address `b` to `a`, an i64; None where these are memories that cannot meet."""
        if a.text == b.text:
            return integer(0)
        first, second = self.address(a), self.address(b)
        return None if first is None or second is None else self.w.sub(first, second)

    def _may_differ(self, op: Op, name: str, *, by_work_group: bool) -> bool:
        """Whether an operand, or one of several of the name, is not known to be the same in all work-items.

        In an SPMD region those of a subgroup are meant, unless the instruction is one of the work-group.
        """
        operand = getattr(op, name, None)
        values = operand if isinstance(operand, tuple) else (operand,)
        known = [value for value in values if isinstance(value, Value)]
        if not all(isinstance(value, Value | int) for value in values):
            return True
        if by_work_group and self.place.kind is RegionKind.SPMD:
            return any(self.promises.of(value) is not Uniformity.WORK_GROUP for value in known)
        return any(value in self.varying for value in known)

    @property
    def promises(self) -> Uniformities:
        """What the language promises of the kernel's values."""
        if self.known_promises is None:
            self.known_promises = uniformity_of(self.function)
        return self.known_promises

    def once(self, body: Callable[[], None], *, apart: bool) -> None:
        """Let the last thread execute code after all have read what it may overwrite; then the others continue.

        It is the last one because of lanes that store to one element the last wins. If the places may differ, all
        threads execute it; of those that store to one element any may win, as in every race.
        """
        if self.place.kind is not RegionKind.COLLECTIVE:
            body()
            return
        self.barrier()
        if apart:
            body()
        else:
            last = self.geometry.subgroups * self.geometry.subgroup_size - 1
            with self.w.when(self.w.compare("eq", self.thread, last)):
                body()
        self.barrier()

    def in_step(self) -> None:
        """Write a barrier in a collective region."""
        if self.place.kind is RegionKind.COLLECTIVE:
            self.barrier()


@lru_cache(maxsize=4)
def _roots(function: Function) -> dict[Value, Value]:
    return roots_of(function)
