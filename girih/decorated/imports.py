"""Files of Python that cannot be imported: the exception as a diagnostic at the file's own line."""

from __future__ import annotations

import traceback

from girih.diagnostics import Diagnostic
from girih.front.python.codes import fault
from girih.source import Source, Span

BELOW = 'what is not needed to define kernels stands below `if __name__ == "__main__":`, which is not executed'


def not_imported(path: str, text: bytes, error: BaseException) -> Diagnostic:
    """What is wrong with a file whose import raised an error, at the innermost of its lines that is to blame."""
    source = Source(text.decode("utf-8", "replace").replace("\r\n", "\n"), path)
    name = type(error).__name__
    if isinstance(error, SyntaxError) and error.filename == path:
        span = _line(source, error.lineno or 1, error.offset or 1)
        return _told(f"the file is not Python: {error.msg}", span, None)
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    span = _line(source, lines[-1] or 1) if lines else Span(source, 0, 0)
    if isinstance(error, SystemExit):
        return _told("the file ends the process while it is imported", span, BELOW)
    hint = BELOW
    if isinstance(error, ImportError):
        hint = "install what it imports beside girih, or put it beside the file"
    shown = f"{name}: {error}" if str(error) else name
    return _told(f"the import of the file raised {shown}", span, hint)


def _told(message: str, span: Span, hint: str | None) -> Diagnostic:
    found = fault("import", message, span, hint).diagnostic
    assert found is not None
    return found


def _line(source: Source, number: int, column: int | None = None) -> Span:
    """A line of a source, without the blanks around it; from a column on, one character of it."""
    try:
        start, text = source.start_of(number), source.line(number)
    except IndexError:
        return Span(source, len(source.text), len(source.text))
    if column is not None:
        first = min(start + column - 1, start + len(text))
        return Span(source, first, min(first + 1, start + max(len(text), 1)))
    return Span(source, start + len(text) - len(text.lstrip()), start + len(text.rstrip()))
