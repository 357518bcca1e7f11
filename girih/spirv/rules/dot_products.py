"""Rules about dot products: of integers, vectors or packed (SPV_KHR_integer_dot_product), and of narrow floats.

Those of narrow floats are SPV_VALVE_mixed_float_dot_product's.
"""

from __future__ import annotations

from collections.abc import Callable

from girih.spirv.grammar import grammar
from girih.spirv.model.facts import Facts
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Finds,
    OnlyWhere,
    Predicate,
    Subject,
    Undetermined,
    is_32_bit_integer,
    is_integer,
    present,
    same,
    satisfies,
    type_of,
    width_of,
    words_of,
)  # fmt: skip
from girih.spirv.types import Float, Int, Type, Vector

_VECTORS = ("vector_1", "vector_2")

_NEWER = "spirv-val 2025.5 does not look at dot products; later ones do"
_UNKNOWN = "spirv-val 2025.5 does not know the extension; later ones do"


def _integers(id: str, blames: str, holds: Predicate, says: str) -> SpirvRow:
    return rule(id, blames, holds, says, "SPIR-V 3.42.13", beyond=_NEWER)


def _mixed(id: str, blames: str, holds: Predicate, says: str) -> SpirvRow:
    return rule(id, blames, holds, says, "SPV_VALVE_mixed_float_dot_product", beyond=_UNKNOWN)


def _types(subject: Subject[Facts]) -> tuple[Type, Type]:
    first, second = (subject.facts.type_of(present(subject, name)) for name in _VECTORS)
    return first, second


def _vectors(subject: Subject[Facts]) -> tuple[Vector, Vector]:
    first, second = _types(subject)
    if not isinstance(first, Vector) or not isinstance(second, Vector):
        raise Undetermined
    return first, second


def _is_operand(type: Type) -> bool:
    return is_32_bit_integer(type) or (isinstance(type, Vector) and is_integer(type.component))


def _are_packed(subject: Subject[Facts]) -> bool:
    return all(map(is_32_bit_integer, _types(subject)))


def _are_vectors(subject: Subject[Facts]) -> bool:
    return all(isinstance(type, Vector) for type in _types(subject))


def _packed(predicate: Predicate) -> Predicate:
    return OnlyWhere("where the vectors are packed into integers", _are_packed, predicate)


def _unpacked(predicate: Predicate) -> Predicate:
    return OnlyWhere("where the vectors are vectors", _are_vectors, predicate)


def _is_bytes(type: Type) -> bool:
    """Whether a type is a vector of 4 integers of 8 bits, which has a capability of its own."""
    return isinstance(type, Vector) and type.count == 4 and width_of(type) == 8


def _capability(subject: Subject[Facts]) -> str | None:
    """The capability that the vectors lack."""
    if subject.facts.has("DotProductInputAll"):
        return None
    wanted = "DotProductInput4x8Bit" if _is_bytes(_vectors(subject)[0]) else "DotProductInputAll"
    return None if subject.facts.has(wanted) else f"{_vectors(subject)[0].words} without {wanted}"


def _vector_operand(name: str) -> SpirvRow:
    return _integers(f"{name}_type", name,
                     satisfies(type_of(name), "is a vector of integers, or 4 packed into 32 bits", _is_operand),
                     f"a vector of integers, or a 32-bit integer that packs 4, as {words_of(name)}")  # fmt: skip


def _unsigned(name: str) -> SpirvRow:
    return _integers(f"{name}_unsigned", name,
                     _unpacked(satisfies(type_of(name), "has unsigned components",
                                         lambda type: isinstance(type.component, Int) and not type.component.signed)),
                     f"unsigned components of {words_of(name)}")  # fmt: skip


def _alike(words: str, of: Callable[[Type], object]) -> Predicate:
    """The predicate that the two vectors are alike in something."""

    def differ(subject: Subject[Facts]) -> str | None:
        first, second = map(of, _vectors(subject))
        return None if first is None or second is None or first == second else f"{first} and {second}"

    return _unpacked(Finds(f"Vector 1 and Vector 2 have the same {words}", differ))


def _uneven(subject: Subject[Facts]) -> str | None:
    """The numbers of components, where they differ and no specialisation constant keeps its default for them."""
    vectors = _vectors(subject)
    counted = (subject.facts.definition(type.id).id("component_count") for type in vectors if type.cooperative)
    if any(subject.facts.rests_on_default(id) for id in counted):
        return None
    first, second = (type.count for type in vectors)
    return None if first is None or second is None or first == second else f"{first} and {second}"


def _narrow(subject: Subject[Facts]) -> str | None:
    result = width_of(subject.facts.type(subject.op.result_type))
    component = 8 if _are_packed(subject) else width_of(_vectors(subject)[0])
    if result is None or component is None or result >= component:
        return None
    return f"a result of {result} bits, components of {component} bits"


_BOTH = "vector_1 vector_2"
_SATURATING = "OpSDotAccSat OpUDotAccSat OpSUDotAccSat"
_ACCUMULATOR = _integers("accumulator_type", "accumulator result_type", same(type_of("accumulator"), RESULT_TYPE),
                         "Accumulator of the type of the result")  # fmt: skip

