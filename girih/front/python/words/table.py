"""The table of words, which the files of this room fill."""

from __future__ import annotations

from collections.abc import Callable

from girih.front.python.calls import Lowering

LOWERINGS: dict[str, Lowering] = {}
"""The lowerings by word."""


def lowers(*words: str) -> Callable[[Lowering], Lowering]:
    """The decorator that enters a function as the lowering of some words. Raises `ValueError` for one that has one."""

    def enter(lowering: Lowering) -> Lowering:
        for word in words:
            if word in LOWERINGS:
                raise ValueError(f"the word {word} is entered twice")
            LOWERINGS[word] = lowering
        return lowering

    return enter
