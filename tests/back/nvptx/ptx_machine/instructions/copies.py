"""Copies that go on beside the threads (PTX ISA "cp.async", "cp.async.bulk" and what waits for them)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tests.back.nvptx.ptx_machine.asynchronous import Barrier, Groups, Task
from tests.back.nvptx.ptx_machine.build import Draft, Step
from tests.back.nvptx.ptx_machine.errors import Fault
from tests.back.nvptx.ptx_machine.instructions import tensor_copies
from tests.back.nvptx.ptx_machine.instructions.atomics import combined
from tests.back.nvptx.ptx_machine.instructions.mbarriers import barrier_at, each
from tests.back.nvptx.ptx_machine.syntax import Constant
from tests.back.nvptx.ptx_machine.types import TYPES, Array, PtxType

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.cta import Cta
    from tests.back.nvptx.ptx_machine.masks import Mask

_BULK = 16
"""What sizes and addresses of bulk copies are multiples of."""
_MBARRIER = "mbarrier::complete_tx::bytes"


def copy(draft: Draft) -> Step:
    """cp."""
    reduces = bool(draft.taken("reduce"))
    draft.expected("async")
    if draft.taken("bulk"):
        return _bulk(draft, reduces=reduces)
    if reduces:
        raise draft.unknown("a reduction is .bulk")
    if draft.taken("mbarrier"):
        return _small_arrival(draft)
    if draft.taken("commit_group"):
        return _groups(draft, "small", lambda groups: groups.commit())
    if draft.taken("wait_all"):
        return _groups(draft, "small", _all_of)
    if draft.taken("wait_group"):
        return _waited(draft, "small")
    return _small(draft)


# --- groups --------------------------------------------------------------------------------------


def _all_of(groups: Groups) -> None:
    groups.commit()
    groups.wait(0)


def _groups(draft: Draft, kind: str, act: Callable[[Groups], None]) -> Step:
    """What all threads do with their own groups."""

    def run(cta: Cta, mask: Mask) -> None:
        known: dict[int, Groups] = getattr(cta.asynchronous, kind)
        for thread in map(int, mask.index):
            act(known.setdefault(thread, Groups()))

    return draft.step(run)


def _waited(draft: Draft, kind: str) -> Step:
    operand = draft.operand()
    if not isinstance(operand, Constant):
        raise draft.unknown("the number of groups is a constant")
    return _groups(draft, kind, lambda groups: groups.wait(operand.value))


# --- cp.async ------------------------------------------------------------------------------------


def _small(draft: Draft) -> Step:
    """4, 8 or 16 bytes from global to shared memory; the rest of a smaller source is zeros."""
    cache = draft.expected("ca", "cg")
    draft.expected("shared", "shared::cta")
    draft.expected("global")
    draft.taken("L2::64B", "L2::128B", "L2::256B")
    target, source = draft.address(), draft.address()
    size = draft.operand()
    if not isinstance(size, Constant) or size.value not in ((16,) if cache == "cg" else (4, 8, 16)):
        raise draft.unknown(f"a copy of {size} bytes is not known")
    width = size.value
    part = draft.value(TYPES["u32"]) if draft.left else None

    def run(cta: Cta, mask: Mask) -> None:
        r = cta.registers
        full = np.array([width], np.uint32)
        given = each(mask, target(r), source(r), full if part is None else part(r))
        for place, (thread, (to, begin, count)) in enumerate(zip(map(int, mask.index), given, strict=True)):
            if to % width or begin % width or count > width:
                raise Fault(f"{count} of {width} bytes from {begin:#x} to {to:#x} cannot be copied", place)
            held = cta.memory.spans("shared", to, width, write=True)
            bytes = cta.memory.spans("global", begin, count, write=False) if count else np.zeros(0, np.uint8)
            task = cta.asynchronous.begin(partial(_filled, held, bytes))
            cta.asynchronous.small.setdefault(thread, Groups()).open.append(task)

    return draft.step(run)


def _filled(to: Array, source: Array) -> None:
    to[: len(source)] = source
    to[len(source) :] = 0


def _small_arrival(draft: Draft) -> Step:
    """cp.async.mbarrier.arrive: an arrival when the copies of the thread so far are made."""
    draft.expected("arrive")
    plain = bool(draft.taken("noinc"))
    space = "shared" if draft.taken("shared", "shared::cta") else "generic"
    draft.expected("b64")
    at = draft.address()

    def run(cta: Cta, mask: Mask) -> None:
        for thread, (address,) in zip(map(int, mask.index), each(mask, at(cta.registers)), strict=True):
            barrier = barrier_at(cta, address, space)
            if not plain:
                barrier.pending += 1
            groups = cta.asynchronous.small.setdefault(thread, Groups())
            before = [*(task for group in groups.closed for task in group), *groups.open]
            cta.asynchronous.begin(partial(_arrived, barrier, before))

    return draft.step(run)


def _arrived(barrier: Barrier, before: list[Task]) -> None:
    for task in before:
        task.force()
    barrier.arrive(1)


# --- cp.async.bulk -------------------------------------------------------------------------------


def _bulk(draft: Draft, *, reduces: bool) -> Step:
    if draft.taken("tensor"):
        return tensor_copies.tensor_copy(draft, reduces=reduces)
    if reduces:
        return _bulk_out(draft, reduces=True)
    if draft.taken("commit_group"):
        return _groups(draft, "bulk", lambda groups: groups.commit())
    if draft.taken("wait_group"):
        draft.taken("read")
        return _waited(draft, "bulk")
    if draft.taken("prefetch"):
        return _prefetch(draft)
    if draft.taken("shared::cluster", "shared::cta"):
        return _bulk_in(draft)
    return _bulk_out(draft, reduces=False)


def _prefetch(draft: Draft) -> Step:
    if draft.taken("tensor"):
        return tensor_copies.prefetch(draft)
    draft.expected("L2")
    draft.expected("global")
    source, size = draft.address(), draft.value(TYPES["u32"])

    def run(cta: Cta, mask: Mask) -> None:
        for begin, count in each(mask, source(cta.registers), size(cta.registers)):
            cta.memory.spans("global", begin, count, write=False)

    return draft.step(run)


def _bulk_in(draft: Draft) -> Step:
    """From global to shared memory; an mbarrier counts the bytes."""
    draft.expected("global")
    draft.expected(_MBARRIER)
    target, source = draft.address(), draft.address()
    size, barrier_address = draft.value(TYPES["u32"]), draft.address()

    def run(cta: Cta, mask: Mask) -> None:
        r = cta.registers
        for to, begin, count, address in each(mask, target(r), source(r), size(r), barrier_address(r)):
            _check_bulk(to, begin, count)
            barrier = barrier_at(cta, address)
            held = cta.memory.spans("shared", to, count, write=True)
            bytes = cta.memory.spans("global", begin, count, write=False)
            cta.asynchronous.begin(partial(_counted, barrier, held, bytes))

    return draft.step(run)


def _counted(barrier: Barrier, to: Array, source: Array) -> None:
    to[:] = source
    barrier.complete(len(source))


def _check_bulk(to: int, begin: int, count: int) -> None:
    if to % _BULK or begin % _BULK or count % _BULK or not count:
        raise Fault(f"a bulk copy of {count} bytes from {begin:#x} to {to:#x}: they must be multiples of {_BULK}")


def _bulk_out(draft: Draft, *, reduces: bool) -> Step:
    """From shared to global memory; a bulk group has it. Or a reduction of global memory with what lies in shared."""
    draft.expected("global")
    draft.expected("shared::cta")
    draft.expected("bulk_group")
    operation = draft.expected("and", "or", "xor", "add", "inc", "dec", "min", "max") if reduces else ""
    if reduces:
        draft.taken("noftz")
    type = draft.type("f16", "bf16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64") if reduces else TYPES["b8"]
    target, source, size = draft.address(), draft.address(), draft.value(TYPES["u32"])
    draft.layout.reads_late = True

    def run(cta: Cta, mask: Mask) -> None:
        r = cta.registers
        given = each(mask, target(r), source(r), size(r))
        for thread, (to, begin, count) in zip(map(int, mask.index), given, strict=True):
            _check_bulk(to, begin, count)
            held = cta.memory.spans("global", to, count, write=True).view(type.held)
            bytes = cta.memory.read_late(begin, count).view(type.held)
            task = cta.asynchronous.begin(partial(_combined, operation, type, held, bytes))
            cta.asynchronous.bulk.setdefault(thread, Groups()).open.append(task)

    return draft.step(run)


def _combined(operation: str, type: PtxType, to: Array, source: Array) -> None:
    to[:] = combined(operation, type, to, source) if operation else source
