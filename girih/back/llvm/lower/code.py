"""The state of a kernel while it is lowered, for any target and any number of lanes.

A target has a class of its own that extends `KernelCode`: it implements the protocol of its machine
(`girih.back.llvm.lower.machine`), and has the state that only its rules need. The rules are a value, `lowerings`.

    class CpuCode(KernelCode):                      girih/back/llvm/cpu/machine/code.py
        target: CpuTarget                     what its own rules ask
        def barrier(self) -> None: ...        what every rule asks

A piece of code stands for `lanes` work-items and is only entered while at least one of them is active: with one lane
there are no masks, with several a mask where only some are active. Collective regions are executed once per work-group,
or by each work-item as if once; SPMD regions by all work-items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import Any

from girih.analysis.sizes import compiled_subgroup_size, no_subgroup_size, possible_subgroup_sizes
from girih.analysis.sources import source_number
from girih.back.llvm.emit.debug import DebugInfo
from girih.back.llvm.emit.text import ModuleText, Operand, Val, integer, lanes, wide, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.machine import Executing
from girih.back.llvm.lower.sites import MOST_VALUES, Site
from girih.back.llvm.numbers import addresses
from girih.back.llvm.numbers.values import GroupHeld, MemRefHeld, Scalar, index, natural, parts_of, register
from girih.diagnostics import CompileError
from girih.facts.findings import FindingWords
from girih.facts.remarks import Remarks
from girih.ir import core
from girih.ir.core import Function, Op, Region, RegionKind
from girih.ir.limits import DeviceLimits
from girih.ir.types import PARTS, Boolean, MemRef, Number
from girih.lazy_dataclass import dataclass
from girih.ops.tile.control import Parallel


@dataclass(slots=True)
class MemoryFrame:
    """A piece of memory whose bytes are given out as by a stack; `most` is the largest number in use so far."""

    used: int = 0
    most: int = 0

    def take(self, size: int, align: int = 64) -> int:
        """The offset of a new piece of `size` bytes."""
        start = -(-self.used // align) * align
        self.used = start + size
        self.most = max(self.most, self.used)
        return start


@dataclass(slots=True)
class ExecutionPlace:
    """The place at which the current code is executed: the work-items that do it, and the values at hand."""

    kind: RegionKind = RegionKind.COLLECTIVE
    lanes: int = 1
    mask: Val | None = None
    subgroup: Operand = 0
    element_number: Scalar | None = None
    """In a region over components of a matrix: the number of the component that is computed, row by row."""
    element_columns: int = 0
    """How many components a row of the matrix has; 0 where there is none."""
    inside: frozenset[tuple[Op, int]] = frozenset()
    """Indices of accesses that are known to be inside of their memrefs: an instruction, and the number of its index."""
    doubtful: frozenset[tuple[Op, int]] = frozenset()
    """Indices that are inside in the other version of the code, which the one here is for when they are not."""
    versioned: bool = False
    """Whether the code here is one of two versions of a loop (`girih.back.llvm.lower.versions`)."""

    @property
    def careful(self) -> bool:
        """Whether the code here is the version that is hardly ever executed: it should be short, not fast."""
        return bool(self.doubtful)


@dataclass(slots=True)
class KernelGeometry:
    """The sizes that the kernel is compiled for."""

    work_group_size: tuple[int, int]
    subgroup_size: int

    @property
    def subgroups(self) -> int:
        return self.work_group_size[0] * self.work_group_size[1] // self.subgroup_size


def geometry_of(function: Function, limits: DeviceLimits) -> KernelGeometry:
    """The sizes that a kernel is compiled for. Raises `CompileError` if no subgroup size of the target suits it."""
    possible = possible_subgroup_sizes(function, limits)
    if not possible:
        raise CompileError([no_subgroup_size(function, limits)])
    size = compiled_subgroup_size(function, possible)
    return KernelGeometry(function.work_group_size or (size, 1), size)


Held = Any
"""What a value of the program is in the code: a `Scalar`, `MemRefHeld`, `GroupHeld`, or what a target makes of it."""


@dataclass(slots=True, kw_only=True)
class KernelCode(Executing):
    """A function of LLVM IR that is being written, and the state of its kernel."""

    w: Writer
    module: ModuleText
    function: Function
    lowerings: Lowerings[Any]
    geometry: KernelGeometry
    constants: dict[core.Value, int]
    varying: set[core.Value]
    """The values that differ between work-items that execute code together (`girih.analysis.uniformity`)."""
    checks: bool
    debug: DebugInfo
    place: ExecutionPlace
    group: tuple[Val, Val, Val]
    """The place of the work-group in the grid, and the sizes of the grid."""
    grid: tuple[Val, Val, Val]
    frame: MemoryFrame = field(default_factory=MemoryFrame)
    """Which bytes of the work-group's memory are in use here."""
    env: dict[core.Value, Held] = field(default_factory=dict)
    sites: dict[Site, int] = field(default_factory=dict)
    remarks: Remarks = field(default_factory=Remarks)
    constructs: list[Any] = field(default_factory=list)
    """What `leave` can go to from here, from outside to inside (`girih.back.llvm.lower.device.control`)."""
    reached: bool = True
    """Whether the code here is reached at all: an instruction before it may be left by all."""
    goes_on: bool = False
    """Whether code goes on behind a finding; otherwise what `leave` writes ends the block."""

    @property
    def contract(self) -> bool:
        """Whether a product may be rounded together with the sum that it goes into."""
        return "contract" in self.function.permissions

    # --- regions -------------------------------------------------------------------------

    def body(self) -> None:
        """Lower the kernel's body: a collective region, or an SPMD one in languages whose bodies are SPMD."""
        body = self.function.body
        if body.kind is RegionKind.SPMD:
            op = Parallel(body=body)
            self.lowerings.rule(op)(self, op)
        else:
            self.region(body)

    def region(self, region: Region, *, outlived: bool = False) -> None:
        """Lower the instructions of a region; if it is `outlived` by its values, they stay in memory after it."""
        used = self.frame.used
        self._write(region)
        if not outlived:
            self.frame.used = used

    def _write(self, region: Region) -> None:
        for op in region.ops:
            self.lower(op)
            if not self.reached:
                break

    def is_left_through(self, op: Op) -> bool:
        """Whether a construct around an instruction is left from inside of it."""
        from girih.analysis.constructs import constructs_of

        return bool(constructs_of(self.function).of(op))

    def lower(self, op: Op) -> None:
        """Lower one instruction."""
        self.w.location = self.debug.at(op.span)
        self.remarks.ops.append(op)
        self.lowerings.rule(op)(self, op)
        self.remarks.ops.pop()

    @contextmanager
    def at(self, **changes: Any) -> Iterator[None]:
        """A context in which code is lowered for another place; `changes` are fields of `ExecutionPlace`."""
        outer = self.place
        self.place = replace(outer, **changes)
        yield
        self.place = outer

    @property
    def lanes(self) -> int:
        """The number of work-items that the current code stands for, which is the length of vectors."""
        return self.place.lanes

    @property
    def mask(self) -> Val | None:
        """The mask of active work-items; None for all of them."""
        return self.place.mask

    # --- values --------------------------------------------------------------------------

    def scalar(self, value: core.Value) -> Scalar:
        """The scalar that an operand is."""
        held: Scalar = self.env[value]
        return held

    def set(self, value: core.Value, held: Held) -> None:
        """Set what a value of the program is in the code."""
        self.env[value] = held

    def memref(self, value: core.Value) -> MemRefHeld:
        """The memref that an operand is."""
        held: MemRefHeld = self.env[value]
        return held

    def group_of(self, value: core.Value) -> GroupHeld:
        """The group that an operand is."""
        held: GroupHeld = self.env[value]
        return held

    def index(self, operand: core.Value | int) -> Scalar:
        """The scalar of an index operand, or of a literal."""
        return index(operand) if isinstance(operand, int) else self.scalar(operand)

    def varies(self, *operands: core.Value | int) -> bool:
        """Whether one of some operands may differ between work-items that execute code together."""
        return any(operand in self.varying for operand in operands if isinstance(operand, core.Value))

    def together(self, *scalars: Scalar) -> list[tuple[Val, ...]]:
        """The parts of several scalars with the same number of lanes: one if all scalars are uniform."""
        if all(s.uniform for s in scalars):
            return [s.parts for s in scalars]
        return [parts_of(self.w, s, self.lanes) for s in scalars]

    def vector(self, held: Scalar) -> tuple[Val, ...]:
        """The parts of a scalar with one element per lane."""
        return parts_of(self.w, held, self.lanes)

    def one(self, held: Scalar) -> tuple[Val, ...]:
        """The parts that a scalar has in the first active work-item, for values that all should share."""
        if held.uniform:
            return held.parts
        if held.linear is not None and self.mask is None:
            return (held.linear.base,)
        first = self.first_lane()
        return tuple(self.w.extract(p, first) for p in natural(self.w, held, self.lanes))

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

    def aligned_offset(self, pointer: Val) -> Val:
        """The bytes of an address from a begin that is aligned for everything, an i64.

        That is the address itself, or where memory has none, the distance from the begin of the memory.
        """
        return self.w.convert("ptrtoint", pointer, "i64")

    def zero(self, type: Number | Boolean, count: int) -> tuple[Val, ...]:
        """The parts of the number zero in `count` lanes."""
        part = zero(wide(register(type), count))
        return (part, part) if type in PARTS else (part,)

    def offset_of(self, memref: MemRefHeld, indices: Sequence[Scalar]) -> Scalar:
        """How many elements behind its pointer a memref has those at some indices."""
        offset: addresses.Extent = addresses.as_extent(memref.offset)
        for held, stride in zip(indices, memref.strides, strict=True):
            step = addresses.multiply(self.w, addresses.as_extent(held), stride, self.lanes)
            offset = addresses.add(self.w, offset, step, self.lanes)
        return addresses.as_scalar(offset)

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
        member: Scalar | None = None,
    ) -> None:
        """Report a finding if `bad`, one `i1` or one per lane, holds for an active work-item.

        The launch stops then, unless the code `goes_on`.

        If `bad` is one condition for all lanes, `exactly` gives the first lane for which it holds. `member` is the
        number that stands for `MEMBER` in the texts.
        """
        if not self.checks or bad.literal == 0 or bad.text == "zeroinitializer":
            return
        w = self.w
        many = lanes(bad.type) > 1
        if many and self.mask is not None:
            bad = w.binary("and", bad, self.mask)
        component = self.place.element_number
        by_lane = by_lane and self.place.kind is RegionKind.SPMD
        numbered = member is not None
        number = self.site(op, words, argument, (len(index), len(shape)), by_lane=by_lane, numbered=numbered)
        told = (*index, *shape)[:MOST_VALUES] if member is None else (*index, *shape, member)

        def report() -> None:
            lane: Operand = self.trailing_zeros(bad) if many else self.first_lane()
            lane = exactly() if exactly is not None else lane
            values = [self._picked(held, lane) for held in told]
            self.leave(number, lane if component is None else self._picked(component, lane), values)

        w.unlikely(w.any(bad) if many else bad, report, returns=self.goes_on)

    def site(
        self,
        op: Op,
        words: FindingWords,
        argument: str | None = None,
        counts: tuple[int, int] = (0, 0),
        *,
        by_lane: bool,
        numbered: bool = False,
    ) -> int:
        """The number of a new check; `counts` are the numbers of values that it reports of index and shape."""
        span, source = (op.span.start, op.span.end), source_number(self.function, op.span.source)
        columns = self.place.element_columns
        site = Site(words.code, words.message, span, argument, *counts, words.place, by_lane, columns, source, numbered)
        return self.sites.setdefault(site, len(self.sites))

    def _picked(self, held: Scalar | int, lane: Operand) -> Val:
        """The value of an integer in a lane, as `i64`."""
        w = self.w
        if isinstance(held, int):
            return integer(held)
        if held.linear is not None:
            step = w.convert("trunc", w.mul(lane, held.linear.stride), held.linear.base.type)
            return w.convert("sext", w.add(held.linear.base, step), "i64")
        return w.convert("sext", w.extract(held.part, lane), "i64")


def memref_type(value: core.Value) -> MemRef:
    """The type of a memref value."""
    found = value.type
    if not isinstance(found, MemRef):
        raise TypeError(f"%{value.name} is no memref")
    return found
