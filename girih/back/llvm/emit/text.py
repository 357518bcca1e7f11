"""LLVM IR as text: values, types, and the module that functions are written into.

A type is the string that LLVM writes, such as `i64`, `ptr`, `ptr addrspace(3)` or `<16 x float>`. Nothing here needs
llvmlite.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from math import isfinite

from girih.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Val:
    """An SSA value or a constant: its text, its type, and the depth of loops that it changes in (0: never)."""

    text: str
    type: str
    level: int = 0

    @property
    def literal(self) -> int | None:
        """The number of a scalar integer constant; None for any other value."""
        text = self.text
        if text[0] == "%" or self.type[0] != "i":
            return None
        if text in ("true", "false"):
            return int(text == "true")
        return int(text) if text.removeprefix("-").isdigit() else None

    def __str__(self) -> str:
        return f"{self.type} {self.text}"


Operand = Val | int
"""A value; an int stands for an `i64` constant."""


@lru_cache(maxsize=4096)
def lanes(type: str) -> int:
    """The number of elements of a vector type; 1 for any other type."""
    return int(type[1 : type.index(" ")]) if type[0] == "<" else 1


@lru_cache(maxsize=4096)
def scalar(type: str) -> str:
    """The element type of a vector type; any other type itself."""
    return type[type.index(" x ") + 3 : -1] if type[0] == "<" else type


@lru_cache(maxsize=4096)
def wide(type: str, count: int) -> str:
    """The vector type of `count` elements of a type; the type itself for 1."""
    return f"<{count} x {type}>" if count > 1 else type


_BITS = {"float": 32, "double": 64, "half": 16, "bfloat": 16}


def is_pointer(type: str) -> bool:
    """Whether a type is that of a single address."""
    return type.startswith("ptr")


def pointer(space: int = 0) -> str:
    """The type of addresses in an address space; 0 is the generic one."""
    return f"ptr addrspace({space})" if space else "ptr"


@lru_cache(maxsize=64)
def address_space(type: str) -> int:
    """The address space of a pointer type, or of its elements."""
    one = scalar(type)
    return int(one[len("ptr addrspace(") : -1]) if one != "ptr" else 0


@lru_cache(maxsize=4096)
def bits(type: str) -> int:
    """The size of a type, or of a vector's element type, in bits; addresses have 64 in every space."""
    one = scalar(type)
    return 64 if is_pointer(one) else _BITS.get(one) or int(one[1:])


def stored_type(type: str) -> str:
    """The type in memory of a value of a type; conditions are bytes there."""
    return wide("i8", lanes(type)) if scalar(type) == "i1" else type


def stored_bytes(type: str) -> int:
    """The bytes that a value of a type takes in memory."""
    return lanes(type) * bits(stored_type(type)) // 8


@lru_cache(maxsize=4096)
def value_bytes(type: str) -> int:
    """The bytes that a value of a type takes in a register: those of a vector, and eight for any other type."""
    return stored_bytes(type) if type[0] == "<" else 8


@lru_cache(maxsize=4096)
def mangled(type: str) -> str:
    """The text for a type in the names of overloaded intrinsics: `v16f32`, `i64`, `p0`."""
    one = scalar(type)
    short = {"float": "f32", "double": "f64", "half": "f16", "bfloat": "bf16"}.get(one, one)
    if is_pointer(one):
        short = f"p{address_space(one)}"
    return f"v{lanes(type)}{short}" if type[0] == "<" else short


@lru_cache(maxsize=4096)
def integer(value: int, type: str = "i64") -> Val:
    """An integer constant; for a vector type, in every element."""
    width = bits(type)
    wrapped = (value + (1 << width - 1)) % (1 << width) - (1 << width - 1) if width > 1 else value & 1
    text = str(wrapped) if width > 1 else ("true" if wrapped else "false")
    if lanes(type) == 1:
        return Val(text, type)
    return Val("zeroinitializer" if wrapped == 0 else f"splat ({scalar(type)} {text})", type)


def floating(value: float, type: str) -> Val:
    """A constant of `float` or `double`, rounded once; for a vector type, in every element."""
    text = _float_text(value, scalar(type))
    if lanes(type) == 1:
        return Val(text, type)
    zero = text == "0x0000000000000000"
    return Val("zeroinitializer" if zero else f"splat ({scalar(type)} {text})", type)


def _float_text(value: float, type: str) -> str:
    if type == "float" and isfinite(value):
        value = struct.unpack("<f", struct.pack("<f", value))[0]
    return "0x" + struct.pack(">d", value).hex().upper()


def constant_vector(values: list[int] | list[float], element: str) -> Val:
    """The constant vector of some numbers; `element` is its element type."""
    if element in ("float", "double"):
        texts = [_float_text(float(v), element) for v in values]
    else:
        texts = [integer(int(v), element).text for v in values]
    return Val("<" + ", ".join(f"{element} {t}" for t in texts) + ">", f"<{len(values)} x {element}>")


def poison(type: str) -> Val:
    """The poison value of a type, for values that are never used."""
    return Val("poison", type)


def zero(type: str) -> Val:
    """The zero of a type."""
    if lanes(type) > 1:
        return Val("zeroinitializer", type)
    if type in ("float", "double"):
        return floating(0.0, type)
    return Val("null", type) if is_pointer(type) else integer(0, type)


GENERAL_REGISTERS = {f"i{bits}": "r" for bits in (8, 16, 32, 64)}
"""What inline assembly calls the register of an integer where all are of one kind, as on processors."""


@dataclass(slots=True)
class ModuleText:
    """A module that is being written: declarations, functions, constants and debug information.

    `registers` has the names of registers for types in the target's inline assembly. On NVPTX they differ (`r` has 32
    bits, `l` has 64, and LLVM silently cuts values that do not fit), so that every target gives its own; a target
    without names hides no values from LLVM.
    """

    registers: Mapping[str, str]
    declarations: dict[str, str] = field(default_factory=dict)
    globals: dict[str, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)
    value_bytes: list[int] = field(default_factory=list)
    """The bytes of all values of each function that a writer has written."""
    metadata: list[str] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)
    calls: bool = True
    """Whether functions written on demand are called; otherwise they become part of the code that would call them."""
    helpers: set[str] = field(default_factory=set)
    """Names of functions written on demand."""

    def hidden(self, a: Val) -> str | None:
        """The text of an instruction whose result is a value, but unknown to LLVM; None if the target has none."""
        register = self.registers.get(a.type)
        return None if register is None else f'call {a.type} asm "", "={register},0"({a})'

    def declare(self, name: str, result: str, parameters: tuple[str, ...], attributes: str = "") -> None:
        """Declare a function or intrinsic; `name` is without `@`."""
        if name not in self.declarations:
            listed = ", ".join(parameters)
            self.declarations[name] = f"declare {result} @{name}({listed}) {attributes}".rstrip()

    def note(self, text: str) -> str:
        """The name of a metadata node, which is added to the module."""
        self.metadata.append(text)
        return f"!{len(self.metadata) - 1}"

    def __str__(self) -> str:
        nodes = [f"!{k} = {text}" for k, text in enumerate(self.metadata)]
        named = [f"!{name} = {text}" for name, text in self.named.items()]
        parts = [*self.globals.values(), *self.declarations.values(), *self.functions, *named, *nodes]
        return "\n".join(parts) + "\n"
