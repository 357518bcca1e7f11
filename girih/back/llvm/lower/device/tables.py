"""Memory that holds a constant (`girih.ops.device.tables`): a constant of the module."""

from __future__ import annotations

from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.code import KernelCode, memref_type
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.numbers.values import MemRefHeld, index
from girih.ops.device.tables import ConstantBytes

LOWERINGS = Lowerings[KernelCode]()
"""The lowerings of this file."""

ALIGNMENT = 16
"""What the beginning of a table is a multiple of, in bytes."""


@LOWERINGS.of(ConstantBytes)
def constant_bytes(code: KernelCode, op: ConstantBytes) -> None:
    """Lower a table to a constant of the module; tables of the same words are one."""
    listed = ", ".join(f"i32 {word}" for word in op.words)
    body = f"internal unnamed_addr constant [{len(op.words)} x i32] [{listed}], align {ALIGNMENT}"
    module = code.w.module
    known = {text.partition(" = ")[2]: name for name, text in module.globals.items()}
    name = known.get(body)
    if name is None:
        name = f"girih.table.{len(module.globals)}"
        module.globals[name] = f"@{name} = {body}"
    type, shape, pointer = memref_type(op.result), (4 * len(op.words),), Val(f"@{name}", "ptr")
    held = MemRefHeld(type, pointer, index(0), shape, (1,), op.result.name, ALIGNMENT, maybe_null=False)
    code.set(op.result, held)
