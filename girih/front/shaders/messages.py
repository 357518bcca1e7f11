"""What compilers of shaders print, read as messages with places.

glslang writes `ERROR: FILE:LINE: 'token' : text`, glslc `FILE:LINE: error: text`, slangc `FILE(LINE): error N: text` up
to 2025, and since then a head, an arrow with the place, and the line with carets below.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from girih.lazy_dataclass import dataclass

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Message:
    """A message: `line` and `column` count from 1 and are 0 where they are not told, as is `width`, in code points.

    `label` is what stands at the place, `notes` are messages that explain this one.
    """

    severity: Severity
    text: str
    file: str = ""
    line: int = 0
    column: int = 0
    width: int = 0
    label: str = ""
    notes: tuple[Message, ...] = ()


_LINES = (
    re.compile(r"(?P<kind>ERROR|WARNING): (?:(?P<file>.+?):(?P<line>\d+): )?(?P<text>.*)"),
    re.compile(r"(?P<file>.+?):(?:(?P<line>\d+):)? (?P<kind>error|warning): (?P<text>.*)"),
    re.compile(r"(?P<file>.+?)\((?P<line>\d+)(?:,\d+)?\): (?P<kind>error|warning)\b[^:]*: (?P<text>.*)"),
    re.compile(r"(?P<kind>error|warning|note)(?:\[\w+\])?(?: \d+)?: (?P<text>.*)"),
)
"""A message on a line: of glslang, glslc and slangc up to 2025; the head of one of today's; one without a place."""

_ARROW = re.compile(r" *--> (?P<file>.*):(?P<line>\d+):(?P<column>\d+)")
_CARETS = re.compile(r" *\| (?P<before> *)(?P<carets>\^+)(?: (?P<label>.*))?")
_COUNT = re.compile(r"(ERROR: )?\d+ (compilation )?(error|warning)s?\b")
_CONSEQUENCES = (re.compile(r"compilation terminated"), re.compile(r"Linking .* stage: "))
"""What glslang adds to other errors: it went no further, and what it did not read is missing."""


def messages_in(text: str) -> list[Message]:
    """The messages in what a compiler printed, without those that only follow from others."""
    found = list(_joined(text))
    told = [one for one in found if not any(words.match(one.text) for words in _CONSEQUENCES)]
    return told if any(one.severity == "error" for one in told) else found


def _joined(text: str) -> Iterator[Message]:
    """The messages, with the places below their heads, and with notes where they belong."""
    made: Message | None = None
    is_note = False
    for line in text.splitlines():
        head = None if _COUNT.match(line) else _head(line)
        if head is not None and head[0] == "note" and made is not None:
            made, is_note = replace(made, notes=(*made.notes, head[1])), True
        elif head is not None:
            if made is not None:
                yield made
            made, is_note = head[1], False
        elif made is not None and is_note:
            made = replace(made, notes=(*made.notes[:-1], _placed(made.notes[-1], line)))
        elif made is not None:
            made = _placed(made, line)
    if made is not None:
        yield made


def _head(line: str) -> tuple[str, Message] | None:
    """The kind of a message that begins on a line, and the message; None where none begins."""
    match = next(filter(None, (one.fullmatch(line) for one in _LINES)), None)
    if match is None:
        return None
    parts = match.groupdict()
    kind = parts["kind"].lower()
    severity: Severity = "warning" if kind == "warning" else "error"
    text = parts["text"].strip().removeprefix("'' :").strip()
    return kind, Message(severity, text, parts.get("file") or "", int(parts.get("line") or 0))


def _placed(message: Message, line: str) -> Message:
    """A message with what a line below its head says of its place."""
    arrow = _ARROW.fullmatch(line)
    if arrow is not None and not message.file:
        return replace(message, file=arrow["file"], line=int(arrow["line"]), column=int(arrow["column"]))
    carets = _CARETS.fullmatch(line)
    if carets is not None and not message.width:
        return replace(message, width=len(carets["carets"]), label=(carets["label"] or "").strip())
    return message
