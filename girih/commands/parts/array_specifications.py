"""The values of `girih run`: `NAME=VALUE` as a tree of specifications, before any array is made. Imports no NumPy.

For a wrong specification every function raises a `click.UsageError` that quotes it.
"""

from __future__ import annotations

import re
from typing import NoReturn

import click

from girih.ir.types import NUMBERS, Number
from girih.lazy_dataclass import dataclass

MAP_MODES = ("tiled", "im2col")
"""The words that a tensor map begins with."""
MAKERS = ("zeros", "ones", "random", "arange", "uninitialized")
"""The words that make an array."""

PythonNumber = bool | int | float | complex

_SHAPE = re.compile(r"(?:[0-9]+(?:x[0-9]+)*)?", re.ASCII)
_INTEGER = re.compile(r"[+-]?(?:[0-9]+|0[xX][0-9a-fA-F]+)", re.ASCII)
_GROUP = re.compile(r"\[([^\[\]]*)\]\s*(?:@\s*(-?[0-9]{1,40})\s*)?(?::\s*\[([^\[\]]*)\])?", re.ASCII)
_HELP = "a number, true, false, null, FILE.npy, [A,B,...], or " + ", ".join(MAKERS) + " as in zeros:f32:64x64"


@dataclass(frozen=True, slots=True)
class FromFile:
    """The specification of an array from a file."""

    path: str


@dataclass(frozen=True, slots=True)
class Made:
    """The specification of an array that is made for the run; fields that are None follow from the parameter."""

    maker: str
    element: Number | None = None
    shape: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Members:
    """The specification of a group: its arrays, and if given its offset in elements and the shapes of its memrefs."""

    items: tuple[FromFile | Made | None, ...]
    offset: int | None = None
    shapes: tuple[tuple[int, ...] | None, ...] | None = None


@dataclass(frozen=True, slots=True)
class BoxOf:
    """The specification of a tensor map: its mode, its array, and the options by name, as they are written."""

    mode: str
    array: FromFile | Made
    options: tuple[tuple[str, str], ...]


Specification = PythonNumber | FromFile | Made | Members | BoxOf | None


def parse_argument(text: str) -> tuple[str, Specification]:
    """The name and the specification in `NAME=VALUE`."""
    name, equals, value = text.partition("=")
    name = name.strip().removeprefix("%")
    if not equals or not name:
        raise click.UsageError(f"{text!r} is not NAME=VALUE, for instance A=a.npy")
    return name, parse_value(name, value.strip())


def parse_value(name: str, text: str) -> Specification:
    """The specification of a value: a number, true, false, null, a file, a made array, a group, or a tensor map."""
    if text.startswith("["):
        return _members(name, text)
    if text in ("null", "None"):
        return None
    if text.split(":")[0] in MAP_MODES:
        return _map(name, text)
    array = _array(name, text)
    return _number(name, text) if array is None else array


def _array(name: str, text: str) -> FromFile | Made | None:
    if text.split(":")[0] in MAKERS:
        return _made(name, text)
    return FromFile(text) if text.lower().endswith((".npy", ".npz")) else None


def _number(name: str, text: str) -> PythonNumber:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _INTEGER.fullmatch(text) and len(text) <= 40:
        return int(text, 16) if "x" in text.lower() else int(text)
    for convert in (float, _hexadecimal, complex):
        try:
            return convert(text.replace("i", "j") if convert is complex and text.endswith("i") else text)
        except ValueError:
            continue
    _refuse(name, text, f"expected {_HELP}")


def _hexadecimal(text: str) -> float:
    if "0x" not in text.lower():
        raise ValueError
    try:
        return float.fromhex(text)
    except OverflowError:
        raise ValueError from None


def _made(name: str, text: str) -> Made:
    maker, *rest = text.split(":")
    if len(rest) > 2:
        _refuse(name, text, f"expected {maker}, or as in {maker}:f32:64x64")
    element = None
    if rest and rest[0]:
        element = NUMBERS.get(rest[0])
        if element is None:
            _refuse(name, text, f"there is no element type {rest[0]!r}; there is: {', '.join(NUMBERS)}")
    if len(rest) < 2:
        return Made(maker, element)
    if not _SHAPE.fullmatch(rest[1]):
        _refuse(name, text, f"the shape {rest[1]!r} is not written as in 64x64")
    return Made(maker, element, tuple(int(size) for size in rest[1].split("x") if size))


def _members(name: str, text: str) -> Members:
    match = _GROUP.fullmatch(text)
    if match is None:
        _refuse(name, text, "a group is written [A,B,...], with an offset [A,B,...]@3, with shapes [...]@3:[4x5,2x2]")
    parts = _listed(match[1])
    items: list[FromFile | Made | None] = []
    for part in parts:
        item = None if part in ("null", "None") else _array(name, part)
        if item is None and part not in ("null", "None"):
            _refuse(name, part, "a member of a group is an array, from a file or made, or null")
        items.append(item)
    shapes = None if match[3] is None else tuple(_member_shape(name, part) for part in _listed(match[3]))
    return Members(tuple(items), int(match[2]) if match[2] else None, shapes)


def _map(name: str, text: str) -> BoxOf:
    mode, *parts = text.split(":")
    count = next((number for number, part in enumerate(parts) if "=" in part), len(parts))
    array = _array(name, ":".join(parts[:count]))
    if array is None:
        _refuse(name, text, f"expected {mode}:FILE.npy:box=64x16, an array behind the mode, then options")
    pairs = [part.partition("=") for part in parts[count:]]
    for option, equals, value in pairs:
        if not equals or not value:
            _refuse(name, text, f"the option {option!r} is not NAME=VALUE, box=64x16 for instance")
    return BoxOf(mode, array, tuple((option, value) for option, _, value in pairs))


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",")] if text.strip() else []


def _member_shape(name: str, text: str) -> tuple[int, ...] | None:
    if text in ("null", "None"):
        return None
    if not _SHAPE.fullmatch(text):
        _refuse(name, text, "the shape of a memref is written as in 64x64, or null")
    return tuple(int(size) for size in text.split("x") if size)


def save_paths(name: str, text: str) -> tuple[str, ...]:
    """The paths in `FILE.npy`, or in `[FILE.npy,...]` for a group."""
    paths = tuple(part.strip() for part in text[1:-1].split(",")) if text.startswith("[") else (text,)
    for path in paths:
        if not path.lower().endswith(".npy"):
            raise click.UsageError(f"--save {name}={text}: the file {path!r} does not end in .npy")
    return paths


def _refuse(name: str, text: str, why: str) -> NoReturn:
    raise click.UsageError(f"{name}={text}: {why}")
