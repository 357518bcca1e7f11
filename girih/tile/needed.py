"""The scalars that a role needs: others are not computed by it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from girih.ir.core import Op, Value
from girih.ir.uses import free_values
from girih.tile.form import (
    Choose,
    Combine,
    Componentwise,
    Compute,
    Copy,
    Deliver,
    Fetch,
    Gather,
    Repeat,
    Send,
    Steps,
    Supply,
    TileStep,
    Verify,
)


def needed(steps: Steps) -> Steps:
    """The steps of a role without computations that no step of it needs, and without loops and branches of nothing."""
    return _Needed().region(steps)


class _Needed:
    def __init__(self) -> None:
        self.values: set[Value] = set()

    def region(self, steps: Steps) -> Steps:
        found: list[TileStep] = []
        for step in reversed(steps):
            kept = self._step(step)
            if kept is not None:
                found.append(kept)
        return tuple(reversed(found))

    def _step(self, step: TileStep) -> TileStep | None:
        match step:
            case Compute(op):
                if self.values.isdisjoint(op.results):
                    return None
                self._use(_read(op))
            case Verify(op) | Componentwise(op=op) | Combine(op=op) | Fetch(op=op) | Deliver(op=op):
                self._use(_read(op))
            case Supply(copies=copies):
                self._use(v for copy in copies if isinstance(copy, Copy) for v in copy.at if isinstance(v, Value))
                self._use(v for copy in copies if isinstance(copy, Gather) for v in _read(copy.op))
            case Send(at=at):
                self._use(v for v in at if isinstance(v, Value))
            case Repeat():
                return self._repeat(step)
            case Choose():
                return self._choose(step)
        return step

    def _use(self, values: Iterable[Value]) -> None:
        self.values.update(values)

    def _repeat(self, step: Repeat) -> TileStep | None:
        # What a carried number becomes is needed if the number is: a second look finds what the first one did not know.
        for _ in range(len(step.carried) + 1):
            carried = tuple(one for one in step.carried if not self.values.isdisjoint((one.value, one.result)))
            self._use(v for one in carried for v in (one.initial, one.next))
            body = self.region(step.body)
        if not any(not isinstance(one, Compute) for one in body) and not carried:
            return None
        self._use(v for v in (step.start, step.stop, step.step) if v is not None)
        return replace(step, carried=carried, body=body)

    def _choose(self, step: Choose) -> TileStep | None:
        results = tuple(one for one in step.results if one.result in self.values)
        self._use(v for one in results for v in (one.then, one.otherwise))
        then, otherwise = self.region(step.then), self.region(step.otherwise)
        if not then and not otherwise and not results:
            return None
        self._use((step.condition,))
        return replace(step, then=then, otherwise=otherwise, results=results)


def _read(op: Op) -> set[Value]:
    return {*op.operands, *free_values(op)}
