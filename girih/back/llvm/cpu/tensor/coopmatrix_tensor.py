"""Loads and stores of cooperative matrices through tensor layouts and views (`girih.ops.tile.coopmatrix_tensor`).

A tile that is a window of the memory and lies inside the tensor is loaded and stored as any other tile of a memref. The
components of other tiles are moved one by one, by the formulas of the specification.
"""

from __future__ import annotations

from dataclasses import replace

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix import transfers
from girih.back.llvm.cpu.matrix.apply import loaded
from girih.back.llvm.cpu.matrix.bounds import Window
from girih.back.llvm.cpu.matrix.fused_pass import to_tile
from girih.back.llvm.cpu.matrix.states import InMemory, Matrix, Splat, consume, new_tile, operand, zero_parts
from girih.back.llvm.cpu.tensor import decode
from girih.back.llvm.cpu.tensor.access import TensorAccess, tensor_of
from girih.back.llvm.cpu.tensor.move import Move
from girih.back.llvm.lower import tensor_layout
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.tiles.checks import check, is_legal
from girih.facts import remarks
from girih.ir.types import CoopMatrix, MemRef
from girih.ops.tile.coopmatrix_tensor import CooperativeMatrixLoadTensor, CooperativeMatrixStoreTensor, block_bytes

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""

OTHER_INSTRUCTIONS = (tensor_layout,)
"""Where the instructions are lowered that make layouts and views."""


@LOWERINGS.of(CooperativeMatrixLoadTensor)
def load(code: CpuCode, op: CooperativeMatrixLoadTensor) -> None:
    """Lower a load: components come from memory, or are the clamp value, or those of `init`."""
    type = op.result.type
    assert isinstance(type, CoopMatrix)
    before = operand(code, op.init)
    tensor = tensor_of(code, op, type, _unit(op, type))
    if not is_legal(tensor):
        consume(before)
        code.set(op.result, Splat(type, zero_parts(type, 1)))
        return
    check(tensor)
    if op.body is not None:
        decode.load(code, op, tensor, before)
        return
    window = window_of(tensor)
    if window is not None:
        consume(before)
        code.set(op.result, transfers.load(code, op.result, window))
        return
    code.set(op.result, loaded(code, copied(tensor, before)))


def _unit(op: CooperativeMatrixLoadTensor, type: CoopMatrix) -> int:
    """The bytes of a component, or of a block, in which distances from the base are counted."""
    return block_bytes(op.block_type) if isinstance(op.block_type, MemRef) else type.component.size


def window_of(tensor: TensorAccess) -> Window | None:
    """The tile as a window of the memory, with the way for tiles not wholly inside; None if it is not a window."""
    window = tensor.window()
    if window is None and tensor.digits is None and not tensor.clips:
        tensor.code.remarks.note(remarks.tensor())
    if window is None:
        return None
    return replace(window, elsewhere=None if tensor.is_cut else Move(tensor), span=tensor.op.span)


def copied(tensor: TensorAccess, before: Matrix) -> InMemory:
    """The matrix in the workspace, whose components are loaded one by one."""
    code = tensor.code
    initial = None
    if tensor.clips:
        initial = to_tile(code, before)
    else:
        consume(before)
    tile = new_tile(code, tensor.type)
    Move(tensor).copy_in(tile, initial)
    return tile


@LOWERINGS.of(CooperativeMatrixStoreTensor)
def store(code: CpuCode, op: CooperativeMatrixStoreTensor) -> None:
    """Lower a store: components go to memory, those outside the tensor are dropped."""
    m = operand(code, op.matrix)
    tensor = tensor_of(code, op, m.type, m.type.component.size)
    if not is_legal(tensor):
        consume(m)
        return
    check(tensor)
    window = window_of(tensor)
    if window is not None:
        transfers.store(code, window, m)
        return
    Move(tensor).copy_out(to_tile(code, m))
