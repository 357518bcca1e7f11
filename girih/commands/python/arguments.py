"""The arguments of a kernel in Python from `NAME=VALUE`: for a launch, or for what its code is specialised by.

Where nothing is launched, an argument that is not given is what its annotation says: an array of this element type and
number of axes, packed. An element type that it leaves open is that of an array which is given for the same type
variable, else the first that the variable may be, else f32.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import Parameter as PythonParameter
from typing import TYPE_CHECKING, TypeVar

import click

from girih.commands.parts.array_specifications import (
    BoxOf,
    FromFile,
    Made,
    Members,
    Specification,
    parse_argument,
)
from girih.commands.parts.arrays import ArrayMaker
from girih.commands.parts.calls import unknown
from girih.ir.build import parameter
from girih.ir.core import Order
from girih.ir.types import NUMBERS, SCALARS, GroupType, MapMode, MemRef, TensorMapType, Type
from girih.language import types as words
from girih.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from girih.decorated.definition import DecoratedFunction
    from girih.front.python.signature import Declared

_STAND_IN = 64
"""The sizes of arrays that stand for those that are not given; only tensor maps are specialised on none of them."""


@dataclass(frozen=True, slots=True)
class PythonArguments:
    """What the command line gives for the parameters of a kernel, by name: specifications, and values of constants."""

    arrays: Mapping[str, Specification]
    constants: Mapping[str, object]

    @staticmethod
    def of(
        definition: DecoratedFunction, texts: Sequence[str], definitions: Mapping[str, str], *, some: bool = False
    ) -> PythonArguments:
        """What `NAME=VALUE` and `-D NAME=VALUE` give. Raises `click.UsageError` for a wrong one.

        `some` says that the definitions are those of several kernels, of which this one may lack some.
        """
        known = {p.name: p for p in definition.parameters}
        arrays: dict[str, Specification] = {}
        constants: dict[str, object] = {}
        for text in texts:
            name, equals, value = text.partition("=")
            name = name.strip()
            if name in arrays or name in constants:
                raise click.UsageError(f"the argument {name!r} is given twice")
            if equals and name in known and known[name].kind == "constant":
                constants[name] = constant_of(name, value.strip())
                continue
            name, given = parse_argument(text)
            if name not in known:
                unknown("argument", name, known)
            arrays[name] = given
        own = [p.name for p in definition.parameters if p.kind == "constant"]
        for name, value in definitions.items():
            if name in own:
                constants[name] = constant_of(name, value)
            elif not some:
                unknown("constant", name, own)
        return PythonArguments(arrays, constants)

    def missing(self, definition: DecoratedFunction, *, launched: bool) -> list[Declared]:
        """The parameters that need a value and have none: all without defaults for a launch, else only constants."""
        given = {**self.arrays, **self.constants}
        needed = [p for p in definition.parameters if launched or p.kind == "constant"]
        return [p for p in needed if p.name not in given and p.default is PythonParameter.empty]

    def values(self, definition: DecoratedFunction, seed: int = 0, order: Order | None = None) -> tuple[object, ...]:
        """One argument for each parameter. Made arrays are in `order`; files are taken as they are where it is None.

        Raises `click.UsageError`, and as `ArrayMaker` does.
        """
        maker = _PythonMaker(seed, order, self._elements(definition))
        return tuple(self._value(p, number, maker) for number, p in enumerate(definition.parameters, 1))

    def _elements(self, definition: DecoratedFunction) -> dict[TypeVar, str]:
        """What type variables stand for, by the element types that are given."""
        return {p.element: str(given.element) for p in definition.parameters if isinstance(p.element, TypeVar)
                and isinstance(given := self.arrays.get(p.name), Made) and given.element is not None}  # fmt: skip

    def _value(self, p: Declared, number: int, maker: _PythonMaker) -> object:
        if p.kind == "constant":
            return self.constants.get(p.name, p.default)
        if p.name not in self.arrays:
            if p.default is not PythonParameter.empty:
                return p.default
            return maker.stand_in(p, number)
        return maker.given(p, number, self.arrays[p.name])


def constant_of(name: str, text: str) -> object:
    """The value of a constant: a literal of Python, such as 64, (4, 8) or 'abc', or an element type, such as f32."""
    if text in words.SCALARS:
        return words.SCALARS[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise click.UsageError(f"{name}={text}: a constant is written as in Python, such as 64, True, 0.5, (4, 8) or "
                               "'abc', or is an element type, such as f32") from None  # fmt: skip


class _PythonMaker:
    """Makes the arguments of a kernel in Python of their specifications."""

    def __init__(self, seed: int, order: Order | None, elements: Mapping[TypeVar, str]) -> None:
        self.elements = elements
        self.as_it_is = order is None
        self.maker = ArrayMaker(seed, order or "C")

    def given(self, p: Declared, number: int, given: Specification) -> object:
        """The argument of a specification."""
        if self.as_it_is and p.kind == "array" and isinstance(given, FromFile):
            return self.maker.loaded(given.path, NUMBERS[_element(p, given)])
        return self.maker.value(parameter(p.name, _type(p, given), span=p.span), number, given)

    def stand_in(self, p: Declared, number: int) -> object:
        """An argument as the annotation says."""
        if isinstance(p.element, TypeVar) and p.element in self.elements:
            p = replace(p, element=self.elements[p.element])
        rank = p.rank or 0
        shape = (2,) * rank
        match p.kind:
            case "scalar":
                return _number(_element(p, None))
            case "group":
                return self.given(p, number, Members((Made("zeros", None, shape),)))
            case "tensor_map":
                sizes = "x".join(["16"] + ["1"] * (rank - 1))
                options: tuple[tuple[str, str], ...] = (("box", sizes),)
                if p.mode == "im2col":
                    corner = "x".join(["0"] * (rank - 2))
                    options = (("lower", corner), ("upper", corner), ("channels", "16"), ("pixels", "16"))
                array = Made("zeros", NUMBERS[_element(p, None)], (4,) * (rank - 1) + (_STAND_IN,))
                return self.given(p, number, BoxOf(p.mode, array, options))
            case _:
                return self.given(p, number, Made("zeros", None, shape))


def _number(element: str) -> object:
    if element == "bool":
        return False
    family = NUMBERS[element].family
    return 0 if family == "integer" else 0.0 if family == "floating" else 0j


def _element(p: Declared, given: Specification) -> str:
    """The name of the element type of an argument: what is given, else what the annotation says."""
    if isinstance(given, Members):
        given = next((one for one in given.items if isinstance(one, Made)), None)
    if isinstance(given, Made) and given.element is not None:
        return str(given.element)
    if isinstance(p.element, str):
        return "i64" if p.element == "index" and p.kind != "scalar" else p.element
    if isinstance(given, FromFile):
        return "f32"  # the file decides
    allowed = p.element.__constraints__ if isinstance(p.element, TypeVar) else ()
    return next((name for name, type in words.SCALARS.items() if type in allowed), "f32")


def _type(p: Declared, given: Specification) -> Type:
    """The type of the language that an argument is made for: every size open, packed."""
    element = _element(p, given)
    rank = p.rank or 0
    if p.kind == "scalar":
        return SCALARS[element]
    number = NUMBERS[element]
    if p.kind == "tensor_map":
        return TensorMapType(number, rank, MapMode(p.mode))
    memref = MemRef.packed(number, (None,) * rank)
    return GroupType(memref, None) if p.kind == "group" else memref
