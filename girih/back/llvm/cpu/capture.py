"""Values that code in another function needs: written to memory where they are known, read where they are used."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from girih.back.llvm.text import Val, lanes, scalar
from girih.back.llvm.writer import Writer

_SLOT = 64


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
        """A value, or anything that is made of values, as the other function sees it."""
        if isinstance(held, Val):
            return self._value(held, inner, memory)
        if isinstance(held, tuple):
            return tuple(self.moved(x, inner, memory) for x in held)
        if isinstance(held, list):
            return [self.moved(x, inner, memory) for x in held]
        if is_dataclass(held) and not isinstance(held, type):
            changes = {}
            for f in fields(held):
                old = getattr(held, f.name)
                new = self.moved(old, inner, memory)
                if new is not old:
                    changes[f.name] = new
            return replace(held, **changes) if changes else held
        return held

    def _value(self, held: Val, inner: Writer, memory: Val) -> Val:
        if held.text[0] != "%":
            return held
        known = self._slots.get(held.text)
        if known is None:
            bytes = max(1, _bytes(held.type))
            align = min(_SLOT, 1 << (bytes - 1).bit_length())
            offset = -(-self._size // align) * align
            self._size = offset + bytes
            known = self._slots[held.text] = (held, offset)
        type = _stored(held.type)
        loaded = inner.load(type, inner.at(memory, known[1]), 1)
        return inner.convert("trunc", loaded, held.type) if type != held.type else loaded

    def store(self, outer: Writer, memory: Val) -> None:
        """Write all values that were asked for."""
        for held, offset in self._slots.values():
            type = _stored(held.type)
            stored = outer.convert("zext", held, "i8") if type != held.type else held
            outer.store(stored, outer.at(memory, offset), 1)


def _stored(type: str) -> str:
    return type.replace("i1>", "i8>") if type.endswith("x i1>") else "i8" if type == "i1" else type


def _bytes(type: str) -> int:
    one = scalar(_stored(type))
    size = {"ptr": 8, "float": 4, "double": 8}.get(one) or int(one[1:]) // 8
    return lanes(type) * size
