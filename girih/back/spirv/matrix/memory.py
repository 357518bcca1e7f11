"""Loads and stores of matrices of the device (`girih.ops.tile.coopmatrix`).

A tile whose rows, or columns, begin at multiples of 16 bytes and that is all there is one instruction (KHR); Vulkan
allows that instruction for no other tile. Any other one goes element by element: a function of each element finds its
place, and leaves out what lies outside. Where it is not known which way is right, the shader asks, and a remark says
so (`lines`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.emit.text import Operand, Val, integer, zero
from girih.back.llvm.lower.lowerings import Lowerings
from girih.back.llvm.lower.tiles.bounds import TileBounds
from girih.back.llvm.numbers.values import memory_type, register
from girih.back.spirv.code.memory import MemoryKind, ShaderMemory
from girih.back.spirv.matrix.code import (
    MatrixCode,
    bits_of,
    component_from,
    matrix_of,
    matrix_type_of,
    matrix_word,
    per_element,
)
from girih.back.spirv.matrix.lines import ALIGNMENT, TileAccess, is_aligned, wanted_alignment
from girih.back.spirv.matrix.operations import Order
from girih.back.spirv.matrix.tile import checked_tile
from girih.back.spirv.matrix.values import splat
from girih.facts.remarks import uneven_lines
from girih.ir.core import Value
from girih.ir.types import F16, CoopMatrix, Number
from girih.lazy_dataclass import dataclass
from girih.ops.tile.coopmatrix import CooperativeMatrixLoad, CooperativeMatrixStore

LOWERINGS = Lowerings[MatrixCode]()
"""The lowerings of this file."""

MOST_STRIDE = 2**31 - 1
"""Strides of loads and stores as wholes have 32 bits."""


@dataclass(frozen=True, slots=True)
class MatrixPlace:
    """The first element of a matrix in memory that is seen as elements of `type`, and its distance in bytes.

    `element` is what nodes take: the number of the element, or its address. `bytes` counts from the begin of the
    memory, or is the address, too.
    """

    memory: ShaderMemory
    type: str
    element: Val
    bytes: Val
    unit: int
    """The bytes of an element where places are numbers of elements; where they are addresses, a step has them all."""

    @property
    def scale(self) -> int:
        """By how much a place grows from one element to the next."""
        return self.unit if self.memory.kind is MemoryKind.ADDRESS else 1


def seen_as(type: Number) -> str:
    """The type of the elements that memory is seen as, for matrices of components of a type."""
    return "half" if type == F16 else memory_type(type)


def matrix_place(code: MatrixCode, pointer: Val, distance: Val, type: str, unit: int, *, written: bool) -> MatrixPlace:
    """The place some bytes behind an address, in memory that is seen as elements of a type of `unit` bytes.

    It lies at a multiple of `unit`.
    """
    w = code.recorder
    moved = w.at(pointer, distance)
    place = w.place(moved)
    memory, element = w.where(moved, type)
    memory.written = memory.written or written
    memory.aligned = max(memory.aligned, ALIGNMENT)
    return MatrixPlace(memory, type, element, place.offset if place.address is None else element, unit)


@dataclass(frozen=True, slots=True)
class MatrixTile:
    """A tile of a memref: where component (0, 0) lies, the steps from row to row and column to column in elements.

    Rows and columns in `ranges` are accessed, each with its first and its end; None stands for all. `whole` is the
    condition that nothing is left out, None where nothing ever is.
    """

    type: CoopMatrix
    name: str
    place: MatrixPlace
    steps: tuple[Operand, Operand]
    ranges: tuple[tuple[Val, Val] | None, tuple[Val, Val] | None]
    whole: Val | None

    @property
    def order(self) -> Order | None:
        """Along which lines the components are neighbours; None where they are none."""
        return "row" if _is_one(self.steps[1]) else "column" if _is_one(self.steps[0]) else None

    @property
    def stride(self) -> Operand:
        """The distance of lines whose components are neighbours."""
        return self.steps[0] if self.order == "row" else self.steps[1]


def _is_one(step: Operand) -> bool:
    return step == 1 or (isinstance(step, Val) and step.literal == 1)


def _tile(
    code: MatrixCode, op: TileAccess, memory: Value, place: tuple[Value, Value], type: CoopMatrix, *, written: bool
) -> MatrixTile:
    """The tile that an instruction accesses, checked."""
    bounds: TileBounds = checked_tile(code, op, memory, place, type)
    size = type.component.size
    stored = seen_as(type.component)
    first = code.w.mul(bounds.first(), size)
    found = matrix_place(code, bounds.memref.pointer, first, stored, size, written=written)
    whole = bounds.all_there()
    ranges = [
        None if whole is None or not checked else range
        for checked, range in zip(bounds.checked, bounds.wanted(), strict=True)
    ]
    return MatrixTile(
        type, bounds.memref.name, found, (bounds.strides[0], bounds.strides[1]), (ranges[0], ranges[1]), whole
    )


def _is_suitable(code: MatrixCode, op: TileAccess, tile: MatrixTile) -> Val:
    """Whether one instruction accesses the tile."""
    w = code.w
    if tile.order is None:
        return integer(0, "i1")
    suitable = _begins_right(code, op, tile, tile.order)
    if tile.place.memory.kind is MemoryKind.ADDRESS:
        # The lines of a tile in a buffer, or in shared memory, lie closer: those have less than 2^32 bytes.
        suitable = w.both(suitable, w.compare("ule", tile.stride, MOST_STRIDE))
    suitable = w.both(suitable, tile.whole)
    return integer(1, "i1") if suitable is None else suitable


def _begins_right(code: MatrixCode, op: TileAccess, tile: MatrixTile, order: Order) -> Val | None:
    """Whether all lines of the tile begin at multiples of 16 bytes; None where that is known."""
    if is_aligned(code.multiples, op):
        return None
    w = code.w
    distance = w.mul(tile.stride, tile.type.component.size)
    misplaced = w.binary("and", w.binary("or", tile.place.bytes, distance), wanted_alignment(tile.type, order) - 1)
    aligned = w.compare("eq", misplaced, 0)
    if aligned.literal is None:
        code.remarks.note(uneven_lines([tile.name]), op.span)
    return aligned


def _stride(code: MatrixCode, tile: MatrixTile) -> Val:
    return code.w.convert("trunc", code.w.value(tile.stride), "i32")


def _chosen(
    code: MatrixCode, suitable: Val, whole: Callable[[], Sequence[Val]], elements: Callable[[], Sequence[Val]]
) -> Sequence[Val]:
    """The values of one way or the other; of one alone where it is known which."""
    if suitable.literal is not None:
        return whole() if suitable.literal else elements()
    return code.w.either(suitable, whole, elements)


@LOWERINGS.of(CooperativeMatrixLoad)
def load(code: MatrixCode, op: CooperativeMatrixLoad) -> None:
    """The tile of a memref; elements outside that a check leaves out are zero."""
    type = matrix_type_of(op.result)
    tile = _tile(code, op, op.memory, (op.row, op.column), type, written=False)

    def whole() -> list[Val]:
        place = tile.place
        details = (place.memory, place.type, tile.order)
        operands = (place.element, _stride(code, tile))
        return [code.recorder.node("matrix_load", operands, matrix_word(type), details)]

    def elements() -> list[Val]:
        nothing = splat(code, type, (zero(register(type.component)),))
        return [by_element(code, "load_element", tile, nothing, _loaded)]

    code.set(op.result, _chosen(code, _is_suitable(code, op, tile), whole, elements)[0])


@LOWERINGS.of(CooperativeMatrixStore)
def store(code: MatrixCode, op: CooperativeMatrixStore) -> None:
    """Write the tile to the memref, but for elements outside that a check leaves out."""
    type, matrix = matrix_type_of(op.matrix), matrix_of(code, op.matrix)
    tile = _tile(code, op, op.memory, (op.row, op.column), type, written=True)

    def whole() -> list[Val]:
        place = tile.place
        details = (place.memory, place.type, tile.order)
        code.recorder.node("matrix_store", (matrix, place.element, _stride(code, tile)), None, details)
        return []

    def elements() -> list[Val]:
        by_element(code, "store_element", tile, matrix, _stored)
        return []

    _chosen(code, _is_suitable(code, op, tile), whole, elements)


# --- element by element ------------------------------------------------------------------------

AtElement = Callable[[MatrixCode, MatrixTile, Val, Val], Val]
"""What is done with a component and the place of its element; it gives the component that the matrix has then."""


def _loaded(code: MatrixCode, tile: MatrixTile, component: Val, place: Val) -> Val:
    memory, type = tile.place.memory, tile.place.type
    return component_from(code, tile.type.component, code.recorder.node("load", (place,), type, (memory, type)))


def _stored(code: MatrixCode, tile: MatrixTile, component: Val, place: Val) -> Val:
    memory, type = tile.place.memory, tile.place.type
    stored = bits_of(code, component, type)
    code.recorder.node("store", (stored, place), None, (memory, type))
    return component


def by_element(code: MatrixCode, name: str, tile: MatrixTile, matrix: Val, access: AtElement) -> Val:
    """A matrix whose components a function of each element has accessed in memory, those in the tile's ranges."""
    w = code.w
    numbers: list[tuple[str, Operand]] = [
        ("place", tile.place.element), ("row_step", tile.steps[0]), ("column_step", tile.steps[1]),
    ]  # fmt: skip
    for mode, range in zip(("row", "column"), tile.ranges, strict=True):
        if range is not None:
            numbers += [(f"first_{mode}", range[0]), (f"end_{mode}", range[1])]
    more = [(word, one) for word, one in numbers if isinstance(one, Val) and one.literal is None]

    def call(row: Val, column: Val, component: Val, given: tuple[Val, ...]) -> Val:
        known = dict(zip((name for name, _ in more), given, strict=True))
        held = {name: known.get(name) or w.value(one) for name, one in numbers}
        place, wanted = held["place"], integer(1, "i1")
        for name, number in (("row", row), ("column", column)):
            at = w.convert("zext", number, "i64")
            place = w.add(place, w.mul(at, w.mul(held[f"{name}_step"], tile.place.scale)))
            if f"first_{name}" in held:
                wanted = w.binary("and", wanted, w.compare("sge", at, held[f"first_{name}"]))
                wanted = w.binary("and", wanted, w.compare("slt", at, held[f"end_{name}"]))
        if wanted.literal == 1:
            return access(code, tile, component, place)
        return w.either(wanted, lambda: [access(code, tile, component, place)], lambda: [component])[0]

    return per_element(code, name, matrix, more, call)
