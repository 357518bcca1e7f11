"""Matrices on their way between work-items: through memory that the work-group shares, as much of them as fits.

Everything goes through one array for each type of numbers, in the form of registers; integers of less than 32 bits take
32. What goes through has at most `MOST_SHARED` bytes for the work-group; a larger matrix goes in pieces. Of matrices of
a subgroup, the subgroups have their pieces side by side: as many elements of each in turn as it has work-items.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.back.llvm.emit.text import Val, bits, integer, stored_bytes
from girih.back.llvm.lower.one_lane.code import OneLaneCode
from girih.back.llvm.lower.one_lane.matrix.held import (
    ComponentArrays,
    Matrix,
    Parts,
    components,
    each,
    part_registers,
    read,
    write,
)
from girih.back.llvm.lower.one_lane.matrix.layout import holder, holders, layout, linear_index, position
from girih.ir.types import CoopMatrix, Number

MOST_SHARED = 16 * 1024
"""The bytes that matrices take at most of the memory that the work-group shares: Vulkan promises no more."""

Convert = Callable[[Parts], Parts]
"""What is done to a component on its way."""

Place = Callable[[Val, Val], tuple[Val, Val]]
"""The row and column in the source of the component that is at a row and column of the result; all are i32."""


def shared_type(part: str) -> str:
    """The LLVM type as which parts of numbers of a type in registers are shared."""
    return "i32" if part[0] == "i" and bits(part) < 32 else part


class SharedNumbers:
    """Room for `count` numbers, for each subgroup or for the work-group, whichever holds matrices of a type."""

    def __init__(self, code: OneLaneCode, type: CoopMatrix, number: Number, count: int) -> None:
        self.code, self.type, self.parts = code, type, part_registers(number)
        self.held = shared_type(self.parts[0])
        self.size = stored_bytes(self.held)
        self.width = holders(code, type)
        self.groups = 1 if type.of_work_group else code.geometry.subgroups
        self.room = -(-count // self.width) * self.width

    @staticmethod
    def fitting(code: OneLaneCode, type: CoopMatrix, number: Number) -> int:
        """The numbers that fit for each subgroup or the work-group: a multiple of its work-items."""
        parts, width = part_registers(number), holders(code, type)
        groups = 1 if type.of_work_group else code.geometry.subgroups
        rows = MOST_SHARED // (groups * width * len(parts) * stored_bytes(shared_type(parts[0])))
        return max(1, rows) * width

    def begin(self) -> None:
        """Wait until nobody reads any more what others have put there."""
        self._wait()

    def ready(self) -> None:
        """Wait until everybody has put numbers there."""
        self._wait()

    def end(self) -> None:
        """Wait for those who still read numbers of the work-group, where those of subgroups may come next."""
        if self.type.of_work_group and self.code.geometry.subgroups > 1:
            self.code.barrier()

    def _wait(self) -> None:
        if self.type.of_work_group:
            self.code.barrier()
        else:
            self.code.subgroup_barrier()

    def _address(self, number: Val, part: int) -> Val:
        """The address of a part of a number; the number's place is an i32."""
        w = self.code.w
        base = self.code.shared(self.held, self.room * len(self.parts) * self.groups)
        place = w.add(number, integer(part * self.room, "i32"))
        if self.groups > 1:
            row = w.binary("and", place, integer(-self.width, "i32"))
            place = w.add(place, w.mul(row, integer(self.groups - 1, "i32")))
            own = w.convert("trunc", w.value(self.code.subgroup), "i32")
            place = w.add(place, w.mul(own, integer(self.width, "i32")))
        return w.at(base, w.mul(w.convert("zext", place, "i64"), self.size))

    def put(self, number: Val, parts: Parts) -> None:
        """Put a number at a place."""
        for k, part in enumerate(parts):
            held = part if part.type == self.held else self.code.w.convert("sext", part, self.held)
            self.code.w.store(held, self._address(number, k), self.size)

    def get(self, number: Val) -> Parts:
        """The number at a place."""
        w = self.code.w
        found = [w.load(self.held, self._address(number, k), self.size) for k in range(len(self.parts))]
        return tuple(
            held if held.type == part else w.convert("trunc", held, part)
            for held, part in zip(found, self.parts, strict=True)
        )


