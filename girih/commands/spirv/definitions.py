"""Values of specialisation constants as `-D` gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping

import click

_INTEGER = re.compile(r"([-+]?)(0[xX][0-9a-fA-F]+|[0-9]+)")


def values_of(definitions: Mapping[str, str]) -> dict[int | str, object]:
    """The values by SpecId, where a name is a number, else by name. Raises `click.BadParameter` for a bad value."""
    return {int(name) if name.isdecimal() else name: _value(name, text) for name, text in definitions.items()}


def _value(name: str, text: str) -> object:
    if text in ("true", "false"):
        return text == "true"
    integer = _INTEGER.fullmatch(text)
    if integer is not None:
        sign, digits = integer.groups()
        return (-1 if sign == "-" else 1) * (int(digits, 16) if digits[:2].lower() == "0x" else int(digits))
    try:
        return float.fromhex(text) if "0x" in text.lower() else float(text)
    except (ValueError, OverflowError):
        known = "a number, true or false"
        raise click.BadParameter(f"the value of {name}: expected: {known}; found: {text!r}", param_hint="-D") from None
