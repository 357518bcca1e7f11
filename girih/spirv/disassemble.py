"""The text of a module, as spirv-dis writes it, whatever stands in the module.

What the grammar does not know is written so that it assembles back to the same words: an opcode as
`OpUnknown(4711, 3) !0x1 !0x2`, with its number of words; an enumerant, and a number that its type does not have, as the
word itself, `!0x5`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from girih.source import Source
from girih.spirv.binary import Header
from girih.spirv.friendly_names import friendly_names as names_of_ids
from girih.spirv.grammar import bits_of, grammar
from girih.spirv.instruction import Instruction, Operand, words_of
from girih.spirv.listing import UNKNOWN, Listing
from girih.spirv.literals import FLOAT, TYPE_FLOAT, TYPE_INT, number_text, number_type, quoted
from girih.spirv.module import Module

INDENT = 15
"""Columns before an opcode, in which the result stands."""

# SPIRV-Tools 2025.5, source/ext_inst.cpp: sets whose instructions it reads and writes as numbers only.
SETS_OF_NUMBERS = ("NonSemantic.DebugPrintf", "NonSemantic.DebugBreak", "NonSemantic.Shader.DebugInfo")

NUMBERS = (TYPE_INT, TYPE_FLOAT)
SWITCH = 251

_GENERATOR = re.compile(r"(.*); (\d+)")
_UNKNOWN_GENERATOR = re.compile(r"Unknown\((\d+)\)")


def disassemble(module: Module, *, friendly_names: bool = True, indent: bool = True, header: bool = True) -> Listing:
    """The listing of a module.

    Ids are named after OpName and after what they are, or are numbers; opcodes are indented so that results stand
    before them; the header is five lines of comment.
    """
    written = _Lines(module, friendly_names, INDENT if indent else 0)
    lines = list(header_lines(module.header)) if header else []
    at = sum(len(line) + 1 for line in lines)
    places = []
    for instruction in module.instructions:
        line, start = written.line(instruction)
        places.append((at + start, at + len(line)))
        lines.append(line)
        at += len(line) + 1
    text = "".join(f"{line}\n" for line in lines)
    return Listing(Source(text, module.name), places, frozenset(written.wide))


def header_lines(header: Header) -> Iterator[str]:
    """The lines of comment that tell the header of a module."""
    yield "; SPIR-V"
    yield "; Version: {}.{}".format(*header.version)
    yield f"; Generator: {generator_of(header.generator)}"
    yield f"; Bound: {header.bound}"
    yield f"; Schema: {header.schema}"


def generator_of(word: int) -> str:
    """The generator that the word of a header names: `Khronos SPIR-V Tools Assembler; 0`."""
    tool, other = word >> 16, word & 0xFFFF
    return f"{grammar().generators.get(tool) or f'Unknown({tool})'}; {other}"


def generator_number(text: str) -> int | None:
    """The word for a generator as a header line names it: `Khronos SPIR-V Tools Assembler; 0`. None for no such."""
    matched = _GENERATOR.fullmatch(text)
    if matched is None or int(matched[2]) > 0xFFFF:
        return None
    unknown = _UNKNOWN_GENERATOR.fullmatch(matched[1])
    tools = grammar().generators.items()
    tool = int(unknown[1]) if unknown else next((number for number, name in tools if name == matched[1]), None)
    return tool << 16 | int(matched[2]) if tool is not None and tool <= 0xFFFF else None


class _Lines:
    """The words of instructions as text. `wide` are the instructions with numbers of two words."""

    def __init__(self, module: Module, friendly: bool, indent: int) -> None:
        self.module = module
        named = names_of_ids(module) if friendly else {}
        self.names: Mapping[object, str] = {number: f"%{name}" for number, name in named.items()}
        self.blanks = " " * indent
        self.width = max(indent - 3, 0)
        declared = ((i.result, number_type(i.opcode, i.words)) for i in module.instructions if i.opcode in NUMBERS)
        self.numbers = {number: kind for number, kind in declared if kind is not None}
        self.wide: set[int] = set()
        self.enumerants: dict[tuple[str, int], str | None] = {}

    def line(self, instruction: Instruction) -> tuple[str, int]:
        """The line of an instruction, and the columns before it."""
        spec, malformed, size = instruction.spec, instruction.malformed, len(instruction.words)
        if spec is None or (malformed and (malformed.rule == "surplus" or malformed.word >= size)):
            parts = [f"{UNKNOWN}({instruction.opcode}, {size + 1})", *self.immediates(instruction, 0)]
            return self.blanks + " ".join(parts), len(self.blanks)
        parts = [spec.name]
        end = malformed.word if malformed else size
        names = self.names
        for operand in instruction.operands:
            _, kind, value, word, _ = operand
            if word >= end:
                break
            if kind == "IdRef" or kind == "IdResultType":
                parts.append(names.get(value) or f"%{value}")
            elif kind != "IdResult":
                text = self.text(instruction, operand)
                if text is None:
                    end = word
                    break
                parts.append(text)
        if end < size:
            parts += self.immediates(instruction, end)
        line = " ".join(parts)
        if not spec.has_result:
            return self.blanks + line, len(self.blanks)
        result = names.get(instruction.result) or f"%{instruction.result}"
        return f"{result.rjust(self.width)} = {line}", max(self.width - len(result), 0)

    def immediates(self, instruction: Instruction, start: int) -> Iterator[str]:
        """The words from one on as they stand: `!0x5`; ids that the grammar read by their names."""
        at = start
        for operand in instruction.operands:
            if operand.word >= start:
                words = instruction.words[operand.word : operand.word + operand.size]
                is_id = operand.is_id or operand.kind == "IdResult"
                yield from (self.names.get(w) or f"%{w}" if is_id else f"!{w:#x}" for w in words)
                at = operand.word + operand.size
        yield from (f"!{word:#x}" for word in instruction.words[at:])

    def text(self, instruction: Instruction, operand: Operand) -> str | None:
        """An operand as text; None where only its words say what it is."""
        kind, value = operand.kind, operand.value
        if isinstance(value, str):
            words = instruction.words[operand.word : operand.word + operand.size]
            return quoted(value) if words_of(value) == words else None
        if isinstance(value, tuple):
            return self.number(instruction, value)
        if kind == "LiteralInteger":
            return str(value)
        if operand.is_id:
            return self.names.get(value) or f"%{value}"
        if kind == "LiteralFloat":
            return number_text((value,), FLOAT)
        if kind == "LiteralExtInstInteger":
            name = self.module.set_name(instruction.id("set")) or ""
            listed = name if name in grammar().set_names else name.rpartition(".")[0]
            known = grammar().extended(name) if listed not in SETS_OF_NUMBERS else None
            return known[value].name if known and value in known else str(value)
        if (kind, value) not in self.enumerants:
            self.enumerants[kind, value] = _enumerant_text(kind, value)
        return self.enumerants[kind, value]

    def number(self, instruction: Instruction, words: tuple[int, ...]) -> str | None:
        """A number whose type is that of the result or, in a switch, that of the selector."""
        declared = instruction.result_type
        if instruction.opcode == SWITCH:
            selector = self.module.definitions.get(instruction.id("selector"))
            declared = selector.result_type if selector else 0
        kind = self.numbers.get(declared)
        if kind is None or (instruction.opcode == SWITCH and kind.kind == "float"):
            return None
        text = number_text(words, kind)
        if text is not None and len(words) > 1:
            self.wide.add(instruction.index)
        return text


def _enumerant_text(kind: str, value: int) -> str | None:
    """The name of a value or of the bits of a mask; None for an empty mask that has no name."""
    if kind == "LiteralSpecConstantOpInteger":
        spec = grammar().opcode(value)
        return spec.name.removeprefix("Op") if spec else None
    known = grammar().kinds[kind]
    if known.category == "BitEnum" and value:
        return "|".join(known.by_value[bit].name for bit in bits_of(value))
    return known.by_value[value].name if value in known.by_value else None