_INTEGER_ROWS = (
    _integers("result", "result_type", satisfies(RESULT_TYPE, "is an integer", is_integer), "an integer as result"),
    *map(_vector_operand, _VECTORS),
    _integers("vectors", _BOTH,
              Finds("Vector 1 and Vector 2 are both vectors, or both packed",
                    lambda s: None if _are_packed(s) or _are_vectors(s) else "one vector and one integer"),
              "two vectors, or two packed ones"),
    _integers("packed_capability", _BOTH,
              _packed(Finds("the module has capability DotProductInput4x8BitPacked",
                            lambda s: None if s.facts.has("DotProductInput4x8BitPacked") else "a module without it")),
              "capability DotProductInput4x8BitPacked for vectors that are packed into integers"),
    _integers("packed_format", _BOTH,
              _packed(Finds("Packed Vector Format is given",
                            lambda s: "none" if s.op.get("packed_vector_format") is None else None)),
              "the Packed Vector Format of vectors that are packed into integers"),
    _integers("components", _BOTH, _unpacked(Finds("Vector 1 and Vector 2 have as many components", _uneven)),
              "vectors of the same number of components"),
    _integers("width", _BOTH, _alike("width of components", width_of), "vectors of components of the same width"),
    _integers("capability_of_vectors", _BOTH,
              _unpacked(Finds("the module has a capability for the vectors", _capability)),
              "capability DotProductInputAll, or DotProductInput4x8Bit for vectors of 4 integers of 8 bits"),
    _integers("result_width", "result_type", Finds("Result Type is at least as wide as the components", _narrow),
              "a result that is at least as wide as the components"),
)  # fmt: skip


# Floats


def _encoding(type: Type) -> str:
    """The format of the components of a vector, or of a float."""
    part = type.component if isinstance(type, Vector) else type
    if not isinstance(part, Float) or part.encoding is None:
        return "IEEE 754"
    return grammar().kinds["FPEncoding"].name_of(part.encoding)


def _floats(name: str, count: int, width: int) -> SpirvRow:
    """The row of a vector of floats; of 16 bits they are of IEEE 754 or bfloat16, of 8 bits of one of the float8."""
    formats = ("IEEE 754", "BFloat16KHR") if width == 16 else ("Float8E4M3EXT", "Float8E5M2EXT")
    words = f"a vector of {count} floats of {width} bits"
    return _mixed(f"{name}_type", name,
                  satisfies(type_of(name), f"is {words}",
                            lambda type: isinstance(type, Vector) and type.count in (count, None)
                            and isinstance(type.component, Float) and type.component.width == width
                            and _encoding(type) in formats),
                  f"{words} as {words_of(name)}")  # fmt: skip


def _format_capability(capability: str, *, bfloat16: bool) -> SpirvRow:
    """The row of the capability for one of the formats of 16 bits."""
    format = "BFloat16KHR" if bfloat16 else "IEEE 754"
    return _mixed("capability_bfloat16" if bfloat16 else "capability_float16", _BOTH,
                  OnlyWhere(f"for the format {format}", lambda s: _encoding(_vectors(s)[0]) == format,
                        Finds(f"the module has capability {capability}",
                              lambda s: None if s.facts.has(capability) else "a module without it")),
                  f"capability {capability} for the format {format}")  # fmt: skip


def _other_format(subject: Subject[Facts]) -> str | None:
    result, vectors = _encoding(subject.facts.type(subject.op.result_type)), _encoding(_vectors(subject)[0])
    return None if result == vectors else f"a result of {result} and vectors of {vectors}"


def _is_float(width: int) -> Callable[[Type], bool]:
    return lambda type: isinstance(type, Float) and type.width == width


_RESULT_32 = _mixed("result", "result_type", satisfies(RESULT_TYPE, "is a 32-bit float", _is_float(32)),
                    "a 32-bit float as result")  # fmt: skip
_BFLOAT16 = _format_capability("DotProductBFloat16AccVALVE", bfloat16=True)
_PAIRS = "OpFDot2MixAcc32VALVE OpFDot2MixAcc16VALVE"

FAMILIES = (
    family(f"OpSDot OpUDot OpSUDot {_SATURATING}", *_INTEGER_ROWS),
    family("OpUDot OpUDotAccSat",
           _integers("result_unsigned", "result_type",
                     satisfies(RESULT_TYPE, "is unsigned", lambda type: isinstance(type, Int) and not type.signed),
                     "an unsigned integer as result"),
           _unsigned("vector_1")),
    family("OpUDot OpUDotAccSat OpSUDot OpSUDotAccSat", _unsigned("vector_2")),
    family(_SATURATING, _ACCUMULATOR),
    family("OpFDot2MixAcc32VALVE OpFDot4MixAcc32VALVE", _RESULT_32),
    family(_PAIRS, _floats("vector_1", 2, 16), _floats("vector_2", 2, 16),
           _mixed("format", _BOTH, _alike("format of components", _encoding), "vectors of the same format"),
           _BFLOAT16),
    family("OpFDot2MixAcc32VALVE", _format_capability("DotProductFloat16AccFloat32VALVE", bfloat16=False)),
    family("OpFDot2MixAcc16VALVE",
           _format_capability("DotProductFloat16AccFloat16VALVE", bfloat16=False),
           _mixed("result", "result_type", satisfies(RESULT_TYPE, "is a 16-bit float", _is_float(16)),
                  "a 16-bit float as result"),
           _mixed("result_format", "result_type",
                  Finds("Result Type has the format of the vectors", _other_format),
                  "a result of the format of the vectors")),
    family("OpFDot4MixAcc32VALVE", _floats("vector_1", 4, 8), _floats("vector_2", 4, 8)),
    family(f"{_PAIRS} OpFDot4MixAcc32VALVE",
           _mixed("accumulator_type", "accumulator result_type", same(type_of("accumulator"), RESULT_TYPE),
                  "Accumulator of the type of the result")),
)  # fmt: skip
