"""The tile of a memref that a load or store of a matrix accesses, checked."""

from __future__ import annotations

from girih.back.llvm.lower.access import check_null, shared_memref
from girih.back.llvm.lower.tiles.bounds import TileBounds
from girih.back.spirv.matrix.code import MatrixCode, together
from girih.facts import findings
from girih.ir.core import Value
from girih.ir.types import CoopMatrix
from girih.ops.tile.coopmatrix import MatrixAccess


def checked_tile(
    code: MatrixCode, op: MatrixAccess, memory: Value, place: tuple[Value, Value], type: CoopMatrix
) -> TileBounds:
    """The bounds of a tile; an element that is missing, and that no flag leaves out, is a finding."""
    together(code, op)
    memref = shared_memref(code, op, "memory", code.memref(memory))
    check_null(code, op, memref)
    numbers = zip(("row", "column"), place, strict=True)
    position = [code.agreed(op, name, code.index(value))[0] for name, value in numbers]
    tile = TileBounds(code, op, memref, position, type)
    bad = tile.outside() if code.checks else None
    if bad is not None and bad.literal != 0:
        missing = bad
        words = findings.outside(op, memref.name)

        def closely() -> None:
            where = tile.first_missing()
            code.check(op, missing, words, argument=memref.name, index=where, shape=memref.shape, by_lane=False)

        code.w.unlikely(missing, closely)
    return tile
