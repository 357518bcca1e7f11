"""The routines that make tensor copies on the CPU: a function in LLVM IR for each kind, written where it is needed.

A routine is `void @name(ptr descriptor, ptr operands, ptr local)`; the descriptor is
`girih.back.llvm.lower.launch.descriptor`. It goes through the rows of the box and moves each in pieces of 16 bytes,
which swizzles keep together. Whatever the operands are, no byte outside the tensor is touched.
"""

from __future__ import annotations

from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.tensor_map.loads import LoadRows
from girih.back.llvm.cpu.tensor_map.reductions import ReduceRows
from girih.back.llvm.cpu.tensor_map.rows import RowCopy, each_gathered_row, each_pixel, each_tiled_row
from girih.back.llvm.cpu.tensor_map.stores import StoreRows
from girih.back.llvm.emit.text import Val
from girih.back.llvm.emit.writer import Writer
from girih.ir.types import I8, Number, TensorMapType
from girih.ops.tile.tensor_map import (
    CopyMode,
    TensorCopy,
    TensorCopyReduce,
    TensorCopyStore,
)


def routine(code: CpuCode, op: TensorCopy) -> str:
    """The name of the routine of a copy, which is written if the module does not have it."""
    type = op.map.type
    assert isinstance(type, TensorMapType)
    walk = "rows" if op.mode.by_rows else "im2col" if op.mode is CopyMode.IM2COL else "tiled"
    name = f"girih.copy.{_kind(op, type.element)}.{walk}"
    if name in code.module.helpers:
        return name
    code.module.helpers.add(name)
    header = (
        f"define internal void @{name}(ptr noalias readonly %descriptor, ptr noalias readonly %operands, ptr %local) "
        'noinline nounwind "prefer-vector-width"="512"'
    )
    w = Writer(code.module, header)
    rows = _rows(code, op, w, type.element)
    {"rows": each_gathered_row, "im2col": each_pixel, "tiled": each_tiled_row}[walk](rows)
    w.ret()
    w.finish()
    return name


def _kind(op: TensorCopy, element: Number) -> str:
    """What tells the routines of loads, stores and reductions apart; most do not depend on the element type."""
    if isinstance(op, TensorCopyReduce):
        return f"reduce.{op.reduction.value}.{element}"
    if isinstance(op, TensorCopyStore):
        return "store.packed" if element == I8 else "store"
    return f"load.{element}" if element in LoadRows.SPECIAL else "load"


def _rows(code: CpuCode, op: TensorCopy, w: Writer, element: Number) -> RowCopy:
    parameters = Val("%descriptor", "ptr"), Val("%operands", "ptr"), Val("%local", "ptr")
    if isinstance(op, TensorCopyReduce):
        return ReduceRows(w, *parameters, element, code, op.reduction)
    return StoreRows(w, *parameters, element) if isinstance(op, TensorCopyStore) else LoadRows(w, *parameters, element)
