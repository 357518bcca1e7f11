"""Tensor copies by the engine that GPUs have for them from sm_90 on (PTX ISA "cp.async.bulk.tensor")."""

from __future__ import annotations

from math import prod

from girih.addressing.tensor_map.code_ptx import OWN_MEMORY, opcode_of
from girih.back.llvm.emit.text import Val, integer
from girih.back.llvm.lower.launch.descriptor import MapField
from girih.back.llvm.lower.one_lane.tensor_map.operands import CopyOperands
from girih.back.llvm.nvptx.machine.code import SHARED, CudaCode
from girih.back.llvm.nvptx.machine.copies import MOST_BYTES, CopiesUnderWay
from girih.back.llvm.nvptx.machine.kernel import MAP_BYTES
from girih.ir.types import MemRef
from girih.ops.tile.tensor_map import (
    CopyMode,
    TensorCopy,
    TensorCopyLoad,
    TensorCopyLoadIm2col,
    TensorCopyReduce,
)

FOUR = 4
"""The rows of a copy that names them."""


def start(code: CudaCode, op: TensorCopy, given: CopyOperands, *, ready: bool) -> None:
    """Start a copy, whose operands were checked.

    `ready` says whether a barrier keeps it apart from all that was written before.
    """
    under_way = code.copies
    assert under_way is not None, "a kernel with copies has the state of the engine"
    loads = isinstance(op, TensorCopyLoad | TensorCopyLoadIm2col)
    room = _bytes(op) if loads else 0
    if under_way.expected + room > MOST_BYTES:
        code.barrier()
        ready = True
    if not ready:
        under_way.show()
        code.writer.barrier()
    with under_way.by_one():
        (_load if loads else _store)(code, op, given, under_way)
    # What threads wrote was seen before, and the next copy needs no barrier for this one.
    code.writer.together()
    under_way.expected += room
    under_way.loads |= loads
    under_way.stores |= not loads
    code.encoded.add(op.map)


def _bytes(op: TensorCopy) -> int:
    """The bytes of local memory behind a copy, which its box does not exceed."""
    type = op.local.type
    assert isinstance(type, MemRef)
    return type.element.size * prod(n or 0 for n in type.shape)


def _load(code: CudaCode, op: TensorCopy, given: CopyOperands, under_way: CopiesUnderWay) -> None:
    """Write a load, and how many bytes it brings: the packed payload, with fills, without gaps."""
    w = code.w
    rows = integer(FOUR) if op.mode.by_rows else _field(code, given, MapField.ROWS)
    size = w.convert("trunc", w.mul(rows, _field(code, given, MapField.ROW_BYTES)), "i32")
    expect = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$0], $1;"
    under_way.line(expect, "r,r", under_way.barrier, size)
    local, tensor = _shared_address(code, given.local), _map(code, given)
    coordinates = [w.convert("trunc", c, "i32") for c in given.coordinates]
    offsets = [w.convert("trunc", o, "i16") for o in given.offsets]
    numbered = [f"${k}" for k in range(3 + len(coordinates) + len(offsets))]
    box, map, mbarrier, *rest = numbered
    moved = rest[len(coordinates) :]
    text = f"{_opcode(code, op, given)} [{box}], [{map}, {{{', '.join(rest[: len(coordinates)])}}}], [{mbarrier}]"
    text += f", {{{', '.join(moved)}}};" if moved else ";"
    constraints = ",".join(["r", "l", "r", *["r"] * len(coordinates), *["h"] * len(offsets)])
    under_way.line(text, constraints, local, tensor, under_way.barrier, *coordinates, *offsets)


def _store(code: CudaCode, op: TensorCopy, given: CopyOperands, under_way: CopiesUnderWay) -> None:
    """Write a store or a reduction."""
    w = code.w
    coordinates = [w.convert("trunc", c, "i32") for c in given.coordinates]
    numbered = ", ".join(f"${k}" for k in range(2, 2 + len(coordinates)))
    text = f"{_opcode(code, op, given)} [$1, {{{numbered}}}], [$0];"
    constraints = ",".join(["r", "l", *["r"] * len(coordinates)])
    under_way.line(text, constraints, _shared_address(code, given.local), _map(code, given), *coordinates)


def _opcode(code: CudaCode, op: TensorCopy, given: CopyOperands) -> str:
    name = "load" if isinstance(op, TensorCopyLoad | TensorCopyLoadIm2col) else "store"
    if isinstance(op, TensorCopyReduce):
        name = f"reduce.{op.reduction.value}"
    elif op.mode in (CopyMode.GATHER4, CopyMode.SCATTER4):
        name = op.mode.value
    type = given.held.type
    return opcode_of(type.rank, type.mode.value, name, own_memory=code.architecture.capability >= (OWN_MEMORY, 0))


def _field(code: CudaCode, given: CopyOperands, number: int) -> Val:
    return code.w.load("i64", code.w.at(given.held.descriptor, 8 * number), 8)


def _map(code: CudaCode, given: CopyOperands) -> Val:
    """The address of the map as the engine knows it, which lies in front of the descriptor."""
    return code.w.at(given.held.descriptor, -MAP_BYTES)


def _shared_address(code: CudaCode, pointer: Val) -> Val:
    """An address in local memory as instructions for shared memory take it."""
    w = code.w
    here = pointer if pointer.type == SHARED else w.convert("addrspacecast", pointer, SHARED)
    return w.convert("ptrtoint", here, "i32")
