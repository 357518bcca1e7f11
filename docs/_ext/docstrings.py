"""Docstrings, which are written in Markdown, as the reStructuredText that Sphinx's autodoc reads."""

from __future__ import annotations

import re

CODE_SPAN = re.compile(r"(`+)(.+?)\1", re.S)
SPECIAL = re.compile(r"[\\*|]|_(?!\w)")
"""The characters that reStructuredText would read as markup."""


def restructured(text: str) -> str:
    """The text with code spans as literals and the rest escaped; both languages agree on paragraphs and lists."""
    parts = []
    end = 0
    for span in CODE_SPAN.finditer(text):
        code = " ".join(span[2].split())
        # A literal stands apart from words; the escaped space is not shown.
        before, after = (
            "\\ " if near.isalnum() else "" for near in (text[: span.start()][-1:], text[span.end() :][:1])
        )
        parts += [_escaped(text[end : span.start()]), f"{before}``{code}``{after}"]
        end = span.end()
    return "".join([*parts, _escaped(text[end:])])


def _escaped(text: str) -> str:
    return SPECIAL.sub(lambda match: "\\" + match[0], text)
