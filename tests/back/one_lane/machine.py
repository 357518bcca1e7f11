"""A machine on which each work-item is a coroutine on this processor: what GPU lowerings share, without a GPU.

It executes `girih.back.llvm.lower.one_lane` and all of `girih.back.llvm.lower` with one lane. Work-items run one after
the other, each until it waits; `launch` resumes them. Where others are needed, a value goes through memory: a work-item
writes its own, waits for the others, reads, and waits again before the next one is written.

Matrices are those of machines without instructions for them, and tensor copies are computed. Everything of the language
is executed but for output.

Who waits says for which instruction. So a subgroup operation or a barrier that only some work-items of a subgroup come
to, or that only some subgroups come to, is found, where a GPU would hang or give wrong values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from girih.analysis.uniformity import constants_of, varying_values
from girih.back.llvm.cpu import coroutine
from girih.back.llvm.emit.debug import DebugInfo
from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.text import GENERAL_REGISTERS, ModuleText, Operand, Val, integer, stored_bytes, stored_type
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.code import ExecutionPlace, KernelGeometry, MemoryFrame, geometry_of
from girih.back.llvm.lower.launch.parameters import bind_parameters, slot
from girih.back.llvm.lower.launch.reporter import report
from girih.back.llvm.lower.launch.slots import RECORD_SLOT
from girih.back.llvm.lower.lowerings import Lowerings, refuse_unknown
from girih.back.llvm.lower.one_lane.code import OneLaneCode, OwnMatrices
from girih.back.llvm.lower.one_lane.matrix.table import SOFT_MATRICES
from girih.back.llvm.lower.one_lane.table import ONE_LANE
from girih.back.llvm.lower.one_lane.tensor_map import lowerings
from girih.back.llvm.lower.sites import Site
from girih.facts import findings
from girih.facts.remarks import Remarks
from girih.ir.core import Function, Op, RegionKind
from girih.ir.limits import DEFAULT_LIMITS
from girih.ir.types import CoopMatrix
from girih.ops.tile.memory import Scope

SHARED = ("i32", "i64", "float", "double")
"""The types of the arrays that work-items share for matrices."""

MEMORY = ("arguments", "local", "exchange", "waiting", *SHARED)
CONTEXT = (*MEMORY, "group_x", "group_y", "group_z", "number")
"""What a work-item is told, in slots of 8 bytes: addresses, its work-group's place in the grid and number."""

WIDEST = 8
"""The bytes of a part that goes from one work-item to another."""

TOGETHER = -1
"""What work-items wait for that come together around and in collective regions; otherwise the number of a site."""


BUT_MATRICES = ONE_LANE.replaced(lowerings.LOWERINGS)
"""How this machine lowers everything but matrices."""

LOWERINGS = BUT_MATRICES.joined(SOFT_MATRICES)
"""How this machine lowers instructions."""


@dataclass(frozen=True)
class Lowered:
    """A kernel for this machine."""

    text: str
    symbol: str
    local_bytes: int
    shared_bytes: tuple[int, ...]
    """Those of the arrays of the types in `SHARED`."""
    geometry: KernelGeometry
    sites: tuple[Site, ...]


@dataclass(slots=True, kw_only=True)
class CoroutineCode(OneLaneCode):
    """The code of a work-item."""

    features_here: Features
    record: Val
    number: Val
    local_memory: Val
    exchange: Val
    waiting: Val
    arrays: dict[str, Val]
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SHARED, 0))
    """How many elements the arrays have that are shared, by their type."""
    meeting: int = TOGETHER
    """The site of the instruction that the work-items are about to meet in."""

    @property
    def features(self) -> Features:
        return self.features_here

    # --- together ------------------------------------------------------------------------

    def met_by_all(self, op: Op, *, work_group: bool = False) -> None:
        """What the work-items wait for next is this instruction; `launch` finds who waits for another.

        An instruction on matrices may need nobody else, so that they wait for it here.
        """
        self.meeting = self.site(op, findings.divergent(op, work_group=work_group), by_lane=True)
        if self.checks and any(isinstance(value.type, CoopMatrix) for value in (*op.operands, *op.results)):
            self._wait(work_group=work_group)

    def barrier(self) -> None:
        self._wait(work_group=True)

    def subgroup_barrier(self) -> None:
        self._wait(work_group=False)

    def _wait(self, *, work_group: bool) -> None:
        """Suspend, and say for what: twice the number of the site, and one more for the whole work-group."""
        w = self.w
        site = TOGETHER if self.place.kind is RegionKind.COLLECTIVE else self.meeting
        w.store(integer(2 * site + int(work_group)), w.at(self.waiting, w.mul(self.thread, 8)), 8)
        coroutine.suspend(w)

    def exchanged(self, part: Val, source: Val, *, work_group: bool = False) -> Val:
        w, type = self.w, stored_type(part.type)
        assert stored_bytes(part.type) <= WIDEST
        stored = w.convert("zext", part, "i8") if type != part.type else part
        w.store(stored, w.at(self.exchange, w.mul(self.thread, WIDEST)), WIDEST)
        self._wait(work_group=work_group)
        first: Operand = 0 if work_group else w.mul(self.subgroup, self.geometry.subgroup_size)
        thread = w.add(first, w.convert("sext", source, "i64"))
        loaded = w.load(type, w.at(self.exchange, w.mul(thread, WIDEST)), WIDEST)
        self._wait(work_group=work_group)
        return w.convert("trunc", loaded, part.type) if type != part.type else loaded

    # --- memory --------------------------------------------------------------------------

    def local(self, size: int, align: int) -> Val:
        return self.w.at(self.local_memory, self.frame.take(size, align))

    def private(self, type: str, count: int) -> Val:
        return self.w.alloca(type, count)

    def shared(self, type: str, count: int) -> Val:
        self.counts[type] = max(self.counts[type], count)
        return self.arrays[type]

    def atomic_scope(self, scope: Scope, *, local: bool) -> str | None:
        """Any: a GPU needs atomic instructions for local memory, too."""
        return ""

    # --- leaving -------------------------------------------------------------------------

    def ask(self) -> None:
        """Do nothing: nobody ends a launch from outside."""

    def leave(self, site: int, lane: Operand, values: Sequence[Val]) -> None:
        w = self.w
        spmd = self.place.kind is RegionKind.SPMD
        own = w.value(lane) if self.place.element_number is not None else w.convert("sext", self.lane, "i64")
        where = (self.number, *((self.subgroup, own) if spmd else (integer(-1), integer(-1))))
        report(w, self.record, integer(site, "i32"), where, values)
        w.jump("final")


