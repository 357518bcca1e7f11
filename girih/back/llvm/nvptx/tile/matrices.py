"""Matrices in the registers of consumers: which components a thread has, and in which registers.

A thread of a consumer numbers its components: with `TILE` by block of 64 rows, period of columns, row and column in
these (`Fragment`), which is the order of a product of tensor cores (`PRODUCT_FRAGMENT`); with `ROWS` by block and
row, with `COLUMNS` by period and column. Numbers of less than 32 bits share registers with those that follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import overload

from girih.back.llvm.emit.features import Features
from girih.back.llvm.emit.text import Val, integer, wide
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.rounding import from_memory, to_memory
from girih.back.llvm.numbers.values import memory_type, register
from girih.back.llvm.nvptx.tile.factors import BLOCK
from girih.ir.types import PARTS, Number
from girih.lazy_dataclass import dataclass
from girih.tile.form import Registers, Spread
from girih.tile.threads.fragment import PRODUCT_FRAGMENT, Fragment

Parts = tuple[Val, ...]
"""A component in the form in which numbers are computed: one value, or real and imaginary part."""

_WORD = 4
"""The bytes of a register."""


@dataclass(frozen=True, slots=True)
class ThreadShare:
    """The components that a thread of a consumer has of a matrix."""

    held: Registers
    consumers: int
    fragment: Fragment = PRODUCT_FRAGMENT

    @property
    def component(self) -> Number:
        return self.held.component

    @property
    def rows(self) -> int:
        """The rows that a consumer has."""
        return self.held.rows // self.consumers

    @property
    def blocks(self) -> int:
        return self.rows // BLOCK

    @property
    def periods(self) -> int:
        """The pieces of columns of which a thread has the same ones."""
        return self.held.columns // self.fragment.columns.period

    @property
    def count(self) -> int:
        """The number of components."""
        rows, columns = self.fragment.rows.each * self.blocks, self.fragment.columns.each * self.periods
        match self.held.spread:
            case Spread.TILE:
                return rows * columns
            case Spread.ROWS:
                return rows
            case Spread.COLUMNS:
                return columns
            case _:
                return 1

    @property
    def stored(self) -> ThreadShare:
        """The components that a thread stores: of what is the same in all rows or columns, each of them."""
        held = self.held
        if held.rows == 1 or held.columns == 1:
            spread = Spread.ROWS if held.rows > 1 else Spread.COLUMNS if held.columns > 1 else Spread.ONE
        else:
            spread = Spread.TILE
        return replace(self, held=replace(held, spread=spread))

    @property
    def packed(self) -> int:
        """How many components share a register."""
        many, count = max(1, _WORD // self.component.size), self.count
        return next(n for n in (many, 2, 1) if count % n == 0 and n <= many)

    @property
    def parts(self) -> int:
        """How many registers a component takes that has a real and an imaginary part."""
        return 2 if self.component in PARTS else 1

    @property
    def registers(self) -> int:
        """The number of registers, of `type` each."""
        return self.count // self.packed * self.parts

    @property
    def type(self) -> str:
        """The LLVM type of a register."""
        if self.component.size < _WORD:
            return f"i{8 * self.component.size * self.packed}"
        return register(self.component)

    def number_in(self, other: ThreadShare, number: int) -> int:
        """The number of the component of another matrix that stands at the place of a component of this one."""
        spread = other.held.spread
        if spread is self.held.spread:
            return number
        if spread is Spread.ONE:
            return 0
        if self.held.spread is not Spread.TILE:
            raise ValueError(f"{other.held.name} has more numbers than {self.held.name}")
        block, period, row, column = self.place(number)
        rows, columns = self.fragment.rows.each, self.fragment.columns.each
        return rows * block + row if spread is Spread.ROWS else columns * period + column

    def place(self, number: int) -> tuple[int, int, int, int]:
        """The block of rows, the period of columns, the row and the column of the thread's in these of a component."""
        rows, columns = self.fragment.rows.each, self.fragment.columns.each
        match self.held.spread:
            case Spread.TILE:
                rest, column = divmod(number, columns)
                rest, row = divmod(rest, rows)
                return *divmod(rest, self.periods), row, column
            case Spread.ROWS:
                return number // rows, 0, number % rows, 0
            case Spread.COLUMNS:
                return 0, number // columns, 0, number % columns
            case _:
                return 0, 0, 0, 0

    def moved(self, number: int) -> tuple[int, int]:
        """How many rows and columns a component is behind the first one of the thread."""
        block, period, row, column = self.place(number)
        rows, columns = self.fragment.rows, self.fragment.columns
        return BLOCK * block + rows.step * row, columns.period * period + columns.step * column


