"""Products of bf16 matrices by pairs: those of AVX-512's dot product, and panels of pairs for the tiles of AMX.

Two steps of the depth become one: neighbours along the depth lie side by side in 32 bits, which is how one factor is
laid out in the workspace, and how the other one often lies in memory already. A first factor that a kernel computes,
as the weights of attention, goes straight into panels (`cpu/amx/packing.py`), and is rounded there. Where the processor
has an instruction for that, subnormal numbers become zeros, as which tiles take them anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.back.llvm.cpu.amx.blocks import PanelPlace, panel_bytes
from girih.back.llvm.cpu.amx.packing import WIDTH
from girih.back.llvm.cpu.amx.tiles import LINE_BYTES, LINES, UNIT_BYTES, UNITS, depth_of
from girih.back.llvm.cpu.machine.code import CpuCode
from girih.back.llvm.cpu.matrix.fused_pass import Walk, to_tile
from girih.back.llvm.cpu.matrix.states import (
    Deferred,
    InMemory,
    Matrix,
    MatrixPiece,
    Reference,
    Unloaded,
    known,
    line_bytes,
    new_tile,
    same_numbers,
    write_tile,
)
from girih.back.llvm.cpu.matrix.transpose import move_in
from girih.back.llvm.emit.text import Operand, Val, integer, lanes, wide
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.floats import pattern
from girih.back.llvm.numbers.rounding import to_memory
from girih.ir.types import BF16, F32, I32, CoopMatrix, Number, Use
from girih.lazy_dataclass import dataclass

_BYTES = BF16.size

_PAIR = 2
"""The numbers of a unit."""

_UNITS_AT_A_TIME = 2
"""How many units of a line stand in a row without a loop."""

_LINE = UNIT_BYTES * WIDTH
"""The bytes from a unit of a panel to the next one."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor in memory; `imaginary` is the distance of the imaginary parts. All distances are in bytes.

    Where rows lie in panels, `panel_stride` is how far a row at the beginning of one is from the first, for each row.
    """

    type: CoopMatrix
    pointer: Val
    row_stride: Operand
    column_stride: Operand
    imaginary: int = 0
    panel_stride: int | None = None


def suits(code: CpuCode, a: Matrix, b: Matrix, total: Number) -> bool:
    """Whether a product can be computed from pairs."""
    rows, depth = a.type.shape
    return (
        code.target.dot_bf16
        and a.type.component == b.type.component == BF16
        and total == F32
        and depth % 2 == 0
        and (rows % 16 == 0 or rows == 8)
    )


def vectors(code: CpuCode, a: Matrix, read: list[Matrix]) -> Factor:
    """`a` as pairs, column by column. What is read until the product is done is added to `read`."""
    found = _found(code, a)
    rows, depth = a.type.shape
    tile = new_tile(code, CoopMatrix(I32, rows, depth // 2, Use.A))
    if isinstance(found, Reference) and not found.contiguous and known(found.column_stride) == _BYTES:
        read.append(a)
        move_in(code, found.pointer, found.row_stride, 2 * _BYTES, tile)
    else:
        _pack(code, a, tile)
    return Factor(tile.type, tile.pointer, I32.size, line_bytes(tile.type))


def scalars(code: CpuCode, b: Matrix, read: list[Matrix]) -> Factor:
    """`b` as pairs, wherever they are. What is read until the product is done is added to `read`."""
    found = _found(code, b)
    depth, columns = b.type.shape
    pairs = CoopMatrix(I32, depth // 2, columns, Use.B)
    if isinstance(found, Reference):
        if known(found.row_stride) == _BYTES:
            read.append(b)
            return Factor(pairs, found.pointer, 2 * _BYTES, found.column_stride)
        if known(found.column_stride) == _BYTES and columns > 1:
            read.append(b)
            across = CoopMatrix(BF16, columns, depth, Use.A)
            turned = Reference(across, found.pointer, found.column_stride, found.row_stride)
            tile = new_tile(code, CoopMatrix(I32, columns, depth // 2, Use.A))
            _pack(code, turned, tile)
            return Factor(pairs, tile.pointer, line_bytes(tile.type), I32.size)
    if isinstance(found, InMemory):
        read.append(b)
        return Factor(pairs, found.pointer, 2 * _BYTES, line_bytes(found.type))
    held = to_tile(code, b)
    return Factor(pairs, held.pointer, 2 * _BYTES, line_bytes(held.type))


def _found(code: CpuCode, m: Matrix) -> Matrix:
    held = same_numbers(m)
    return held.found(code, lines=False) if isinstance(held, Unloaded) else held


def _pack(code: CpuCode, m: Matrix, tile: InMemory) -> None:
    """Neighbouring columns, their components alternating."""
    w = code.w
    walk = Walk(code, m)

    def line(at: MatrixPiece, turn: int, values: Sequence[Val]) -> Sequence[Val]:
        pair = []
        for k in range(2):
            place = MatrixPiece(w.add(w.mul(w.value(at.line), 2), k), at.start, at.count)
            pair.append(to_memory(w, code.target.features, BF16, walk.piece(m, place)[0]))
        count = at.count
        mixed = w.shuffle(pair[0], pair[1], [k // 2 + (k % 2) * count for k in range(2 * count)])
        write_tile(code, tile, at, (w.convert("bitcast", mixed, f"<{count} x i32>"),))
        return values

    def piece(start: Operand, count: int) -> None:
        walk.lines(tile.type, line, start, count, (), 2)

    walk.starts(m.type, piece)
    walk.close()


def multiply(code: CpuCode, a: Sequence[Val], b: Val, c: Sequence[Val]) -> list[Val]:
    """The sums c plus the products of pairs: vectors of pairs times one pair."""
    w = code.w
    found = []
    for x, total in zip(a, c, strict=True):
        count = lanes(total.type)
        pairs = f"<{2 * count} x bfloat>"
        y = w.convert("bitcast", w.splat(b, count), pairs)
        name = f"llvm.x86.avx512bf16.dpbf16ps.{32 * count}"
        found.append(w.intrinsic(name, total.type, total, w.convert("bitcast", x, pairs), y))
    return found


# --- panels for tiles ---------------------------------------------------------------------------


def panels(code: CpuCode, m: Matrix) -> PanelPlace | None:
    """The panels of a factor of bf16 that is still to be computed, which counts as read; None for any other one."""
    rows, depth = m.type.shape
    if m.type.component != BF16 or depth % depth_of(BF16) or not isinstance(same_numbers(m), Deferred):
        return None
    place = code.take(-(-rows // WIDTH) * panel_bytes(BF16, depth))
    walk = Walk(code, m)
    source: Matrix = m
    rounds = False
    if code.target.rounds_bf16 and _only_rounds(m) and walk.kept(m) is None:
        source, rounds = m.children[0], True
    w = code.w

    def units(at: MatrixPiece, turn: int, values: Sequence[Val]) -> Sequence[Val]:
        first = w.mul(w.value(at.line), _PAIR)
        pair = [walk.piece(source, MatrixPiece(w.add(first, k), at.start, at.count))[0] for k in range(_PAIR)]
        for row in range(0, at.count, LINES):
            even, odd = (w.part(held, row, LINES) for held in pair)
            whole = _rounded_units(w, even, odd) if rounds else _units(w, even, odd)
            to = w.at(_place_in(w, place, w.add(w.value(at.start), row), depth), w.mul(w.value(at.line), _LINE))
            w.store(whole, to, LINE_BYTES)
        return values

    def piece(start: Operand, count: int) -> None:
        walk.lines(CoopMatrix(I32, rows, depth // _PAIR, m.type.use), units, start, count, (), _UNITS_AT_A_TIME)

    walk.starts(m.type, piece)
    walk.close()
    return PanelPlace(place)


def _only_rounds(m: Matrix) -> bool:
    """Whether a matrix that is still to be computed is another one of f32, rounded."""
    return isinstance(m, Deferred) and m.held is None and m.casts and m.operands[0].type.component == F32


def _place_in(w: Writer, panels: Val, row: Val, depth: int) -> Val:
    """Where the first unit of 16 rows goes, from a row on."""
    panel = w.mul(w.binary("lshr", row, WIDTH.bit_length() - 1), panel_bytes(BF16, depth))
    return w.at(w.at(panels, panel), w.mul(w.binary("and", row, WIDTH - 1), UNIT_BYTES))


def _units(w: Writer, even: Val, odd: Val) -> Val:
    """Units of numbers that are exact in bf16."""
    like = wide("i32", UNITS)
    return w.binary("or", w.binary("lshr", pattern(w, even), integer(16, like)), pattern(w, odd))


def _rounded_units(w: Writer, even: Val, odd: Val) -> Val:
    """Units of floats, which an instruction rounds."""
    type = wide("bfloat", _PAIR * UNITS)
    both = w.intrinsic("llvm.x86.avx512bf16.cvtne2ps2bf16.512", type, odd, even)
    numbers = w.convert("bitcast", both, wide("i16", _PAIR * UNITS))
    turns = [UNITS * (k % _PAIR) + k // _PAIR for k in range(_PAIR * UNITS)]
    return w.convert("bitcast", w.shuffle(numbers, None, turns), wide("i32", UNITS))
