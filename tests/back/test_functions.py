"""Powers, fused multiplication, complex roots and tangents compiled for this processor; all functions as vectors."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator

import llvmlite.binding as llvm
import numpy as np
import pytest

from girih.back.llvm.emit.features import Features
from girih.back.llvm.numbers import math as functions
from girih.interpreter.machine import functions as meanings
from girih.interpreter.machine import numbers
from girih.ir.types import BF16, C64, F16, F32, F64, PARTS, Number
from tests.back.jit import HARDWARE, SOFTWARE, Compiled, Machine, Piece
from tests.back.test_numbers import (
    BOUNDS,
    COMPLEX,
    FLOATS,
    FORMATS,
    LANES,
    Array,
    arguments,
    assert_same,
    exact_values,
    function_piece,
    patterns,
    specials,
    ulps,
)
from tests.cases import crossed, long
from tests.exact import complex_root, complex_tangent, needs_more_than_f64


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings(), numbers.quiet():
        yield


def power_piece(type: Number, features: Features = HARDWARE) -> Piece:
    return Piece(lambda w, o: functions.power(w, features, type, o[0], o[1]), (type, type), type)


def fused_piece(type: Number, features: Features = HARDWARE) -> Piece:
    return Piece(
        lambda w, o: functions.fused_multiply_add(w, features, type, o[0], o[1], o[2]), (type, type, type), type
    )


# Powers.


def powers(type: Number, count: int) -> tuple[Array, Array]:
    """Bases over the range and near 1, with exponents that bring the result anywhere in the range."""
    random = np.random.default_rng(11)
    reach = FORMATS[type][0] - FORMATS[type][1]
    wide = np.exp2(random.uniform(-reach, reach, count))
    near = 1 + random.normal(size=count) * np.exp2(-random.uniform(0, FORMATS[type][0], count))
    bases = numbers.cast(np.concatenate([wide, np.abs(near), random.uniform(0.5, 2, count)]), F64, type)
    logarithms = np.log2(np.where(bases == 1, 2, bases).astype(np.float64))
    exponents = random.uniform(-reach, reach, 3 * count) / logarithms
    return bases, numbers.cast(exponents, F64, type)


def check_powers(compiled: Compiled, type: Number, count: int) -> None:
    bases, exponents = powers(type, count)
    exact = np.power(bases.astype(np.longdouble), exponents.astype(np.longdouble))
    found = compiled(bases, exponents)
    nearest = exact.astype(np.float32).astype(found.dtype) if type == BF16 else exact.astype(found.dtype)
    finite = np.isfinite(nearest.astype(np.float64)) & np.isfinite(found.astype(np.float64))
    assert ulps(found[finite], exact[finite], type) <= (3.0 if type in (F32, F64) else 1.0)
    assert_same(found[~finite], nearest[~finite], bases[~finite], exponents[~finite])


@needs_more_than_f64
@pytest.mark.parametrize(("type", "lanes"), crossed(FLOATS, LANES, first=1), ids=str)
def test_powers(type: Number, lanes: int) -> None:
    compiled = Machine().compile({"pow": power_piece(type)}, lanes)["pow"]
    check_powers(compiled, type, 3000)
    # Each special number, whole, odd and broken ones to the power of each.
    more = [-1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 4.0, 2.5, -7.0, 255.0, 2.0**23 - 1, -(2.0**24), 2.0**53 - 1]
    some = np.concatenate([specials(type), numbers.cast(np.array(more), F64, type)])
    a, b = np.repeat(some, len(some)), np.tile(some, len(some))
    found, expected = compiled(a, b), meanings.power(a, b, type)
    plain = ~np.isfinite(expected.astype(np.float64)) | (np.abs(expected.astype(np.float64)) == 1) | (expected == 0)
    assert_same(found[plain], expected[plain], a[plain], b[plain])
    exact = np.power(a.astype(np.longdouble), b.astype(np.longdouble))
    assert ulps(found[~plain], exact[~plain], type) <= (3.0 if type in (F32, F64) else 1.0)


# Multiplication and addition in one.


@pytest.mark.parametrize("features", [HARDWARE, SOFTWARE], ids=["hardware", "software"])
@pytest.mark.parametrize(("type", "lanes"), crossed(FLOATS, LANES), ids=str)
def test_multiplication_and_addition_round_once(type: Number, lanes: int, features: Features) -> None:
    compiled = Machine(features).compile({"fma": fused_piece(type, features)}, lanes)["fma"]
    random, some = np.random.default_rng(12), specials(type)
    last = 2.0 ** -FORMATS[type][0]
    x, y = (1 + random.integers(-4, 5, 4000) * last for _ in range(2))
    halves = np.exp2(-random.integers(1, 2 * FORMATS[type][0] + 4, 4000)) * random.choice((-1, 1), 4000)
    z = np.where(random.random(4000) < 0.5, halves, -x * y)
    near = [numbers.cast(v, F64, type) for v in (x, y, z)]
    grid = [v.ravel() for v in np.meshgrid(some, some, some)]
    a, b, c = (np.concatenate([*v, patterns(type, 4000, k)]) for k, v in enumerate(zip(near, grid, strict=True)))
    assert_same(compiled(a, b, c), meanings.fused_multiply_add(a, b, c, type), a, b, c)


def test_a_processor_without_fused_multiplication() -> None:
    machine = Machine(SOFTWARE, plain=True)
    pieces = {"f32": fused_piece(F32, SOFTWARE), "f64": fused_piece(F64, SOFTWARE), "pow": power_piece(F16, SOFTWARE)}
    compiled = machine.compile(pieces, 8)
    for type in (F32, F64):
        a, b, c = (patterns(type, 2000, k) for k in range(3))
        wanted = meanings.fused_multiply_add(a, b, c, type)
        assert_same(compiled[str(type)](a, b, c), wanted, a, b, c)
    assert "call" not in machine.assembly(pieces["f32"], 8)
    bases, exponents = powers(F16, 300)
    fitting = Machine().compile({"pow": power_piece(F16)}, 8)["pow"](bases, exponents)
    assert_same(compiled["pow"](bases, exponents), fitting, bases, exponents)


# Complex numbers.


@needs_more_than_f64
@pytest.mark.parametrize(("type", "lanes"), crossed(COMPLEX, (1, 8)), ids=str)
def test_complex_roots_and_hyperbolic_tangents(type: Number, lanes: int) -> None:
    compiled = Machine().compile({name: function_piece(name, type) for name in ("sqrt", "tanh")}, lanes)
    random, part = np.random.default_rng(13), PARTS[type]
    count, reach = 4000, -FORMATS[part][1] - 2
    sizes = np.exp2(random.uniform(-reach, reach, count))
    wide = sizes * (random.normal(size=count) + 1j * random.normal(size=count) * np.exp2(-random.uniform(0, 40, count)))
    near = random.normal(size=count) * 3 + 1j * random.normal(size=count) * 3
    values = {"sqrt": np.concatenate([wide, 1j * wide, near]), "tanh": near}
    for name, function, bound in (("sqrt", complex_root, 4.0), ("tanh", complex_tangent, 8.0)):
        some = values[name].astype(numbers.dtype(type))
        exact = function(some.real.astype(np.longdouble), some.imag.astype(np.longdouble))
        found = compiled[name](some)
        for one, wanted in zip((found.real, found.imag), exact, strict=True):
            assert ulps(one, wanted, part) <= (bound if type == C64 else 0.51)
        # The C library, which the interpreter asks, knows the special numbers.
        odd = np.array([0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -20.0, 30.0])
        special = np.empty(64, numbers.dtype(type))
        special.real, special.imag = np.repeat(odd, 8), np.tile(odd, 8)
        found, expected = compiled[name](special), meanings.MATH[name](special, type)
        assert_same(np.isfinite(found.real), np.isfinite(expected.real), special)
        for one, wanted in ((found.real, expected.real), (found.imag, expected.imag)):
            plain = ~np.isfinite(wanted) | (wanted == 0) | (np.abs(wanted) == 1)
            assert_same(one[plain], wanted[plain], special[plain])
    # Far to the right only the imaginary part tells numbers apart, until it is lost.
    far = np.array([20 + 1j, -40 + 2j, 350 - 1j, 370 + 1j], numbers.dtype(type))
    exact = complex_tangent(far.real.astype(np.longdouble), far.imag.astype(np.longdouble))
    found = compiled["tanh"](far)
    assert found.real.tolist() == [1, -1, 1, 1]
    assert ulps(found.imag, exact[1], part) <= 8


# All of them.


@pytest.mark.skipif(not HARDWARE.fma, reason="this processor has no fused multiplication")
def test_functions_are_vectors_and_no_calls() -> None:
    for type in (F32, F64):
        pieces = {name: function_piece(name, type) for name in ("sqrt", "rsqrt", "tanh", "erf", "exp", "log")}
        machine = Machine()
        parsed = llvm.parse_assembly(machine.text({**pieces, "pow": power_piece(type), "fma": fused_piece(type)}, 8))
        listing = str(machine.target_machine().emit_assembly(parsed))
        assert re.search(r"\bsqrt|fsqrt", listing)
        assert not re.findall(r"^\s+(?:callq?|bl)\s.*", listing, re.MULTILINE)


@needs_more_than_f64
@pytest.mark.parametrize(("name", "type"), long([(name, type) for name in (*BOUNDS, "pow") for type in (F32, F64)]))
def test_bounds_at_300_000_arguments(name: str, type: Number) -> None:
    if name == "pow":
        check_powers(Machine().compile({name: power_piece(type)}, 8)[name], type, 100_000)
        return
    values = arguments(name, type, 75_000)
    exact, found = exact_values(name, values), Machine().compile({name: function_piece(name, type)}, 8)[name](values)
    finite = np.isfinite(exact.astype(found.dtype)) & np.isfinite(found)
    assert ulps(found[finite], exact[finite], type) <= BOUNDS[name]
