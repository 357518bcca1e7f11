"""Integers read as signed or unsigned, shifts and bit fields, against Python's integers."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from girih.api import compile_module
from girih.diagnostics import KernelError
from girih.front.text.parser import parse_text
from girih.ir.types import BOOL, I8, I16, I32, I64
from girih.source import Source
from tests.cases import every_case, long
from tests.device.numbers.evaluating import NUMBERS, TARGETS, Applied, Array, evaluate

WIDTHS = {8: I8, 16: I16, 32: I32, 64: I64}


def pairs(bits: int) -> tuple[Array, Array]:
    """Each edge of the range with each, and some numbers between."""
    edges = [0, 1, 2, 3, 7, (1 << bits - 1) - 1, 1 << bits - 1, (1 << bits) - 2, (1 << bits) - 1]
    random = (
        np.random.default_rng(bits).integers(0, 1 << bits, 8, dtype=np.uint64, endpoint=False)
        if bits < 64
        else [0x123456789ABCDEF, 0xFEDCBA9876543210, 0x8000000000000001, 77]
    )
    values = np.array([*edges, *map(int, random)], np.uint64)
    a, b = np.array(list(itertools.product(values, values)), np.uint64).T
    return tuple(x.astype(f"u{bits // 8}").view(f"i{bits // 8}").copy() for x in (a, b))


def signed(value: int, bits: int) -> int:
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


Of = Callable[[int, int, int], int]
UNSIGNED: dict[str, Of] = {
    "unsigned_div": lambda a, b, n: a // b,
    "unsigned_rem": lambda a, b, n: a % b,
    "unsigned_min": lambda a, b, n: min(a, b),
    "unsigned_max": lambda a, b, n: max(a, b),
    "unsigned_mul_high": lambda a, b, n: a * b >> n,
    "unsigned_add_saturated": lambda a, b, n: min(a + b, (1 << n) - 1),
}
SIGNED: dict[str, Of] = {
    "signed_div": lambda a, b, n: truncated(a, b),
    "signed_rem": lambda a, b, n: a - truncated(a, b) * b,
    "signed_mod": lambda a, b, n: a % b,
    "signed_mul_high": lambda a, b, n: a * b >> n,
    "signed_add_saturated": lambda a, b, n: max(-(1 << n - 1), min(a + b, (1 << n - 1) - 1)),
}


def divides(mnemonic: str) -> bool:
    return mnemonic.endswith(("_div", "_rem", "_mod"))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("bits", [32, 64, *long([8, 16])])
def test_integers(target: str, bits: int) -> None:
    a, b = pairs(bits)
    least = -(1 << bits - 1)
    # What has no quotient is found, in a test of its own.
    whole = (b == 0) | ((b == -1) & (a == least))
    divisor = np.where(whole, 3, b).astype(a.dtype)
    mask = (1 << bits) - 1
    applied, expected = [], []
    for mnemonic, meaning in (UNSIGNED | SIGNED).items():
        second = divisor if divides(mnemonic) else b
        applied.append(Applied(mnemonic, (a, second), (WIDTHS[bits],)))
        seen = [
            (x, y) if mnemonic in SIGNED else (x & mask, y & mask)
            for x, y in zip(a.tolist(), second.tolist(), strict=True)
        ]
        expected.append([signed(meaning(x, y, bits), bits) for x, y in seen])
    comparisons = {"unsigned_less_than": np.less, "unsigned_less_than_equal": np.less_equal}
    for mnemonic, compare in comparisons.items():
        applied.append(Applied(mnemonic, (a, b), (BOOL,)))
        expected.append(compare(a.view(f"u{bits // 8}"), b.view(f"u{bits // 8}")).tolist())
    for type in (one for width, one in WIDTHS.items() if width >= bits):
        applied.append(Applied("zero_extend", (a,), (type,)))
        expected.append((a.astype(object) & mask).tolist() if 8 * type.size > bits else a.tolist())
    with every_case() as case:
        for one, (found,), wanted in zip(applied, evaluate(target, *applied), expected, strict=True):
            with case(one.mnemonic):
                assert found.tolist() == wanted


def reversed_bits(a: int, n: int) -> int:
    return int(f"{a:0{n}b}"[::-1], 2)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("bits", [32, 64, *long([8, 16])])
def test_bits(target: str, bits: int) -> None:
    type, mask = WIDTHS[bits], (1 << bits) - 1
    a, b = pairs(bits)
    far, near = np.arange(len(a)), np.arange(len(a))[::-1]
    # Every width of amounts, and of the numbers of fields.
    amount = (far % bits).astype(np.int8 if bits != 32 else np.int64)
    offset = (far % (bits + 1)).astype(np.int32 if bits != 32 else np.int16)
    count = (near % (bits + 1 - offset.astype(int))).astype(np.int32)
    values = [(x & mask, y & mask) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    shifts = [(x, s) for (x, _), s in zip(values, amount.tolist(), strict=True)]
    fields = [(x, y, o, c) for (x, y), o, c in zip(values, offset.tolist(), count.tolist(), strict=True)]
    expected: dict[str, list[int]] = {
        "shift_left": [x << s for x, s in shifts],
        "unsigned_shift_right": [x >> s for x, s in shifts],
        "signed_shift_right": [signed(x, bits) >> s for x, s in shifts],
        "bit_count": [x.bit_count() for x, _ in values],
        "bit_reverse": [reversed_bits(x, bits) for x, _ in values],
        "highest_bit": [x.bit_length() - 1 for x, _ in values],
        "lowest_bit": [(x & -x).bit_length() - 1 for x, _ in values],
        "unsigned_bit_field_extract": [x >> o & (1 << c) - 1 for x, _, o, c in fields],
        "signed_bit_field_extract": [signed(x >> o, c) if c else 0 for x, _, o, c in fields],
        "bit_field_insert": [x & ~((1 << c) - 1 << o) | (y & (1 << c) - 1) << o for x, y, o, c in fields],
    }
    operands: dict[str, tuple[Array, ...]] = {
        **{name: (a, amount) for name in expected if "shift" in name},
        **dict.fromkeys(("bit_count", "bit_reverse", "highest_bit", "lowest_bit"), (a,)),
        **{name: (a, offset, count) for name in expected if name.endswith("extract")},
        "bit_field_insert": (a, b, offset, count),
    }
    applied = [Applied(name, operands[name], (type,)) for name in expected]
    with every_case() as case:
        for one, (found,) in zip(applied, evaluate(target, *applied), strict=True):
            with case(one.mnemonic):
                assert found.tolist() == [signed(value, bits) for value in expected[one.mnemonic]]


def found_in(target: str, one: Applied) -> tuple[str, str]:
    """The code and message of what is found in an instruction."""
    with pytest.raises(KernelError) as error:
        evaluate(target, one)
    (finding, *_) = error.value.findings
    return finding.code, finding.message


def lanes(*values: int, type: str = "i4") -> Array:
    return np.array(values, type)


UNDEFINED: list[tuple[str, tuple[Array, ...], str]] = [
    *(
        (name, (lanes(5, 6), lanes(2, 0)), f"`{name}` divides by zero")
        for name in ("unsigned_div", "unsigned_rem", "signed_div", "signed_rem", "signed_mod")
    ),
    *(
        (name, (lanes(5, -(2**31)), lanes(2, -1)), f"`{name}` divides the smallest integer by -1")
        for name in ("signed_div", "signed_rem", "signed_mod")
    ),
    *(
        (name, (lanes(1, 1), lanes(31, amount)), f"`{name}` of a 32-bit integer is not by 0 to 31 bits")
        for name, amount in (("shift_left", 32), ("signed_shift_right", -1), ("unsigned_shift_right", 1 << 20))
    ),
    (
        "unsigned_bit_field_extract",
        (lanes(1, 1), lanes(31, 31), lanes(1, 2)),
        "the field of `unsigned_bit_field_extract` ends beyond the 32 bits of its base",
    ),
    (
        "bit_field_insert",
        (lanes(1, 1), lanes(1, 1), lanes(0, -1), lanes(32, 1)),
        "the field of `bit_field_insert` ends beyond the 32 bits of its base",
    ),
]


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_undefined_is_found(target: str) -> None:
    with every_case() as case:
        for mnemonic, operands, message in UNDEFINED:
            with case(message):
                one = Applied(mnemonic, operands, (I32,))
                assert found_in(target, one) == ("run.undefined_operation", message)


LANES_SHIFTED = """
func @f(%R: memref<i32x16>) attributes {work_group_size=[16,1], subgroup_size=16} {
    parallel {
        %lane = subgroup_local_id : i32
        %two = constant 2 : i32
        %four = shift_left %lane, %two : i32
        %last = constant 30 : i32
        %top = shift_left %lane, %last : i32
        %sum = add %four, %top : i32
        %place = cast %lane : index
        store %sum, %R[%place]
    }
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_numbers_of_lanes_are_shifted(target: str) -> None:
    found = np.zeros(16, np.int32)
    module, problems = parse_text(Source(LANES_SHIFTED), NUMBERS)
    assert problems == []
    compile_module(module, target)["f"][1](found)
    lanes = np.arange(16)
    np.testing.assert_array_equal(found, ((lanes << 2) + (lanes << 30)).astype(np.uint32).view(np.int32))
