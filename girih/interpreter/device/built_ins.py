"""The meaning of the place of a work-item in three dimensions (`girih.ops.device.built_ins`)."""

from __future__ import annotations

import numpy as np

from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.values import Array
from girih.ops.device.built_ins import GlobalId, InvocationId, LocalId, LocalIndex, SubgroupMask
from girih.ops.device.subgroup import WORDS


def _index(machine: Machine) -> Array:
    """The number of each work-item in its work-group: an array [1, subgroup, lane]."""
    count = machine.subgroups * machine.lanes
    return np.arange(count, dtype=np.int32).reshape(1, machine.subgroups, machine.lanes)


def _local(machine: Machine, op: InvocationId) -> Array:
    x, y, z = op.sizes
    index = _index(machine)
    along = (index % x, index // x % y, index // (x * y) % z)
    return along[op.axis]


@meaning(LocalIndex)
def local_index(machine: Machine, op: LocalIndex) -> None:
    """Set the result to the number of the work-item in its work-group."""
    machine.set(op.result, _index(machine))


@meaning(LocalId)
def local_id(machine: Machine, op: LocalId) -> None:
    """Set the result to the number of the work-item along an axis of its work-group."""
    machine.set(op.result, _local(machine, op))


@meaning(GlobalId)
def global_id(machine: Machine, op: GlobalId) -> None:
    """Set the result to the number of the work-item along an axis of the grid, which wraps around."""
    first = machine.group_ids[op.axis] * op.sizes[op.axis]
    machine.set(op.result, (first + _local(machine, op)).astype(np.int32))


_RELATIONS = {
    "equal": np.equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
}


@meaning(SubgroupMask)
def subgroup_mask(machine: Machine, op: SubgroupMask) -> None:
    """Set the words of the result to the bits of the work-items whose numbers compare so."""
    own = np.arange(machine.lanes)
    held = np.zeros((machine.lanes, 32 * WORDS), np.bool_)
    held[:, : machine.lanes] = _RELATIONS[op.relation](own[None, :], own[:, None])
    words = np.packbits(held, axis=1, bitorder="little").view("<i4").astype(np.int32)
    for result, word in zip(op.results, words.T, strict=True):
        machine.set(result, word[None, None, :])
