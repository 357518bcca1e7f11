"""A model of the tile registers of AMX: eight tiles in memory, and functions that do to them what the instructions do.

It is for tests of code with tiles on machines without them. Results are those of the instructions, bit for bit: numbers
are rounded to nearest, and subnormal f32 and bf16 count as zeros, wherever they occur. Products of bf16 and f16 are
summed in two chains, of even and odd positions in the depth, whose sum is added to the result. The tiles are a variable
of the module, so only one thread at a time may use them.

What would end the process on a processor, a tile that is used without a configuration, gives bytes of all ones here: a
NaN, or the integer -1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.back.llvm.cpu.amx.tiles import (
    LINE_BYTES,
    LINES,
    REGISTERS,
    TILE_BYTES,
    UNIT_BYTES,
    UNITS,
    Tiles,
    configuration,
    configuration_bytes,
)
from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.text import Operand, Val, constant_vector, integer, lanes, wide, zero
from girih.back.llvm.emit.writer import Writer
from girih.back.llvm.numbers.rounding import from_memory
from girih.back.llvm.numbers.values import memory_type
from girih.ir.types import F16, I8, Number
from girih.lazy_dataclass import dataclass

_BYTES = wide("i8", LINE_BYTES)
_WORDS = wide("i32", UNITS)
_FLOATS = wide("float", UNITS)


@dataclass(frozen=True, slots=True)
class TilesInMemory(Tiles):
    """Operations on tiles that are a variable of the module."""

    target: CpuTarget

    def configure(self) -> None:
        """Begin to use tiles: zeros, if the configuration is the expected one."""
        w = self.w
        found = w.load(_BYTES, configuration(w), 64)
        wanted = constant_vector(list(configuration_bytes()), "i8")
        good = w.all(w.compare("eq", found, wanted))
        w.store(w.select(good, integer(0, "i8"), integer(-1, "i8")), _configured(w), 1)
        for tile in range(REGISTERS):
            self.zero(tile)

    def release(self) -> None:
        """End the use of tiles."""
        w = self.w
        w.store(integer(-1, "i8"), _configured(w), 1)
        for tile in range(REGISTERS):
            self.zero(tile)

    def zero(self, tile: int) -> None:
        """Make a tile all zeros."""
        self._run_model("zero", (_tile(self.w, tile),), _ModelFunction.zero)

    def load(self, tile: int, pointer: Val, stride: Operand) -> None:
        """Load a tile from memory."""
        self._run_model("load", (_tile(self.w, tile), pointer, self.w.value(stride)), _ModelFunction.load)

    def store(self, tile: int, pointer: Val, stride: Operand) -> None:
        """Store a tile to memory."""
        self._run_model("store", (_tile(self.w, tile), pointer, self.w.value(stride)), _ModelFunction.store)

    def multiply_add(self, factors: Number, result: int, first: int, second: int) -> None:
        """Add the product of two tiles of factors to a third tile."""
        operands = tuple(_tile(self.w, tile) for tile in (result, first, second))
        self._run_model(f"multiply.{factors}", operands, lambda function: function.multiply_add(factors))

    def _run_model(self, name: str, operands: tuple[Val, ...], write: Callable[[_ModelFunction], None]) -> None:
        """Call a function of the model, written if it is not there."""
        w, symbol = self.w, f"girih.amx.{name}"
        if symbol not in w.module.helpers:
            w.module.helpers.add(symbol)
            listed = ", ".join(f"{held.type} %p{number}" for number, held in enumerate(operands))
            inner = Writer(w.module, f"define internal void @{symbol}({listed}) noinline nounwind")
            write(_ModelFunction(inner, self.target, [Val(f"%p{k}", held.type) for k, held in enumerate(operands)]))
            inner.ret()
            inner.finish()
        w.run(symbol, *operands)


def _variable(w: Writer, name: str, start: str) -> Val:
    """The address of a variable of the module, with what it is at first."""
    w.module.globals.setdefault(name, f"@{name} = internal global {start}, align 64")
    return Val(f"@{name}", "ptr")


def _configured(w: Writer) -> Val:
    """The address of a byte: 0 where tiles are configured, otherwise -1."""
    return _variable(w, "girih.amx.configured", "i8 -1")


def _tile(w: Writer, tile: int) -> Val:
    """The address of a tile."""
    tiles = _variable(w, "girih.amx.tiles", f"[{REGISTERS * TILE_BYTES} x i8] zeroinitializer")
    return w.at(tiles, tile * TILE_BYTES)


@dataclass(frozen=True, slots=True)
class _ModelFunction:
    """A function of the model in the making, with its parameters: addresses of tiles, then of memory and its stride."""

    w: Writer
    target: CpuTarget
    operands: Sequence[Val]

    def _written(self, held: Val, place: Val) -> None:
        """A line of a tile, of which all bits are set where nothing is configured."""
        w = self.w
        mask = w.load("i8", _configured(w), 1)
        whole = w.splat(w.convert("sext", mask, "i32"), UNITS)
        w.store(w.binary("or", w.convert("bitcast", held, _WORDS), whole), place, LINE_BYTES)

    def zero(self) -> None:
        """All lines are zeros."""
        w, (tile,) = self.w, self.operands
        with w.loop(0, LINES) as loop:
            self._written(zero(_WORDS), w.at(tile, w.mul(loop.index, LINE_BYTES)))

    def load(self) -> None:
        """Lines come from memory, at any address."""
        w, (tile, pointer, stride) = self.w, self.operands
        with w.loop(0, LINES) as loop:
            line = w.load(_WORDS, w.at(pointer, w.mul(loop.index, stride)), 1)
            self._written(line, w.at(tile, w.mul(loop.index, LINE_BYTES)))

    def store(self) -> None:
        """Lines go to memory, at any address; of a tile that is not configured, bits that are all set."""
        w, (tile, pointer, stride) = self.w, self.operands
        with w.loop(0, LINES) as loop:
            place = w.at(tile, w.mul(loop.index, LINE_BYTES))
            self._written(w.load(_WORDS, place, LINE_BYTES), place)
            w.store(w.load(_WORDS, place, LINE_BYTES), w.at(pointer, w.mul(loop.index, stride)), 1)

    def multiply_add(self, factors: Number) -> None:
        """Each line of the first factor meets all lines of the second one, unit by unit."""
        w, (result, first, second) = self.w, self.operands
        with w.loop(0, LINES) as loop:
            line = w.mul(loop.index, LINE_BYTES)
            old = w.load(_WORDS, w.at(result, line), LINE_BYTES)
            start = [old] if factors == I8 else [zero(_FLOATS)] * 2
            with w.loop(0, UNITS, 1, start) as depth:
                unit = w.load("i32", w.at(w.at(first, line), w.mul(depth.index, UNIT_BYTES)), UNIT_BYTES)
                units = w.load(_WORDS, w.at(second, w.mul(depth.index, LINE_BYTES)), LINE_BYTES)
                if factors == I8:
                    depth.following = [self._bytes(depth.values[0], unit, units)]
                else:
                    depth.following = [
                        self._flushed(w.fma(w.splat(x, UNITS), y, total))
                        for x, y, total in zip(
                            self._halves(factors, unit), self._halves(factors, units), depth.values, strict=True
                        )
                    ]
            total = depth.results[0]
            if factors != I8:
                sum = self._flushed(w.binary("fadd", *depth.results))
                total = self._flushed(w.binary("fadd", self._flushed(w.convert("bitcast", old, _FLOATS)), sum))
            self._written(total, w.at(result, line))

    def _halves(self, factors: Number, units: Val) -> tuple[Val, ...]:
        """The two numbers of units, as `float`."""
        w, like = self.w, units.type
        bits = (units, w.binary("lshr", units, integer(16, like)))
        found = []
        for held in bits:
            half = w.convert("bitcast", w.convert("trunc", held, "i16"), _with(memory_type(factors), like))
            found.append(from_memory(w, self.target.features, factors, half))
        return tuple(found) if factors == F16 else tuple(map(self._flushed, found))

    def _flushed(self, held: Val) -> Val:
        """The floats, zeros of the same sign for those that are subnormal."""
        w = self.w
        like = _with("i32", held.type)
        bits = w.convert("bitcast", held, like)
        small = w.compare("eq", w.binary("and", bits, integer(0x7F800000, like)), integer(0, like))
        kept = w.select(small, w.binary("and", bits, integer(-(1 << 31), like)), bits)
        return w.convert("bitcast", kept, held.type)

    def _bytes(self, total: Val, unit: Val, units: Val) -> Val:
        """The total with four products of signed bytes."""
        w = self.w
        for number in range(UNIT_BYTES):
            x, y = (self._byte(held, number) for held in (unit, units))
            total = w.add(total, w.mul(w.splat(x, UNITS), y))
        return total

    def _byte(self, units: Val, number: int) -> Val:
        """A byte of units, with its sign."""
        w, like = self.w, units.type
        moved = w.binary("shl", units, integer(24 - 8 * number, like))
        return w.binary("ashr", moved, integer(24, like))


def _with(type: str, like: str) -> str:
    """A type with as many lanes as another one."""
    return wide(type, lanes(like))
