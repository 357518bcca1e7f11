"""The places of instructions in the source that a module was compiled from, where debug information has them.

OpLine with OpSource (SPIR-V 3.42.2), and DebugLine, DebugSource and the declarations of functions and variables of
NonSemantic.Shader.DebugInfo. A place counts only where the text of the source is inside the module, or was given
with it (`Module.sources`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from girih.source import Source, Span
from girih.spirv.instruction import Instruction
from girih.spirv.module import Module
from girih.spirv.values import declarations_of
from girih.spirv.vocabulary import TERMINATORS

DEBUG_SETS = ("NonSemantic.Shader.DebugInfo.100", "NonSemantic.Shader.DebugInfo.101")
"""The sets of debug instructions; what is read here is the same in both."""

_ENDS_BLOCK = TERMINATORS | {"OpFunctionEnd"}
"""Instructions after which a line no longer holds (SPIR-V OpLine)."""


class SourceLines:
    """The places in source texts of a module's instructions, found in one pass."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._strings = {one.result: one.text("string") for one in module.instructions if one.name == "OpString"}
        self._values: Mapping[int, object] = {}
        self._sources: dict[int, Source] = {}
        self._spans: dict[int, Span] = {}
        self._functions: dict[int, Span] = {}
        self._pass()

    def of(self, index: int) -> Span | None:
        """The place of an instruction by its index; None where the module does not tell it, or lacks the text."""
        return self._spans.get(index)

    def _pass(self) -> None:
        listed = self._module.instructions
        if not any(one.name == "OpLine" for one in listed) and not any(
            name in DEBUG_SETS for name in self._module.sets.values()
        ):
            return
        self._values = declarations_of(self._module.instructions).values
        self._read_sources(listed)
        here: Span | None = None
        for one in listed:
            extended = self._extended(one)
            if one.name == "OpLine":
                here = self._span(one.id("file"), one.id("line"), one.id("column"))
            elif extended == "DebugLine":
                here = self._debug_line(one)
            elif one.name == "OpNoLine" or extended == "DebugNoLine":
                here = None
            elif extended:
                self._declaration(one, extended)
            elif here is not None:
                self._spans.setdefault(one.index, here)
            if one.name in _ENDS_BLOCK:
                here = None

    def _extended(self, one: Instruction) -> str:
        """The name of an instruction of the debug information; empty for any other."""
        if one.name != "OpExtInst" or self._module.set_name(one.id("set")) not in DEBUG_SETS:
            return ""
        return _DEBUG_NAMES.get(one.id("instruction"), "other")

    def _read_sources(self, listed: tuple[Instruction, ...]) -> None:
        """The source texts, by the ids that lines name: of the file's OpString, or of a DebugSource."""
        known = {file: given for file in self._strings.values() if (given := self._given(file)) is not None}
        self._sources = {id: known[file] for id, file in self._strings.items() if file in known}
        texts: dict[int, list[str]] = {}
        files: dict[int, str] = {}
        last = 0
        for one in listed:
            extended = self._extended(one)
            if one.name == "OpSource" and one.text("source"):
                last = one.id("file")
                texts[last], files[last] = [one.text("source")], self._strings.get(last, "")
            elif one.name == "OpSourceContinued" and last in texts:
                texts[last].append(one.text("continued_source"))
            elif extended == "DebugSource":
                file, text = _operands(one, 2)
                if text in self._strings:
                    last = one.result
                    texts[last], files[last] = [self._strings[text]], self._strings.get(file, "")
                elif self._strings.get(file) in known:
                    self._sources[one.result] = known[self._strings[file]]
            elif extended == "DebugSourceContinued" and last in texts:
                texts[last].append(self._strings.get(_operands(one, 1)[0], ""))
        for id, parts in texts.items():
            given = self._given(files[id])
            # Some compilers write the whole path of the file that they were given.
            name = given.name if given else os.path.normpath(files[id]) if files[id] else self._module.name
            self._sources[id] = Source(without_preamble("".join(parts)), name)

    def _given(self, file: str) -> Source | None:
        """The text that was given with the module for a file: of the same path, else the only one of that name."""
        listed = self._module.sources
        same = [one for one in listed if os.path.abspath(one.name) == os.path.abspath(file)]
        alike = [one for one in listed if os.path.basename(one.name) == os.path.basename(file)]
        found = same or (alike if len(alike) == 1 else [])
        return found[0] if found else None

    def _span(self, source_id: int, line: int, column: int, end_line: int = 0, end_column: int = 0) -> Span | None:
        """The place of a line and a column, from 1; column 0 means the whole line."""
        source = self._sources.get(source_id)
        if source is None:
            return None
        try:
            text = source.line(line) if line > 0 else None
        except IndexError:
            return None
        if text is None:
            return None
        start = source.start_of(line)
        first = len(text) - len(text.lstrip())
        if 0 < column <= len(text):
            first = column - 1
        last = len(text.rstrip())
        if end_line == line and first + 1 < end_column <= len(text) + 1:
            last = end_column - 1
        return Span(source, start + first, start + max(last, first + 1))

    def _debug_line(self, one: Instruction) -> Span | None:
        source, *rest = _operands(one, 5)
        line, end_line, column, end_column = map(self._number, rest)
        return self._span(source, line, column, end_line, end_column)

    def _number(self, id: int) -> int:
        value = self._values.get(id, 0)
        return value if isinstance(value, int) else 0

    def _declaration(self, one: Instruction, extended: str) -> None:
        """Take up the place of a function or a variable that debug information describes."""
        if extended in ("DebugGlobalVariable", "DebugFunction"):
            _, _, source, line, column, _, _, variable = _operands(one, 8)
            span = self._span(source, self._number(line), self._number(column))
            if span is None:
                return
            self._functions[one.result] = span
            if extended == "DebugGlobalVariable":
                self._place(variable, span)
        elif extended == "DebugFunctionDefinition":
            function, definition = _operands(one, 2)
            if function in self._functions:
                self._place(definition, self._functions[function])

    def _place(self, id: int, span: Span) -> None:
        defined = self._module.definitions.get(id)
        if defined is not None:
            self._spans[defined.index] = span


_DEBUG_NAMES = {
    18: "DebugGlobalVariable", 20: "DebugFunction", 35: "DebugSource", 101: "DebugFunctionDefinition",
    102: "DebugSourceContinued", 103: "DebugLine", 104: "DebugNoLine",
}  # fmt: skip
"""The instructions of the debug information that tell places, by number."""


def _operands(one: Instruction, count: int) -> tuple[int, ...]:
    """The first operands of an extended instruction, whether the grammar names them or not; 0 for absent ones."""
    return (one.words[4:] + (0,) * count)[:count]


def without_preamble(text: str) -> str:
    """A source without the comments that glslang writes before it, which end with `#line 1`: lines count from there."""
    at = 0
    for line in text.splitlines(keepends=True):
        at += len(line)
        if line.strip() == "#line 1":
            return text[at:]
        if line.strip() and not line.startswith("//"):
            break
    return text