class Exchange:
    """A matrix on its way: pieces of it, in each of which work-items find the components of others.

    A piece is a range of linear indices of the layout: some components of every work-item. They are shared as numbers
    of a type, into which `convert` brings them.
    """

    def __init__(self, code: OneLaneCode, m: Matrix, number: Number, convert: Convert | None = None) -> None:
        self.code, self.m, self.convert = code, m, convert
        self.width = holders(code, m.type)
        self.count = components(code, m.type)
        self.step = min(self.count, SharedNumbers.fitting(code, m.type, number) // self.width)
        self.numbers = SharedNumbers(code, m.type, number, self.step * self.width)
        self.first: Val = integer(0, "i32")

    @property
    def whole(self) -> bool:
        """Whether all of the matrix goes at once."""
        return self.step >= self.count

    def each_piece(self, body: Callable[[], None]) -> None:
        """Write code that is executed for each piece: it may `find` components."""
        w = self.code.w
        if self.whole:
            self._piece(integer(0), integer(self.count), body)
            return
        with w.loop(0, self.count, self.step) as loop:
            self._piece(loop.index, w.smaller(w.add(loop.index, self.step), self.count), body)

    def _piece(self, start: Val, end: Val, body: Callable[[], None]) -> None:
        w = self.code.w
        self.numbers.begin()
        own = holder(self.code, self.m.type)

        def put(component: Val) -> None:
            parts = read(self.code, self.m, component)
            place = w.mul(w.convert("trunc", w.sub(component, start), "i32"), integer(self.width, "i32"))
            self.numbers.put(w.add(place, own), parts if self.convert is None else self.convert(parts))

        if self.whole:
            each(self.code, self.count, put)
        else:
            with w.loop(start, end) as loop:
                put(loop.index)
        self.numbers.ready()
        self.first = w.mul(w.convert("trunc", start, "i32"), integer(self.width, "i32"))
        body()
        self.numbers.end()

    def at(self, row: Val, column: Val) -> Parts:
        """The component at a place, where the whole matrix is there."""
        return self.numbers.get(linear_index(self.code, self.m.type, row, column))

    def find(
        self, row: Val, column: Val, body: Callable[[Parts], Parts], exists: Val | None, otherwise: Parts = ()
    ) -> Parts:
        """What code gives for a component at a place in the piece that has it, if it `exists`; else `otherwise`."""
        w = self.code.w
        place = linear_index(self.code, self.m.type, row, column)
        there = exists
        if not self.whole:
            place = w.sub(place, self.first)
            there = w.both(there, w.compare("ult", place, integer(self.step * self.width, "i32")))
        if there is None:
            return body(self.numbers.get(place))
        return tuple(w.either(there, lambda: body(self.numbers.get(place)), lambda: otherwise))


def move(
    code: OneLaneCode, m: Matrix, target: ComponentArrays, place: Place, convert: Convert, *, first: bool = False
) -> None:
    """Fill the arrays of a matrix, other than those of `m`, with components of `m` from other places.

    A component is converted where it is read, or if `first` where it is put: `convert` gives the target's type.
    """
    number = target.type.component if first else m.type.component
    exchange = Exchange(code, m, number, convert if first else None)

    def take(component: Val) -> None:
        at = position(code, target.type, component)
        row, column = place(at.row, at.column)

        def put(parts: Parts) -> Parts:
            write(code, target, component, parts if first else convert(parts))
            return ()

        exchange.find(row, column, put, at.exists)

    exchange.each_piece(lambda: each(code, components(code, target.type), take))


def same_layout(code: OneLaneCode, a: CoopMatrix, b: CoopMatrix) -> bool:
    """Whether each work-item holds the components of the same places in the same order."""
    return a.scope is b.scope and layout(code, a) == layout(code, b)