def lower(function: Function, features: Features, *, checks: bool = True) -> Lowered:
    """Lower a checked function. Raises `CompileError` for what is refused."""
    return lower_as(CoroutineCode, LOWERINGS, None, function, features, checks=checks)


def lower_as(
    kind: type[CoroutineCode],
    lowerings: Lowerings[Any],
    own_matrices: OwnMatrices | None,
    function: Function,
    features: Features,
    *,
    checks: bool,
    geometry: KernelGeometry | None = None,
    remarks: Remarks | None = None,
) -> Lowered:
    """Lower a function as code of a kind, by some lowerings, with matrices that the code has in a form of its own."""
    refuse_unknown(function, LOWERINGS, "one lane")
    geometry = geometry or geometry_of(function, DEFAULT_LIMITS)
    module, symbol = ModuleText(GENERAL_REGISTERS), f"work_item.{function.name}"
    debug = DebugInfo(module, function.name, symbol, function.span)
    w = Writer(module, f'define ptr @"{symbol}"(ptr %context, i64 %thread) presplitcoroutine{debug.attached}')
    w.location = debug.at(function.span)
    handle = coroutine.begin(w)
    context, thread = Val("%context", "ptr"), Val("%thread", "i64")
    told = {name: slot(w, context, k, "ptr" if name in MEMORY else "i64") for k, name in enumerate(CONTEXT)}
    arguments, size = told["arguments"], geometry.subgroup_size
    constants = constants_of(function)
    code = kind(
        w=w,
        module=module,
        function=function,
        lowerings=lowerings,
        own_matrices=own_matrices,
        remarks=remarks or Remarks(),
        geometry=geometry,
        constants=constants,
        varying=varying_values(function, constants, size),
        checks=checks,
        debug=debug,
        place=ExecutionPlace(lanes=1),
        group=(told["group_x"], told["group_y"], told["group_z"]),
        grid=(slot(w, arguments, 0), slot(w, arguments, 1), slot(w, arguments, 2)),
        frame=MemoryFrame(),
        thread=thread,
        subgroup=w.binary("udiv", thread, size),
        lane=w.convert("trunc", w.binary("urem", thread, size), "i32"),
        features_here=features,
        record=slot(w, arguments, RECORD_SLOT, "ptr"),
        number=told["number"],
        local_memory=told["local"],
        exchange=told["exchange"],
        waiting=told["waiting"],
        arrays={type: told[type] for type in SHARED},
    )
    bind_parameters(code, arguments)
    code.body()
    coroutine.end(w, handle)
    w.finish()
    _write_entries(module)
    shared = tuple(max(1, code.counts[type] * stored_bytes(type)) for type in SHARED)
    return Lowered(str(module), symbol, max(1, code.frame.most), shared, geometry, tuple(code.sites))


def _write_entries(module: ModuleText) -> None:
    """What `launch` calls with a coroutine: `resume`, `destroy`, and `done`, which says whether it is through."""
    for name in ("resume", "destroy"):
        module.declare(f"llvm.coro.{name}", "void", ("ptr",))
        w = Writer(module, f"define void @{name}(ptr %handle)")
        w.run(f"llvm.coro.{name}", Val("%handle", "ptr"))
        w.ret()
        w.finish()
    module.declare("llvm.coro.done", "i1", ("ptr",))
    w = Writer(module, "define i8 @done(ptr %handle)")
    w.ret(w.convert("zext", w.effect("i1", "call i1 @llvm.coro.done(ptr %handle)"), "i8"))
    w.finish()
