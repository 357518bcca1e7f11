"""Structural equality of modules: the same instructions on corresponding values; names and spans do not count."""

from __future__ import annotations

import struct
from dataclasses import fields
from typing import Any

from girih.ir.core import Dictionary, Entry, Function, Module, Op, Region, Slice, Value
from girih.ir.grid import GridExpression, with_parameters
from girih.recursion import recursion_room

_SKIPPED = ("span", "uses")


def same_module(a: Module, b: Module) -> bool:
    """Whether two modules have the same functions in the same order."""
    if len(a.functions) != len(b.functions):
        return False
    with recursion_room():
        return all(_Comparison().functions(f, g) for f, g in zip(a.functions, b.functions, strict=True))


class _Comparison:
    """A comparison of two functions; `partner` maps the values of one to those of the other."""

    def __init__(self) -> None:
        self.partner: dict[Value, Value] = {}

    def functions(self, f: Function, g: Function) -> bool:
        if (f.language, f.name) != (g.language, g.name) or len(f.parameters) != len(g.parameters):
            return False
        for p, q in zip(f.parameters, g.parameters, strict=True):
            if p.attributes != q.attributes or not self._define(p.value, q.value):
                return False
        return self._dictionary(f.attributes) == g.attributes and self._regions(f.body, g.body)

    def _dictionary(self, dictionary: Dictionary) -> Dictionary:
        """The dictionary with the values of the other function in place of those of this one."""
        entries = (Entry(e.key, self._entry(e.value), e.quoted) for e in dictionary.entries)
        return Dictionary(tuple(entries))

    def _entry(self, value: Any) -> Any:
        match value:
            case tuple():
                return tuple(map(self._entry, value))
            case GridExpression():
                return with_parameters(value, self.partner)
            case _:
                return value

    def _define(self, a: Value, b: Value) -> bool:
        self.partner[a] = b
        return a.type == b.type

    def _regions(self, a: Region, b: Region) -> bool:
        return a.kind is b.kind and len(a.ops) == len(b.ops) and all(map(self._ops, a.ops, b.ops))

    def _ops(self, a: Op, b: Op) -> bool:
        if a.spec is not b.spec:
            return False
        defined = (*a.bindings, *a.results), (*b.bindings, *b.results)
        if len(defined[0]) != len(defined[1]) or not all(map(self._define, *defined)):
            return False
        names = (f.name for f in fields(a) if f.name not in _SKIPPED)
        return all(self._held(getattr(a, name), getattr(b, name)) for name in names)

    def _held(self, a: object, b: object) -> bool:
        match a:
            case Value():
                return isinstance(b, Value) and self.partner.get(a) is b
            case Region():
                return isinstance(b, Region) and self._regions(a, b)
            case tuple():
                return isinstance(b, tuple) and len(a) == len(b) and all(map(self._held, a, b))
            case Slice():
                return isinstance(b, Slice) and self._held(a.offset, b.offset) and self._held(a.size, b.size)
            case float() | complex():
                return type(a) is type(b) and _bits(a) == _bits(b)
            case _:
                return type(a) is type(b) and a == b


def _bits(value: object) -> bytes:
    """The bits of a floating-point constant: NaN equals itself, and -0.0 is not 0.0."""
    number = complex(value) if isinstance(value, float | complex) else 0j
    return struct.pack("dd", number.real, number.imag)
