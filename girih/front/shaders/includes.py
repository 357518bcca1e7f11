"""`#include` lines replaced by what they name, for a compiler that has no means to open files.

Lines keep the numbers and the names of their files by `#line` (GL_GOOGLE_cpp_style_line_directive).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from girih.source import Source

LARGEST = 8 * 1024 * 1024
"""The characters of a source with all that it includes; what is beyond is not included."""
DEEPEST = 64
"""The depth of files that include files."""

_EXTENSIONS = ("GL_GOOGLE_include_directive", "GL_ARB_shading_language_include")
_DIRECTIVE = re.compile(r'[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)[^\n]*')
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)


def with_includes(source: Source) -> tuple[str, tuple[Source, ...]]:
    """The text of a source with the files that it includes, and these.

    Lines that name no file stay, for the compiler to judge, and so do all where no extension enables the directive.
    """
    if not any(name in source.text for name in _EXTENSIONS):
        return source.text, ()
    files: dict[str, Source] = {}
    room = [LARGEST - len(source.text)]
    return "".join(_pasted(source, files, room, 0)), tuple(files.values())


def _pasted(source: Source, files: dict[str, Source], room: list[int], depth: int) -> Iterator[str]:
    comments = [match.span() for match in _COMMENT.finditer(source.text)]
    at = 0
    for match in _DIRECTIVE.finditer(source.text):
        begins_line = match.start() == 0 or source.text[match.start() - 1] == "\n"
        if not begins_line or any(start <= match.start() < end for start, end in comments):
            continue
        found = _file(match[1] or match[2], source, files)
        if found is None or depth == DEEPEST or len(found.text) > room[0]:
            continue
        room[0] -= len(found.text)
        number = source.line_and_column(match.start())[0]
        yield f'{source.text[at : match.start()]}#line 1 "{found.name}"\n'
        yield from _pasted(found, files, room, depth + 1)
        yield f'\n#line {number + 1} "{source.name}"'
        at = match.end()
    yield source.text[at:]


def _file(name: str, including: Source, files: dict[str, Source]) -> Source | None:
    """The file that a directive names, beside the one that includes it; None where there is none."""
    path = os.path.normpath(os.path.join(os.path.dirname(including.name), name))
    if path not in files:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                files[path] = Source(file.read(LARGEST + 1), path)
        except (OSError, ValueError):
            return None
    return files[path]
