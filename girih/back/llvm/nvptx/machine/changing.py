"""What may change in memory while a kernel runs: all else may be read early, and past the caches that are coherent."""

from __future__ import annotations

from girih.analysis.effects import roots_of, written_parameters
from girih.ir.core import Function, Value
from girih.ops.tile.coopmatrix import CooperativeMatrixAtomicLoad
from girih.ops.tile.memory import AtomicLoad


def changing_parameters(function: Function) -> set[Value]:
    """The parameters whose elements may change while the kernel runs: it writes them, or reads them atomically."""
    roots = roots_of(function)
    loads = [op for op in function.walk() if isinstance(op, AtomicLoad | CooperativeMatrixAtomicLoad)]
    atomic = {roots[value] for op in loads for value in op.operands if value in roots}
    return written_parameters(function) | atomic
