"""Numbers and strings of SPIR-V as text, as spirv-dis writes and spirv-as reads them.

A number's type is that of a constant or of a switch's selector (SPIR-V 2.2.1): integers are decimal or hexadecimal,
floats decimal or hexadecimal with a binary exponent (`0x1.8p+3`). Floats of 32 and 64 bits are written in decimal, with
the digits that tell them apart; narrower ones, subnormals, infinities and NaNs as hexadecimal floats.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from girih.spirv.grammar import grammar

TYPE_INT = 21
TYPE_FLOAT = 22

LONGEST_NUMBER = 1000
"""Characters of the longest number that is read."""


class NumberType(NamedTuple):
    """The type of a number: its kind, its bits, and the name of a float's encoding, empty for IEEE 754's."""

    kind: Literal["signed", "unsigned", "float"]
    width: int
    encoding: str = ""

    @property
    def words(self) -> int:
        """The number of words of a literal."""
        return 2 if self.width > 32 else 1

    def __str__(self) -> str:
        if self.kind == "float":
            return f"a {self.encoding} float" if self.encoding else f"a float of {self.width} bits"
        return f"{'a signed' if self.kind == 'signed' else 'an unsigned'} integer of {self.width} bits"


UNSIGNED = NumberType("unsigned", 32)
SIGNED = NumberType("signed", 32)
FLOAT = NumberType("float", 32)


class NotANumber(Exception):
    """A text that is not a number of a type; the message is what was expected."""


class BinaryFormat(NamedTuple):
    """A binary floating-point format: its fields, and what the largest exponent means."""

    exponent_bits: int
    fraction_bits: int
    has_infinity: bool = True
    has_sign: bool = True
    has_zero: bool = True

    @property
    def bias(self) -> int:
        """What is added to an exponent in the exponent's field."""
        return 1 if self.exponent_bits == 1 else (1 << self.exponent_bits - 1) - 1

    @property
    def bits(self) -> int:
        """The width of the format."""
        return self.has_sign + self.exponent_bits + self.fraction_bits


FORMATS = {
    ("", 16): BinaryFormat(5, 10),
    ("", 32): BinaryFormat(8, 23),
    ("", 64): BinaryFormat(11, 52),
    ("BFloat16KHR", 16): BinaryFormat(8, 7),
    ("Float8E4M3EXT", 8): BinaryFormat(4, 3, has_infinity=False),
    ("Float8E5M2EXT", 8): BinaryFormat(5, 2),
    ("Float6E2M3EXT", 6): BinaryFormat(2, 3, has_infinity=False),
    ("Float6E3M2EXT", 6): BinaryFormat(3, 2, has_infinity=False),
    ("Float4E2M1EXT", 4): BinaryFormat(2, 1, has_infinity=False),
    ("Float8UnsignedE8M0EXT", 8): BinaryFormat(8, 0, has_infinity=False, has_sign=False, has_zero=False),
}
"""The formats of floats by encoding and width: SPIR-V 3.2 (FP Encoding) and OCP Microscaling Formats 1.0, 5.3."""

SINGLE = FORMATS["", 32]

FIXED_POINT = ("MXInt8EXT", 8)
FIXED_POINT_SCALE = 64
"""A number of MXInt8 is an integer of 8 bits in two's complement, in steps of 1/64."""


def number_type(opcode: int, words: Sequence[int]) -> NumberType | None:
    """The type that an OpTypeInt or OpTypeFloat declares, from the words after the first; None for any other."""
    if opcode == TYPE_INT and len(words) == 3:
        return NumberType("signed" if words[2] else "unsigned", words[1])
    if opcode == TYPE_FLOAT and len(words) in (2, 3):
        return NumberType("float", words[1], encoding_name(words[2]) if len(words) == 3 else "")
    return None


def encoding_name(value: int) -> str:
    """The name of a float's encoding; its number where the grammar knows none."""
    return grammar().kinds["FPEncoding"].name_of(value)


def number_text(words: Sequence[int], kind: NumberType) -> str | None:
    """A number as text; None where the words are none of the type, which a text could not give back."""
    if len(words) != kind.words or not 0 < kind.width <= 64:
        return None
    bits = words[0] | words[1] << 32 if len(words) == 2 else words[0]
    if kind.kind == "float":
        return _float_text(bits, kind)
    size = 32 * kind.words
    if kind.kind == "signed":
        value = bits - (bits >> size - 1 << size)
        limit = 1 << kind.width - 1
        return str(value) if -limit <= value < limit else None
    return str(bits) if bits < 1 << kind.width else None


