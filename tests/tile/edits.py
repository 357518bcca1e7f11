"""Changes of tile kernels: steps that are left out, replaced or moved, parts that are others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from girih.tile.form import Choose, Repeat, Steps, Supply, TileKernel, TileStep

Change = Callable[[TileStep], Sequence[TileStep]]


def edited(steps: Steps, change: Change) -> Steps:
    """The steps with what a function makes of each in its place; a loop or branch is changed inside first."""
    found: list[TileStep] = []
    for step in steps:
        match step:
            case Repeat():
                found += change(replace(step, body=edited(step.body, change)))
            case Choose():
                then, otherwise = edited(step.then, change), edited(step.otherwise, change)
                found += change(replace(step, then=then, otherwise=otherwise))
            case _:
                found += change(step)
    return tuple(found)


def consuming(kernel: TileKernel, change: Change) -> TileKernel:
    """A kernel whose consumers have other steps."""
    return replace(kernel, consumers=replace(kernel.consumers, body=edited(kernel.consumers.body, change)))


def producing(kernel: TileKernel, change: Change) -> TileKernel:
    """A kernel whose producer has other steps."""
    return replace(kernel, producer=replace(kernel.producer, body=edited(kernel.producer.body, change)))


def instead(kind: Any, make: Callable[[Any], Sequence[TileStep]], *, number: int | None = None) -> Change:
    """Others in the place of the steps of a kind; with `number`, of the one with this number from 0 on."""
    seen = -1

    def change(step: TileStep) -> Sequence[TileStep]:
        nonlocal seen
        if not isinstance(step, kind):
            return (step,)
        seen += 1
        return make(step) if number in (None, seen) else (step,)

    return change


def without(kind: type[TileStep], *, number: int | None = None) -> Change:
    """Nothing in the place of the steps of a kind, or of one of them."""
    return instead(kind, lambda step: (), number=number)


def twice(kind: type[TileStep], *, number: int | None = None) -> Change:
    """The steps of a kind twice, or one of them."""
    return instead(kind, lambda step: (step, step), number=number)


def moved_up(kind: type[TileStep]) -> Change:
    """Loops in which the first step of a kind stands in front of the one before it."""

    def change(step: TileStep) -> Sequence[TileStep]:
        if not isinstance(step, Repeat):
            return (step,)
        body = list(step.body)
        at = next(k for k, one in enumerate(body) if isinstance(one, kind))
        body[at - 1], body[at] = body[at], body[at - 1]
        return (replace(step, body=tuple(body)),)

    return change


def copying(make: Callable[[Any], Any]) -> Change:
    """Other copies in all `Supply`s."""
    return instead(Supply, lambda step: (replace(step, copies=tuple(map(make, step.copies))),))
