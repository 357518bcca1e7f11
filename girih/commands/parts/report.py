"""Diagnostics and findings on a terminal or in a pipe: colours on terminals only, and after a hundred a count."""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import IO, Any

import click

from girih.diagnostics import SHOWN, Diagnostic, Finding, plural

_COLOURS = {"error": "red", "finding": "red", "warning": "yellow", "remark": "blue"}
_HEAD = re.compile(r"^(error|warning|remark|finding)(\[[^\]]*\])?(:.*)$", re.S)


def coloured(stream: IO[Any]) -> bool:
    """Whether a stream is a terminal that wants colours (see no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str) -> str:
    """The text of a diagnostic or finding with its severity, carets and hint in colour."""
    first, *rest = text.split("\n")
    head = _HEAD.match(first)
    if head is None:
        return text
    colour = _COLOURS[head[1]]
    lines = [click.style(head[1] + (head[2] or ""), fg=colour, bold=True) + click.style(head[3], bold=True)]
    for line in rest:
        if re.match(r" +\| +\^", line):
            bar, under = line.split("|", 1)
            lines.append(bar + "|" + click.style(under, fg=colour))
        elif line.startswith("  hint: "):
            lines.append("  " + click.style("hint:", fg="cyan", bold=True) + line[7:])
        else:
            lines.append(line)
    return "\n".join(lines)


def print_items(items: Sequence[Diagnostic | Finding], already: int = 0, *, to_stderr: bool = False) -> int:
    """The number of diagnostics or findings shown, after printing more up to the hundredth and a count of the rest."""
    stream = sys.stderr if to_stderr else sys.stdout
    colours = coloured(stream)
    shown = items[: max(0, SHOWN - already)]
    for item in shown:
        text = item.render()
        click.echo((paint(text) if colours else text) + "\n", file=stream, color=colours)
    if len(shown) < len(items):
        click.echo(f"... and {len(items) - len(shown)} more\n", file=stream)
    return already + len(shown)


def counted(items: Sequence[Diagnostic | Finding]) -> str:
    """The count of diagnostics or findings in words: `2 errors, 1 warning`, or `no errors`."""
    counts = Counter(item.severity if isinstance(item, Diagnostic) else "finding" for item in items)
    parts = [plural(counts[kind], kind) for kind in ("error", "finding", "warning", "remark") if counts[kind]]
    if not counts["error"] and not counts["finding"]:
        parts.insert(0, "no errors")
    return ", ".join(parts)


def print_json(value: object) -> None:
    """Print a value as JSON."""
    click.echo(json.dumps(value, indent=2))
