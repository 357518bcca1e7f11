"""The machine's arithmetic against exact arithmetic in Python, NumPy and ml_dtypes."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.back.nvptx.snippets import computed
from tests.cases import every_case

Array = NDArray[Any]
RANDOM = np.random.default_rng(5)

FLOATS: dict[str, tuple[np.dtype[Any], int, int, int]] = {
    "f16": (np.dtype(np.float16), 11, -14, 15),
    "bf16": (np.dtype(ml_dtypes.bfloat16), 8, -126, 127),
    "f32": (np.dtype(np.float32), 24, -126, 127),
    "f64": (np.dtype(np.float64), 53, -1022, 1023),
}
"""Formats: how NumPy has them, the digits, and the least and the largest exponent."""
UNSIGNED: dict[int, np.dtype[Any]] = {
    8: np.dtype(np.uint8),
    16: np.dtype(np.uint16),
    32: np.dtype(np.uint32),
    64: np.dtype(np.uint64),
}
COUNT = 128


def rounded(value: Fraction, name: str, rounding: str) -> float:
    """A number rounded to a format, by whole numbers; a zero has no sign."""
    _, digits, least, most = FLOATS[name]
    if not value:
        return 0.0
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    exponent -= magnitude < Fraction(2) ** exponent
    unit = Fraction(2) ** (max(exponent, least) - digits + 1)
    steps, rest = divmod(magnitude, unit)
    away = (rounding == "rp") != (value < 0) if rounding in ("rp", "rm") else False
    half = rest * 2 - unit
    up = (rest > 0 and away) if rounding != "rn" else half > 0 or (half == 0 and steps % 2 == 1)
    size = (steps + up) * unit
    if size >= Fraction(2) ** (most + 1):
        finite = rounding == "rz" or (rounding != "rn" and not away)
        size_float = float(2 * Fraction(2) ** most - Fraction(2) ** (most - digits + 1)) if finite else math.inf
        return -size_float if value < 0 else size_float
    return float(-size if value < 0 else size)


def floats(name: str, *, near: bool = False) -> Array:
    """Random bits, most of them of numbers of like size with `near`, and what is special."""
    held, digits, _, _ = FLOATS[name]
    bits = UNSIGNED[8 * held.itemsize]
    found = RANDOM.integers(0, np.iinfo(bits).max, COUNT, bits, endpoint=True).view(held)
    if near:
        found = (RANDOM.normal(size=COUNT) * 2.0 ** RANDOM.integers(-9, 9, COUNT)).astype(held)
    width = 8 * held.itemsize
    infinity = ((1 << width - digits) - 1) << digits - 1
    special = [0, 1, infinity, infinity - 1, infinity + 1, 1 << digits - 1, (1 << digits - 1) - 1]
    special += [one | 1 << width - 1 for one in special]
    found[: len(special)] = np.array(special, bits).view(held)
    return RANDOM.permutation(found)


def wide(array: Array) -> Array:
    """Numbers as `float64`; NumPy warns of some NaN."""
    with np.errstate(invalid="ignore"):
        return array.astype(np.float64)


def bits_of(array: Array) -> Array:
    found: Array = array.view(UNSIGNED[8 * array.itemsize])
    return found


OPERATIONS: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "fma": lambda a, b, c: a * b + c,
}


def _forms() -> list[tuple[str, str, str]]:
    everywhere = [(name, form, "rn") for name in ("add", "sub", "mul", "fma") for form in FLOATS]
    everywhere += [("div", form, "rn") for form in ("f32", "f64")]
    directed = [(name, form, way) for name in OPERATIONS for form in ("f32", "f64") for way in ("rz", "rm", "rp")]
    return everywhere + directed


@pytest.mark.parametrize("form", ("f16", "bf16", "f32", "f64"))
def test_arithmetic_is_rounded_once(form: str) -> None:
    """Against whole numbers; what is not finite against NumPy; a NaN is the one of PTX, but in f64."""
    held = FLOATS[form][0]
    with every_case() as case:
        for name, of, rounding in _forms():
            for near in (False, True):
                if of != form:
                    continue
                with case(f"{name}.{rounding}.{form}, {'near' if near else 'far'}"):
                    count = 3 if name == "fma" else 2
                    given = [floats(form, near=near) for _ in range(count)]
                    code = f"{name}.{rounding}.{form} %y0, {', '.join(f'%x{k}' for k in range(count))};"
                    (found,) = computed(code, [bits_of(one) for one in given], [UNSIGNED[8 * held.itemsize].type])
                    _check(name, form, rounding, given, found.view(held))


def _check(name: str, form: str, rounding: str, given: list[Array], found: Array) -> None:
    numbers = [wide(one) for one in given]
    a, b, c = numbers[0], numbers[1], numbers[-1]
    with np.errstate(all="ignore"):
        plain = {"add": a + b, "sub": a - b, "mul": a * b, "div": a / b, "fma": a * b + c}[name]
    for k in range(COUNT):
        values = [float(one[k]) for one in numbers]
        if not all(map(math.isfinite, values)) or (name == "div" and values[1] == 0):
            wanted = float(plain[k])
        else:
            wanted = rounded(OPERATIONS[name](*map(Fraction, values)), form, rounding)
        told = float(found[k])
        assert told == wanted or (math.isnan(told) and math.isnan(wanted)), (values, told, wanted)
        if math.isnan(told) and form != "f64":
            assert bits_of(found)[k] == (0x7FFFFFFF if form == "f32" else 0x7FFF)


def test_zeros_have_the_signs_of_ieee() -> None:
    zero, minus, one = 0.0, -0.0, 1.0
    with every_case() as case:
        for form in ("f32", "f64"):
            held = FLOATS[form][0]
            for rounding in ("rn", "rz", "rm", "rp"):
                for name, values, negative in (
                    ("add", (zero, minus), rounding == "rm"),
                    ("add", (minus, minus), True),
                    ("add", (one, -one), rounding == "rm"),
                    ("sub", (one, one), rounding == "rm"),
                    ("mul", (minus, one), True),
                    ("fma", (one, one, -one), rounding == "rm"),
                    ("fma", (minus, one, minus), True),
                ):
                    with case(f"{name}.{rounding}.{form} {values}"):
                        given = [bits_of(np.full(4, value, held)) for value in values]
                        code = f"{name}.{rounding}.{form} %y0, {', '.join(f'%x{k}' for k in range(len(given)))};"
                        (found,) = computed(code, given, [given[0].dtype.type])
                        assert bool(found[0] >> (8 * held.itemsize - 1)) == negative
                        assert found.view(held)[0] == 0


def test_roots_are_rounded_once() -> None:
    with every_case() as case:
        for form in ("f32", "f64"):
            held = FLOATS[form][0]
            given = np.abs(floats(form))
            for rounding in ("rn", "rz", "rm", "rp"):
                with case(f"sqrt.{rounding}.{form}"):
                    code = f"sqrt.{rounding}.{form} %y0, %x0;"
                    (found,) = computed(code, [bits_of(given)], [UNSIGNED[8 * held.itemsize].type])
                    for value, told in zip(given.tolist(), found.view(held).tolist(), strict=True):
                        if not math.isfinite(value) or value == 0:
                            assert told == value or math.isnan(value)
                            continue
                        # The root of a number times 4**400 as a whole number has digits to spare.
                        exact = Fraction(math.isqrt(int(Fraction(value) * 4**1300)), 2**1300)
                        exact += 0 if exact * exact == Fraction(value) else Fraction(1, 2**1310)
                        assert told == rounded(exact, form, rounding), value


def test_minima_and_maxima() -> None:
    """PTX ISA "min", "max": NaN gives way to a number; -0 is less than 0."""
    nan, zero, minus = math.nan, 0.0, -0.0
    with every_case() as case:
        for form in ("f16", "bf16", "f32", "f64"):
            held = FLOATS[form][0]
            for name, a, b, wanted in (
                ("min", 1.0, 2.0, 1.0), ("max", 1.0, 2.0, 2.0), ("min", nan, 2.0, 2.0), ("max", 1.0, nan, 1.0),
                ("min", zero, minus, minus), ("max", minus, zero, zero), ("min", nan, nan, nan),
                ("min.NaN", nan, 2.0, nan), ("max.NaN", 1.0, 2.0, 2.0), ("min", -math.inf, 3.0, -math.inf),
                ("max", -2.0, -1.0, -1.0),
            ):  # fmt: skip
                if form == "f64" and ".NaN" in name:
                    continue
                with case(f"{name}.{form} {a} {b}"):
                    given = [bits_of(np.full(2, one, held)) for one in (a, b)]
                    (found,) = computed(f"{name}.{form} %y0, %x0, %x1;", given, [given[0].dtype.type])
                    assert (found.view(held)[0] == wanted and found[0] == bits_of(np.full(1, wanted, held))[0]) or (
                        math.isnan(wanted) and np.isnan(found.view(held)[0])
                    )


def test_floats_become_floats() -> None:
    """cvt, all roundings, against whole numbers; to 8 bits against ml_dtypes."""
    with every_case() as case:
        for source in FLOATS:
            for target in FLOATS:
                narrows = FLOATS[target][1] < FLOATS[source][1] or FLOATS[target][2] > FLOATS[source][2]
                if source == target or (source != "f32" and target == "bf16") or (source == "bf16" and narrows):
                    continue
                ways = ("",) if not narrows else (".rn", ".rz") if target in ("f16", "bf16") else (
                    ".rn", ".rz", ".rm", ".rp")  # fmt: skip
                for way in ways:
                    with case(f"cvt{way}.{target}.{source}"):
                        _check_cast(source, target, way)


def _check_cast(source: str, target: str, way: str) -> None:
    held = FLOATS[target][0]
    given = np.concatenate([floats(source), floats(source, near=True)])
    code = f"cvt{way}.{target}.{source} %y0, %x0;"
    (found,) = computed(code, [bits_of(given)], [UNSIGNED[8 * held.itemsize].type])
    for value, told in zip(wide(given).tolist(), wide(found.view(held)).tolist(), strict=True):
        finite = math.isfinite(value) and value != 0
        wanted = rounded(Fraction(value), target, way[1:] or "rn") if finite else value
        assert told == wanted or (math.isnan(told) and math.isnan(wanted)), value


def test_floats_of_eight_bits() -> None:
    """cvt of two numbers at once: to 8 bits with `.satfinite`, and back to f16."""
    kinds = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}
    given = [floats("f32", near=True), floats("f32")]
    with every_case() as case:
        for name, kind in kinds.items():
            with case(f"to {name}"):
                code = f"cvt.rn.satfinite.{name}x2.f32 %y0, %x0, %x1;"
                (found,) = computed(code, [bits_of(one) for one in given], [np.uint16])
                most = {"e4m3": 448.0, "e5m2": 57344.0}[name]
                wanted = [np.clip(wide(one), -most, most).astype(kind).view(np.uint8) for one in given]
                for told, want, value in zip((found >> 8, found & 0xFF), wanted, given, strict=True):
                    nan = np.isnan(value)
                    np.testing.assert_array_equal(told[~nan], want[~nan])
                    assert (told[nan] == 0x7F).all()
            with case(f"from {name}"):
                every = np.arange(256, dtype=np.uint16)
                (found,) = computed(f"cvt.rn.f16x2.{name}x2 %y0, %x0;", [every << 8 | every], [np.uint32])
                wanted_halves = every.astype(np.uint8).view(kind).astype(np.float16)
                for half in (found >> 16, found & 0xFFFF):
                    np.testing.assert_array_equal(half.astype(np.uint16).view(np.float16), wanted_halves)


def test_floats_become_integers() -> None:
    """cvt: nearest in the range; NaN is 0, or the highest bit where one of the types has 64 bits (PTX ISA "cvt")."""
    ways: dict[str, Callable[[float], int]] = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}
    with every_case() as case:
        for source in ("f16", "f32", "f64"):
            given = np.concatenate([floats(source), floats(source, near=True)])
            for signed in (True, False):
                for width in (16, 32, 64):
                    for way, of in ways.items():
                        target = f"{'s' if signed else 'u'}{width}"
                        with case(f"cvt.{way}.{target}.{source}"):
                            code = f"cvt.{way}.{target}.{source} %y0, %x0;"
                            (found,) = computed(code, [bits_of(given)], [UNSIGNED[width].type])
                            least = -(1 << width - 1) if signed else 0
                            most = (1 << width - 1) - 1 if signed else (1 << width) - 1
                            none = 1 << width - 1 if source == "f64" or width == 64 else 0
                            for value, told in zip(wide(given).tolist(), found.tolist(), strict=True):
                                if math.isnan(value):
                                    assert told == none
                                    continue
                                wanted = most if value > most else least if value < least else of(value)
                                assert told == min(max(wanted, least), most) % (1 << width), value


def test_integers_become_floats() -> None:
    with every_case() as case:
        for source in ("s32", "u32", "s64", "u64"):
            width = int(source[1:])
            bits = UNSIGNED[width]
            given = RANDOM.integers(0, np.iinfo(bits).max, COUNT, bits, endpoint=True)
            given >>= RANDOM.integers(0, width, COUNT, np.uint8).astype(bits)
            numbers = given.view(f"i{width // 8}") if source[0] == "s" else given
            for target in ("f16", "f32", "f64"):
                for way in ("rn", "rz", "rm", "rp"):
                    with case(f"cvt.{way}.{target}.{source}"):
                        held = FLOATS[target][0]
                        code = f"cvt.{way}.{target}.{source} %y0, %x0;"
                        (found,) = computed(code, [given], [UNSIGNED[8 * held.itemsize].type])
                        for value, told in zip(numbers.tolist(), found.view(held).tolist(), strict=True):
                            assert told == rounded(Fraction(value), target, way), value


def _integers(width: int) -> Array:
    edge = [0, 1, 2, (1 << width - 1) - 1, 1 << width - 1, (1 << width - 1) + 1, (1 << width) - 1, (1 << width) - 2]
    bits = UNSIGNED[width]
    random = RANDOM.integers(0, np.iinfo(bits).max, COUNT - 64, bits, endpoint=True)
    pairs = np.array([edge[k // 8] for k in range(64)], bits)
    return np.concatenate([pairs, random])


def _others(width: int) -> Array:
    found = _integers(width)
    edge = found[:64].reshape(8, 8)
    found[:64] = edge.T.ravel()
    small = RANDOM.random(COUNT) < 0.2
    small[:64] = False
    found[small] %= UNSIGNED[width].type(2 * width)
    return found


def test_integers() -> None:
    """Arithmetic of integers, as Python has it, cut to the width."""

    def quotient(a: int, b: int) -> int:
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else -1

    def rest(a: int, b: int) -> int:
        return a - quotient(a, b) * b if b else a

    operations: dict[str, tuple[Callable[[int, int, int], int], str]] = {
        "add": (lambda a, b, w: a + b, "us"), "sub": (lambda a, b, w: a - b, "us"),
        "mul.lo": (lambda a, b, w: a * b, "us"), "mul.hi": (lambda a, b, w: a * b >> w, "us"),
        "div": (lambda a, b, w: quotient(a, b), "us"), "rem": (lambda a, b, w: rest(a, b), "us"),
        "min": (lambda a, b, w: min(a, b), "us"), "max": (lambda a, b, w: max(a, b), "us"),
        "and": (lambda a, b, w: a & b, "b"), "or": (lambda a, b, w: a | b, "b"), "xor": (lambda a, b, w: a ^ b, "b"),
    }  # fmt: skip
    with every_case() as case:
        for width in (16, 32, 64):
            a, b = _integers(width), _others(width)
            for name, (of, kinds) in operations.items():
                for kind in kinds:
                    with case(f"{name}.{kind}{width}"):
                        (found,) = computed(f"{name}.{kind}{width} %y0, %x0, %x1;", [a, b], [UNSIGNED[width].type])
                        given = [one.view(f"i{width // 8}") if kind == "s" else one for one in (a, b)]
                        wanted = [
                            of(x, y, width) % (1 << width) for x, y in zip(*(g.tolist() for g in given), strict=True)
                        ]
                        assert found.tolist() == wanted


def test_shifts_and_bits() -> None:
    """Shifts beyond the width, and single bits, as Python has them."""
    amount = (RANDOM.integers(0, 80, COUNT)).astype(np.uint32)
    amount[:3] = (31, 32, 0xFFFFFFFF)
    with every_case() as case:
        for width in (16, 32, 64):
            a, most = _integers(width), (1 << width) - 1
            signed = a.view(f"i{width // 8}").tolist()
            shifts: list[tuple[str, list[int], Callable[[int, int], int]]] = [
                (f"shl.b{width}", a.tolist(), lambda x, n: x << n),
                (f"shr.u{width}", a.tolist(), lambda x, n: x >> n),
                (f"shr.s{width}", signed, lambda x, n: x >> n),
            ]
            for name, values, of in shifts:
                with case(name):
                    (found,) = computed(f"{name} %y0, %x0, %x1;", [a, amount], [UNSIGNED[width].type])
                    steps = np.minimum(amount, width).tolist()
                    assert found.tolist() == [of(x, n) & most for x, n in zip(values, steps, strict=True)]
            if width == 16:
                continue
            one: dict[str, Callable[[int], int]] = {
                "popc": lambda x: x.bit_count(),
                "clz": partial(_zeros, width),
            }
            for name, bit in one.items():
                with case(f"{name}.b{width}"):
                    (found,) = computed(f"{name}.b{width} %y0, %x0;", [a], [np.uint32])
                    assert found.tolist() == [bit(x) for x in a.tolist()]
            with case(f"brev.b{width}"):
                (found,) = computed(f"brev.b{width} %y0, %x0;", [a], [UNSIGNED[width].type])
                assert found.tolist() == [int(f"{x:0{width}b}"[::-1], 2) for x in a.tolist()]


def _zeros(width: int, x: int) -> int:
    return width - x.bit_length()


def test_fields() -> None:
    """bfe and bfi with places and lengths that reach beyond the register (PTX ISA "bfe", "bfi")."""
    place = RANDOM.integers(0, 70, COUNT).astype(np.uint32)
    length = RANDOM.integers(0, 70, COUNT).astype(np.uint32)
    with every_case() as case:
        for width in (32, 64):
            a, b = _integers(width), _others(width)
            bits = UNSIGNED[width].type
            for kind in "us":
                with case(f"bfe.{kind}{width}"):
                    (found,) = computed(f"bfe.{kind}{width} %y0, %x0, %x1, %x2;", [a, place, length], [bits])
                    wanted = [_field(x, int(p), int(n), width, kind) for x, p, n in
                              zip(a.tolist(), place, length, strict=True)]  # fmt: skip
                    assert found.tolist() == wanted
            with case(f"bfi.b{width}"):
                (found,) = computed(f"bfi.b{width} %y0, %x0, %x1, %x2, %x3;", [a, b, place, length], [bits])
                wanted = []
                for x, y, p, n in zip(a.tolist(), b.tolist(), place.tolist(), length.tolist(), strict=True):
                    for bit in range(min(n, max(width - p, 0))):
                        y = y & ~(1 << p + bit) | (x >> bit & 1) << p + bit
                    wanted.append(y)
                assert found.tolist() == wanted


def _field(x: int, place: int, length: int, width: int, kind: str) -> int:
    sign = x >> min(place + length - 1, width - 1) & 1 if kind == "s" and length else 0
    return sum((x >> place + bit & 1 if bit < length and place + bit < width else sign) << bit for bit in range(width))


def test_funnels_bytes_and_tables() -> None:
    a, b, c = _integers(32), _others(32), RANDOM.integers(0, 70, COUNT).astype(np.uint32)
    selector = RANDOM.integers(0, 1 << 16, COUNT).astype(np.uint32)
    x, y, n = a.tolist(), b.tolist(), c.tolist()
    low = 0xFFFFFFFF
    with every_case() as case:
        funnels: list[tuple[str, Callable[[int, int, int], int]]] = [
            ("shf.l.wrap", lambda p, q, m: ((q << 32 | p) << (m & 31)) >> 32 & low),
            ("shf.r.wrap", lambda p, q, m: (q << 32 | p) >> (m & 31) & low),
            ("shf.l.clamp", lambda p, q, m: ((q << 32 | p) << min(m, 32)) >> 32 & low),
            ("shf.r.clamp", lambda p, q, m: (q << 32 | p) >> min(m, 32) & low),
        ]
        for name, of in funnels:
            with case(name):
                (found,) = computed(f"{name}.b32 %y0, %x0, %x1, %x2;", [a, b, c], [np.uint32])
                assert found.tolist() == [of(*one) for one in zip(x, y, n, strict=True)]
        with case("prmt"):
            (found,) = computed("prmt.b32 %y0, %x0, %x1, %x2;", [a, b, selector], [np.uint32])
            wanted = []
            for p, q, s in zip(x, y, selector.tolist(), strict=True):
                eight = (q << 32 | p).to_bytes(8, "little")
                chosen = [(s >> 4 * k & 7, s >> 4 * k & 8) for k in range(4)]
                four = bytes((0xFF if eight[k] & 0x80 else 0) if sign else eight[k] for k, sign in chosen)
                wanted.append(int.from_bytes(four, "little"))
            assert found.tolist() == wanted
        with case("lop3"):
            (found,) = computed("lop3.b32 %y0, %x0, %x1, %x2, 0x1b;", [a, b, selector], [np.uint32])
            wanted = [sum((0x1B >> ((p >> k & 1) << 2 | (q >> k & 1) << 1 | (s >> k & 1)) & 1) << k for k in range(32))
                      for p, q, s in zip(x, y, selector.tolist(), strict=True)]  # fmt: skip
            assert found.tolist() == wanted
        with case("wide products and carries"):
            code = "mad.wide.u32 %y0, %x0, %x1, 5; add.cc.u32 %y1, %x0, %x1; addc.u32 %y2, %x0, 0;"
            product, total, carried = computed(code, [a, b], [np.uint64, np.uint32, np.uint32])
            assert product.tolist() == [(p * q + 5) % 2**64 for p, q in zip(x, y, strict=True)]
            assert total.tolist() == [p + q & low for p, q in zip(x, y, strict=True)]
            assert carried.tolist() == [p + (p + q >> 32) & low for p, q in zip(x, y, strict=True)]
        with case("borrows"):
            code = "sub.cc.u32 %y0, %x0, %x1; subc.u32 %y1, %x1, %x0;"
            difference, other = computed(code, [a, b], [np.uint32, np.uint32])
            assert difference.tolist() == [p - q & low for p, q in zip(x, y, strict=True)]
            assert other.tolist() == [q - p - (p < q) & low for p, q in zip(x, y, strict=True)]


def test_comparisons_know_nan() -> None:
    """PTX ISA "setp": ordered comparisons with NaN are false, unordered ones true."""
    a = np.array([1, 2, 2, math.nan, 1, math.nan], np.float32)
    b = np.array([2, 1, 2, 1, math.nan, math.nan], np.float32)
    nan = np.isnan(a) | np.isnan(b)
    plain = {"eq": a == b, "ne": (a != b) & ~nan, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}
    wanted = plain | {f"{name}u": held | nan for name, held in plain.items()} | {"num": ~nan, "nan": nan}
    with every_case() as case:
        for name, held in wanted.items():
            with case(name):
                code = f"setp.{name}.f32 %q0, %x0, %x1; selp.b32 %y0, 7, 9, %q0;"
                (found,) = computed(code, [bits_of(a), bits_of(b)], [np.uint32])
                assert found.tolist() == np.where(held, 7, 9).tolist()


def test_two_numbers_in_a_register() -> None:
    """f16x2: each half for itself."""
    a, b = (RANDOM.normal(size=(COUNT, 2)).astype(np.float16) for _ in range(2))
    given = [one.view(np.uint32)[:, 0] for one in (a, b)]
    (found,) = computed("fma.rn.f16x2 %y0, %x0, %x1, %x0;", given, [np.uint32])
    wanted = (a.astype(np.float64) * b.astype(np.float64) + a.astype(np.float64)).astype(np.float16)
    np.testing.assert_array_equal(found.view(np.float16).reshape(COUNT, 2), wanted)


def test_subnormal_numbers_are_kept_unless_they_are_flushed() -> None:
    tiny = np.full(4, 2.0**-140, np.float32)
    (kept, flushed) = computed(
        "add.rn.f32 %y0, %x0, %x0; add.rn.ftz.f32 %y1, %x0, %x0;", [bits_of(tiny)], [np.uint32] * 2
    )
    assert kept.view(np.float32)[0] == np.float32(2.0**-139)
    assert flushed[0] == 0


def test_approximations_are_within_their_bounds() -> None:
    """PTX ISA: ex2 2 ulp, sin and cos 2**-20.9 absolute in a turn, rcp and rsqrt 1 and 2 ulp."""
    given = RANDOM.uniform(0.01, 3, COUNT).astype(np.float32)
    with every_case() as case:
        for name, of in (("ex2", np.exp2), ("lg2", np.log2), ("sin", np.sin), ("cos", np.cos), ("tanh", np.tanh),
                         ("rsqrt", lambda x: 1 / np.sqrt(x)), ("rcp", lambda x: 1 / x), ("sqrt", np.sqrt)):  # fmt: skip
            with case(name):
                (found,) = computed(f"{name}.approx.f32 %y0, %x0;", [bits_of(given)], [np.uint32])
                np.testing.assert_allclose(
                    found.view(np.float32), of(given.astype(np.float64)), rtol=2**-22, atol=2**-22
                )
