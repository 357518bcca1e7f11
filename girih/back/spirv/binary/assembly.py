"""A module that is being put together: ids, sections in their order, types and constants once each, what it declares.

    a = Assembly()
    number = a.type("i32")                                   ids of types by their words (`girih.back.spirv.code.types`)
    a.emit("OpIAdd", a.id_of(result), number, x, y)          an instruction of the function that is being written
    a.capability("Int64")

Words of enumerants may be given as `a.enumerant("StorageClass", "Workgroup")`. Nothing is checked here: the module that
comes out is validated.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import cache

from girih.back.llvm.emit.text import Val, bits
from girih.back.spirv.code.types import is_float
from girih.diagnostics import InternalError
from girih.source import NOWHERE, Span
from girih.spirv.binary import Header
from girih.spirv.grammar import grammar
from girih.spirv.instruction import RawInstruction, words_of
from girih.spirv.module import Module

VERSION = (1, 6)
GENERATOR = 0
"""No number is registered for girih."""

GLSL = "GLSL.std.450"


@cache
def opcode(name: str) -> int:
    """The number of an instruction."""
    return grammar().codes[name]


@cache
def enumerant(kind: str, name: str) -> int:
    """The number of an enumerant, or of several joined by `|`."""
    values = [grammar().kinds[kind].value(one) for one in name.split("|")]
    total = 0
    for value in values:
        total |= value
    return total


@cache
def extended(set_name: str, name: str) -> int:
    """The number of an extended instruction of a set."""
    known = grammar().extended(set_name)
    assert known is not None
    return next(one.value for one in known.values() if one.name == name)


_ENCODED = {
    "bfloat": (16, "BFloat16KHR", "BFloat16TypeKHR", "SPV_KHR_bfloat16"),
    "f8e4m3": (8, "Float8E4M3EXT", "Float8EXT", "SPV_EXT_float8"),
    "f8e5m2": (8, "Float8E5M2EXT", "Float8EXT", "SPV_EXT_float8"),
}
"""Floats of another encoding than IEEE 754's: width, encoding, capability, extension."""


