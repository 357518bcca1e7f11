"""What a function reads from outside while it is translated, and whether that is still the same.

A variant holds for the values that globals, closures and the functions that it calls had. They are compared at each
call, by identity: that costs some tens of nanoseconds for each.
"""

from __future__ import annotations

import types
from collections.abc import Iterator, Mapping, Sequence

from girih.lazy_dataclass import dataclass

_NOTHING = object()
_FIXED = ("girih", "numpy", "math", "typing", "collections")
"""Packages whose names nobody changes."""


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """A name with the value that it had: in a namespace, or in the cell of a closure."""

    function: str
    name: str
    space: Mapping[str, object] | None
    cell: types.CellType | None
    value: object

    @property
    def same(self) -> bool:
        """Whether the name still has this value."""
        return _value(self.name, self.space, self.cell) is self.value


def watched(function: types.FunctionType) -> tuple[Watched, ...]:
    """The names outside of a function and of functions that it calls, apart from those that nobody changes."""
    found: list[Watched] = []
    waiting, known = [function], {function}
    while waiting:
        here = waiting.pop()
        for one in _names(here):
            found.append(one)
            inner = getattr(one.value, "__wrapped__", one.value)
            if isinstance(inner, types.FunctionType) and inner not in known:
                known.add(inner)
                waiting.append(inner)
    return tuple(found)


def _names(function: types.FunctionType) -> Iterator[Watched]:
    """The names that one function reads from outside, with their values."""
    name = function.__name__
    read = list(dict.fromkeys(_read_names(function.__code__)))
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
    for free, cell in cells.items():
        value = _value(free, None, cell)
        yield Watched(name, free, None, cell, value)
        yield from _inside(name, value, read, set())
    for word in read:
        space = function.__globals__
        value = space.get(word, _NOTHING)
        if value is _NOTHING:
            continue
        if isinstance(value, types.ModuleType):
            yield from _inside(name, value, read, set())
        elif _package(getattr(value, "__module__", None)) not in _FIXED:
            yield Watched(name, word, space, None, value)
            yield from _inside(name, value, read, set())


def _inside(function: str, owner: object, read: Sequence[str], known: set[int]) -> Iterator[Watched]:
    """The attributes of a module or a class that a function may read, and those of what they are."""
    if not isinstance(owner, types.ModuleType | type) or id(owner) in known:
        return
    known.add(id(owner))
    if _package(owner.__name__ if isinstance(owner, types.ModuleType) else owner.__module__) in _FIXED:
        return
    for space in (vars(owner),) if isinstance(owner, types.ModuleType) else map(vars, owner.__mro__):
        for word in read:
            if word in space:
                yield Watched(function, word, space, None, space[word])
                yield from _inside(function, space[word], read, known)


def _read_names(code: types.CodeType) -> Iterator[str]:
    """The globals and attributes that the code of a function, and of those inside it, names."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _read_names(constant)


def _package(name: object) -> str:
    return name.partition(".")[0] if isinstance(name, str) else ""


def _value(name: str, space: Mapping[str, object] | None, cell: types.CellType | None) -> object:
    if space is not None:
        return space.get(name, _NOTHING)
    try:
        return cell.cell_contents if cell is not None else _NOTHING
    except ValueError:
        return _NOTHING
