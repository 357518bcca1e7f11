"""The head of an instruction in one line, as its source has it."""

from __future__ import annotations

from girih.ir.core import Op


def header(op: Op) -> str:
    """The source text of an instruction up to its first region, on one line."""
    lines = (line.split(";")[0].strip() for line in op.span.text.splitlines())
    return " ".join(line for line in lines if line)
