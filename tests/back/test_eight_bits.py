"""The floats of eight bits in compiled code, bit by bit against the interpreter, from and to every type."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from girih.back.llvm.emit.features import Features
from girih.back.llvm.numbers import arith, casts
from girih.interpreter.machine import numbers
from girih.ir.types import BF16, BOOL, F8E4M3, F8E5M2, F32, F64, I8, I16, NUMBERS, Number
from tests.back.jit import HARDWARE, SOFTWARE, Machine, Piece
from tests.cases import crossed

Array = NDArray[Any]
EIGHT_BITS = (F8E4M3, F8E5M2)
FEATURES = {"hardware": HARDWARE, "software": SOFTWARE}


def cast_piece(source: Number, target: Number, features: Features) -> Piece:
    return Piece(lambda w, o: casts.cast(w, features, source, target, o[0]), (source,), target)


def same(found: Array, expected: Array) -> Array:
    """Where numbers are the same: in their bits, or for NaN of wider types, in their sign."""
    if found.dtype.kind == "c":
        return same(found.real, expected.real) & same(found.imag, expected.imag)
    if found.itemsize == 1 or found.dtype.kind == "i":
        return np.asarray(found.view(f"i{found.itemsize}") == expected.view(f"i{found.itemsize}"))
    equal = (found == expected) | ((found != found) & (expected != expected))
    return np.asarray(equal & (np.signbit(found) == np.signbit(expected)))


def arguments(source: Number) -> Array:
    """All numbers of types of one and two bytes; of others, what lies around the middles of eight bits, and any."""
    dtype = numbers.dtype(source)
    if source.size <= 2:
        return np.arange(256**source.size, dtype=np.dtype(f"u{source.size}")).view(dtype)
    random = np.random.default_rng(source.size)
    drawn = np.frombuffer(random.bytes(4096 * dtype.itemsize), dtype)
    scales = np.exp2(random.uniform(-20, 18, 4096)) * random.choice((-1, 1), 4096)
    known = np.concatenate(
        [np.arange(256, dtype=np.uint8).view(numbers.dtype(t)).astype(np.float64) for t in EIGHT_BITS]
    )
    finite = np.unique(known[np.isfinite(known)])
    exact = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2, [464, 480, 61440, 65536], scales])
    if source.family == "integer":
        whole = np.concatenate([(exact + step).astype(dtype) for step in (-1, 0, 1)])
        return np.concatenate([whole, drawn, drawn >> (8 * source.size - 18)])
    near = exact.astype(dtype)
    stepped = np.concatenate([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf)])
    some = np.concatenate([stepped, np.array([np.inf, -np.inf, np.nan, -np.nan, 0.0, -0.0], near.dtype)])
    return np.concatenate([some, drawn])


@pytest.mark.parametrize(("name", "lanes"), crossed(tuple(FEATURES), (16, 1, 8)))
def test_casts(name: str, lanes: int) -> None:
    """Of all 256 to every type, and of every type to eight bits; a complex number keeps its parts elsewhere."""
    features = FEATURES[name]
    cases = [(s, t) for s in EIGHT_BITS for t in NUMBERS.values()]
    cases += [(s, t) for t in EIGHT_BITS for s in NUMBERS.values() if s.family != "complex" and s not in EIGHT_BITS]
    compiled = Machine(features).compile({f"{s}.{t}": cast_piece(s, t, features) for s, t in cases}, lanes)
    given = {source: arguments(source) for source, _ in cases}
    for source, target in cases:
        values = given[source]
        with numbers.quiet():
            expected = numbers.cast(values, source, target)
        found = compiled[f"{source}.{target}"](values)
        wrong = np.flatnonzero(~same(found, expected))[:5]
        assert wrong.size == 0, (source, target, values[wrong], found[wrong], expected[wrong])


def test_bits_stay() -> None:
    pieces = {}
    for type in EIGHT_BITS:
        pieces[f"to {type}"] = reinterpreted(I8, type)
        pieces[f"of {type}"] = reinterpreted(type, I8)
    compiled = Machine().compile({name.replace(" ", "."): piece for name, piece in pieces.items()}, 16)
    every = np.arange(256, dtype=np.uint8)
    for type in EIGHT_BITS:
        assert np.array_equal(compiled[f"to.{type}"](every.view(np.int8)).view(np.uint8), every)
        assert np.array_equal(compiled[f"of.{type}"](every.view(numbers.dtype(type))).view(np.uint8), every)


def reinterpreted(source: Number, target: Number) -> Piece:
    return Piece(lambda w, o: casts.reinterpreted(w, HARDWARE, source, target, o[0]), (source,), target)


@pytest.mark.parametrize("type", EIGHT_BITS, ids=str)
def test_work_items_agree_on_numbers_not_on_bits(type: Number) -> None:
    """Zeros of both signs are equal, and so are all NaN."""
    piece = Piece(lambda w, o: (arith.differs(w, type, o[0][0], o[1][0]),), (type, type), BOOL)
    compiled = Machine().compile({"differs": piece}, 8)["differs"]
    dtype = numbers.dtype(type)
    a, b = np.divmod(np.arange(65536), 256)
    first, second = a.astype(np.uint8).view(dtype), b.astype(np.uint8).view(dtype)
    x, y = first.astype(np.float32), second.astype(np.float32)
    assert np.array_equal(compiled(first, second), (x != y) & ~(np.isnan(x) & np.isnan(y)))


def test_vectors_without_calls() -> None:
    """A cast is a few instructions for a whole vector, with and without conversions of f16 in hardware."""
    ways = [(F32, F8E4M3), (F8E4M3, F32), (F32, F8E5M2), (F8E5M2, F64), (F64, F8E4M3), (BF16, F8E5M2), (I16, F8E5M2)]
    for features in FEATURES.values():
        for source, target in ways:
            text = Machine(features).text({"cast": cast_piece(source, target, features)}, 16)
            called = set(re.findall(r"call [^@]*@([\w.]+)", text))
            assert called <= {"llvm.fabs.v16f32", "llvm.fabs.v16f64"}, (source, target, called)
            assert ("extractelement" not in text and "lshr <16 x i32>" in text) or source in (F8E4M3, F8E5M2)
