"""Rules about instructions of groups, and of copies that a group makes together (SPIR-V 3.42.21)."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from girih.spirv.grammar import grammar
from girih.spirv.model.facts import Facts
from girih.spirv.rules.concurrency.subgroups import NUMBER_OR_BOOLEAN, is_number_or_bool, like_result, operand, result
from girih.spirv.rules.row import SpirvRow, family, rule
from girih.spirv.rules.terms import (
    Finds,
    OnlyWhere,
    Predicate,
    Satisfies,
    Subject,
    Term,
    Undetermined,
    count_of,
    is_32_bit_integer,
    is_bool,
    is_bool_or_vector,
    is_float_or_vector,
    is_integer_or_vector,
    is_pointer,
    one_of,
    present,
    same,
    satisfies,
    type_of,
    width_of,
    words_of,
)  # fmt: skip
from girih.spirv.types import Int, Opaque, Pointer, Type

_SECTION = "SPIR-V 3.42.21"
_UNCHECKED = "spirv-val does not look at the operands of this instruction"
_NEWER = "spirv-val 2025.5 does not look at the instructions of groups; later ones do"
_UNIFORM = "SPV_KHR_uniform_group_instructions"
_AMD = "SPV_AMD_shader_ballot"


_result = partial(result, source=_SECTION, beyond=_NEWER)
_operand = partial(operand, source=_SECTION, beyond=_NEWER)
_like_result = partial(like_result, source=_SECTION, beyond=_NEWER)


def _row(id: str, blames: str, holds: Predicate, says: str) -> SpirvRow:
    return rule(id, blames, holds, says, _SECTION, beyond=_NEWER)


def _groups(names: str) -> str:
    return " ".join(f"OpGroup{name}" for name in names.split())


def _of_amd(names: str) -> str:
    return " ".join(f"OpGroup{name}NonUniformAMD" for name in names.split())


def _is_event(type: Type) -> bool:
    return isinstance(type, Opaque) and type.name == "OpTypeEvent"


def _other_integers(subject: Subject[Facts]) -> str | None:
    """What X is, where it differs from the result in more than the sign: modules of AMD's compilers mix the signs."""
    x, result = subject.facts.type_of(present(subject, "x")), subject.facts.type(subject.op.result_type)
    alike = is_integer_or_vector(x) and (count_of(x), width_of(x)) == (count_of(result), width_of(result))
    return None if alike else x.words


def _pointer(subject: Subject[Facts], name: str) -> Pointer:
    found = subject.facts.type_of(present(subject, name))
    if not isinstance(found, Pointer) or not found.pointee_id:
        raise Undetermined
    return found


def _pointee(name: str) -> Term:
    return Term(f"the type that {words_of(name)} points to", lambda s: s.facts.pointee(_pointer(s, name)))


def _storage(name: str) -> Term:
    return Term(f"the storage class of {words_of(name)}",
                lambda s: grammar().kinds["StorageClass"].name_of(_pointer(s, name).storage))  # fmt: skip


def _in_storage(name: str, allowed: Iterable[str]) -> Satisfies:
    names = tuple(allowed)
    return satisfies(_storage(name), f"is {one_of(names)}", names.__contains__)


def _other_memory(destination: str, source: str) -> SpirvRow:
    """The row that a copy into one kind of memory comes from the other."""
    return _row(f"source_{source.lower()}", "source",
                OnlyWhere(f"where Destination is in {destination}",
                      lambda s: _storage("destination").value(s) == destination, _in_storage("source", (source,))),
                f"a pointer to {source} as Source of a copy into {destination}")  # fmt: skip


def _size(name: str) -> tuple[SpirvRow, SpirvRow]:
    """The rows of a number of elements, which is as wide as a pointer."""

    def wide(width: int) -> Predicate:
        return satisfies(type_of(name), f"is a {width}-bit integer",
                         lambda type: isinstance(type, Int) and type.width == width)  # fmt: skip

    words = words_of(name)
    return (
        _row(f"{name}_64", name,
             OnlyWhere("with Physical64", lambda s: s.facts.addressing_model == "Physical64", wide(64)),
             f"a 64-bit integer as {words} with addresses of 64 bits"),
        _row(f"{name}_32", name,
             OnlyWhere("without Physical64", lambda s: s.facts.addressing_model != "Physical64", wide(32)),
             f"a 32-bit integer as {words} with addresses of 32 bits"),
    )  # fmt: skip


