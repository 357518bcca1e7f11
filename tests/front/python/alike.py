"""The comparison of a kernel in Python with the text that it was printed from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from girih.canonical import canonical_function
from girih.ir.core import Dictionary, Function

_KEPT = ("subgroup_size", "work_group_size", "allow", "hopper")
_VIEW = re.compile(r"(= (?:subview|expand|fuse) .*),strided<[^>]*>")


def alike(function: Function) -> str:
    """The canonical text of a function, without what only says how it is called.

    Left out are names of parameters, promises but for the alignment, and strides of views: they follow from what is
    shown, and a text may say less of them.
    """
    parameters = tuple(replace(p, attributes=_attributes(p.attributes, ("alignment",))) for p in function.parameters)
    plain = replace(function, name="f", parameters=parameters, attributes=_attributes(function.attributes, _KEPT))
    with _numbered(plain):
        return _VIEW.sub(r"\1", str(canonical_function(plain)))


def _attributes(attributes: Dictionary, names: tuple[str, ...]) -> Dictionary:
    kept = (entry for entry in attributes.entries if entry.key in names and not entry.quoted)
    return Dictionary(tuple(sorted(kept, key=lambda entry: entry.key)))


@contextmanager
def _numbered(function: Function) -> Iterator[None]:
    """Parameters have the names p0, p1, ... meanwhile."""
    names = [parameter.name for parameter in function.parameters]
    for number, parameter in enumerate(function.parameters):
        parameter.value.name = f"p{number}"
    try:
        yield
    finally:
        for name, parameter in zip(names, function.parameters, strict=True):
            parameter.value.name = name
