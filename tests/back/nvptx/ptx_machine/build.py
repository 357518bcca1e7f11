"""What the instructions of the table are made with: an instruction that is being taken apart, piece by piece.

A builder takes modifiers in their order and operands by their types, and gives back a `Step`. What it leaves over is an
error that names it. Registers are arrays of one element a thread, or of one element where all threads have the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tests.back.nvptx.ptx_machine.errors import UnknownInstruction
from tests.back.nvptx.ptx_machine.layout import Layout, Place
from tests.back.nvptx.ptx_machine.parser import float_bits
from tests.back.nvptx.ptx_machine.special import SPECIAL
from tests.back.nvptx.ptx_machine.syntax import (
    Address,
    Constant,
    Decimal,
    Instruction,
    Negated,
    Operand,
    Register,
    Sum,
    Vector,
    Word,
)
from tests.back.nvptx.ptx_machine.types import TYPES, UNSIGNED, Array, PtxType

if TYPE_CHECKING:
    from tests.back.nvptx.ptx_machine.cta import Cta, Group
    from tests.back.nvptx.ptx_machine.masks import Mask

Registers = list[Array]
Reader = Callable[[Registers], Array]
Run = Callable[["Cta", "Mask"], None]
Control = Callable[["Cta", "Group"], bool]
"""What moves a group of threads on itself; whether the group may be gone on with at once."""

MODES = {"rn", "rz", "rm", "rp"}


@dataclass(slots=True)
class Step:
    """An instruction ready to be executed: `run` for threads that go on to the next one, `control` for all others."""

    instruction: Instruction
    run: Run | None = None
    control: Control | None = None
    guard: int = -1
    """The slot of the predicate that says for which threads it is executed; -1 for all."""
    negated: bool = False
    meets: bool = False
    """Whether threads of a warp execute it together, so that they wait for each other."""
    touches: Array | None = None
    """The registers of `wgmma` that it reads or writes, by their places."""
    watched: tuple[int, int] | None = None
    """The places of the registers of `wgmma` that it moves, of which the second may be none."""
    results: tuple[tuple[int, int], ...] = ()
    """What a call copies back: the parameters of the function that has ended, and those of the call."""


@dataclass(slots=True)
class Draft:
    """An instruction of which the pieces are taken one after the other."""

    instruction: Instruction
    layout: Layout
    name: str
    modifiers: list[str]
    used: int = 0

    @staticmethod
    def of(instruction: Instruction, layout: Layout) -> Draft:
        name, *modifiers = instruction.opcode.split(".")
        return Draft(instruction, layout, name, modifiers)

    def unknown(self, what: str) -> UnknownInstruction:
        return UnknownInstruction(f"{self.instruction.opcode}: {what} ({self.instruction.place})")

    # --- modifiers -----------------------------------------------------------------------

    def taken(self, *names: str) -> str:
        """The next modifier, if it is one of these; else nothing."""
        if self.modifiers and self.modifiers[0] in names:
            return self.modifiers.pop(0)
        return ""

    def expected(self, *names: str) -> str:
        """The next modifier, which is one of these."""
        found = self.taken(*names)
        if not found:
            came = f".{self.modifiers[0]}" if self.modifiers else "the end"
            raise self.unknown(f"one of .{', .'.join(names)} is expected, found {came}")
        return found

    def type(self, *names: str) -> PtxType:
        """The next modifier, a type of these."""
        return TYPES[self.expected(*names)]

    def done(self) -> None:
        """All modifiers and operands are taken."""
        if self.modifiers:
            raise self.unknown(f"the modifier .{self.modifiers[0]} is not known here")
        if self.used < len(self.instruction.operands):
            raise self.unknown(f"operand {self.used + 1} is not known")

    # --- operands ------------------------------------------------------------------------

    @property
    def left(self) -> int:
        """How many operands are not taken yet."""
        return len(self.instruction.operands) - self.used

    def operand(self) -> Operand:
        if not self.left:
            raise self.unknown("an operand is missing")
        self.used += 1
        return self.instruction.operands[self.used - 1]

    def register_of(self, operand: Operand) -> Register:
        if not isinstance(operand, Word):
            raise self.unknown(f"a register is expected, found {operand}")
        found = self.layout.register(self.instruction.scope, operand.name)
        if found is None:
            raise self.unknown(f"the register {operand.name} is not declared")
        return found

    def result(self, type: PtxType, *, wide: bool = False) -> int:
        """The slot of the next operand, a register of a type; `wide` ones may have more bits."""
        return self.slot(self.operand(), type, wide=wide)

    def slot(self, operand: Operand, type: PtxType, *, wide: bool = False) -> int:
        found = self.register_of(operand)
        self._fits(found, type, wide)
        return found.slot

    def bits_of(self, operand: Operand) -> int:
        """How wide a register is."""
        return TYPES[self.register_of(operand).type].bits

    def _fits(self, register: Register, type: PtxType, wide: bool) -> None:
        have = TYPES[register.type]
        right = (have.kind == "pred") == (type.kind == "pred")
        if not right or not (have.bits == type.bits or (wide and have.bits >= type.bits)):
            raise self.unknown(f"{register.name} is .{register.type}, which does not suit .{type.name}")

    def value(self, type: PtxType, *, wide: bool = False) -> Reader:
        """A reader of the next operand, as what NumPy computes with."""
        return self.reader(self.operand(), type, wide=wide)

    def predicate(self) -> Reader:
        return self.value(TYPES["pred"])

    def reader(self, operand: Operand, type: PtxType, *, wide: bool = False) -> Reader:
        match operand:
            case Constant() | Decimal():
                return _constant(self._number(operand, type))
            case Negated(of=word):
                slot = self.slot(word, TYPES["pred"])
                return lambda registers: ~registers[slot]
            case Vector(parts=parts):
                return self._packed(parts, type)
            case Sum(base=base, offset=offset):
                return _constant(self._place_value(base, offset, type))
            case Word(name=name):
                return self._named(name, type, wide)
        raise self.unknown(f"{operand} is not an operand here")

    def _named(self, name: str, type: PtxType, wide: bool) -> Reader:
        special = SPECIAL.get(name)
        if special is not None:
            if TYPES[special].bits != type.bits:
                raise self.unknown(f"{name} is .{special}, which does not suit .{type.name}")
            return _viewed(self.layout.special(name), type.array)
        register = self.layout.register(self.instruction.scope, name)
        if register is None:
            return _constant(self._place_value(Word(name), 0, type))
        self._fits(register, type, wide)
        held = TYPES[register.type]
        if held.kind == "pred":
            slot = register.slot
            return lambda registers: registers[slot]
        if held.bits == type.bits:
            return _viewed(register.slot, type.array)
        return _narrowed(register.slot, type)

    def _place_value(self, base: Word, offset: int, type: PtxType) -> Array:
        """The address of a variable, which a register of 32 bits has room for in some spaces."""
        address = self._address(base) + offset
        if type.bits not in (32, 64) or not 0 <= address < 1 << type.bits:
            raise self.unknown(f"the address of {base.name} does not suit .{type.name}")
        result: Array = np.array([address], UNSIGNED[type.bits]).view(type.array)
        return result

    def _number(self, operand: Constant | Decimal, type: PtxType) -> Array:
        if isinstance(operand, Decimal):
            if type.name not in ("f32", "f64"):
                raise self.unknown(f"{operand.value} does not suit .{type.name}")
            return np.array([operand.value], type.array)
        if type.kind == "pred":
            return np.array([bool(operand.value)])
        value = operand.value
        if operand.bits and operand.bits != type.bits:
            if operand.bits != 64 or type.name != "f32":
                raise self.unknown(f"a float of {operand.bits} bits does not suit .{type.name}")
            value = float_bits(float(np.uint64(value).view(np.float64)), 32)
        elif not operand.bits and type.name in ("f32", "f64"):
            raise self.unknown(f"{value} does not suit .{type.name}")
        return np.array([value % (1 << type.bits)], UNSIGNED[type.bits]).view(type.array)

    def _packed(self, parts: Sequence[Operand], type: PtxType) -> Reader:
        """Several registers as one, the first in the lowest bits, as `mov` has them."""
        each = type.bits // len(parts)
        if each not in UNSIGNED:
            raise self.unknown(f"{len(parts)} parts do not suit .{type.name}")
        readers = [self.reader(part, TYPES[f"b{each}"]) for part in parts]
        whole = UNSIGNED[type.bits]

        def read(registers: Registers) -> Array:
            found = readers[0](registers).astype(whole)
            for place, one in enumerate(readers[1:], 1):
                found = found | one(registers).astype(whole) << whole.type(each * place)
            return found.view(type.array)

        return read

    # --- addresses -----------------------------------------------------------------------

    def place(self, name: str) -> Place:
        found = self.layout.place(self.instruction.scope, name)
        if found is None:
            raise self.unknown(f"{name} is not declared")
        return found

    def _address(self, word: Word) -> int:
        place = self.place(word.name)
        if place.address is None:
            raise self.unknown(f"{word.name} has no address")
        return place.address

    def address(self, operand: Operand | None = None) -> Reader:
        """A reader of an address in brackets, the next operand: `uint64`."""
        found = self.operand() if operand is None else operand
        if not isinstance(found, Address):
            raise self.unknown("an address in brackets is expected")
        if found.base is None:
            return _constant(np.array([found.offset], np.uint64))
        offset = np.uint64(found.offset % 2**64)
        register = self.layout.register(self.instruction.scope, found.base.name)
        if register is None:
            return _constant(np.array([(self._address(found.base) + found.offset) % 2**64], np.uint64))
        slot, bits = register.slot, TYPES[register.type].bits
        if bits not in (32, 64):
            raise self.unknown(f"{register.name} is no address")
        if bits == 32:
            narrow = np.uint32(found.offset % 2**32)
            return lambda registers: (registers[slot] + narrow).astype(np.uint64)
        if not found.offset:
            return lambda registers: registers[slot]
        return lambda registers: registers[slot] + offset

    # --- steps ---------------------------------------------------------------------------

    def pure(self, slot: int, compute: Reader) -> Step:
        """An instruction that only writes a register, with what it computes for all threads."""
        self.done()

        def run(cta: Cta, mask: Mask) -> None:
            registers = cta.registers
            value = compute(registers)
            registers[slot] = value if mask.whole else np.where(mask.on, value, registers[slot])

        return Step(self.instruction, run)

    def several(self, slots: Sequence[int], compute: Callable[[Registers], Sequence[Array]]) -> Step:
        """An instruction that only writes several registers."""
        self.done()

        def run(cta: Cta, mask: Mask) -> None:
            registers = cta.registers
            for slot, value in zip(slots, compute(registers), strict=False):
                registers[slot] = value if mask.whole else np.where(mask.on, value, registers[slot])

        return Step(self.instruction, run)

    def step(self, run: Run) -> Step:
        self.done()
        return Step(self.instruction, run)

    def control(self, control: Control) -> Step:
        self.done()
        return Step(self.instruction, control=control)


def held(value: Array, slot_bits: int) -> Array:
    """Numbers as what registers of so many bits hold: their bits; integers are extended by their sign."""
    if value.dtype.itemsize * 8 < slot_bits:
        value = value.astype(np.int64 if value.dtype.kind == "i" else np.uint64)
        return value.view(np.uint64).astype(UNSIGNED[slot_bits])
    return value.view(UNSIGNED[slot_bits])


def _constant(value: Array) -> Reader:
    value.flags.writeable = False
    return lambda registers: value


def _viewed(slot: int, array: np.dtype[np.generic]) -> Reader:
    if array.kind == "u":
        return lambda registers: registers[slot]
    return lambda registers: registers[slot].view(array)


def _narrowed(slot: int, type: PtxType) -> Reader:
    bits, array = UNSIGNED[type.bits], type.array
    return lambda registers: registers[slot].astype(bits).view(array)
