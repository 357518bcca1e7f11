"""The products of matrices that warpgroups compute: types, sizes, and which layouts in shared memory they take."""

from __future__ import annotations

from girih.ir.types import BF16, F8E4M3, F8E5M2, F16, F32, I8, I32, CoopMatrix, Number
from girih.ops.tile.coopmatrix import CooperativeMatrixMulAdd
from girih.tile.form import SharedTile
from girih.tile.program import NoTileProgram

_EIGHT_BIT = (F8E4M3, F8E5M2)
_HINT = "rows are a multiple of 64, columns of 8, and the depth of 32 bytes"


def sums_of(left: Number, right: Number, permissions: frozenset[str]) -> Number | None:
    """The type of sums of products of two types; None where no instruction has them (PTX ISA, "wgmma.mma_async")."""
    if left == right and left in (F16, BF16):
        return F32
    if left in _EIGHT_BIT and right in _EIGHT_BIT:
        return F32
    if left == right == I8:
        return I32
    return F32 if left == right == F32 and "tf32" in permissions else None


def check_product(op: CooperativeMatrixMulAdd, permissions: frozenset[str]) -> None:
    """Raise `NoTileProgram` for a product of types or sizes that no instruction of warpgroups has."""
    a, b, c, d = (v.type for v in (op.a, op.b, op.c, op.result))
    assert isinstance(a, CoopMatrix) and isinstance(b, CoopMatrix)
    assert isinstance(c, CoopMatrix) and isinstance(d, CoopMatrix)
    sums = sums_of(a.component, b.component, permissions)
    if sums is None:
        raise NoTileProgram(f"warpgroups do not multiply {a.component} by {b.component}", op.span)
    if not c.component == d.component == sums:
        raise NoTileProgram(f"sums of {a.component} are {sums}, not {c.component} and {d.component}", op.span)
    if a.rows % 64 or b.columns % 8 or a.columns * a.component.size % 32:
        raise NoTileProgram(f"a product of {a.rows}x{a.columns} by {b.rows}x{b.columns} is no whole number of steps",
                            op.span, _HINT)  # fmt: skip
    if a.component in _EIGHT_BIT and a.columns > MOST_PROMOTED:
        what = f"sums of {a.columns} products of {a.component} at a time would have few bits"
        raise NoTileProgram(what, op.span, f"take up to {MOST_PROMOTED} summands at a time")


MOST_PROMOTED = 128
"""The depth up to which products of 8-bit floats are summed by the instruction: further sums are in f32.

The instruction keeps fewer bits of a sum than f32 has (CUTLASS, "fp8_accumulation"; not said in the PTX ISA).
"""


def is_promoted(op: CooperativeMatrixMulAdd) -> bool:
    """Whether a product is added to the sums so far by other instructions."""
    return isinstance(op.a.type, CoopMatrix) and op.a.type.component in _EIGHT_BIT


def takes_major(tile: SharedTile, *, left: bool) -> bool:
    """Whether products take a factor as its tile lies: 16-bit types along any mode, others along the depth only."""
    return tile.component in (F16, BF16) or tile.by_rows == left
