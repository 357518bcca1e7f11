"""The names of kernels in PTX, which debuggers and profilers show."""

from __future__ import annotations

import re

from girih.ir.core import Function

_GOOD = re.compile(r"[A-Za-z][A-Za-z0-9_$]*")


def entry_name(function: Function) -> str:
    """The name of a kernel in PTX: its own, unless that begins with a digit (PTX ISA "Identifiers")."""
    return function.name if _GOOD.fullmatch(function.name) else f"kernel{function.name}"
