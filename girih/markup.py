"""How programs, kernels and reports look in a notebook: HTML in which all text is escaped.

Text has the colour of the page, so that it is read on light and on dark; only badges have a background of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

BADGES = {"error": "#b3261e", "finding": "#b3261e", "warning": "#8a5300", "remark": "#2f5d8a"}
"""The backgrounds of badges by their first word, each at least 4.5 times as dark as the white text on it."""

_PRE = "white-space:pre;overflow-x:auto;line-height:1.3;margin:0 0 0.8em 0"


def report(rendered: str) -> str:
    """A diagnostic or finding as `render` gives it: its first word as a badge, its carets bold."""
    head, _, rest = rendered.partition(": ")
    word = head.partition("[")[0]
    badge = (
        f'<span style="background:{BADGES.get(word, BADGES["remark"])};color:#fff;border-radius:3px;padding:0 4px">'
        f"{escape(head)}</span>"
    )
    first, *lines = rest.split("\n")
    shown = [f"{badge} <b>{escape(first)}</b>", *map(_line, lines)]
    return f'<pre style="{_PRE}">' + "\n".join(shown) + "</pre>"


def _line(line: str) -> str:
    escaped = escape(line)
    return f"<b>{escaped}</b>" if line.lstrip().startswith("| ") and "^" in line else escaped


def reports(rendered: Iterable[str]) -> str:
    """Several diagnostics or findings, one below the other."""
    return "".join(map(report, rendered))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts."""
    titles = "".join(f'<th style="text-align:left">{escape(title)}</th>' for title in head)
    body = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def folded(title: str, text: str) -> str:
    """A text that is shown when its title is clicked."""
    return f'<details><summary>{escape(title)}</summary><pre style="{_PRE}">{escape(text)}</pre></details>'


def line(text: str) -> str:
    """One line in the letters of code."""
    return f"<div><code>{escape(text)}</code></div>"
