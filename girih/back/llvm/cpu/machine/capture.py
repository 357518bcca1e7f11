"""Values that code in another function needs: they are stored in memory, and loaded where they are used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from girih.back.llvm.emit.text import Val, stored_bytes, stored_type
from girih.back.llvm.emit.writer import Writer

_SLOT = 64


def rewritten(held: Any, change: Callable[[Val], Val]) -> Any:
    """A structure of values with `change` applied to each of them."""
    if isinstance(held, Val):
        return change(held)
    if isinstance(held, tuple):
        return tuple(rewritten(x, change) for x in held)
    if isinstance(held, list):
        return [rewritten(x, change) for x in held]
    if not is_dataclass(held) or isinstance(held, type):
        return held
    changes = {}
    for f in fields(held):
        old = getattr(held, f.name)
        new = rewritten(old, change)
        if new is not old:
            changes[f.name] = new
    return replace(held, **changes) if changes else held


class Capture:
    """A piece of memory through which values go from one function to another."""

    def __init__(self) -> None:
        self._slots: dict[str, tuple[Val, int]] = {}
        self._size = 0

    @property
    def size(self) -> int:
        """The bytes that all values take."""
        return max(_SLOT, self._size)

    def moved(self, held: Any, inner: Writer, memory: Val) -> Any:
        """A value, or a structure of values, for the other function, which loads it from `memory`."""
        return rewritten(held, lambda value: self._value(value, inner, memory))

    def _value(self, held: Val, inner: Writer, memory: Val) -> Val:
        if held.text[0] != "%":
            return held
        known = self._slots.get(held.text)
        if known is None:
            bytes = max(1, stored_bytes(held.type))
            align = min(_SLOT, 1 << (bytes - 1).bit_length())
            offset = -(-self._size // align) * align
            self._size = offset + bytes
            known = self._slots[held.text] = (held, offset)
        type = stored_type(held.type)
        loaded = inner.load(type, inner.at(memory, known[1]), 1)
        return inner.convert("trunc", loaded, held.type) if type != held.type else loaded

    def store(self, outer: Writer, memory: Val) -> None:
        """Store all values that the other function loads."""
        for held, offset in self._slots.values():
            type = stored_type(held.type)
            stored = outer.convert("zext", held, "i8") if type != held.type else held
            outer.store(stored, outer.at(memory, offset), 1)
