"""Matrix products by tiles that are loaded and stored through tensor layouts (001): what lies outside is 0, or dropped.

The result X = L R is the target or its transpose, whichever has rows of neighbours. Tiles that lie inside, and whose
lines begin at multiples of 16 bytes, are accessed without clamping and so that the device's compiler sees both.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.text import Operand, Val, integer, zero
from girih.back.llvm.lower.one_lane.linalg.dealing import deal
from girih.back.llvm.lower.one_lane.linalg.target import ScaledTarget
from girih.back.llvm.lower.tensor_values import LayoutHeld
from girih.back.llvm.numbers.addresses import Extent
from girih.back.llvm.numbers.casts import cast
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import index, memory_type, register, uniform
from girih.back.spirv.collective.lines import LineMatrix
from girih.back.spirv.collective.plan import TilePlan
from girih.back.spirv.collective.scaling import scaled
from girih.back.spirv.matrix.code import MatrixCode, component_of, matrix_word, register_of
from girih.back.spirv.matrix.lines import ALIGNMENT
from girih.back.spirv.matrix.memory import (
    MOST_STRIDE,
    MatrixPlace,
    MatrixTile,
    by_element,
    matrix_place,
    seen_as,
)
from girih.back.spirv.matrix.operations import view_type
from girih.back.spirv.matrix.tensor import layout_of
from girih.back.spirv.matrix.values import SIGNED, converted, splat
from girih.ir.types import I32, ClampMode, CoopMatrix, MatrixScope, TensorLayoutType
from girih.lazy_dataclass import dataclass

Corner = tuple[Operand, Operand]
"""The row and column at which a tile begins."""


@dataclass(frozen=True, slots=True)
class TensorMatrix:
    """A matrix in memory that layouts describe; `place` is where it begins."""

    lines: LineMatrix
    place: MatrixPlace

    @staticmethod
    def of(code: MatrixCode, lines: LineMatrix, *, written: bool = False) -> TensorMatrix:
        """A matrix of lines."""
        view = lines.matrix.view
        type = seen_as(view.element)
        return TensorMatrix(
            lines, matrix_place(code, view.pointer, integer(0), type, view.element.size, written=written)
        )

    def suits(self, code: MatrixCode) -> list[Val]:
        """The conditions on which layouts describe it, as far as they are not known to hold."""
        w, lines = code.w, self.lines
        conditions: list[Val] = []
        if lines.matrix.known.begin < ALIGNMENT:
            conditions.append(w.compare("eq", w.binary("and", self.place.bytes, ALIGNMENT - 1), 0))
        if not lines.surely_apart:
            apart = w.compare("sge", lines.distance, lines.length)
            conditions.append(w.binary("or", apart, w.compare("sle", lines.count, 1)))
        for number in (lines.count, lines.length, lines.distance):
            conditions.append(w.compare("ule", number, MOST_STRIDE))
        return [one for one in conditions if one.literal != 1]

    @property
    def _unit(self) -> int:
        """How many elements 16 bytes are."""
        return ALIGNMENT // self.lines.matrix.view.element.size

    @property
    def is_open(self) -> bool:
        """Whether it is asked when the kernel runs if lines begin at multiples of 16 bytes."""
        open = isinstance(self.lines.distance, Val) and self.lines.distance_multiple < self._unit
        return open or self.lines.matrix.known.begin < ALIGNMENT

    def is_even(self, code: MatrixCode) -> Val | None:
        """Whether all lines begin at multiples of 16 bytes; None where that is known."""
        if self.lines.distance_multiple >= self._unit:
            return None
        return code.w.compare("eq", code.w.binary("and", self.lines.distance, self._unit - 1), 0)

    def through(self, code: MatrixCode, corner: Corner, type: CoopMatrix, *, inside: bool) -> tuple[Val, ...]:
        """The layout, and for turned matrices the view, of a tile; lines of one `inside` are known to be even."""
        lines, turn = self.lines, -1 if self.lines.turned else 1
        distance: Operand = lines.distance
        if isinstance(lines.count, int) and lines.count <= 1:
            # There is no second line; but a stride that is less than a line is none that layouts may have.
            distance = lines.length
        if inside and isinstance(distance, Val):
            distance = code.w.binary("and", distance, -self._unit)
        held = LayoutHeld(
            TensorLayoutType(2, ClampMode.UNDEFINED if inside else ClampMode.CONSTANT),
            (1, 1),
            (_extent(lines.count), _extent(lines.length)),
            (_extent(distance), 1),
            (_extent(corner[::turn][0]), _extent(corner[::turn][1])),
            type.shape[::turn],
            uniform(I32, integer(0, "i32")),
        )
        layout = layout_of(code, held, self.place.memory.name)
        if not lines.turned:
            return (layout,)
        return layout, code.node("view_create", (), view_type(2, False, (1, 0)))

    def load(self, code: MatrixCode, corner: Corner, type: CoopMatrix, *, inside: bool) -> Val:
        """A tile; elements outside are 0."""
        nothing = splat(code, type, (zero(register(type.component)),))
        operands = (nothing, self.place.element, *self.through(code, corner, type, inside=inside))
        details = (self.place.memory, self.place.type, None)
        return code.recorder.node("matrix_load_tensor", operands, matrix_word(type), details)

    def store(self, code: MatrixCode, matrix: Val, corner: Corner, type: CoopMatrix, *, inside: bool) -> None:
        """Store a tile; elements outside are dropped."""
        operands = (matrix, self.place.element, *self.through(code, corner, type, inside=inside))
        code.recorder.node("matrix_store_tensor", operands, None, (self.place.memory, self.place.type))


def _extent(number: Operand) -> Extent:
    return number if isinstance(number, int) else index(number)


@dataclass(frozen=True, slots=True)
class TensorProduct:
    """The product of a left and a right factor, both in the orientation of the result."""

    code: MatrixCode
    target: ScaledTarget
    plan: TilePlan
    left: TensorMatrix
    right: TensorMatrix
    result: TensorMatrix

    @property
    def unknown(self) -> list[str]:
        """The matrices whose lines are not known to begin at multiples of 16 bytes, or elsewhere."""
        return [matrix.lines.matrix.view.name for matrix in (self.left, self.right, self.result) if matrix.is_open]

    @property
    def suits(self) -> Val:
        """Whether layouts describe all matrices."""
        found = integer(1, "i1")
        for matrix in (self.left, self.right, self.result):
            for condition in matrix.suits(self.code):
                found = self.code.w.binary("and", found, condition) if found.literal is None else condition
        return found

    def write(self) -> None:
        """Write the code of all tiles."""
        w, plan = self.code.w, self.plan
        rows, columns = self.result.lines.matrix.view.shape
        even = None
        for matrix in (self.left, self.right, self.result):
            even = w.both(even, matrix.is_even(self.code))
        if plan.scope is MatrixScope.SUBGROUP:
            counts = [_tiles(self.code, extent, size) for extent, size in ((columns, plan.columns), (rows, plan.rows))]
            deal(
                self.code,
                counts,
                lambda at: self._tile((w.mul(at[1], plan.rows), w.mul(at[0], plan.columns)), even),
                to_subgroups=True,
            )
            return
        self._along(
            columns,
            plan.columns,
            lambda column: self._along(rows, plan.rows, lambda row: self._tile((row, column), even)),
        )

    def _along(self, extent: Operand, size: int, body: Callable[[Operand], None]) -> None:
        """Write a loop over the begins of tiles along a mode; none where there is one tile."""
        if isinstance(extent, int) and 0 < extent <= size:
            body(0)
            return
        with self.code.w.loop(0, extent, size) as loop:
            body(loop.index)

    # --- a tile --------------------------------------------------------------------------

    def _tile(self, corner: Corner, even: Val | None) -> None:
        """Compute a tile: clamped at the edges, and where lines are not even."""
        w, plan = self.code.w, self.plan
        inside = even
        for first, size, extent in zip(
            corner, (plan.rows, plan.columns), self.result.lines.matrix.view.shape, strict=True
        ):
            inside = w.both(inside, self._ends_inside(first, size, extent))

        def computed(*, inside: bool) -> list[Val]:
            self._finish(self._sums(corner, inside=inside), corner, inside=inside)
            return []

        if inside is None or inside.literal is not None:
            computed(inside=inside is None or inside.literal == 1)
            return
        w.either(inside, lambda: computed(inside=True), lambda: computed(inside=False))

    def _ends_inside(self, first: Operand, size: int, extent: Operand) -> Val | None:
        """Whether a tile ends inside; None if it does."""
        if isinstance(extent, int) and extent % size == 0:
            return None
        return self.code.w.compare("sle", self.code.w.add(first, size), extent)

    def _sums(self, corner: Corner, *, inside: bool) -> Val:
        """The sums of products of a tile; of one `inside` only the last step may reach outside, along the depth."""
        w, plan = self.code.w, self.plan
        depth, step = self.left.lines.matrix.view.shape[1], plan.depth
        nothing = splat(self.code, plan.result(plan.sums), (zero(register(plan.sums)),))
        end = depth if not inside else self._whole_steps(depth)
        if isinstance(end, int) and end <= step:
            sums = self._add(nothing, corner, 0, inside=inside) if end else nothing
        else:
            with w.loop(0, end, step, [nothing]) as loop:
                loop.following = [self._add(loop.values[0], corner, loop.index, inside=inside)]
            (sums,) = loop.results
        if not inside or end == depth:
            return sums
        if isinstance(end, int):
            return self._add(sums, corner, end, inside=False)
        left = w.compare("slt", end, depth)
        return w.either(left, lambda: [self._add(sums, corner, end, inside=False)], lambda: [sums])[0]

    def _whole_steps(self, depth: Operand) -> Operand:
        """The depth that steps take which do not reach outside."""
        if isinstance(depth, int):
            return depth - depth % self.plan.depth
        rest = self.code.w.binary("urem", depth, self.plan.depth)
        return self.code.w.sub(depth, rest)

    def _add(self, sums: Val, corner: Corner, k: Operand, *, inside: bool) -> Val:
        """The sums with the products of one step."""
        code, plan = self.code, self.plan
        left = self.left.load(code, (corner[0], k), plan.left, inside=inside)
        right = self.right.load(code, (k, corner[1]), plan.right, inside=inside)
        signed = SIGNED if plan.sums.family == "integer" else frozenset[str]()
        return code.node("matrix_mul_add", (left, right, sums), sums.type, (signed, False))

    # --- the target ----------------------------------------------------------------------

    def _finish(self, sums: Val, corner: Corner, *, inside: bool) -> None:
        """Bring the sums of a tile to the target."""
        code, plan, element = self.code, self.plan, self.target.view.element
        of_sums, of_target = plan.result(plan.sums), plan.result(element)
        if not plan.listed:
            tile = self._by_element(corner, of_sums, inside=inside)
            old = self._old(tile) if self.target.reads else None
            by_element(code, "store_result", tile, scaled(code, self.target, sums, old), self._store_element)
            return
        old = None
        if self.target.reads:
            held = self.result.load(code, corner, of_target, inside=inside)
            old = converted(code, held, of_target, of_sums)
        # What is converted is stored, and nothing is computed with it.
        found = converted(code, scaled(code, self.target, sums, old), of_sums, of_target, moved=True)
        self.result.store(code, found, corner, of_target, inside=inside)

    def _by_element(self, corner: Corner, type: CoopMatrix, *, inside: bool) -> MatrixTile:
        """A tile of the target whose components are accessed one by one, as its elements are in memory."""
        w, view = self.code.w, self.result.lines.matrix.view
        size, distance = view.element.size, integer(0)
        for first, stride in zip(corner, view.strides, strict=True):
            distance = w.add(distance, w.mul(w.mul(first, stride), size))
        place = matrix_place(self.code, view.pointer, distance, memory_type(view.element), size, written=True)
        if inside:
            return MatrixTile(type, view.name, place, (view.strides[0], view.strides[1]), (None, None), None)
        rows, columns = ((integer(0), w.sub(extent, first)) for extent, first in zip(view.shape, corner, strict=True))
        return MatrixTile(type, view.name, place, (view.strides[0], view.strides[1]), (rows, columns), None)

    def _old(self, tile: MatrixTile) -> Val:
        nothing = splat(self.code, tile.type, (zero(register(tile.type.component)),))
        return by_element(self.code, "load_old", tile, nothing, self._load_element)

    def _load_element(self, code: MatrixCode, tile: MatrixTile, component: Val, place: Val) -> Val:
        element, sums = self.target.view.element, self.plan.sums
        held = code.recorder.node("load", (place,), tile.place.type, (tile.place.memory, tile.place.type))
        part = from_memory(code.w, code.features, element, held)
        return component_of(code, sums, cast(code.w, code.features, element, sums, (part,))[0])

    def _store_element(self, code: MatrixCode, tile: MatrixTile, component: Val, place: Val) -> Val:
        element, sums = self.target.view.element, self.plan.sums
        (part,) = cast(code.w, code.features, sums, element, (register_of(code, sums, component),))
        stored = to_memory(code.w, code.features, element, part)
        code.recorder.node("store", (stored, place), None, (tile.place.memory, tile.place.type))
        return component


def _tiles(code: MatrixCode, extent: Operand, size: int) -> Operand:
    """How many tiles of a size there are along a mode."""
    if isinstance(extent, int):
        return -(-extent // size)
    return code.w.binary("udiv", code.w.add(extent, size - 1), size)