_VOTES = "OpGroupAll OpGroupAny"
_FLOATS, _INTEGERS = "FAdd FMin FMax", "IAdd UMin SMin UMax SMax"
_FLOAT, _INTEGER = "a scalar or vector of floats", "a scalar or vector of integers"

FAMILIES = (
    family(_VOTES, _result("a boolean", is_bool), _operand("predicate", "a boolean", is_bool)),
    family("OpGroupBroadcast", _result(NUMBER_OR_BOOLEAN, is_number_or_bool), _like_result("value")),
    family(_groups(_FLOATS), _result(_FLOAT, is_float_or_vector)),
    family(_groups(_INTEGERS), _result(_INTEGER, is_integer_or_vector)),
    family(_groups(f"{_FLOATS} {_INTEGERS}"), _like_result("x")),
    family(_of_amd(_FLOATS), result(_FLOAT, is_float_or_vector, _AMD, _UNCHECKED)),
    family(_of_amd(_INTEGERS), result(_INTEGER, is_integer_or_vector, _AMD, _UNCHECKED)),
    family(_of_amd(_FLOATS), like_result("x", _AMD, _UNCHECKED)),
    family(_of_amd(_INTEGERS),
           rule("x_type", "x result_type",
                Finds("X has as many integers of as many bits as the result", _other_integers),
                "integers of the width of the result as X", _AMD, beyond=_UNCHECKED)),
    family("OpGroupFMulKHR", result(_FLOAT, is_float_or_vector, _UNIFORM, _UNCHECKED)),
    family("OpGroupIMulKHR OpGroupBitwiseAndKHR OpGroupBitwiseOrKHR OpGroupBitwiseXorKHR",
           result(_INTEGER, is_integer_or_vector, _UNIFORM, _UNCHECKED)),
    family("OpGroupLogicalAndKHR OpGroupLogicalOrKHR OpGroupLogicalXorKHR",
           result("a scalar or vector of booleans", is_bool_or_vector, _UNIFORM, _UNCHECKED)),
    family(_groups("IMulKHR FMulKHR BitwiseAndKHR BitwiseOrKHR BitwiseXorKHR LogicalAndKHR LogicalOrKHR LogicalXorKHR"),
           like_result("x", _UNIFORM, _UNCHECKED)),
    family("OpGroupAsyncCopy",
           _result("an event", _is_event),
           _operand("destination", "a pointer", is_pointer),
           _row("destination_storage", "destination", _in_storage("destination", ("Workgroup", "CrossWorkgroup")),
                "a pointer to Workgroup or CrossWorkgroup as Destination"),
           _row("destination_pointee", "destination",
                satisfies(_pointee("destination"), "is a scalar or vector of numbers",
                          lambda type: is_integer_or_vector(type) or is_float_or_vector(type)),
                "a pointer to a scalar or vector of numbers as Destination"),
           operand("source", "a pointer", is_pointer, _SECTION, "spirv-val does not ask whether Source is a pointer"),
           _row("source_pointee", "source destination", same(_pointee("source"), _pointee("destination")),
                "pointers to the same type as Source and Destination"),
           _other_memory("Workgroup", "CrossWorkgroup"),
           _other_memory("CrossWorkgroup", "Workgroup"),
           *_size("num_elements"), *_size("stride"),
           _operand("event", "an event", _is_event)),
    family("OpGroupWaitEvents",
           _operand("num_events", "a 32-bit integer", is_32_bit_integer),
           _operand("events_list", "a pointer", is_pointer),
           _row("events_pointee", "events_list", satisfies(_pointee("events_list"), "is an event", _is_event),
                "a pointer to events as Events List")),
)  # fmt: skip
