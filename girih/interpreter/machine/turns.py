"""Work-items that go ahead of others: the stretches of a region between two meetings, executed by parts in turn.

Without turns an instruction is executed for all work-items before the next one starts. In turns, some work-items
execute a whole stretch, up to the next instruction that needs others, before the next ones begin it: what they compute
is put together behind it. Both are orders that the language allows; a hand-over from one work-item to another may be
seen in one of them only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from girih.interpreter.machine.private_arrays import PrivateArrayValue
from girih.interpreter.machine.values import Array, Mask, MemRefValue, ModelValue, Varying
from girih.ir.core import Op
from girih.ir.define import Where
from girih.ir.types import CoopMatrix

MOST_TURNS = 32
"""More work-items than that take their turns in parts of equal size."""


def parts(order: Array, subgroups: int, lanes: int) -> list[Mask]:
    """The work-items of each turn, as masks [1, subgroup, lane], when work-items have their turns in an order."""
    turns = np.empty(subgroups * lanes, np.int64)
    turns[order] = np.arange(subgroups * lanes) * min(MOST_TURNS, subgroups * lanes) // (subgroups * lanes)
    numbers = turns.reshape(1, subgroups, lanes)
    return [numbers == turn for turn in range(int(numbers.max()) + 1)]


def meets(op: Op) -> bool:
    """Whether an instruction, or one in its regions, needs several work-items at once."""
    values = (*op.operands, *op.results)
    together = op.spec.tangled or op.spec.exchanges or op.spec.where is Where.COLLECTIVE
    if together or any(isinstance(value.type, CoopMatrix) for value in values):
        return True
    return any(meets(inner) for region in op.regions for inner in region.ops)


def stretches(ops: Sequence[Op]) -> Iterator[tuple[slice, bool]]:
    """The stretches of a region's instructions: each with whether work-items may execute it in turns."""
    begin = 0
    for number, op in enumerate(ops):
        if meets(op):
            if begin < number:
                yield slice(begin, number), True
            yield slice(number, number + 1), False
            begin = number + 1
    if begin < len(ops):
        yield slice(begin, len(ops)), True


def put_together(mine: Mask, new: Any, old: Any) -> Any:
    """The value that is `new` for the work-items of a mask and `old` for others."""
    if new is old:
        return new
    if isinstance(new, MemRefValue):
        return replace(
            new,
            offset=_chosen(mine, new.offset, old.offset),
            shape=tuple(_chosen(mine, a, b) for a, b in zip(new.shape, old.shape, strict=True)),
            strides=tuple(_chosen(mine, a, b) for a, b in zip(new.strides, old.strides, strict=True)),
            null=_chosen_mask(mine, new.null, old.null),
            broken=_chosen_mask(mine, new.broken, old.broken),
        )
    if isinstance(new, ModelValue):
        # Equal models have one number, by which work-items that agree on a model are known.
        models = list(dict.fromkeys((*old.models, *new.models)))
        numbers = np.array([models.index(model) for model in new.models])
        return ModelValue(tuple(models), np.where(mine, numbers[new.which], old.which))
    if isinstance(new, PrivateArrayValue):
        return new.joined(mine, old)
    if isinstance(new, np.ndarray):
        if new.size == 1 and old.size == 1 and new.tobytes() == old.tobytes():
            return new
        return np.where(mine, new, old)
    return new


def _chosen(mine: Mask, new: Varying, old: Varying) -> Varying:
    if isinstance(new, int) and isinstance(old, int) and new == old:
        return new
    return np.where(mine, np.asarray(new, np.int64), np.asarray(old, np.int64))


def _chosen_mask(mine: Mask, new: Mask | None, old: Mask | None) -> Mask | None:
    if new is None and old is None:
        return None
    nobody = np.zeros((1, 1, 1), np.bool_)
    chosen: Mask = np.where(mine, nobody if new is None else new, nobody if old is None else old)
    return chosen
