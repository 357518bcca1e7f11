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
from tests.back.nvptx.ptx_machine.instructions.mbarriers import barrier_at, counted_by, counting, each
from tests.back.nvptx.ptx_machine.order.clocks import Snapshot
from tests.back.nvptx.ptx_machine.order.shadow import UNDER_WAY, Agent
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
        return _groups(draft, "small", _commit)
    if draft.taken("wait_all"):
        return _groups(draft, "small", _all_of)
    if draft.taken("wait_group"):
        return _waited(draft, "small")
    return _small(draft)


# --- groups --------------------------------------------------------------------------------------


def _all_of(groups: Groups) -> int:
    groups.commit()
    return groups.wait(0)


def _commit(groups: Groups) -> int:
    groups.commit()
    return 0


def _groups(draft: Draft, kind: str, act: Callable[[Groups], int]) -> Step:
    """What all threads do with their own groups: how many of its copies a thread has waited for then."""
    draft.layout.asynchronous = True

    def run(cta: Cta, mask: Mask) -> None:
        known: dict[int, Groups] = getattr(cta.asynchronous, kind)
        for thread in map(int, mask.index):
            done = act(known.setdefault(thread, Groups()))
            if done and cta.clocks is not None:
                cta.clocks.learn(np.array([thread]), _column(cta, kind, thread), done)

    return draft.step(run)


def _column(cta: Cta, kind: str, thread: int) -> int:
    """The column of the copies of a thread: their stamps count them, from 1 on."""
    assert cta.clocks is not None
    words = "a bulk copy" if kind == "bulk" else "a cp.async"
    return cta.clocks.column(kind, thread, f"{words} of thread {thread}")


def _waited(draft: Draft, kind: str, *, read: bool = False) -> Step:
    operand = draft.operand()
    if not isinstance(operand, Constant):
        raise draft.unknown("the number of groups is a constant")
    return _groups(draft, kind, lambda groups: groups.wait(operand.value, read=read))


# --- cp.async ------------------------------------------------------------------------------------


def _small(draft: Draft) -> Step:
    """4, 8 or 16 bytes from global to shared memory; the rest of a smaller source is zeros."""
    cache = draft.expected("ca", "cg")
    draft.expected("shared", "shared::cta")
    draft.expected("global")
    hint = bool(draft.taken("L2::cache_hint"))
    draft.taken("L2::64B", "L2::128B", "L2::256B")
    draft.layout.asynchronous = True
    target, source = draft.address(), draft.address()
    size = draft.operand()
    if not isinstance(size, Constant) or size.value not in ((16,) if cache == "cg" else (4, 8, 16)):
        raise draft.unknown(f"a copy of {size} bytes is not known")
    width = size.value
    part = draft.value(TYPES["u32"]) if draft.left > hint else None
    if hint:
        draft.value(TYPES["b64"])

    def run(cta: Cta, mask: Mask) -> None:
        r = cta.registers
        full = np.array([width], np.uint32)
        given = each(mask, target(r), source(r), full if part is None else part(r))
        for place, (thread, (to, begin, count)) in enumerate(zip(map(int, mask.index), given, strict=True)):
            if to % width or begin % width or count > width:
                raise Fault(f"{count} of {width} bytes from {begin:#x} to {to:#x} cannot be copied", place)
            groups = cta.asynchronous.small.setdefault(thread, Groups())
            groups.asked += 1
            agent = Agent(_column(cta, "small", thread), groups.asked, generic=True)
            held = cta.memory.write_later(to, width, agent, thread)
            bytes = cta.memory.spans("global", begin, count, write=False) if count else np.zeros(0, np.uint8)
            task = cta.asynchronous.begin(partial(_filled, held, bytes))
            groups.add(task)

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
    draft.layout.asynchronous = True
    at = draft.address()

    def run(cta: Cta, mask: Mask) -> None:
        for thread, (address,) in zip(map(int, mask.index), each(mask, at(cta.registers)), strict=True):
            barrier = barrier_at(cta, address, thread, space)
            if not plain:
                barrier.pending += 1
            groups = cta.asynchronous.small.setdefault(thread, Groups())
            before = [*(task for group in groups.closed for task in group), *groups.open]
            known = Snapshot()
            if groups.asked:
                known.learn(_column(cta, "small", thread), groups.asked)
            cta.asynchronous.begin(partial(_arrived, barrier, before, known))

    return draft.step(run)


