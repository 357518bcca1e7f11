"""Hints for words that are nearly right: names close by, and spellings of older texts."""

from __future__ import annotations

from collections.abc import Iterable

COMPARISONS = {
    "eq": "equal", "ne": "not_equal", "gt": "greater_than", "ge": "greater_than_equal",
    "lt": "less_than", "le": "less_than_equal",
}  # fmt: skip

OLD_PREFIXES = ("arith", "math", "cmp", "builtin")
"""Families that mnemonics were once written with: `arith.add`, `math.exp`, `cmp.lt`."""


def today(prefix: str, suffix: str) -> str | None:
    """Today's spelling of `prefix.suffix`, None where there is none."""
    if prefix not in OLD_PREFIXES:
        return None
    return COMPARISONS.get(suffix, suffix) if prefix == "cmp" else suffix


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word closest to one, if any is close."""
    from difflib import get_close_matches

    found = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return found[0] if found else None
