"""The rules of the address models, for `girih explain`: read from a file, so that neither NumPy nor the models load.

`girih.addressing.RULES` holds the rules themselves; tools/address_examples.py writes the file.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

WIDTH = 100


@cache
def address_rules() -> Mapping[str, Mapping[str, Any]]:
    """Every rule by its id: `says`, `severity`, `source`, `page` of the guide, `accepted`, `rejected`, `told`.

    Examples are Python, or None if none can be shown. `told` is the message for the rejected example.
    """
    text = files("girih").joinpath("data", "address_rules.json").read_text(encoding="utf-8")
    rules: dict[str, dict[str, Any]] = json.loads(text)
    return {name: {"rule": name} | known for name, known in rules.items()}


def explained(rule: Mapping[str, Any]) -> str:
    """The text of `girih explain` for a rule."""
    meaning = " (legal, and probably not meant)" if rule["severity"] == "lint" else ""
    lines = [f"{rule['rule']} ({rule['severity']})", "", *_wrapped(rule["says"]), ""]
    lines += [f"  source  {rule['source']}", f"  guide   {rule['page']}"]
    if rule["accepted"]:
        lines += ["", "accepted", *_code(rule["accepted"])]
    if rule["rejected"]:
        lines += ["", f"rejected{meaning}", *_code(rule["rejected"]), *_wrapped(rule["told"], "  # ")]
    return "\n".join(lines)


def _code(text: str) -> list[str]:
    """The lines of an example, broken at blanks inside brackets, where Python takes a line break."""
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent=" " * 6, break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip


def _wrapped(text: str, begin: str = "  ") -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=begin, subsequent_indent=begin)
