"""The tile registers of AMX: the operations that code may use, as instructions.

A tile is 16 lines of 64 bytes. Of a product, the first factor has a line for each line of the result, and the second
one a line for each four bytes of the depth: two numbers of 16 bits, or four of 8 bits. So four bytes of the depth, side
by side in both factors, are one *unit*.

Registers are numbers from 0 to 7, which code gives out itself: LLVM's allocation of them is not asked. All code has one
configuration, that of eight full tiles. A kernel that uses tiles anywhere configures them when it begins and releases
them when it ends, whichever way: `note_use` says that it does. Configuration and contents belong to the thread. Code
that may execute other kernels in between, as that of Python does, must be followed by `configure`.

Source: Intel's instruction set reference (325383), LDTILECFG, TDPBF16PS, TDPBSSD, TDPFP16PS, TILELOADD, TILERELEASE,
TILESTORED, TILEZERO.
"""

from __future__ import annotations

from girih.back.llvm.cpu.machine.target import CpuTarget
from girih.back.llvm.emit.text import ModuleText, Operand, Val, integer
from girih.back.llvm.emit.writer import Writer
from girih.ir.types import BF16, F16, F32, I8, I32, Number
from girih.lazy_dataclass import dataclass

LINES = 16
"""The lines of a tile."""

LINE_BYTES = 64
"""The bytes of a line."""

UNIT_BYTES = 4
"""The bytes of the depth that one line of a second factor has; also those of a number of the result."""

UNITS = LINE_BYTES // UNIT_BYTES
"""The units of a line: the depth of a product of two tiles in units, and the numbers of a line of the result."""

TILE_BYTES = LINES * LINE_BYTES
"""The bytes of a tile."""

REGISTERS = 8
"""The number of tile registers."""

CONFIGURATION = "girih.amx.configuration"
"""The name of the constant with the configuration: palette 1, bytes of a line and lines of each register."""

_USED = "girih.amx"
"""What a module with tiles has among its helpers."""

_MULTIPLY: dict[Number, str] = {BF16: "tdpbf16ps", F16: "tdpfp16ps", I8: "tdpbssd"}


def sums_of(factors: Number) -> Number:
    """The type in which products of factors are summed."""
    return I32 if factors == I8 else F32


def factors_of(target: CpuTarget, first: Number, second: Number, sums: Number) -> Number | None:
    """The type of two factors if a processor's tiles multiply them, and sum as is asked for; otherwise None."""
    return first if first == second and first in target.amx and sums_of(first) == sums else None


def depth_of(factors: Number) -> int:
    """The depth of a product of two tiles, in numbers."""
    return LINE_BYTES // factors.size


@dataclass(frozen=True, slots=True)
class Tiles:
    """Operations on tile registers, as instructions of a function that is being written."""

    w: Writer

    def configure(self) -> None:
        """Begin to use tiles, whose contents are then zeros."""
        self._run("ldtilecfg", configuration(self.w))

    def release(self) -> None:
        """End the use of tiles."""
        self._run("tilerelease")

    def zero(self, tile: int) -> None:
        """Make a tile all zeros."""
        self._run("tilezero", _number(tile))

    def load(self, tile: int, pointer: Val, stride: Operand) -> None:
        """Load a tile from memory, where its lines begin so many bytes apart."""
        self._run("tileloadd64", _number(tile), pointer, self.w.value(stride))

    def store(self, tile: int, pointer: Val, stride: Operand) -> None:
        """Store a tile to memory, where its lines begin so many bytes apart."""
        self._run("tilestored64", _number(tile), pointer, self.w.value(stride))

    def multiply_add(self, factors: Number, result: int, first: int, second: int) -> None:
        """Add the product of two tiles of factors of a type to a third tile."""
        self._run(_MULTIPLY[factors], *map(_number, (result, first, second)))

    def _run(self, name: str, *operands: Val) -> None:
        self.w.module.declare(f"llvm.x86.{name}", "void", tuple(o.type for o in operands))
        self.w.run(f"llvm.x86.{name}", *operands)


def tiles_of(w: Writer, target: CpuTarget) -> Tiles:
    """The operations on tiles for a processor."""
    if not target.amx_in_memory:
        return Tiles(w)
    from girih.back.llvm.cpu.amx.model import TilesInMemory

    return TilesInMemory(w, target)


def note_use(module: ModuleText) -> None:
    """Note that code of a module uses tiles, so that its kernel configures them."""
    module.helpers.add(_USED)


def uses_tiles(module: ModuleText) -> bool:
    """Whether code of a module uses tiles."""
    return _USED in module.helpers


def configuration(w: Writer) -> Val:
    """The address of the configuration in memory."""
    if CONFIGURATION not in w.module.globals:
        bytes = "".join(f"\\{byte:02X}" for byte in configuration_bytes())
        w.module.globals[CONFIGURATION] = f'@{CONFIGURATION} = internal constant [64 x i8] c"{bytes}", align 64'
    return Val(f"@{CONFIGURATION}", "ptr")


def configuration_bytes() -> bytes:
    """The configuration of eight full tiles."""
    lengths = LINE_BYTES.to_bytes(2, "little") * REGISTERS
    return (bytes((1,)).ljust(16, b"\0") + lengths).ljust(48, b"\0") + (bytes((LINES,)) * REGISTERS).ljust(16, b"\0")


def _number(tile: int) -> Val:
    return integer(tile, "i8")
