"""Debug information: every instruction carries the line and column of the program that it comes from."""

from __future__ import annotations

import os

from girih.back.llvm.emit.text import ModuleText
from girih.source import NOWHERE, Span


class DebugInfo:
    """The debug information of one function, as metadata of its module."""

    def __init__(self, module: ModuleText, name: str, linkage_name: str, span: Span) -> None:
        self.linkage_name = linkage_name
        self._module = module
        self._known: dict[tuple[int, int], str] = {}
        folder, file = os.path.split(span.source.name if span is not NOWHERE else "")
        line = _line(span)[0]
        self._file = module.note(f'!DIFile(filename: "{_quoted(file)}", directory: "{_quoted(folder)}")')
        unit = module.note(
            f'distinct !DICompileUnit(language: DW_LANG_C99, file: {self._file}, producer: "girih", '
            "isOptimized: true, runtimeVersion: 0, emissionKind: LineTablesOnly)"
        )
        types = module.note("!DISubroutineType(types: !{})")
        self.subprogram = module.note(
            f'distinct !DISubprogram(name: "{_quoted(name)}", linkageName: "{_quoted(linkage_name)}", '
            f"scope: {self._file}, file: {self._file}, line: {line}, type: {types}, scopeLine: {line}, "
            f"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: {unit})"
        )
        version = module.note('!{i32 2, !"Debug Info Version", i32 3}')
        dwarf = module.note('!{i32 7, !"Dwarf Version", i32 4}')
        units = module.named.get("llvm.dbg.cu")
        module.named["llvm.dbg.cu"] = f"{units[:-1]}, {unit}}}" if units else f"!{{{unit}}}"
        module.named.setdefault("llvm.module.flags", f"!{{{version}, {dwarf}}}")

    def at(self, span: Span) -> str:
        """The end of the text of an instruction that comes from a place of the program: its metadata."""
        place = _line(span)
        found = self._known.get(place)
        if found is None:
            line, column = place
            column = column if column <= _LARGEST_COLUMN else 0
            node = self._module.note(f"!DILocation(line: {line}, column: {column}, scope: {self.subprogram})")
            found = self._known[place] = f", !dbg {node}"
        return found


def _line(span: Span) -> tuple[int, int]:
    if span is NOWHERE:
        return 1, 1
    return span.source.line_and_column(span.start)


_LARGEST_COLUMN = 2**16 - 1
"""LLVM counts no further; column 0 is an unknown one."""


def _quoted(text: str) -> str:
    """A text as a string of LLVM IR, with any characters in it escaped."""
    data = text.encode("utf-8", "backslashreplace")
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