@dataclass(frozen=True, slots=True)
class ComponentsPlace:
    """Where a thread's components are: the number of its consumer, and its first row and column there, all i32s."""

    consumer: Val
    row: Val
    column: Val

    def place(self, w: Writer, share: ThreadShare, number: int) -> tuple[Val, Val]:
        """The row and the column of a component of a matrix of all consumers, both i32s; all have the only one."""
        down, along = share.moved(number)
        first = w.mul(self.consumer, integer(share.rows, "i32"))
        row = w.add(w.add(first, self.row), integer(down, "i32"))
        column = w.add(self.column, integer(along, "i32"))
        none = integer(0, "i32")
        return row if share.held.rows > 1 else none, column if share.held.columns > 1 else none


def place_in_warp(fragment: Fragment, w: Writer, lane: Val) -> tuple[Val, Val]:
    """The first row and column of a lane, i32s, from those of its warp on."""
    rows, columns = fragment.rows, fragment.columns
    row = w.binary("lshr", lane, integer(columns.lanes.bit_length() - 1, "i32"))
    column = w.binary("and", lane, integer(columns.lanes - 1, "i32"))
    return w.mul(row, integer(rows.apart, "i32")), w.mul(column, integer(columns.apart, "i32"))


def component(w: Writer, features: Features, share: ThreadShare, registers: Sequence[Val], number: int) -> Parts:
    """A component by its number, as numbers are computed."""
    if share.parts == 2:
        return tuple(registers[2 * number : 2 * number + 2])
    held = registers[number // share.packed]
    if share.component.size >= _WORD:
        return (held,)
    type = memory_type(share.component)
    one = w.extract(w.convert("bitcast", held, wide(type, share.packed)), number % share.packed)
    return (from_memory(w, features, share.component, one),)


@dataclass(slots=True, eq=False)
class DeferredRegisters(Sequence[Val]):
    """Registers that are computed where they are used first, so that few of them are alive at a time.

    With each, those that follow are, `ahead` of them: what is loaded takes a while to come. `sources` are the registers
    that they are computed from.
    """

    compute: Callable[[int], Val]
    length: int
    ahead: int = 0
    sources: tuple[Sequence[Val], ...] = ()
    found: dict[int, Val] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.length

    def all(self) -> list[DeferredRegisters]:
        """These registers, and those that they are computed from, as far as they are deferred, too."""
        found, rest = list[DeferredRegisters](), [self]
        while rest:
            one = rest.pop()
            if one not in found:
                found.append(one)
                rest += [source for source in one.sources if isinstance(source, DeferredRegisters)]
        return found

    @overload
    def __getitem__(self, place: int) -> Val: ...

    @overload
    def __getitem__(self, place: slice) -> list[Val]: ...

    def __getitem__(self, place: int | slice) -> Val | list[Val]:
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(self.length))]
        if not 0 <= place < self.length:
            raise IndexError(place)
        for number in range(place, min(place + self.ahead + 1, self.length)):
            if number not in self.found:
                self.found[number] = self.compute(number)
        return self.found[place]


def register_of(w: Writer, features: Features, share: ThreadShare, part: Callable[[int], Parts], number: int) -> Val:
    """A register by its number, of components that are given as numbers are computed."""
    if share.component.size >= _WORD:
        component, half = divmod(number, share.parts)
        return part(component)[half]
    first = number * share.packed
    raw = [to_memory(w, features, share.component, *part(first + k)) for k in range(share.packed)]
    return raw[0] if share.packed == 1 else w.convert("bitcast", w.join(raw), share.type)


def in_registers(w: Writer, features: Features, share: ThreadShare, part: Callable[[int], Parts]) -> tuple[Val, ...]:
    """The registers of all components, which are given by their numbers, as numbers are computed."""
    return tuple(register_of(w, features, share, part, number) for number in range(share.registers))


_NARROW = {"f16": "half", "bf16": "bfloat"}


def narrowed(w: Writer, share: ThreadShare, floats: Sequence[Val]) -> Val:
    """A register of a matrix of f16 or bf16 from components of f32, rounded to nearest even (PTX ISA "cvt")."""
    type = wide(_NARROW[share.component.name], share.packed)
    return w.convert("bitcast", w.convert("fptrunc", w.join(floats), type), share.type)