class Assembly:
    """The sections of a module (SPIR-V 2.4), for Vulkan unless a class made of this one says otherwise."""

    version: tuple[int, int] = VERSION
    function_set: str = GLSL
    """The set of extended instructions that has functions of numbers."""
    contains_sources: bool = True
    """Whether the texts of files are part of the module, and not only their names."""

    def __init__(self) -> None:
        self.capabilities: dict[str, None] = {}
        self.extensions: dict[str, None] = {}
        self.modes: list[RawInstruction] = []
        self.interface: list[int] = []
        self.function: list[RawInstruction] = []
        """The instructions of the function that is being written."""
        self.functions: list[RawInstruction] = []
        self._imports: dict[str, int] = {}
        self._strings: dict[str, int] = {}
        self._sources: list[RawInstruction] = []
        self._names: list[RawInstruction] = []
        self._decorations: dict[RawInstruction, None] = {}
        self._globals: list[RawInstruction] = []
        self._known: dict[tuple[object, ...], int] = {}
        self._ids: dict[str, int] = {}
        self._bound = 1

    # --- ids -----------------------------------------------------------------------------

    def fresh(self) -> int:
        """A new id."""
        made = self._bound
        self._bound += 1
        return made

    def id_of(self, value: Val) -> int:
        """The id of a value: of a constant its declaration; any other gets its id when it is first met."""
        if not value.text.startswith("%"):
            return self.constant(value)
        known = self._ids.get(value.text)
        if known is None:
            known = self._ids[value.text] = self.fresh()
        return known

    def stands_for(self, value: Val, id: int) -> None:
        """Let a value be an id that there is already."""
        self._ids[value.text] = id

    # --- instructions --------------------------------------------------------------------

    def emit(self, name: str, *words: int) -> None:
        """Write an instruction of the function; words are in the grammar's order: result type, result, operands."""
        self.function.append(RawInstruction(opcode(name), words))

    def result(self, name: str, type: int, *words: int, into: Val | None = None) -> int:
        """Write an instruction with a result: its id, that of a value where one is given."""
        made = self.fresh() if into is None else self.id_of(into)
        self.emit(name, type, made, *words)
        return made

    def extended(self, name: str, type: int, *words: int, into: Val | None = None) -> int:
        """Write an instruction of `function_set` with a result."""
        functions = self.function_set
        return self.result("OpExtInst", type, self.imported(functions), extended(functions, name), *words, into=into)

    def declare(self, name: str, *words: int, key: tuple[object, ...] | None = None) -> int:
        """A declaration with a result and no result type, such as a type; the same one again for the same key."""
        found = self._known.get((name, *(key or words)))
        if found is None:
            found = self.fresh()
            self._known[(name, *(key or words))] = found
            self._globals.append(RawInstruction(opcode(name), (found, *words)))
        return found

    def declare_typed(self, name: str, type: int, *words: int, new: bool = False) -> int:
        """A declaration with a result type: a constant, or with `new` a variable, which is never the same."""
        found = None if new else self._known.get((name, type, *words))
        if found is None:
            found = self.fresh()
            if not new:
                self._known[(name, type, *words)] = found
            self._globals.append(RawInstruction(opcode(name), (type, found, *words)))
        return found

    # --- what a module declares ----------------------------------------------------------

    def capability(self, *names: str) -> None:
        """Declare capabilities."""
        for name in names:
            self.capabilities.setdefault(name)

    def extension(self, name: str) -> None:
        """Declare an extension."""
        self.extensions.setdefault(name)

    def imported(self, name: str) -> int:
        """The id of a set of extended instructions."""
        known = self._imports.get(name)
        if known is None:
            known = self._imports[name] = self.fresh()
        return known

    def name(self, id: int, name: str) -> None:
        """Name an id, for readers."""
        self._names.append(RawInstruction(opcode("OpName"), (id, *words_of(name))))

    def name_member(self, struct: int, member: int, name: str) -> None:
        """Name a member of a struct, for readers."""
        self._names.append(RawInstruction(opcode("OpMemberName"), (struct, member, *words_of(name))))

    def decorate(self, id: int, decoration: str, *words: int) -> None:
        """Decorate an id."""
        made = RawInstruction(opcode("OpDecorate"), (id, enumerant("Decoration", decoration), *words))
        self._decorations.setdefault(made)

    def decorate_member(self, struct: int, member: int, decoration: str, *words: int) -> None:
        """Decorate a member of a struct."""
        made = (struct, member, enumerant("Decoration", decoration), *words)
        self._decorations.setdefault(RawInstruction(opcode("OpMemberDecorate"), made))

    def mode(self, entry: int, name: str, *words: int) -> None:
        """Give the entry point an execution mode."""
        self.modes.append(RawInstruction(opcode("OpExecutionMode"), (entry, enumerant("ExecutionMode", name), *words)))

    def line(self, span: Span) -> None:
        """Say where the next instructions come from."""
        if span is NOWHERE or not span.source.name:
            return
        line, column = span.source.line_and_column(span.start)
        made = (self.source(span.source.name, span.source.text), line, column)
        self.function.append(RawInstruction(opcode("OpLine"), made))

    def source(self, name: str, text: str) -> int:
        """The id of the name of a file, whose text becomes part of a module that contains sources."""
        known = self._strings.get(name)
        if known is None:
            known = self._strings[name] = self.fresh()
            if not self.contains_sources:
                return known
            language = enumerant("SourceLanguage", "Unknown")
            # One instruction has at most 65535 words: a longer text is named, not contained.
            contained = words_of(text) if len(text.encode()) < 200_000 else ()
            self._sources.append(RawInstruction(opcode("OpSource"), (language, 0, known, *contained)))
        return known

    # --- types and constants -------------------------------------------------------------

    def type(self, word: str) -> int:
        """The id of a scalar type."""
        if word == "void":
            return self.declare("OpTypeVoid")
        if word == "i1":
            return self.declare("OpTypeBool")
        if word in ("half", "float", "double"):
            width = bits(word)
            if width != 32:
                self.capability(f"Float{width}")
            return self.declare("OpTypeFloat", width)
        if word in _ENCODED:
            width, encoding, capability, extension = _ENCODED[word]
            self.capability(capability)
            self.extension(extension)
            return self.declare("OpTypeFloat", width, enumerant("FPEncoding", encoding))
        if word[0] == "i" and word[1:].isdigit():
            return self.integer_type(int(word[1:]), signed=True)
        raise InternalError(f"SPIR-V has no type for {word!r}")

    def integer_type(self, width: int, *, signed: bool) -> int:
        """The id of an integer type."""
        if width != 32:
            self.capability(f"Int{width}")
        return self.declare("OpTypeInt", width, int(signed))

    def vector_type(self, word: str, count: int) -> int:
        """The id of a vector type."""
        return self.declare("OpTypeVector", self.type(word), count)

    def pointer_type(self, storage: str, pointee: int) -> int:
        """The id of a pointer type."""
        return self.declare("OpTypePointer", enumerant("StorageClass", storage), pointee)

    def constant(self, value: Val) -> int:
        """The id of a constant."""
        type = value.type
        if type == "i1":
            return self.declare_typed("OpConstantTrue" if value.literal else "OpConstantFalse", self.type(type))
        if value.text in ("poison", "undef"):
            return self.declare_typed("OpUndef", self.type(type))
        if is_float(type):
            return self.declare_typed("OpConstant", self.type(type), *_float_words(value))
        if value.literal is None:
            raise InternalError(f"{value} is no constant of shader code")
        return self.integer(value.literal, bits(type))

    def integer(self, value: int, width: int = 32, *, signed: bool = True) -> int:
        """The id of an integer constant."""
        type = self.integer_type(width, signed=signed)
        held = value & ((1 << width) - 1)
        if width == 64:
            return self.declare_typed("OpConstant", type, held & 0xFFFFFFFF, held >> 32)
        # Narrow numbers fill their word with their sign (SPIR-V 2.2.1).
        negative = signed and width < 32 and bool(held >> (width - 1))
        return self.declare_typed("OpConstant", type, held | (0xFFFFFFFF << width & 0xFFFFFFFF if negative else 0))

    def index(self, value: int) -> int:
        """The id of an unsigned constant of 32 bits, as scopes, semantics and members are given."""
        return self.integer(value, 32, signed=False)

    def has_float(self, width: int) -> bool:
        """Whether there are floats of so many bits."""
        return ("OpTypeFloat", width) in self._known

    # --- the whole -----------------------------------------------------------------------

    def module(self, entry: int, name: str, model: str, memory: tuple[str, str], told: str) -> Module:
        """The module with one entry point; `told` is its name in diagnostics."""
        parts: list[RawInstruction] = []

        def add(code: str, *words: int) -> None:
            parts.append(RawInstruction(opcode(code), words))

        for capability in self.capabilities:
            add("OpCapability", enumerant("Capability", capability))
        for extension in self.extensions:
            add("OpExtension", *words_of(extension))
        for imported, id in self._imports.items():
            add("OpExtInstImport", id, *words_of(imported))
        add("OpMemoryModel", enumerant("AddressingModel", memory[0]), enumerant("MemoryModel", memory[1]))
        add("OpEntryPoint", enumerant("ExecutionModel", model), entry, *words_of(name), *self.interface)
        parts += self.modes
        for text, id in self._strings.items():
            add("OpString", id, *words_of(text))
        parts += [*self._sources, *self._names, *self._decorations, *self._globals, *self.functions]
        return Module(Header(self.version, GENERATOR, self._bound, 0), tuple(parts), name=told)


def _float_words(value: Val) -> Iterable[int]:
    """The words of a float constant, whose text is the bits of a double."""
    number = struct.unpack(">d", int(value.text, 16).to_bytes(8, "big"))[0]
    if value.type == "bfloat":
        # Constants are numbers of the type: the low half of the f32 is 0.
        return [int.from_bytes(struct.pack("<f", number)[2:], "little")]
    form = {"half": "<e", "float": "<f", "double": "<d"}[value.type]
    data = struct.pack(form, number)
    data += b"\0" * (-len(data) % 4)
    return [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
