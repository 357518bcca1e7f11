"""Instructions of one function that come from several sources: what is found says which, also from the cache."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from girih.api import Program, compile_module
from girih.diagnostics import Finding, KernelError
from girih.ir.build import RegionBuilder, parameter
from girih.ir.core import Module
from girih.ir.types import I8, INDEX, GroupType, MemRef
from girih.ops.device import DEVICE_LANGUAGE
from girih.runtime.cache import kernel_key
from girih.source import Source, Span

MAIN, INCLUDED = Source("first line\nsecond line\n", "main.comp"), Source("one\ntwo\nthree\n", "included.glsl")


def shader() -> Module:
    """A function that loads member `first` of a group in one source, and member `second` in another."""
    group = GroupType(MemRef.packed(I8, (None,)), None)
    buffers, places = parameter("buffers", group), [parameter(name, INDEX) for name in ("first", "second")]
    body = RegionBuilder(DEVICE_LANGUAGE)
    for where, source in zip(places, (MAIN, INCLUDED), strict=True):
        span = Span(source, source.start_of(2), source.start_of(2) + 3)
        body.add("load", group.memref, tensor=buffers.value, indices=(where.value,), span=span)
    return Module((body.function("main", [buffers, *places], span=Span(MAIN, 0, 5)),))


def found(program: Program, first: int, second: int) -> Finding:
    """The finding of a launch with a group of two members."""
    with pytest.raises(KernelError) as caught:
        program["main"][1]([np.zeros(4, np.int8)] * 2, first, second)
    return caught.value.findings[0]


def test_a_finding_is_in_the_source_of_its_instruction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIRIH_CACHE_DIR", str(tmp_path))
    module = shader()
    kept: set[Path] = set()
    for from_cache in (False, True):
        program = compile_module(module, "cpu")
        for places, expected in (((2, 0), "main.comp:2:1"), ((0, 2), "included.glsl:2:1")):
            assert str(found(program, *places).span) == expected
            assert str(found(compile_module(module), *places).span) == expected
        assert (set(tmp_path.iterdir()) == kept) is from_cache
        kept = set(tmp_path.iterdir())
    text = program["main"].llvm_ir
    assert 'DIFile(filename: "included.glsl"' in text
    assert text.count("DILexicalBlockFile") == 1


def test_code_of_other_places_is_not_taken_from_the_cache() -> None:
    (function,) = shader().functions
    last = function.body.ops[-1]
    moved = replace(last, span=Span(INCLUDED, 0, 3))
    other = replace(function, body=replace(function.body, ops=(*function.body.ops[:-1], moved)))
    assert str(other) == str(function)
    assert kernel_key(other, "bounds", "any") != kernel_key(function, "bounds", "any")
    assert kernel_key(shader().functions[0], "bounds", "any") == kernel_key(function, "bounds", "any")
