"""The state of a kernel while it is lowered for the CPU, and the CPU as the machine that executes it.

The kernel becomes one function that executes work-groups one after the other. Collective regions are executed once
per work-group, SPMD regions once per subgroup, with one vector element per work-item and a mask if only some are
active. Subgroups that wait for each other are coroutines; otherwise a barrier needs no code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from functools import lru_cache

from girih.analysis.prints import prints_of
from girih.back.llvm.cpu.machine.stretches import is_long, write_stretches
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.cpu.machine.work_group import made_by_work_group
from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.text import Operand, Val, integer, wide, zero
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.launch.record import RECORD_ASKING
from girih.back.llvm.lower.launch.reporter import report
from girih.back.llvm.numbers.arith import differs
from girih.back.llvm.numbers.values import Linear, Scalar, natural, uniform
from girih.facts import findings
from girih.ir import core
from girih.ir.core import Function, Op, Region, RegionKind, Value
from girih.ir.types import I32
from girih.lazy_dataclass import dataclass
from girih.ops.tile.memory import Scope


@dataclass(slots=True, kw_only=True)
class CpuCode(KernelCode):
    """The code of a kernel for the CPU; `arguments`, `workspace` and `record` are as in `abi`."""

    target: CpuTarget
    arguments: Val
    workspace: Val
    record: Val
    linear_group: Val
    products: dict[str, tuple[str, int]] = field(default_factory=dict)
    """The functions of matrix products, by what is known of these: names, and bytes of workspace."""
    exit: Callable[[], None] = lambda: None
    """End the block by leaving the function."""
    suspend: Callable[[], None] | None = None
    """What a barrier does: nothing where one subgroup is alone, otherwise the coroutine stops here."""
    prints: Val | None = None
    """The memory for what the kernel prints, and the step of the work-group; None in a kernel that prints nothing."""
    print_step: Val | None = None
    reconfigure: Callable[[CpuCode], None] = lambda code: None
    """Make usable again what other code on the thread may have released."""
    common: Callable[[int], Val] | None = None
    """So many bytes that all subgroups of a work-group see, where they are coroutines."""
    instead: tuple[Val, Op] | None = None
    """A condition under which checks are those of another instruction than the one that is lowered."""

    @property
    def features(self) -> Features:
        """The conversions of numbers for which the processor has instructions."""
        return self.target.features

    def writes_versions(self, loop: Op, *by: Value) -> bool:
        """True: one thread executes all work-items of the code, and takes one way with all of them."""
        return True

    # --- regions -------------------------------------------------------------------------

    def _write(self, region: Region) -> None:
        """Lower the instructions of a region; a very long one becomes several functions."""
        if is_long(self, region):
            write_stretches(self, region)
        else:
            KernelCode._write(self, region)

    def lower(self, op: Op) -> None:
        """Lower one instruction; before one that prints in its turn, the work-group is a step further."""
        if self.print_step is not None and op in prints_of(self.function).steps:
            self.w.store(self.w.add(self.w.load("i64", self.print_step, 8), 1), self.print_step, 8)
        KernelCode.lower(self, op)

    # --- where ---------------------------------------------------------------------------

    def work_item(self) -> Scalar:
        """The number of each work-item in its subgroup, which is its lane."""
        if self.lanes == 1:
            return uniform(I32, integer(0, "i32"))
        return Scalar(I32, (), Linear(integer(0, "i32"), 1, exact=True))

    # --- together ------------------------------------------------------------------------

    def barrier(self) -> None:
        """Let the other subgroups run up to here first; a subgroup that is alone needs no code."""
        if self.suspend is not None:
            self.suspend()

    def met_by_all(self, op: Op, *, work_group: bool = False) -> None:
        """Find an instruction for which not all lanes are active."""
        if self.mask is None:
            return
        bad = self.w.negated(self.w.all(self.mask))
        self.check(op, bad, findings.divergent(op, work_group=work_group))

    def agreed(self, op: Op, name: str, held: Scalar) -> tuple[Val, ...]:
        """The first active lane's value of an operand, with which the others are compared."""
        parts = self.one(held)
        if held.uniform:
            return parts
        w = self.w
        bad = integer(0, wide("i1", self.lanes))
        for whole, first in zip(natural(w, held, self.lanes), parts, strict=True):
            bad = w.binary("or", bad, differs(w, held.type, whole, w.splat(first, self.lanes)))
        work_group = self.place.kind is not RegionKind.SPMD or made_by_work_group(op)
        operand = getattr(op, name, None)
        argument = operand.name if isinstance(operand, core.Value) else None
        self.check(op, bad, findings.not_uniform(op, name, work_group=work_group), argument=argument)
        return parts

    def once(self, body: Callable[[], None], *, apart: bool) -> None:
        """Write the code as it is: one thread executes a collective region, with lanes for places that differ."""
        body()

    def in_step(self) -> None:
        """Do nothing: one thread executes the work-group."""

    # --- memory --------------------------------------------------------------------------

    def take(self, size: int, align: int = 64) -> Val:
        """The address of a piece of the workspace, which is in use until the end of the region."""
        return self.w.at(self.workspace, self.frame.take(size, align))

    def local(self, size: int, align: int) -> Val:
        """The address of local memory, a piece of the workspace."""
        return self.take(size, align)

    def scratch(self, size: int, align: int = 64) -> Val:
        """The address of scratch memory, a piece of the workspace."""
        return self.take(size, align)

    def atomic_scope(self, scope: Scope, *, local: bool) -> str | None:
        """The synchronisation scope of an atomic access; None for local memory, and in a kernel without wider scopes.

        One thread executes a work-group, so that such accesses need no atomic instruction.
        """
        return None if local or not _has_wide_scope(self.function) else ""

    # --- leaving -------------------------------------------------------------------------

    def ask(self) -> None:
        """Leave the kernel if a function in the failure record says so; it is told the record's address as a number.

        LLVM need not know that the function looks at the record: what loops load stays what it was.
        """
        w = self.w
        asking = w.load("ptr", w.at(self.record, RECORD_ASKING), 8)
        with w.when(w.compare("ne", asking, zero("ptr"))):
            number = w.effect("i64", f"ptrtoint {self.record} to i64")
            attributes = "nounwind willreturn memory(inaccessiblemem: readwrite)"
            answer = w.effect("i32", f"call i32 {asking.text}({number}) {attributes}")
            w.unlikely(w.compare("ne", answer, integer(0, "i32")), self.exit)
            self.reconfigure(self)

    def leave(self, site: int, lane: Operand, values: Sequence[Val]) -> None:
        """Fill the failure record, unless another thread did, and leave the kernel."""
        w = self.w
        spmd = self.place.kind is RegionKind.SPMD
        where = (self.linear_group, w.value(self.place.subgroup if spmd else -1), w.value(lane if spmd else -1))
        report(w, self.record, self._told(site), where, values)
        self.exit()

    def _told(self, site: int) -> Val:
        """The number of the site that a finding is told for."""
        own = integer(site, "i32")
        if self.instead is None:
            return own
        condition, op = self.instead
        made = next(held for held, number in self.sites.items() if number == site)
        other = self.sites.setdefault(replace(made, span=(op.span.start, op.span.end)), len(self.sites))
        return self.w.select(condition, integer(other, "i32"), own)


@lru_cache(maxsize=64)
def _has_wide_scope(function: Function) -> bool:
    wide = (Scope.DEVICE, Scope.CROSS_DEVICE)
    return any(getattr(op, "scope", None) in wide for op in function.walk())
