"""The names of kernels in PTX, which debuggers and profilers show."""

from __future__ import annotations

import re

from girih.ir.core import Function

_GOOD = re.compile(r"(?!girih_|WARP_SZ$)[A-Za-z][A-Za-z0-9_$]*")


def entry_name(function: Function) -> str:
    """The name of a kernel in PTX: its own, unless it begins with a digit (PTX ISA "Identifiers"), is that of a
    constant of PTX (there, "Predefined Constants"), or begins as those of the module's own memory do."""
    return function.name if _GOOD.fullmatch(function.name) else f"kernel{function.name}"
