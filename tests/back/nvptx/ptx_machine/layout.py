"""Where the variables of a module lie, and which slot each register has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.back.nvptx.ptx_machine.errors import PtxSyntaxError
from tests.back.nvptx.ptx_machine.parser import float_bits
from tests.back.nvptx.ptx_machine.special import SPECIAL
from tests.back.nvptx.ptx_machine.syntax import (
    Constant,
    Decimal,
    Function,
    Operand,
    Register,
    Scope,
    Sum,
    Syntax,
    Variable,
    Word,
)
from tests.back.nvptx.ptx_machine.types import UNSIGNED, Array

SHARED_BEGIN = 1024
"""The first address in shared space that a kernel has; CUDA keeps what is below, from sm_90 on."""
PARAMETER_BEGIN = 0x240
"""The first address in the space of parameters: no generic address is as small."""

_NUMBERED = re.compile(r"(.*?)(0|[1-9]\d*)")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a variable lies. `address` is one of its space; None for a parameter of a call, which has its `number`."""

    variable: Variable
    space: str
    address: int | None
    number: int = -1


@dataclass(slots=True)
class Layout:
    """The places of a module."""

    syntax: Syntax
    specials: dict[str, int] = field(default_factory=dict)
    shared_bytes: int = SHARED_BEGIN
    """The end of shared variables whose size is known."""
    local_bytes: int = 16
    storage: list[tuple[Variable, Array]] = field(default_factory=list)
    """The variables of the module in global memory, with their bytes."""
    calls: list[Variable] = field(default_factory=list)
    """The parameters of calls, by their number."""
    watches: bool = False
    """Whether the module reads memory that it calls constant, so that what is written must be known."""
    asynchronous: bool = False
    """Whether something touches shared memory beside the threads, so that it must be known who may rely on what."""
    product_slots: set[int] = field(default_factory=set)
    """The registers that `wgmma` has, by their slots."""
    _places: dict[int, Place] = field(default_factory=dict)

    @staticmethod
    def of(syntax: Syntax) -> Layout:
        made = Layout(syntax)
        for one in syntax.variables.values():
            if one.space in ("global", "const"):
                made._store(one)
            elif one.space == "shared" and one.bytes:
                made._share(one)
        for one in syntax.variables.values():
            if one.space == "shared" and not one.bytes:
                begin = -(-made.shared_bytes // one.align) * one.align
                made._places[id(one)] = Place(one, "shared", begin)
        for variable, held in made.storage:
            made._fill(variable, held)
        for function in syntax.functions.values():
            made._parameters(function)
        return made

    def slot_types(self) -> list[str]:
        """The types of all registers by their slots."""
        return [one.type for one in self.syntax.registers]

    # --- registers -----------------------------------------------------------------------

    def register(self, scope: Scope | None, name: str) -> Register | None:
        """The register of a name that is seen in a scope."""
        numbered = _NUMBERED.fullmatch(name)
        while scope is not None:
            found = scope.registers.get(name)
            if found is not None:
                return found
            if numbered is not None:
                type, count = scope.families.get(numbered[1], ("", 0))
                if int(numbered[2]) < count:
                    return self._new(scope, name, type)
            scope = scope.outer
        return None

    def _new(self, scope: Scope, name: str, type: str) -> Register:
        one = Register(name, type, len(self.syntax.registers))
        scope.registers[name] = one
        self.syntax.registers.append(one)
        return one

    def special(self, name: str) -> int:
        """The slot of a special register."""
        if name not in self.specials:
            self.specials[name] = self._new(Scope(), name, SPECIAL[name]).slot
        return self.specials[name]

    def flag(self) -> int:
        """The slot of the carry."""
        if "CC" not in self.specials:
            self.specials["CC"] = self._new(Scope(), "CC", "pred").slot
        return self.specials["CC"]

    # --- variables -----------------------------------------------------------------------

    def place(self, scope: Scope | None, name: str) -> Place | None:
        """Where a variable lies that is seen in a scope; those of functions are placed when first asked for."""
        while scope is not None:
            variable = scope.variables.get(name)
            if variable is not None:
                return self._placed(variable)
            scope = scope.outer
        variable = self.syntax.variables.get(name)
        return None if variable is None else self._placed(variable)

    def label(self, scope: Scope | None, name: str) -> int | None:
        """The instruction that a label stands before."""
        while scope is not None:
            if name in scope.labels:
                return scope.labels[name]
            scope = scope.outer
        return None

    def call_place(self, variable: Variable) -> Place:
        """Where a parameter of a function that is called, or of a call, lies."""
        return self._placed(variable)

    def _placed(self, variable: Variable) -> Place:
        found = self._places.get(id(variable))
        if found is None and variable.space == "local":
            begin = -(-self.local_bytes // variable.align) * variable.align
            self.local_bytes = begin + variable.bytes
            found = Place(variable, "local", begin)
        elif found is None:
            found = Place(variable, "call", None, len(self.calls))
            self.calls.append(variable)
        self._places[id(variable)] = found
        return found

    def _share(self, one: Variable) -> None:
        begin = -(-self.shared_bytes // one.align) * one.align
        self.shared_bytes = begin + one.bytes
        self._places[id(one)] = Place(one, "shared", begin)

    def _store(self, one: Variable) -> None:
        held = aligned(one.bytes, max(one.align, 16))
        self.storage.append((one, held))
        self._places[id(one)] = Place(one, one.space, address_of(held))

    def _fill(self, variable: Variable, held: Array) -> None:
        """Write the first values of a variable; those that the text does not name are 0 (PTX ISA "Initializers")."""
        held[:] = 0
        each = variable.bytes // variable.count if variable.count else variable.size
        lanes = held.view(UNSIGNED[8 * each]) if each in (1, 2, 4, 8) else held
        for place, value in enumerate(variable.values):
            lanes[place] = self._value(variable, value) % (1 << 8 * lanes.itemsize)

    def _value(self, variable: Variable, value: Operand) -> int:
        match value:
            case Constant(value=number):
                return number
            case Decimal(value=number) if variable.type in ("f32", "f64"):
                return float_bits(number, int(variable.type[1:]))
            case Word(name=name) | Sum(base=Word(name=name)):
                place = self.place(None, name)
                if place is not None and place.address is not None:
                    return place.address + (value.offset if isinstance(value, Sum) else 0)
        raise PtxSyntaxError(f"the variable {variable.name} begins as {value}, which is not known")

    def _parameters(self, function: Function) -> None:
        if not function.is_entry:
            return
        for variable, begin in parameter_places(function):
            self._places[id(variable)] = Place(variable, "param", PARAMETER_BEGIN + begin)


def parameter_places(function: Function) -> list[tuple[Variable, int]]:
    """The parameters of a kernel with the bytes before each."""
    found, end = [], 0
    for one in function.parameters:
        begin = -(-end // one.align) * one.align
        found.append((one, begin))
        end = begin + one.bytes
    return found


def parameter_bytes(function: Function) -> int:
    """The bytes of the parameters of a kernel."""
    places: Sequence[tuple[Variable, int]] = parameter_places(function)
    return max((begin + one.bytes for one, begin in places), default=0)


def aligned(size: int, align: int, fill: int = 0xA5) -> Array:
    """So many bytes at an address that is a multiple of `align`."""
    room: Any = np.full(size + align, fill, np.uint8)
    begin = -address_of(room) % align
    found: Array = room[begin : begin + size]
    return found


def address_of(array: Array) -> int:
    """The address of the first element of an array."""
    return int(array.__array_interface__["data"][0])
