"""A SPIR-V module as it is: every instruction in order, whether the rules hold or not.

A module is a value: nothing changes it, and two of the same instructions are equal. Bytes that were read come back as
they were (`Module.from_bytes(data).to_bytes() == data`); what the grammar reads in the words is worked out when it is
asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from girih.lazy_dataclass import dataclass
from girih.source import Source
from girih.spirv.binary import ByteOrder, Header, read_module, write_module
from girih.spirv.grammar import grammar
from girih.spirv.instruction import Instruction, RawInstruction, read, string_of

if TYPE_CHECKING:
    from girih.spirv.listing import Listing

EXT_INST_IMPORT = 11
TYPE_INT = 21
TYPE_FLOAT = 22


@dataclass(frozen=True)
class Module:
    """A module: its header and its instructions as words.

    `name` is what diagnostics call it. `listing` is the text that it was read from, with the places of its
    instructions; None for a module that was read from bytes. `sources` are texts that it was compiled from, for debug
    information that names files without their texts.
    """

    header: Header
    raw: tuple[RawInstruction, ...]
    byte_order: ByteOrder = "little"
    name: str = field(default="<module>", compare=False)
    listing: Listing | None = field(default=None, compare=False, repr=False)
    sources: tuple[Source, ...] = field(default=(), compare=False, repr=False)

    def __repr__(self) -> str:
        version = "{}.{}".format(*self.header.version)
        return f"<SPIR-V {version} module {self.name}: {len(self.raw)} instructions>"

    @staticmethod
    def from_bytes(data: bytes, name: str = "<bytes>") -> Module:
        """The module in bytes, of either byte order. Raises `CompileError` where they are not a module."""
        header, instructions, order = read_module(bytes(data), name)
        return Module(header, instructions, order, name)

    @staticmethod
    def from_text(text: str, name: str = "<text>") -> Module:
        """The module that a text in the syntax of spirv-as says. Raises `CompileError` with all that is wrong."""
        from girih.spirv.assemble import assemble

        return assemble(text, name)

    def to_bytes(self) -> bytes:
        """The module as bytes, in the byte order in which it was read."""
        return write_module(self.header, self.raw, self.byte_order)

    def to_text(self, *, friendly_names: bool = True, indent: bool = True, header: bool = True) -> str:
        """The module as spirv-dis writes it.

        Ids are named after OpName and after what they are (`%float`, `%uint_4`); numbers with `friendly_names=False`.
        """
        from girih.spirv.disassemble import disassemble

        return disassemble(self, friendly_names=friendly_names, indent=indent, header=header).text

    def specialise(self, definitions: Mapping[int | str, object]) -> Module:
        """The module as it is compiled with values for its specialisation constants, by SpecId or by name.

        The others have their defaults; no specialisation constant is left. Raises `CompileError` for an unknown
        constant or a value that its type does not have.
        """
        from girih.spirv.specialise import specialised

        return specialised(self, definitions)

    def renamed(self, name: str) -> Module:
        """The same module under another name in diagnostics."""
        return replace(self, name=name)

    @cached_property
    def shown(self) -> Listing:
        """The text that the module was read from, else its disassembly: where diagnostics point."""
        from girih.spirv.disassemble import disassemble

        return self.listing or disassemble(self, friendly_names=True, indent=True, header=True)

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """The instructions as the grammar reads them."""
        return tuple(read(index, raw, self) for index, raw in enumerate(self.raw))

    @cached_property
    def definitions(self) -> Mapping[int, Instruction]:
        """The instruction that makes each id; the first, where several do."""
        made: dict[int, Instruction] = {}
        for instruction in self.instructions:
            if instruction.result:
                made.setdefault(instruction.result, instruction)
        return made

    @cached_property
    def sets(self) -> Mapping[int, str]:
        """The names of the imported sets of extended instructions, by id."""
        imports = (words for opcode, words in self.raw if opcode == EXT_INST_IMPORT and len(words) > 1)
        return {words[0]: _name_in(words[1:]) for words in imports}

    def set_name(self, set_id: int) -> str | None:
        """The name of an imported set of extended instructions."""
        return self.sets.get(set_id)

    @cached_property
    def _typed(self) -> Mapping[int, int]:
        """The type of each id that has one, from the words alone: the reading of instructions asks for it."""
        specs = {spec.code for spec in grammar().opcodes if spec.has_result_type}
        return {words[1]: words[0] for opcode, words in self.raw if opcode in specs and len(words) > 1}

    @cached_property
    def _wide(self) -> frozenset[int]:
        """The types of integers and floats of more than 32 bits."""
        numbers = (TYPE_INT, TYPE_FLOAT)
        return frozenset(words[0] for opcode, words in self.raw if opcode in numbers and words[1:] and words[1] > 32)

    def literal_words(self, selector: int) -> int:
        """The number of words of a literal of the type of an id."""
        return 2 if self._typed.get(selector) in self._wide else 1


def _name_in(words: tuple[int, ...]) -> str:
    try:
        return string_of(words)
    except ValueError:
        return ""
