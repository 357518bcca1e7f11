"""The state of a kernel while it is lowered for the CPU, and the registry of how each instruction is.

The kernel becomes one function that executes work-groups one after the other. Collective regions are executed once
per work-group, SPMD regions once per subgroup, with one vector element per work-item (`lanes` of them) and a mask where
only some are active. A piece of code is only entered while at least one work-item is active in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from girih.analysis.work_group import of_work_group
from girih.back.llvm.cpu.machine.abi import RECORD_VALUES, Site
from girih.back.llvm.cpu.machine.failure import reporter
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.debug import DebugInfo
from girih.back.llvm.emit.text import ModuleText, Operand, Val, integer, lanes, scalar, wide, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.values import GroupHeld, MemRefHeld, Scalar, index, natural, parts_of, register
from girih.facts import findings
from girih.facts.findings import FindingWords
from girih.ir import core
from girih.ir.core import Function, Op, Region, RegionKind
from girih.ir.types import PARTS, Boolean, MemRef, Number

Rule = Callable[["Lowering", Any], None]

LOWERINGS: dict[type[Op], Rule] = {}
"""How each instruction is lowered."""

R = TypeVar("R", bound=Rule)


def lowering(*targets: type[Op]) -> Callable[[R], R]:
    """Enter a function as the lowering of instructions."""

    def enter(function: R) -> R:
        for target in targets:
            LOWERINGS[target] = function
        return function

    return enter


@dataclass(slots=True)
class WorkspaceFrame:
    """Bytes of the workspace, given out like a stack; `most` is the largest extent it had."""

    used: int = 0
    most: int = 0

    def take(self, size: int, align: int = 64) -> int:
        """The offset of a piece."""
        start = -(-self.used // align) * align
        self.used = start + size
        self.most = max(self.most, self.used)
        return start


@dataclass(slots=True)
class ExecutionPlace:
    """Where the code being written is executed: by which work-items, and with what at hand."""

    kind: RegionKind = RegionKind.COLLECTIVE
    lanes: int = 1
    mask: Val | None = None
    subgroup: Operand = 0
    element_number: Scalar | None = None
    """Inside `cooperative_matrix_apply`: the number of the component, row by row."""


@dataclass(slots=True)
class KernelGeometry:
    """The sizes that the kernel is compiled for."""

    work_group_size: tuple[int, int]
    subgroup_size: int

    @property
    def subgroups(self) -> int:
        return self.work_group_size[0] * self.work_group_size[1] // self.subgroup_size


Held = Any
"""A `Scalar`, `MemRefHeld`, `GroupHeld`, or a matrix (`girih.back.llvm.cpu.matrix.states`)."""


@dataclass(slots=True)
class Lowering:
    """A function of LLVM IR in the making, and what it knows of the kernel."""

    w: Writer
    module: ModuleText
    function: Function
    target: CpuTarget
    geometry: KernelGeometry
    constants: dict[core.Value, int]
    varying: set[core.Value]
    last_uses: dict[core.Value, Op]
    checks: bool
    debug: DebugInfo
    place: ExecutionPlace
    arguments: Val
    workspace: Val
    record: Val
    group: tuple[Val, Val, Val]
    grid: tuple[Val, Val, Val]
    linear_group: Val
    frame: WorkspaceFrame = field(default_factory=WorkspaceFrame)
    env: dict[core.Value, Held] = field(default_factory=dict)
    sites: dict[Site, int] = field(default_factory=dict)
    leave: Callable[[], None] = lambda: None
    suspend: Callable[[], None] | None = None
    """What a barrier does: nothing where one subgroup is alone, otherwise the coroutine stops here."""
    common: Callable[[int], Val] | None = None
    """So many bytes that all subgroups of a work-group see, where they are coroutines."""

    # --- regions -------------------------------------------------------------------------

    def region(self, region: Region, *, outlived: bool = False) -> None:
        """Lower the instructions of a region; `outlived` where its values are used behind it, so stay in memory."""
        used = self.frame.used
        for op in region.ops:
            self.w.location = self.debug.at(op.span)
            LOWERINGS[type(op)](self, op)
        if not outlived:
            self.frame.used = used

    @contextmanager
    def at(self, **changes: Any) -> Iterator[None]:
        """Lower code for another place."""
        outer = self.place
        self.place = replace(outer, **changes)
        yield
        self.place = outer

    @property
    def lanes(self) -> int:
        """How many elements a vector of work-items has here."""
        return self.place.lanes

    @property
    def mask(self) -> Val | None:
        """Which work-items are active; None for all."""
        return self.place.mask

    # --- values --------------------------------------------------------------------------

    def scalar(self, value: core.Value) -> Scalar:
        """A scalar operand."""
        held: Scalar = self.env[value]
        return held

    def set(self, value: core.Value, held: Held) -> None:
        """Give a value to a name."""
        self.env[value] = held

    def memref(self, value: core.Value) -> MemRefHeld:
        """A memref operand."""
        held: MemRefHeld = self.env[value]
        return held

    def group_of(self, value: core.Value) -> GroupHeld:
        """A group operand."""
        held: GroupHeld = self.env[value]
        return held

    def index(self, operand: core.Value | int) -> Scalar:
        """An index operand; literals are indices."""
        return index(operand) if isinstance(operand, int) else self.scalar(operand)

    def together(self, *scalars: Scalar) -> list[tuple[Val, ...]]:
        """The parts of scalars with as many lanes each: one where all are uniform."""
        if all(s.uniform for s in scalars):
            return [s.parts for s in scalars]
        return [parts_of(self.w, s, self.lanes) for s in scalars]

    def vector(self, held: Scalar) -> tuple[Val, ...]:
        """The parts with one element per lane."""
        return parts_of(self.w, held, self.lanes)

    def one(self, held: Scalar) -> tuple[Val, ...]:
        """The parts of a value that all active work-items should share: the first active one's."""
        if held.uniform:
            return held.parts
        if held.linear is not None and self.mask is None:
            return (held.linear.base,)
        first = self.first_lane()
        return tuple(self.w.extract(p, first) for p in natural(self.w, held, self.lanes))

    def agreed(self, op: Op, name: str, held: Scalar) -> tuple[Val, ...]:
        """The parts of an operand that all active work-items must share; where they do not, that is found."""
        parts = self.one(held)
        if held.uniform:
            return parts
        w = self.w
        bad = integer(0, wide("i1", self.lanes))
        for whole, first in zip(natural(w, held, self.lanes), parts, strict=True):
            bad = w.binary("or", bad, _differs(w, whole, w.splat(first, self.lanes)))
        work_group = self.place.kind is not RegionKind.SPMD or of_work_group(op)
        operand = getattr(op, name, None)
        argument = operand.name if isinstance(operand, core.Value) else None
        self.check(op, bad, findings.not_uniform(op, name, work_group=work_group), argument=argument)
        return parts

    def met_by_all(self, op: Op, *, work_group: bool = False) -> None:
        """Find an instruction that needs all work-items and is met by some of them only."""
        if self.mask is None:
            return
        bad = self.w.negated(self.w.all(self.mask))
        self.check(op, bad, findings.divergent(op, work_group=work_group))

    def first_lane(self) -> Operand:
        """The number of the first active work-item of those executed together."""
        return 0 if self.mask is None else self.trailing_zeros(self.mask)

    def trailing_zeros(self, mask: Val) -> Val:
        """The number of the first lane in which a mask holds."""
        word = self.w.convert("bitcast", mask, f"i{lanes(mask.type)}")
        type = word.type
        name = f"llvm.cttz.{type}"
        self.module.declare(name, type, (type, "i1"))
        count = self.w.pure(type, f"call {type} @{name}({word}, i1 true)", (word,))
        return self._to_index(count)

    def last_lane(self) -> Operand:
        """The number of the last active work-item."""
        if self.mask is None:
            return self.lanes - 1
        word = self.w.convert("bitcast", self.mask, f"i{self.lanes}")
        type = word.type
        name = f"llvm.ctlz.{type}"
        self.module.declare(name, type, (type, "i1"))
        count = self.w.pure(type, f"call {type} @{name}({word}, i1 true)", (word,))
        return self.w.sub(self.lanes - 1, self._to_index(count))

    def _to_index(self, count: Val) -> Val:
        width = int(count.type[1:])
        if width == 64:
            return count
        return self.w.convert("zext" if width < 64 else "trunc", count, "i64")

    def zero(self, type: Number | Boolean, count: int) -> tuple[Val, ...]:
        """The parts of zero."""
        part = zero(wide(register(type), count))
        return (part, part) if type in PARTS else (part,)

    # --- memory --------------------------------------------------------------------------

    def take(self, size: int, align: int = 64) -> Val:
        """A piece of the workspace, until the end of the region."""
        return self.w.at(self.workspace, self.frame.take(size, align))

    # --- checks --------------------------------------------------------------------------

    def check(
        self,
        op: Op,
        bad: Val,
        words: FindingWords,
        *,
        argument: str | None = None,
        index: Sequence[Scalar | int] = (),
        shape: Sequence[Scalar | int] = (),
        by_lane: bool = True,
        exactly: Callable[[], Operand] | None = None,
    ) -> None:
        """Stop the launch with a finding where `bad` holds for an active work-item; one `i1`, or one per lane.

        `exactly` gives the first lane in which it does, where one condition was enough to know that there are some.
        """
        if not self.checks or bad.literal == 0 or bad.text == "zeroinitializer":
            return
        w = self.w
        many = lanes(bad.type) > 1
        if many and self.mask is not None:
            bad = w.binary("and", bad, self.mask)
        site = Site(
            words.code, words.message, (op.span.start, op.span.end), argument, len(index), len(shape), words.place,
            by_lane and self.place.kind is RegionKind.SPMD and self.place.element_number is None,
        )  # fmt: skip
        number = self.sites.setdefault(site, len(self.sites))

        def report() -> None:
            lane: Operand = self.trailing_zeros(bad) if many else self.first_lane()
            self._report(number, exactly() if exactly is not None else lane, (*index, *shape))

        w.unlikely(w.any(bad) if many else bad, report)

    def _report(self, site: int, lane: Operand, values: Sequence[Scalar | int]) -> None:
        """Fill the failure record, unless another thread did, and leave the kernel."""
        w = self.w
        spmd = self.place.kind is RegionKind.SPMD
        told = [self._picked(held, lane) for held in values[:RECORD_VALUES]]
        where = (self.linear_group, w.value(self.place.subgroup if spmd else -1), w.value(lane if spmd else -1))
        listed = ", ".join(map(str, (self.record, integer(site, "i32"), *where, *told)))
        w.line(f"call void @{reporter(self.module, len(told))}({listed})")
        self.leave()

    def _picked(self, held: Scalar | int, lane: Operand) -> Val:
        """The value of an integer in a lane, as `i64`."""
        w = self.w
        if isinstance(held, int):
            return integer(held)
        if held.linear is not None:
            step = w.convert("trunc", w.mul(lane, held.linear.stride), held.linear.base.type)
            return w.convert("sext", w.add(held.linear.base, step), "i64")
        return w.convert("sext", w.extract(held.part, lane), "i64")


def _differs(w: Writer, a: Val, b: Val) -> Val:
    """Where two vectors have different elements; NaN is like NaN."""
    if scalar(a.type) not in ("float", "double"):
        return w.compare("ne", a, b)
    both = w.binary("and", w.compare("uno", a, a), w.compare("uno", b, b))
    return w.binary("and", w.compare("une", a, b), w.negated(both))


def memref_type(value: core.Value) -> MemRef:
    """The type of a memref value."""
    found = value.type
    if not isinstance(found, MemRef):
        raise TypeError(f"%{value.name} is no memref")
    return found
