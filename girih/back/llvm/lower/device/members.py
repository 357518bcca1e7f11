"""The members of groups of buffers, which findings call by their numbers."""

from __future__ import annotations

from dataclasses import replace

from girih.back.llvm.lower import memory
from girih.back.llvm.lower.code import KernelCode
from girih.back.llvm.lower.device.buffers import MemberBytes
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.values import MemRefHeld
from girih.ir.types import GroupType
from girih.ops.tile.memory import Load

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file, which stand in place of those of the tensor language."""


@LOWERINGS.of(Load)
def load(code: KernelCode, op: Load) -> None:
    """Lower the load of an element, or of a memref of a group, which findings call by its number."""
    memory.load(code, op)
    held = code.env[op.result]
    if not isinstance(op.tensor.type, GroupType) or not isinstance(held, MemRefHeld):
        return
    number = code.index(op.indices[0])
    known = number.part.literal if number.uniform else None
    if known is not None:
        code.set(op.result, replace(held, name=f"{held.name}[{known}]"))
        return
    code.set(op.result, MemberBytes.of(held, number))
