"""The types of shader code in GLSL: their words, their constants, and the extensions that they need.

Integers of shader code have no sign; a value is signed in GLSL unless the operation that gives it says otherwise.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from math import inf, isinf, isnan

from girih.back.llvm.emit.text import Val, bits
from girih.back.spirv.glsl.expression import PRIMARY, PRODUCT, UNARY, Expression, called
from girih.diagnostics import InternalError

WORDS = {
    "i1": "bool", "i8": "int8_t", "i16": "int16_t", "i32": "int", "i64": "int64_t",
    "half": "float16_t", "float": "float", "double": "double",
    "bfloat": "bfloat16_t", "f8e4m3": "floate4m3_t", "f8e5m2": "floate5m2_t",
}  # fmt: skip
"""The words of types; integers with a sign."""

UNSIGNED = {"int8_t": "uint8_t", "int16_t": "uint16_t", "int": "uint", "int64_t": "uint64_t"}
SIGNED = {unsigned: signed for signed, unsigned in UNSIGNED.items()}

EXTENSIONS = {
    "int8_t": "GL_EXT_shader_explicit_arithmetic_types_int8",
    "int16_t": "GL_EXT_shader_explicit_arithmetic_types_int16",
    "int64_t": "GL_EXT_shader_explicit_arithmetic_types_int64",
    "float16_t": "GL_EXT_shader_explicit_arithmetic_types_float16",
    "bfloat16_t": "GL_EXT_bfloat16",
    "floate4m3_t": "GL_EXT_float_e4m3",
    "floate5m2_t": "GL_EXT_float_e5m2",
}
"""What a type needs, by its word; unsigned integers need what the signed ones do."""

SIZES = {"bool": 1, "int8_t": 1, "int16_t": 2, "int": 4, "int64_t": 8, "float16_t": 2, "float": 4, "double": 8,
         "bfloat16_t": 2, "floate4m3_t": 1, "floate5m2_t": 1}  # fmt: skip
"""The bytes of values in memory."""


def word(type: str) -> str:
    """The word of a scalar type. Raises `InternalError` for types that are none."""
    if type not in WORDS:
        raise InternalError(f"GLSL has no word for the type `{type}` of shader code")
    return WORDS[type]


def size(type: str) -> int:
    """The bytes of a type of GLSL."""
    return SIZES[SIGNED.get(type, type)]


def stored(type: str) -> str:
    """The type that elements of a type of shader code have in memory; conditions are bytes."""
    return "int8_t" if type == "i1" else word(type)


def with_sign(type: str, sign: str) -> str:
    """An integer type as `signed` or `unsigned`; other types as they are."""
    return UNSIGNED.get(type, type) if sign == "unsigned" else SIGNED.get(type, type)


def as_type(one: Expression, type: str) -> Expression:
    """An expression as a type of the same size: integers get the sign, with the same bits."""
    if one.type == type:
        return one
    if one.number is not None:
        return integer_constant(one.number, type)
    return called(type, type, one)


def integer_constant(value: int, type: str) -> Expression:
    """A constant of an integer type of GLSL; a negative number of an unsigned type is what has its bits."""
    width = 8 * size(type)
    number = value % 2**width if type in SIGNED else (value + 2 ** (width - 1)) % 2**width - 2 ** (width - 1)
    ending = {"uint": "u", "int64_t": "l", "uint64_t": "ul"}.get(type, "")
    text = f"{number}{ending}"
    if number == -(2 ** (width - 1)) and width >= 32:
        # The number without its sign is too large.
        text = f"0x{-number:x}{ending}"
    if width < 32:
        text = f"{type}({number})"
    return Expression(text, type, UNARY if text.startswith("-") else PRIMARY, number=value)


def constant(value: Val) -> Expression:
    """A constant of shader code. Raises `InternalError` for what is none."""
    type, text = value.type, value.text
    if type == "i1":
        return Expression("true" if text in ("true", "1") else "false", "bool")
    if text in ("poison", "undef", "null", "zeroinitializer"):
        text = "0" if type[0] == "i" else "0x0000000000000000"
    if type[0] == "i" and value.literal is not None:
        return integer_constant(value.literal, word(type))
    if type == "bfloat" and text.startswith("0x"):
        return called("bfloat16_t", "bfloat16_t", float_constant(_number(text, type), "float"))
    if type in _FROM_BITS and text.startswith("0x"):
        return float_constant(_number(text, type), type)
    raise InternalError(f"`{value}` is no constant of shader code")


def _number(text: str, type: str) -> float:
    """The number of LLVM's text of a constant: the bits of a double, or after `0xH` those of a half."""
    if text.startswith("0xH"):
        return float(struct.unpack(">e", bytes.fromhex(text[3:]))[0])
    return float(struct.unpack(">d", bytes.fromhex(text[2:].zfill(16)))[0])


_FROM_BITS = {
    "half": ("int16BitsToFloat16", "e", "h"),
    "float": ("intBitsToFloat", "f", "i"),
    "double": ("int64BitsToDouble", "d", "q"),
}
"""The function that makes a float of its bits, and the formats of both."""


def float_constant(value: float, type: str) -> Expression:
    """A constant of `half`, `float` or `double` with the fewest digits that give it exactly."""
    if isnan(value):
        return _from_bits(value, type)
    text = _infinity(value, type) if isinf(value) else _shortest(value, type)
    if type == "half":
        return Expression(f"float16_t({text})", word(type))
    one = Expression(text, word(type), UNARY if text.startswith("-") else PRIMARY)
    return replace(one, precedence=PRODUCT) if isinf(value) else one


def _infinity(value: float, type: str) -> str:
    ending = "lf" if type == "double" else ""
    return f"{'-' if value < 0 else ''}1.0{ending} / 0.0{ending}"


def _from_bits(value: float, type: str) -> Expression:
    function, of_float, of_bits = _FROM_BITS[type]
    (number,) = struct.unpack(f"<{of_bits}", struct.pack(f"<{of_float}", value))
    kind = word(f"i{bits(type)}")
    hexadecimal = f"0x{number % 2 ** bits(type):x}{'l' if type == 'double' else ''}"
    shown = integer_constant(number, kind) if type == "half" else Expression(hexadecimal, kind)
    return called(function, word(type), shown)


def _shortest(value: float, type: str) -> str:
    """The digits: what is read as a double and then rounded to the type must be the number."""
    digits = repr(value)
    if type == "double":
        digits = f"{digits}lf"
    if type == "float":
        kept = struct.pack("<f", value)
        tried = (f"{value:.{count}g}" for count in range(1, 10))
        digits = next((text for text in tried if _packed(float(text)) == kept), digits)
    return digits if any(c in digits for c in ".e") else f"{digits}.0"


def _packed(value: float) -> bytes:
    try:
        return struct.pack("<f", value)
    except OverflowError:
        return struct.pack("<f", inf)
