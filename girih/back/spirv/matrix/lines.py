"""The lines of neighbours in memory that loads and stores of matrices go by, and where they begin (VUID 08986)."""

from __future__ import annotations

from girih.back.spirv.matrix.multiples import Multiples, power_of_two
from girih.back.spirv.matrix.operations import Order
from girih.ir.types import CoopMatrix, MemRef
from girih.ops.tile.coopmatrix import CooperativeMatrixLoad, CooperativeMatrixStore

TileAccess = CooperativeMatrixLoad | CooperativeMatrixStore
"""The instructions that access a tile of a memref, none of whose updates are atomic."""

ALIGNMENT = 16
"""The bytes to which long rows or columns are aligned that are loaded and stored as wholes."""


def wanted_alignment(type: CoopMatrix, order: Order) -> int:
    """The bytes at multiples of which the lines of a matrix begin that is loaded or stored as a whole."""
    line = type.columns if order == "row" else type.rows
    return min(ALIGNMENT, 1 << (line * type.component.size).bit_length() - 1)


def is_aligned(multiples: Multiples, op: TileAccess) -> bool:
    """Whether it is known before the kernel runs that one instruction may access the lines of a tile."""
    memory, type = op.memory.type, (op.result if isinstance(op, CooperativeMatrixLoad) else op.matrix).type
    assert isinstance(memory, MemRef) and isinstance(type, CoopMatrix)
    known = multiples.memref(op.memory)
    turn = -1 if op.transpose else 1
    strides, told = known.strides[::turn], memory.strides[::turn]
    if 1 not in told:
        return False
    order: Order = "row" if told[1] == 1 else "column"
    size = power_of_two(type.component.size)
    places = (multiples.of(place) * stride for place, stride in zip((op.row, op.column)[::turn], strides, strict=True))
    distance = strides[0] if order == "row" else strides[1]
    return min(known.begin, distance * size, *(place * size for place in places)) >= wanted_alignment(type, order)
