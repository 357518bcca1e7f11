"""Rules of instructions on bits: shifts, logic bit by bit, fields, reversal and counting (SPIR-V 3.42.14)."""

from __future__ import annotations

from girih.spirv.rules.row import family, rule
from girih.spirv.rules.terms import Satisfies, type_of, width_of
from girih.spirv.rules.values.operands import (
    INTEGER,
    INTEGERS,
    operands_are,
    operands_equal,
    result_is,
    same_components,
    same_width,
)

SOURCE = "SPIR-V 3.42.14"
BINARY = ("operand_1", "operand_2")
RESULT = result_is(INTEGERS, SOURCE)
BASE = operands_are(INTEGERS, SOURCE, "base", id="base")
BASE_RESULT = operands_equal(SOURCE, "base", id="base_type")
FIELD = operands_are(INTEGER, SOURCE, "offset", "count", id="field")
BASE_32 = rule(
    "base_width",
    "base",
    Satisfies(type_of("base"), "has components of 32 bits", lambda type: width_of(type) == 32),
    "a Base of 32-bit components",
    "VUID-StandaloneSpirv-Base-10824",
    vulkan=True,
    hint="with the feature maintenance9 of Vulkan other widths are legal",
)

FAMILIES = (
    family(
        "OpShiftRightLogical OpShiftRightArithmetic OpShiftLeftLogical",
        RESULT,
        operands_are(INTEGERS, SOURCE, "base", "shift"),
        same_components(SOURCE, "base", "shift"),
        same_width(SOURCE, "base"),
    ),
    family(
        "OpBitwiseOr OpBitwiseXor OpBitwiseAnd",
        RESULT,
        operands_are(INTEGERS, SOURCE, *BINARY),
        same_components(SOURCE, *BINARY),
        same_width(SOURCE, *BINARY),
    ),
    family(
        "OpNot",
        RESULT,
        operands_are(INTEGERS, SOURCE, "operand"),
        same_components(SOURCE, "operand"),
        same_width(SOURCE, "operand"),
    ),
    family("OpBitFieldInsert", BASE, BASE_32, BASE_RESULT, operands_equal(SOURCE, "insert", id="insert"), FIELD),
    family("OpBitFieldSExtract OpBitFieldUExtract", BASE, BASE_32, BASE_RESULT, FIELD),
    family("OpBitReverse", BASE, BASE_32, BASE_RESULT),
    family("OpBitCount", RESULT, BASE, BASE_32, same_components(SOURCE, "base")),
)
