"""The sources that the instructions of a function come from, by number; nearly all functions have one.

What is compiled of a function may be kept longer than its spans: it tells a place as the number of a source, and its
range. A shader has several sources where it includes files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from types import MappingProxyType

from girih.ir.core import Function
from girih.source import Source


def source_number(function: Function, source: Source) -> int:
    """The number of a source of a function; 0 is that of the function itself, and of what comes from none."""
    return 0 if source is function.span.source else sources_of(function).get(source, 0)


def source_at(function: Function, number: int) -> Source:
    """The source of a function with a number."""
    return function.span.source if number == 0 else list(sources_of(function))[number]


@lru_cache(maxsize=64)
def sources_of(function: Function) -> Mapping[Source, int]:
    """The sources of a function and its instructions, in the order in which they first occur, with their numbers."""
    found = {function.span.source: 0}
    for op in function.walk():
        found.setdefault(op.span.source, len(found))
    return MappingProxyType(found)


def places_of(function: Function) -> Iterator[str]:
    """The names and texts of a function's sources, then the place of each of its instructions in them."""
    for source in sources_of(function):
        yield from (source.name, source.text)
    spans = (op.span for op in function.walk())
    yield " ".join(f"{source_number(function, span.source)}:{span.start}:{span.end}" for span in spans)