def _float_text(bits: int, kind: NumberType) -> str | None:
    if bits >> kind.width:
        return None
    if (kind.encoding, kind.width) == FIXED_POINT:
        value = (bits - (bits >> 7 << 8)) / FIXED_POINT_SCALE
        return _hexadecimal(struct.unpack("<I", struct.pack("<f", value))[0], SINGLE)
    form = FORMATS.get((kind.encoding, kind.width))
    if form is None:
        return None
    if kind.width < 32:
        return _hexadecimal(bits, form)
    exponent = bits >> form.fraction_bits & (1 << form.exponent_bits) - 1
    if exponent == (1 << form.exponent_bits) - 1 or (exponent == 0 and bits & (1 << form.fraction_bits) - 1):
        return _hexadecimal(bits, form)
    if kind.width == 32:
        return f"{struct.unpack('<f', struct.pack('<I', bits))[0]:.9g}"
    return f"{struct.unpack('<d', struct.pack('<Q', bits))[0]:.17g}"


def _hexadecimal(bits: int, form: BinaryFormat) -> str:
    """The bits of a float as a hexadecimal float; of infinities and NaNs as if the exponent went on."""
    sign = "-" if form.has_sign and bits >> form.bits - 1 else ""
    fraction = bits & (1 << form.fraction_bits) - 1
    field = bits >> form.fraction_bits & (1 << form.exponent_bits) - 1
    exponent = field - form.bias
    if field == 0 and form.has_zero:
        if not fraction:
            return f"{sign}0x0p+0"
        # The leading bit of a subnormal is written before the point.
        exponent = fraction.bit_length() - form.fraction_bits - form.bias
        fraction = fraction << form.fraction_bits - fraction.bit_length() + 1 & (1 << form.fraction_bits) - 1
    nibbles = -(-form.fraction_bits // 4)
    digits = f"{fraction << 4 * nibbles - form.fraction_bits:0{nibbles}x}".rstrip("0") if nibbles else ""
    return f"{sign}0x1{'.' if digits else ''}{digits}p{exponent:+d}"


_DECIMAL = re.compile(r"([+-]?)(\d+\.?\d*|\.\d+)(?:[eE]([+-]?\d+))?", re.ASCII)
_HEXADECIMAL = re.compile(r"(-?)0[xX]([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?p([+-]?\d+)", re.ASCII)
_INTEGER = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|0[0-7]*|[1-9]\d*)", re.ASCII)


def number_words(text: str, kind: NumberType) -> tuple[int, ...]:
    """The words of a number of a type. Raises `NotANumber` where the text is none, or does not fit."""
    if len(text) > LONGEST_NUMBER:
        raise NotANumber(f"{kind}, in at most {LONGEST_NUMBER} characters")
    if not 0 < kind.width <= 64:
        raise NotANumber("a number of at most 64 bits")
    bits = _float_bits(text, kind) if kind.kind == "float" else _integer_bits(text, kind)
    return (bits & 0xFFFFFFFF, bits >> 32) if kind.words == 2 else (bits,)


def integer(text: str) -> int | None:
    """The value of an integer in decimal, hexadecimal (`0x`) or octal (`0`); None where the text is none."""
    matched = _INTEGER.fullmatch(text) if len(text) <= LONGEST_NUMBER else None
    if matched is None:
        return None
    sign, digits = matched.groups()
    base = 16 if digits[1:2] in ("x", "X") else 8 if digits[0] == "0" else 10
    return int(digits, base) * (-1 if sign == "-" else 1)


def _integer_bits(text: str, kind: NumberType) -> int:
    value = integer(text)
    if value is None:
        raise NotANumber(str(kind))
    if kind.kind == "unsigned" and text.startswith("-"):
        raise NotANumber(f"{kind}, which is not negative")
    if kind.kind == "signed" and text[:2] in ("0x", "0X") and value < 1 << kind.width:
        value -= value >> kind.width - 1 << kind.width  # hexadecimal digits are the bits, sign included
    least = -(1 << kind.width - 1) if kind.kind == "signed" else 0
    most = least + (1 << kind.width) - 1
    if not least <= value <= most:
        raise NotANumber(f"{kind}, {least} to {most}")
    return value & (1 << 32 * kind.words) - 1


