"""Rules about the instructions of GLSL.std.450: the types that they take and make, as a table.

Other sets have no rules here: of those without semantics (NonSemantic.*) the operands are ids, and OpenCL.std is for
kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from girih.spirv.grammar import grammar
from girih.spirv.instruction import Operand
from girih.spirv.model.facts import Facts
from girih.spirv.model.faults import Fault
from girih.spirv.rules.formats import COMPUTABLE, is_computable
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import (
    Faultless,
    Finds,
    OnlyWhere,
    Predicate,
    Subject,
    Undetermined,
    count_of,
    instruction_of,
    is_float_or_vector,
    is_integer_or_vector,
    scalar_of,
    width_of,
    words_of,
)  # fmt: skip
from girih.spirv.types import Float, Int, Matrix, Pointer, Struct, Type, Vector

GLSL = "GLSL.std.450"

_FIRST_OPERAND = 4
"""The word of the first operand of an extended instruction, after types, result, set and number."""

_HEADER = ("OpExtInst", "OpExtInstWithForwardRefsKHR")

# The table: types of operands and results


class Signature:
    """The types of an instruction: of its result, and of each operand; `as result` is the type of the result."""

    def __init__(self, names: str, result: str, *operands: str) -> None:
        self.names = names.split()
        self.result = result
        self.operands = operands

    def of(self, position: int) -> str:
        """The type of the operand at a position; the last one is that of all further operands."""
        return self.operands[min(position, len(self.operands) - 1)]


SAME = "as result"

TABLE = (
    Signature(
        "Round RoundEven FAbs Trunc FSign Floor Ceil Fract Sqrt InverseSqrt FMin FMax FClamp FMix Step SmoothStep Fma "
        "Normalize FaceForward Reflect NMin NMax NClamp",
        "float", SAME),
    Signature(
        "Radians Degrees Sin Cos Tan Asin Acos Atan Sinh Cosh Tanh Asinh Acosh Atanh Exp Exp2 Log Log2 Atan2 Pow",
        "float of 16 or 32 bits", SAME),
    Signature("SAbs SSign UMin SMin UMax SMax UClamp SClamp FindILsb", "integer", "integer like result"),
    Signature("FindUMsb FindSMsb", "integer of 32 bits", "integer like result"),
    Signature("Determinant", "float scalar", "square matrix"),
    Signature("MatrixInverse", "square matrix", SAME),
    Signature("Modf", "float", SAME, "pointer to result"),
    Signature("ModfStruct", "struct of two floats", "first member"),
    Signature("Frexp", "float", SAME, "pointer to exponent"),
    Signature("FrexpStruct", "struct of float and exponent", "first member"),
    Signature("Ldexp", "float", SAME, "integer of as many components"),
    Signature("PackSnorm4x8 PackUnorm4x8", "word", "vector of 4 floats"),
    Signature("PackSnorm2x16 PackUnorm2x16 PackHalf2x16", "word", "vector of 2 floats"),
    Signature("PackDouble2x32", "double", "vector of 2 words"),
    Signature("UnpackSnorm4x8 UnpackUnorm4x8", "vector of 4 floats", "word"),
    Signature("UnpackSnorm2x16 UnpackUnorm2x16 UnpackHalf2x16", "vector of 2 floats", "word"),
    Signature("UnpackDouble2x32", "vector of 2 words", "double"),
    Signature("Length", "float scalar", "float with component of result"),
    Signature("Distance", "float scalar", "float with component of result"),
    Signature("Cross", "vector of 3 components", SAME),
    Signature("Refract", "float", SAME, SAME, "float scalar"),
    Signature("InterpolateAtCentroid", "interpolated float", "input"),
    Signature("InterpolateAtSample", "interpolated float", "input", "word"),
    Signature("InterpolateAtOffset", "interpolated float", "input", "vector of 2 offsets"),
)  # fmt: skip
"""The instructions of GLSL.std.450 by the types that they take (specification of GLSL.std.450, section 2)."""

SIGNATURES: Mapping[str, Signature] = {name: one for one in TABLE for name in one.names}

Test = Callable[[Subject[Facts], Type], bool]


def _result(subject: Subject[Facts]) -> Type:
    return subject.facts.type(instruction_of(subject).result_type)


def _has_shape(type: Type, kind: type[Type], width: int, count: int) -> bool:
    """Whether a type is a vector of so many numbers of a kind and width, or the scalar for a count of 1."""
    return isinstance(scalar_of(type), kind) and width_of(type) == width and count_of(type) == count


def _is_square(type: Type) -> bool:
    return isinstance(type, Matrix) and isinstance(type.column, Vector) and type.column.count == type.count


def _component_of_matrix(type: Type) -> Type:
    if not isinstance(type, Matrix):
        raise Undetermined
    return scalar_of(type.column)


def _members(type: Type) -> tuple[Type | None, ...]:
    return type.members if isinstance(type, Struct) else ()


def _pointee(subject: Subject[Facts], type: Type) -> Type | None:
    return subject.facts.pointee(type) if isinstance(type, Pointer) and type.pointee_id else None


def _is_exponent(subject: Subject[Facts], type: Type | None, count: int | None) -> bool:
    widths = (16, 32) if "SPV_AMD_gpu_shader_int16" in subject.facts.extensions else (32,)
    return type is not None and is_integer_or_vector(type) and width_of(type) in widths and count_of(type) == count


def _is_interpolated(subject: Subject[Facts], type: Type) -> bool:
    widths = (16, 32) if "SPV_AMD_gpu_shader_half_float" in subject.facts.extensions else (32,)
    return is_float_or_vector(type) and width_of(type) in widths


def _is_pair(subject: Subject[Facts], type: Type) -> bool:
    parts = _members(type)
    return len(parts) == 2 and parts[0] is not None and is_float_or_vector(parts[0]) and parts[0] is parts[1]


def _is_split(subject: Subject[Facts], type: Type) -> bool:
    parts = _members(type)
    if len(parts) != 2 or parts[0] is None:
        return False
    return is_float_or_vector(parts[0]) and _is_exponent(subject, parts[1], count_of(parts[0]))


def _is_input(subject: Subject[Facts], type: Type) -> bool:
    stored = isinstance(type, Pointer) and grammar().kinds["StorageClass"].name_of(type.storage) == "Input"
    return stored and _pointee(subject, type) is _result(subject)


TYPES: Mapping[str, tuple[str, Test]] = {
    "float": ("a float or a vector of floats", lambda s, type: is_float_or_vector(type)),
    "float scalar": ("a float", lambda s, type: isinstance(type, Float)),
    "float of 16 or 32 bits": ("a float of 16 or 32 bits or a vector of these",
                               lambda s, type: is_float_or_vector(type) and width_of(type) in (16, 32)),
    "integer": ("an integer or a vector of integers", lambda s, type: is_integer_or_vector(type)),
    "integer of 32 bits": ("a 32-bit integer or a vector of these",
                           lambda s, type: is_integer_or_vector(type) and width_of(type) == 32),
    "integer like result": ("an integer or a vector of integers, of as many components and bits as the result",
                            lambda s, type: is_integer_or_vector(type) and count_of(type) == count_of(_result(s))
                            and width_of(type) == width_of(_result(s))),
    "integer of as many components": ("an integer, or a vector of as many integers as the result has components",
                                      lambda s, type: is_integer_or_vector(type)
                                      and count_of(type) == count_of(_result(s))),
    SAME: ("of the type of the result", lambda s, type: type is _result(s)),
    "word": ("a 32-bit integer", lambda s, type: _has_shape(type, Int, 32, 1)),
    "double": ("a 64-bit float", lambda s, type: _has_shape(type, Float, 64, 1)),
    "vector of 2 words": ("a vector of 2 32-bit integers", lambda s, type: _has_shape(type, Int, 32, 2)),
    "vector of 2 floats": ("a vector of 2 32-bit floats", lambda s, type: _has_shape(type, Float, 32, 2)),
    "vector of 4 floats": ("a vector of 4 32-bit floats", lambda s, type: _has_shape(type, Float, 32, 4)),
    "vector of 2 offsets": ("a vector of 2 floats of a width that interpolation has",
                            lambda s, type: _is_interpolated(s, type) and count_of(type) == 2),
    "vector of 3 components": ("a vector of 3 floats",
                               lambda s, type: is_float_or_vector(type) and count_of(type) == 3),
    "square matrix": ("a square matrix", lambda s, type: _is_square(type)),
    "float with component of result": ("the type of the result, or a vector of it",
                                       lambda s, type: is_float_or_vector(type) and scalar_of(type) is _result(s)),
    "pointer to result": ("a pointer to the type of the result", lambda s, type: _pointee(s, type) is _result(s)),
    "pointer to exponent": ("a pointer to a 32-bit integer, or a vector of as many as the result has components",
                            lambda s, type: _is_exponent(s, _pointee(s, type), count_of(_result(s)))),
    "struct of two floats": ("a struct of two floats, or vectors of floats, of the same type", _is_pair),
    "struct of float and exponent": ("a struct of a float and a 32-bit integer, or vectors of as many of these",
                                     _is_split),
    "first member": ("of the type of the first member of the result",
                     lambda s, type: type is (_members(_result(s)) or (None,))[0]),
    "interpolated float": ("a 32-bit float or a vector of these", _is_interpolated),
    "input": ("a pointer to the type of the result in Input", _is_input),
}  # fmt: skip
"""The types that operands and results have: in words, and as tests."""


# Which instruction it is


def _glsl(facts: Facts) -> Mapping[int, str]:
    """The names of the instructions of GLSL.std.450 in a module, by their indices."""
    known = grammar().extended(GLSL) or {}
    found = (one for one in facts.instructions if one.name in _HEADER and one.malformed is None)
    numbers = ((one.index, one.id("instruction")) for one in found if facts.module.set_name(one.id("set")) == GLSL)
    return {index: known[number].name for index, number in numbers if number in known}


def _name(subject: Subject[Facts]) -> str | None:
    """The name of an instruction of GLSL.std.450; None for one of another set."""
    return subject.facts.once(_glsl).get(subject.op.index)


def _signature(subject: Subject[Facts]) -> Signature | None:
    return SIGNATURES.get(_name(subject) or "")


def _operands(subject: Subject[Facts]) -> Iterator[tuple[int, Operand, Type]]:
    """The operands of an extended instruction with their positions and types."""
    placed = (one for one in instruction_of(subject).operands if one.word >= _FIRST_OPERAND)
    for position, one in enumerate(placed):
        if isinstance(one.value, int):
            yield position, one, subject.facts.type_of(one.value)


def _words(names: tuple[str, ...]) -> str:
    return ", ".join(names)


def _takes(kind: str) -> tuple[str, ...]:
    return tuple(name for one in TABLE if one.result == kind for name in one.names)


# Rows


def _result_row(kind: str) -> SpirvRow:
    """The row of one type of results."""
    words, test = TYPES[kind]

    def wrong(subject: Subject[Facts]) -> str | None:
        signature = _signature(subject)
        if signature is None or signature.result != kind:
            return None
        type = _result(subject)
        return None if test(subject, type) else f"Result Type of {_name(subject)} is {type.words}"

    return rule(f"result_{_id(kind)}", "result_type", Finds(f"Result Type of {_words(_takes(kind))} is {words}", wrong),
                f"{words} as result", GLSL)  # fmt: skip


def _operand_row(kind: str) -> SpirvRow:
    """The row of one type of operands."""
    words, test = TYPES[kind]
    says = f"an operand {words}" if words.startswith("of ") else f"{words} as operand"
    takers = tuple(name for one in TABLE if kind in one.operands for name in one.names)

    def wrong(subject: Subject[Facts]) -> Fault | None:
        signature = _signature(subject)
        if signature is None or kind not in signature.operands:
            return None
        if not TYPES[signature.result][1](subject, _result(subject)):
            raise Undetermined
        for position, one, type in _operands(subject):
            if signature.of(position) == kind and not test(subject, type):
                return Fault(f"{words_of(one.name)} of {_name(subject)} is {type.words}", (one,))
        return None

    return rule(f"operand_{_id(kind)}", "", Faultless(f"operands of {_words(takers)} are {words}", wrong),
                says, GLSL)  # fmt: skip


def _id(kind: str) -> str:
    return kind.replace(" ", "_")


def _only(*names: str) -> Callable[[Subject[Facts]], bool]:
    return lambda subject: _name(subject) in names


def _surplus(subject: Subject[Facts]) -> str | None:
    name = _name(subject)
    if name is None:
        return None
    wanted = len((grammar().extended(GLSL) or {})[instruction_of(subject).id("instruction")].operands)
    given = sum(1 for one in instruction_of(subject).operands if one.word >= _FIRST_OPERAND)
    return f"{given} operands of {name}, which has {wanted}" if given != wanted else None


def _other_format(subject: Subject[Facts]) -> str | None:
    if _name(subject) is None:
        return None
    types = (_result(subject), *(type for _, _, type in _operands(subject)))
    return next((type.words for type in types if not is_computable(type)), None)


def _without_capability(subject: Subject[Facts]) -> str | None:
    name = _name(subject)
    if name is None:
        return None
    one = (grammar().extended(GLSL) or {})[instruction_of(subject).id("instruction")]
    if not one.capabilities or any(subject.facts.has(capability) for capability in one.capabilities):
        return None
    return f"{name} without {' or '.join(one.capabilities)}"


def _uneven(subject: Subject[Facts]) -> str | None:
    counts = [count_of(type) for _, _, type in _operands(subject)]
    return None if len(set(counts)) == 1 else f"{' and '.join(map(str, counts))} components"


def _determinant() -> Predicate:
    def wrong(subject: Subject[Facts]) -> str | None:
        _, _, matrix = next(_operands(subject))
        component = _component_of_matrix(matrix)
        return None if component is _result(subject) else f"Result Type is {_result(subject).words}"

    return OnlyWhere(
        "for Determinant", _only("Determinant"), Finds("Result Type is the component type of the matrix", wrong)
    )


def _fragment_only() -> Predicate:
    names = ("InterpolateAtCentroid", "InterpolateAtSample", "InterpolateAtOffset")

    def other(subject: Subject[Facts]) -> str | None:
        models = sorted(subject.facts.models_of(instruction_of(subject)) - {"Fragment"})
        return f"an entry point of {', '.join(models)}" if models else None

    return OnlyWhere(f"for {_words(names)}", _only(*names), Finds("only entry points of Fragment reach it", other))


_RESULTS = tuple(dict.fromkeys(one.result for one in TABLE))
_OPERANDS = tuple(dict.fromkeys(kind for one in TABLE for kind in one.operands))

FAMILIES = (
    family(" ".join(_HEADER),
           rule("supported", "instruction",
                OnlyWhere("for IMix", _only("IMix"), Finds("the set has no such instruction any more", _name)),
                "an instruction that GLSL.std.450 has: IMix was withdrawn", GLSL),
           rule("count", "instruction", Finds("the instruction has the operands that its set declares", _surplus),
                "as many operands as the instruction has", GLSL),
           rule("capability_of_number", "instruction", Finds("the module has a capability for it", _without_capability),
                "the capability that the instruction needs", GLSL),
           rule("format", "instruction", Finds("numbers are of a format to compute with", _other_format),
                COMPUTABLE, GLSL),
           *map(_result_row, _RESULTS), *map(_operand_row, _OPERANDS),
           rule("result_of_determinant", "result_type", _determinant(), "the component type of the matrix as result",
                GLSL),
           rule("components_of_distance", "p_0 p_1",
                OnlyWhere("for Distance", _only("Distance"), Finds("P 0 and P 1 have as many components", _uneven)),
                "points of the same number of components", GLSL),
           rule("fragment", "instruction", _fragment_only(), "an entry point of Fragment for interpolation", GLSL)),
)  # fmt: skip
