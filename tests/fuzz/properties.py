"""What must be true of any text and of any accepted program; a violation raises `Violation` with the text."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable

import girih
from girih.diagnostics import Diagnostic, errors
from girih.front.text.format import format_source
from girih.front.text.parser import parse_text
from girih.ops.tile import TILE_LANGUAGE
from girih.program import analyze
from girih.source import Source, Span

SECONDS = 2.0
SECONDS_PER_CHARACTER = 1e-3
"""What checking a text may take at most: a hang is far above, a slow machine below."""


class Violation(Exception):
    """A text for which something that must hold does not."""

    def __init__(self, kind: str, detail: str, text: str) -> None:
        super().__init__(f"{kind}: {detail}\n--- the text:\n{text}")
        self.kind = kind
        self.detail = detail
        self.text = text


def _place_is_valid(span: Span, text: str) -> bool:
    inside = span.source.text == "" or 0 <= span.start <= span.end <= len(text)
    return (
        inside and span.line >= 1 and span.column >= 1 and (span.end_line, span.end_column) >= (span.line, span.column)
    )


def _diagnostic_holds(diagnostic: Diagnostic, text: str) -> bool:
    spans = (diagnostic.span, *(span for span, _ in diagnostic.labels))
    return (
        all(_place_is_valid(span, text) for span in spans)
        and bool(diagnostic.render())
        and bool(json.dumps(diagnostic.to_json()))
        and diagnostic.severity in ("error", "warning")
        and bool(diagnostic.message)
    )


def checked(text: str) -> list[Diagnostic]:
    """What the checker says of a text; raises `Violation` where it fails, hangs, or says what cannot be shown."""
    begin = time.process_time()
    try:
        found = girih.check(text)
        wrong = [d for d in found if not _diagnostic_holds(d, text)]
    except Exception:
        raise Violation("traceback", traceback.format_exc(limit=-4), text) from None
    if time.process_time() - begin > SECONDS + SECONDS_PER_CHARACTER * len(text):
        raise Violation("hang", f"checking took {time.process_time() - begin:.1f} s", text)
    if wrong:
        raise Violation("diagnostic", repr(wrong[0]), text)
    return found


def printed(text: str) -> str:
    """The canonical text of an accepted one, which parses to the same module and prints as itself."""
    try:
        module, problems = analyze(Source(text))
        canonical = str(module)
        again, more = analyze(Source(canonical))
        same = module == again
        once_more = str(again)
    except Exception:
        raise Violation("traceback", traceback.format_exc(limit=-4), text) from None
    if sorted(d.code for d in problems) != sorted(d.code for d in more):
        raise Violation("print", f"the printed program is told {[str(d) for d in errors(more)]}", text)
    if not same:
        raise Violation("print", f"the printed program is another one:\n{canonical}", text)
    if once_more != canonical:
        raise Violation("print", f"the printed program prints differently:\n{canonical}\n{once_more}", text)
    return canonical


def formatted(text: str) -> str:
    """The text in canonical layout, which means the same and is its own layout; a faulty text is left as it is."""
    try:
        laid_out, problems = format_source(Source(text), TILE_LANGUAGE)
        module, faults = parse_text(Source(text), TILE_LANGUAGE)
        again, _ = parse_text(Source(laid_out), TILE_LANGUAGE)
        # Unknown names and definitions stand for no value to compare; `fmt` keeps every word of such a text.
        same = bool(errors(faults)) or module == again
        once_more, _ = format_source(Source(laid_out), TILE_LANGUAGE)
    except Exception:
        raise Violation("traceback", traceback.format_exc(limit=-4), text) from None
    if problems and laid_out != text:
        raise Violation("fmt", "a faulty text was changed", text)
    if not same:
        raise Violation("fmt", f"the program in canonical layout is another one:\n{laid_out}", text)
    if once_more != laid_out:
        raise Violation("fmt", f"the layout of the layout is another one:\n{laid_out}\n{once_more}", text)
    return laid_out


def text_holds(text: str) -> bool:
    """Everything above for one text; whether it is accepted."""
    rejected = bool(errors(checked(text)))
    formatted(text)
    if not rejected:
        printed(text)
    return not rejected


def _fails_as(kind: str, holds: Callable[[str], object], text: str) -> bool:
    try:
        holds(text)
    except Violation as violation:
        return violation.kind == kind
    return False


def minimised(violation: Violation, holds: Callable[[str], object], seconds: float = 20.0) -> str:
    """A shorter text that fails in the same way: pieces of lines, then of characters, are left out."""
    end = time.monotonic() + seconds
    text = _without_pieces(violation.text.splitlines(keepends=True), violation.kind, holds, end)
    if len(text) < 2000:
        text = _without_pieces(list(text), violation.kind, holds, end)
    return text


def _without_pieces(pieces: list[str], kind: str, holds: Callable[[str], object], end: float) -> str:
    size = max(1, len(pieces) // 2)
    while size and time.monotonic() < end:
        begin = 0
        while begin < len(pieces) and time.monotonic() < end:
            fewer = pieces[:begin] + pieces[begin + size :]
            if _fails_as(kind, holds, "".join(fewer)):
                pieces = fewer
            else:
                begin += size
        size //= 2
    return "".join(pieces)
