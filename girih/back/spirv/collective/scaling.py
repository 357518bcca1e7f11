"""alpha sums + beta old, for matrices of sums: each product and each sum is rounded once, as of single numbers."""

from __future__ import annotations

from girih.back.llvm.emit.text import Val
from girih.back.llvm.lower.one_lane.linalg.target import Parts, ScaledTarget
from girih.back.spirv.matrix.code import MatrixCode, component_of


def scaled(code: MatrixCode, target: ScaledTarget, sums: Val, old: Val | None) -> Val:
    """The new numbers of a tile, of which the target had `old` before; None where it is not read."""
    found = _times(code, target, target.alpha, sums)
    if old is None:
        return found
    floating = "f" if target.numbers.compute.family == "floating" else ""
    return code.node("matrix_binary", (found, _times(code, target, target.beta, old)), sums.type, (f"{floating}add",))


def _times(code: MatrixCode, target: ScaledTarget, factor: Parts | None, matrix: Val) -> Val:
    if factor is None:
        return matrix
    type = target.numbers.compute
    operation = "fmul" if type.family == "floating" else "mul"
    return code.node("matrix_scale", (matrix, component_of(code, type, factor[0])), matrix.type, (operation,))
