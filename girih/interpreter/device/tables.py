"""The meaning of memory that holds a constant (`girih.ops.device.tables`)."""

from __future__ import annotations

import numpy as np

from girih.arguments.memory import Memory
from girih.interpreter.machine import numbers
from girih.interpreter.machine.machine import Machine, meaning
from girih.interpreter.machine.values import MemRefValue
from girih.ir.types import I8
from girih.ops.device.tables import ConstantBytes


@meaning(ConstantBytes)
def constant_bytes(machine: Machine, op: ConstantBytes) -> None:
    """Make the memory. All that is in it was written, and nobody's accesses to it are followed: none is a write."""
    data = np.array(op.words, "<i4").view(np.uint8)
    memory = Memory(data, None, op.result.name)
    machine.set(op.result, MemRefValue(memory.view(numbers.dtype(I8)), 0, (len(data),), (1,)))
