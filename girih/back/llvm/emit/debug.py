"""Debug information: every instruction carries the line and column of the program that it comes from.

Only debuggers, and whoever reads code, look at it, and LLVM takes a tenth longer for functions that have it, so that
it may be left out.
"""

from __future__ import annotations

import os

from girih.back.llvm.emit.text import ModuleText
from girih.source import NOWHERE, Source, Span


class DebugInfo:
    """The debug information of one function, as metadata of its module; nothing without `lines`.

    `attached` is the end of the first line of the function's definition. With `directives` the lines are in the form of
    PTX, which has no tables of its own.
    """

    def __init__(
        self,
        module: ModuleText,
        name: str,
        linkage_name: str,
        span: Span,
        *,
        lines: bool = True,
        directives: bool = False,
    ) -> None:
        self.linkage_name = linkage_name
        self._module, self._lines = module, lines
        self._kind = "DebugDirectivesOnly" if directives else "LineTablesOnly"
        self.attached = ""
        if lines:
            self._describe(name, span)

    def _describe(self, name: str, span: Span) -> None:
        """Write the metadata of the function."""
        module, linkage_name = self._module, self.linkage_name
        self._known: dict[tuple[Source, int, int], str] = {}
        self._scopes: dict[Source, str] = {}
        self._source = span.source
        self._file = self._file_of(span.source.name)
        line = _line(span)[0]
        unit = module.note(
            f'distinct !DICompileUnit(language: DW_LANG_C99, file: {self._file}, producer: "girih", '
            f"isOptimized: true, runtimeVersion: 0, emissionKind: {self._kind})"
        )
        types = module.note("!DISubroutineType(types: !{})")
        self._subprogram = module.note(
            f'distinct !DISubprogram(name: "{_quoted(name)}", linkageName: "{_quoted(linkage_name)}", '
            f"scope: {self._file}, file: {self._file}, line: {line}, type: {types}, scopeLine: {line}, "
            f"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: {unit})"
        )
        self.attached = f" !dbg {self._subprogram}"
        version = module.note('!{i32 2, !"Debug Info Version", i32 3}')
        dwarf = module.note('!{i32 7, !"Dwarf Version", i32 4}')
        units = module.named.get("llvm.dbg.cu")
        module.named["llvm.dbg.cu"] = f"{units[:-1]}, {unit}}}" if units else f"!{{{unit}}}"
        module.named.setdefault("llvm.module.flags", f"!{{{version}, {dwarf}}}")

    def of_part(self, name: str, span: Span) -> DebugInfo:
        """The debug information of a function for a part of this one."""
        return DebugInfo(self._module, name, name, span, lines=self._lines)

    def at(self, span: Span) -> str:
        """The end of the text of an instruction that comes from a place of the program: its metadata."""
        if not self._lines:
            return ""
        line, column = _line(span)
        place = (span.source, line, column)
        found = self._known.get(place)
        if found is None:
            column = column if column <= _LARGEST_COLUMN else 0
            node = self._module.note(f"!DILocation(line: {line}, column: {column}, scope: {self._scope(span)})")
            found = self._known[place] = f", !dbg {node}"
        return found

    def _scope(self, span: Span) -> str:
        """The scope of a place: the function itself, or, for one in another source, a part of it in that file."""
        source = span.source
        if source is self._source or span is NOWHERE:
            return self._subprogram
        if source not in self._scopes:
            file = self._file_of(source.name)
            part = f"!DILexicalBlockFile(scope: {self._subprogram}, file: {file}, discriminator: 0)"
            self._scopes[source] = self._module.note(part)
        return self._scopes[source]

    def _file_of(self, path: str) -> str:
        folder, file = os.path.split(path)
        # LLVM takes no empty name.
        file = file or "<text>"
        return self._module.note(f'!DIFile(filename: "{_quoted(file)}", directory: "{_quoted(folder)}")')


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