def _arrived(barrier: Barrier, before: list[Task], known: Snapshot) -> None:
    for task in before:
        task.force()
    barrier.arrived.join(known)
    barrier.arrive(1)


# --- cp.async.bulk -------------------------------------------------------------------------------


def _bulk(draft: Draft, *, reduces: bool) -> Step:
    if draft.taken("tensor"):
        return tensor_copies.tensor_copy(draft, reduces=reduces)
    if reduces:
        return _bulk_out(draft, reduces=True)
    if draft.taken("commit_group"):
        return _groups(draft, "bulk", _commit)
    if draft.taken("wait_group"):
        return _waited(draft, "bulk", read=bool(draft.taken("read")))
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
    hint = bool(draft.taken("L2::cache_hint"))
    target, source = draft.address(), draft.address()
    size, barrier_address = draft.value(TYPES["u32"]), draft.address()
    if hint:
        draft.value(TYPES["b64"])
    draft.layout.asynchronous = True

    def run(cta: Cta, mask: Mask) -> None:
        r = cta.registers
        given = each(mask, target(r), source(r), size(r), barrier_address(r))
        for thread, (to, begin, count, address) in zip(map(int, mask.index), given, strict=True):
            _check_bulk(to, begin, count)
            barrier = counting(cta, address, thread)
            column = counted_by(cta, address)
            held = cta.memory.write_later(to, count, Agent(column, UNDER_WAY), thread)
            bytes = cta.memory.spans("global", begin, count, write=False)
            landed = partial(cta.memory.landed, to, count)
            cta.asynchronous.begin(partial(_counted, barrier, held, bytes, column, landed))

    return draft.step(run)


def _counted(barrier: Barrier, to: Array, source: Array, column: int, landed: Callable[[Agent], None]) -> None:
    to[:] = source
    landed(Agent(column, barrier.phase + 1))
    barrier.complete(len(source))


def _check_bulk(to: int, begin: int, count: int) -> None:
    if to % _BULK or begin % _BULK or count % _BULK or not count:
        raise Fault(f"a bulk copy of {count} bytes from {begin:#x} to {to:#x}: they must be multiples of {_BULK}")


def _bulk_out(draft: Draft, *, reduces: bool) -> Step:
    """From shared to global memory; a bulk group has it. Or a reduction of global memory with what lies in shared."""
    draft.expected("global")
    draft.expected("shared::cta")
    draft.expected("bulk_group")
    hint = bool(draft.taken("L2::cache_hint"))
    operation = draft.expected("and", "or", "xor", "add", "inc", "dec", "min", "max") if reduces else ""
    if reduces:
        draft.taken("noftz")
    type = draft.type("f16", "bf16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64") if reduces else TYPES["b8"]
    target, source, size = draft.address(), draft.address(), draft.value(TYPES["u32"])
    if hint:
        draft.value(TYPES["b64"])
    draft.layout.asynchronous = True

    def run(cta: Cta, mask: Mask) -> None:
        r = cta.registers
        given = each(mask, target(r), source(r), size(r))
        for thread, (to, begin, count) in zip(map(int, mask.index), given, strict=True):
            _check_bulk(to, begin, count)
            held = cta.memory.spans("global", to, count, write=True).view(type.held)
            bytes = tensor_copies.read_by_copy(cta, begin, count, thread).view(type.held)
            taken = np.zeros_like(bytes)
            act = partial(_combined, operation, type, held, taken)
            cta.asynchronous.bulk[thread].add(cta.asynchronous.begin(act, partial(np.copyto, taken, bytes)))

    return draft.step(run)


def _combined(operation: str, type: PtxType, to: Array, source: Array) -> None:
    to[:] = combined(operation, type, to, source) if operation else source
