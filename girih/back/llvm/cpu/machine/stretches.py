"""Long regions, written as functions of bounded size that are called one after the other.

LLVM takes more than twice the time for a function that is twice as long, and keeps all that is alive in its frame. A
region of very many instructions is therefore cut into stretches, each a function of its own. A value that another
stretch needs goes through the workspace, where it has a home from its definition to the end of the region.

Some instructions stay in the function around: those that suspend a coroutine, the region's last, and those that are
long themselves, whose own regions are cut. A cooperative matrix is a promise rather than values until something needs
it: no cut goes through its life.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from girih.back.llvm.cpu.machine.capture import rewritten
from girih.back.llvm.cpu.machine.work_group import anyone_waits
from girih.back.llvm.emit.text import Val, stored_bytes, stored_type
from girih.back.llvm.emit.writer import Writer
from girih.facts import remarks
from girih.ir.core import Function, Op, Region, RegionKind, Value
from girih.ir.types import CoopMatrix, Number
from girih.ir.uses import free_values
from girih.lazy_dataclass import dataclass
from girih.ops.tile.linalg import Axpby, Cumsum, Gemm, Gemv, Ger, Hadamard, Sum

if TYPE_CHECKING:
    from girih.back.llvm.cpu.machine.code import CpuCode

__all__ = ["is_long", "write_stretches"]

_LONG = 400
"""Regions of more than this are cut: instructions, each by the vector registers of its result. The longest that people
wrote by hand have a quarter of it."""

_COLLECTIVE = 16
"""As so many instructions one of linear algebra counts, which is many loops."""

_FULL = 400
"""A stretch ends when the function is so long (`Writer.length`)."""


def is_long(code: CpuCode, region: Region) -> bool:
    """Whether a region of a kernel is to be cut."""
    return _weights(code.function, code.geometry.subgroup_size)[region] > _LONG


@lru_cache(maxsize=4)
def _weights(function: Function, lanes: int) -> dict[Region, int]:
    """An estimate of the number of instructions of each region of a function, inner ones included."""
    regions = [function.body]
    for region in regions:
        regions.extend(inner for op in region.ops for inner in op.regions)
    weights: dict[Region, int] = {}
    for region in reversed(regions):
        width = 1 if region.kind is RegionKind.COLLECTIVE else lanes
        weights[region] = sum(_weight(op, width) + sum(weights[r] for r in op.regions) for op in region.ops)
    return weights


def _weight(op: Op, lanes: int) -> int:
    if isinstance(op, Axpby | Cumsum | Gemm | Gemv | Ger | Hadamard | Sum):
        return _COLLECTIVE
    sizes = [value.type.size * lanes for value in op.results if isinstance(value.type, Number)]
    return max(1, sum(sizes) // _REGISTER_BYTES)


_REGISTER_BYTES = 64


def write_stretches(code: CpuCode, region: Region) -> None:
    """Lower the instructions of a region, stretch by stretch."""
    weight = _weights(code.function, code.geometry.subgroup_size)[region]
    code.remarks.note(remarks.cut(weight), None if code.remarks.ops else code.function.span)
    last_reads = _last_reads(region)
    homes = _Homes(code)
    stretch: _Stretch | None = None
    for ops, stays in _inseparable(code, region, last_reads):
        if stretch is not None and (stays or stretch.is_full):
            stretch.end(last_reads)
            stretch = None
        if stays:
            homes.bring_back(ops)
            for op in ops:
                code.lower(op)
            if not code.reached:
                return
            continue
        stretch = stretch or _Stretch(homes, ops[0])
        stretch.add(ops)
    if stretch is not None:
        stretch.end(last_reads)


# --- where cuts may go -------------------------------------------------------------------------


def _reads(op: Op) -> Iterator[Value]:
    yield from op.operands
    yield from free_values(op)


def _last_reads(region: Region) -> dict[Value, Op]:
    """The last instruction of a region that reads a value."""
    return {value: op for op in region.ops for value in _reads(op)}


def _inseparable(code: CpuCode, region: Region, last_reads: dict[Value, Op]) -> Iterator[tuple[list[Op], bool]]:
    """The runs of instructions that no cut separates, mostly of one, and whether they stay outside of stretches."""
    own = {value for op in region.ops for value in op.results}
    run: list[Op] = []
    open_until: set[Op] = set()
    for op in region.ops:
        run.append(op)
        open_until.discard(op)
        open_until.update(
            last_reads[v] for v in op.results if isinstance(v.type, CoopMatrix) and last_reads.get(v, op) is not op
        )
        if not open_until:
            yield run, any(_stays(code, one, own) for one in run)
            run = []


def _stays(code: CpuCode, op: Op, own: set[Value]) -> bool:
    if op.spec.terminator or any(is_long(code, inner) for inner in op.regions):
        return True
    if code.suspend is not None and anyone_waits(op):
        return True
    if code.constructs and code.is_left_through(op):
        return True
    return any(isinstance(v.type, CoopMatrix) and v not in own for v in _reads(op))


# --- values in memory --------------------------------------------------------------------------


@dataclass(slots=True)
class _Homes:
    """The values of one long region that have a place in the workspace; `code` is that of the function around."""

    code: CpuCode
    offsets: dict[str, int] = field(default_factory=dict)
    """By the text of a value of the function around, or of a name that stands for a value of a stretch."""

    def keep(self, w: Writer, workspace: Val, held: Val) -> int:
        """The offset of a new home, to which a value is written."""
        bytes = max(1, stored_bytes(held.type))
        offset = self.code.frame.take(bytes, _alignment(held.type))
        type = stored_type(held.type)
        stored = held if type == held.type else w.convert("zext", held, "i8")
        w.store(stored, w.at(workspace, offset), _alignment(held.type))
        return offset

    def read(self, w: Writer, workspace: Val, held: Val) -> Val:
        """The value in a home, read from the workspace."""
        type = stored_type(held.type)
        loaded = w.load(type, w.at(workspace, self.offsets[held.text]), _alignment(held.type))
        return loaded if type == held.type else w.convert("trunc", loaded, "i1")

    def bring_back(self, ops: Sequence[Op]) -> None:
        """Read the values that instructions of the function around need."""
        code = self.code
        own = {value for op in ops for value in op.results}
        for value in {value: None for op in ops for value in _reads(op) if value not in own}:
            code.env[value] = rewritten(
                code.env[value],
                lambda held: self.read(code.w, code.workspace, held) if _is_away(held) else held,
            )


def _alignment(type: str) -> int:
    return min(64, 1 << (max(1, stored_bytes(type)) - 1).bit_length())


_AWAY = "%away."


def _is_away(held: Val) -> bool:
    """Whether a value has no name in the function around: a stretch has left it in its home."""
    return held.text.startswith(_AWAY)


# --- a stretch ---------------------------------------------------------------------------------


class _Stretch:
    """A function that is being written: `i1 @name(ptr workspace)`, which returns true if a check has failed."""

    def __init__(self, homes: _Homes, first: Op) -> None:
        self._homes, self._outer = homes, homes.code
        outer, module = self._outer, self._outer.module
        self._name = f"{outer.debug.linkage_name}.stretch{len(module.functions)}"
        debug = outer.debug.of_part(self._name, first.span)
        header = (
            f"define internal i1 @{self._name}(ptr noalias %workspace) "
            f'noinline nounwind "prefer-vector-width"="512"{debug.attached}'
        )
        w = self._w = Writer(module, header)
        w.location = debug.at(first.span)
        self._workspace = Val("%workspace", "ptr")
        self._from_outside = {outer.workspace.text: (outer.workspace, self._workspace)}
        """By the text that a value has outside: the value outside, and what it is here."""
        self._ops: list[Op] = []
        # Until the end of the stretch, the most that was in use counts from here (`_value`).
        self._most_before, outer.frame.most = outer.frame.most, outer.frame.used
        common = outer.common
        self._code = replace(
            outer,
            w=w,
            debug=debug,
            workspace=self._workspace,
            env={},
            exit=lambda: w.line("ret i1 true"),
            common=None if common is None else lambda size: self._value(common(size)),
            **{key: self._moved(getattr(outer, key)) for key in _CAPTURED},
        )

    @property
    def is_full(self) -> bool:
        """Whether the function is long enough."""
        return self._w.length >= _FULL

    def add(self, ops: list[Op]) -> None:
        """Lower instructions into the function."""
        code = self._code
        for op in ops:
            for value in _reads(op):
                if value not in code.env:
                    code.env[value] = self._moved(self._outer.env[value])
            code.lower(op)
            self._ops.append(op)

    def end(self, last_reads: dict[Value, Op]) -> None:
        """Write values that are read later to their homes, and call the function."""
        ops = set(self._ops)
        away = {here.text: outside for outside, here in self._from_outside.values()}
        for op in self._ops:
            for value in op.results:
                last = last_reads.get(value)
                if last is not None and last not in ops:
                    self._outer.env[value] = rewritten(self._code.env[value], lambda held: self._left(held, away))
        frame = self._outer.frame
        frame.most = max(frame.most, self._most_before)
        self._w.line("ret i1 false")
        self._w.finish()
        w = self._outer.w
        failed = w.effect("i1", f"call i1 @{self._name}({self._outer.workspace})")
        w.unlikely(failed, self._outer.exit)

    def _left(self, held: Val, away: dict[str, Val]) -> Val:
        """A value of this function, for the function around."""
        if held.text[0] != "%":
            return held
        if held.text not in away:
            offset = self._homes.keep(self._w, self._workspace, held)
            name = Val(f"{_AWAY}{len(self._homes.offsets)}", held.type)
            self._homes.offsets[name.text] = offset
            away[held.text] = name
        return away[held.text]

    def _moved(self, held: Any) -> Any:
        """A value, or a structure of values, of the function around, for this function."""
        return rewritten(held, self._value)

    def _value(self, held: Val) -> Val:
        if held.text[0] != "%":
            return held
        if held.text not in self._from_outside:
            homes, outer = self._homes, self._outer
            if held.text not in homes.offsets:
                # It is written before the stretch begins: to bytes that no instruction of the stretch has used so far.
                outer.frame.used = outer.frame.most
                homes.offsets[held.text] = homes.keep(outer.w, outer.workspace, held)
            self._from_outside[held.text] = held, homes.read(self._w, self._workspace, held)
        return self._from_outside[held.text][1]


_CAPTURED = ("arguments", "record", "group", "grid", "linear_group", "place", "prints", "print_step")
"""What the state of a kernel holds of values besides its names."""
