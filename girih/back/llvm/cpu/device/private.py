"""Private arrays on the CPU: of numbers, and of cooperative matrices, which are tiles side by side in the workspace."""

from __future__ import annotations

from dataclasses import replace

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.apply import loaded
from girih.back.llvm.cpu.matrix.bounds import together
from girih.back.llvm.cpu.matrix.components import move_components
from girih.back.llvm.cpu.matrix.fused_pass import to_tile
from girih.back.llvm.cpu.matrix.states import InMemory, Splat, in_registers, new_tile, operand, tile_bytes, zero_parts
from girih.back.llvm.cpu.matrix.uses import plan_of
from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.device.private import checked_index, new_array, store_number
from girih.back.llvm.lower.lowerings import Lowerings
from girih.ir.types import F32, CoopMatrix, PrivateArrayType
from girih.lazy_dataclass import dataclass
from girih.ops.device.private import PrivateArray, PrivateLoad, PrivateStore, Undef

LOWERINGS = Lowerings[CpuCode]()
"""The lowerings of this file."""


@dataclass(frozen=True, slots=True)
class TilesHeld:
    """A private array of matrices: the address of the first tile. `type` is that of tiles, with wider components
    where all matrices are factors of products that sum in these (`MatrixUses.is_widened_array`)."""

    type: CoopMatrix
    size: int
    pointer: Val


@LOWERINGS.of(PrivateArray)
def private_array(code: CpuCode, op: PrivateArray) -> None:
    """Take memory for an array."""
    type = op.result.type
    assert isinstance(type, PrivateArrayType)
    if isinstance(type.element, CoopMatrix):
        element = type.element
        if plan_of(code.function).is_widened_array(op.result):
            element = replace(element, component=F32)
        code.set(op.result, TilesHeld(element, type.size, code.take(type.size * tile_bytes(element))))
    else:
        new_array(code, op)


@LOWERINGS.of(PrivateLoad, giving=CoopMatrix)
def load_matrix(code: CpuCode, op: PrivateLoad) -> None:
    """The matrix of an index: where it lies, or a copy if the array may change before it is used."""
    tile = _tile(code, op)
    if plan_of(code.function).may_stay_in_array(op.result):
        code.set(op.result, tile)
    elif in_registers(code, tile.type):
        code.set(op.result, loaded(code, tile))
    else:
        code.set(op.result, to_tile(code, tile, new_tile(code, tile.type)))


@LOWERINGS.of(PrivateStore)
def private_store(code: CpuCode, op: PrivateStore) -> None:
    """Replace an element of an array."""
    if isinstance(op.value.type, CoopMatrix):
        _store_matrix(code, op)
    else:
        store_number(code, op)


def _store_matrix(code: CpuCode, op: PrivateStore) -> None:
    """Replace a matrix of an array, where not all are active the components that those who are hold."""
    tile, mask, m = _tile(code, op), code.mask, operand(code, op.value)
    if mask is None or tile.type.of_work_group:
        to_tile(code, m, tile)
    else:
        move_components(code, to_tile(code, m), tile, mask)


def _tile(code: CpuCode, op: PrivateLoad | PrivateStore) -> InMemory:
    """The tile of an index, which all active work-items who hold the matrices share."""
    assert isinstance(op.array.type, PrivateArrayType) and isinstance(op.array.type.element, CoopMatrix)
    if op.array.type.element.of_work_group:
        together(code, op)
    held: TilesHeld = code.env[op.array]
    index = checked_index(code, op, held.size)
    (number,) = code.agreed(op, "index", index)
    at = code.w.at(held.pointer, code.w.mul(number, tile_bytes(held.type)))
    return InMemory(held.type, at, owned=False)


@LOWERINGS.of(Undef, giving=CoopMatrix)
def undefined_matrix(code: CpuCode, op: Undef) -> None:
    """Lower an undefined matrix: to zeros, as in the interpreter."""
    type = op.result.type
    assert isinstance(type, CoopMatrix)
    code.set(op.result, Splat(type, zero_parts(type, 1)))
