"""Rules about loads and stores that a predicate turns off (SPV_INTEL_predicated_io)."""

from __future__ import annotations

from girih.spirv.grammar import grammar
from girih.spirv.model.facts import Facts
from girih.spirv.rules.row import family, rule
from girih.spirv.rules.terms import (
    RESULT_TYPE,
    Equal,
    Finds,
    Subject,
    Term,
    instruction_of,
    is_bool,
    is_pointer,
    present,
    satisfies,
    scalar_of,
    type_of,
)
from girih.spirv.types import Float, Int, Type

INTEL = "SPV_INTEL_predicated_io"
LOAD, STORE = "OpPredicatedLoadINTEL", "OpPredicatedStoreINTEL"
NEWER = "spirv-val of 2025 does not know the instruction"

NUMBERS = "a number or a vector of numbers"
POINTEE = Term("the type behind Pointer", lambda s: s.facts.pointee(s.facts.type_of(present(s, "pointer"))))


def _is_numbers(type: Type) -> bool:
    return isinstance(scalar_of(type), Int | Float)


def _volatile(subject: Subject[Facts]) -> str | None:
    bit = grammar().kinds["MemoryAccess"].value("Volatile")
    return "Volatile" if instruction_of(subject).id("memory_access") & bit else None


FAMILIES = (
    family(
        f"{LOAD} {STORE}",
        rule("pointer", "pointer", satisfies(type_of("pointer"), "is a pointer", is_pointer), "a pointer", INTEL,
             beyond=NEWER),
        rule("predicate", "predicate",
             satisfies(type_of("predicate"), "is a boolean", is_bool),
             "a boolean as predicate", INTEL, beyond=NEWER),
        rule("volatile", "memory_access", Finds("no Volatile", _volatile), "an access that is not Volatile", INTEL,
             beyond=NEWER),
    ),
    family(
        LOAD,
        rule("result", "result_type", satisfies(RESULT_TYPE, f"is {NUMBERS}", _is_numbers), f"{NUMBERS} as result",
             INTEL, beyond=NEWER),
        rule("pointee", "result_type pointer", Equal(RESULT_TYPE, POINTEE), "the type that the pointer points to",
             INTEL, beyond=NEWER),
        rule("default", "default_value", Equal(type_of("default_value"), RESULT_TYPE),
             "a default value of the result's type", INTEL, beyond=NEWER),
    ),
    family(
        STORE,
        rule("object", "object", satisfies(type_of("object"), f"is {NUMBERS}", _is_numbers), f"{NUMBERS} as object",
             INTEL, beyond=NEWER),
        rule("pointee", "object pointer", Equal(type_of("object"), POINTEE), "a value of the type that the pointer "
             "points to", INTEL, beyond=NEWER),
    ),
)  # fmt: skip
