"""What threads of a warp do together (PTX ISA "shfl.sync", "vote.sync", "match.sync", "redux.sync", "elect.sync").

A thread waits until all members that it names and that have not ended have come to the same instruction. What is read
of a thread that has ended is undefined: it reads as `GARBAGE`, and the launch notes it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from tests.back.nvptx.ptx_machine.build import Draft, Reader, Step
from tests.back.nvptx.ptx_machine.errors import Fault
from tests.back.nvptx.ptx_machine.instructions.control import parted
from tests.back.nvptx.ptx_machine.special import WARP
from tests.back.nvptx.ptx_machine.syntax import Pair, Word
from tests.back.nvptx.ptx_machine.types import TYPES, Array

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.cta import Cta, Group
    from tests.back.nvptx.ptx_machine.masks import Mask

GARBAGE = np.uint32(0xA5A5A5A5)
Act = Callable[["Cta", "Mask", Array], None]
"""What the threads of a mask do, all of them present, with the members that each names."""


def together(draft: Draft, members: Reader, act: Act) -> Step:
    """A step that threads take when all that they name have come."""
    name = draft.instruction.opcode

    def go(cta: Cta, group: Group) -> bool:
        on = group.mask.on
        named = np.broadcast_to(members(cta.registers), (cta.threads,))
        lanes = (np.arange(cta.threads) % WARP).astype(np.uint32)
        foreign = on & ((named >> lanes & 1) == 0)
        if foreign.any():
            first = int(np.flatnonzero(foreign)[0])
            raise Fault(f"a thread is not among the members {int(named[first]):#010x} that it names", first)
        missing = named & cta.warps(cta.live) & ~cta.warps(on)
        ready = on & (missing == 0)
        if not ready.any():
            group.waits = f"warp members at {name}"
            return False
        all_ready = bool((ready == on).all())
        if not all_ready:
            cta.parted(group, on & ~ready, group.at, f"warp members at {name}")
        _agree(cta, ready, named)
        act(cta, cta.mask(ready), named)
        group.at += 1
        return not cta.apart(group) and all_ready

    step = parted(draft.control(go))
    step.meets = True
    return step


def _agree(cta: Cta, ready: Array, named: Array) -> None:
    """Threads that are members of each other name the same members."""
    chosen = named[ready]
    if (chosen == chosen[0]).all():
        return
    for thread in np.flatnonzero(ready):
        warp = thread - thread % WARP
        lanes = warp + np.flatnonzero(int(named[thread]) >> np.arange(WARP) & 1)
        lanes = lanes[lanes < cta.threads]
        lanes = lanes[ready[lanes]]
        if (named[lanes] != named[thread]).any():
            raise Fault("members of each other name different members", 0)


def shuffle(draft: Draft) -> Step:
    """shfl.sync."""
    draft.expected("sync")
    mode = draft.expected("up", "down", "bfly", "idx")
    type = draft.type("b32")
    target, says = _result_and_predicate(draft)
    value, by, packed = draft.value(type), draft.value(type), draft.value(type)
    members = draft.value(type)

    def act(cta: Cta, mask: Mask, named: Array) -> None:
        registers = cta.registers
        lanes = np.arange(cta.threads) % WARP
        b = np.broadcast_to(by(registers), lanes.shape).astype(np.int64) & 31
        c = np.broadcast_to(packed(registers), lanes.shape).astype(np.int64)
        clamp, segments = c & 31, c >> 8 & 31
        last = (lanes & segments) | (clamp & ~segments)
        first = lanes & segments
        match mode:
            case "up":
                source, inside = lanes - b, lanes - b >= last
            case "down":
                source, inside = lanes + b, lanes + b <= last
            case "bfly":
                source, inside = lanes ^ b, (lanes ^ b) <= last
            case _:
                source = first | (b & ~segments)
                inside = source <= last
        source = np.where(inside, source, lanes)
        place = np.minimum(np.arange(cta.threads) - lanes + source, cta.threads - 1)
        held = np.broadcast_to(value(registers), lanes.shape)
        there = (mask.on[place]) & ((named >> source.astype(np.uint32) & 1) == 1)
        found = np.where(there, held[place], GARBAGE)
        if not there[mask.index].all():
            cta.launch.undefined.add(draft.instruction.place)
        _write(cta, mask, target, found)
        if says >= 0:
            _write(cta, mask, says, inside)

    return together(draft, members, act)


def _result_and_predicate(draft: Draft) -> tuple[int, int]:
    operand = draft.operand()
    if isinstance(operand, Pair):
        return draft.slot(operand.first, TYPES["b32"]), draft.slot(operand.second, TYPES["pred"])
    return draft.slot(operand, TYPES["b32"]), -1


def _write(cta: Cta, mask: Mask, slot: int, value: Array) -> None:
    cta.registers[slot] = value if mask.whole else np.where(mask.on, value, cta.registers[slot])


def vote(draft: Draft) -> Step:
    """vote.sync."""
    draft.expected("sync")
    mode = draft.expected("all", "any", "uni", "ballot")
    type = draft.type("b32" if mode == "ballot" else "pred")
    slot = draft.result(type)
    says, members = draft.predicate(), draft.value(TYPES["b32"])

    def act(cta: Cta, mask: Mask, named: Array) -> None:
        chosen = np.broadcast_to(says(cta.registers), (cta.threads,))
        yes, here = cta.warps(mask.on & chosen) & named, cta.warps(mask.on) & named
        if mode == "ballot":
            found: Array = yes
        else:
            found = {"all": yes == here, "any": yes != 0, "uni": (yes == here) | (yes == 0)}[mode]
        _write(cta, mask, slot, found)

    return together(draft, members, act)


def match(draft: Draft) -> Step:
    """match.sync."""
    mode = draft.expected("any", "all")
    draft.expected("sync")
    type = draft.type("b32", "b64")
    slot, says = _result_and_predicate(draft)
    value, members = draft.value(type), draft.value(TYPES["b32"])

    def act(cta: Cta, mask: Mask, named: Array) -> None:
        held = np.broadcast_to(value(cta.registers), (cta.threads,))
        found, same = np.zeros(cta.threads, np.uint32), np.zeros(cta.threads, bool)
        here = cta.warps(mask.on) & named
        for thread in mask.index:
            warp = thread - thread % WARP
            lanes = np.flatnonzero(int(here[thread]) >> np.arange(WARP) & 1)
            equal = lanes[held[warp + lanes] == held[thread]]
            bits = sum(1 << int(lane) for lane in equal)
            same[thread] = len(equal) == len(lanes)
            found[thread] = bits if mode == "any" or same[thread] else 0
        _write(cta, mask, slot, found)
        if says >= 0:
            _write(cta, mask, says, same)

    return together(draft, members, act)


def reduction(draft: Draft) -> Step:
    """redux.sync."""
    draft.expected("sync")
    operation = draft.expected("add", "min", "max", "and", "or", "xor")
    type = draft.type(*(("b32",) if operation in ("and", "or", "xor") else ("s32", "u32")))
    slot = draft.result(type)
    value, members = draft.value(type), draft.value(TYPES["b32"])
    of = {"add": np.add, "min": np.minimum, "max": np.maximum, "and": np.bitwise_and, "or": np.bitwise_or,
          "xor": np.bitwise_xor}[operation]  # fmt: skip

    def act(cta: Cta, mask: Mask, named: Array) -> None:
        held = np.broadcast_to(value(cta.registers), (cta.threads,))
        found = np.zeros(cta.threads, type.array)
        here = cta.warps(mask.on) & named
        for thread in mask.index:
            warp = thread - thread % WARP
            lanes = np.flatnonzero(int(here[thread]) >> np.arange(WARP) & 1)
            found[thread] = of.reduce(held[warp + lanes])
        _write(cta, mask, slot, found.view(np.uint32))

    return together(draft, members, act)


def elected(draft: Draft) -> Step:
    """elect.sync: the member with the lowest number."""
    draft.expected("sync")
    operand = draft.operand()
    if not isinstance(operand, Pair):
        raise draft.unknown("a register and a predicate are expected")
    lane = -1 if operand.first == Word("_") else draft.slot(operand.first, TYPES["b32"])
    says = draft.slot(operand.second, TYPES["pred"])
    members = draft.value(TYPES["b32"])

    def act(cta: Cta, mask: Mask, named: Array) -> None:
        here = cta.warps(mask.on) & named
        lowest = np.log2((here & -here.astype(np.int64)).astype(np.float64).clip(1)).astype(np.uint32)
        if lane >= 0:
            _write(cta, mask, lane, lowest)
        _write(cta, mask, says, lowest == np.arange(cta.threads) % WARP)

    return together(draft, members, act)


def active(draft: Draft) -> Step:
    """activemask: the threads that execute this together, which here are those of a group."""
    draft.type("b32")
    slot = draft.result(TYPES["b32"])

    def run(cta: Cta, mask: Mask) -> None:
        _write(cta, mask, slot, cta.warps(mask.on))

    return draft.step(run)
