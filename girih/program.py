"""From text to a checked module: `check`, `parse`, and what `load` builds on. Imports neither NumPy nor a back end."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

from girih.analysis.suspicions import suspicions_of
from girih.analysis.uniformity import uniformity_of
from girih.diagnostics import CompileError, Diagnostic, errors
from girih.front.text.parser import LARGEST_TEXT, parse_text
from girih.ir.check import check_module
from girih.ir.core import ORDERS, Dictionary, Entry, Function, Module, Order
from girih.ir.limits import DeviceLimits
from girih.ops.tile import TILE_LANGUAGE
from girih.recursion import recursion_room
from girih.source import Source, Span

_FUNCTION = re.compile(r"^[ \t]*func[ \t]+@(\w+)", re.M | re.A)


def check(
    text: str, filename: str | None = None, *, definitions: Mapping[str, object] | None = None
) -> list[Diagnostic]:
    """Every error and warning of a text, syntax and rules, in source order.

    `filename` is the name under which diagnostics report the text; `definitions` maps names to the values that replace
    their `$name` definitions. A program in error raises nothing: it is accepted when no diagnostic has the severity
    "error". Raises `TypeError` for a `text` that is not a string.
    """
    return analyze(source_of_text(text, filename), definitions)[1]


def parse(text: str, filename: str | None = None, *, definitions: Mapping[str, object] | None = None) -> Module:
    """The module of a text, whose syntax and names are right; `str(module)` is its canonical text.

    `filename` is the name under which diagnostics report the text; `definitions` maps names to the values that replace
    their `$name` definitions. The rules of the instructions are not checked. Raises `CompileError` for errors of syntax
    and names, and `TypeError` for a `text` that is not a string.
    """
    module, problems = parse_text(source_of_text(text, filename), TILE_LANGUAGE, definitions)
    if errors(problems):
        raise CompileError(problems)
    return module


def analyze(
    source: Source, definitions: Mapping[str, object] | None = None, limits: DeviceLimits | None = None
) -> tuple[Module, list[Diagnostic]]:
    """The module that could be read of a source, and every error and warning in source order; `limits` of a target."""
    module, problems = parse_text(source, TILE_LANGUAGE, definitions)
    return module, judged(module, problems, limits)


def judged(module: Module, known: Sequence[Diagnostic] = (), limits: DeviceLimits | None = None) -> list[Diagnostic]:
    """The errors and warnings of a module in source order, with those that were known before; `limits` of a target."""
    problems = [*known, *check_module(module, limits)]
    wrong = sorted(problem.span.start for problem in errors(problems))
    with recursion_room():
        for function in module.functions:
            if bisect_left(wrong, function.span.start) == bisect_right(wrong, function.body.span.end):
                problems += _divergences(function, limits)
    return sorted(problems, key=lambda d: (d.span.start, d.span.end))


def _divergences(function: Function, limits: DeviceLimits | None) -> list[Diagnostic]:
    """The instructions of a function without errors to which not all come who execute them together."""
    uniformities = uniformity_of(function)
    suspicions = suspicions_of(uniformities)
    if not suspicions:
        return []
    # Few programs have any: the others do not wait for what judges them to be loaded.
    from girih.analysis.divergence import divergences

    return divergences(suspicions, uniformities, limits)


def compile_source(
    source: Source, definitions: Mapping[str, object] | None = None, limits: DeviceLimits | None = None
) -> tuple[Module, list[Diagnostic]]:
    """A module without errors, and its warnings. Raises `CompileError`."""
    module, problems = analyze(source.defined(definitions or {}), definitions, limits)
    if errors(problems):
        raise CompileError(problems)
    return module, problems


def source_of_text(text: str, filename: str | None = None) -> Source:
    """The source of a text, under a name for reports. Raises `TypeError` for a `text` that is not a string."""
    if not isinstance(text, str):
        raise TypeError(f"a program is a string, not {type(text).__name__}; girih.load takes the path of a file")
    return Source(text, filename or "<text>")


def known_order(order: str) -> Order:
    """An order of the axes of arrays, by its name. Raises `ValueError` for one that there is not."""
    for known in ORDERS:
        if order == known:
            return known
    raise ValueError(f"order is {order!r}; it must be 'C', whose last axis is mode 0, or 'F', whose first axis is")


def in_order(module: Module, order: Order) -> Module:
    """The module whose functions take arrays of an order, where they do not say one themselves."""
    return module if order == "F" else Module(tuple(map(_in_order_c, module.functions)))


def _in_order_c(function: Function) -> Function:
    if function.attributes.entry("order") is not None:
        return function
    attributes = Dictionary((*function.attributes.entries, Entry("order", "C")), function.attributes.span)
    return replace(function, attributes=attributes)


def read_source(path: str | PathLike[str]) -> Source:
    """The source that a file holds.

    Raises `CompileError` for a file that is not text in UTF-8 or is too long, `OSError` as `open` does, `TypeError` for
    a `path` that is not a path, and `ValueError` for a program in place of its path.
    """
    if "\n" in str(fspath(path)):
        raise ValueError("this is a program, not the path of a file; girih.loads takes the program itself")
    with open(path, "rb") as file:
        return source_of_bytes(file.read(LARGEST_TEXT + 1), fspath(path))


def read_bytes(path: str | PathLike[str]) -> bytes:
    """The bytes of a file. Raises `OSError` as `open` does."""
    with open(path, "rb") as file:
        return file.read()


def source_of_bytes(data: bytes, name: str) -> Source:
    """The source that bytes encode. Raises `CompileError` for bytes that are not text in UTF-8 or are too many."""
    if len(data) > LARGEST_TEXT:
        raise CompileError([_whole_file(name, "syntax.size", f"the file has more than {LARGEST_TEXT // 2**20} MB",
                                        "split it into several files")])  # fmt: skip
    try:
        return Source(data.decode("utf-8-sig"), name)
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        source = Source(before + "\N{REPLACEMENT CHARACTER}", name)
        span = Span(source, len(before), len(before) + 1)
        message = f"byte 0x{data[error.start]:02x} at offset {error.start} is not UTF-8"
        hint = "this looks like a binary file" if b"\0" in data[:4096] else "save the file as UTF-8"
        raise CompileError([Diagnostic("syntax.encoding", message, span, hint=hint)]) from None


def _whole_file(name: str, code: str, message: str, hint: str) -> Diagnostic:
    return Diagnostic(code, message, Span(Source("", name), 0, 0), hint=hint)


def kernels_in(source: Source) -> list[str]:
    """The names of the functions of a text, as far as they can be told without parsing it."""
    return _FUNCTION.findall(source.text)


def named_only(definitions: Mapping[Any, object] | None) -> dict[str, object]:
    """The definitions of a program in the tensor language. Raises `TypeError` for a name that is not a string."""
    for name in definitions or {}:
        if not isinstance(name, str):
            raise TypeError(f"a definition is named by a string; got {name!r}: numbers name those of SPIR-V modules")
    return {str(name): value for name, value in (definitions or {}).items()}


def given_by_constant(definitions: Mapping[Any, object] | str | PathLike[str] | None) -> Mapping[Any, object] | None:
    """The values of specialisation constants of a module. Raises `TypeError` for a file, which has none of them."""
    if isinstance(definitions, str | PathLike):
        raise TypeError("a SPIR-V module takes a mapping of its constants; files of girih.tune are for texts")
    return definitions