def _float_bits(text: str, kind: NumberType) -> int:
    form = FORMATS.get((kind.encoding, kind.width))
    if form is None and (kind.encoding, kind.width) != FIXED_POINT:
        raise NotANumber("a literal of a known encoding; !0x... gives the word of any other")
    decimal, hexadecimal = _DECIMAL.fullmatch(text), _HEXADECIMAL.fullmatch(text)
    if hexadecimal and (hexadecimal[2] or hexadecimal[3]):
        negative, whole, part, exponent = hexadecimal.groups()
        part = part or ""
        mantissa, power, base = int(whole + part or "0", 16), int(exponent) - 4 * len(part), 2
    elif decimal:
        negative, digits, exponent = decimal.groups()
        whole, _, part = digits.partition(".")
        mantissa, power, base = int(whole + part), int(exponent or 0) - len(part), 10
    else:
        raise NotANumber(f"{kind}, such as 1.5 or 0x1.8p+0")
    is_negative = negative == "-"
    # What is far outside of every format is cut off, so that powers stay small.
    value = Fraction(mantissa) * Fraction(base) ** max(-8000, min(8000, power))
    if form is None or not form.has_sign:
        return _exact_bits(-value if is_negative else value, kind)
    return _rounded_bits(value, form, kind, base) | is_negative << form.bits - 1


def _exact_bits(value: Fraction, kind: NumberType) -> int:
    """The bits of the formats for scales, whose literals are not rounded."""
    if (kind.encoding, kind.width) == FIXED_POINT:
        steps = value * FIXED_POINT_SCALE
        if steps.denominator != 1 or not -128 <= steps <= 127:
            raise NotANumber("a multiple of 1/64, -2 to 127/64")
        return int(steps) & 0xFF
    size = value.numerator.bit_length() - value.denominator.bit_length()
    if value <= 0 or value != Fraction(2) ** size or not -127 <= size <= 128:
        raise NotANumber("a power of two, 0x1p-127 to 0x1p+127, or 0x1p+128 for NaN")
    return size + 127


def _rounded_bits(value: Fraction, form: BinaryFormat, kind: NumberType, base: int) -> int:
    """The bits of a float without its sign. As spirv-as does it, digits that a format lacks are dropped.

    Decimal numbers are first rounded to the nearest float of 32 bits (or 64), as the C library reads them. A
    hexadecimal one with the exponent of infinity says infinity, or with a fraction a NaN; a decimal one must fit.
    """
    top = (1 << form.exponent_bits) - 1
    if base == 10:
        wide = form if form.fraction_bits >= SINGLE.fraction_bits else SINGLE
        exponent, fraction = _fields(value, wide, nearest=True)
        if exponent < (1 << wide.exponent_bits) - 1:
            value = _value(exponent, fraction, wide)
            exponent, fraction = _fields(value, form)
        is_over = exponent >= top if form.has_infinity else value > _largest(form, kind)
    else:
        exponent, fraction = _fields(value, form)
        is_over = exponent > top and not form.has_infinity
        if exponent > top:
            exponent, fraction = top, 0
    if is_over:
        raise NotANumber(f"{kind}, within {float(_largest(form, kind)):.6g}")
    return exponent << form.fraction_bits | fraction


def _largest(form: BinaryFormat, kind: NumberType) -> Fraction:
    top, full = (1 << form.exponent_bits) - 1, (1 << form.fraction_bits) - 1
    if form.has_infinity:
        return _value(top - 1, full, form)
    return _value(top, full - (kind.encoding == "Float8E4M3EXT"), form)


def _value(exponent: int, fraction: int, form: BinaryFormat) -> Fraction:
    """The value of the fields of a float."""
    lead = 1 << form.fraction_bits if exponent else 0
    return (lead + fraction) * Fraction(2) ** (max(exponent, 1) - form.bias - form.fraction_bits)


def _fields(value: Fraction, form: BinaryFormat, nearest: bool = False) -> tuple[int, int]:
    """The exponent's field, which may be past the largest, and the fraction of a value that is not negative."""
    if not value:
        return 0, 0
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    step = max(exponent, 1 - form.bias) - form.fraction_bits
    units, rest = divmod(value, Fraction(2) ** step)
    if nearest and (rest * 2 > Fraction(2) ** step or (rest * 2 == Fraction(2) ** step and units & 1)):
        units += 1
    field = max(exponent, 1 - form.bias) + form.bias
    if units < 1 << form.fraction_bits:
        return 0, int(units)
    if units >> form.fraction_bits + 1:
        return field + 1, 0
    return field, int(units) - (1 << form.fraction_bits)


def quoted(text: str) -> str:
    """A string as text: in quotes, quotes and backslashes behind a backslash."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def unquoted(token: str) -> str | None:
    """The string in quotes, in which a backslash takes the next character as it is; None without quotes."""
    if len(token) < 2 or token[0] != '"' or token[-1] != '"':
        return None
    return re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.DOTALL)
