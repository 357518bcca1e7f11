"""Branches, calls and ends (PTX ISA "Control Flow Instructions"), and what means nothing to one CTA at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.back.nvptx.ptx_machine.build import Control, Draft, Step
from tests.back.nvptx.ptx_machine.errors import Fault
from tests.back.nvptx.ptx_machine.syntax import Listed, Variable, Word
from tests.back.nvptx.ptx_machine.types import TYPES

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.cta import Cta, Group
    from tests.back.nvptx.ptx_machine.masks import Mask

SCOPES = ("cta", "cluster", "gpu", "sys")


def branch(draft: Draft) -> Step:
    """bra."""
    draft.taken("uni")
    word = draft.operand()
    target = draft.layout.label(draft.instruction.scope, word.name) if isinstance(word, Word) else None
    if target is None:
        raise draft.unknown(f"the label {word} is not there")
    draft.done()
    goal = target
    step = Step(draft.instruction)

    def go(cta: Cta, group: Group) -> bool:
        slot = step.guard
        if slot < 0:
            group.at = goal
            return True
        chosen = cta.registers[slot]
        if chosen.size == 1:
            group.at = goal if bool(chosen[0]) != step.negated else group.at + 1
            return True
        on = group.mask.on & (~chosen if step.negated else chosen)
        count = int(np.count_nonzero(on))
        if count in (0, group.mask.count):
            group.at = goal if count else group.at + 1
            return True
        cta.parted(group, on, goal)
        group.at += 1
        return False

    step.control = go
    return step


def call(draft: Draft) -> Step:
    """call of a function by its name."""
    draft.taken("uni")
    first = draft.operand()
    results: Listed = Listed(())
    if isinstance(first, Listed):
        results, first = first, draft.operand()
    given = draft.operand() if draft.left else Listed(())
    function = draft.layout.syntax.functions.get(first.name) if isinstance(first, Word) else None
    if function is None or function.first < 0 or not isinstance(given, Listed):
        raise draft.unknown(f"the function {first} is not in the module")
    into = _copies(draft, given, function.parameters)
    out = [(callee, own) for own, callee in _copies(draft, results, function.results)]
    goal = function.first

    def go(cta: Cta, group: Group) -> bool:
        for source, target in into:
            cta.calls[target][group.mask.on] = cta.calls[source][group.mask.on]
        if any(cta.steps[at].instruction.function == function.name for at in group.stack):
            raise Fault(f"{function.name} calls itself, which the machine does not do")
        group.stack = (*group.stack, group.at)
        group.at = goal
        return False

    step = draft.control(go)
    step.results = tuple(out)
    return step


def _copies(draft: Draft, given: Listed, formal: tuple[Variable, ...]) -> list[tuple[int, int]]:
    """What a call copies: the numbers of parameters of it and of the function."""
    if len(given.parts) != len(formal):
        raise draft.unknown(f"{len(formal)} parameters are expected, found {len(given.parts)}")
    found = []
    for part, variable in zip(given.parts, formal, strict=True):
        own = draft.place(part.name) if isinstance(part, Word) else None
        if own is None or own.space != "call" or own.variable.bytes != variable.bytes:
            raise draft.unknown(f"the parameter {part} does not suit {variable.name}")
        found.append((own.number, draft.layout.call_place(variable).number))
    return found


def back(draft: Draft) -> Step:
    """ret: in a kernel, the end of the threads."""
    draft.taken("uni")

    def go(cta: Cta, group: Group) -> bool:
        if not group.stack:
            cta.end(group, group.mask.on)
            return False
        *rest, at = group.stack
        for source, target in cta.steps[at].results:
            cta.calls[target][group.mask.on] = cta.calls[source][group.mask.on]
        group.stack, group.at = tuple(rest), at + 1
        return False

    return parted(draft.control(go))


def leave(draft: Draft) -> Step:
    """exit."""

    def go(cta: Cta, group: Group) -> bool:
        cta.end(group, group.mask.on)
        return False

    return parted(draft.control(go))


def trap(draft: Draft) -> Step:
    """trap: a launch that comes to one fails."""

    def run(cta: Cta, mask: Mask) -> None:
        raise Fault("the kernel traps, which ends the context on a GPU")

    return draft.step(run)


def nothing(draft: Draft) -> Step:
    """What does nothing here, as memory is that of one CTA after the other: fences, sleep, prefetches."""
    name = draft.name
    if name == "membar":
        draft.expected("cta", "gl", "sys")
    elif name in ("prefetch", "prefetchu"):
        draft.taken("global", "local", "param", "const")
        draft.expected("L1", "L2", "L2::evict_last", "L2::evict_normal", "tensormap")
        draft.address()
    elif name == "nanosleep":
        draft.type("u32")
        draft.value(TYPES["u32"])
    elif name == "griddepcontrol":
        draft.expected("launch_dependents", "wait")

    def run(cta: Cta, mask: Mask) -> None:
        pass

    return draft.step(run)


def fence(draft: Draft) -> Step:
    """fence: nothing, but one for copies, which says what these may read."""
    if draft.taken("mbarrier_init"):
        draft.expected("release")
        draft.expected("cluster")
        return draft.step(_announced)
    elif not draft.taken("proxy"):
        draft.taken("sc", "acq_rel", "acquire", "release")
        draft.expected(*SCOPES)
    elif draft.taken("async"):
        shared = draft.taken("global", "shared::cta", "shared::cluster") != "global"
        draft.layout.asynchronous = True
        return draft.step(lambda cta, mask: cta.clocks.fence(mask.index) if shared and cta.clocks else None)
    elif draft.taken("tensormap::generic"):
        draft.expected("release", "acquire")
        draft.expected(*SCOPES)
        if draft.left:
            draft.address()
            draft.value(TYPES["u32"])
    else:
        draft.expected("alias")
    return draft.step(lambda cta, mask: None)


def _announced(cta: Cta, mask: Mask) -> None:
    """Threads make the mbarriers visible to copies that they have initialised."""
    for one in cta.asynchronous.barriers.values():
        if one.begun[0] in mask.index:
            one.announced = True


def parted(step: Step) -> Step:
    """An instruction that moves threads on itself, which those of its predicate execute and the others pass."""
    plain = step.control
    assert plain is not None
    inner: Control = plain

    def go(cta: Cta, group: Group) -> bool:
        if step.guard < 0:
            return inner(cta, group)
        mask = cta.guarded(step, group.mask)
        if mask.count == group.mask.count:
            return inner(cta, group)
        if not mask.count:
            group.at += 1
            return True
        cta.parted(group, group.mask.on & ~mask.on, group.at + 1)
        return inner(cta, group)

    step.control = go
    return step
